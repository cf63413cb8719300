ALTER TABLE tenants ADD COLUMN soft_delete_retention_days INT NOT NULL DEFAULT 30 COMMENT 'How long soft-deleted assets are kept; 0 = until somebody deletes them',
  ADD COLUMN download_expiry_days INT NOT NULL DEFAULT 7 COMMENT 'How long a download stays',
  ADD COLUMN webhooks_per_principal INT NOT NULL DEFAULT 10 COMMENT 'How many webhooks one principal may have',
  ADD COLUMN transcription_languages JSON NULL COMMENT 'Codes to transcribe where an upload names none; null: none',
  ADD COLUMN cors_origins JSON NULL COMMENT 'Origins whose pages may call the interface; null: none';
