ALTER TABLE runners ADD COLUMN clock_ahead BIGINT NULL COMMENT 'ms that the clock of its machine is ahead of the database; null = not known';
