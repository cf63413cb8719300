/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What holds among rows without a foreign key.  Each table is walked along a key in steps, and a rule is one statement
 * on a step: so it sees one moment, whatever is being written, and no table is read at once.
 *
 * Not told: what stays on purpose (events and the audit, completed uploads, ids in scenes of stories and agendas of
 * meetings, deliveries of webhooks that are gone until their log ends) and what expires by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/consistency.h"

/* What a rule finds: the row; what it names, or how that differs. */
struct finding { struct uuid id, other; const char *detail; };
static const struct field bare_fields[] = { FIELD(struct finding, id, .doc = "Row") };
static const struct record bare = RECORD("BareFinding", struct finding, bare_fields);
static const struct field naming_fields[] = {
	FIELD(struct finding, id, .doc = "Row"),
	FIELD(struct finding, other, .doc = "What it names"),
};
static const struct record naming = RECORD("NamingFinding", struct finding, naming_fields);
static const struct field telling_fields[] = {
	FIELD(struct finding, id, .doc = "Row"),
	FIELD(struct finding, detail, .doc = "How it differs"),
};
static const struct record telling = RECORD("TellingFinding", struct finding, telling_fields);

struct bound { struct uuid id; };
static const struct field bound_fields[] = { FIELD(struct bound, id, .sql = "MAX(t.id)", .doc = "Last of a step") };
static const struct record bound_record = RECORD("StepBound", struct bound, bound_fields);

struct rule { const struct record *finds; const char *from, *text; };
enum { RULES_MAX = 10 };
struct walk {
	const char *table;
	const char *step;		/* the last key of the next step, behind a key */
	struct rule rules[RULES_MAX];
};

#define STEP(table, key, n) "FROM (SELECT DISTINCT x." key " AS id FROM " table " x WHERE x." key " > ? ORDER BY x." key " LIMIT " n ") t"
#define FIND(what) "FROM (SELECT " what ") t"
#define IN_STEP(key) "x." key " > ? AND x." key " <= ? AND "
#define OPEN "('waiting', 'delayed', 'ready', 'running')"
/* The text of an id, as JSON has it. */
#define ID_TEXT(id) "LOWER(INSERT(INSERT(INSERT(INSERT(HEX(" id "), 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-'))"

