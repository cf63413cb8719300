/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists: where they end, how they are counted, what they cost, what they refuse. */
#include <stdlib.h>
#include <string.h>

#include "core/role.h"
#include "tests/world.h"

/* So many assets in one go, with a duration each, but for every tenth. */
static void
fill(struct world *w, int n)
{
	struct db *db = db_open(w->conf, DB_ADMIN);

	db_use(db, w->mem);
	db_run(db, "INSERT INTO media (id, tenant_id, type, name, status, original_file_name, mime_type, file_size, "
	    "sha256, duration, created_at, updated_at) SELECT UNHEX(CONCAT('018cc251', LPAD(HEX(s.seq), 8, '0'), "
	    "SUBSTR(MD5(CONCAT(HEX(?), s.seq)), 1, 16))), ?, 'video', CONCAT('Clip ', LPAD(s.seq, 6, '0')), 'ready', "
	    "'clip.mp4', 'video/mp4', 1000 + s.seq * 7919 % 10000, UNHEX(SHA2(s.seq, 256)), IF(s.seq % 10 = 0, NULL, "
	    "s.seq * 6007 % 9000), s.seq * 4001 % 5000, s.seq * 3001 % 7000 FROM seq_1_to_20000 s WHERE s.seq <= ?",
	    ARGS(ID(w->tenant_id), ID(w->tenant_id), INT(n)));
	db_run(db, "UPDATE tenant_usage SET media_count = media_count + ? WHERE tenant_id = ?",
	    ARGS(INT(n), ID(w->tenant_id)));
	assert_int_equal(db_failure(db), DB_FINE);
	db_close(db);
}

/* The page number that a relation of the Link header names; -1: none. */
static int
linked(struct world *w, const struct req *r, const char *rel)
{
	const char *links = header(w, r, "Link"), *end, *at, *p;
	int page = -1;

	if ((end = strstr(links, arena_printf(w->mem, "rel=\"%s\"", rel))) == NULL)
		return -1;
	for (at = links; (p = strstr(at, "page=")) != NULL && p < end; at = p + 5)
		if (p[-1] == '?' || p[-1] == '&')
			page = atoi(p + 5);
	return page;
}

static void
edges(struct world *w, const char *uri, int first, int prev, int next, int last)
{
	struct req *r = call(w, "GET", uri, NULL);

	if (r->status != 200 || linked(w, r, "first") != first || linked(w, r, "prev") != prev ||
	    linked(w, r, "next") != next || linked(w, r, "last") != last)
		fail_msg("%s: %d %s", uri, r->status, header(w, r, "Link"));
}

static void
links_are_right_at_the_edges(void **state)
{
	struct world *w = *state;

	edges(w, "/v2/media?perpage=5", 0, -1, -1, 0);
	edges(w, "/v2/media?perpage=5&page=3", 0, 0, -1, 0);
	fill(w, 15);
	edges(w, "/v2/media?perpage=5", 0, -1, 1, 2);
	edges(w, "/v2/media?perpage=5&page=1", 0, 0, 2, 2);
	edges(w, "/v2/media?perpage=5&page=2", 0, 1, -1, 2);		/* full, and the last */
	edges(w, "/v2/media?perpage=5&page=3", 0, 2, -1, 2);
	edges(w, "/v2/media?perpage=5&page=900", 0, 2, -1, 2);
	edges(w, "/v2/media?perpage=15", 0, -1, -1, 0);
	edges(w, "/v2/media?perpage=14", 0, -1, 1, 1);
	edges(w, "/v2/media?perpage=14&page=1", 0, 0, -1, 1);
	edges(w, "/v2/media?perpage=5&page=2&filter=type=video", 0, 1, -1, 2);
	edges(w, "/v2/media?perpage=5&page=77&filter=type=video&sort=duration", 0, 2, -1, 2);
	edges(w, "/v2/media?perpage=5&page=77&filter=type=audio", 0, 0, -1, 0);
}

/* Where the next link leads. */
static const char *
next_of(struct world *w, const struct req *r)
{
	const char *next = strstr(header(w, r, "Link"), "rel=\"next\"");

	while (*next != '<')
		next--;
	next = strstr(next, "/v2/");
	return arena_copy_n(w->mem, next, strcspn(next, ">"));
}

