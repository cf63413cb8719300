ALTER TABLE meetings ADD COLUMN status ENUM('ready','calculating','failed') NOT NULL DEFAULT 'ready' COMMENT 'calculating: a job fills it' AFTER name;
