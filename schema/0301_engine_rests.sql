CREATE TABLE IF NOT EXISTS engine_rests (
  family VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY COMMENT 'What the engine does: complete',
  failures INT NOT NULL COMMENT 'How often in a row its server could not be reached, or was broken',
  rests_until BIGINT NOT NULL COMMENT 'ms since 1970 UTC: nobody asks it before'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Servers of engines that are left alone for a while';
