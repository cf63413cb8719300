ALTER TABLE users ADD COLUMN email_proven_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When the user opened a link that was mailed to email, ms since 1970 UTC; 0 = nobody has proved who reads there';
ALTER TABLE invitations ADD COLUMN mailed_at BIGINT NOT NULL DEFAULT 0 COMMENT 'When a mail server took it for the address of the user, ms since 1970 UTC; 0 = never';
