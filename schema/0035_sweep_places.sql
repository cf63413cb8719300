CREATE TABLE IF NOT EXISTS sweep_places (
  tree VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Part of the store: play, originals',
  after_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Key behind which the next sweep goes on; empty = from the first on',
  PRIMARY KEY (tree)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='How far sweeps have looked for files that no row names';
