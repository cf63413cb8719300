/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See translated.h. */
#include <string.h>

#include "jobs/translated.h"

/* A sentence of more words is taken for several. */
enum { SENTENCE_WORDS = 60 };

struct said { const char *language_code; struct json paragraphs; };
static const struct field said_fields[] = {
	FIELD(struct said, language_code, .doc = "Tag"),
	FIELD(struct said, paragraphs, .doc = "The text"),
};
static const struct record said_record = RECORD("TranslatedFrom", struct said, said_fields);

bool
translated_find(struct job *j, struct translated *t)
{
	const struct engine *e = engine_chosen(j->conf, ENGINE_translate);
	const struct said *s;
	size_t n;

	if (e == NULL)
		return false;
	s = db_rows(j->db, &said_record, "FROM transcripts t JOIN media m ON m.id = t.media_id WHERE m.id = ? AND "
	    "t.status = 'completed' AND t.no_speech = 0 AND NOT t.quality <=> 'unreliable' AND t.language_code NOT LIKE "
	    "'translate%' ORDER BY t.language_code <=> m.language_code DESC, t.source = 'machine', t.id LIMIT 30",
	    ARGS(ID(j->media_id)), &n);

	for (size_t i = 0; i < n; i++) {
		if (!e->knows(j->conf, s[i].language_code))
			continue;
		*t = (struct translated){ .from = record_parse_list(j->mem, &paragraph_record, s[i].paragraphs.text),
		    .language = s[i].language_code, .engine = e->version(j->mem, j->conf) };
		return true;
	}
	return false;
}

/* Sentences as they are read, with their times and their words' places. */
struct sentences { const char **text; struct segment *as; size_t n; };

static void
add_sentences(struct job *j, struct sentences *all, const struct paragraph *p)
{
	const struct list words = p->words.n > 0 ? p->words : transcript_spread(j->mem, p->text, p->start.ms,
	    p->end.ms);
	const struct word *w = words.rows;
	struct buf text = BUF(j->mem);
	size_t from = 0;

	for (size_t i = 0; i < words.n; i++) {
		if (i > from && !transcript_is_wide(w[i].text))
			buf_char(&text, ' ');
		buf_text(&text, utf8_to_line(j->mem, word_read(&w[i])));
		if (i + 1 < words.n && i + 1 - from < SENTENCE_WORDS && !transcript_ends_sentence(word_read(&w[i])))
			continue;
		all->text[all->n] = buf_string(&text);
		all->as[all->n++] = (struct segment){ .start = w[from].start, .end = w[i].end };
		text = BUF(j->mem);
		from = i + 1;
	}
}

enum outcome
translated_make(struct job *j, struct translated *t)
{
	const struct engine *e = engine_chosen(j->conf, ENGINE_translate);
	const struct paragraph *p = t->from.rows;
	struct sentences all = { NULL, NULL, 0 };
	struct translation work = { .mem = j->mem, .conf = j->conf, .language = t->language, .work_dir = j->work_dir };
	size_t room = 0, n = 0;

	for (size_t i = 0; i < t->from.n; i++)
		room += p[i].words.n > 0 ? p[i].words.n : transcript_count(p[i].text);
	all.text = arena_array(j->mem, room, sizeof(*all.text));
	all.as = arena_array(j->mem, room, sizeof(*all.as));
	for (size_t i = 0; i < t->from.n; i++)
		add_sentences(j, &all, &p[i]);
	work.sentences = all.text;
	work.n = all.n;
	if (all.n > 0 && e->run.translate(&work) != DONE) {
		t->fault = work.fault;
		return fault_is_final(&t->fault) ? GIVE_UP : RETRY;
	}
	for (size_t i = 0; i < all.n; i++) {
		struct segment s = all.as[i];

		s.text = work.english[i];
		s.words = transcript_spread(j->mem, s.text, s.start.ms, s.end.ms);
		if (s.words.n > 0)
			all.as[n++] = s;
	}
	t->paragraphs = transcript_paragraphs(j->mem, all.as, n);
	return DONE;
}
