ALTER TABLE tenants ADD COLUMN speaker_recognition TINYINT NOT NULL DEFAULT 0 COMMENT 'Are voices told apart?';
