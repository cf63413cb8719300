CREATE TABLE IF NOT EXISTS flows (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  principal_id BINARY(16) NOT NULL COMMENT 'Who made it, and changes it',
  name VARCHAR(255) NOT NULL COMMENT 'Shown to people',
  description TEXT NULL COMMENT 'Shown to people',
  steps JSON NOT NULL COMMENT 'What a language model is asked, one after the other',
  target JSON NOT NULL COMMENT 'Where the last answer goes',
  variables JSON NULL COMMENT 'What prompts have in braces, and what stands there where a run says nothing else',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_tenant (tenant_id, id),
  CONSTRAINT flows_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Prompts that people run over assets';
