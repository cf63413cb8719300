ALTER TABLE webhooks ADD COLUMN failed_at BIGINT NOT NULL DEFAULT 0 COMMENT 'Last failure, ms since 1970 UTC; 0 = none' AFTER failing_since;
