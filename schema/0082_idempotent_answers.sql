CREATE TABLE IF NOT EXISTS idempotent_answers (
  name CHAR(43) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY COMMENT 'HMAC of principal, client and Idempotency-Key',
  request CHAR(43) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'HMAC of address and body, for which alone the answer stands',
  answer MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Status, headers and body, sealed by a key that follows from the Idempotency-Key; null: in the transaction that makes it',
  expires_at BIGINT NOT NULL COMMENT 'Forgotten then, ms since 1970 UTC',
  KEY by_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='What POSTs with an Idempotency-Key were answered';
