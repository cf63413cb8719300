ALTER TABLE livestream_nodes
  ADD COLUMN video_codec VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Of what comes in and is on the air (RFC 6381); NULL: no pictures',
  ADD COLUMN width INT NOT NULL DEFAULT 0 COMMENT 'Of the pictures, in pixels',
  ADD COLUMN height INT NOT NULL DEFAULT 0 COMMENT 'And their height',
  ADD COLUMN frame_rate DOUBLE NOT NULL DEFAULT 0 COMMENT 'Pictures a second, as they came over two seconds; 0: not known yet',
  ADD COLUMN interlaced TINYINT NOT NULL DEFAULT 0 COMMENT 'They may be of two half-pictures each',
  ADD COLUMN audio_codec VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Of its sound; NULL: there is none',
  ADD COLUMN sample_rate INT NOT NULL DEFAULT 0 COMMENT 'Of its sound, in Hz',
  ADD COLUMN audio_channels INT NOT NULL DEFAULT 0 COMMENT 'Of its sound';
