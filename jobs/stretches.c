/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stretches as rows: one statement for the entries, one for the sections, however many there are. */
#include <inttypes.h>
#include <string.h>

#include "core/asset.h"
#include "jobs/stretches.h"

enum { TITLE_MAX = 1000 };		/* bytes */

/* The place itself names what nothing else does: "1:02:05". */
static const char *
clock_of(struct arena *mem, int64_t ms)
{
	const int64_t s = ms / 1000;

	return s >= 3600 ? arena_printf(mem, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60)) :
	    arena_printf(mem, "%d:%02d", (int)(s / 60), (int)(s % 60));
}

static const char *
title_of(struct arena *mem, const struct stretch *s)
{
	const char *line = s->title != NULL ? utf8_to_line(mem, s->title) : "";

	return utf8_blank(line) ? clock_of(mem, s->start) : arena_copy_n(mem, line, strlen(line) > TITLE_MAX ?
	    utf8_prefix(line, TITLE_MAX) : strlen(line));
}

/* Rows for JSON_TABLE: two new ids, and what belongs to them. */
static const char *
rows(struct arena *mem, const struct stretch *s, size_t n)
{
	struct buf out = BUF(mem);
	size_t i;

	for (i = 0; i < n; i++) {
		const struct uuid entry = uuid_new(), section = uuid_new();

		buf_printf(&out, "%s{\"entry\":\"%s\",\"section\":\"%s\",\"start\":%" PRId64 ",\"end\":%" PRId64
		    ",\"title\":", i > 0 ? "," : "[", hex_encode(mem, entry.b, sizeof(entry.b)),
		    hex_encode(mem, section.b, sizeof(section.b)), s[i].start, s[i].end);
		buf_json(&out, title_of(mem, &s[i]));
		buf_char(&out, '}');
	}
	buf_char(&out, ']');
	return buf_string(&out);
}
#define ROWS "JSON_TABLE(?, '$[*]' COLUMNS (at FOR ORDINALITY, entry CHAR(32) PATH '$.entry', section CHAR(32) PATH " \
	"'$.section', start BIGINT PATH '$.start', end BIGINT PATH '$.end', title VARCHAR(1000) PATH '$.title')) x"

void
stretches_put(struct db *db, const struct stretches *s)
{
	const char *all = rows(db_arena(db), s->at, s->n);
	const struct arg now = TIME(moment_now());

	db_run(db, "INSERT INTO entries (id, chapter_id, sort_number, title, created_at, updated_at) SELECT "
	    "UNHEX(x.entry), ?, x.at, x.title, ?, ? FROM " ROWS, ARGS(ID(s->chapter_id), now, now, STR(all)));
	db_run(db, "INSERT INTO sections (id, media_id, chapter_id, entry_id, type, start, end, title, created_at, "
	    "updated_at) SELECT UNHEX(x.section), ?, ?, UNHEX(x.entry), 'timerange', x.start, x.end, x.title, ?, ? "
	    "FROM " ROWS, ARGS(ID(s->media_id), ID(s->chapter_id), now, now, STR(all)));
	asset_pictures_later(db, s->tenant_id, s->media_id);
}
