ALTER TABLE jobs ADD KEY claim_by_kind (state, kind, tenant_id, priority, run_at, id);
