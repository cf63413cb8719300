CREATE TABLE IF NOT EXISTS heard_answers (
  job_id BINARY(16) NOT NULL COMMENT 'The job that listens',
  start INT NOT NULL COMMENT 'Of what was sent, ms from the beginning of the recording',
  end INT NOT NULL COMMENT 'Its end, ms',
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  engine VARCHAR(120) NOT NULL COMMENT 'Name and version of what has answered: what another one answers is not used',
  answer MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'As it came',
  PRIMARY KEY (job_id, start, end),
  KEY by_media (media_id),
  CONSTRAINT heard_answers_job FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE,
  CONSTRAINT heard_answers_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='What a server has said of parts of a recording, until all of it is heard';
