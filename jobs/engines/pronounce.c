/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Letters to sounds by libflite's lexicon of American English. */
#include <ctype.h>
#include <flite/flite.h>
#include <string.h>

#include "core/buf.h"
#include "jobs/engines/pronounce.h"

/* The library has it, and no header of its own for it. */
cst_lexicon *cmu_lex_init(void);

const char *
pronounce(struct arena *mem, const char *word)
{
	struct buf out = BUF(mem);
	const cst_val *v;
	const char *p;
	cst_val *phones = lex_lookup(cmu_lex_init(), word, NULL, NULL);

	for (v = phones; v != NULL; v = val_cdr(v)) {
		p = val_string(val_car(v));
		if (out.len > 0)
			buf_char(&out, ' ');
		/* ax is the vowel that the dictionary writes as an unstressed AH; stress is a digit behind. */
		if (strncmp(p, "ax", 2) == 0 && !isalpha((unsigned char)p[2]))
			buf_text(&out, "AH");
		else
			for (; isalpha((unsigned char)*p); p++)
				buf_char(&out, (char)toupper((unsigned char)*p));
	}
	delete_val(phones);
	return out.len > 0 ? buf_string(&out) : NULL;
}
