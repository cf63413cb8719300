/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who speaks in an asset.  Turns are what is known; that a paragraph of a transcript is by somebody follows from them
 * (media/speaking.h), unless a person has said by whom it is.  Names are no part of transcripts: they are put on when
 * one is read, and so is that people have merged two speakers: each keeps its turns, so that they can be split again.
 * One that is forgotten stays as turns that belong to nobody: whoever tells voices apart again finds them, and does not
 * make somebody new of them.
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
	const char *label, *source;	/* its own name, and who has said so; NULL: nobody has */
	struct uuid merged_into;	/* another one of the asset, which is part of none; none: it is itself */
	struct uuid part_of;		/* the one that it was merged with, which may be a part, too; none: not known */
	struct moment forgotten_at;	/* 0: it is not */

	struct uuid shown_id;		/* as whom people see it; none: as nobody */
	const char *name;		/* what they read: "Ann", "Speaker 2"; NULL: nobody else is heard */
};

/* Those who are heard in an asset, by number, also those that are part of others or forgotten; names in the language of
 * a transcript, where we speak it.  conf may be NULL: English. */
struct list speakers_of(struct db *, const struct conf *, struct uuid media_id, const char *language_code);
/* The one with the id, or NULL. */
const struct speaker *speakers_find(const struct list *, struct uuid id);
/* Its own name, or that of the first part of it that has one; NULL: nobody has said who it is. */
const char *speakers_label(const struct list *, const struct speaker *);

/* What people have said of it holds, whatever becomes of its voice: a name, whose part it is or who is a part of it,
 * that it is forgotten, or that a paragraph is by it. */
bool speakers_touched(struct db *, struct uuid media_id, const struct list *all, const struct speaker *);

/* Writes the row of one that is new in the asset, or has other turns; duration follows from them. */
void speakers_put(struct db *, struct uuid media_id, const struct speaker *);
/* A further one, with which speakers_put() goes on.  Returns its id. */
struct uuid speakers_new(struct db *, struct uuid tenant_id, struct uuid media_id);
/* The speaker is not heard in the asset any more. */
void speakers_drop(struct db *, struct uuid speaker_id);

#endif
