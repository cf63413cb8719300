CREATE TABLE IF NOT EXISTS chat_messages (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  chat_id BINARY(16) NOT NULL COMMENT 'Its chat',
  prompt TEXT NOT NULL COMMENT 'What was asked',
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'answering or completed',
  answer MEDIUMTEXT NOT NULL COMMENT 'Plain text; while it is being answered what is said in assets',
  engine VARCHAR(120) NOT NULL COMMENT 'Name and version of what has made the answer',
  warning VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Why it is not what it might be',
  context JSON NOT NULL COMMENT 'What the answer refers to, by asset',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_chat (chat_id, id),
  CONSTRAINT chat_messages_chat FOREIGN KEY (chat_id) REFERENCES chats (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Questions of chats, and their answers';
