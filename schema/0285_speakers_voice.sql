ALTER TABLE speakers
  ADD COLUMN voice_id BINARY(16) NULL COMMENT 'Whose voice it is, as its source has said',
  ADD COLUMN proposed_id BINARY(16) NULL COMMENT 'Whose voice it may be',
  ADD COLUMN likeness DOUBLE NOT NULL DEFAULT 0 COMMENT 'To the one proposed, 0 to 1',
  ADD COLUMN keeps_print TINYINT NOT NULL DEFAULT 1 COMMENT 'May a print of the voice be kept? Not of one that was forgotten',
  ADD CONSTRAINT speakers_voice FOREIGN KEY (voice_id) REFERENCES voices (id) ON DELETE SET NULL,
  ADD CONSTRAINT speakers_proposed FOREIGN KEY (proposed_id) REFERENCES voices (id) ON DELETE SET NULL;
