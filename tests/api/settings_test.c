/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of a tenant and its glossary. */
#include <stdlib.h>
#include <string.h>

#include "tests/world.h"

static const char settings[] = "/v2/tenants/current/settings", glossary[] = "/v2/tenants/current/glossary";

static void
everybody_reads_and_super_admins_write(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const char *owner = world_member(w, SCOPE_NAMES, "Channel Owner", NULL), *plain = world_member(w, "email",
	    NULL, NULL);
	struct req *r;

	assert_int_equal(call_as(w, owner, "PATCH", settings, "{\"name\":\"x\"}")->status, 403);
	assert_int_equal(call_as(w, owner, "PUT", glossary, "{\"terms\":[]}")->status, 403);
	r = call_as(w, plain, "GET", settings, NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.shortcode"), w->shortcode);
	assert_string_equal(text(w, r, "data.tokenLifetime"), "57600");
	assert_string_equal(text(w, r, "data.softDeleteRetentionDays"), "30");
	assert_string_equal(text(w, r, "data.transcriptionLanguages"), "[ ]");
	assert_string_equal(text(w, r, "data.portalEnabled"), "false");
	assert_int_equal(call_as(w, plain, "GET", glossary, NULL)->status, 200);
	r = call(w, "PATCH", settings, "{\"name\":\"New\",\"portalEnabled\":true,\"duplicateCheck\":true,"
	    "\"softDeleteRetentionDays\":0,\"downloadExpiryDays\":1,\"webhooksPerPrincipal\":0,"
	    "\"livestreamDuration\":60,\"livestreamBitrate\":6000000,\"livestreamsOpen\":0,"
	    "\"transcriptionLanguages\":[\"de\",\"translate-en\"],\"corsOrigins\":[\"https://a.example:8443\"]}");
	assert_int_equal(r->status, 200);
	r = call_as(w, plain, "GET", settings, NULL);
	assert_string_equal(text(w, r, "data.name"), "New");
	assert_string_equal(text(w, r, "data.portalEnabled"), "true");
	assert_string_equal(text(w, r, "data.duplicateCheck"), "true");
	assert_string_equal(text(w, r, "data.softDeleteRetentionDays"), "0");
	assert_string_equal(text(w, r, "data.transcriptionLanguages"), "[ \"de\", \"translate-en\" ]");
	assert_string_equal(text(w, r, "data.corsOrigins"), "[ \"https:\\/\\/a.example:8443\" ]");
	assert_string_equal(text(w, call(other, "GET", settings, NULL), "data.name"), "Tenant");
	assert_string_equal(db_text(w->db, "SELECT data FROM events WHERE tenant_id = ? AND is_audit = 1 AND type = "
	    "'tenant.settings'", ARGS(ID(w->tenant_id))), "{\"modified\":[\"name\",\"duplicateCheck\",\"portalEnabled\","
	    "\"softDeleteRetentionDays\",\"downloadExpiryDays\",\"webhooksPerPrincipal\",\"livestreamDuration\",\"livestreamBitrate\","
	    "\"livestreamsOpen\",\"transcriptionLanguages\","
	    "\"corsOrigins\"]}");
}

/* Of those that the operator offers; then jobs have all assets looked at by it. */
static void
a_tenant_chooses_by_which_model_its_texts_are_understood(void **state)
{
	struct world *w = *state, *other = world_other(w);
	static const char large[] = "{\"embedModel\":\"large\"}";
	struct conf conf = *w->conf;
	const struct conf *was = w->conf;
	struct req *r;

#define REEMBEDS(world) number(w, "FROM jobs WHERE kind = 'reembed' AND tenant_id = ?", ARGS(ID((world)->tenant_id)))
	r = call(w, "PATCH", settings, large);
	assert_int_equal(r->status, 422);
	assert_non_null(strstr(buf_string(&r->out), "no models that may be named"));
	conf.engine[ENGINE_embed].name = "http";
	conf.engine[ENGINE_embed].model = "usual";
	conf.engine[ENGINE_embed].models = "large";
	w->conf = &conf;
	r = call(w, "PATCH", settings, "{\"embedModel\":\"huge\"}");
	assert_int_equal(r->status, 422);
	assert_non_null(strstr(buf_string(&r->out), "/embedModel"));
	assert_non_null(strstr(buf_string(&r->out), "may be named: usual, large\""));
	assert_int_equal(REEMBEDS(w), 0);
	r = call(w, "PATCH", settings, large);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.embedModel"), "large");
	assert_string_equal(text(w, r, "data.embedModels"), "[ \"usual\", \"large\" ]");
	assert_int_equal(REEMBEDS(w), 1);
	assert_int_equal(call(w, "PATCH", settings, large)->status, 200);
	assert_int_equal(call(w, "PATCH", settings, "{\"name\":\"Other\"}")->status, 200);
	assert_int_equal(REEMBEDS(w), 1);
	assert_int_equal(call(w, "PATCH", settings, "{\"embedModel\":\"none\"}")->status, 200);
	assert_int_equal(call(w, "PATCH", settings, "{\"embedModel\":null}")->status, 200);
	assert_null(text(w, call(w, "GET", settings, NULL), "data.embedModel"));
	assert_int_equal(REEMBEDS(w), 3);
	assert_int_equal(REEMBEDS(other), 0);
	w->conf = was;
}

/* Of those that the operator offers, or none; another tenant has what it had. */
static void
a_tenant_chooses_its_engines(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const struct conf *was = w->conf, *own;
	struct conf conf = *w->conf;
	struct req *r;

	conf.engine[ENGINE_transcribe].model = "/srv/usual";
	conf.engine[ENGINE_transcribe].url = "http://127.0.0.1:1";
	conf.engine[ENGINE_transcribe].others = "http:large,sherpa:/srv/model";
	conf.engine[ENGINE_voiceprint].others = "sherpa:/srv/voices";
	conf.engine[ENGINE_voiceprint].same = 58;
	w->conf = &conf;
	r = call(w, "GET", settings, NULL);
	assert_null(text(w, r, "data.engines"));
	assert_string_equal(text(w, r, "data.engineChoices.transcribe"), "[ \"pocketsphinx\", \"http\", \"sherpa\", "
	    "\"none\" ]");
	assert_string_equal(text(w, r, "data.engineChoices.vision"), "[ \"none\" ]");
	r = call(w, "PATCH", settings, "{\"engines\":{\"transcribe\":\"whisper\"}}");
	assert_int_equal(r->status, 422);
	assert_non_null(strstr(buf_string(&r->out), "/engines/transcribe"));
	assert_non_null(strstr(buf_string(&r->out), "may be chosen: pocketsphinx, http, sherpa, none\""));
	assert_int_equal(call(w, "PATCH", settings, "{\"engines\":{\"vision\":\"http\"}}")->status, 422);
	assert_int_equal(call(w, "PATCH", settings, "{\"engines\":{\"embed\":\"none\"}}")->status, 422);
	r = call(w, "PATCH", settings, "{\"engines\":{\"transcribe\":\"http\",\"ocr\":\"none\",\"voiceprint\":"
	    "\"sherpa\"}}");
	assert_int_equal(r->status, 200);
	r = call(w, "GET", settings, NULL);
	assert_string_equal(text(w, r, "data.engines.transcribe"), "http");
	assert_string_equal(text(w, r, "data.engines.ocr"), "none");
	assert_null(text(w, r, "data.engines.diarize"));
	own = engines_conf(w->db, &conf, w->tenant_id);
	assert_string_equal(own->engine[ENGINE_transcribe].name, "http");
	assert_string_equal(own->engine[ENGINE_transcribe].model, "large");
	assert_string_equal(own->engine[ENGINE_ocr].name, "none");
	/* Limits are those of an engine. */
	assert_string_equal(own->engine[ENGINE_voiceprint].model, "/srv/voices");
	assert_int_equal(own->engine[ENGINE_voiceprint].same, 0);
	assert_false(own->engine[ENGINE_ocr].gone);
	assert_string_equal(own->engine[ENGINE_diarize].name, conf.engine[ENGINE_diarize].name);
	assert_ptr_equal(engines_conf(w->db, &conf, other->tenant_id), &conf);
	assert_null(engines_gone(w->db, &conf));
	/* What may be said in which language follows. */
	r = call(w, "GET", "/v2/languages?perpage=1", NULL);
	assert_string_equal(text(w, r, "data.0.engine"), "http");
	other->conf = &conf;
	assert_string_equal(text(w, call(other, "GET", "/v2/languages?perpage=1", NULL), "data.0.engine"),
	    "pocketsphinx");

	/* One that is offered no more is replaced by no other. */
	conf.engine[ENGINE_transcribe].others = "sherpa:/srv/model";
	own = engines_conf(w->db, &conf, w->tenant_id);
	assert_string_equal(own->engine[ENGINE_transcribe].name, "none");
	assert_true(own->engine[ENGINE_transcribe].gone);
	assert_string_equal(engines_gone(w->db, &conf), arena_printf(w->mem, "%s: transcribe = http", text(w, call(w,
	    "GET", settings, NULL), "data.shortcode")));
	r = call(w, "GET", "/v2/languages", NULL);
	assert_true(text(w, r, "data.0.code") == NULL || strcmp(text(w, r, "data.0.code"), "translate-en") == 0);
	assert_int_equal(call(w, "PATCH", settings, "{\"engines\":null}")->status, 200);
	assert_ptr_equal(engines_conf(w->db, &conf, w->tenant_id), &conf);
	w->conf = other->conf = was;
}

static void
limits_and_what_is_read_only_are_named(void **state)
{
	static const struct { const char *body, *pointer, *code; } odd[] = {
		{ "{\"shortcode\":\"x\"}", "/shortcode", "read_only" }, { "{\"storageQuota\":1}", "/storageQuota", "read_only" },
		{ "{\"storageUsed\":1}", "/storageUsed", "read_only" }, { "{\"mainDesigns\":{}}", "/mainDesigns", "read_only" },
		{ "{\"id\":null}", "/id", "read_only" }, { "{\"version\":1}", "/version", "unknown" },
		{ "{\"name\":\"\"}", "/name", "too_short" }, { "{\"name\":null}", "/name", "required" },
		{ "{\"tokenLifetime\":59}", "/tokenLifetime", "too_small" }, { "{\"tokenLifetime\":2592001}", "/tokenLifetime", "too_large" },
		{ "{\"softDeleteRetentionDays\":-1}", "/softDeleteRetentionDays", "too_small" },
		{ "{\"softDeleteRetentionDays\":3651}", "/softDeleteRetentionDays", "too_large" },
		{ "{\"downloadExpiryDays\":0}", "/downloadExpiryDays", "too_small" },
		{ "{\"webhooksPerPrincipal\":1001}", "/webhooksPerPrincipal", "too_large" },
		{ "{\"livestreamDuration\":59}", "/livestreamDuration", "too_small" },
		{ "{\"livestreamDuration\":43001}", "/livestreamDuration", "too_large" },
		{ "{\"livestreamBitrate\":99999}", "/livestreamBitrate", "too_small" },
		{ "{\"livestreamsOpen\":1001}", "/livestreamsOpen", "too_large" },
		{ "{\"defaultChannelId\":null}", "/defaultChannelId", "required" },
		{ "{\"transcriptionLanguages\":[\"de\",\"DE\"]}", "/transcriptionLanguages/1", "duplicate" },
		{ "{\"transcriptionLanguages\":[\"!\"]}", "/transcriptionLanguages/0", "format" },
		{ "{\"corsOrigins\":[\"*\"]}", "/corsOrigins/0", "format" },
		{ "{\"corsOrigins\":[\"https://a.example/\"]}", "/corsOrigins/0", "format" },
		{ "{\"corsOrigins\":[\"https://A.example\"]}", "/corsOrigins/0", "format" },
		{ "{\"corsOrigins\":[\"https://a.example,https://b\"]}", "/corsOrigins/0", "format" },
		{ "{\"corsOrigins\":[\"https://a:1:2\"]}", "/corsOrigins/0", "format" },
		{ "{\"corsOrigins\":[\"https://u@a\"]}", "/corsOrigins/0", "format" },
		{ "{\"corsOrigins\":[\"null\"]}", "/corsOrigins/0", "format" },
		{ "{\"portalEnabled\":1}", "/portalEnabled", "type" },
	};
	struct world *w = *state;
	const char *etag = call(w, "GET", settings, NULL)->etag;
	size_t i;

	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct req *r = call(w, "PATCH", settings, odd[i].body);

		if (r->status != 422 || !has_fault(r, odd[i].pointer, odd[i].code))
			fail_msg("%s: %s", odd[i].body, buf_string(&r->out));
	}
	assert_string_equal(call(w, "GET", settings, NULL)->etag, etag);
}

