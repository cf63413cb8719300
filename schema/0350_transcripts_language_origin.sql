ALTER TABLE transcripts ADD COLUMN language_origin JSON NULL COMMENT 'Who says which language it is: {by,engine,confidence}; NULL: not known';
