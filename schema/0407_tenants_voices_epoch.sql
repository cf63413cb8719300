ALTER TABLE tenants
  ADD COLUMN voices_epoch INT NOT NULL DEFAULT 0 COMMENT 'Grows when voices are not to be known any more: voices and prints of a lower one count for nothing';
