CREATE TABLE IF NOT EXISTS upload_parts (
  upload_id BINARY(16) NOT NULL COMMENT 'The upload',
  number INT NOT NULL COMMENT 'From 1 to 10000',
  size BIGINT NOT NULL COMMENT 'Bytes',
  file VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Name in the directory of the upload',
  md5 BINARY(16) NOT NULL COMMENT 'Its ETag',
  sum_kind VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Which checksum came with it',
  sum VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'In base64',
  put_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  PRIMARY KEY (upload_id, number),
  CONSTRAINT upload_parts_upload FOREIGN KEY (upload_id) REFERENCES uploads (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Parts of a file that have arrived';
