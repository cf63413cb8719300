# SPDX-License-Identifier: GPL-3.0-or-later
# What benchmarks measure with.  Source it from bash after stack.sh.
#
#	bench_assets SHORTCODE FROM TO		assets FROM to TO - 1, as an ingest leaves them
#	bench_ids SHORTCODE N			N of its ids, at random but the same each time, each but once
#	figure SENTENCE VALUE UNIT [OPERATOR BAR]	VALUE none: not measured, so it misses its bar

uuid_sql="LOWER(CONCAT_WS('-', SUBSTR(HEX(id), 1, 8), SUBSTR(HEX(id), 9, 4), SUBSTR(HEX(id), 13, 4), SUBSTR(HEX(id), 17, 4), SUBSTR(HEX(id), 21)))"

# In the default channel, ten a second since 2024, two labels each; their originals, which are not there, were just looked at.
bench_assets() {
	sql "$(cat <<SQL
SET @tenant = (SELECT id FROM tenants WHERE shortcode = '$1'), @channel = (SELECT default_channel_id FROM tenants WHERE shortcode = '$1'),
  @now = 1704067200000;
CREATE TEMPORARY TABLE many AS SELECT seq AS n FROM seq_$2_to_$(($3 - 1));
INSERT INTO media (id, tenant_id, type, name, description, status, language_code, original_file_name, mime_type, file_size, sha256,
  duration, width, height, frame_rate, generation, playlist_file, thumbnail, storyboard,
  waveform_file, ingest_status, ingest, ingest_steps, renditions, channel_ids, tags, examined_at, created_at, updated_at)
SELECT UNHEX(CONCAT(LPAD(HEX(@now + n * 100), 12, '0'), '7', LPAD(HEX(n MOD 4096), 3, '0'), '8', SUBSTR(MD5(CONCAT('$1', n)), 1, 15))),
  @tenant, 'video', CONCAT('Recording ', n), CONCAT('What was said on day ', n, ', and what was shown.'), 'ready', 'en',
  CONCAT('recording-', n, '.mp4'), 'video/mp4', 1000000 + n, UNHEX(SHA2(n, 256)), 60000 + n, 1920, 1080,
  CASE n MOD 4 WHEN 0 THEN 25 WHEN 1 THEN 30000e0 / 1001 WHEN 2 THEN 24000e0 / 1001 ELSE 50 END,
  '018cc251-f400-7000-8000-000000000000', '018cc251-f400-7000-8000-000000000000/master.m3u8',
  '{"url":"{play}018cc251-f400-7000-8000-000000000000/poster.jpg","width":1280,"height":720,"mimeType":"image/jpeg"}',
  '{"imageUrl":"{play}018cc251-f400-7000-8000-000000000000/storyboard.jpg","vttUrl":"{play}018cc251-f400-7000-8000-000000000000/storyboard.vtt"}',
  '018cc251-f400-7000-8000-000000000000/waveform.json', 'succeeded',
  '{"id":"018cc251-f400-7000-8000-000000000000","status":"succeeded","progress":100,"attempt":1}', '[]', '[]',
  @channel, '["lecture","archive"]', UNIX_TIMESTAMP() * 1000, @now + n * 100, @now + n * 100
FROM many ORDER BY n;
INSERT IGNORE INTO media_channels (media_id, channel_id, created_at) SELECT id, @channel, created_at FROM media WHERE tenant_id = @tenant;
INSERT IGNORE INTO tags (id, tenant_id, name, created_at) VALUES (UNHEX(MD5('$1 lecture')), @tenant, 'lecture', @now),
  (UNHEX(MD5('$1 archive')), @tenant, 'archive', @now);
INSERT IGNORE INTO media_tags (media_id, tag_id) SELECT m.id, t.id FROM media m JOIN tags t ON t.tenant_id = m.tenant_id WHERE m.tenant_id = @tenant;
UPDATE tenant_usage SET media_count = (SELECT COUNT(*) FROM media WHERE tenant_id = @tenant) WHERE tenant_id = @tenant;
ANALYZE TABLE media, media_channels, media_tags, tags, memberships, channels;
SQL
)" >"$stack/log/rows.log" 2>&1 || stack_fail 'the rows' "$stack/log/rows.log"
}

bench_ids() {
	sql "SELECT $uuid_sql FROM media WHERE tenant_id = (SELECT id FROM tenants WHERE shortcode = '$1') ORDER BY MD5(id) LIMIT $2"
}

figure() {
	LC_ALL=C awk -v s="$1" -v v="$2" -v u="$3" -v op="${4:-}" -v bar="${5:-}" 'BEGIN {
		none = v == "none"
		if (op == "")
			verdict = ""
		else if (none)
			verdict = "fail"
		else if (op == ">=")
			verdict = (v + 0 >= bar + 0) ? "pass" : "fail"
		else
			verdict = (v + 0 <= bar + 0) ? "pass" : "fail"
		printf "figure\t%s\t%s\t%s\t%s\n", s, (none ? v : sprintf("%.2f%s", v, u)), (op == "" ? "-" : op " " bar u), verdict }'
}

# "none" where one of them was not measured.
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a > 0 && b > 0) print a / b; else print "none" }'; }
median() { sort -g | awk '{ v[NR] = $1 } END { print (NR > 0 ? v[int((NR + 1) / 2)] : 0) }'; }	# 0: of none
