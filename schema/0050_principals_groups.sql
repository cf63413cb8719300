ALTER TABLE principals MODIFY COLUMN kind ENUM('client','user','group') NOT NULL COMMENT 'A program, a person, or a group of them, which holds no token', ADD KEY by_name (tenant_id, name, id);
