ALTER TABLE downloads ADD COLUMN left_out_count INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'What was selected and is not in it: it had gone, or was not for its maker any more';
