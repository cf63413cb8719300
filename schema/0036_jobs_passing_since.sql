ALTER TABLE jobs ADD COLUMN passing_since BIGINT NOT NULL DEFAULT 0 COMMENT 'When its failures in a row began that lie in the machine, which do not count for a day; 0: the last one lay elsewhere';
