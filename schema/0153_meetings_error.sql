ALTER TABLE meetings ADD COLUMN error VARCHAR(1000) NULL COMMENT 'Why an import failed' AFTER import_job_id;
