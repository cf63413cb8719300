CREATE TABLE IF NOT EXISTS search_runs (
  media_id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'An asset that was indexed, or is being indexed',
  run BIGINT NOT NULL COMMENT 'The latest: those before it write nothing more',
  CONSTRAINT search_runs_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Who may write what can be searched of an asset';
