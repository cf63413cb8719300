/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Voices by which speakers of later assets are known, of tenants that want it.  A voice is a name and the prints of
 * those speakers whom people have called by it, each of one asset and gone with it: a voice that nobody is called by
 * any more is gone, too, so that nothing of a person is left behind the last recording of it.  How alike prints are is
 * the affair of the job that tells voices apart (jobs/recognition.h).
 *
 * Who writes names by a voice, forgets one or ends the keeping of them holds the row of the tenant (voices_hold()): a
 * job that began before does not bring back what was forgotten meanwhile.
 *
 * Thousands of assets may know a voice.  One that goes is known no more at once, and those who are it are left to the
 * job `forget`, asset by asset; who changes speakers of an asset before the job has come to it does its part there
 * first (voices_leave()).
 */
#ifndef CORE_VOICES_H
#define CORE_VOICES_H

#include "core/db.h"

/* Of a voice v: is it known? */
#define VOICES_KNOWN_SQL "v.name IS NOT NULL AND v.epoch = (SELECT n.voices_epoch FROM tenants n WHERE n.id = v.tenant_id)"

/* Prints of a voice that are kept and compared, of each engine that has made some: those of the most speech. */
enum { VOICES_PRINTS = 8 };
/* ms of speech that a voice is learned from at least. */
enum { VOICES_LEARN = 10000 };

/* Does the tenant want to know voices?  Until the end of the transaction that stays so. */
bool voices_hold(struct db *, struct uuid tenant_id);

/* A person has named the speaker, or, by NULL, taken its name away: it is that voice from now on, and not the one that
 * a job has said, nor the one proposed. */
void voices_named(struct db *, struct uuid tenant_id, struct uuid speaker_id, const char *label);
/* It is neither the voice that it is said to be, nor the one proposed; jobs do not say so again. */
void voices_reject(struct db *, struct uuid speaker_id);
/* The voice goes, its prints, and that it was proposed; `names`: also the labels of all who are it. */
void voices_forget(struct db *, struct uuid tenant_id, struct uuid voice_id, bool names);
/* All of a tenant go.  Names stay. */
void voices_clear(struct db *, struct uuid tenant_id);
/* Those go that nobody is called by. */
void voices_tidy(struct db *, struct uuid tenant_id);

/* Nobody in the asset is a voice that is gone, or may be, nor has prints of one.  In the transaction that holds the row
 * of the asset.  True: somebody has lost a name by that, which is to be told. */
bool voices_leave(struct db *, struct uuid tenant_id, struct uuid media_id);
/* Up to VOICES_BATCH assets, by id, to which voices_leave() would do something. */
enum { VOICES_BATCH = 50 };
struct ids voices_left(struct db *, struct uuid tenant_id);
/* Some of the voices that are gone, once they are nobody in any asset.  False: those were the last ones. */
bool voices_delete(struct db *, struct uuid tenant_id);

#endif
