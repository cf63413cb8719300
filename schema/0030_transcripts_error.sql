ALTER TABLE transcripts ADD COLUMN error JSON NULL COMMENT 'Why it failed: {code,detail,remedy,retryable}; such a row has the id of the job that should have made it';
