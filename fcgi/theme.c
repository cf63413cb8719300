/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /theme: designs as sheets of custom properties, and their files */
#include <stdlib.h>
#include <string.h>

#include "core/colour.h"
#include "fcgi/theme.h"

/* As kinothek.css has them: --ground and --sheet, of the player --stage. */
static const struct colour lights[] = { { 0xf6, 0xf5, 0xf3 }, { 0xff, 0xff, 0xff } };
static const struct colour darks[] = { { 0x12, 0x11, 0x13 }, { 0x1c, 0x1b, 0x1e } };
static const struct colour stage = { 0x14, 0x12, 0x14 };

/* Text 4.5, controls 3 (WCAG 2.2, 1.4.3 and 1.4.11). */
#define TEXT_CONTRAST 4.5
#define CONTROL_CONTRAST 3.0
enum { SOFT_PERCENT = 14 };

static const struct { const char *name, *stack; } fonts[] = {
	{ "system", "system-ui,\"Segoe UI\",Roboto,\"Noto Sans\",\"Helvetica Neue\",Arial,sans-serif" },
	{ "humanist", "Seravek,\"Gill Sans Nova\",Ubuntu,Calibri,\"DejaVu Sans\",sans-serif" },
	{ "grotesque", "Inter,\"Helvetica Neue\",Arimo,Arial,\"Liberation Sans\",sans-serif" },
	{ "rounded", "ui-rounded,\"Hiragino Maru Gothic ProN\",Quicksand,Nunito,\"Arial Rounded MT Bold\",sans-serif" },
	{ "serif", "Charter,\"Bitstream Charter\",Cambria,\"Noto Serif\",\"DejaVu Serif\",serif" },
	{ "mono", "ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace" },
};

/* What a colour becomes where pages are light, or dark. */
struct scheme { struct colour brand, soft, text; double ratio; };

static struct scheme
scheme_of(struct colour brand, bool dark)
{
	struct colour grounds[3] = { dark ? darks[0] : lights[0], dark ? darks[1] : lights[1] };
	struct scheme s = { .brand = brand, .soft = colour_mix(brand, grounds[1], SOFT_PERCENT) };
	double soft;

	grounds[2] = s.soft;
	s.text = colour_readable(brand, grounds, 3, TEXT_CONTRAST);
	s.ratio = colour_contrast(s.text, grounds[0]);
	soft = colour_contrast(s.text, s.soft);
	s.ratio = soft < s.ratio ? soft : s.ratio;
	return s;
}

static void
put_scheme(struct buf *b, struct arena *mem, const char *selector, struct scheme s)
{
	buf_printf(b, "%s{--brand:%s;--on-brand:%s;--brand-text:%s;--brand-soft:%s}", selector, colour_text(mem,
	    s.brand),
	    colour_text(mem, colour_on(s.brand)), colour_text(mem, s.text), colour_text(mem, s.soft));
}

static void
put_brand(struct buf *b, struct arena *mem, struct colour brand)
{
	struct scheme dark = scheme_of(brand, true);

	put_scheme(b, mem, ":root", scheme_of(brand, false));
	put_scheme(b, mem, "\n@media (prefers-color-scheme:dark){:root:not([data-theme=\"light\"])", dark);
	put_scheme(b, mem, "}\n:root[data-theme=\"dark\"],:root[data-page=\"embed\"]", dark);
	buf_char(b, '\n');
}

/* Over pictures, which the controls make dark. */
static void
put_play(struct buf *b, struct arena *mem, struct colour brand)
{
	struct colour play = colour_readable(brand, &stage, 1, CONTROL_CONTRAST);

	buf_printf(b, "--play:%s;--on-play:%s;", colour_text(mem, play), colour_text(mem, colour_on(play)));
}

const char *
theme_resource_address(struct arena *mem, struct uuid design_id, const struct design_resource *file)
{
	return arena_printf(mem, "/theme/%s/%s?v=%s", uuid_text(mem, design_id), file->name, file->hash);
}

static const struct design_resource *
file_of_type(const struct design *d, const char *name, const char *type)
{
	const struct design_resource *file = name != NULL ? design_resource(d, name) : NULL;

	return file != NULL && strncmp(file->mime_type, type, strlen(type)) == 0 ? file : NULL;
}