/* Follows next links to the end, however the order; the pages number themselves. */
static void
next_links_lead_through_every_asset_once(void **state)
{
	static const char *const sorts[] = { "", "&sort=name", "&sort=name:desc", "&sort=duration",
	    "&sort=duration:desc", "&sort=fileSize", "&sort=createdAt:desc", "&sort=updatedAt",
	    "&sort=duration:desc&filter=type=video" };
	struct world *w = *state;
	size_t i;

	fill(w, 40);
	for (i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		const char *uri = arena_printf(w->mem, "/v2/media?perpage=8%s", sorts[i]);
		struct buf names = BUF(w->mem);
		int page = 0, k;

		for (;; page++) {
			struct req *r = call(w, "GET", uri, NULL);

			assert_int_equal(r->status, 200);
			assert_string_equal(text(w, r, "pagination.total"), "40");
			assert_int_equal(atoi(text(w, r, "pagination.page")), page);
			assert_int_equal(linked(w, r, "prev"), page - 1);
			for (k = 0; k < 8; k++) {
				const char *name = text(w, r, arena_printf(w->mem, "data.%d.name", k));

				assert_non_null(name);
				assert_null(strstr(buf_string(&names), name));
				buf_printf(&names, "%s,", name);
			}
			if (linked(w, r, "next") < 0)
				break;
			uri = next_of(w, r);
		}
		assert_int_equal(page, 4);
	}
}

static void
counted(struct world *w, const char *uri, const char *total, const char *exact, int prev, int last)
{
	struct req *r = call(w, "GET", uri, NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "pagination.total"), total);
	assert_string_equal(text(w, r, "pagination.totalExact"), exact);
	assert_int_equal(linked(w, r, "prev"), prev);
	assert_int_equal(linked(w, r, "last"), last);
}

/* Channel i of n has every asset whose number is i modulo n, and all have the first one; the role is in those below
 * `held`. */
