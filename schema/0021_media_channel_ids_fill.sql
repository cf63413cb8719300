UPDATE media SET channel_ids = (SELECT GROUP_CONCAT(mc.channel_id ORDER BY mc.channel_id SEPARATOR '') FROM media_channels mc WHERE mc.media_id = media.id) WHERE channel_ids IS NULL;
