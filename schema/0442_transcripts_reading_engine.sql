ALTER TABLE transcripts ADD COLUMN reading_engine VARCHAR(120) NULL COMMENT 'Model that has put marks between its words; NULL: rules, or nothing had to';
