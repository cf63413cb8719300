/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Designs: who changes them, what they hold, what pages make of them. */
#include <sys/wait.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/role.h"
#include "fcgi/theme.h"
#include "tests/world.h"

static const char *
made(struct world *w, const char *body)
{
	struct req *r = call(w, "POST", "/v2/designs", body);

	if (r->status != 201)
		fail_msg("%s: %d %s", body, r->status, buf_string(&r->out));
	return text(w, r, "data.id");
}

static const char *
path_of(struct world *w, const char *id, const char *rest)
{
	return arena_printf(w->mem, "/v2/designs/%s%s", id, rest);
}

static struct uuid
id_of(const char *text)
{
	struct uuid id;

	assert_true(uuid_parse(text, &id));
	return id;
}

static struct req *
put_file(struct world *w, const char *token, const char *uri, const void *bytes, size_t n)
{
	struct req *r = NEW(w->mem, struct req);

	r->body_size = n;
	r->content_type = "application/octet-stream";
	return call_req(w, r, token, "PUT", uri, bytes);
}

/* The head of a PNG of that size, and what comes behind it. */
static const char *
png(struct world *w, unsigned width, unsigned height, const char *behind, size_t *n)
{
	unsigned char head[33] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
	char *out;

	head[16] = (unsigned char)(width >> 24), head[17] = (unsigned char)(width >> 16);
	head[18] = (unsigned char)(width >> 8), head[19] = (unsigned char)width;
	head[20] = (unsigned char)(height >> 24), head[21] = (unsigned char)(height >> 16);
	head[22] = (unsigned char)(height >> 8), head[23] = (unsigned char)height;
	head[24] = 8, head[25] = 6;
	*n = sizeof(head) + strlen(behind);
	out = arena_alloc(w->mem, *n);
	memcpy(out, head, sizeof(head));
	memcpy(out + sizeof(head), behind, strlen(behind));
	return out;
}

static const char *
font(struct world *w, unsigned unpacked, size_t *n)
{
	unsigned char *out = arena_alloc(w->mem, *n = 200);

	memcpy(out, "wOF2\0\1\0\0\0\0\0\xc8\0\1\0\0", 16);
	out[16] = (unsigned char)(unpacked >> 24), out[17] = (unsigned char)(unpacked >> 16);
	out[18] = (unsigned char)(unpacked >> 8), out[19] = (unsigned char)unpacked;
	out[23] = 100;
	return (const char *)out;
}

