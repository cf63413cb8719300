ALTER TABLE chapters ADD COLUMN quality VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'low: made where nothing is said and no text is seen; NULL: it rests on more' AFTER status;
