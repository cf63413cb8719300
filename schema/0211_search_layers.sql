CREATE TABLE IF NOT EXISTS search_layers (
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  layer TINYINT UNSIGNED NOT NULL COMMENT 'Its number in core/search.h',
  digest CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'SHA-256 of the texts that its words were made of',
  PRIMARY KEY (media_id, layer),
  CONSTRAINT search_layers_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Which texts of assets the index holds';