static void
properties_are_checked_by_type_and_name(void **state)
{
	static const struct { const char *type, *properties, *pointer, *code; } odd[] = {
		{ "ChannelDesign", "{\"brandColor\":\"red\"}", "/properties/brandColor", "format" },
		{ "ChannelDesign", "{\"brandColor\":\"#12345\"}", "/properties/brandColor", "format" },
		{ "ChannelDesign", "{\"brandColor\":\"#12;}*{\"}", "/properties/brandColor", "format" },
		{ "ChannelDesign", "{\"brandColor\":\"#123456;\"}", "/properties/brandColor", "too_long" },
		{ "ChannelDesign", "{\"headerColor\":\"#12345;\"}", "/properties/headerColor", "format" },
		{ "ChannelDesign", "{\"radius\":25}", "/properties/radius", "too_large" },
		{ "ChannelDesign", "{\"radius\":-1}", "/properties/radius", "too_small" },
		{ "ChannelDesign", "{\"font\":\"Comic Sans\"}", "/properties/font", "not_allowed" },
		{ "ChannelDesign", "{\"logo\":\"../a\"}", "/properties/logo", "format" },
		{ "ChannelDesign", "{\"logo\":\"a\\\")\"}", "/properties/logo", "format" },
		{ "ChannelDesign", "{\"fontFile\":\"a.css\"}", "/properties/fontFile", "format" },
		{ "ChannelDesign", "{\"css\":\"*{}\"}", "/properties/css", "unknown" },
		{ "ChannelDesign", "{\"backgroundColor\":\"#000000\"}", "/properties/backgroundColor", "not_allowed" },
		{ "PlayerDesign", "{\"logo\":\"a.png\"}", "/properties/logo", "not_allowed" },
		{ "DocxExportDesign", "{\"radius\":3}", "/properties/radius", "not_allowed" },
		{ "DocxExportDesign", "{\"textColor\":\"red\"}", "/properties/textColor", "format" },
		{ "DocxExportDesign", "{\"fontSize\":7}", "/properties/fontSize", "too_small" },
		{ "DocxExportDesign", "{\"fontSize\":21}", "/properties/fontSize", "too_large" },
		{ "DocxExportDesign", "{\"omit\":[\"words\"]}", "/properties/omit/0", "not_allowed" },
		{ "DocxExportDesign", "{\"headerText\":\"a\\nb\"}", "/properties/headerText", "control_characters" },
		{ "PlayerDesign", "{\"omit\":[\"cover\"]}", "/properties/omit", "not_allowed" },
		{ "ChannelDesign", "{\"footerText\":\"x\"}", "/properties/footerText", "not_allowed" },
	};
	struct world *w = *state;
	size_t i;

	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct req *r = call(w, "POST", "/v2/designs", arena_printf(w->mem, "{\"type\":\"%s\",\"name\":\"x\","
		    "\"properties\":%s}", odd[i].type, odd[i].properties));

		assert_int_equal(r->status, 422);
		if (!has_fault(r, odd[i].pointer, odd[i].code))
			fail_msg("%s: %s", odd[i].properties, buf_string(&r->out));
	}
	assert_int_equal(number(w, "FROM designs WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
}

static void
a_design_says_what_its_colours_become(void **state)
{
	struct world *w = *state;
	const char *id = made(w,
	    "{\"type\":\"ChannelDesign\",\"name\":\"Sun\",\"properties\":{\"brandColor\":\"#FFDD00\"}}");
	struct req *r = call(w, "GET", path_of(w, id, ""), NULL);

	assert_string_equal(text(w, r, "data.contrast.0.property"), "brandColor");
	assert_string_equal(text(w, r, "data.contrast.0.on"), "#000000");
	assert_true(atof(text(w, r, "data.contrast.0.lightRatio")) >= 4.5);
	assert_true(atof(text(w, r, "data.contrast.0.darkRatio")) >= 4.5);
	assert_string_equal(text(w, r, "data.contrast.0.darkText"), "#ffdd00");
	assert_string_equal(text(w, r, "data.properties.brandColor"), "#FFDD00");
	assert_null(text(w, call(w, "GET", "/v2/designs", NULL), "data.0.contrast"));
}

static void
its_creator_and_super_admins_change_a_design_and_others_look(void **state)
{
	struct world *w = *state;
	struct uuid id;
	const char *scopes = "ViewChannel CreateContent", *own = world_member(w, scopes, "Contributor", &id),
	    *other = world_member(w, scopes, "Channel Owner", NULL), *viewer = world_member(w, scopes, "Viewer", NULL),
	    *body = "{\"type\":\"PlayerDesign\",\"name\":\"x\",\"properties\":{}}", *path;
	struct req *r = call_as(w, own, "POST", "/v2/designs", body);
	size_t n;
	const char *bytes = png(w, 10, 10, "", &n);

	assert_int_equal(r->status, 201);
	path = path_of(w, text(w, r, "data.id"), "");
	assert_int_equal(call_as(w, viewer, "POST", "/v2/designs", body)->status, 403);
	assert_int_equal(call_as(w, viewer, "GET", path, NULL)->status, 200);
	assert_int_equal(call_as(w, other, "GET", path, NULL)->status, 200);
	assert_int_equal(call_as(w, other, "PATCH", path, "{\"name\":\"y\"}")->status, 403);
	assert_int_equal(call_as(w, other, "DELETE", path, NULL)->status, 403);
	assert_int_equal(put_file(w, other, arena_printf(w->mem, "%s/resources/a.png", path), bytes, n)->status, 403);
	assert_int_equal(call_as(w, other, "DELETE", arena_printf(w->mem, "%s/resources/a.png", path), NULL)->status,
	    403);
	assert_int_equal(call_as(w, own, "PATCH", path, "{\"name\":\"y\"}")->status, 200);
	assert_int_equal(call(w, "PATCH", path, "{\"name\":\"z\"}")->status, 200);
	assert_int_equal(call_as(w, other, "POST", arena_printf(w->mem, "%s/copy", path), NULL)->status, 201);
	assert_int_equal(call_as(w, viewer, "POST", arena_printf(w->mem, "%s/copy", path), NULL)->status, 403);
	db_run(w->db, "UPDATE memberships SET role = 'Viewer' WHERE principal_id = ?", ARGS(ID(id)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, own, "PATCH", path, "{\"name\":\"w\"}")->status, 403);
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	assert_int_equal(number(w, "FROM events WHERE is_audit = 1 AND type LIKE 'design.%' AND tenant_id = ?",
	    ARGS(ID(w->tenant_id))), 5);
}

static void
main_designs_and_templates_are_for_super_admins(void **state)
{
	struct world *w = *state;
	const char *own = world_member(w, "ViewChannel CreateContent", "Channel Owner", NULL), *path, *template;
	struct req *r;
	size_t n;
	const char *bytes = png(w, 10, 10, "", &n);

	r = call_as(w, own, "POST", "/v2/designs", "{\"type\":\"PlayerDesign\",\"name\":\"x\",\"isMain\":true,"
	    "\"properties\":{}}");
	assert_int_equal(r->status, 403);
	r = call_as(w, own, "POST", "/v2/designs", "{\"type\":\"PlayerDesign\",\"name\":\"x\",\"isTemplate\":true,"
	    "\"properties\":{}}");
	assert_int_equal(r->status, 403);
	r = call_as(w, own, "POST", "/v2/designs", "{\"type\":\"PlayerDesign\",\"name\":\"x\",\"properties\":{}}");
	path = path_of(w, text(w, r, "data.id"), "");
	assert_int_equal(call_as(w, own, "PATCH", path, "{\"isMain\":true}")->status, 403);
	assert_int_equal(call_as(w, own, "PATCH", path, "{\"isTemplate\":true}")->status, 403);
	r = call(w, "PATCH", path, "{\"isMain\":true,\"isTemplate\":true}");
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/isMain", "not_allowed"));
	assert_int_equal(call(w, "PATCH", path, "{\"isTemplate\":true}")->status, 200);
	/* Of its creator, but a template now. */
	assert_int_equal(call_as(w, own, "PATCH", path, "{\"name\":\"y\"}")->status, 403);
	assert_int_equal(call_as(w, own, "PATCH", path, "{\"isTemplate\":false}")->status, 403);
	assert_int_equal(call_as(w, own, "DELETE", path, NULL)->status, 403);
	template = arena_printf(w->mem, "%s/resources/a.png", path);
	assert_int_equal(put_file(w, own, template, bytes, n)->status, 403);
	assert_int_equal(put_file(w, w->token, template, bytes, n)->status, 200);
	assert_int_equal(call_as(w, own, "DELETE", template, NULL)->status, 403);
	r = call_as(w, own, "POST", arena_printf(w->mem, "%s/copy", path), "{\"name\":\"Mine\"}");
	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.isTemplate"), "false");
	assert_string_equal(text(w, r, "data.name"), "Mine");
	assert_string_equal(text(w, r, "data.resources.0.name"), "a.png");
	assert_int_equal(call_as(w, NULL, "GET", strstr(text(w, r, "data.resources.0.url"), "/theme/"), NULL)->status,
	    200);
}

static void
one_design_of_a_type_is_main(void **state)
{
	struct world *w = *state;
	const char *first = made(w, "{\"type\":\"PlayerDesign\",\"name\":\"a\",\"isMain\":true,\"properties\":{}}"),
	    *second = made(w, "{\"type\":\"PlayerDesign\",\"name\":\"b\",\"properties\":{}}"), *etag;

	made(w, "{\"type\":\"ChannelDesign\",\"name\":\"c\",\"isMain\":true,\"properties\":{}}");
	etag = call(w, "GET", path_of(w, first, ""), NULL)->etag;
	assert_int_equal(call(w, "PATCH", path_of(w, second, ""), "{\"isMain\":true}")->status, 200);
	assert_string_equal(text(w, call(w, "GET", path_of(w, first, ""), NULL), "data.isMain"), "false");
	assert_string_not_equal(call(w, "GET", path_of(w, first, ""), NULL)->etag, etag);
	assert_string_equal(text(w, call(w, "GET", path_of(w, second, ""), NULL), "data.isMain"), "true");
	assert_string_equal(text(w, call(w, "GET", "/v2/designs?filter=isMain=true", NULL), "pagination.total"), "2");
	assert_string_equal(text(w, call(w, "POST", path_of(w, second, "/copy"), NULL), "data.isMain"), "false");
	assert_int_equal(call(w, "PATCH", path_of(w, second, ""), "{\"isMain\":false}")->status, 200);
	assert_string_equal(text(w, call(w, "GET", "/v2/designs?filter=isMain=true", NULL), "pagination.total"), "1");
}

/* Each of them chooses its own design; nobody is told that it failed. */
static void
of_many_that_choose_a_main_design_at_once_one_stays(void **state)
{
	enum { MANY = 6 };
	struct world *w = *state;
	const char *paths[MANY];
	pid_t pids[MANY];
	int i, status;

	for (i = 0; i < MANY; i++)
		paths[i] = path_of(w, made(w, "{\"type\":\"PlayerDesign\",\"name\":\"a\",\"properties\":{}}"), "");
	for (i = 0; i < MANY; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			int k, bad = 0;

			db_abandon(w->db);
			alarm(120);
			for (k = 0; k < 8; k++) {
				bad |= call(w, "PATCH", paths[i], "{\"isMain\":true}")->status != 200;
				bad |= call(w, "PATCH", paths[i], "{\"isMain\":false}")->status != 200;
			}
			_exit(bad | (call(w, "PATCH", paths[i], "{\"isMain\":true}")->status != 200));
		}
	}
	for (i = 0; i < MANY; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(number(w, "FROM designs WHERE tenant_id = ? AND is_main = 1", ARGS(ID(w->tenant_id))), 1);
}

static void
a_design_that_channels_use_is_deleted_only_when_they_may_do_without(void **state)
{
	struct world *w = *state;
	const char *id = made(w, "{\"type\":\"ChannelDesign\",\"name\":\"a\",\"properties\":{}}"), *path = path_of(w,
	    id, "");
	struct req *r;

	db_run(w->db, "UPDATE channels SET channel_design_id = ? WHERE id = ?", ARGS(ID(id_of(id)), ID(w->channel_id)));
	r = call(w, "DELETE", path, NULL);
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "design_in_use");
	assert_non_null(strstr(text(w, r, "message"), "1 channels"));
	assert_int_equal(call(w, "PATCH", path, "{\"isTemplate\":true}")->status, 409);
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "%s?detach=true", path), NULL)->status, 200);
	assert_int_equal(number(w, "FROM channels WHERE id = ? AND channel_design_id IS NULL AND version = 2",
	    ARGS(ID(w->channel_id))), 1);
	assert_int_equal(call(w, "GET", path, NULL)->status, 404);
}

