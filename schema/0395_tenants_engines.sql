ALTER TABLE tenants
  ADD COLUMN engines JSON NULL COMMENT 'Its engines by family, where they are not those of the settings; none: nothing does it';
