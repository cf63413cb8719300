CREATE TABLE IF NOT EXISTS buckets (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'Hash of the kind and of whose it is',
  full_at BIGINT NOT NULL COMMENT 'µs since 1970 UTC: when it will be full again, by what all machines have told',
  KEY by_full_at (full_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='How much somebody has asked for lately on all machines together';
