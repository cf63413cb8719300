CREATE TABLE IF NOT EXISTS design_resources (
  design_id BINARY(16) NOT NULL COMMENT 'The design',
  name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'As its properties call it',
  bytes MEDIUMBLOB NOT NULL COMMENT 'The file, at most 512 KiB',
  PRIMARY KEY (design_id, name),
  CONSTRAINT design_resources_design FOREIGN KEY (design_id) REFERENCES designs (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Files of designs: logos and fonts';
