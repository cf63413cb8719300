ALTER TABLE uploads
  ADD COLUMN upload_metadata TEXT NULL COMMENT 'By tus: what Upload-Metadata said when it was made';
