CREATE TABLE IF NOT EXISTS search_presets (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  principal_id BINARY(16) NOT NULL COMMENT 'Who keeps it',
  name VARCHAR(255) NOT NULL COMMENT 'Shown to people',
  query JSON NOT NULL COMMENT 'Parameters of a search',
  is_shared TINYINT NOT NULL DEFAULT 0 COMMENT 'All of the tenant may use it',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_tenant (tenant_id, id),
  KEY by_principal (principal_id, id),
  CONSTRAINT search_presets_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
  CONSTRAINT search_presets_principal FOREIGN KEY (principal_id) REFERENCES principals (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Searches that people keep';
