CREATE TABLE IF NOT EXISTS livestream_points (
  livestream_id BINARY(16) NOT NULL COMMENT 'The livestream',
  at BIGINT NOT NULL COMMENT 'Beginning of a minute, ms since 1970 UTC',
  node VARCHAR(120) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Who has told it',
  is_primary TINYINT NOT NULL COMMENT 'Which input its viewers saw last in that minute',
  rtmp_primary INT NOT NULL COMMENT 'Encoders connected to the first address, at most',
  rtmp_secondary INT NOT NULL COMMENT 'And to the second one',
  viewers INT NOT NULL COMMENT 'Players, at most',
  PRIMARY KEY (livestream_id, at, node),
  KEY by_at (at),
  CONSTRAINT livestream_points_livestream FOREIGN KEY (livestream_id) REFERENCES livestreams (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='What nodes have told of a livestream, by the minute';
