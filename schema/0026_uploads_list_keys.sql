-- Of a tenant for its SuperAdmins, of a principal for itself.
ALTER TABLE uploads ADD KEY by_principal (tenant_id, principal_id, id);
ALTER TABLE uploads ADD KEY by_status (tenant_id, status, id);
ALTER TABLE uploads ADD KEY by_created_at (tenant_id, created_at, id);
ALTER TABLE uploads ADD KEY by_file_name (tenant_id, file_name(100), id);
