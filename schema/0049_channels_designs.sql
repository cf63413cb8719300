ALTER TABLE channels ADD COLUMN channel_design_id BINARY(16) NULL COMMENT 'How its page looks; null: the main design',
  ADD COLUMN player_design_id BINARY(16) NULL COMMENT 'How players of its assets look; null: the main design';
