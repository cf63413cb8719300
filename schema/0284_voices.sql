CREATE TABLE IF NOT EXISTS voices (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  tenant_id BINARY(16) NOT NULL COMMENT 'Whose it is',
  name VARCHAR(100) NOT NULL COMMENT 'As people have named it',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  UNIQUE KEY by_name (tenant_id, name),
  CONSTRAINT voices_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='By what speakers of later assets are known';
