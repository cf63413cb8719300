/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fills a chapter with the agenda of a meeting, or a meeting with all that is known of it, as a server of OParl tells
 * it.  What is wrong there stands in the row.  Safe to run twice: what is filled, or has failed, is left alone.
 */
#include <inttypes.h>
#include <string.h>

#include "core/agenda.h"
#include "core/asset.h"
#include "core/audit.h"
#include "core/event.h"
#include "core/web.h"
#include "jobs/run.h"

/* Some servers take 38 seconds for a page.  s; pages; bytes of one, and of all; characters; sections of an asset;
 * of a number; items of a meeting. */
enum { ALL = 300, PAGE = 45, PAGES = 500, REDIRECTS = 5, PAGE_SIZE = 4 << 20, ALL_SIZE = 12 << 20,
	NAME_LENGTH = 255, TITLE_LENGTH = 1000, SECTIONS_MAX = 10000, NUMBER_LENGTH = 32, ITEMS_MAX = 500 };

struct target { struct moment recorded_at; struct position duration; const char *status; int64_t entries, sections; };
static const struct field target_fields[] = {
	FIELD(struct target, recorded_at, .doc = "When the recording began, as its file says; 0: it does not"),
	FIELD(struct target, duration, .doc = "ms"),
	FIELD(struct target, status, .sql = "c.status", .doc = "Of the chapter"),
	FIELD(struct target, entries,
	    .sql = "(SELECT COUNT(*) FROM entries e WHERE e.chapter_id = c.id AND e.parent_id IS NULL)",
	    .doc = "At the top of the chapter already"),
	FIELD(struct target, sections, .sql = "(SELECT COUNT(*) FROM sections s WHERE s.media_id = t.id)", .doc = "Of the asset"),
};
static const struct record target_record = RECORD("AgendaTarget", struct target, target_fields);

/* `passes`: it may be otherwise in a while. */
struct reading { struct job *j; struct agenda agenda; const char *wrong; bool passes; int64_t end; size_t size;
    const char *urls[PAGES]; int n; };

static void
alive(void *user)
{
	job_progress(user, 50);
}

/* A document; NULL: g->wrong says why. */
static const char *
fetch_page(struct reading *g, const char *url, size_t *n)
{
	static const char *const headers[] = { "Accept: application/json", NULL };
	int64_t left = (g->end - clock_ms()) / 1000;
	struct web_answer a = { .end = WEB_TIMEOUT };

	if (left > 0)
		web_call(g->j->mem, &(struct web_call){ .url = url, .headers = headers,
		    .private_hosts = g->j->conf->oparl_private_hosts, .timeout = (int)(left < PAGE ? left : PAGE),
		    .max_size = PAGE_SIZE, .redirects = REDIRECTS, .alive = alive, .user = g->j }, &a);
	*n = a.end == WEB_ANSWERED ? a.size : 0;
	g->size += *n;
	if (a.end != WEB_ANSWERED)
		g->wrong = web_sentence(a.end);
	else if (a.status < 200 || a.status > 299)
		g->wrong = arena_printf(g->j->mem, "The server answers with status %d.", a.status);
	else if (g->size > ALL_SIZE)
		g->wrong = "There is too much of it.";
	g->passes = a.end == WEB_ANSWERED ? a.status >= 500 || a.status == 429 : a.end == WEB_UNREACHABLE || a.end ==
	    WEB_UNRESOLVED;
	return g->wrong == NULL ? a.body : NULL;
}

/* Links may be relative; they stay on the server that was named, or its https.  NULL: they do not. */
static const char *
resolve(struct arena *mem, const char *base, const char *link)
{
	const char *origin = web_origin(mem, base), *to;

	if (*link == '?')
		return arena_printf(mem, "%.*s%s", (int)strcspn(base, "?#"), base, link);
	if (*link == '/' && link[1] != '/')
		return arena_printf(mem, "%s%s", origin, link);
	to = web_origin(mem, link);
	if (strcmp(to, origin) == 0)
		return link;
	if (strncmp(base, "http://", 7) != 0 || strncmp(link, "https://", 8) != 0)
		return NULL;
	return strcmp(web_origin(mem, arena_printf(mem, "https%s", base + 4)), to) == 0 ? link : NULL;
}

/* Ids that are addresses are written with blanks around them, too. */
static const char *
trimmed(struct arena *mem, const char *url)
{
	size_t n;

	url += strspn(url, " ");
	for (n = strlen(url); n > 0 && url[n - 1] == ' '; n--)
		continue;
	return arena_copy_n(mem, url, n);
}

