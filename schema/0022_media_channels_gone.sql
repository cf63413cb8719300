ALTER TABLE media DROP COLUMN channels;