static void
files_are_taken_by_their_content(void **state)
{
	struct world *w = *state;
	const char *path = path_of(w, made(w, "{\"type\":\"ChannelDesign\",\"name\":\"a\",\"properties\":{}}"), "");
	const char *uri = arena_printf(w->mem, "%s/resources/a", path), *bytes;
	static const char *const odd[] = { "<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
	    " \n<?xml version=\"1.0\"?><svg/>",
	    "\xef\xbb\xbf<svg/>", "<html>", "GIF89a\1\0\1\0", "wOFF", "wOF2", "*{}", "" };
	struct req *r;
	size_t n, i;

	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		r = put_file(w, w->token, uri, odd[i], strlen(odd[i]));
		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "", "format"));
	}
	assert_non_null(strstr(text(w, put_file(w, w->token, uri, odd[0], strlen(odd[0])), "message"),
	    "SVG is not taken"));
	bytes = png(w, 4097, 1, "", &n);
	assert_true(has_fault(put_file(w, w->token, uri, bytes, n), "", "too_large"));
	bytes = png(w, 4000, 4000, "", &n);
	assert_true(has_fault(put_file(w, w->token, uri, bytes, n), "", "too_large"));
	bytes = font(w, 9u << 20, &n);
	assert_int_equal(put_file(w, w->token, uri, bytes, n)->status, 422);
	bytes = font(w, 1u << 20, &n);
	assert_int_equal(put_file(w, w->token, uri, bytes, n - 1)->status, 422);
	r = put_file(w, w->token, uri, bytes, n);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.resources.0.mimeType"), "font/woff2");
	assert_int_equal(put_file(w, w->token, uri, arena_alloc(w->mem, 600000), 600000)->status, 413);
	for (i = 0; i < 19; i++) {
		bytes = png(w, 10, 10, "", &n);
		assert_int_equal(put_file(w, w->token, arena_printf(w->mem, "%s/resources/%zu.png", path, i), bytes,
		    n)->status, 200);
	}
	r = put_file(w, w->token, arena_printf(w->mem, "%s/resources/more", path), bytes, n);
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "too_many_resources");
	assert_int_equal(put_file(w, w->token, uri, bytes, n)->status, 200);
	assert_int_equal(call(w, "DELETE", uri, NULL)->status, 200);
	assert_int_equal(call(w, "DELETE", uri, NULL)->status, 404);
	assert_int_equal(number(w, "FROM design_resources r JOIN designs d ON d.id = r.design_id WHERE d.tenant_id = ?",
	    ARGS(ID(w->tenant_id))), 19);
	for (i = 0; i < 4; i++) {
		static const char *const names[] = { ".a", "a%2fb", "a.css", "a%22" };

		r = put_file(w, w->token, arena_printf(w->mem, "%s/resources/%s", path, names[i]), bytes, n);
		assert_true(has_fault(r, "name", "format"));
	}
}

