CREATE TABLE IF NOT EXISTS renditions (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  media_id BINARY(16) NOT NULL COMMENT 'The asset',
  generation VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'The ingest that made it',
  kind ENUM('hls','mp4','audio','image','pdf','playlist','poster','storyboard','waveform') NOT NULL COMMENT 'What it is good for; from playlist on: parts that have members of their own in the answer',
  label VARCHAR(40) NOT NULL COMMENT '"720p", "128 kbit/s", "1600 px"',
  width INT NULL COMMENT 'Pixels',
  height INT NULL COMMENT 'Pixels',
  bitrate BIGINT NULL COMMENT 'bit/s on average',
  peak_bitrate BIGINT NULL COMMENT 'bit/s of the largest segment; for the master playlist',
  frame_rate DOUBLE NULL COMMENT 'Frames per second',
  codecs VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'RFC 6381',
  mime_type VARCHAR(127) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL COMMENT 'As served',
  file_size BIGINT NOT NULL COMMENT 'Bytes',
  file VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Below play/{mediaId}/',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  UNIQUE KEY by_file (media_id, generation, file),
  CONSTRAINT renditions_media FOREIGN KEY (media_id) REFERENCES media (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Playable and downloadable forms';
