CREATE TABLE IF NOT EXISTS group_members (
  group_id BINARY(16) NOT NULL COMMENT 'The group',
  principal_id BINARY(16) NOT NULL COMMENT 'Who has the roles of the group, too',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  PRIMARY KEY (group_id, principal_id),
  KEY by_principal (principal_id, group_id),
  CONSTRAINT group_members_group FOREIGN KEY (group_id) REFERENCES principal_groups (id) ON DELETE CASCADE,
  CONSTRAINT group_members_principal FOREIGN KEY (principal_id) REFERENCES principals (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Who is in which group';
