CREATE TABLE IF NOT EXISTS shares (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7; the secret of the link follows from it and play.key_file',
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  principal_id BINARY(16) NOT NULL COMMENT 'Who shares it: the link opens it as long as this one may',
  secret_hash BINARY(32) NOT NULL COMMENT 'SHA-256 of what the link ends with',
  pass_phrase_hash VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'crypt(5) of what it asks for; null: nothing',
  expires_at BIGINT NOT NULL DEFAULT 0 COMMENT 'The link opens nothing then, ms since 1970 UTC; 0 = never',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  UNIQUE KEY by_secret (secret_hash),
  UNIQUE KEY by_media (media_id, principal_id),
  KEY by_principal (principal_id),
  CONSTRAINT shares_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE,
  CONSTRAINT shares_principal FOREIGN KEY (principal_id) REFERENCES principals (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Owners of share channels, and their links';
