ALTER TABLE sections ADD KEY by_thumbnail (media_id, thumbnail_file), ADD KEY by_custom_thumbnail (media_id, custom_thumbnail_file);
