/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/languages: what speech can be turned into */
#include <string.h>

#include "core/spoken.h"
#include "media/transcript.h"
#include "fcgi/languages.h"

static const struct field language_fields[] = {
	FIELD(struct language, code, .on = SERVER, .required = true, .sql = "t.language_code",
	    .doc = "BCP 47 tag; translate-en: English made of any language; auto: the one that is spoken, which the "
	    "engine tells"),
	FIELD(struct language, name, .on = SERVER | COMPUTED, .required = true, .doc = "The name of the language in itself"),
	FIELD(struct language, engine, .on = SERVER, .required = true, .doc = "What turns speech into it, or has"),
	FIELD(struct language, is_translation, .on = SERVER, .required = true, .sql = "t.language_code = 'translate-en'",
	    .doc = "Is it another language than the one that is spoken?"),
};
const struct record language_record = RECORD("Language", struct language, language_fields);

int
languages_reply(struct req *r, struct language *all, size_t n)
{
	struct language *rows = all + page_cut(r, n, &n);

	for (size_t i = 0; i < n; i++)
		rows[i].name = strcmp(rows[i].code, SPOKEN_ANY) == 0 ? "Automatic" :
		    transcript_label(r->mem, rows[i].code);
	return reply_list(r, &language_record, rows, n);
}

static int
languages_list(struct req *r)
{
	const struct conf *conf = engines_conf(r->db, r->conf, r->who->tenant_id);
	const struct strings codes = spoken_languages(r->mem, conf);
	struct language *all = arena_array(r->mem, codes.n, sizeof(*all));

	for (size_t i = 0; i < codes.n; i++) {
		all[i].code = codes.at[i];
		all[i].engine = conf->engine[ENGINE_transcribe].name;
		if (strcmp(codes.at[i], SPOKEN_TRANSLATED) == 0 && !spoken_known(conf, codes.at[i]))
			all[i].engine = conf->engine[ENGINE_translate].name;
		all[i].is_translation = strcmp(codes.at[i], SPOKEN_TRANSLATED) == 0;
	}
	return languages_reply(r, all, codes.n);
}

const struct route languages_routes[] = {
	{
		GET, "/v2/languages", SCOPE_ANY_TOKEN, languages_list, NULL, &language_record,
		"List the languages that speech can be turned into",
		.flags = LIST, .fails = "422",
	},
	{ 0 }
};
