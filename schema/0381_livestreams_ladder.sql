ALTER TABLE livestreams
  ADD COLUMN ladder VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Why not all smaller pictures are made: off, small, busy, failed, overloaded; NULL: they are, or nothing comes in';
