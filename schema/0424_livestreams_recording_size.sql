ALTER TABLE livestreams
  ADD COLUMN recording_size BIGINT NOT NULL DEFAULT 0 COMMENT 'Bytes of what was recorded that lie beside the original of the asset; count in the quota';
