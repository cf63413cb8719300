ALTER TABLE voiceprints
  ADD COLUMN epoch INT NOT NULL DEFAULT 0 COMMENT 'voices_epoch of its tenant, as it was then',
  ADD KEY by_epoch (tenant_id, epoch);
