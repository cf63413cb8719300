CREATE TABLE IF NOT EXISTS search_pending (
  media_id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'An asset with a job index that has not begun',
  CONSTRAINT search_pending_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='So that an asset which changes often is indexed once';
