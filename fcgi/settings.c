/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/tenants/current: the settings of the caller's tenant, and its glossary */
#include <string.h>

#include "core/glossary.h"
#include "core/job.h"
#include "core/models.h"
#include "core/origin.h"
#include "core/voices.h"
#include "fcgi/asset_view.h"

enum { ORIGINS_MAX = 50, LANGUAGES_MAX = 20 };

struct main_designs { struct uuid channel_design_id, player_design_id, docx_export_design_id; };
static const struct field main_designs_fields[] = {
	FIELD(struct main_designs, channel_design_id,     .doc = "Of channels that have none"),
	FIELD(struct main_designs, player_design_id,      .doc = "Of players of channels that have none"),
	FIELD(struct main_designs, docx_export_design_id, .doc = "Of exports as DOCX"),
};
static const struct record main_designs_record = RECORD("MainDesigns", struct main_designs, main_designs_fields);

#define MEMBER(family) const char *family;
struct tenant_engines { CHOSEN_FAMILIES(MEMBER) };
#undef MEMBER
static const struct field tenant_engines_fields[] = {
#define CHOSEN(family) FIELD(struct tenant_engines, family, .on = CREATE | PATCH | ASCII | OMIT_NULL, .min = 1, .max = 40, \
	.doc = "One of engineChoices." #family "; null: what the operator has chosen"),
	CHOSEN_FAMILIES(CHOSEN)
#undef CHOSEN
};
static const struct record tenant_engines_record = RECORD("TenantEngines", struct tenant_engines,
    tenant_engines_fields);

#define MEMBER(family) struct strings family;
struct engine_choices { CHOSEN_FAMILIES(MEMBER) };
#undef MEMBER
static const struct field engine_choices_fields[] = {
	FIELD(struct engine_choices, transcribe, .required = true, .doc = "What turns speech into words"),
	FIELD(struct engine_choices, translate,  .required = true, .doc = "What makes English of transcripts"),
	FIELD(struct engine_choices, diarize,    .required = true, .doc = "What tells voices apart"),
	FIELD(struct engine_choices, voiceprint, .required = true, .doc = "What knows voices again"),
	FIELD(struct engine_choices, ocr,        .required = true, .doc = "What reads the text on pictures and slides"),
	FIELD(struct engine_choices, vision,     .required = true, .doc = "What tells things on pictures"),
	FIELD(struct engine_choices, complete,   .required = true, .doc = "What writes texts: summaries, answers, steps of flows"),
};
static const struct record engine_choices_record = RECORD("EngineChoices", struct engine_choices,
    engine_choices_fields);

struct settings {
	struct uuid id, default_channel_id;
	const char *name, *shortcode, *embed_model;
	int64_t token_lifetime, soft_delete_retention_days, download_expiry_days, webhooks_per_principal, storage_used;
	int64_t livestream_duration, livestream_bitrate, livestreams_open;
	bool duplicate_check, portal_enabled, comments_on_pages, speaker_recognition;
	struct strings transcription_languages, cors_origins, flow_models, embed_models;
	struct number storage_quota;
	struct nested engines, engine_choices, main_designs;
	struct moment created_at, updated_at;
	int64_t version;
};

