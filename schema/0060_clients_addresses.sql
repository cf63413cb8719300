ALTER TABLE clients ADD COLUMN is_public TINYINT NOT NULL DEFAULT 0 COMMENT 'Runs where no secret can be kept, so it has none',
  ADD COLUMN redirect_uris JSON NULL COMMENT 'Where users may be sent with a code; none: it signs nobody in',
  ADD COLUMN logout_uris JSON NULL COMMENT 'Where users may be sent when they have signed out';
