ALTER TABLE upload_parts
  ADD COLUMN slot BIGINT NOT NULL DEFAULT 0 COMMENT 'Bytes of each place in the file that parts of one size share, where it has the one of its number; 0: it has a file of its own';
