CREATE TABLE IF NOT EXISTS tags (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  name VARCHAR(100) NOT NULL COMMENT 'As it was first written',
  name_key VARCHAR(100) COLLATE utf8mb4_bin AS (LOWER(name)) STORED COMMENT 'Unique: without regard to case, but to accents',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  UNIQUE KEY by_name (tenant_id, name_key),
  CONSTRAINT tags_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Labels';
