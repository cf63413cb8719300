ALTER TABLE tenants ADD COLUMN access_version BIGINT NOT NULL DEFAULT 0 COMMENT 'Grows when roles, visibility, names or the set of channels change; what processes know of them holds while it stays';
