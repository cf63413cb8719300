ALTER TABLE media_channels ADD COLUMN is_deleted TINYINT NOT NULL DEFAULT 0 COMMENT 'The asset is soft-deleted: what is live is counted and paged by the index alone',
  ADD KEY by_live (channel_id, is_deleted, media_id);
