CREATE TABLE IF NOT EXISTS events (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'Number of the event, same in SSE, webhooks and audit',
  tenant_id BINARY(16) NOT NULL COMMENT 'The tenant',
  media_id BINARY(16) NULL COMMENT 'The asset it is about',
  type VARCHAR(60) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'media.created, media.updated, …',
  principal_id BINARY(16) NULL COMMENT 'Who did it; null = a job',
  data JSON NOT NULL COMMENT 'Payload',
  created_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC',
  KEY by_media (media_id, id),
  KEY by_tenant (tenant_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='What happened, written in the transaction that made it happen';
