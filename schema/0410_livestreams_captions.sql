ALTER TABLE livestreams
  ADD COLUMN captions_language_code VARCHAR(35) CHARACTER SET ascii COLLATE ascii_general_ci NULL COMMENT 'Captions are made in it while it lasts: BCP 47 tag, translate-en or auto; NULL: there are none',
  ADD COLUMN captions VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'How it goes with them: waiting, running, behind, unavailable, failed, off; NULL: they were not begun',
  ADD COLUMN captions_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When a job was added that makes them; 0: there was none';