static void
spread(struct world *w, struct uuid who, int n, int held)
{
	struct db *db = db_open(w->conf, DB_ADMIN);
	const char *channel = "UNHEX(CONCAT(SUBSTR(HEX(?), 13), LPAD(HEX(s.seq), 12, '0')))";

	db_use(db, w->mem);
	db_script(db, arena_printf(w->mem, "DELETE FROM media_channels WHERE media_id IN (SELECT id FROM media WHERE "
	    "tenant_id = UNHEX('%s'))", hex_encode(w->mem, w->tenant_id.b, 16)));
	db_run(db, arena_printf(w->mem, "INSERT INTO channels (id, tenant_id, name, created_at, updated_at) SELECT %s, "
	    "?, 'C', 1, 1 FROM seq_0_to_999 s WHERE s.seq < ?", channel), ARGS(ID(w->tenant_id), ID(w->tenant_id),
	    INT(n)));
	db_run(db, arena_printf(w->mem, "INSERT INTO media_channels (media_id, channel_id, created_at) SELECT m.id, "
	    "%s, 1 FROM media m JOIN seq_0_to_999 s ON s.seq < ? WHERE m.tenant_id = ? AND (CAST(SUBSTR(m.name, 6) AS INT) "
	    "%% ? = s.seq OR m.name = 'Clip 000001')", channel), ARGS(ID(w->tenant_id), INT(n), ID(w->tenant_id),
	    INT(n)));
	db_run(db, arena_printf(w->mem, "INSERT INTO memberships (channel_id, principal_id, role, created_at) "
	    "SELECT %s, ?, 'Viewer', 1 FROM seq_0_to_999 s WHERE s.seq < ?", channel), ARGS(ID(w->tenant_id), ID(who),
	    INT(held)));
	db_run(db, "UPDATE media m SET channel_ids = (SELECT GROUP_CONCAT(mc.channel_id ORDER BY mc.channel_id "
	    "SEPARATOR '') FROM media_channels mc WHERE mc.media_id = m.id) WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(db_failure(db), DB_FINE);
	db_close(db);
	role_changed(w->db, w->tenant_id);
}

/* The names of a list, page for page by its links or by numbers, and the total. */
static const char *
names_of(struct world *w, const char *token, const char *sort, bool by_links)
{
	const char *uri = arena_printf(w->mem, "/v2/media?perpage=7%s", sort), *name;
	struct buf b = BUF(w->mem);
	struct req *r;
	int page = 0, i;

	do {
		r = call_as(w, token, "GET", by_links ? uri : arena_printf(w->mem, "%s&page=%d", uri, page), NULL);
		assert_int_equal(r->status, 200);
		for (i = 0; (name = text(w, r, arena_printf(w->mem, "data.%d.name", i))) != NULL; i++)
			buf_printf(&b, "%s,", name);
		if (by_links && linked(w, r, "next") >= 0)
			uri = next_of(w, r);
	} while (linked(w, r, "next") == ++page);
	buf_printf(&b, "of %s", text(w, r, "pagination.total"));
	return buf_string(&b);
}

static const char *
deletion_of(struct world *w, const char *token)
{
	return arena_printf(w->mem, "/v2/media/%s", text(w, call_as(w, token, "GET", "/v2/media", NULL), "data.3.id"));
}

/* Sorted, all assets are walked through; the newest come from a few channels, or from many. */
static void
who_sees_little_gets_the_same_pages(void **state)
{
	static const struct { int channels, held; } cases[] = { { 10, 2 }, { 40, 12 } };
	struct world *w = *state;
	const char *member, *sorted, *uri;
	struct uuid who;
	size_t i;

	for (i = 0; i < 2; i++, w = world_other(w)) {
		fill(w, 200);
		member = world_member(w, "ViewChannel CreateContent", NULL, &who);
		spread(w, who, cases[i].channels, cases[i].held);
		sorted = names_of(w, member, "&sort=name:desc", true);
		assert_int_equal(atoi(strstr(sorted, "of ") + 3), 200 * cases[i].held / cases[i].channels +
		    (cases[i].held < 2));
		assert_string_equal(names_of(w, member, "", true), sorted);
		assert_string_equal(names_of(w, member, "", false), sorted);
		uri = deletion_of(w, member);
		assert_int_equal(call(w, "DELETE", uri, NULL)->status, 200);
		sorted = names_of(w, member, "&sort=name:desc", true);
		assert_string_equal(names_of(w, member, "", true), sorted);
		assert_int_equal(call(w, "PUT", arena_printf(w->mem, "%s/recover", uri), NULL)->status, 200);
		assert_string_equal(names_of(w, member, "", true), names_of(w, member, "&sort=name:desc", true));
	}
}

static void
totals_are_exact_to_ten_thousand(void **state)
{
	struct world *w = *state;

	fill(w, 10000);
	counted(w, "/v2/media?filter=type=video&perpage=50", "10000", "true", -1, 199);
	counted(w, "/v2/media?filter=type=video&perpage=50&page=199", "10000", "true", 198, 199);
	fill(world_other(w), 3);
	counted(w, "/v2/media?filter=type=video", "10000", "true", -1, 999);
	world_media(w, "video", "One more");
	counted(w, "/v2/media?filter=type=video&perpage=50", "10000", "false", -1, -1);
	/* has one asset */
	counted(w, "/v2/media?filter=type=video&perpage=50&page=200", "10000", "false", 199, -1);
	counted(w, "/v2/media?filter=type=video&perpage=50&page=300", "10000", "false", 199, -1);	/* has none */
	counted(w, "/v2/media?perpage=50", "10001", "true", -1, 200);	/* from the usage row */
}

static void
a_sorted_page_costs_the_same_at_any_depth(void **state)
{
	static const char *const sorts[] = { "name", "name:desc", "duration", "duration:desc", "fileSize",
	    "fileSize:desc", "createdAt", "createdAt:desc", "updatedAt", "updatedAt:desc" };
	struct world *w = *state;
	size_t i, k;

	fill(w, 5000);
	for (i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		const char *at = arena_printf(w->mem, "/v2/media?perpage=50&sort=%s", sorts[i]), *next;
		struct req *r = call(w, "GET", arena_printf(w->mem, "%s&page=60", at), NULL);

		assert_in_range(world_rows_read(w, at), 1, 300);
		/* In the middle, and at the values that are null. */
		for (k = 0; k < 2; k++) {
			next = strstr(header(w, r, "Link"), "&after=");
			assert_non_null(next);
			at = arena_printf(w->mem, "/v2/media?perpage=50&sort=%s%.*s", sorts[i], (int)strcspn(next, ">"),
			    next);
			if (world_rows_read(w, at) > 300)
				fail_msg("%s: %lld", at, (long long)world_rows_read(w, at));
			r = call(w, "GET", arena_printf(w->mem, "/v2/media?perpage=50&sort=%s&page=%d", sorts[i],
			    strstr(sorts[i], ":desc") != NULL ? 95 : 2), NULL);
		}
	}
}

static void
a_filter_that_few_fit_looks_at_few(void **state)
{
	static const char *const filters[] = { "type=image", "status=failed", "languageCode=de", "duration>=9000",
	    "fileSize<=10", "createdAt<=1970-01-01T00:00:00Z", "tags=nope", "name=none", "type=image&sort=name",
	    "tags=nope&sort=duration:desc" };
	struct world *w = *state;
	size_t i;

	fill(w, 5000);
	db_script(w->db, "ANALYZE TABLE media");
	for (i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
		if (world_rows_read(w, arena_printf(w->mem, "/v2/media?filter=%s", filters[i])) > 300)
			fail_msg("%s: %lld", filters[i], (long long)world_rows_read(w, arena_printf(w->mem,
			    "/v2/media?filter=%s", filters[i])));
}

static void
refused(struct world *w, const char *query, const char *parameter, const char *part)
{
	struct req *r = call(w, "GET", arena_printf(w->mem, "/v2/media?%s", query), NULL);

	if (r->status != 422 || strcmp(text(w, r, "data.errors.0.pointer"), parameter) != 0 ||
	    strstr(text(w, r, "data.errors.0.detail"), part) == NULL)
		fail_msg("%s: %d %s", query, r->status, buf_string(&r->out));
}

#define EIGHT "name~a%2bname~a%2bname~a%2bname~a%2bname~a%2bname~a%2bname~a%2bname~a"

static void
a_filter_has_eight_conditions_and_two_subqueries_at_most(void **state)
{
	struct world *w = *state;
	const char *channel = arena_printf(w->mem, "filter=tags=a%%2btags!=b%%2bchannelId=%s",
	    uuid_text(w->mem, w->channel_id));

	assert_int_equal(call(w, "GET", "/v2/media?filter=" EIGHT, NULL)->status, 200);
	refused(w, "filter=" EIGHT "%2bname~a", "filter", "at most 8 conditions");
	assert_int_equal(call(w, "GET", "/v2/media?filter=tags=a%2btags!=b", NULL)->status, 200);
	assert_int_equal(call(w, "GET", "/v2/media?filter=tags=a%2btags!=b%2bstatus=ready%2bstatus!=failed",
	    NULL)->status, 200);
	refused(w, "filter=tags=a%2btags!=b%2btags!=c", "filter", "at most 2 conditions on tags, channelId");
	refused(w, channel, "filter", "at most 2 conditions on tags, channelId");
}

static void
a_refusal_names_the_cause(void **state)
{
	static const struct { const char *query, *parameter, *part; } cases[] = {
		{ "filter=type=video+status=ready", "filter", "send the + between them as %2B" },
		{ "filter=name~cat+type=video", "filter", "send the + between them as %2B" },
		{ "filter=createdAt>=yesterday", "filter", "a time as 2026-01-31T12:00:00Z" },
		{ "filter=createdAt>=2026-01-01T00:00:00+02:00", "filter", "send the + of an offset as %2B" },
		{ "filter=createdAt>=2026-01-01", "filter", "a time as 2026-01-31T12:00:00Z" },
		{ "filter=colour=red", "filter", "these can: type, name, status," },
		{ "filter==red", "filter", "'=red' begins with no property" },
		{ "filter=type~vid", "filter", "type takes one of these behind its name: = !=" },
		{ "filter=duration>5", "filter", "duration takes one of these behind its name: = != >= <=" },
		{ "filter=name", "filter", "name takes one of these behind its name: = != ~" },
		{ "filter=type=film", "filter", "one of video audio image document" },
		{ "filter=duration>=long", "filter", "seconds, as 90 or 12.5" },
		{ "filter=fileSize>=1.5", "filter", "a whole number" },
		{ "filter=channelId=x", "filter", "36 characters, in lower case" },
		{ "sort=type", "sort", "no sort by 'type' here; there is: name, fileSize, duration, createdAt, updatedAt" },
		{ "sort=name:up", "sort", ":asc, :desc or nothing" },
		{ "after=zzz", "after", "take it from a next link, with the same sort" },
		{ "sort=name&after=0198c251-f400-7000-8000-000000000000", "after", "with the same sort" },
	};
	struct world *w = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refused(w, cases[i].query, cases[i].parameter, cases[i].part);
}

/* What each list is of: columns that all its rows have in common, and its table.  Children of one asset are few, and
 * designs, webhooks and stories of a tenant. */
static const struct { const char *record, *table, *common; bool few; } lists[] = {
	{ "Media", "media", "tenant_id,deleted_at", false },
	{ "Channel", "channels", "tenant_id", false },
	{ "Member", "memberships", "channel_id", true },
	{ "Principal", "principals", "tenant_id", false },
	{ "Group", "principal_groups", "tenant_id", true },
	{ "Upload", "uploads", "tenant_id", false },
	{ "Import", "imports", "tenant_id", false },
	{ "Job", "jobs", "media_id", true },
	{ "Transcript", "transcripts", "media_id", true },
	{ "TranscriptVersion", "transcript_versions", "transcript_id", true },
	{ "Subtitle", "transcripts", "media_id", true },
	{ "Speaker", "speakers", "tenant_id", false },
	{ "Design", "designs", "tenant_id", true },
	{ "Tag", "tags", "tenant_id", false },
	{ "AuditEvent", "events", "tenant_id,is_audit", false },
	{ "Webhook", "webhooks", "tenant_id", true },
	{ "MediaSection", "sections", "media_id", true },
	{ "MediaChapter", "chapters", "media_id", true },
	{ "MediaComment", "comments", "media_id", true },
	{ "HistoryItem", "watched", "principal_id", true },
	{ "Story", "stories", "tenant_id", true },
	{ "Meeting", "meetings", "tenant_id", false },
	{ "Download", "downloads", "tenant_id", false },
	{ "SearchPreset", "search_presets", "tenant_id", true },
	{ "Livestream", "livestreams", "tenant_id", false },
	{ "Delivery", "webhook_deliveries", "webhook_id,is_logged", false },
};

static bool
has_index(struct world *w, const char *table, const char *columns, const char *name)
{
	return db_number(w->db, "SELECT COUNT(*) FROM (SELECT index_name, GROUP_CONCAT(column_name ORDER BY "
	    "seq_in_index) c FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? "
	    "GROUP BY index_name) i WHERE CONCAT(i.c, ',') LIKE CONCAT(?, ',%') AND (? IS NULL OR i.index_name = ?)",
	    ARGS(STR(table), STR(columns), STR(name), STR(name)), 0) > 0;
}

static void
check_field(struct world *w, size_t list, const struct field *f)
{
	const char *with = arena_printf(w->mem, "%s,%s", lists[list].common, f->name);

	if (f->on & SORT && f->sql == NULL && !has_index(w, lists[list].table, arena_printf(w->mem, "%s,id", with),
	    f->key))
		fail_msg("%s has no index (%s,id), or another name: it cannot be sorted by", lists[list].table, with);
	if (f->on & FILTER && f->sql == NULL && f->where == NULL && !has_index(w, lists[list].table, with, NULL))
		fail_msg("%s has no index (%s): it cannot be filtered by", lists[list].table, with);
}

static void
what_lists_can_be_sorted_and_filtered_by_has_an_index(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i, k, n, found = 0;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		if ((route->flags & LIST) == 0)
			continue;
		for (k = 0; k < sizeof(lists) / sizeof(lists[0]) && strcmp(lists[k].record, route->out->name) != 0; k++)
			;
		for (n = 0; n < route->out->n; n++) {
			if ((route->out->fields[n].on & (FILTER | SORT)) == 0)
				continue;
			if (k == sizeof(lists) / sizeof(lists[0]))
				fail_msg("%s: the table `lists` of this test must say of which table %s are a list",
				    route->path, route->out->name);
			if (lists[k].few)
				assert_true(has_index(w, lists[k].table, lists[k].common, NULL));
			else
				check_field(w, k, &route->out->fields[n]);
			found++;
		}
	}
	assert_true(found >= 15);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(links_are_right_at_the_edges),
		WORLD_TEST(next_links_lead_through_every_asset_once),
		WORLD_TEST(who_sees_little_gets_the_same_pages),
		WORLD_TEST(totals_are_exact_to_ten_thousand),
		WORLD_TEST(a_sorted_page_costs_the_same_at_any_depth),
		WORLD_TEST(a_filter_that_few_fit_looks_at_few),
		WORLD_TEST(a_filter_has_eight_conditions_and_two_subqueries_at_most),
		WORLD_TEST(a_refusal_names_the_cause),
		WORLD_TEST(what_lists_can_be_sorted_and_filtered_by_has_an_index),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
