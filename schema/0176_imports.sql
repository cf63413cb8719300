CREATE TABLE IF NOT EXISTS imports (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  principal_id BINARY(16) NOT NULL COMMENT 'Who made it; only they and SuperAdmins see it',
  principal_name VARCHAR(255) NOT NULL COMMENT 'As it was then',
  scopes VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Of the token that made it: its jobs may do no more',
  channel_id BINARY(16) NOT NULL COMMENT 'Where the assets go, if it is still there then',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_principal (tenant_id, principal_id, id),
  KEY by_created_at (tenant_id, created_at, id),
  KEY by_age (created_at),
  CONSTRAINT imports_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Files that are fetched from addresses';
