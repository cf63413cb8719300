ALTER TABLE jobs ADD COLUMN replaced_by BINARY(16) NULL COMMENT 'The job that does this step of the ingest anew; null = this one counts';
