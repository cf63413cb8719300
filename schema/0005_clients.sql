CREATE TABLE IF NOT EXISTS clients (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'clientId; also the principal',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  secret_hash VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'See secret_hash() in core/token.h',
  scopes VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Blank-separated scopes of its tokens',
  revoked_at BIGINT NOT NULL DEFAULT 0 COMMENT '0 = live',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC; last rotation of the secret',
  KEY by_tenant (tenant_id, id),
  CONSTRAINT clients_principal FOREIGN KEY (id) REFERENCES principals (id),
  CONSTRAINT clients_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='OAuth clients';
