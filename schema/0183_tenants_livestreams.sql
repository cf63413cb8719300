ALTER TABLE tenants ADD COLUMN livestream_duration INT NOT NULL DEFAULT 36000 COMMENT 'Seconds that a livestream may last from its first picture on',
  ADD COLUMN livestream_bitrate BIGINT NOT NULL DEFAULT 20000000 COMMENT 'bit/s that an encoder may send',
  ADD COLUMN livestreams_open INT NOT NULL DEFAULT 10 COMMENT 'How many may be started at one time';
