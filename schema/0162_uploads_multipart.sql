ALTER TABLE uploads
  ADD COLUMN multipart_attempt INT NULL COMMENT 'The attempt that takes parts; null = none does' AFTER attempt,
  ADD COLUMN etag VARCHAR(48) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Of the file that has arrived, as object stores have it' AFTER sha256;
