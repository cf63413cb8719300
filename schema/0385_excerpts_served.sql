ALTER TABLE excerpts
  ADD COLUMN served_by VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'The server''s model that has made the vector that follows; others are not compared with it',
  ADD COLUMN served_meaning VARBINARY(4096) NULL COMMENT 'What it means to that: a signed byte for each part',
  ADD COLUMN served_plane0 BIGINT NULL COMMENT 'On which side of 64 planes that vector lies',
  ADD COLUMN served_plane1 BIGINT NULL COMMENT 'Of the next 64',
  ADD COLUMN served_plane2 BIGINT NULL COMMENT 'Of the next 64',
  ADD COLUMN served_plane3 BIGINT NULL COMMENT 'Of the last 64';
