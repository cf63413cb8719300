UPDATE media_channels SET is_deleted = 1 WHERE is_deleted = 0 AND media_id IN (SELECT m.id FROM media m WHERE m.deleted_at > 0);