static const struct field settings_fields[] = {
	FIELD(struct settings, id,        .on = SERVER, .required = true, .doc = "Of the tenant"),
	FIELD(struct settings, name,      .on = PATCH, .required = true, .min = 1, .max = 255, .doc = "Shown to people"),
	FIELD(struct settings, shortcode, .on = SERVER, .required = true, .doc = "Its name in the addresses of the token server; it stays"),
	FIELD(struct settings, default_channel_id, .on = PATCH, .required = true, .doc = "Channel of uploads that name none; it cannot be deleted"),
	FIELD(struct settings, token_lifetime, .on = PATCH, .min = 60, .max = 2592000, .preset = "57600",
	    .doc = "Seconds that access tokens are good for from now on; those that are given out stay as they are"),
	FIELD(struct settings, duplicate_check, .on = PATCH, .preset = "false",
	    .doc = "Refuse to complete an upload whose file is there already"),
	FIELD(struct settings, portal_enabled, .on = PATCH, .preset = "false",
	    .doc = "May channels be public, and does the page / list them?"),
	FIELD(struct settings, comments_on_pages, .on = PATCH, .preset = "false",
	    .doc = "Do the pages of assets show their comments, with the names of who wrote them, to all who may open "
	    "the page?"),
	FIELD(struct settings, speaker_recognition, .on = PATCH, .preset = "false",
	    .doc = "Are voices told apart in what comes from now on, and are those known again that people have "
	    "labelled? How they sound is kept for that, which is biometric data; it counts for nothing as soon as this is "
	    "turned off, and is deleted by a job then"),
	FIELD(struct settings, soft_delete_retention_days, .on = PATCH, .min = 0, .max = 3650, .preset = "30",
	    .doc = "Days that soft-deleted assets are kept, 0 for ever; then they are deleted for good"),
	FIELD(struct settings, download_expiry_days, .on = PATCH, .min = 1, .max = 365, .preset = "7",
	    .doc = "Days that downloads are kept at most, and clips that were cut of sections"),
	FIELD(struct settings, webhooks_per_principal, .on = PATCH, .min = 0, .max = 1000, .preset = "10",
	    .doc = "How many webhooks one principal may have"),
	FIELD(struct settings, livestream_duration, .on = PATCH, .min = 60, .max = 43000, .preset = "36000",
	    .doc = "Seconds that a livestream may last from its first picture on; then it is stopped"),
	FIELD(struct settings, livestream_bitrate, .on = PATCH, .min = 100000, .max = 200000000, .preset = "20000000",
	    .doc = "bit/s that an encoder may send"),
	FIELD(struct settings, livestreams_open, .on = PATCH, .min = 0, .max = 1000, .preset = "10",
	    .doc = "How many livestreams may be started at one time"),
	FIELD(struct settings, transcription_languages, .on = PATCH, .required = true, .max = LANGUAGES_MAX, .item_max = 35,
	    .doc = "Languages to transcribe where an upload, an import or a livestream names none: BCP 47 tags, "
	    "translate-en, or auto"),
	FIELD(struct settings, cors_origins, .on = PATCH, .required = true, .max = ORIGINS_MAX, .item_max = 200,
	    .doc = "Origins whose web pages may call the interface with tokens of the tenant, such as "
	    "https://example.org; beside those of the server's own setting cors.origins"),
	FIELD(struct settings, flow_models, .on = COMPUTED, .required = true,
	    .doc = "Models that steps of flows may name, the one that holds without a name first; the operator sets "
	    "them"),
	FIELD(struct settings, embed_model, .on = PATCH | ASCII, .min = 1, .max = 200,
	    .doc = "Which of embedModels says what texts mean; none: they are sent to no server, and the built-in "
	    "engine does alone; null, or one that is not among them any more: the one that the operator has chosen. "
	    "After a change jobs have all assets looked at by it; vectors of two models are never compared, so until "
	    "then the built-in engine finds them"),
	FIELD(struct settings, embed_models, .on = COMPUTED, .required = true,
	    .doc = "Models that embedModel may name; the operator sets them"),
	FIELD(struct settings, engines, .on = PATCH, .of = &tenant_engines_record,
	    .doc = "Which engines do the work of analyses, from the next job on, all of them at once: what is left "
	    "out, or null, is what the operator has chosen. One that is none of engineChoices any more counts as none. "
	    "For what texts mean see embedModel"),
	FIELD(struct settings, engine_choices, .on = COMPUTED, .required = true, .of = &engine_choices_record,
	    .doc = "Engines that may be chosen, the one that the operator has chosen first; none, which does nothing, "
	    "is always one of them"),
	FIELD(struct settings, storage_quota, .on = SERVER, .doc = "The most that storageUsed may be, null without limit; the operator sets it"),
	FIELD(struct settings, storage_used,  .on = SERVER, .required = true,
	    .doc = "Bytes of originals, of thumbnails that clients have set, and of recordings that are kept",
	    .sql = "COALESCE((SELECT u.storage_used FROM tenant_usage u WHERE u.tenant_id = t.id), 0)"),
	FIELD(struct settings, main_designs,  .on = COMPUTED, .required = true, .of = &main_designs_record, .doc = "The designs that are isMain"),
	FIELD(struct settings, created_at, .on = SERVER, .required = true, .doc = "When the tenant was made"),
	FIELD(struct settings, updated_at, .on = SERVER, .required = true, .doc = "Last change of the settings"),
	FIELD(struct settings, version,    .on = SERVER | HIDDEN, .doc = "Grows with each change"),
};
static const struct record settings_record = RECORD("TenantSettings", struct settings, settings_fields);

struct main_design { struct uuid id; const char *type; };
static const struct field main_design_fields[] = {
	FIELD(struct main_design, id, .doc = "Design"),
	FIELD(struct main_design, type, .doc = "Of what"),
};
static const struct record main_design_record = RECORD("MainDesign", struct main_design, main_design_fields);

static struct main_designs *
main_designs(struct req *r)
{
	struct main_designs *out = NEW(r->mem, struct main_designs);
	const struct main_design *d;
	size_t n, i;

	d = db_rows(r->db, &main_design_record, "FROM designs t WHERE t.tenant_id = ? AND t.main_type IS NOT NULL",
	    ARGS(ID(r->who->tenant_id)), &n);
	for (i = 0; i < n; i++)
		*(strcmp(d[i].type, "ChannelDesign") == 0 ? &out->channel_design_id : strcmp(d[i].type,
		    "PlayerDesign") ==
		    0 ? &out->player_design_id : &out->docx_export_design_id) = d[i].id;
	return out;
}

