CREATE TABLE IF NOT EXISTS import_files (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7; the upload that its bytes are, and the asset that it becomes, have the same one',
  import_id BINARY(16) NOT NULL COMMENT 'The import',
  position INT NOT NULL COMMENT 'In the order of the import, from 0',
  url VARCHAR(4096) NOT NULL COMMENT 'Where it is; may hold a signature',
  name VARCHAR(255) NOT NULL COMMENT 'Of the asset',
  filename VARCHAR(1024) NULL COMMENT 'Of the file; none: as its server says',
  transcription_language_code VARCHAR(35) CHARACTER SET ascii COLLATE ascii_general_ci NULL COMMENT 'Language to transcribe',
  validator VARCHAR(1000) NULL COMMENT 'ETag or Last-Modified of what has begun to come',
  status ENUM('waiting','completed','cancelled') NOT NULL DEFAULT 'waiting' COMMENT 'waiting: job_id fetches it, or has failed',
  job_id BINARY(16) NOT NULL COMMENT 'The job that fetches it',
  KEY by_import (import_id, position),
  CONSTRAINT import_files_import FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='What an import fetches';
