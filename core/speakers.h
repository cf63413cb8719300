/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who speaks in an asset.  Turns are what is known; that a paragraph of a transcript is by somebody follows from them
 * (media/speaking.h).  Names are no part of transcripts: they are put on when one is read.
 */
#ifndef CORE_SPEAKERS_H
#define CORE_SPEAKERS_H

#include "core/conf.h"
#include "core/db.h"

struct turn { struct position start, end; };
extern const struct record turn_record;

/* Somebody in an asset; by the number, from 1, the asset knows each for good. */
struct speaker {
	struct uuid speaker_id;
	int64_t number;
	struct position duration;	/* of all turns */
	struct list turns;		/* struct turn, in order, without overlap */
	const char *name;		/* what people read: "Speaker 2"; NULL: nobody else is heard */
};

/* Those who are heard in an asset, by number; names in the language of a transcript, where we speak it.  conf may be
 * NULL: English. */
struct list speakers_of(struct db *, const struct conf *, struct uuid media_id, const char *language_code);

/* Writes the row of one that is new in the asset, or has other turns; duration follows from them. */
void speakers_put(struct db *, struct uuid media_id, const struct speaker *);
/* A further voice.  Returns its id. */
struct uuid speakers_new(struct db *, struct uuid tenant_id);
/* The speaker is not heard in the asset any more, and forgotten with it unless it is heard elsewhere. */
void speakers_drop(struct db *, struct uuid media_id, struct uuid speaker_id);

#endif
