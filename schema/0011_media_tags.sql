CREATE TABLE IF NOT EXISTS media_tags (
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  tag_id BINARY(16) NOT NULL COMMENT 'The tag',
  PRIMARY KEY (media_id, tag_id),
  KEY by_tag (tag_id, media_id),
  CONSTRAINT media_tags_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE,
  CONSTRAINT media_tags_tag FOREIGN KEY (tag_id) REFERENCES tags (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Which tags an asset has';
