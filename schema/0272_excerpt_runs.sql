CREATE TABLE IF NOT EXISTS excerpt_runs (
  media_id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'The asset',
  run BIGINT NOT NULL COMMENT 'The latest: those before it write nothing more',
  wanted_at BIGINT NULL COMMENT 'ms since 1970 UTC: since when a job waits that has not begun',
  CONSTRAINT excerpt_runs_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Who may write the excerpts of an asset';
