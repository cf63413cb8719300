CREATE TABLE IF NOT EXISTS clips (
  section_id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'What it shows; one clip of each',
  media_id BINARY(16) NOT NULL COMMENT 'The asset of the section',
  source CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'SHA-256 of what it is made from: renditions, place, captions',
  job_id BINARY(16) NULL COMMENT 'Job that makes it, or has',
  file VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Below the folder of the asset; null: not made yet',
  size BIGINT NULL COMMENT 'Bytes',
  expires_at BIGINT NOT NULL COMMENT 'When it may go, ms since 1970 UTC',
  KEY by_media (media_id, file),
  KEY by_expiry (expires_at),
  CONSTRAINT clips_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE,
  CONSTRAINT clips_section FOREIGN KEY (section_id) REFERENCES sections (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Sections as files of their own, made when somebody asks for them';
