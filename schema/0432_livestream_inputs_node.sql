ALTER TABLE livestream_inputs
  ADD COLUMN node VARCHAR(120) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'Node that its encoder is connected to, be it the holder or not; NULL = none',
  ADD COLUMN beat_at BIGINT NOT NULL DEFAULT 0 COMMENT 'Last sign of life of that node',
  ADD KEY by_node (node);
