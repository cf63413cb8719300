CREATE TABLE IF NOT EXISTS invitations (
  token_hash BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of what the address holds',
  user_id BINARY(16) NOT NULL COMMENT 'Whose password it sets',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  expires_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  used_at BIGINT NOT NULL DEFAULT 0 COMMENT '0 = not yet; good once',
  KEY by_user (user_id),
  CONSTRAINT invitations_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Addresses by which a user sets a password';
