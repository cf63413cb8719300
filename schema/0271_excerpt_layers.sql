CREATE TABLE IF NOT EXISTS excerpt_layers (
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  layer TINYINT UNSIGNED NOT NULL COMMENT 'Its number in core/search.h',
  digest CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'That of search_layers when its excerpts were made',
  engine VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'What has made their vectors',
  PRIMARY KEY (media_id, layer),
  CONSTRAINT excerpt_layers_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Which texts of assets have vectors';
