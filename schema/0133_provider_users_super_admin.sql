ALTER TABLE provider_users ADD COLUMN super_admin_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When a token last said SuperAdmin, to a day, ms since 1970 UTC; 0 = the last one did not' AFTER sub;
