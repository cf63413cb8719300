ALTER TABLE media
  ADD COLUMN verified_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When the bytes of the original were last found to be those that came; ms since 1970 UTC' AFTER sha256,
  ADD COLUMN examined_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When they were last looked at, with whatever result; at first when they came' AFTER verified_at,
  ADD COLUMN damage ENUM('missing','changed','unreadable') NULL COMMENT 'What was found then; null = nothing' AFTER examined_at,
  ADD KEY by_damage (damage, examined_at);
UPDATE media SET verified_at = created_at, examined_at = created_at WHERE examined_at = 0;
