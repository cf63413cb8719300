ALTER TABLE events ADD COLUMN is_audit TINYINT NOT NULL DEFAULT 0 COMMENT 'Somebody changed who may do what: it stands in the audit',
  ADD COLUMN object_id BINARY(16) NULL COMMENT 'What it is about, where that is no asset: channel, member, client, tenant',
  ADD COLUMN address VARCHAR(45) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Whence: an IP address, or console',
  ADD KEY by_audit (tenant_id, is_audit, id);