static void
the_default_channel_is_one_of_the_tenant_for_all(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid own = uuid_new(), group = uuid_new();
	struct req *r;

	r = call(w, "PATCH", settings, arena_printf(w->mem, "{\"defaultChannelId\":\"%s\"}", uuid_text(w->mem,
	    other->channel_id)));
	assert_true(has_fault(r, "/defaultChannelId", "not_found"));
	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, type, created_at, updated_at) VALUES (?, ?, "
	    "'Own', 'user', 1, 1)", ARGS(ID(own), ID(w->tenant_id)));
	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, 'All', 1, 1)",
	    ARGS(ID(group), ID(w->tenant_id)));
	r = call(w, "PATCH", settings, arena_printf(w->mem, "{\"defaultChannelId\":\"%s\"}", uuid_text(w->mem, own)));
	assert_true(has_fault(r, "/defaultChannelId", "not_found"));
	r = call(w, "PATCH", settings, arena_printf(w->mem, "{\"defaultChannelId\":\"%s\"}", uuid_text(w->mem, group)));
	assert_string_equal(text(w, r, "data.defaultChannelId"), uuid_text(w->mem, group));
}

static void
settings_change_once_from_a_version_and_their_tag_follows_what_they_show(void **state)
{
	struct world *w = *state;
	struct req *r = NEW(w->mem, struct req), *again = NEW(w->mem, struct req);
	const char *etag, *id;

	r->if_match = again->if_match = call(w, "GET", settings, NULL)->etag;
	assert_int_equal(call_req(w, r, w->token, "PATCH", settings, "{\"name\":\"a\"}")->status, 200);
	assert_int_equal(call_req(w, again, w->token, "PATCH", settings, "{\"name\":\"b\"}")->status, 412);
	etag = call(w, "GET", settings, NULL)->etag;
	assert_string_equal(call(w, "PATCH", settings, "{\"name\":\"a\"}")->etag, etag);
	assert_int_equal(number(w, "FROM events WHERE tenant_id = ? AND type = 'tenant.settings'",
	    ARGS(ID(w->tenant_id))), 1);
	id = text(w, call(w, "POST", "/v2/designs", "{\"type\":\"PlayerDesign\",\"name\":\"x\",\"isMain\":true,"
	    "\"properties\":{}}"), "data.id");
	r = NEW(w->mem, struct req);
	r->if_none_match = etag;
	assert_int_equal(call_req(w, r, w->token, "GET", settings, NULL)->status, 200);
	assert_string_equal(text(w, r, "data.mainDesigns.playerDesignId"), id);
	assert_null(text(w, r, "data.mainDesigns.channelDesignId"));
	again = NEW(w->mem, struct req);
	again->if_none_match = r->etag;
	assert_int_equal(call_req(w, again, w->token, "GET", settings, NULL)->status, 304);
}

