CREATE TABLE IF NOT EXISTS webhook_progress (
  id TINYINT NOT NULL PRIMARY KEY COMMENT '1: there is one row',
  settled BIGINT NOT NULL COMMENT 'Deliveries of events up to this number are there, see core/event.h'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='How far the events are made into deliveries';
INSERT IGNORE INTO webhook_progress (id, settled) SELECT 1, COALESCE(MAX(id), 0) FROM events;
