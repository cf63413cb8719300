CREATE TABLE IF NOT EXISTS transcript_versions (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  transcript_id BINARY(16) NOT NULL COMMENT 'The transcript',
  version BIGINT NOT NULL COMMENT 'That of the transcript with these words',
  origin ENUM('transcribed','uploaded','edited','restored','aligned') NOT NULL COMMENT 'How they came',
  restored_version BIGINT NULL COMMENT 'Of restored: the version that it is like',
  principal_id BINARY(16) NULL COMMENT 'Who has changed it; NULL: nobody, they were the first',
  principal_name VARCHAR(255) NULL COMMENT 'Its name of then',
  changed INT NOT NULL DEFAULT 0 COMMENT 'Paragraphs of the version before that are others, or gone',
  was LONGTEXT NULL COMMENT 'JSON: what makes the paragraphs of the version before of these, see media/revision.h; NULL: there is none before',
  size BIGINT NOT NULL DEFAULT 0 COMMENT 'Bytes of was',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  UNIQUE KEY by_version (transcript_id, version),
  KEY by_principal (principal_id),
  CONSTRAINT transcript_versions_transcript FOREIGN KEY (transcript_id) REFERENCES transcripts (id) ON DELETE CASCADE,
  CONSTRAINT transcript_versions_principal FOREIGN KEY (principal_id) REFERENCES principals (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Words that transcripts had before people changed them';
