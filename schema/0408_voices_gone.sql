ALTER TABLE voices
  MODIFY COLUMN name VARCHAR(100) NULL COMMENT 'As people have named it; NULL: it is known no more, and a job takes it from those who are it',
  ADD COLUMN epoch INT NOT NULL DEFAULT 0 COMMENT 'voices_epoch of its tenant, as it was then',
  ADD COLUMN takes_prints TINYINT NOT NULL DEFAULT 0 COMMENT 'Of one that is known no more: those who are it keep no prints',
  ADD COLUMN takes_names TINYINT NOT NULL DEFAULT 0 COMMENT 'Of one that is known no more: those who are it have no name';
