CREATE TABLE IF NOT EXISTS provider_users (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'The principal, of kind user',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  subject_hash BINARY(32) NOT NULL COMMENT 'SHA-256 of issuer, line feed and sub: by this it is found',
  issuer VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Who vouches for the user',
  sub VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'What the user is called there',
  disabled_at BIGINT NOT NULL DEFAULT 0 COMMENT '0 = live; else tokens are refused since then, whatever the provider says',
  created_at BIGINT NOT NULL COMMENT 'First sight, ms since 1970 UTC',
  UNIQUE KEY by_subject (tenant_id, subject_hash),
  KEY by_tenant (tenant_id, id),
  CONSTRAINT provider_users_principal FOREIGN KEY (id) REFERENCES principals (id),
  CONSTRAINT provider_users_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='People, and programs, that external token servers vouch for';
