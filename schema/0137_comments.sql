CREATE TABLE IF NOT EXISTS comments (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  parent_id BINARY(16) NULL COMMENT 'Comment that it answers; null: none',
  principal_id BINARY(16) NOT NULL COMMENT 'Who wrote it',
  text TEXT NOT NULL COMMENT 'As it was written',
  time BIGINT NULL COMMENT 'Where in the asset, ms; null: about all of it',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_time (media_id, time, id),
  KEY by_parent (media_id, parent_id, id),
  KEY by_principal (principal_id),
  CONSTRAINT comments_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE,
  CONSTRAINT comments_parent FOREIGN KEY (parent_id) REFERENCES comments (id) ON DELETE CASCADE,
  CONSTRAINT comments_principal FOREIGN KEY (principal_id) REFERENCES principals (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='What people write about assets';
