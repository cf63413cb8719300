CREATE TABLE IF NOT EXISTS excerpts (
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  layer TINYINT UNSIGNED NOT NULL COMMENT 'Where it is said: its number in core/search.h',
  excerpt INT NOT NULL COMMENT 'Its number in that layer, from 0',
  engine VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'What has made the vector: others are not compared with it',
  start BIGINT NULL COMMENT 'ms in the recording',
  end BIGINT NULL COMMENT 'ms in the recording',
  page INT NULL COMMENT 'Of a document, from 1',
  text TEXT NOT NULL COMMENT 'As it is shown',
  meaning VARBINARY(4096) NOT NULL COMMENT 'What it means: a signed byte for each part, see core/meaning.h',
  plane0 BIGINT NOT NULL COMMENT 'On which side of 64 planes the vector lies',
  plane1 BIGINT NOT NULL COMMENT 'Of the next 64',
  plane2 BIGINT NOT NULL COMMENT 'Of the next 64',
  plane3 BIGINT NOT NULL COMMENT 'Of the last 64',
  PRIMARY KEY (media_id, layer, excerpt),
  KEY by_planes (media_id, engine, layer, excerpt, plane0, plane1, plane2, plane3),
  CONSTRAINT excerpts_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Texts of assets that are found by what they mean, derived by the job embed';
