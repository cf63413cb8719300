ALTER TABLE jobs ADD COLUMN warnings JSON NULL COMMENT 'What it has to tell though it succeeded: [{code,detail,from,to}], from and to in seconds of the file';
