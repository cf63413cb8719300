ALTER TABLE uploads
  MODIFY COLUMN type ENUM('put','multipart','tus') NOT NULL COMMENT 'How the bytes come',
  ADD COLUMN is_partial BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'Its bytes become part of another one';
