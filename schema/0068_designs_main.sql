ALTER TABLE designs ADD COLUMN main_type VARCHAR(20) AS (IF(is_main = 1, type, NULL)) STORED COMMENT 'The type of a main design: unique in the tenant',
  ADD COLUMN resources JSON NULL COMMENT 'What design_resources holds of it, without the bytes',
  ADD KEY by_name (tenant_id, name, id), ADD UNIQUE KEY one_main (tenant_id, main_type);
