CREATE TABLE IF NOT EXISTS tenants (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  shortcode VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Name in /realms/{tenantShortcode}',
  name VARCHAR(255) NOT NULL COMMENT 'Shown to people',
  token_lifetime INT NOT NULL DEFAULT 57600 COMMENT 'Seconds an access token lives',
  storage_quota BIGINT NULL COMMENT 'Bytes; null = no limit',
  duplicate_check TINYINT NOT NULL DEFAULT 0 COMMENT 'Refuse a file that is there already',
  default_channel_id BINARY(16) NULL COMMENT 'Channel of uploads that name none',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  UNIQUE KEY shortcode (shortcode)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Isolated customer spaces';
