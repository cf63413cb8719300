ALTER TABLE webhook_deliveries DROP KEY by_webhook, DROP KEY by_status;
