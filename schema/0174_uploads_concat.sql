ALTER TABLE uploads
  ADD COLUMN upload_concat TEXT NULL COMMENT 'By tus, of others: as Upload-Concat named them, which ended with it';
