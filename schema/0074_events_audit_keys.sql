ALTER TABLE events ADD KEY by_audit_type (tenant_id, is_audit, type, id), ADD KEY by_audit_principal (tenant_id, is_audit, principal_id, id),
  ADD KEY by_audit_object (tenant_id, is_audit, object_id, id), ADD KEY by_audit_time (tenant_id, is_audit, created_at, id);
