ALTER TABLE meetings ADD COLUMN import_job_id BINARY(16) NULL COMMENT 'Job that fills it from another server; null: none' AFTER status;
