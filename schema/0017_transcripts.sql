CREATE TABLE IF NOT EXISTS transcripts (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  language_code VARCHAR(35) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL COMMENT 'BCP 47, or translate-en',
  source ENUM('machine','human','import') NOT NULL COMMENT 'Where it comes from',
  engine VARCHAR(120) NOT NULL COMMENT 'Name and version',
  status ENUM('processing','ready','failed') NOT NULL COMMENT 'State',
  quality ENUM('good','poor') NULL COMMENT 'By mean confidence, where the engine gives one',
  no_speech TINYINT NOT NULL DEFAULT 0 COMMENT 'Nothing was said',
  confidence DOUBLE NULL COMMENT 'Mean of the words, 0 to 1',
  paragraphs LONGTEXT NOT NULL COMMENT 'JSON: [{id,start,end,text,words[]}], see core/transcript.h',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  UNIQUE KEY by_language (media_id, language_code),
  CONSTRAINT transcripts_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='What is said, word by word';
