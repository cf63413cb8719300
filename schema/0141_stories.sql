CREATE TABLE IF NOT EXISTS stories (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  principal_id BINARY(16) NOT NULL COMMENT 'Who made it',
  name VARCHAR(255) NOT NULL COMMENT 'Shown to people',
  description TEXT NULL COMMENT 'Shown to people',
  kind ENUM('static','interactive') NOT NULL COMMENT 'static: one way through it, which ends; interactive: people choose',
  scenes JSON NOT NULL COMMENT 'Stretches of assets and what may follow each; ids of assets and sections that are gone stay',
  start_scene_id VARCHAR(64) NOT NULL COMMENT 'The first of them',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_tenant (tenant_id, id),
  KEY by_name (tenant_id, name, id),
  KEY by_principal (principal_id),
  CONSTRAINT stories_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
  CONSTRAINT stories_principal FOREIGN KEY (principal_id) REFERENCES principals (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Ways through scenes of assets';
