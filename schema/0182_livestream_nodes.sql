CREATE TABLE IF NOT EXISTS livestream_nodes (
  livestream_id BINARY(16) NOT NULL COMMENT 'The livestream',
  node VARCHAR(120) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Who tells it',
  is_primary TINYINT NOT NULL DEFAULT 1 COMMENT 'Which input its viewers see',
  rtmp_primary INT NOT NULL DEFAULT 0 COMMENT 'Encoders connected to the first address',
  rtmp_secondary INT NOT NULL DEFAULT 0 COMMENT 'And to the second one',
  viewers INT NOT NULL DEFAULT 0 COMMENT 'Players seen within ten seconds',
  peak INT NOT NULL DEFAULT 0 COMMENT 'The most at one time',
  bytes_in BIGINT NOT NULL DEFAULT 0 COMMENT 'Bytes received since it began',
  bitrate BIGINT NOT NULL DEFAULT 0 COMMENT 'bit/s received, over the last ten seconds',
  dropped BIGINT NOT NULL DEFAULT 0 COMMENT 'Frames dropped before encoding',
  told_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC; older than 15 s: it no longer counts',
  PRIMARY KEY (livestream_id, node),
  CONSTRAINT livestream_nodes_livestream FOREIGN KEY (livestream_id) REFERENCES livestreams (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='What each node tells of a livestream every five seconds';
