CREATE TABLE IF NOT EXISTS search_words (
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  word VARBINARY(80) NOT NULL COMMENT 'UTF-8, folded as core/fold.h does',
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  layer TINYINT UNSIGNED NOT NULL COMMENT 'Where it is said: its number in core/search.h',
  passage INT NOT NULL COMMENT 'The first of search_passages that has it',
  times INT NOT NULL COMMENT 'How often that layer has it',
  PRIMARY KEY (tenant_id, word, media_id, layer),
  KEY by_media (media_id, layer),
  CONSTRAINT search_words_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Which assets say a word, derived by the job index';
