CREATE TABLE IF NOT EXISTS sessions (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7; no secret',
  token_hash BINARY(32) NOT NULL COMMENT 'SHA-256 of what the cookie holds',
  user_id BINARY(16) NOT NULL COMMENT 'Who signed in',
  is_pending TINYINT NOT NULL DEFAULT 0 COMMENT 'The password was right, the code of the second factor is still to come',
  has_code TINYINT NOT NULL DEFAULT 0 COMMENT 'A code of the second factor was right, too',
  address VARCHAR(45) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'Whence, when it began',
  agent VARCHAR(200) NOT NULL DEFAULT '' COMMENT 'Browser, as it called itself',
  created_at BIGINT NOT NULL COMMENT 'When the user proved who it is, ms since 1970 UTC',
  used_at BIGINT NOT NULL COMMENT 'Last use, to the minute, ms since 1970 UTC',
  expires_at BIGINT NOT NULL COMMENT 'Ends then at the latest, ms since 1970 UTC',
  UNIQUE KEY by_token (token_hash),
  KEY by_user (user_id, id),
  CONSTRAINT sessions_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Browsers in which somebody is signed in';
