ALTER TABLE livestreams
  ADD COLUMN left_out VARCHAR(500) NULL COMMENT 'What of the recording the asset does not have, in a sentence: it is kept; NULL: the asset has all';
