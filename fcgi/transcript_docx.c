/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A transcript as a document, as the tenant's design has it */
#include <inttypes.h>
#include <string.h>

#include "core/catalogue.h"
#include "core/colour.h"
#include "media/docx.h"
#include "media/language.h"
#include "media/speaking.h"
#include "fcgi/player.h"
#include "fcgi/transcripts.h"

/* Of each the one that word processors have, or know a stand-in for. */
static const struct { const char *name, *family; } fonts[] = {
	{ "system", "Calibri" }, { "humanist", "Segoe UI" }, { "grotesque", "Arial" }, { "rounded", "Verdana" },
	{ "serif", "Cambria" }, { "mono", "Consolas" },
};

static const struct colour own_colour = { 0x1f, 0x3a, 0x5f };
static const double text_contrast = 4.5;
static const int own_points = 11;

struct cover { struct uuid tenant_id; const char *name,
    *description; struct position duration; struct moment created_at; };
static const struct field cover_fields[] = {
	FIELD(struct cover, tenant_id, .doc = "Whose it is"),
	FIELD(struct cover, name, .doc = "Of the asset"),
	FIELD(struct cover, description, .doc = "Shown to people"),
	FIELD(struct cover, duration, .doc = "How long it is"),
	FIELD(struct cover, created_at, .doc = "When it came"),
};
static const struct record cover_record = RECORD("DocumentCover", struct cover, cover_fields);

/* What word processors cannot show is left out. */
static const struct docx_picture *
logo_of(struct db *db, const struct design *d, const char *name)
{
	const struct design_resource *file = name != NULL ? design_resource(d, name) : NULL;
	struct docx_picture *out;

	if (file == NULL || (strcmp(file->mime_type, "image/png") != 0 && strcmp(file->mime_type, "image/jpeg") != 0) ||
	    file->width.n < 1 || file->height.n < 1)
		return NULL;
	out = NEW(db_arena(db), struct docx_picture);
	*out = (struct docx_picture){ .mime_type = file->mime_type, .width = file->width.n, .height = file->height.n };
	out->bytes = design_resource_bytes(db, d->id, name, &out->n);
	return out->bytes != NULL ? out : NULL;
}

static const char *
family(const char *font, const char *otherwise)
{
	for (size_t i = 0; font != NULL && i < sizeof(fonts) / sizeof(fonts[0]); i++)
		if (strcmp(fonts[i].name, font) == 0)
			return fonts[i].family;
	return otherwise;
}

static void
read_colour(struct colour *out, const char *text)
{
	if (text != NULL && colour_parse(text, out))
		*out = colour_readable(*out, &COLOUR_WHITE, 1, text_contrast);
}

static bool
omits(const struct design_properties *p, const char *part)
{
	for (size_t i = 0; i < p->omit.n; i++)
		if (strcmp(p->omit.at[i], part) == 0)
			return true;
	return false;
}

static void
look(struct db *db, struct docx *out, const struct design *d)
{
	const struct design_properties *p = d->properties.row;

	out->font = family(p->font, out->font);
	out->heading_font = family(p->heading_font, NULL);
	if (p->font_size.set)
		out->points = (int)p->font_size.n;
	read_colour(&out->colour, p->header_color);
	read_colour(&out->text_colour, p->text_color);
	out->logo = logo_of(db, d, p->logo);
	out->header = p->header_text;
	out->footer = p->footer_text;
	out->has_cover = !omits(p, "cover");
	out->has_header = !omits(p, "header");
	out->has_footer = !omits(p, "footer");
	out->has_times = !omits(p, "timeCodes");
	out->has_speakers &= !omits(p, "speakers");
	out->has_chapters = !omits(p, "chapters");
}

/* "2026-11-20 · 1:02:03 · Deutsch" */
static const char *
facts(struct arena *mem, const struct cover *c, const char *language)
{
	const int64_t s = c->duration.ms / 1000;
	char at[MOMENT_TEXT];
	struct buf b = BUF(mem);

	buf_printf(&b, "%.10s", moment_format(c->created_at, at));
	if (c->duration.set)
		buf_printf(&b, " \xc2\xb7 %" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
	buf_printf(&b, " \xc2\xb7 %s", language_label(mem, language));
	return buf_string(&b);
}

/* Who answers for the words, in their language where we speak it. */
static const char *
origin(struct arena *mem, const struct conf *conf, const struct transcript *t)
{
	const char *language = transcript_language(t->language_code);
	const struct catalogue *c = catalogue_of(conf, arena_printf(mem, "%.*s", (int)strcspn(language, "-"),
	    language));
	const char *who = strcmp(t->source, "machine") != 0 ? NULL : t->quality != NULL && strcmp(t->quality,
	    "good") == 0 ?
	    catalogue_text(c, "Transcribed by a machine") :
	    catalogue_text(c, "Transcribed by a machine: words may be missing or wrong");

	return who == NULL || t->engine == NULL ? who : arena_printf(mem, "%s \xc2\xb7 %s", who, t->engine);
}

static struct list
headings_of(struct db *db, struct uuid media_id)
{
	const struct list chapters = player_chapters(db, media_id);
	const struct player_chapter *c = chapters.rows;
	struct docx_heading *out = arena_array(db_arena(db), chapters.n, sizeof(*out));

	for (size_t i = 0; i < chapters.n; i++)
		out[i] = (struct docx_heading){ c[i].title, c[i].start };
	return (struct list){ out, chapters.n };
}

struct buf
transcript_docx(struct db *db, const struct conf *conf, const struct transcript *t, const struct transcript_order *o)
{
	static const struct cover gone = { .name = "" };
	struct arena *mem = db_arena(db);
	const struct cover *c = db_row(db, &cover_record, "FROM media t WHERE t.id = ?", ARGS(ID(t->media_id)));
	const struct list paragraphs = speaking_paragraphs(db, conf, t);
	const char *language = transcript_language(t->language_code);
	const struct design *d;
	struct docx out;

	c = c != NULL ? c : &gone;
	out = (struct docx){ .title = c->name, .description = c->description, .facts = facts(mem, c, language),
	    .origin = origin(mem, conf, t), .language = language, .font = fonts[0].family,
	    .points = own_points, .colour = own_colour, .headings = headings_of(db, t->media_id),
	    .paragraphs = &paragraphs, .has_cover = true, .has_header = true, .has_footer = true, .has_times = true,
	    .has_speakers = o->speakers, .has_chapters = true, .changed_at = t->updated_at };
	d = o->design != NULL ? o->design : db_row(db, &design_record, "FROM designs t WHERE t.tenant_id = ? AND "
	    "t.main_type = 'DocxExportDesign'", ARGS(ID(c->tenant_id)));
	if (d != NULL && d->properties.row != NULL)
		look(db, &out, d);
	return docx_write(mem, &out);
}
