ALTER TABLE media ADD KEY by_channels (channel_ids(17), deleted_at);
