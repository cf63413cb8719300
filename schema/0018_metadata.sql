CREATE TABLE IF NOT EXISTS metadata (
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  kind VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'file, documentContent, …',
  engine VARCHAR(120) NOT NULL COMMENT 'Name and version of what made it',
  data LONGTEXT NOT NULL COMMENT 'JSON',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  PRIMARY KEY (media_id, kind),
  CONSTRAINT metadata_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Derived data of an asset';
