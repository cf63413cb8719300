CREATE TABLE IF NOT EXISTS speaker_rejections (
  speaker_id BINARY(16) NOT NULL COMMENT 'Who it is not',
  voice_id BINARY(16) NOT NULL COMMENT 'Whose voice it is not',
  PRIMARY KEY (speaker_id, voice_id),
  KEY by_voice (voice_id),
  CONSTRAINT speaker_rejections_speaker FOREIGN KEY (speaker_id) REFERENCES speakers (id) ON DELETE CASCADE,
  CONSTRAINT speaker_rejections_voice FOREIGN KEY (voice_id) REFERENCES voices (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='What people have said a speaker is not';
