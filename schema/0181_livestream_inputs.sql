CREATE TABLE IF NOT EXISTS livestream_inputs (
  livestream_id BINARY(16) NOT NULL COMMENT 'The livestream',
  is_primary TINYINT NOT NULL COMMENT '1 = the first address, 0 = the one that takes over',
  key_hash BINARY(32) NOT NULL COMMENT 'SHA-256 of the stream key',
  key_sealed VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'The stream key, for those who may read it: see core/seal.h',
  hash_before BINARY(32) NULL COMMENT 'SHA-256 of the key before: who comes with it is told that it is old',
  connected_at BIGINT NOT NULL DEFAULT 0 COMMENT 'Since when an encoder sends there; 0 = none does',
  PRIMARY KEY (livestream_id, is_primary),
  UNIQUE KEY by_hash (key_hash),
  KEY by_hash_before (hash_before),
  CONSTRAINT livestream_inputs_livestream FOREIGN KEY (livestream_id) REFERENCES livestreams (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Where encoders send, and with which keys';
