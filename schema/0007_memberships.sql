CREATE TABLE IF NOT EXISTS memberships (
  channel_id BINARY(16) NOT NULL COMMENT 'The channel',
  principal_id BINARY(16) NOT NULL COMMENT 'The member',
  role ENUM('Viewer','Contributor','Publisher','Channel Owner') NOT NULL COMMENT 'What the member may do',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  PRIMARY KEY (channel_id, principal_id),
  KEY by_principal (principal_id, channel_id),
  CONSTRAINT memberships_channel FOREIGN KEY (channel_id) REFERENCES channels (id) ON DELETE CASCADE,
  CONSTRAINT memberships_principal FOREIGN KEY (principal_id) REFERENCES principals (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Roles of principals in channels';