static const struct walk walks[] = {
	{ "tenants", STEP("tenants", "id", "100"), {
		{ &naming, FIND("x.id, x.default_channel_id AS other FROM tenants x LEFT JOIN channels c ON c.id = "
		    "x.default_channel_id AND c.tenant_id = x.id AND c.closing_at = 0 WHERE " IN_STEP("id")
		    "x.default_channel_id IS NOT NULL AND c.id IS NULL"),
		    "its default channel is none of its channels" },
		{ &telling, FIND("y.id, CONCAT('counted ', COALESCE(y.n, 'none'), ' and ', COALESCE(y.bytes, 'none'), "
		    "' bytes, there are ', y.there, ' and ', y.stored, ' bytes') AS detail FROM (SELECT x.id, "
		    "u.media_count AS n, u.storage_used AS bytes, (SELECT COUNT(*) FROM media m WHERE m.tenant_id = "
		    "x.id AND m.deleted_at = 0) AS there, (SELECT COALESCE(SUM(m.file_size + "
		    "m.custom_thumbnail_size), 0) FROM media m WHERE m.tenant_id = x.id) + (SELECT "
		    "COALESCE(SUM(s.custom_thumbnail_size), 0) FROM sections s JOIN media m ON m.id = s.media_id WHERE "
		    "m.tenant_id = x.id) + (SELECT COALESCE(SUM(l.recording_size), 0) FROM livestreams l WHERE "
		    "l.tenant_id = x.id) AS stored FROM tenants x "
		    "LEFT JOIN tenant_usage u ON u.tenant_id = x.id WHERE x.id > ? AND x.id <= ?) y WHERE y.n IS NULL "
		    "OR y.n <> y.there OR y.bytes <> y.stored"),
		    "its assets and their bytes (tenant_usage) are not what is counted" },
		{ &telling, FIND("x.id, o.origin AS detail FROM tenants x JOIN tenant_origins o ON o.tenant_id = x.id "
		    "WHERE " IN_STEP("id") "COALESCE(JSON_CONTAINS(x.cors_origins, JSON_QUOTE(o.origin)), 0) = 0"),
		    "its settings name no such origin, but tenant_origins has it" },
		{ &telling, FIND("x.id, o.origin AS detail FROM tenants x, JSON_TABLE(x.cors_origins, '$[*]' COLUMNS "
		    "(origin VARCHAR(200) PATH '$')) o WHERE " IN_STEP("id") "NOT EXISTS (SELECT 1 FROM "
		    "tenant_origins t WHERE t.tenant_id = x.id AND t.origin = o.origin)"),
		    "tenant_origins lacks an origin of its settings" },
	} },
	{ "principals", STEP("principals", "id", "1000"), {
		{ &telling, FIND("x.id, x.kind AS detail FROM principals x LEFT JOIN clients c ON c.id = x.id LEFT JOIN "
		    "users u ON u.id = x.id LEFT JOIN provider_users p ON p.id = x.id LEFT JOIN principal_groups g ON "
		    "g.id = x.id WHERE " IN_STEP("id") "((x.kind = 'client' AND c.id IS NULL) OR (x.kind = 'user' AND "
		    "u.id IS NULL AND p.id IS NULL) OR (x.kind = 'group' AND g.id IS NULL))"),
		    "there is no row of its kind" },
	} },
	{ "memberships", STEP("memberships", "channel_id", "200"), {
		{ &naming, FIND("x.channel_id AS id, x.principal_id AS other FROM memberships x JOIN channels c ON c.id "
		    "= x.channel_id JOIN principals p ON p.id = x.principal_id WHERE " IN_STEP("channel_id")
		    "c.tenant_id <> p.tenant_id"), "a member of this channel is of another tenant" },
	} },
	{ "group_members", STEP("group_members", "group_id", "200"), {
		{ &naming, FIND("x.group_id AS id, x.principal_id AS other FROM group_members x JOIN principal_groups g "
		    "ON g.id = x.group_id JOIN principals p ON p.id = x.principal_id WHERE " IN_STEP("group_id")
		    "(g.tenant_id <> p.tenant_id OR p.kind = 'group')"),
		    "a member of this group is of another tenant, or a group itself" },
	} },
	{ "channels", STEP("channels", "id", "500"), {
		{ &naming, FIND("x.id, x.user_id AS other FROM channels x LEFT JOIN principals p ON p.id = x.user_id AND "
		    "p.tenant_id = x.tenant_id AND p.kind = 'user' WHERE " IN_STEP("id") "x.user_id IS NOT NULL AND "
		    "p.id IS NULL"), "its user is not there" },
		{ &naming, FIND("x.id, x.channel_design_id AS other FROM channels x LEFT JOIN designs d ON d.id = "
		    "x.channel_design_id AND d.tenant_id = x.tenant_id WHERE " IN_STEP("id") "x.channel_design_id IS "
		    "NOT NULL AND d.id IS NULL"), "its design is not there" },
		{ &naming, FIND("x.id, x.player_design_id AS other FROM channels x LEFT JOIN designs d ON d.id = "
		    "x.player_design_id AND d.tenant_id = x.tenant_id WHERE " IN_STEP("id") "x.player_design_id IS "
		    "NOT NULL AND d.id IS NULL"), "the design of its players is not there" },
		{ &naming, FIND("x.id, x.closing_to AS other FROM channels x LEFT JOIN channels c ON c.id = x.closing_to "
		    "AND c.tenant_id = x.tenant_id WHERE " IN_STEP("id") "x.closing_at > 0 AND x.closing_to IS NOT "
		    "NULL AND c.id IS NULL"), "it is being deleted, and the channel that its assets go to is not there" },
		{ &naming, FIND("x.id, x.closing_job_id AS other FROM channels x LEFT JOIN jobs j ON j.id = "
		    "x.closing_job_id AND j.state IN " OPEN " WHERE " IN_STEP("id") "x.closing_at > 0 AND j.id IS NULL"),
		    "it is being deleted, and no job does it" },
	} },
	{ "chats", STEP("chats", "id", "500"), {
		{ &naming, FIND("x.id, x.message_id AS other FROM chats x LEFT JOIN chat_messages m ON m.id = x.message_id AND "
		    "m.chat_id = x.id WHERE " IN_STEP("id") "m.id IS NULL"), "its latest question is not there" },
	} },
	{ "designs", STEP("designs", "id", "100"), {
		{ &naming, FIND("x.id, x.principal_id AS other FROM designs x LEFT JOIN principals p ON p.id = "
		    "x.principal_id WHERE " IN_STEP("id") "x.principal_id IS NOT NULL AND p.id IS NULL"),
		    "who made it is not there" },
		{ &bare, FIND("x.id FROM designs x WHERE " IN_STEP("id") "(COALESCE(JSON_LENGTH(x.resources), 0) <> "
		    "(SELECT COUNT(*) FROM design_resources r WHERE r.design_id = x.id) OR EXISTS (SELECT 1 FROM "
		    "design_resources r WHERE r.design_id = x.id AND COALESCE(JSON_CONTAINS(x.resources, "
		    "JSON_OBJECT('name', r.name)), 0) = 0))"), "its files (design_resources) are not those it names" },
	} },
	{ "media", STEP("media", "id", "500"), {
		{ &naming, FIND("x.id, x.ingest_job_id AS other FROM media x LEFT JOIN jobs j ON j.id = x.ingest_job_id "
		    "WHERE " IN_STEP("id") "x.ingest_job_id IS NOT NULL AND j.id IS NULL"),
		    "the job of its ingest is not there" },
		{ &naming, FIND("x.id, x.created_by_id AS other FROM media x LEFT JOIN principals p ON p.id = "
		    "x.created_by_id WHERE " IN_STEP("id") "x.created_by_id IS NOT NULL AND p.id IS NULL"),
		    "who made it is not there" },
		{ &naming, FIND("x.id, x.share_channel_id AS other FROM media x WHERE " IN_STEP("id")
		    "(x.share_channel_id IS NOT NULL) <> EXISTS (SELECT 1 FROM shares s WHERE s.media_id = x.id)"),
		    "it has a share channel without shares, or shares without a share channel" },
		{ &bare, FIND("x.id FROM media x WHERE " IN_STEP("id") "NOT (x.channel_ids <=> (SELECT "
		    "GROUP_CONCAT(mc.channel_id ORDER BY mc.channel_id SEPARATOR '') FROM media_channels mc WHERE "
		    "mc.media_id = x.id))"), "its channels (channel_ids) are not those that it is in (media_channels)" },
		{ &bare, FIND("x.id FROM media x WHERE " IN_STEP("id") "(COALESCE(JSON_LENGTH(x.tags), 0) <> (SELECT "
		    "COUNT(*) FROM media_tags mt JOIN tags g ON g.id = mt.tag_id AND g.gone_at = 0 WHERE mt.media_id = "
		    "x.id) OR EXISTS (SELECT 1 FROM media_tags mt JOIN tags g ON g.id = mt.tag_id AND g.gone_at = 0 "
		    "WHERE mt.media_id = x.id AND COALESCE(JSON_CONTAINS(x.tags, JSON_QUOTE(g.name)), 0) = 0)) AND NOT "
		    "EXISTS (SELECT 1 FROM jobs j WHERE j.tenant_id = x.tenant_id AND j.kind = 'retag' AND j.state IN "
		    OPEN ")"), "its tags are not those that it has (media_tags)" },
		{ &telling, FIND("x.id, k.file AS detail FROM media x, JSON_TABLE(x.captions, '$[*]' COLUMNS (file "
		    "VARCHAR(255) PATH '$.file')) k WHERE " IN_STEP("id") "k.file LIKE 'captions/%' AND NOT EXISTS "
		    "(SELECT 1 FROM transcripts t WHERE t.id = UNHEX(REPLACE(SUBSTR(k.file, 10, 36), '-', '')) AND "
		    "t.media_id = x.id)"), "the transcript of its captions is not there" },
		{ &telling, FIND("x.id, r.file AS detail FROM media x JOIN renditions r ON r.media_id = x.id WHERE "
		    IN_STEP("id") "x.ingest_status = 'succeeded' AND r.generation <> x.generation AND NOT EXISTS "
		    "(SELECT 1 FROM jobs j WHERE j.media_id = x.id AND j.state IN " OPEN ")"),
		    "a rendition is of an ingest that is over" },
	} },
	{ "media_channels", STEP("media_channels", "media_id", "500"), {
		{ &naming, FIND("x.media_id AS id, x.channel_id AS other FROM media_channels x JOIN media m ON m.id = "
		    "x.media_id JOIN channels c ON c.id = x.channel_id WHERE " IN_STEP("media_id")
		    "(m.tenant_id <> c.tenant_id OR x.is_deleted <> (m.deleted_at > 0))"),
		    "it is in a channel of another tenant, or deleted in one way there and in another by itself" },
	} },
	{ "media_tags", STEP("media_tags", "media_id", "500"), {
		{ &naming, FIND("x.media_id AS id, x.tag_id AS other FROM media_tags x JOIN media m ON m.id = x.media_id "
		    "JOIN tags g ON g.id = x.tag_id WHERE " IN_STEP("media_id") "m.tenant_id <> g.tenant_id"),
		    "it has a tag of another tenant" },
	} },
	{ "tags", STEP("tags", "id", "1000"), {
		{ &bare, FIND("x.id FROM tags x WHERE " IN_STEP("id") "x.gone_at > 0 AND NOT EXISTS (SELECT 1 FROM jobs "
		    "j WHERE j.tenant_id = x.tenant_id AND j.kind = 'retag' AND j.state IN " OPEN ")"),
		    "it is deleted, and no job takes it from its assets" },
	} },
	{ "voices", STEP("voices", "id", "1000"), {
		{ &bare, FIND("x.id FROM voices x JOIN tenants n ON n.id = x.tenant_id WHERE " IN_STEP("id") "(x.name "
		    "IS NULL OR x.epoch < n.voices_epoch) AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.tenant_id = "
		    "x.tenant_id AND j.kind = 'forget' AND j.state IN " OPEN ")"),
		    "it is known no more, and no job takes it from those who are it" },
	} },
	{ "uploads", STEP("uploads", "id", "1000"), {
		{ &naming, FIND("x.id, x.principal_id AS other FROM uploads x LEFT JOIN principals p ON p.id = "
		    "x.principal_id AND p.tenant_id = x.tenant_id WHERE " IN_STEP("id") "p.id IS NULL"),
		    "who made it is not there" },
	} },
	{ "chapters", STEP("chapters", "id", "500"), {
		{ &naming, FIND("x.id, x.import_job_id AS other FROM chapters x LEFT JOIN jobs j ON j.id = "
		    "x.import_job_id WHERE " IN_STEP("id") "x.import_job_id IS NOT NULL AND j.id IS NULL"),
		    "the job that fills it is not there" },
	} },
	{ "meetings", STEP("meetings", "id", "500"), {
		{ &naming, FIND("x.id, x.import_job_id AS other FROM meetings x LEFT JOIN jobs j ON j.id = "
		    "x.import_job_id WHERE " IN_STEP("id") "x.import_job_id IS NOT NULL AND x.status = 'calculating' AND "
		    "j.id IS NULL"), "the job that fills it is not there" },
	} },
	{ "entries", STEP("entries", "id", "1000"), {
		{ &naming, FIND("x.id, x.parent_id AS other FROM entries x LEFT JOIN entries p ON p.id = x.parent_id AND "
		    "p.chapter_id = x.chapter_id WHERE " IN_STEP("id") "x.parent_id IS NOT NULL AND p.id IS NULL"),
		    "its parent is not there, or in another chapter" },
	} },
	{ "entries", STEP("entries", "chapter_id", "50"), {
		{ &telling, FIND("x.chapter_id AS id, CONCAT(COUNT(*), ' entries below ', COALESCE(" ID_TEXT("x.parent_id")
		    ", 'none'), ' have ', COUNT(DISTINCT x.sort_number), ' numbers from ', MIN(x.sort_number), ' to ', "
		    "MAX(x.sort_number)) AS detail FROM entries x WHERE x.chapter_id > ? AND x.chapter_id <= ? GROUP BY "
		    "x.chapter_id, x.parent_id HAVING MIN(x.sort_number) <> 1 OR MAX(x.sort_number) <> COUNT(*) OR "
		    "COUNT(DISTINCT x.sort_number) <> COUNT(*)"),
		    "entries of this chapter have gaps in their sort numbers, or one twice" },
	} },
	{ "sections", STEP("sections", "id", "1000"), {
		{ &naming, FIND("x.id, x.entry_id AS other FROM sections x LEFT JOIN entries e ON e.id = x.entry_id AND "
		    "e.chapter_id = x.chapter_id WHERE " IN_STEP("id") "x.entry_id IS NOT NULL AND e.id IS NULL"),
		    "the entry that leads to it is not there, or in another chapter" },
		{ &naming, FIND("x.id, k.media_id AS other FROM sections x JOIN clips k ON k.section_id = x.id WHERE "
		    IN_STEP("id") "k.media_id <> x.media_id"), "its clip is of another asset" },
		{ &naming, FIND("x.id, k.job_id AS other FROM sections x JOIN clips k ON k.section_id = x.id LEFT JOIN jobs j "
		    "ON j.id = k.job_id WHERE " IN_STEP("id") "k.job_id IS NOT NULL AND k.file IS NULL AND j.id IS NULL"),
		    "the job that cuts its clip is not there" },
		{ &naming, FIND("x.id, x.chapter_id AS other FROM sections x JOIN chapters c ON c.id = x.chapter_id WHERE "
		    IN_STEP("id") "c.media_id <> x.media_id"), "its chapter is of another asset" },
	} },
	{ "comments", STEP("comments", "id", "1000"), {
		{ &naming, FIND("x.id, x.parent_id AS other FROM comments x JOIN comments p ON p.id = x.parent_id WHERE "
		    IN_STEP("id") "p.media_id <> x.media_id"), "it answers a comment on another asset" },
		{ &naming, FIND("x.id, x.principal_id AS other FROM comments x JOIN principals p ON p.id = x.principal_id "
		    "JOIN media m ON m.id = x.media_id WHERE " IN_STEP("id") "p.tenant_id <> m.tenant_id"),
		    "who wrote it is of another tenant" },
	} },
	{ "shares", STEP("shares", "id", "1000"), {
		{ &naming, FIND("x.id, x.principal_id AS other FROM shares x JOIN principals p ON p.id = x.principal_id "
		    "JOIN media m ON m.id = x.media_id WHERE " IN_STEP("id") "p.tenant_id <> m.tenant_id"),
		    "who shares the asset is of another tenant" },
	} },
	{ "watched", STEP("watched", "principal_id", "50"), {
		{ &naming, FIND("x.principal_id AS id, x.media_id AS other FROM watched x JOIN principals p ON p.id = "
		    "x.principal_id JOIN media m ON m.id = x.media_id WHERE " IN_STEP("principal_id") "p.tenant_id <> "
		    "m.tenant_id"), "its history names an asset of another tenant" },
	} },
	{ "mentions", STEP("mentions", "object_id", "200"), {
		{ &naming, FIND("x.object_id AS id, x.media_id AS other FROM mentions x LEFT JOIN stories s ON s.id = "
		    "x.object_id LEFT JOIN meetings g ON g.id = x.object_id WHERE " IN_STEP("object_id") "s.id IS NULL "
		    "AND g.id IS NULL"), "the story or meeting that mentions an asset is not there" },
		{ &naming, FIND("x.object_id AS id, x.media_id AS other FROM mentions x JOIN media m ON m.id = x.media_id "
		    "LEFT JOIN stories s ON s.id = x.object_id LEFT JOIN meetings g ON g.id = x.object_id WHERE "
		    IN_STEP("object_id") "((s.id IS NOT NULL AND (s.tenant_id <> m.tenant_id OR INSTR(s.scenes, "
		    ID_TEXT("x.media_id") ") = 0)) OR (g.id IS NOT NULL AND (g.tenant_id <> m.tenant_id OR "
		    "COALESCE(INSTR(g.media_ids, x.media_id), 0) = 0)))"),
		    "it does not name the asset that it is said to mention" },
	} },
	{ "flows", STEP("flows", "id", "500"), {
		{ &naming, FIND("x.id, x.principal_id AS other FROM flows x LEFT JOIN principals p ON p.id = x.principal_id AND "
		    "p.tenant_id = x.tenant_id WHERE " IN_STEP("id") "p.id IS NULL"), "who made it is not there" },
	} },
	{ "flow_runs", STEP("flow_runs", "id", "500"), {
		{ &naming, FIND("x.id, x.principal_id AS other FROM flow_runs x LEFT JOIN principals p ON p.id = x.principal_id "
		    "AND p.tenant_id = x.tenant_id WHERE " IN_STEP("id") "p.id IS NULL"), "who started it is not there" },
		{ &naming, FIND("x.id, x.job_id AS other FROM flow_runs x LEFT JOIN jobs j ON j.id = x.job_id WHERE "
		    IN_STEP("id") "x.status = 'queued' AND j.id IS NULL"), "the job that does it is not there" },
	} },
	{ "downloads", STEP("downloads", "id", "500"), {
		{ &naming, FIND("x.id, x.principal_id AS other FROM downloads x LEFT JOIN principals p ON p.id = "
		    "x.principal_id AND p.tenant_id = x.tenant_id WHERE " IN_STEP("id") "p.id IS NULL"),
		    "who made it is not there" },
		{ &naming, FIND("x.id, x.job_id AS other FROM downloads x LEFT JOIN jobs j ON j.id = x.job_id WHERE "
		    IN_STEP("id") "x.status = 'preparing' AND j.id IS NULL"), "the job that packs it is not there" },
	} },
	{ "livestreams", STEP("livestreams", "id", "500"), {
		{ &naming, FIND("x.id, x.principal_id AS other FROM livestreams x LEFT JOIN principals p ON p.id = "
		    "x.principal_id AND p.tenant_id = x.tenant_id WHERE " IN_STEP("id") "p.id IS NULL"),
		    "who made it is not there" },
		{ &naming, FIND("x.id, x.media_id AS other FROM livestreams x JOIN media m ON m.id = x.media_id WHERE "
		    IN_STEP("id") "m.tenant_id <> x.tenant_id"), "its asset is of another tenant" },
		{ &naming, FIND("x.id, x.job_id AS other FROM livestreams x LEFT JOIN jobs j ON j.id = x.job_id WHERE "
		    IN_STEP("id") "x.status = 'finishing' AND x.job_id IS NOT NULL AND j.id IS NULL"),
		    "the job that makes its asset is not there" },
	} },
	{ "imports", STEP("imports", "id", "500"), {
		{ &naming, FIND("x.id, x.principal_id AS other FROM imports x LEFT JOIN principals p ON p.id = "
		    "x.principal_id AND p.tenant_id = x.tenant_id WHERE " IN_STEP("id") "p.id IS NULL"),
		    "who made it is not there" },
	} },
	{ "import_files", STEP("import_files", "id", "500"), {
		{ &naming, FIND("x.id, x.job_id AS other FROM import_files x LEFT JOIN jobs j ON j.id = x.job_id WHERE "
		    IN_STEP("id") "x.status = 'waiting' AND j.id IS NULL"), "the job that fetches it is not there" },
	} },
	{ "jobs", STEP("jobs", "id", "1000"), {
		/* One that ran when its asset was deleted may be tried again, and finds that out; purges outlive it. */
		{ &naming, FIND("x.id, x.media_id AS other FROM jobs x LEFT JOIN media m ON m.id = x.media_id WHERE "
		    IN_STEP("id") "x.media_id IS NOT NULL AND m.id IS NULL AND x.kind <> 'purge' AND x.state IN "
		    "('waiting', 'delayed', 'ready') AND x.attempt = 0"), "its asset is not there" },
		{ &naming, FIND("x.id, x.tenant_id AS other FROM jobs x LEFT JOIN tenants n ON n.id = x.tenant_id WHERE "
		    IN_STEP("id") "x.tenant_id IS NOT NULL AND n.id IS NULL"), "its tenant is not there" },
		{ &naming, FIND("x.id, x.ingest_id AS other FROM jobs x JOIN media m ON m.id = x.media_id LEFT JOIN jobs "
		    "j ON j.id = x.ingest_id WHERE " IN_STEP("id") "x.ingest_id IS NOT NULL AND j.id IS NULL"),
		    "the ingest that it is a step of is not there" },
		{ &naming, FIND("x.id, x.replaced_by AS other FROM jobs x JOIN media m ON m.id = x.media_id LEFT JOIN "
		    "jobs j ON j.id = x.replaced_by WHERE " IN_STEP("id") "x.replaced_by IS NOT NULL AND j.id IS NULL"),
		    "the job that was added in its place is not there" },
		{ &bare, FIND("x.id FROM jobs x WHERE " IN_STEP("id") "x.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM "
		    "job_waits w JOIN jobs j ON j.id = w.on_id AND j.state IN " OPEN " WHERE w.job_id = x.id)"),
		    "it waits for jobs that are over, or not there" },
		{ &naming, FIND("x.id, x.media_id AS other FROM jobs x LEFT JOIN media m ON m.id = x.media_id WHERE "
		    IN_STEP("id") "x.media_id IS NOT NULL AND m.id IS NULL AND x.state NOT IN " OPEN " AND "
		    "x.finished_at < " SQL_NOW " - 40 * 86400000"), "its asset is not there, and the sweep has left it" },
	} },
	{ "webhook_deliveries", STEP("webhook_deliveries", "id", "1000"), {
		{ &naming, FIND("x.id, x.webhook_id AS other FROM webhook_deliveries x LEFT JOIN webhooks w ON w.id = "
		    "x.webhook_id WHERE " IN_STEP("id") "w.id IS NULL AND x.status IN ('waiting', 'sending') AND "
		    "x.created_at < " SQL_NOW " - 86400000"), "its webhook is not there, and it waits for a day" },
	} },
};

