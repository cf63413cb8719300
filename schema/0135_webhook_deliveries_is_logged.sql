ALTER TABLE webhook_deliveries
  ADD COLUMN is_logged TINYINT GENERATED ALWAYS AS (attempt > 0 OR event = 'ping') STORED COMMENT 'Is it in the log? What was never tried is not' AFTER attempt,
  ADD KEY by_log (webhook_id, is_logged, id),
  ADD KEY by_log_status (webhook_id, is_logged, status, id);
