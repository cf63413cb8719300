CREATE TABLE IF NOT EXISTS voiceprints (
  speaker_id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'Whose it is, in one asset',
  tenant_id BINARY(16) NOT NULL COMMENT 'Of the speaker',
  engine VARCHAR(100) NOT NULL COMMENT 'What has made it: prints of others are not like it',
  speech BIGINT NOT NULL COMMENT 'ms of speech that it is made of',
  print BLOB NOT NULL COMMENT 'Numbers of the engine',
  KEY by_tenant (tenant_id, engine, speech),
  CONSTRAINT voiceprints_speaker FOREIGN KEY (speaker_id) REFERENCES speakers (id) ON DELETE CASCADE,
  CONSTRAINT voiceprints_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='How voices sound, of tenants that want to know them again';