static const char remedy[] = "No command mends this: compare with a backup, and report how it came about.";

static void
tell(struct cli *c, struct arena *mem, const struct walk *w, const struct rule *rule, const struct finding *f)
{
	const char *more = !uuid_is_none(f->other) ? uuid_text(mem, f->other) : f->detail;

	consistency_found(c, w->table, uuid_text(mem, f->id), more == NULL ? rule->text :
	    arena_printf(mem, "%s: %s", rule->text, more), remedy);
}

static void
walk(struct cli *c, struct arena *mem, const struct walk *w)
{
	struct uuid after = { { 0 } };
	const struct finding *f;
	const struct bound *to;
	const struct rule *r;
	size_t i, n;

	for (;;) {
		arena_reset(mem);
		to = db_row(c->db, &bound_record, w->step, ARGS(BYTES(after.b, sizeof(after.b))));
		if (to == NULL || uuid_is_none(to->id))
			return;
		for (r = w->rules; r < w->rules + RULES_MAX && r->from != NULL; r++) {
			f = db_rows(c->db, r->finds, r->from, ARGS(BYTES(after.b, sizeof(after.b)), ID(to->id)), &n);
			for (i = 0; i < n; i++)
				tell(c, mem, w, r, &f[i]);
		}
		after = to->id;
	}
}

