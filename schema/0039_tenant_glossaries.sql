CREATE TABLE IF NOT EXISTS tenant_glossaries (
  tenant_id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'The tenant',
  terms LONGTEXT NOT NULL COMMENT 'JSON: ["name", "technical term", …], the most important first',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  CONSTRAINT tenant_glossaries_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Words that engines should expect';