static void
tokens_are_good_for_as_long_as_the_setting_says(void **state)
{
	struct world *w = *state;
	struct req *r = NEW(w->mem, struct req);

	assert_int_equal(call(w, "PATCH", settings, "{\"tokenLifetime\":120}")->status, 200);
	r->content_type = "application/x-www-form-urlencoded";
	call_req(w, r, NULL, "POST", arena_printf(w->mem, "/realms/%s/protocol/openid-connect/token", w->shortcode),
	    arena_printf(w->mem, "grant_type=client_credentials&client_id=%s&client_secret=%s", uuid_text(w->mem,
	    w->client_id),
	    w->secret));
	assert_string_equal(text(w, r, "expires_in"), "120");
}

static void
a_glossary_is_kept_as_the_command_line_keeps_it(void **state)
{
	struct world *w = *state;
	const char *etag = call(w, "GET", glossary, NULL)->etag;
	struct buf b = BUF(w->mem);
	struct req *r;
	int i;

	r = call(w, "PUT", glossary, "{\"terms\":[\" Kinothek \",\"M\xc3\xbcller\",\"Kinothek\"]}");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.terms"), "[ \"Kinothek\", \"M\xc3\xbcller\" ]");
	assert_string_not_equal(call(w, "GET", glossary, NULL)->etag, etag);
	assert_true(has_fault(call(w, "PUT", glossary, "{\"terms\":[\"a\\nb\"]}"), "/terms/0", "control_characters"));
	assert_int_equal(call(w, "PUT", glossary, "{}")->status, 422);
	for (i = 0; i < 10001; i++)
		buf_printf(&b, "%s\"t%d\"", i > 0 ? "," : "", i);
	r = call(w, "PUT", glossary, arena_printf(w->mem, "{\"terms\":[%s]}", buf_string(&b)));
	assert_true(has_fault(r, "/terms", "too_many"));
	assert_int_equal(call(w, "PUT", glossary, "{\"terms\":[]}")->status, 200);
	assert_string_equal(text(w, call(w, "GET", glossary, NULL), "data.terms"), "[ ]");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(everybody_reads_and_super_admins_write),
		WORLD_TEST(a_tenant_chooses_by_which_model_its_texts_are_understood),
		WORLD_TEST(a_tenant_chooses_its_engines),
		WORLD_TEST(limits_and_what_is_read_only_are_named),
		WORLD_TEST(the_default_channel_is_one_of_the_tenant_for_all),
		WORLD_TEST(settings_change_once_from_a_version_and_their_tag_follows_what_they_show),
		WORLD_TEST(tokens_are_good_for_as_long_as_the_setting_says),
		WORLD_TEST(a_glossary_is_kept_as_the_command_line_keeps_it),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