static void
put_font(struct buf *b, struct arena *mem, const struct design *d, const struct design_properties *p)
{
	const struct design_resource *file = file_of_type(d, p->font_file, "font/");
	size_t i = 0, k;

	if (p->font == NULL && file == NULL)
		return;
	for (k = 0; p->font != NULL && k < sizeof(fonts) / sizeof(fonts[0]); k++)
		i = strcmp(fonts[k].name, p->font) == 0 ? k : i;
	buf_printf(b, "--font:%s%s;", file != NULL ? "\"design\"," : "", fonts[i].stack);
	if (file != NULL)
		buf_printf(b, "}\n@font-face{font-family:\"design\";src:url(\"%s\") "
		    "format(\"woff2\");font-display:swap}\n:root{", theme_resource_address(mem, d->id, file));
}

static void
put_channel(struct buf *b, struct arena *mem, const struct design *d, const struct design_properties *p)
{
	struct colour c;
	bool brand = p->brand_color != NULL && colour_parse(p->brand_color, &c);

	if (brand)
		put_brand(b, mem, c);
	buf_text(b, ":root{");
	if (brand)
		put_play(b, mem, c);
	if (p->header_color != NULL && colour_parse(p->header_color, &c))
		buf_printf(b, "--header:%s;--on-header:%s;", colour_text(mem, c), colour_text(mem, colour_on(c)));
	if (p->radius.set)
		buf_printf(b, "--radius:%dpx;", (int)p->radius.n);
	put_font(b, mem, d, p);
	buf_text(b, "}\n");
}

/* What stands on the stage is white. */
static void
put_player(struct buf *b, struct arena *mem, const struct design_properties *p)
{
	const struct colour white = COLOUR_WHITE;
	struct colour c;

	buf_text(b, ":root{");
	if (p->brand_color != NULL && colour_parse(p->brand_color, &c))
		put_play(b, mem, c);
	if (p->background_color != NULL && colour_parse(p->background_color, &c))
		buf_printf(b, "--stage:%s;", colour_text(mem, colour_readable(c, &white, 1, TEXT_CONTRAST)));
	if (p->radius.set)
		buf_printf(b, "--stage-radius:%dpx;", (int)p->radius.n);
	buf_text(b, "}\n");
}

struct sheet
theme_sheet(struct arena *mem, const struct design *d)
{
	const struct design_properties *p = d->properties.row;
	struct buf b = BUF(mem);
	const char *css;

	if (strcmp(d->type, "ChannelDesign") == 0)
		put_channel(&b, mem, d, p);
	else if (strcmp(d->type, "PlayerDesign") == 0)
		put_player(&b, mem, p);
	css = buf_string(&b);
	return (struct sheet){ css, arena_copy_n(mem, entity_tag(mem, css, b.len) + 1, 16) };
}

const char *
theme_address(struct arena *mem, const struct design *d)
{
	return arena_printf(mem, "/theme/%s/%s.css", uuid_text(mem, d->id), theme_sheet(mem, d).hash);
}

static void
add_contrast(struct arena *mem, struct list *list, const char *property, const char *value)
{
	struct design_contrast *out = (struct design_contrast *)list->rows + list->n;
	struct scheme light, dark;
	struct colour c;

	if (value == NULL || !colour_parse(value, &c))
		return;
	light = scheme_of(c, false);
	dark = scheme_of(c, true);
	*out = (struct design_contrast){ property, colour_text(mem, colour_on(c)), colour_text(mem, light.text),
	    colour_text(mem, dark.text), colour_contrast(c, colour_on(c)), light.ratio, dark.ratio };
	list->n++;
}

struct list
theme_contrast(struct arena *mem, const struct design *d)
{
	const struct design_properties *p = d->properties.row;
	struct list list = { arena_array(mem, 3, sizeof(struct design_contrast)), 0 };

	add_contrast(mem, &list, "brandColor", p->brand_color);
	add_contrast(mem, &list, "headerColor", p->header_color);
	add_contrast(mem, &list, "backgroundColor", p->background_color);
	return list;
}

static const struct theme *
theme(struct req *r, const struct design *d)
{
	const struct design_properties *p = d != NULL ? d->properties.row : NULL;
	const struct design_resource *logo;
	struct theme *t;

	if (p == NULL)
		return NULL;
	t = NEW(r->mem, struct theme);
	*t = (struct theme){ .url = theme_address(r->mem, d), .name = d->name };
	logo = file_of_type(d, p->logo, "image/");
	if (logo != NULL)
		*t = (struct theme){ t->url, d->name, theme_resource_address(r->mem, d->id, logo), logo->width.n,
		    logo->height.n };
	return t;
}

