ALTER TABLE media ADD COLUMN share_channel_id BINARY(16) NULL COMMENT 'Its channel Share_{id}, as long as somebody shares it: see shares; gives no roles and is none of channels';
