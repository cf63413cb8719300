CREATE TABLE IF NOT EXISTS media_speakers (
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  speaker_id BINARY(16) NOT NULL COMMENT 'Who is heard in it',
  number INT NOT NULL COMMENT 'From 1, by who is heard first; it stays',
  duration BIGINT NOT NULL COMMENT 'ms of all turns',
  turns LONGTEXT NOT NULL COMMENT 'JSON: [{start,end}] in seconds, in order',
  PRIMARY KEY (media_id, speaker_id),
  KEY by_speaker (speaker_id, media_id),
  CONSTRAINT media_speakers_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE,
  CONSTRAINT media_speakers_speaker FOREIGN KEY (speaker_id) REFERENCES speakers (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Who speaks when in an asset';