const struct theme *
theme_of(struct req *r, struct uuid design_id)
{
	return theme(r, db_row(r->db, &design_record, "FROM designs t WHERE t.id = ?", ARGS(ID(design_id))));
}

const char *
theme_url(struct req *r, struct uuid design_id)
{
	const struct theme *t = theme_of(r, design_id);

	return t != NULL ? t->url : NULL;
}

const struct theme *
theme_of_channel(struct req *r, struct uuid channel_id)
{
	return theme(r, db_row(r->db, &design_record, "FROM channels c JOIN designs t ON t.tenant_id = c.tenant_id AND "
	    "t.type = 'ChannelDesign' AND (t.main_type = 'ChannelDesign' OR t.id = c.channel_design_id) WHERE c.id = ? "
	    "ORDER BY t.id = c.channel_design_id DESC LIMIT 1", ARGS(ID(channel_id))));
}

struct design *
theme_player_of(struct req *r, struct uuid channel_id)
{
	return db_row(r->db, &design_record, "FROM channels c JOIN designs t ON t.tenant_id = c.tenant_id AND t.type = "
	    "'PlayerDesign' AND (t.main_type = 'PlayerDesign' OR t.id = c.player_design_id) WHERE c.id = ? ORDER BY t.id = "
	    "c.player_design_id DESC LIMIT 1", ARGS(ID(channel_id)));
}

const struct theme *
theme_of_tenant(struct req *r, struct uuid tenant_id)
{
	return theme(r, db_row(r->db, &design_record, "FROM designs t WHERE t.tenant_id = ? AND t.main_type = "
	    "'ChannelDesign'", ARGS(ID(tenant_id))));
}

const struct theme *
theme_of_realm(struct req *r, const char *shortcode)
{
	return theme(r, db_row(r->db, &design_record, "FROM tenants n JOIN designs t ON t.tenant_id = n.id AND "
	    "t.main_type = 'ChannelDesign' WHERE n.shortcode = ?", ARGS(STR(shortcode))));
}

/* A channel of an asset, with the main designs beside it. */
struct place { struct uuid id, channel_design_id, player_design_id, main_page, main_player; const char *visibility; };
static const struct field place_fields[] = {
	FIELD(struct place, id, .doc = "The channel"),
	FIELD(struct place, channel_design_id, .doc = "Of its pages"),
	FIELD(struct place, player_design_id, .doc = "Of its players"),
	FIELD(struct place, main_page, .sql = "c.id", .doc = "Of pages of the tenant"),
	FIELD(struct place, main_player, .sql = "p.id", .doc = "Of players of the tenant"),
	FIELD(struct place, visibility, .doc = "Who sees it"),
};
static const struct record place_record = RECORD("DesignPlace", struct place, place_fields);

/* Each of the places has the one design, or none. */
struct choice { struct uuid id; bool several; };

static void
choose(struct choice *c, struct uuid id)
{
	c->several |= !uuid_is_none(id) && !uuid_is_none(c->id) && !uuid_equal(id, c->id);
	c->id = uuid_is_none(id) ? c->id : id;
}

static const struct theme *
chosen(struct req *r, const struct choice *c, struct uuid main_id, const struct design *d, size_t n)
{
	const struct design *main_design = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!c->several && uuid_equal(d[i].id, c->id))
			return theme(r, &d[i]);
		if (uuid_equal(d[i].id, main_id))
			main_design = &d[i];
	}
	return theme(r, main_design);
}

