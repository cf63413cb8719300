CREATE TABLE IF NOT EXISTS principals (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'sub of the token',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  kind ENUM('client','user') NOT NULL COMMENT 'A program, or a person of an external provider',
  name VARCHAR(255) NOT NULL COMMENT 'Shown as author and creator',
  is_super_admin TINYINT NOT NULL DEFAULT 0 COMMENT 'Has every permission in its tenant',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_tenant (tenant_id, id),
  CONSTRAINT principals_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Who can hold a token';
