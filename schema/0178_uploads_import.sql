ALTER TABLE uploads
  MODIFY COLUMN type ENUM('put','multipart','tus','import') NOT NULL COMMENT 'How the bytes come';
