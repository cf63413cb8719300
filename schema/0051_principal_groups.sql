CREATE TABLE IF NOT EXISTS principal_groups (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7; also the principal',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  name VARCHAR(255) NOT NULL COMMENT 'Shown to people; also that of the principal',
  description TEXT NULL COMMENT 'Shown to people',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_tenant (tenant_id, id),
  UNIQUE KEY by_name (tenant_id, name),
  CONSTRAINT principal_groups_principal FOREIGN KEY (id) REFERENCES principals (id) ON DELETE CASCADE,
  CONSTRAINT principal_groups_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Principals that have roles together; groups hold no groups';
