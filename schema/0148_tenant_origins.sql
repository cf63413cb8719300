CREATE TABLE IF NOT EXISTS tenant_origins (
  origin VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'As browsers write it, in lower case',
  tenant_id BINARY(16) NOT NULL COMMENT 'Tenant whose cors_origins name it',
  PRIMARY KEY (origin, tenant_id),
  KEY by_tenant (tenant_id),
  CONSTRAINT tenant_origins_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Whose pages may call the interface: tenants.cors_origins, found by the origin';
