ALTER TABLE webhook_deliveries ADD COLUMN request_url VARCHAR(2048) NULL COMMENT 'Where the last attempt went; null: there was none' AFTER next_attempt_at,
  ADD COLUMN request_body MEDIUMBLOB NULL COMMENT 'What the last attempt sent, byte for byte: the asset as the owner might read it then, which no other row tells' AFTER request_headers;
