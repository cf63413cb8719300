CREATE TABLE IF NOT EXISTS event_tickets (
  id BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the ticket',
  expires_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC; it is worth nothing any more, whether it stands here or not',
  KEY by_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Tickets by which a stream of events was opened: no other is';
