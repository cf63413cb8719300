ALTER TABLE transcripts MODIFY COLUMN status ENUM('processing','ready','failed','queued','running','completed') NOT NULL COMMENT 'State: completed or failed; the first two are of an older schema';
UPDATE transcripts SET status = 'completed' WHERE status = 'ready';
