CREATE TABLE IF NOT EXISTS watched (
  principal_id BINARY(16) NOT NULL COMMENT 'Who has watched it',
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  position BIGINT NOT NULL COMMENT 'How far, ms',
  created_at BIGINT NOT NULL COMMENT 'First time, ms since 1970 UTC',
  watched_at BIGINT NOT NULL COMMENT 'Last time, ms since 1970 UTC',
  PRIMARY KEY (principal_id, media_id),
  KEY by_time (principal_id, watched_at, media_id),
  CONSTRAINT watched_principal FOREIGN KEY (principal_id) REFERENCES principals (id) ON DELETE CASCADE,
  CONSTRAINT watched_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='How far principals have watched assets';
