CREATE TABLE IF NOT EXISTS channels (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  name VARCHAR(255) NOT NULL COMMENT 'Shown to people',
  description TEXT NULL COMMENT 'Shown to people',
  type ENUM('user','group') NOT NULL DEFAULT 'group' COMMENT 'user: of one person, reduced configuration',
  visibility ENUM('private','shared','public') NOT NULL DEFAULT 'private' COMMENT 'Who sees its assets',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_tenant (tenant_id, id),
  CONSTRAINT channels_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Organise assets and decide who may reach them';
