ALTER TABLE media ADD COLUMN recorded_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When it was recorded, as its file says, ms since 1970 UTC; 0 = it does not say';
