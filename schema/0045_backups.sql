CREATE TABLE IF NOT EXISTS backups (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7, as in its manifest',
  made_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC: the moment of its dump',
  files BIGINT NOT NULL COMMENT 'How many it holds',
  bytes BIGINT NOT NULL COMMENT 'Of these files',
  place VARCHAR(1024) NOT NULL COMMENT 'Machine and directory',
  KEY by_time (made_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Backups that were finished; of each of them the later ones know';
