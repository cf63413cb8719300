-- Who asks again for an upload of the same parts.
ALTER TABLE uploads ADD KEY by_concat (tenant_id, upload_concat(191));
