ALTER TABLE tenants ADD COLUMN portal_enabled TINYINT NOT NULL DEFAULT 0 COMMENT 'May channels be public, and does / list them?';
