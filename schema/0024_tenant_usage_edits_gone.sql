ALTER TABLE tenant_usage DROP COLUMN edits;
