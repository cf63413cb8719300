ALTER TABLE uploads
  ADD COLUMN reserved_bytes BIGINT NOT NULL DEFAULT 0 COMMENT 'That the quota holds for the latest attempt, of whose file nobody has said how long it is';