/* NULL: there is nothing more to be read, or it was read before. */
static const char *
next_page(struct reading *g, const char *base, const char *link)
{
	const char *url = link != NULL ? resolve(g->j->mem, base, trimmed(g->j->mem, link)) : NULL;
	int i;

	if (link != NULL && url == NULL)
		g->wrong = "The list goes on at another server.";
	for (i = 0; url != NULL && i < g->n; i++)
		if (strcmp(g->urls[i], url) == 0)
			return NULL;
	if (url != NULL && g->n == PAGES)
		g->wrong = "The list has too many pages.";
	return g->wrong == NULL ? url : NULL;
}

static void
fetch(struct reading *g, const char *url)
{
	const char *text, *link = NULL;
	size_t n;

	while (url != NULL && g->wrong == NULL) {
		g->urls[g->n++] = url;
		text = fetch_page(g, url, &n);
		if (text != NULL)
			g->wrong = agenda_take(g->j->mem, &g->agenda, text, n, &link);
		url = g->wrong == NULL ? next_page(g, url, link) : NULL;
	}
	if (g->wrong == NULL && g->agenda.may_be_empty && g->agenda.start.ms == 0)
		g->wrong = "There is no meeting that says when it begins.";
	if (g->wrong == NULL && g->agenda.n == 0 && !g->agenda.may_be_empty)
		g->wrong = "There are no agenda items that may be seen.";
	agenda_order(g->j->mem, &g->agenda);
}

/* Who meets, by name: what cannot be read is not told. */
static const char *
organization(struct reading *g, const char *base)
{
	const char *link = g->agenda.organization, *url = link == NULL ? NULL : resolve(g->j->mem, base,
	    trimmed(g->j->mem, link)), *text;
	struct reading once = *g;
	size_t n;

	text = url != NULL && g->wrong == NULL ? fetch_page(&once, url, &n) : NULL;
	return text != NULL ? agenda_name(g->j->mem, text, n) : NULL;
}

static const char *
shortened(struct job *j, const char *text, size_t most)
{
	size_t n = strlen(text);

	while (utf8_length(text) > most) {
		n -= utf8_length(text) - most;
		text = arena_copy_n(j->mem, text, utf8_prefix(text, n));
		n = strlen(text);
	}
	return text;
}

static const char *
title_of(struct job *j, const struct agenda_item *item)
{
	return shortened(j, *item->number == '\0' ? item->name : *item->name == '\0' ? item->number :
	    arena_printf(j->mem, "%s %s", item->number, item->name), TITLE_LENGTH);
}

/* Where in the recording it begins; -1: nobody knows, or not in it. */
static int64_t
start_of(const struct agenda *a, const struct target *of, const struct agenda_item *item)
{
	int64_t began = of->recorded_at.ms != 0 ? of->recorded_at.ms : a->start.ms,
	    at = item->start.ms - began;

	return item->start.ms != 0 && began != 0 && of->duration.set && at >= 0 && at < of->duration.ms ? at : -1;
}

/* Until it ends, the next one begins, what it is below ends, or the recording is over. */
static int64_t
end_of(const struct agenda *a, const struct target *of, const int64_t *start, size_t i)
{
	const struct agenda_item *item = &a->at[i];
	int64_t end = item->end.ms > item->start.ms ? start[i] + item->end.ms - item->start.ms : of->duration.ms;
	int64_t above, over;
	size_t k;

	for (k = i + 1; k < a->n && item->end.ms <= item->start.ms; k++)
		if (start[k] > start[i]) {
			end = start[k];
			break;
		}
	for (above = item->parent; above >= 0 && item->end.ms <= item->start.ms; above = a->at[above].parent) {
		over = start[above] >= 0 ? start[above] + a->at[above].end.ms - a->at[above].start.ms : -1;
		if (over > start[i] && over < end)
			end = over;
	}
	return end < of->duration.ms ? end : of->duration.ms;
}

static void
put_id(struct buf *b, const char *name, struct uuid id)
{
	buf_printf(b, "\"%s\":\"%s\",", name, hex_encode(b->mem, id.b, sizeof(id.b)));
}

