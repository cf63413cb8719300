ALTER TABLE livestream_nodes ADD KEY by_told (told_at);
