CREATE TABLE IF NOT EXISTS mentions (
  object_id BINARY(16) NOT NULL COMMENT 'What refers to the asset: a story or a meeting; it goes with its mentions',
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  PRIMARY KEY (object_id, media_id),
  KEY by_media (media_id, object_id),
  CONSTRAINT mentions_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Which assets are referred to by what is not part of one: those who see one of them see it';
