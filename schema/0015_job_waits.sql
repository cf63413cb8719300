CREATE TABLE IF NOT EXISTS job_waits (
  job_id BINARY(16) NOT NULL COMMENT 'The job that waits',
  on_id BINARY(16) NOT NULL COMMENT 'The job it waits for',
  needed TINYINT NOT NULL COMMENT '1: fails when that one fails',
  PRIMARY KEY (job_id, on_id),
  KEY by_on (on_id, job_id),
  CONSTRAINT job_waits_job FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Dependencies between jobs';
