CREATE TABLE IF NOT EXISTS signing_keys (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'kid of the token header',
  private_pem TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'PKCS#8 RSA key',
  created_at BIGINT NOT NULL COMMENT 'The newest one signs',
  retired_at BIGINT NOT NULL DEFAULT 0 COMMENT 'Verifies until the longest token lifetime after this; 0 = signs'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Keys of the token server, shared by all web nodes';
