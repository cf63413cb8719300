ALTER TABLE tenants
  ADD COLUMN store ENUM('local','s3') NULL COMMENT 'Where its files are written while two stores are named; NULL: where the settings say';