static struct settings *
load(struct req *r, bool lock)
{
	static const char *const from[] = { "FROM tenants t WHERE t.id = ?", "FROM tenants t WHERE t.id = ? FOR "
	    "UPDATE" };

	return db_row(r->db, &settings_record, from[lock], ARGS(ID(r->who->tenant_id)));
}

static struct engine_choices *
engine_choices(struct req *r)
{
	struct engine_choices *out = NEW(r->mem, struct engine_choices);

#define CHOICES(family) out->family = engines_of(r->mem, &r->conf->engine[ENGINE_##family]);
	CHOSEN_FAMILIES(CHOICES)
#undef CHOICES
	return out;
}

static void
no_nulls(struct req *r, struct strings *list)
{
	if (list->at == NULL)
		list->at = arena_array(r->mem, 1, sizeof(*list->at));
}

/* Its ETag follows also from what is counted, which spoils no change. */
static int
settings_reply(struct req *r, struct settings *s)
{
	struct buf b = BUF(r->mem);

	if (s == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	no_nulls(r, &s->transcription_languages);
	no_nulls(r, &s->cors_origins);
	s->flow_models = models_of(r->mem, &engines_conf(r->db, r->conf, s->id)->engine[ENGINE_complete]);
	s->embed_models = models_of(r->mem, &r->conf->engine[ENGINE_embed]);
	s->engine_choices.row = engine_choices(r);
	s->main_designs.row = main_designs(r);
	record_render(&b, &settings_record, s, false);
	r->etag = arena_printf(r->mem, "\"%lld-%s", (long long)s->version, entity_tag(r->mem, b.text, b.len) + 1);
	return reply(r, 200, &settings_record, s);
}

static int
settings_get(struct req *r)
{
	return settings_reply(r, load(r, false));
}

/* It is held: one that is being deleted meanwhile does not become the default one. */
static void
check_channel(struct req *r, struct uuid id)
{
	int64_t closing_at = db_number(r->db, "SELECT closing_at FROM channels WHERE id = ? AND tenant_id = ? AND type "
	    "= 'group' LOCK IN SHARE MODE", ARGS(ID(id), ID(r->who->tenant_id)), -1);

	if (closing_at < 0)
		fault(r, "/defaultChannelId", "not_found", "there is no such channel for all");
	else if (closing_at > 0)
		refuse(r, ERR_CHANNEL_CLOSING, NULL);
}

static void
check(struct req *r, const struct settings *s)
{
	size_t i;

	if (r->given & record_bit(&settings_record, "default_channel_id"))
		check_channel(r, s->default_channel_id);
	if (r->given & record_bit(&settings_record, "transcription_languages"))
		asset_check_languages(r, "transcriptionLanguages", &s->transcription_languages);
	for (i = 0; r->given & record_bit(&settings_record, "cors_origins") && i < s->cors_origins.n; i++)
		if (!origin_is_one(s->cors_origins.at[i]))
			fault(r, arena_printf(r->mem, "/corsOrigins/%zu", i), "format",
			    "an origin is wanted, in lower case and without a path, for example https://example.org");
}

static void
check_embed(struct req *r, const char *model)
{
	const struct engine_settings *set = &r->conf->engine[ENGINE_embed];

	if (model != NULL && strcmp(model, MODELS_NONE) != 0 && !models_known(set, model))
		fault(r, "/embedModel", "not_allowed", "%s", models_refuse(r->mem, set));
}

static void
check_engine(struct req *r, const char *family, const struct engine_settings *set, const char *name)
{
	const struct strings all = engines_of(r->mem, set);
	struct buf b = BUF(r->mem);

	if (engines_known(set, name))
		return;
	for (size_t i = 0; i < all.n; i++)
		buf_printf(&b, "%s%s", i > 0 ? ", " : "", all.at[i]);
	fault(r, arena_printf(r->mem, "/engines/%s", family), "not_allowed",
	    "this is none of the engines that may be chosen: %s", buf_string(&b));
}

static void
check_engines(struct req *r, const struct tenant_engines *e)
{
#define CHECK(family) check_engine(r, #family, &r->conf->engine[ENGINE_##family], e->family);
	if (e != NULL) {
		CHOSEN_FAMILIES(CHECK)
	}
#undef CHECK
}

static const char *
changed_members(struct req *r, uint64_t changed)
{
	struct buf b = BUF(r->mem);
	size_t i;

	for (i = 0; i < settings_record.n; i++)
		if (changed >> i & 1)
			buf_printf(&b, "%s\"%s\"", b.len > 0 ? "," : "", record_json_name(&settings_record,
			    &settings_record.fields[i]));
	return arena_printf(r->mem, "{\"modified\":[%s]}", buf_string(&b));
}

static int
settings_patch(struct req *r)
{
	struct settings *now = load(r, true), *would;
	uint64_t changed;

	if (now == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (!precondition(r, now->version))
		return r->status;
	check(r, r->in);
	check_embed(r, ((const struct settings *)r->in)->embed_model);
	check_engines(r, ((const struct settings *)r->in)->engines.row);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (r->refused)
		return r->status;
	no_nulls(r, &now->transcription_languages);
	no_nulls(r, &now->cors_origins);
	would = record_overlay(r->mem, &settings_record, now, r->in, r->given);
	changed = record_differs(r->mem, &settings_record, now, would, r->given);
	if (changed == 0)
		return settings_reply(r, now);
	db_update(r->db, "tenants", &settings_record, would, changed, now->id);
	if (changed & record_bit(&settings_record, "cors_origins"))
		origin_written(r->db, now->id);
	if (changed & record_bit(&settings_record, "speaker_recognition") && !would->speaker_recognition)
		voices_clear(r->db, now->id);
	if (changed & record_bit(&settings_record, "embed_model"))
		job_add(r->db, reembed, (struct job_place){ .tenant_id = now->id }, .note = NULL);
	audit(r, "tenant.settings", now->id, changed_members(r, changed));
	return settings_reply(r, load(r, false));
}

struct glossary { struct strings terms; };
static const struct field glossary_fields[] = {
	FIELD(struct glossary, terms, .on = SERVER, .required = true, .doc = "Names and technical terms, the most important first"),
};
static const struct record glossary_record = RECORD("Glossary", struct glossary, glossary_fields);

static const struct field glossary_new_fields[] = {
	FIELD(struct glossary, terms, .on = CREATE, .required = true, .max = GLOSSARY_MAX, .item_max = GLOSSARY_TERM_MAX,
	    .doc = "Names and technical terms, the most important first; those that come twice count once"),
};
static const struct record glossary_new_record = RECORD("GlossaryNew", struct glossary, glossary_new_fields);

static int
glossary_reply(struct req *r)
{
	struct glossary g = { glossary_read(r->db, r->who->tenant_id) };
	struct buf b = BUF(r->mem);

	no_nulls(r, &g.terms);
	record_render(&b, &glossary_record, &g, false);
	if (r->route->flags & CONDITIONAL)
		r->etag = entity_tag(r->mem, b.text, b.len);
	return reply_json(r, 200, buf_string(&b));
}

static int
glossary_get(struct req *r)
{
	return glossary_reply(r);
}

/* As a file of the command line would be read: blanks go, and what comes twice. */
static int
glossary_put(struct req *r)
{
	const struct glossary *in = r->in;
	struct buf lines = BUF(r->mem);
	struct strings terms;
	const char *wrong;
	size_t i;

	for (i = 0; i < in->terms.n; i++) {
		buf_text(&lines, in->terms.at[i]);
		buf_char(&lines, '\n');
	}
	if (!glossary_parse(r->mem, buf_string(&lines), lines.len, &terms, &wrong)) {
		fault(r, "/terms", "format", "%s", wrong);
		return refuse(r, ERR_INVALID, NULL);
	}
	glossary_write(r->db, r->who->tenant_id, &terms);
	audit(r, "tenant.settings", r->who->tenant_id, arena_printf(r->mem, "{\"glossary\":%zu}", terms.n));
	return glossary_reply(r);
}

const struct route settings_routes[] = {
	{
		GET, "/v2/tenants/current/settings", SCOPE_ANY_TOKEN, settings_get, NULL, &settings_record,
		"Get the settings of the caller's tenant",
		.flags = CONDITIONAL, .id = "getTenantSettings",
	},
	{
		METHOD_PATCH, "/v2/tenants/current/settings", SCOPE_MANAGE_CHANNEL, settings_patch, &settings_record,
		&settings_record, "Change settings of the caller's tenant",
		.flags = CONDITIONAL | SUPER_ADMIN | OWN_AUDIENCE, .fails = "403 409 412 422",
		.codes = "channel_closing",
		.id = "updateTenantSettings",
	},
	{
		GET, "/v2/tenants/current/glossary", SCOPE_ANY_TOKEN, glossary_get, NULL, &glossary_record,
		"Get the words that engines are told to expect",
		.flags = CONDITIONAL, .id = "getGlossary",
	},
	{
		PUT, "/v2/tenants/current/glossary", SCOPE_MANAGE_CHANNEL, glossary_put, &glossary_new_record,
		&glossary_record,
		"Replace the words that engines are told to expect; none: there is no glossary any more",
		.flags = SUPER_ADMIN, .fails = "403 422", .id = "setGlossary",
	},
	{ 0 }
};
