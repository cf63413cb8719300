ALTER TABLE tags ADD COLUMN version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0 COMMENT 'ms since 1970 UTC; 0 = never',
  ADD COLUMN gone_at BIGINT NOT NULL DEFAULT 0 COMMENT 'Deleted then: a job takes it from its assets, and then this row; its name is free',
  ADD KEY by_id (tenant_id, id), ADD KEY by_label (tenant_id, name, id);
