CREATE TABLE IF NOT EXISTS chats (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  principal_id BINARY(16) NOT NULL COMMENT 'Who asks; nobody else reads it',
  message_id BINARY(16) NOT NULL COMMENT 'The latest of chat_messages',
  media_ids BLOB NULL COMMENT 'Only in these assets, one id after the other; NULL: in all',
  channel_ids BLOB NULL COMMENT 'Only in these channels; NULL: in all',
  speakers JSON NULL COMMENT 'Only what these say; NULL: whoever',
  asset_types JSON NULL COMMENT 'Only in assets of these types; NULL: in all',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_principal (principal_id, id),
  KEY by_tenant (tenant_id, id),
  KEY by_updated (updated_at),
  CONSTRAINT chats_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
  CONSTRAINT chats_principal FOREIGN KEY (principal_id) REFERENCES principals (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Questions that people ask about what assets say, one after the other';
