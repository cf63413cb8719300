ALTER TABLE transcripts MODIFY COLUMN quality ENUM('good','poor','draft','unreliable') NULL COMMENT 'By the confidences of the words, where the engine gives them; poor is of an older schema';
ALTER TABLE transcripts ADD COLUMN captions ENUM('automatic','published','withheld') NOT NULL DEFAULT 'automatic' COMMENT 'Whether players show it: by its quality, or as a person has decided';
UPDATE transcripts SET quality = IF(confidence < 0.4, 'unreliable', 'draft') WHERE quality = 'poor' OR (quality = 'good' AND confidence < 0.7);
