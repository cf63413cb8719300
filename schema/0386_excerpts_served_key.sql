ALTER TABLE excerpts
  ADD KEY by_served_planes (media_id, served_by, layer, excerpt, served_plane0, served_plane1, served_plane2, served_plane3);