/* Rows for JSON_TABLE: entries with their parents and numbers, and the sections of those whose times are known. */
static const char *
rows(struct job *j, const struct agenda *a, const struct target *of, int64_t *timed)
{
	struct uuid *ids = arena_array(j->mem, a->n, sizeof(*ids));
	int64_t *children = arena_array(j->mem, a->n + 1, sizeof(*children)), *start = arena_array(j->mem, a->n,
	    sizeof(*start));
	struct buf b = BUF(j->mem);
	size_t i;

	for (i = 0; i < a->n; i++) {
		ids[i] = uuid_new();
		start[i] = start_of(a, of, &a->at[i]);
	}
	for (i = 0; i < a->n; i++) {
		buf_text(&b, i > 0 ? ",{" : "[{");
		put_id(&b, "entry", ids[i]);
		if (a->at[i].parent >= 0)
			put_id(&b, "parent", ids[a->at[i].parent]);
		if (start[i] >= 0) {
			put_id(&b, "section", uuid_new());
			buf_printf(&b, "\"start\":%lld,\"end\":%lld,", (long long)start[i], (long long)end_of(a, of,
			    start, i));
			(*timed)++;
		}
		buf_printf(&b, "\"number\":%lld,\"title\":", (long long)(++children[a->at[i].parent + 1] +
		    (a->at[i].parent < 0 ? of->entries : 0)));
		buf_json(&b, title_of(j, &a->at[i]));
		buf_char(&b, '}');
	}
	buf_char(&b, ']');
	return buf_string(&b);
}
#define ROWS "JSON_TABLE(?, '$[*]' COLUMNS (entry CHAR(32) PATH '$.entry', parent CHAR(32) PATH '$.parent', number BIGINT PATH " \
	"'$.number', section CHAR(32) PATH '$.section', start BIGINT PATH '$.start', end BIGINT PATH '$.end', title VARCHAR(1000) PATH " \
	"'$.title')) x"

static void
tell(struct job *j, struct uuid chapter_id)
{
	event_add_job(j->db, j->media_id, "chapter.updated", arena_printf(j->mem,
	    "{\"mediaId\":\"%s\",\"chapterId\":\"%s\"}", uuid_text(j->mem, j->media_id), uuid_text(j->mem, chapter_id)));
}

static void
fail(struct job *j, struct uuid chapter_id, const char *wrong)
{
	db_run(j->db, "UPDATE chapters SET status = 'failed', error = ?, version = version + 1, updated_at = ? WHERE "
	    "id = ?", ARGS(STR(wrong), TIME(moment_now()), ID(chapter_id)));
	tell(j, chapter_id);
}

static void
fill(struct job *j, const struct agenda *a, const struct target *of)
{
	const struct agenda_args *in = j->in;
	const struct arg now = TIME(moment_now());
	bool named = in->is_named || a->name == NULL || utf8_blank(a->name);
	const char *name = named ? NULL : shortened(j, a->name, NAME_LENGTH), *all;
	int64_t timed = 0;

	all = rows(j, a, of, &timed);
	if (of->sections + timed > SECTIONS_MAX) {
		fail(j, in->chapter_id, "The asset would have too many sections.");
		return;
	}
	db_run(j->db, "INSERT INTO entries (id, chapter_id, parent_id, sort_number, title, created_at, updated_at) "
	    "SELECT UNHEX(x.entry), ?, UNHEX(x.parent), x.number, x.title, ?, ? FROM " ROWS, ARGS(ID(in->chapter_id),
	    now, now, STR(all)));
	if (timed > 0)
		db_run(j->db, "INSERT INTO sections (id, media_id, chapter_id, entry_id, type, start, end, title, "
		    "created_at, updated_at) SELECT UNHEX(x.section), ?, ?, UNHEX(x.entry), 'timerange', x.start, "
		    "x.end, x.title, ?, ? FROM " ROWS " WHERE x.section IS NOT NULL", ARGS(ID(j->media_id),
		    ID(in->chapter_id), now, now, STR(all)));
	if (timed > 0)
		asset_pictures_later(j->db, j->tenant_id, j->media_id);
	db_run(j->db, "UPDATE chapters SET status = 'ready', name = COALESCE(?, name), version = version + 1, "
	    "updated_at = ? WHERE id = ?", ARGS(STR(name), now, ID(in->chapter_id)));
	tell(j, in->chapter_id);
}

struct meeting { struct uuid id, principal_id; };
static const struct field meeting_fields[] = {
	FIELD(struct meeting, id, .doc = "What is filled"),
	FIELD(struct meeting, principal_id, .doc = "Who wanted it"),
};
static const struct record meeting_record = RECORD("ImportedMeeting", struct meeting, meeting_fields);

