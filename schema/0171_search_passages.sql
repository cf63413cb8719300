CREATE TABLE IF NOT EXISTS search_passages (
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  layer TINYINT UNSIGNED NOT NULL COMMENT 'Where it is said: its number in core/search.h',
  passage INT NOT NULL COMMENT 'Its number in that layer, from 0',
  start BIGINT NULL COMMENT 'ms in the recording',
  end BIGINT NULL COMMENT 'ms in the recording',
  page INT NULL COMMENT 'Of a document, from 1',
  text TEXT NOT NULL COMMENT 'As it is shown',
  PRIMARY KEY (media_id, layer, passage),
  CONSTRAINT search_passages_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Texts of assets that can be searched, derived by the job index';
