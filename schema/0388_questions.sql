CREATE TABLE IF NOT EXISTS questions (
  tenant_id BINARY(16) NOT NULL COMMENT 'Whose it is',
  engine VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'The server''s model that is asked for its vector',
  digest CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'SHA-256 of its text',
  text TEXT NULL COMMENT 'What was looked for, until its vector is there',
  meaning VARBINARY(4096) NULL COMMENT 'What it means: a signed byte for each part, see core/meaning.h; NULL: it is being asked for',
  plane0 BIGINT NULL COMMENT 'On which side of 64 planes the vector lies',
  plane1 BIGINT NULL COMMENT 'Of the next 64',
  plane2 BIGINT NULL COMMENT 'Of the next 64',
  plane3 BIGINT NULL COMMENT 'Of the last 64',
  asked_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC: when it was asked for',
  PRIMARY KEY (tenant_id, engine, digest),
  KEY by_asked (asked_at),
  CONSTRAINT questions_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Vectors of what was looked for, by the job question';
