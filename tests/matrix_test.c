/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every operation, by everybody: who may, and who is refused how.  docs/access.md prints the same. */
#include <stdlib.h>
#include <string.h>

#include "core/role.h"
#include "fcgi/verdict.h"
#include "tests/walk.h"

/*
 * Who may do what, once more and by hand: a route is in this test by being there, and fails it until its row says what
 * was meant.
 */
static const struct row { const char *operation, *who; } rows[] = {
#define ASSET ", in a channel of the asset"
#define AUTHOR ", who wrote it, a Channel Owner or a SuperAdmin"
#define DELETED ", in a channel of the asset, which may be soft-deleted"
#define CHANNEL ", in the channel"
#define OWN ", who made it, or a SuperAdmin"
#define MINE ", who made it"
#define MENTIONED ", in a channel of an asset of it, who made it, or a SuperAdmin"
#define LISTED ", of what the caller may see"
#define OPEN "anybody, by the channel's visibility or a key"
	{ "GET /v2/media", "ViewChannel" LISTED },
	{ "GET /v2/media/{mediaId}", "ViewChannel" DELETED },
	{ "PATCH /v2/media/{mediaId}", "CreateContent" ASSET },
	{ "DELETE /v2/media/{mediaId}", "CreateContent" DELETED },
	{ "PUT /v2/media/{mediaId}/recover", "CreateContent" DELETED },
	{ "PUT /v2/media/{mediaId}/ingest", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/permissions", "any token, ViewChannel" DELETED },
	{ "GET /v2/media/{mediaId}/player", OPEN },
	{ "GET /v2/media/{mediaId}/thumbnail", "ViewChannel" DELETED },
	{ "PUT /v2/media/{mediaId}/thumbnail", "CreateContent" ASSET },
	{ "DELETE /v2/media/{mediaId}/thumbnail", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/metadata", "ViewMetadata" ASSET },
	{ "PUT /v2/media/{mediaId}/metadata", "CreateContent" ASSET },
	{ "DELETE /v2/media/{mediaId}/metadata", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/metadata/seo", "ViewMetadata" ASSET },
	{ "GET /v2/media/{mediaId}/metadata/transcripts", "ViewMetadata" ASSET },
	{ "GET /v2/media/{mediaId}/metadata/transcripts/{transcriptId}", "ViewMetadata" ASSET },
	{ "PATCH /v2/media/{mediaId}/metadata/transcripts/{transcriptId}", "CreateContent" ASSET },
	{ "DELETE /v2/media/{mediaId}/metadata/transcripts/{transcriptId}", "CreateContent" ASSET },
	{ "PUT /v2/media/{mediaId}/metadata/transcripts/{transcriptId}/align", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/metadata/transcripts/{transcriptId}/download", "ViewMetadata" ASSET },
	{ "GET /v2/media/{mediaId}/metadata/transcripts/{transcriptId}/versions", "ViewMetadata" ASSET },
	{ "GET /v2/media/{mediaId}/metadata/transcripts/{transcriptId}/versions/{version}", "ViewMetadata" ASSET },
	{ "PUT /v2/media/{mediaId}/metadata/transcripts/{transcriptId}/versions/{version}/restore", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/subtitles", "ViewMetadata" ASSET },
	{ "POST /v2/media/{mediaId}/subtitles", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/subtitles/languages", "ViewMetadata" ASSET },
	{ "GET /v2/media/{mediaId}/subtitles/{subtitleId}", "ViewMetadata" ASSET },
	{ "DELETE /v2/media/{mediaId}/subtitles/{subtitleId}", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/subtitles/{subtitleId}/download", "ViewMetadata" ASSET },
	{ "GET /v2/media/{mediaId}/speakers", "ViewMetadata" ASSET },
	{ "GET /v2/speakers", "ViewMetadata" LISTED },
	{ "GET /v2/speakers/{speakerId}", "ViewMetadata" ASSET },
	{ "PATCH /v2/speakers/{speakerId}", "CreateContent" ASSET },
	{ "DELETE /v2/speakers/{speakerId}", "CreateContent" ASSET },
	{ "PUT /v2/speakers/{speakerId}/merge", "CreateContent" ASSET },
	{ "PUT /v2/speakers/{speakerId}/split", "CreateContent" ASSET },
	{ "PUT /v2/speakers/{speakerId}/reject", "CreateContent" ASSET },
	{ "GET /v2/languages", "any token" LISTED },
	{ "GET /v2/media/{mediaId}/events", "ViewChannel" ASSET },
	{ "GET /v2/events", "ViewChannel" },
	{ "POST /v2/media/{mediaId}/events/ticket", "ViewChannel" ASSET },
	{ "GET /v2/uploads", "CreateContent" LISTED },
	{ "POST /v2/uploads", "CreateContent, somewhere" },
	{ "GET /v2/uploads/{uploadId}", "CreateContent" OWN },
	{ "PUT /v2/uploads/{uploadId}/complete", "CreateContent" OWN },
	{ "PUT /v2/uploads/{uploadId}/cancel", "CreateContent" OWN },
	{ "DELETE /v2/uploads/{uploadId}", "CreateContent" OWN },
	{ "GET /v2/uploads/imports", "CreateContent" LISTED },
	{ "POST /v2/uploads/imports", "CreateContent, somewhere" },
	{ "GET /v2/uploads/imports/{importId}", "CreateContent" OWN },
	{ "PUT /v2/uploads/imports/{importId}/cancel", "CreateContent" OWN },
	{ "GET /v2/media/{mediaId}/jobs", "ViewMetadata" ASSET },
	{ "PUT /v2/jobs/{jobId}/retry", "CreateContent" ASSET },
	{ "PUT /v2/jobs/{jobId}/cancel", "CreateContent" ASSET },
	{ "GET /v2/channels", "ViewChannel" LISTED },
	{ "POST /v2/channels", "CreateContent, somewhere" },
	{ "GET /v2/channels/{channelId}", "ViewChannel" CHANNEL },
	{ "PATCH /v2/channels/{channelId}", "ManageChannel" CHANNEL },
	{ "DELETE /v2/channels/{channelId}", "ManageChannel" CHANNEL },
	{ "PUT /v2/channels/{channelId}/visibility", "ManageSharingOptions" CHANNEL },
	{ "GET /v2/channels/{channelId}/members", "ViewChannel" CHANNEL },
	{ "POST /v2/channels/{channelId}/members", "ManageChannel" CHANNEL },
	{ "GET /v2/channels/{channelId}/members/{principalId}", "ViewChannel" CHANNEL },
	{ "PUT /v2/channels/{channelId}/members/{principalId}", "ManageChannel" CHANNEL },
	{ "DELETE /v2/channels/{channelId}/members/{principalId}", "ManageChannel" CHANNEL },
	{ "GET /v2/channels/{channelId}/media", "ViewChannel" CHANNEL },
	{ "PUT /v2/channels/{channelId}/media/{mediaId}", "CreateContent" CHANNEL ", and in one of the asset" },
	{ "DELETE /v2/channels/{channelId}/media/{mediaId}", "CreateContent" CHANNEL ", and in one of the asset" },
	{ "GET /v2/principals", "ManageChannel, somewhere" LISTED },
	{ "GET /v2/groups", "ManageChannel, somewhere" LISTED },
	{ "POST /v2/groups", "ManageChannel, SuperAdmin" },
	{ "GET /v2/groups/{groupId}", "ManageChannel, somewhere" },
	{ "PATCH /v2/groups/{groupId}", "ManageChannel, SuperAdmin" },
	{ "DELETE /v2/groups/{groupId}", "ManageChannel, SuperAdmin" },
	{ "GET /v2/groups/{groupId}/members", "ManageChannel, somewhere" },
	{ "PUT /v2/groups/{groupId}/members/{principalId}", "ManageChannel, SuperAdmin" },
	{ "DELETE /v2/groups/{groupId}/members/{principalId}", "ManageChannel, SuperAdmin" },
	{ "GET /v2/webhooks", "ViewChannel" LISTED },
	{ "POST /v2/webhooks", "ViewChannel" },
	{ "GET /v2/webhooks/{webhookId}", "ViewChannel" OWN },
	{ "PATCH /v2/webhooks/{webhookId}", "ViewChannel" OWN },
	{ "DELETE /v2/webhooks/{webhookId}", "ViewChannel" OWN },
	{ "PUT /v2/webhooks/{webhookId}/ping", "ViewChannel" OWN },
	{ "PUT /v2/webhooks/{webhookId}/secret", "ViewChannel" OWN },
	{ "GET /v2/webhooks/{webhookId}/deliveries", "ViewChannel" OWN },
	{ "GET /v2/webhooks/{webhookId}/deliveries/{deliveryId}", "ViewChannel" OWN },
	{ "PUT /v2/webhooks/{webhookId}/deliveries/{deliveryId}/retry", "ViewChannel" OWN },
	{ "PUT /v2/media/{mediaId}/share", "ManageSharingOptions" ASSET },
	{ "DELETE /v2/media/{mediaId}/share/revoke", "ManageSharingOptions" ASSET },
	{ "GET /s/{secret}", OPEN },
	{ "GET /watch/stories/{storyId}", OPEN },
	{ "POST /s/{secret}", OPEN },
	{ "GET /v2/media/{mediaId}/sections", "ViewChannel" ASSET },
	{ "POST /v2/media/{mediaId}/sections", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/sections/{sectionId}", "ViewChannel" ASSET },
	{ "PATCH /v2/media/{mediaId}/sections/{sectionId}", "CreateContent" ASSET },
	{ "DELETE /v2/media/{mediaId}/sections/{sectionId}", "CreateContent" ASSET },
	{ "POST /v2/media/{mediaId}/sections/{sectionId}/split", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/chapters", "ViewChannel" ASSET },
	{ "POST /v2/media/{mediaId}/chapters", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/chapters/{chapterId}", "ViewChannel" ASSET },
	{ "PUT /v2/media/{mediaId}/chapters/{chapterId}", "CreateContent" ASSET },
	{ "DELETE /v2/media/{mediaId}/chapters/{chapterId}", "CreateContent" ASSET },
	{ "PUT /v2/media/{mediaId}/chapters/{chapterId}/copy", "CreateContent" ASSET },
	{ "PUT /v2/media/{mediaId}/chapters/{chapterId}/recalculate", "CreateContent" ASSET },
	{ "POST /v2/media/{mediaId}/chapters/{chapterId}/entries", "CreateContent" ASSET },
	{ "PATCH /v2/media/{mediaId}/chapters/{chapterId}/entries", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/chapters/{chapterId}/entries/{entryId}", "ViewChannel" ASSET },
	{ "PUT /v2/media/{mediaId}/chapters/{chapterId}/entries/{entryId}", "CreateContent" ASSET },
	{ "DELETE /v2/media/{mediaId}/chapters/{chapterId}/entries/{entryId}", "CreateContent" ASSET },
	{ "PUT /v2/media/{mediaId}/chapters/{chapterId}/entries/{entryId}/sections/{sectionId}", "CreateContent" ASSET },
	{ "DELETE /v2/media/{mediaId}/chapters/{chapterId}/entries/{entryId}/sections/{sectionId}", "CreateContent" ASSET },
	{ "GET /v2/media/{mediaId}/comments", "any token, ViewChannel" ASSET },
	{ "POST /v2/media/{mediaId}/comments", "any token, ViewChannel" ASSET },
	{ "GET /v2/media/{mediaId}/comments/{commentId}", "any token, ViewChannel" ASSET },
	{ "PUT /v2/media/{mediaId}/comments/{commentId}", "any token, ViewChannel" ASSET AUTHOR },
	{ "DELETE /v2/media/{mediaId}/comments/{commentId}", "any token, ViewChannel" ASSET AUTHOR },
	{ "GET /v2/media/{mediaId}/sections/{sectionId}/download", "ViewChannel" ASSET },
	{ "GET /v2/media/{mediaId}/sections/{sectionId}/thumbnail", "ViewChannel" ASSET },
	{ "PUT /v2/media/{mediaId}/sections/{sectionId}/thumbnail", "CreateContent" ASSET },
	{ "DELETE /v2/media/{mediaId}/sections/{sectionId}/thumbnail", "CreateContent" ASSET },
	{ "POST /v2/media/{mediaId}/chapters/imports", "CreateContent" ASSET },
	{ "GET /v2/history", "any token" LISTED },
	{ "PUT /v2/media/{mediaId}/history", "any token, ViewChannel" ASSET },
	{ "DELETE /v2/history", "any token" },
	{ "GET /v2/downloads", "ViewChannel" LISTED },
	{ "POST /v2/downloads", "ViewChannel" },
	{ "GET /v2/downloads/{downloadId}", "ViewChannel" OWN },
	{ "DELETE /v2/downloads/{downloadId}", "ViewChannel" OWN },
	{ "GET /v2/search", "ViewChannel" LISTED },
	{ "GET /v2/recommendations", "ViewChannel" LISTED },
	{ "GET /v2/recommendations/user/current", "ViewChannel" LISTED },
	{ "GET /v2/search/ranges", "ViewChannel" LISTED },
	{ "GET /v2/search/semantic", "ViewChannel" LISTED },
	{ "GET /v2/chats", "ViewMetadata" LISTED },
	{ "POST /v2/chats", "ViewMetadata" },
	{ "POST /v2/chats/stream", "ViewMetadata" },
	{ "GET /v2/chats/{chatId}", "ViewMetadata" MINE },
	{ "DELETE /v2/chats/{chatId}", "ViewMetadata" MINE },
	{ "GET /v2/chats/{chatId}/messages", "ViewMetadata" MINE },
	{ "POST /v2/chats/{chatId}/messages", "ViewMetadata" MINE },
	{ "GET /v2/flows", "ViewChannel" LISTED },
	{ "POST /v2/flows", "CreateContent, somewhere" },
	{ "GET /v2/flows/{flowId}", "ViewChannel" },
	{ "PUT /v2/flows/{flowId}", "CreateContent, somewhere" OWN },
	{ "DELETE /v2/flows/{flowId}", "CreateContent, somewhere" OWN },
	{ "GET /v2/flows/{flowId}/runs", "ViewMetadata" },
	{ "POST /v2/flows/{flowId}/runs", "ViewMetadata" },
	{ "GET /v2/flows/{flowId}/runs/{runId}", "ViewMetadata" OWN },
	{ "GET /v2/search/presets", "ViewChannel" LISTED },
	{ "POST /v2/search/presets", "ViewChannel" },
	{ "GET /v2/search/presets/{presetId}", "ViewChannel" OWN },
	{ "PUT /v2/search/presets/{presetId}", "ViewChannel" OWN },
	{ "DELETE /v2/search/presets/{presetId}", "ViewChannel" OWN },
	{ "GET /v2/stories", "ViewChannel" LISTED },
	{ "POST /v2/stories", "CreateContent, somewhere" },
	{ "GET /v2/stories/{storyId}", "ViewChannel" MENTIONED },
	{ "PUT /v2/stories/{storyId}", "CreateContent, somewhere" OWN },
	{ "DELETE /v2/stories/{storyId}", "CreateContent, somewhere" OWN },
	{ "GET /v2/livestreams", "ViewChannel" LISTED },
	{ "POST /v2/livestreams", "CreateContent, somewhere" },
	{ "GET /v2/livestreams/{livestreamId}", "ViewChannel" ASSET },
	{ "PATCH /v2/livestreams/{livestreamId}", "CreateContent" ASSET },
	{ "DELETE /v2/livestreams/{livestreamId}", "CreateContent" ASSET },
	{ "PUT /v2/livestreams/{livestreamId}/start", "CreateContent" ASSET },
	{ "PUT /v2/livestreams/{livestreamId}/publish", "CreateContent" ASSET },
	{ "PUT /v2/livestreams/{livestreamId}/stop", "CreateContent" ASSET },
	{ "PUT /v2/livestreams/{livestreamId}/key", "CreateContent" ASSET },
	{ "GET /v2/livestreams/{livestreamId}/targets", "CreateContent" ASSET },
	{ "POST /v2/livestreams/{livestreamId}/targets", "CreateContent" ASSET },
	{ "GET /v2/livestreams/{livestreamId}/targets/{targetId}", "CreateContent" ASSET },
	{ "PATCH /v2/livestreams/{livestreamId}/targets/{targetId}", "CreateContent" ASSET },
	{ "DELETE /v2/livestreams/{livestreamId}/targets/{targetId}", "CreateContent" ASSET },
	{ "GET /v2/livestreams/{livestreamId}/statistics", "ViewChannel" ASSET },
	{ "GET /v2/livestreams/{livestreamId}/statistics/{instance}", "ViewChannel" ASSET },
	{ "GET /v2/meetings", "ViewChannel" LISTED },
	{ "POST /v2/meetings", "CreateContent, somewhere" },
	{ "POST /v2/meetings/imports", "CreateContent, somewhere" },
	{ "GET /v2/meetings/{meetingId}", "ViewChannel" MENTIONED },
	{ "PATCH /v2/meetings/{meetingId}", "CreateContent, somewhere" OWN },
	{ "DELETE /v2/meetings/{meetingId}", "CreateContent, somewhere" OWN },
	{ "GET /v2/designs", "ViewChannel" LISTED },
	{ "POST /v2/designs", "CreateContent, somewhere" },
	{ "GET /v2/designs/{designId}", "ViewChannel" },
	{ "PATCH /v2/designs/{designId}", "CreateContent, somewhere" OWN },
	{ "DELETE /v2/designs/{designId}", "CreateContent, somewhere" OWN },
	{ "POST /v2/designs/{designId}/copy", "CreateContent, somewhere" },
	{ "PUT /v2/designs/{designId}/resources/{name}", "CreateContent, somewhere" OWN },
	{ "DELETE /v2/designs/{designId}/resources/{name}", "CreateContent, somewhere" OWN },
	{ "GET /theme/{designId}/{name}", OPEN },
	{ "GET /v2/tags", "ViewChannel" LISTED },
	{ "POST /v2/tags", "CreateContent, somewhere" },
	{ "GET /v2/tags/{tagId}", "ViewChannel" },
	{ "PATCH /v2/tags/{tagId}", "CreateContent, SuperAdmin" },
	{ "DELETE /v2/tags/{tagId}", "CreateContent, SuperAdmin" },
	{ "DELETE /v2/media", "CreateContent" },
	{ "PATCH /v2/media/tags", "CreateContent" },
	{ "POST /v2/media/tags", "CreateContent" LISTED },
	{ "GET /v2/tenants/current/settings", "any token" },
	{ "PATCH /v2/tenants/current/settings", "ManageChannel, SuperAdmin" },
	{ "GET /v2/tenants/current/glossary", "any token" },
	{ "PUT /v2/tenants/current/glossary", "ManageChannel, SuperAdmin" },
	{ "GET /v2/audit", "ManageChannel, SuperAdmin" },
	{ "POST /realms/{tenantShortcode}/protocol/openid-connect/token", "anybody" },
	{ "POST /realms/{tenantShortcode}/protocol/openid-connect/revoke", "anybody" },
	{ "GET /realms/{tenantShortcode}/protocol/openid-connect/auth", "anybody" },
	{ "POST /realms/{tenantShortcode}/protocol/openid-connect/auth", "anybody" },
	{ "GET /realms/{tenantShortcode}/protocol/openid-connect/logout", "anybody" },
	{ "POST /realms/{tenantShortcode}/protocol/openid-connect/logout", "anybody" },
	{ "GET /realms/{tenantShortcode}/protocol/openid-connect/userinfo", "anybody" },
	{ "POST /realms/{tenantShortcode}/protocol/openid-connect/userinfo", "anybody" },
	{ "GET /realms/{tenantShortcode}/protocol/openid-connect/certs", "anybody" },
	{ "GET /realms/{tenantShortcode}/.well-known/openid-configuration", "anybody" },
	{ "GET /realms/{tenantShortcode}/login", "anybody" },
	{ "POST /realms/{tenantShortcode}/login", "anybody" },
	{ "GET /realms/{tenantShortcode}/login/code", "anybody" },
	{ "POST /realms/{tenantShortcode}/login/code", "anybody" },
	{ "GET /realms/{tenantShortcode}/sign-out", "anybody" },
	{ "POST /realms/{tenantShortcode}/sign-out", "anybody" },
	{ "GET /realms/{tenantShortcode}/invitations/{token}", "anybody" },
	{ "POST /realms/{tenantShortcode}/invitations/{token}", "anybody" },
	{ "GET /realms/{tenantShortcode}/account", "anybody" },
	{ "POST /realms/{tenantShortcode}/account", "anybody" },
	{ "GET /v2/openapi.json", "anybody" },
	{ "GET /healthz", "anybody" },
	{ "GET /readyz", "anybody" },
	{ "GET /metrics", "anybody" },
	{ "GET /watch/{mediaId}", OPEN },
	{ "GET /watch/events", "anybody" },
	{ "GET /", "anybody" },
	{ "GET /c/{channelId}", OPEN },
	{ "GET /embed/{mediaId}", OPEN },
};

static const char *
operation(struct world *w, const struct route *route)
{
	return arena_printf(w->mem, "%s %s", method_name(route->method), route->path);
}

static void
each_operation_is_for_whom_the_table_says(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i, k, n = sizeof(rows) / sizeof(rows[0]);

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		for (k = 0; k < n && strcmp(rows[k].operation, operation(w, route)) != 0; k++)
			;
		if (k == n)
			fail_msg("%s has no row in tests/matrix_test.c; by its reach and scope it is for: %s",
			    operation(w, route), verdict_words(w->mem, route));
		if (strcmp(rows[k].who, verdict_words(w->mem, route)) != 0)
			fail_msg("%s is for: %s", operation(w, route), verdict_words(w->mem, route));
	}
	assert_int_equal(i, n);
}

/* Somebody who sends every operation. */
struct somebody { const char *name, *token; struct caller is; };

enum { EVERYBODY = 40 };
struct crowd { struct somebody at[EVERYBODY]; size_t n; };

static void
join(struct crowd *crowd, const char *name, const char *token, struct caller is)
{
	assert_true(crowd->n < EVERYBODY);
	crowd->at[crowd->n++] = (struct somebody){ name, token, is };
}

/* A token of the world's SuperAdmin with fewer scopes, or of another lifetime. */
static const char *
token_with(struct world *w, const char *scopes)
{
	const struct grant *grant = token_grant(w->db, w->conf, w->mem, (struct asked){ w->shortcode,
	    uuid_text(w->mem, w->client_id), w->secret, scopes });

	assert_non_null(grant);
	return grant->access_token;
}

static const char *
expired(struct world *w)
{
	const char *token;

	db_run(w->db, "UPDATE tenants SET token_lifetime = -3600 WHERE id = ?", ARGS(ID(w->tenant_id)));
	token = token_with(w, NULL);
	db_run(w->db, "UPDATE tenants SET token_lifetime = 3600 WHERE id = ?", ARGS(ID(w->tenant_id)));
	return token;
}

static const char *
revoked(struct world *w)
{
	struct uuid id;
	const char *token = world_member(w, SCOPE_NAMES, "Channel Owner", &id);

	db_run(w->db, "UPDATE clients SET revoked_at = 1 WHERE id = ?", ARGS(ID(id)));
	return token;
}

/* Who have no good token, or one with less than all scopes. */
static void
invite_powerless(struct world *w, struct crowd *crowd)
{
	enum scope s;

	join(crowd, "nobody", NULL, (struct caller){ 0 });
	join(crowd, "a broken token", "broken.broken.broken", (struct caller){ 0 });
	join(crowd, "an expired token", expired(w), (struct caller){ 0 });
	join(crowd, "a revoked client", revoked(w), (struct caller){ 0 });
	join(crowd, "no scope", world_member(w, "email profile", "Channel Owner", NULL), (struct caller){
	    .has_token = true, .here = ROLE_ALL, .somewhere = ROLE_ALL });
	for (s = SCOPE_UNSET + 1; scope_name(s) != NULL; s++) {
		join(crowd, arena_printf(w->mem, "SuperAdmin, %s alone", scope_name(s)), token_with(w, scope_name(s)),
		    (struct caller){ .has_token = true, .scopes = SCOPE_BIT(s), .is_super_admin = true,
		    .is_owner = true });
		join(crowd, arena_printf(w->mem, "Channel Owner, %s alone", scope_name(s)), world_member(w,
		    scope_name(s), "Channel Owner", NULL), (struct caller){ .has_token = true,
		    .scopes = SCOPE_BIT(s), .here = ROLE_ALL, .somewhere = ROLE_ALL });
	}
}

/* Somebody without a role, in a group that has one. */
static const char *
by_group(struct world *w, const char *role)
{
	struct uuid id, group_id = uuid_new();
	const char *token = world_member(w, SCOPE_NAMES, NULL, &id);

	db_run(w->db, "INSERT INTO principals (id, tenant_id, kind, name, created_at) VALUES (?, ?, 'group', ?, 1)",
	    ARGS(ID(group_id), ID(w->tenant_id), STR(role)));
	db_run(w->db, "INSERT INTO principal_groups (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, ?, 1, "
	    "1)", ARGS(ID(group_id), ID(w->tenant_id), STR(role)));
	db_run(w->db, "INSERT INTO group_members (group_id, principal_id, created_at) VALUES (?, ?, 1)",
	    ARGS(ID(group_id), ID(id)));
	world_role(w, w->channel_id, group_id, role);
	return token;
}

/* A Channel Owner of the world's channel, seen as such, and then no more. */
static const char *
ex_member(struct world *w)
{
	struct uuid id;
	const char *token = world_member(w, SCOPE_NAMES, "Channel Owner", &id);

	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, token, "POST", "/v2/uploads", "{\"fileName\":\"a.mp4\"}")->status, 201);
	db_run(w->db, "DELETE FROM memberships WHERE principal_id = ?", ARGS(ID(id)));
	role_changed(w->db, w->tenant_id);
	return token;
}

/* An owner of a channel in which nothing of the others is. */
static const char *
owner_elsewhere(struct world *w)
{
	struct uuid id, channel_id = uuid_new();
	const char *token = world_member(w, SCOPE_NAMES, NULL, &id);

	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, 'Elsewhere', "
	    "1, 1)", ARGS(ID(channel_id), ID(w->tenant_id)));
	db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, "
	    "'Channel Owner', 1)", ARGS(ID(channel_id), ID(id)));
	role_changed(w->db, w->tenant_id);
	return token;
}

static struct crowd *
invite(struct world *w)
{
	struct crowd *crowd = NEW(w->mem, struct crowd);
	struct caller all = { .has_token = true, .scopes = ~0u };
	const struct role *role;
	size_t i;

	invite_powerless(w, crowd);
	all.somewhere = ROLE_ALL;
	join(crowd, "Channel Owner of another channel", owner_elsewhere(w), all);
	all.somewhere = 0;
	join(crowd, "no role", world_member(w, SCOPE_NAMES, NULL, NULL), all);
	join(crowd, "ex-member", ex_member(w), all);
	for (i = 0; (role = role_at(i)) != NULL; i++) {
		all.here = all.somewhere = role->permissions;
		join(crowd, role->name, world_member(w, SCOPE_NAMES, role->name, NULL), all);
		join(crowd, arena_printf(w->mem, "%s by a group", role->name), by_group(w, role->name), all);
	}
	role_changed(w->db, w->tenant_id);
	all = (struct caller){ .has_token = true, .scopes = ~0u, .is_super_admin = true, .is_foreign = true };
	join(crowd, "SuperAdmin of another tenant", world_other(w)->token, all);
	all.is_foreign = false;
	all.is_owner = true;
	join(crowd, "SuperAdmin", w->token, all);
	return crowd;
}

/* An object that may be reached may still lack what a path ends with, and says so. */
static bool
lacks(const struct route *route, const struct req *r)
{
	static const struct { const char *path, *message; } parts[] = { { "/thumbnail", "thumbnail" },
	    { "/resources/{name}", "no resource of this name" }, { "/versions/{version}", "no such version" },
	    { "/statistics/{instance}", "There are the instances" } };
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (r->status == 404 && strstr(route->path, parts[i].path) != NULL &&
		    strstr(buf_string(&r->out), parts[i].message) != NULL)
			return true;
	return false;
}

static void
check(struct world *w, const struct route *route, const struct somebody *s, enum state state, const struct req *r)
{
	int status = verdict_of(route, &s->is, state);
	bool refused = r->status == 401 || r->status == 403 || r->status == 404;

	if (r->status >= 500)
		fail_msg("%s, %s: %d", operation(w, route), s->name, r->status);
	if (status == 401 && header(w, r, "WWW-Authenticate") == NULL)
		fail_msg("%s, %s: no challenge", operation(w, route), s->name);
	if (status != 0 && strstr(buf_string(&r->out), "Cat") != NULL)
		fail_msg("%s, %s: the refusal tells what there is", operation(w, route), s->name);
	if (status != 0 ? r->status != status : refused && !lacks(route, r))
		fail_msg("%s, %s%s: %d instead of %d: %s", operation(w, route), s->name, state == SOFT_DELETED ?
		    ", soft-deleted" : "", r->status, status, buf_string(&r->out));
}

/* All rows of the tables that hold objects, in one number. */
static int64_t
sum_of(struct world *w)
{
	return db_number(w->db, "SELECT (SELECT COALESCE(SUM(version + deleted_at), 0) FROM media WHERE tenant_id = ?) "
	    "+ (SELECT COUNT(*) FROM events WHERE tenant_id = ?) + (SELECT COALESCE(SUM(version), 0) FROM uploads WHERE "
	    "tenant_id = ?) + (SELECT COUNT(*) FROM jobs WHERE tenant_id = ?) + (SELECT access_version FROM tenants "
	    "WHERE id = ?)", ARGS(ID(w->tenant_id), ID(w->tenant_id), ID(w->tenant_id), ID(w->tenant_id),
	    ID(w->tenant_id)), -1);
}

/* A refusal changes nothing, so one object does for all who are refused. */
static void
try_all(struct world *w, const struct route *route, const struct crowd *crowd)
{
	struct made m = walk_object(w, route);
	int64_t before = sum_of(w);
	size_t i;

	for (i = 0; i < crowd->n; i++)
		if (verdict_of(route, &crowd->at[i].is, LIVE) != 0)
			check(w, route, &crowd->at[i], LIVE, walk_try(w, route, &m, crowd->at[i].token));
	if (sum_of(w) != before)
		fail_msg("%s: who was refused has changed something", operation(w, route));
	for (i = 0; i < crowd->n; i++)
		if (verdict_of(route, &crowd->at[i].is, LIVE) == 0) {
			m = walk_object(w, route);
			check(w, route, &crowd->at[i], LIVE, walk_try(w, route, &m, crowd->at[i].token));
		}
}

static void
everybody_may_do_what_the_table_says_and_no_more(void **state)
{
	struct world *w = *state;
	const struct crowd *crowd = invite(w);
	const struct route *route;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		if (route->scope != SCOPE_PUBLIC)
			try_all(w, route, crowd);
}

/* An upload becomes an asset of a channel, and that is the channel's affair. */
static bool
asks_a_channel_too(const struct route *route)
{
	return strcmp(route->path, "/v2/uploads/{uploadId}/complete") == 0;
}

/* Who has made something may do with it what others may not, whatever its role; and no more than that. */
static void
who_has_made_an_object_may_do_what_the_table_says(void **state)
{
	static const char *const roles[] = { "Contributor", NULL };
	struct world *w = *state;
	const struct route *route;
	size_t i, k;

	for (k = 0; k < sizeof(roles) / sizeof(roles[0]); k++) {
		struct world own = *w;
		unsigned permissions = role_permissions(roles[k]);
		struct somebody s = { "who has made it", world_member(w, SCOPE_NAMES, roles[k], &own.client_id), {
		    .has_token = true, .scopes = ~0u, .is_owner = true, .here = permissions,
		    .somewhere = permissions } };

		role_changed(w->db, w->tenant_id);
		for (i = 0; (route = api_route(i)) != NULL; i++) {
			struct made m;

			if (route->scope == SCOPE_PUBLIC || (permissions == 0 && asks_a_channel_too(route)))
				continue;
			m = walk_object(&own, route);
			check(w, route, &s, LIVE, walk_try(w, route, &m, s.token));
		}
	}
}

/* Who has a role by the asset alone has none in the channel of the path. */
static void
an_asset_beside_a_channel_needs_the_permission_in_both(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i, n = 0;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		struct made m;
		const char *token;

		if (object_of(route) == NULL || object_of(route)->reach != REACH_BESIDE_CHANNEL)
			continue;
		m = walk_object(w, route);
		token = world_member(w, SCOPE_NAMES, "Channel Owner", NULL);
		role_changed(w->db, w->tenant_id);
		walk_expect(route, walk_try(w, route, &m, token), 403, "no role in the channel");
		n++;
	}
	assert_true(n >= 2);
}

static bool
may_be_soft_deleted(const struct route *route)
{
	const struct object *o = (route->flags & NO_OBJECT) == 0 ? object_of(route) : NULL;

	if (o == NULL)
		return false;
	switch (o->reach) {
	case REACH_MEDIA: case REACH_BELOW_MEDIA: case REACH_AUTHOR: case REACH_BESIDE_CHANNEL:
		return true;
	case REACH_OWNER: case REACH_PRIVATE: case REACH_CHANNEL: case REACH_BELOW_CHANNEL: case REACH_SHARED: case
	    REACH_MENTIONS:
	case REACH_TENANT:
		return false;
	}
	return false;
}

static void
soft_deleted_assets_are_there_for_those_alone_who_may_recover_them(void **state)
{
	struct world *w = *state;
	const struct crowd *crowd = invite(w);
	const struct route *route;
	size_t i, k;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		for (k = 0; may_be_soft_deleted(route) && k < crowd->n; k++) {
			struct made m = walk_object(w, route);

			db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(m.media_id)));
			check(w, route, &crowd->at[k], SOFT_DELETED, walk_try(w, route, &m, crowd->at[k].token));
		}
}

static void
a_public_channel_shows_itself_to_its_tenant_and_a_shared_one_does_not(void **state)
{
	static const struct { const char *visibility; unsigned permissions; } cases[] = { { "public", ROLE_PUBLIC },
	    { "shared", 0 } };
	struct world *w = *state;
	struct crowd crowd = { .n = 0 };
	struct caller all = { .has_token = true, .scopes = ~0u };
	const struct route *route;
	size_t i, k;

	join(&crowd, "no role", world_member(w, SCOPE_NAMES, NULL, NULL), all);
	join(&crowd, "another tenant", world_member(world_other(w), SCOPE_NAMES, "Channel Owner", NULL), all);
	for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		db_run(w->db, "UPDATE channels SET visibility = ? WHERE id = ?", ARGS(STR(cases[k].visibility),
		    ID(w->channel_id)));
		role_changed(w->db, w->tenant_id);
		crowd.at[0].is.here = crowd.at[0].is.somewhere = cases[k].permissions;
		crowd.at[1].is = (struct caller){ .has_token = true, .scopes = ~0u, .is_foreign = true,
		    .somewhere = ROLE_ALL };
		for (i = 0; (route = api_route(i)) != NULL; i++)
			if (route->scope != SCOPE_PUBLIC)
				try_all(w, route, &crowd);
	}
}

static bool
shows(struct world *w, const struct req *r, const struct made *m)
{
	const char *id = uuid_text(w->mem, m->ids[walk_ids(m) - 1]);

	return strstr(buf_string(&r->out), arena_printf(w->mem, "\"id\":\"%s\"", id)) != NULL;
}

/* As many are counted as are shown. */
static void
check_total(struct world *w, const struct route *list, const struct somebody *s, const struct req *r)
{
	long total = atol(text(w, r, "pagination.total"));

	if (total < 50 && ((total > 0 && text(w, r, arena_printf(w->mem, "data.%ld.id", total - 1)) == NULL) ||
	    text(w, r, arena_printf(w->mem, "data.%ld.id", total)) != NULL))
		fail_msg("%s counts %ld for %s, and shows others", list->path, total, s->name);
}

/* The collection that holds the object of a route, and its route to it. */
static const struct route *
list_of(struct world *w, const struct route *get)
{
	const struct object *o = object_of(get);
	const struct route *list;

	if (get->method != GET || o == NULL || get->flags & NO_OBJECT || strcmp(get->path, o->path) != 0)
		return NULL;
	list = walk_route(GET, arena_copy_n(w->mem, get->path, (size_t)(strrchr(get->path, '{') - get->path) - 1));
	return list != NULL && list->flags & LIST ? list : NULL;
}

static void
lists_show_and_count_what_may_be_got_and_nothing_else(void **state)
{
	struct world *w = *state;
	const struct crowd *crowd = invite(w);
	const struct route *route, *list;
	size_t i, k, seen = 0;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		struct made m;

		if ((list = list_of(w, route)) == NULL)
			continue;
		m = walk_object(w, route);
		seen++;
		for (k = 0; k < crowd->n; k++) {
			const struct somebody *s = &crowd->at[k];
			struct req *r = call_as(w, s->token, "GET", arena_printf(w->mem, "%s?perpage=50",
			    walk_to(w, list, &m)), NULL);

			if (verdict_of(list, &s->is, LIVE) != 0)
				continue;
			walk_expect(list, r, 200, s->name);
			check_total(w, list, s, r);
			if (shows(w, r, &m) != (verdict_of(route, &s->is, LIVE) == 0))
				fail_msg("%s and %s do not agree about %s", list->path, route->path, s->name);
		}
	}
	assert_true(seen >= 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(each_operation_is_for_whom_the_table_says),
		WORLD_TEST(everybody_may_do_what_the_table_says_and_no_more),
		WORLD_TEST(who_has_made_an_object_may_do_what_the_table_says),
		WORLD_TEST(an_asset_beside_a_channel_needs_the_permission_in_both),
		WORLD_TEST(soft_deleted_assets_are_there_for_those_alone_who_may_recover_them),
		WORLD_TEST(a_public_channel_shows_itself_to_its_tenant_and_a_shared_one_does_not),
		WORLD_TEST(lists_show_and_count_what_may_be_got_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