/* As rows of meetings hold them. */
static const char *
items(struct job *j, const struct agenda *a)
{
	struct buf b = BUF(j->mem);
	size_t i;

	for (i = 0; i < a->n; i++) {
		const struct agenda_item *item = &a->at[i];

		buf_text(&b, i > 0 ? ",{\"number\":" : "[{\"number\":");
		buf_json(&b, *item->number != '\0' ? shortened(j, item->number, NUMBER_LENGTH) : "-");
		buf_text(&b, ",\"name\":");
		buf_json(&b, shortened(j, *item->name != '\0' ? item->name : item->number, TITLE_LENGTH));
		buf_text(&b, ",\"public\":true}");
	}
	buf_text(&b, i > 0 ? "]" : "[]");
	return buf_string(&b);
}

static void
put_meeting(struct job *j, const struct meeting *m, const struct agenda *a, const char *who)
{
	const struct agenda_args *in = j->in;
	bool named = in->is_named || a->name == NULL || utf8_blank(a->name);

	db_run(j->db, "UPDATE meetings SET status = 'ready', name = COALESCE(?, name), starts_at = ?, ends_at = "
	    "NULLIF(?, 0), location = ?, organization = ?, agenda = ?, version = version + 1, updated_at = ? WHERE id = ?",
	    ARGS(STR(named ? NULL : shortened(j, a->name, NAME_LENGTH)), TIME(a->start), TIME(a->end),
	    STR(a->location != NULL ? shortened(j, a->location, TITLE_LENGTH) : NULL),
	    STR(who != NULL ? shortened(j, who, TITLE_LENGTH) : NULL), STR(items(j, a)), TIME(moment_now()), ID(m->id)));
	audit_add(j->db, &(struct audited){ .tenant_id = j->tenant_id, .principal_id = m->principal_id,
	    .object_id = m->id, .address = "", .type = "meeting.updated" });
}

static enum outcome
fill_meeting(struct job *j, const struct reading *g, const char *who)
{
	const struct agenda_args *in = j->in;
	const struct meeting *m = db_row(j->db, &meeting_record, "FROM meetings t WHERE t.id = ? AND t.tenant_id = ? "
	    "AND t.import_job_id = ? AND t.status = 'calculating' FOR UPDATE", ARGS(ID(in->meeting_id), ID(j->tenant_id),
	    ID(j->id)));
	const char *wrong = g->wrong != NULL ? g->wrong : g->agenda.n > ITEMS_MAX ?
	    "The agenda has more than 500 items." : NULL;

	if (m == NULL)
		return DONE;		/* nobody wants it any more */
	if (wrong == NULL)
		put_meeting(j, m, &g->agenda, who);
	else
		db_run(j->db, "UPDATE meetings SET status = 'failed', error = ?, version = version + 1, updated_at = ? "
		    "WHERE id = ?", ARGS(STR(wrong), TIME(moment_now()), ID(m->id)));
	return DONE;
}

enum outcome
agenda_run(struct job *j)
{
	const struct agenda_args *in = j->in;
	bool is_meeting = !uuid_is_none(in->meeting_id);
	struct reading *g = NEW(j->mem, struct reading);
	const struct target *of;
	const char *who = NULL;

	job_pause(j);
	*g = (struct reading){ .j = j, .end = clock_ms() + ALL * 1000, .agenda.may_be_empty = is_meeting };
	fetch(g, in->url);
	if (is_meeting)
		who = organization(g, in->url);
	if (!job_resume(j))
		return RETRY;
	if (g->wrong != NULL && g->passes && j->attempt < j->max_attempts)
		return job_retry(j, REASON_SOURCE_UNAVAILABLE, "%s", g->wrong);
	if (is_meeting)
		return fill_meeting(j, g, who);
	/* As the API does: who changes what hangs on an asset holds its row. */
	of = db_row(j->db, &target_record, "FROM media t JOIN chapters c ON c.media_id = t.id WHERE t.id = ? AND "
	    "c.id = ? FOR UPDATE", ARGS(ID(j->media_id), ID(in->chapter_id)));
	if (of == NULL || strcmp(of->status, "calculating") != 0)
		return DONE;		/* nobody wants it any more */
	if (g->wrong != NULL)
		fail(j, in->chapter_id, g->wrong);
	else
		fill(j, &g->agenda, of);
	return DONE;
}
