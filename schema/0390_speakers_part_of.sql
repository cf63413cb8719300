ALTER TABLE speakers
  ADD COLUMN part_of BINARY(16) NULL COMMENT 'The one that people have merged it with, which may be a part of merged_into itself; NULL: not known, or a whole',
  ADD CONSTRAINT speakers_part FOREIGN KEY (part_of) REFERENCES speakers (id) ON DELETE SET NULL;
