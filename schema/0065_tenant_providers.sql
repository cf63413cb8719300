CREATE TABLE IF NOT EXISTS tenant_providers (
  tenant_id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'The tenant, whose tokens are made there and not here',
  issuer VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'As in its tokens; which tenant a token is of follows from it',
  jwks_uri VARCHAR(1024) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Where its keys are',
  audiences JSON NOT NULL COMMENT 'Tokens must be for one of them',
  clients JSON NOT NULL COMMENT 'Clients whose tokens are taken; empty: of all that are for one of the audiences',
  roles_claim VARCHAR(255) NOT NULL COMMENT 'Claim that holds roles, with dots between names of members',
  name_claim VARCHAR(255) NOT NULL COMMENT 'Claim that holds the name of the user',
  key_set MEDIUMTEXT NULL COMMENT 'JSON Web Key set as it was read last; null: not yet',
  read_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When that was, ms since 1970 UTC; 0 = never',
  asked_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When a process last set out to read it: the next one may a minute later',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  UNIQUE KEY by_issuer (issuer),
  CONSTRAINT tenant_providers_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='External token servers, and their keys for all nodes';
