CREATE TABLE IF NOT EXISTS runners (
  name VARCHAR(160) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY COMMENT 'Host and process, as jobs.runner has it',
  version VARCHAR(40) NOT NULL COMMENT 'Of the program',
  kinds TEXT NOT NULL COMMENT 'Kinds of jobs that it takes, comma-separated',
  no_sandbox TEXT NULL COMMENT 'Why it cannot isolate decoders; null = it can, or need not',
  degraded TINYINT NOT NULL DEFAULT 0 COMMENT '1: the operator has said that it need not',
  started_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  seen_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC: its last sign of life',
  KEY by_time (seen_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Job runners that live, or have lately';
