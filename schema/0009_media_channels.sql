CREATE TABLE IF NOT EXISTS media_channels (
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  channel_id BINARY(16) NOT NULL COMMENT 'The channel',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  PRIMARY KEY (media_id, channel_id),
  KEY by_channel (channel_id, media_id),
  CONSTRAINT media_channels_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE,
  CONSTRAINT media_channels_channel FOREIGN KEY (channel_id) REFERENCES channels (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Which channels an asset is in';
