INSERT IGNORE INTO tenant_origins (origin, tenant_id) SELECT DISTINCT o.origin, t.id FROM tenants t, JSON_TABLE(t.cors_origins, '$[*]' COLUMNS (origin VARCHAR(200) PATH '$')) o;
