ALTER TABLE media ADD KEY by_type (tenant_id, deleted_at, type, id);
ALTER TABLE media ADD KEY by_status (tenant_id, deleted_at, status, id);
ALTER TABLE media ADD KEY by_language_code (tenant_id, deleted_at, language_code, id);
ALTER TABLE media ADD KEY by_duration (tenant_id, deleted_at, duration, id);
ALTER TABLE media ADD KEY by_file_size (tenant_id, deleted_at, file_size, id);
ALTER TABLE media ADD KEY by_created_at (tenant_id, deleted_at, created_at, id);
ALTER TABLE media ADD KEY by_updated_at (tenant_id, deleted_at, updated_at, id);
