ALTER TABLE transcripts ADD COLUMN cue_count INT NULL COMMENT 'Subtitles that it makes; NULL: made by an older release';
