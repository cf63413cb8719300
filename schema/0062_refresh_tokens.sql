CREATE TABLE IF NOT EXISTS refresh_tokens (
  token_hash BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the token',
  authorization_id BINARY(16) NOT NULL COMMENT 'What it renews',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  expires_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  used_at BIGINT NOT NULL DEFAULT 0 COMMENT '0 = not yet; whoever shows it again ends the authorization',
  KEY by_authorization (authorization_id),
  CONSTRAINT refresh_tokens_authorization FOREIGN KEY (authorization_id) REFERENCES authorizations (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Refresh tokens, used and unused';
