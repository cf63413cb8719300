ALTER TABLE tenants
  ADD COLUMN embed_model VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Model that makes vectors of its texts; none: no server does; NULL: that of the settings';
