ALTER TABLE events ADD COLUMN channel_ids VARBINARY(8192) NULL COMMENT 'Ids of the channels where the asset was, 16 bytes each, when it was deleted: they say who is told',
  ADD KEY by_time (is_audit, created_at);
