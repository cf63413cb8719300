CREATE TABLE IF NOT EXISTS livestream_targets (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  livestream_id BINARY(16) NOT NULL COMMENT 'The livestream',
  title VARCHAR(255) NOT NULL COMMENT 'Shown to people',
  url VARCHAR(700) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Where it is sent on to, without what is secret in it',
  sealed VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'The whole of it: see core/seal.h',
  enabled TINYINT NOT NULL DEFAULT 1 COMMENT '0 = nothing is sent',
  status ENUM('waiting','sending','failed') NOT NULL DEFAULT 'waiting' COMMENT 'As the node has told that holds the livestream',
  reason VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Why it has failed; see core/livestream_target.h',
  since BIGINT NOT NULL COMMENT 'When it came to be so, ms since 1970 UTC',
  retry_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When it is tried again, ms since 1970 UTC; 0 = it need not be',
  bytes_sent BIGINT NOT NULL DEFAULT 0 COMMENT 'Bytes of pictures and sound that were sent',
  dropped_frames BIGINT NOT NULL DEFAULT 0 COMMENT 'Frames that it was too slow for',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change by people',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_livestream (livestream_id, id),
  CONSTRAINT livestream_targets_livestream FOREIGN KEY (livestream_id) REFERENCES livestreams (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Where livestreams are sent on to';
