/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface of the family `ocr`: pictures of ours are handed over, and lines of text come back. */
#ifndef JOBS_ENGINES_SHEET_H
#define JOBS_ENGINES_SHEET_H

#include "jobs/engines/engine.h"

/* A line as it stands on a picture; its place in pixels from the upper left corner. */
struct sheet_line { const char *text; double confidence; int left, top, width, height; };

struct sheet {
	struct arena *mem;
	const struct conf *conf;
	const char *const *pictures;	/* full paths of JPEG or PNG files in work_dir */
	size_t n;
	const char *language;		/* BCP 47, of the asset; NULL: nobody knows */
	const char *work_dir;

	/* Called for each picture in order, also where there is nothing to read, once all of a run have been read.
	 * The lines stay with .mem. */
	void (*seen)(void *user, size_t picture, const struct sheet_line *, size_t n);
	void *user;
	/* For sheet_read(): called in its turn for one that cannot be read; ms of clock_ms() from which on none is
	 * read by itself */
	void (*missed)(void *user, size_t picture, const struct fault *);
	int64_t until;

	struct fault fault;		/* out: for failures */
	size_t looked_at;		/* out, of sheet_read(): how many from the first on were seen or missed */
};

/* All of them in one run; where that fails, one by one, so that a picture that ends the program, or takes too long,
 * takes no other one with it.  False with a fault that says nothing of the pictures: the machine can read none now. */
bool sheet_read(const struct engine *, struct sheet *);

/* Lines that are worth telling: without signs before them, and with letters that somebody can have written. */
bool sheet_keeps(struct arena *, struct sheet_line *);

#endif
