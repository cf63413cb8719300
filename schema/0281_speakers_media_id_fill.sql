UPDATE speakers s JOIN media_speakers h ON h.speaker_id = s.id SET s.media_id = h.media_id;
DELETE FROM speakers WHERE media_id IS NULL;
