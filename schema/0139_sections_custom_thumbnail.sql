ALTER TABLE sections
  ADD COLUMN custom_thumbnail_file VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Set by a client, below the folder of the asset; null: none. Copies of a section share it',
  ADD COLUMN custom_thumbnail_type VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Content type',
  ADD COLUMN custom_thumbnail_width BIGINT NULL COMMENT 'Pixels',
  ADD COLUMN custom_thumbnail_height BIGINT NULL COMMENT 'Pixels',
  ADD COLUMN custom_thumbnail_size BIGINT NOT NULL DEFAULT 0 COMMENT 'Bytes, which count in the quota for each section';