/* A file that is a picture to us and a page to somebody else stays a picture, and runs nothing. */
static void
files_are_served_as_what_they_are_and_for_ever_at_their_own_address(void **state)
{
	struct world *w = *state;
	const char *path = path_of(w, made(w, "{\"type\":\"ChannelDesign\",\"name\":\"a\",\"properties\":{}}"), "");
	const char *uri = arena_printf(w->mem, "%s/resources/a.html", path), *bytes, *url, *plain;
	struct req *r = NEW(w->mem, struct req);
	size_t n;

	bytes = png(w, 10, 10, "<script>alert(1)</script>", &n);
	url = strstr(text(w, put_file(w, w->token, uri, bytes, n), "data.resources.0.url"), "/theme/");
	r->if_none_match = call_as(w, NULL, "GET", url, NULL)->etag;
	assert_int_equal(call_req(w, r, NULL, "GET", url, NULL)->status, 304);
	r = call_as(w, NULL, "GET", url, NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(r->answer_type, "image/png");
	assert_string_equal(r->cache_control, "public, max-age=31536000, immutable");
	assert_string_equal(header(w, r, "Content-Security-Policy"), "default-src 'none'; sandbox");
	assert_int_equal(r->out.len, n);
	assert_memory_equal(r->out.text, bytes, n);
	plain = arena_copy_n(w->mem, url, strcspn(url, "?"));
	assert_string_equal(call_as(w, NULL, "GET", plain, NULL)->cache_control, "public, no-cache");
	bytes = png(w, 11, 10, "", &n);
	assert_string_not_equal(strstr(text(w, put_file(w, w->token, uri, bytes, n), "data.resources.0.url"),
	    "/theme/"), url);
	assert_string_equal(call_as(w, NULL, "GET", url, NULL)->cache_control, "public, no-cache");
	url = arena_printf(w->mem, "/theme/%s/none.png", uuid_text(w->mem, uuid_new()));
	assert_int_equal(call_as(w, NULL, "GET", url, NULL)->status, 404);
	url = arena_printf(w->mem, "%.*s/none.png", (int)(strrchr(plain, '/') - plain), plain);
	assert_int_equal(call_as(w, NULL, "GET", url, NULL)->status, 404);
}

static const char *
sheet_of(struct world *w, const char *id)
{
	const char *url = text(w, call(w, "GET", path_of(w, id, ""), NULL), "data.themeUrl");
	struct req *r = call_as(w, NULL, "GET", strstr(url, "/theme/"), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(r->answer_type, "text/css; charset=utf-8");
	assert_string_equal(r->cache_control, "public, max-age=31536000, immutable");
	return buf_string(&r->out);
}

static void
a_sheet_holds_custom_properties_alone_and_its_address_follows_it(void **state)
{
	struct world *w = *state;
	const char *id = made(w,
	    "{\"type\":\"ChannelDesign\",\"name\":\"a\",\"properties\":{\"brandColor\":\"#1a73e8\","
	    "\"headerColor\":\"#202124\",\"font\":\"serif\",\"radius\":0,\"logo\":\"logo.png\",\"fontFile\":\"f\"}}");
	const char *css = sheet_of(w, id), *url = text(w, call(w, "GET", path_of(w, id, ""), NULL), "data.themeUrl"),
	    *bytes;
	size_t n;

	assert_non_null(strstr(css, "--brand:#1a73e8;--on-brand:#000000;"));
	assert_non_null(strstr(css, "--header:#202124;--on-header:#ffffff;--radius:0px;"));
	assert_non_null(strstr(css, "--font:Charter,"));
	assert_null(strstr(css, "@font-face"));
	bytes = font(w, 1000, &n);
	assert_int_equal(put_file(w, w->token, path_of(w, id, "/resources/f"), bytes, n)->status, 200);
	css = sheet_of(w, id);
	assert_non_null(strstr(css, "--font:\"design\",Charter,"));
	assert_non_null(strstr(css, "@font-face{font-family:\"design\";src:url(\"/theme/"));
	assert_string_not_equal(text(w, call(w, "GET", path_of(w, id, ""), NULL), "data.themeUrl"), url);
	assert_string_equal(call_as(w, NULL, "GET", strstr(url, "/theme/"), NULL)->cache_control, "public, no-cache");
	id = made(w,
	    "{\"type\":\"PlayerDesign\",\"name\":\"a\",\"properties\":{\"brandColor\":\"#000000\",\"backgroundColor\":"
	    "\"#ffffff\",\"radius\":24}}");
	css = sheet_of(w, id);
	assert_null(strstr(css, "--brand"));
	assert_null(strstr(css, "--play:#000000"));
	assert_null(strstr(css, "--stage:#ffffff"));
	assert_non_null(strstr(css, "--stage-radius:24px;"));
	assert_null(text(w, call(w, "POST", "/v2/designs",
	    "{\"type\":\"DocxExportDesign\",\"name\":\"a\",\"properties\":{}}"),
	    "data.themeUrl"));
}

static struct uuid
add_channel(struct world *w, const char *visibility, const char *page, const char *player)
{
	struct uuid id = uuid_new(), none = { { 0 } };

	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, visibility, channel_design_id, player_design_id, "
	    "created_at, updated_at) VALUES (?, ?, 'C', ?, ?, ?, 1, 1)", ARGS(ID(id), ID(w->tenant_id), STR(visibility),
	    ID(page != NULL ? id_of(page) : none), ID(player != NULL ? id_of(player) : none)));
	role_changed(w->db, w->tenant_id);
	return id;
}

static void
put_into(struct world *w, struct uuid media_id, struct uuid channel_id)
{
	char path[100];
	struct req *r = call(w, "GET", strcat(strcpy(path, "/v2/media/"), uuid_text(w->mem, media_id)), NULL);
	struct buf b = BUF(w->mem);
	int i;

	buf_text(&b, "{\"channelIds\":[");
	for (i = 0; text(w, r, arena_printf(w->mem, "data.channels.%d.id", i)) != NULL; i++)
		buf_printf(&b, "\"%s\",", text(w, r, arena_printf(w->mem, "data.channels.%d.id", i)));
	buf_printf(&b, "\"%s\"]}", uuid_text(w->mem, channel_id));
	assert_int_equal(call(w, "PATCH", path, buf_string(&b))->status, 200);
}

/* How many sheets of designs the page links, and whether this one is among them. */
static int
sheets(struct world *w, const char *uri, const char *id)
{
	struct req *r = call_as(w, NULL, "GET", uri, NULL);
	const char *p = buf_string(&r->out), *own = arena_printf(w->mem, "href=\"/theme/%s/", id);
	bool found = strstr(p, own) != NULL;
	int n = 0;

	if (r->status != 200)
		fail_msg("%s: %d", uri, r->status);
	for (; (p = strstr(p, "href=\"/theme/")) != NULL; p++)
		n++;
	return found ? n : -n;
}

static void
pages_show_the_design_of_the_only_channel_that_has_one_or_the_main_one(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat");
	const char *blue = made(w,
	    "{\"type\":\"ChannelDesign\",\"name\":\"Blue\",\"properties\":{\"brandColor\":\"#0000ff\"}}"),
	    *red = made(w, "{\"type\":\"ChannelDesign\",\"name\":\"Red\",\"properties\":{\"brandColor\":\"#ff0000\"}}"),
	    *general = made(w,
	    "{\"type\":\"ChannelDesign\",\"name\":\"Main\",\"properties\":{\"brandColor\":\"#00ff00\"}}"),
	    *watch = arena_printf(w->mem, "/watch/%s", uuid_text(w->mem, media));
	struct uuid hidden;

	put_into(w, media, add_channel(w, "public", NULL, NULL));
	assert_int_equal(sheets(w, watch, blue), 0);
	hidden = add_channel(w, "private", red, NULL);
	put_into(w, media, hidden);
	assert_int_equal(sheets(w, watch, red), 0);
	assert_int_equal(sheets(w, arena_printf(w->mem, "%s?channelId=%s", watch, uuid_text(w->mem, hidden)), red), 0);
	put_into(w, media, add_channel(w, "shared", blue, NULL));
	assert_int_equal(sheets(w, watch, blue), 1);
	assert_int_equal(call(w, "PATCH", path_of(w, general, ""), "{\"isMain\":true}")->status, 200);
	assert_int_equal(sheets(w, watch, blue), 1);
	put_into(w, media, add_channel(w, "public", red, NULL));
	assert_int_equal(sheets(w, watch, general), 1);
	assert_int_equal(sheets(w, arena_printf(w->mem, "%s?channelId=nonsense", watch), general), 1);
}

static void
a_logo_stands_in_the_head_of_pages(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat");
	const char *id = made(w,
	    "{\"type\":\"ChannelDesign\",\"name\":\"Town\",\"isMain\":true,\"properties\":{\"logo\":\"l\"}}"),
	    *watch = arena_printf(w->mem, "/watch/%s", uuid_text(w->mem, media)), *bytes;
	size_t n;

	put_into(w, media, add_channel(w, "public", NULL, NULL));
	assert_null(strstr(buf_string(&call_as(w, NULL, "GET", watch, NULL)->out), "alt=\"Town\""));
	bytes = png(w, 200, 50, "", &n);
	assert_int_equal(put_file(w, w->token, path_of(w, id, "/resources/l"), bytes, n)->status, 200);
	assert_non_null(strstr(buf_string(&call_as(w, NULL, "GET", watch, NULL)->out), "/l?v="));
	assert_non_null(strstr(buf_string(&call_as(w, NULL, "GET", watch, NULL)->out), "alt=\"Town\""));
	assert_non_null(strstr(header(w, call_as(w, NULL, "GET", watch, NULL), "Content-Security-Policy"),
	    "font-src 'self'"));
}

static void
in_the_context_of_a_channel_an_asset_brings_its_player_design_and_its_pages_show_it(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid media = world_media(w, "video", "Cat"), one, two, stranger;
	const char *red = made(w,
	    "{\"type\":\"PlayerDesign\",\"name\":\"Red\",\"properties\":{\"brandColor\":\"#ff0000\"}}"),
	    *blue = made(w,
	    "{\"type\":\"PlayerDesign\",\"name\":\"Blue\",\"isMain\":true,\"properties\":{\"radius\":3}}"),
	    *uri = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media)), *in, *etag, *member;
	struct req *r;

	put_into(w, media, one = add_channel(w, "private", NULL, red));
	two = add_channel(w, "private", NULL, NULL);
	stranger = add_channel(other, "public", NULL, NULL);
	in = arena_printf(w->mem, "%s?channelId=%s", uri, uuid_text(w->mem, one));
	assert_null(text(w, call(w, "GET", uri, NULL), "data.embed.playerDesign"));
	r = call(w, "GET", in, NULL);
	etag = r->etag;
	assert_string_equal(text(w, r, "data.embed.playerDesign.id"), red);
	assert_string_equal(text(w, r, "data.embed.playerDesign.properties.brandColor"), "#ff0000");
	assert_non_null(strstr(text(w, r, "data.embed.html"), text(w, r, "data.embed.url")));
	assert_int_equal(sheets(w, strstr(text(w, r, "data.embed.url"), "/embed/"), red), 1);
	assert_int_equal(sheets(w, strstr(text(w, r, "data.embed.watchUrl"), "/watch/"), red), 1);
	assert_int_equal(call(w, "PATCH", path_of(w, red, ""), "{\"name\":\"Dark red\"}")->status, 200);
	assert_string_not_equal(call(w, "GET", in, NULL)->etag, etag);
	r = call(w, "GET", arena_printf(w->mem, "%s?channelId=%s", uri, uuid_text(w->mem, w->channel_id)), NULL);
	assert_string_equal(text(w, r, "data.embed.playerDesign.id"), blue);
	assert_int_equal(sheets(w, strstr(text(w, r, "data.embed.url"), "/embed/"), blue), 1);
	assert_int_equal(call(w, "GET", arena_printf(w->mem, "%s?channelId=%s", uri, uuid_text(w->mem, two)),
	    NULL)->status, 404);
	assert_int_equal(call(w, "GET", arena_printf(w->mem, "%s?channelId=%s", uri, uuid_text(w->mem, stranger)),
	    NULL)->status, 404);
	member = world_member(w, "ViewChannel", "Viewer", NULL);
	assert_int_equal(call_as(w, member, "GET", uri, NULL)->status, 200);
	assert_int_equal(call_as(w, member, "GET", in, NULL)->status, 404);
}

