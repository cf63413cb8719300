ALTER TABLE sections
  ADD COLUMN thumbnail_file VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Made by a job, below the folder of the asset; null: none',
  ADD COLUMN thumbnail_width BIGINT NULL COMMENT 'Pixels',
  ADD COLUMN thumbnail_height BIGINT NULL COMMENT 'Pixels',
  ADD COLUMN thumbnail_at BIGINT NULL COMMENT 'Position that it was made for, ms; null: not made yet',
  ADD COLUMN revision BIGINT NOT NULL DEFAULT 0 COMMENT 'Grows when a job changes what is shown';