struct look
theme_of_media(struct req *r, struct uuid media_id, struct uuid channel_id, bool opened)
{
	struct choice page = { 0 }, player = { 0 };
	struct look look = { 0 };
	const struct place *p;
	const struct design *d;
	bool in_channel = false;
	size_t n, k, i;

	p = db_rows(r->db, &place_record, "FROM media_channels mc JOIN channels t ON t.id = mc.channel_id LEFT JOIN "
	    "designs "
	    "c ON c.tenant_id = t.tenant_id AND c.main_type = 'ChannelDesign' LEFT JOIN designs p ON p.tenant_id = "
	    "t.tenant_id AND p.main_type = 'PlayerDesign' WHERE mc.media_id = ?", ARGS(ID(media_id)), &n);
	for (i = 0; i < n; i++)
		in_channel |= uuid_equal(p[i].id, channel_id) && (opened || strcmp(p[i].visibility, "private") != 0);
	for (i = 0; i < n; i++)
		if (in_channel ? uuid_equal(p[i].id, channel_id) : opened || strcmp(p[i].visibility, "private") != 0) {
			choose(&page, p[i].channel_design_id);
			choose(&player, p[i].player_design_id);
		}
	if (n == 0 || (uuid_is_none(page.id) && uuid_is_none(player.id) && uuid_is_none(p[0].main_page) &&
	    uuid_is_none(p[0].main_player)))
		return look;
	d = db_rows(r->db, &design_record, "FROM designs t WHERE t.id IN (?, ?, ?, ?)", ARGS(ID(page.id), ID(player.id),
	    ID(p[0].main_page), ID(p[0].main_player)), &k);
	look.page = chosen(r, &page, p[0].main_page, d, k);
	look.player = chosen(r, &player, p[0].main_player, d, k);
	return look;
}

struct file_query { const char *v; };
static const struct field file_query_fields[] = {
	FIELD(struct file_query, v, .on = QUERY, .max = 16, .doc = "What the file is known by"),
};
static const struct record file_query_record = RECORD("ThemeQuery", struct file_query, file_query_fields);

/* It never changes at an address that says what it is; another address is asked again every time. */
static int
send_file(struct req *r, const char *type, const char *bytes, size_t n, bool is_named)
{
	r->cache_control = is_named ? "public, max-age=31536000, immutable" : "public, no-cache";
	buf_text(&r->headers, "Content-Security-Policy: default-src 'none'; sandbox\r\n"
	    "Cross-Origin-Resource-Policy: cross-origin\r\n");
	r->etag = entity_tag(r->mem, bytes, n);
	return reply_not_modified(r) ? 304 : reply_raw(r, 200, type, bytes, n);
}

struct bytes { const char *at; int64_t n; };
static const struct field bytes_fields[] = {
	FIELD(struct bytes, at, .sql = "t.bytes", .doc = "The file"),
	FIELD(struct bytes, n, .sql = "OCTET_LENGTH(t.bytes)", .doc = "How many they are"),
};
static const struct record bytes_record = RECORD("DesignBytes", struct bytes, bytes_fields);

const void *
design_resource_bytes(struct db *db, struct uuid design_id, const char *name, size_t *n)
{
	const struct bytes *bytes = db_row(db, &bytes_record, "FROM design_resources t WHERE t.design_id = ? AND "
	    "t.name = ?", ARGS(ID(design_id), STR(name)));

	*n = bytes != NULL ? (size_t)bytes->n : 0;
	return bytes != NULL ? bytes->at : NULL;
}

static int
send_resource(struct req *r, const struct design *d)
{
	const struct file_query *in = r->in;
	const struct design_resource *file = design_resource(d, r->word[0]);
	const void *bytes;
	size_t n;

	if (file == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	bytes = design_resource_bytes(r->db, d->id, file->name, &n);
	if (bytes == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	return send_file(r, file->mime_type, bytes, n, in->v != NULL && strcmp(in->v, file->hash) == 0);
}

static int
theme_file(struct req *r)
{
	const struct design *d = db_row(r->db, &design_record, "FROM designs t WHERE t.id = ?", ARGS(ID(r->id[0])));
	size_t n = strlen(r->word[0]);
	struct sheet sheet;

	if (d == NULL || d->properties.row == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (n < 4 || strcmp(r->word[0] + n - 4, ".css") != 0)
		return send_resource(r, d);
	sheet = theme_sheet(r->mem, d);
	return send_file(r, "text/css; charset=utf-8", sheet.css, strlen(sheet.css),
	    n == strlen(sheet.hash) + 4 && strncmp(r->word[0], sheet.hash, n - 4) == 0);
}

const struct route theme_routes[] = {
	{
		GET, "/theme/{designId}/{name}", SCOPE_PUBLIC, theme_file, &file_query_record, NULL,
		"Get the sheet of a design, or one of its files",
		.flags = AT_ROOT | NO_ENVELOPE | NO_OBJECT | CONDITIONAL, .fails = "404 422",
		.produces = "text/css image/png image/jpeg image/webp font/woff2", .id = "getThemeFile",
	},
	{ 0 }
};
