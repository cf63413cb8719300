ALTER TABLE downloads
  MODIFY COLUMN file VARCHAR(900) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Below play/{id}/; set when ready';
