ALTER TABLE excerpt_layers
  ADD COLUMN served_by VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'The server''s model that has made vectors of all its excerpts';