/* The colours that contrast is counted by are those of the pages. */
static void
grounds_are_those_of_kinothek_css(void **state)
{
	const char *dir = getenv("KINOTHEK_SRC");
	static char css[100000];
	struct world *w = *state;
	FILE *f;

	if (dir == NULL)
		skip();
	f = fopen(arena_printf(w->mem, "%s/web/kinothek.css", dir), "re");
	assert_non_null(f);
	css[fread(css, 1, sizeof(css) - 1, f)] = '\0';
	fclose(f);
	assert_non_null(strstr(css, "--ground: #f6f5f3;\n\t--sheet: #fff;"));
	assert_non_null(strstr(css, "--ground: #121113;\n\t--sheet: #1c1b1e;"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(properties_are_checked_by_type_and_name),
		WORLD_TEST(a_design_says_what_its_colours_become),
		WORLD_TEST(its_creator_and_super_admins_change_a_design_and_others_look),
		WORLD_TEST(main_designs_and_templates_are_for_super_admins),
		WORLD_TEST(one_design_of_a_type_is_main),
		WORLD_TEST(of_many_that_choose_a_main_design_at_once_one_stays),
		WORLD_TEST(a_design_that_channels_use_is_deleted_only_when_they_may_do_without),
		WORLD_TEST(files_are_taken_by_their_content),
		WORLD_TEST(files_are_served_as_what_they_are_and_for_ever_at_their_own_address),
		WORLD_TEST(a_sheet_holds_custom_properties_alone_and_its_address_follows_it),
		WORLD_TEST(pages_show_the_design_of_the_only_channel_that_has_one_or_the_main_one),
		WORLD_TEST(a_logo_stands_in_the_head_of_pages),
		WORLD_TEST(in_the_context_of_a_channel_an_asset_brings_its_player_design_and_its_pages_show_it),
		WORLD_TEST(grounds_are_those_of_kinothek_css),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
