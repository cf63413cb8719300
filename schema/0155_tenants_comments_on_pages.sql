ALTER TABLE tenants ADD COLUMN comments_on_pages TINYINT NOT NULL DEFAULT 0 COMMENT 'Do the pages of assets show their comments?';
