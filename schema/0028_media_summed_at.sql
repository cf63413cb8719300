ALTER TABLE media ADD COLUMN summed_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When ingest and ingest_steps were made last: mere progress is shown every 2 s at most';
