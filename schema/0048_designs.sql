CREATE TABLE IF NOT EXISTS designs (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  type ENUM('ChannelDesign','PlayerDesign','DocxExportDesign') NOT NULL COMMENT 'What it is the design of',
  name VARCHAR(255) NOT NULL COMMENT 'Shown to people',
  is_main TINYINT NOT NULL DEFAULT 0 COMMENT 'Used where nothing else is chosen; one of each type in a tenant',
  is_template TINYINT NOT NULL DEFAULT 0 COMMENT 'To be copied, not used',
  properties JSON NOT NULL COMMENT 'Colours and the like, by name',
  principal_id BINARY(16) NULL COMMENT 'Who made it',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_type (tenant_id, type, id),
  KEY by_tenant (tenant_id, id),
  CONSTRAINT designs_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='How channels, players and exported documents look';
