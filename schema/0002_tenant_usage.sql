CREATE TABLE IF NOT EXISTS tenant_usage (
  tenant_id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'The tenant',
  media_count BIGINT NOT NULL DEFAULT 0 COMMENT 'Assets that are not soft-deleted; the total of an unfiltered list',
  storage_used BIGINT NOT NULL DEFAULT 0 COMMENT 'Bytes of originals',
  changes BIGINT NOT NULL DEFAULT 0 COMMENT 'Grows when it may have changed who sees how many assets; cached totals hold while it stays',
  edits BIGINT NOT NULL DEFAULT 0 COMMENT 'Grows when an asset has changed; kept answers hold while it and changes stay',
  CONSTRAINT tenant_usage_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Running totals, kept in the transactions that change them';
