ALTER TABLE media ADD COLUMN channel_ids VARBINARY(8192) NULL COMMENT 'Ids of its channels in order, 16 bytes each; made by asset_summarise() from media_channels';
