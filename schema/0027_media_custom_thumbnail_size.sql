ALTER TABLE media ADD COLUMN custom_thumbnail_size BIGINT NOT NULL DEFAULT 0 COMMENT 'Bytes of the picture that a client has set; counts in the quota';
