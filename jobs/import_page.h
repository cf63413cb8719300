/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Films on the pages of video platforms.  yt-dlp finds and fetches them, in the jail, where it has no sockets: whatever
 * it wants of the network it asks of us (kinothek-page, jobs/import_page.py, speaks for it), and we ask by the rules of
 * core/web.h.  So no page leads it to a host of ours, and none of its faults to more than its own directory.
 */
#ifndef JOBS_IMPORT_PAGE_H
#define JOBS_IMPORT_PAGE_H

#include "core/arena.h"
#include "core/fault.h"

struct page_call {
	const char *url;
	const char *dir;		/* empty, for it alone; what it leaves there is the caller's to remove */
	const char *private_hosts;	/* as of struct web_call */
	int64_t max_size;		/* bytes of the film */
	int seconds;			/* for all of it */
	int silence;			/* s that a server may send nothing, or less than 1 KiB each */
	void (*progress)(void *user, int percent);
	void *user;
};

struct page_film {
	int fd;				/* the whole film, at its beginning; the caller closes it */
	int64_t size;			/* bytes, over 0 */
	const char *name;		/* its title and the ending of its format, not tidied */
};

/* Blocks.  False with the fault: REASON_SOURCE_IS_PAGE where no film is found, or nothing that could look for it is
 * installed. */
bool page_fetch(struct arena *, const struct page_call *, struct page_film *, struct fault *);

#endif
