CREATE TABLE IF NOT EXISTS entries (
  id BINARY(16) NOT NULL PRIMARY KEY COMMENT 'UUIDv7',
  chapter_id BINARY(16) NOT NULL COMMENT 'The chapter',
  parent_id BINARY(16) NULL COMMENT 'Entry of the same chapter that it stands below; null: at the top',
  sort_number BIGINT NOT NULL COMMENT '1 to n without gaps among those with the same parent',
  title VARCHAR(1000) NOT NULL COMMENT 'Shown to people',
  description TEXT NULL COMMENT 'For people',
  version BIGINT NOT NULL DEFAULT 1 COMMENT 'Grows with each change',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  updated_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_chapter (chapter_id, sort_number, id),
  CONSTRAINT entries_chapter FOREIGN KEY (chapter_id) REFERENCES chapters (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Lines of tables of contents, each a tree';
