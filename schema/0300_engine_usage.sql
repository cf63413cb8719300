CREATE TABLE IF NOT EXISTS engine_usage (
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  family VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'What the engine does: complete',
  day INT NOT NULL COMMENT 'Days since 1970 UTC',
  requests BIGINT NOT NULL COMMENT 'How often a server was asked',
  tokens BIGINT NOT NULL COMMENT 'Tokens that it has counted, of questions and answers',
  PRIMARY KEY (tenant_id, family, day),
  KEY by_day (day),
  CONSTRAINT engine_usage_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='What tenants have had of engines that cost something';