/* An entry, and the index of its parent; -1: at the top, or known to hang from there. */
struct line { struct uuid id, parent_id; int64_t parent; };
static const struct field line_fields[] = {
	FIELD(struct line, id, .doc = "Entry"),
	FIELD(struct line, parent_id, .doc = "What it is below"),
};
static const struct record line_record = RECORD("EntryLine", struct line, line_fields);

/* Each is walked up to the top, or to what was before, and then stands there itself; who is still on the way after as
 * many steps as there are entries goes round. */
static void
look_for_rounds(struct cli *c, struct arena *mem, struct uuid chapter_id)
{
	struct line *e, *p;
	int64_t up, next;
	size_t n, i, steps;

	e = db_rows(c->db, &line_record, "FROM entries t WHERE t.chapter_id = ? ORDER BY t.id", ARGS(ID(chapter_id)),
	    &n);
	for (i = 0; i < n; i++) {
		p = uuid_is_none(e[i].parent_id) ? NULL : bsearch(&e[i].parent_id, e, n, sizeof(*e), uuid_order);
		e[i].parent = p == NULL ? -1 : p - e;
	}
	for (i = 0; i < n; i++) {
		for (up = (int64_t)i, steps = 0; up >= 0 && steps <= n; steps++)
			up = e[up].parent;
		if (up >= 0) {
			consistency_found(c, "entries", uuid_text(mem, e[i].id), "it is below itself", remedy);
			return;
		}
		for (up = (int64_t)i; up >= 0; up = next) {
			next = e[up].parent;
			e[up].parent = -1;
		}
	}
}

/* Who writes a chapter holds its asset and writes all of it in one transaction: one statement sees it whole. */
static void
walk_chapters(struct cli *c, struct arena *mem)
{
	struct uuid after = { { 0 } };
	const struct bound *to;

	for (;;) {
		arena_reset(mem);
		to = db_row(c->db, &bound_record, STEP("entries", "chapter_id", "1"), ARGS(BYTES(after.b,
		    sizeof(after.b))));
		if (to == NULL || uuid_is_none(to->id))
			return;
		after = to->id;
		look_for_rounds(c, mem, after);
	}
}

int
consistency_rows(struct cli *c, struct arena *mem)
{
	size_t i;

	for (i = 0; i < sizeof(walks) / sizeof(walks[0]); i++)
		walk(c, mem, &walks[i]);
	walk_chapters(c, mem);
	return db_failure(c->db) == DB_FINE ? 0 : cli_fail_db(c);
}
