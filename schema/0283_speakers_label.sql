ALTER TABLE speakers
  ADD COLUMN label VARCHAR(100) NULL COMMENT 'Its name; NULL: nobody has said who it is',
  ADD COLUMN source VARCHAR(10) CHARACTER SET ascii NULL COMMENT 'human, machine: who has said so',
  ADD COLUMN confidence DOUBLE NOT NULL DEFAULT 0 COMMENT 'Of machine: 0 to 1, how alike the voices are',
  ADD COLUMN merged_into BINARY(16) NULL COMMENT 'The speaker of the same asset that it is a part of',
  ADD COLUMN forgotten_at BIGINT NOT NULL DEFAULT 0 COMMENT 'ms since 1970 UTC: it is shown no more, and not told apart again; 0: never',
  ADD KEY by_label (tenant_id, label, id),
  ADD CONSTRAINT speakers_merged FOREIGN KEY (merged_into) REFERENCES speakers (id) ON DELETE SET NULL;
