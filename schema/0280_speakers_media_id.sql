ALTER TABLE speakers ADD COLUMN media_id BINARY(16) NULL COMMENT 'The asset in which it is heard, and goes with';
