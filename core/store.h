/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where media bytes live: objects under keys, which several machines may share.  Keys are ours, never a client's:
 * lower-case letters, digits, '-', '_', '.' and '/'.  They are made by the functions below and nowhere else.
 *
 *	uploads/{uploadId}/…		bytes being received
 *	originals/{mediaId}		the file as uploaded
 *	originals/{mediaId}.{name}	a thumbnail that a client has set: no ingest makes it again
 *	play/{mediaId}/…		renditions, posters, captions: their addresses come from core/play.h
 *	play/{downloadId}/…		what a download has packed
 *	live/{mediaId}/…		what is recorded of a livestream, until it is an original
 *
 * The words are those that an object store has too.  A key is the name of an object or, as "{key}/…", of all that lies
 * below it; there are no directories, nothing is renamed, and nothing is appended to.  What is written to a key is
 * there as a whole or not at all.
 *
 * A key is written once.  Whoever writes is the only one who ever uses that key: an upload and an asset have an id, a
 * request too, and a job puts its run ({jobId}.{fence}, see core/job.h) into every key.  So one that has lost its lease
 * and knows nothing of it overwrites nothing: no row names what it writes, and the sweep takes it away.
 *
 * A file becomes visible by a committed row that names it and is deleted by a job after that row is gone.
 *
 * There are two kinds, of which the settings name one: a directory (`store = local`), and a bucket of an object store
 * (`store = s3`), where each word asks another machine and takes its time.  What arrives lies in data_dir with either.
 * While an installation moves they name both, and all words are of both (core/store_side.h).
 * While a transaction holds rows nothing is put into the store, deleted, read, listed or asked for: others would
 * wait for them as long as the bucket does.  What was made is named by a row afterwards, and what no row names any more
 * goes by a job.  Builds for tests abort where that is not so; what has its place in a transaction is store_put_end()
 * alone.
 *
 * A store that is away is never "not there": errno is ENOENT for the latter alone, and what core/objects.h says for the
 * former, of which none blames a file.
 */
#ifndef CORE_STORE_H
#define CORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/conf.h"
#include "core/text.h"

/* Names of the directories that the local store makes in data_dir; ends with NULL. */
extern const char *const store_tops[];

/* All that no job can make again lies below this prefix: what a backup holds beside the database. */
extern const char store_lasting[];

/* Makes them.  False with errno when they cannot be made. */
bool store_open(const struct conf *);

/*
 * Called each time STORE_STRIDE bytes have gone into the store or come out of it, by any of the words below, and each
 * time that a bucket has answered: for who is taken for dead when nothing is heard of it.  A store that is silent, or
 * drips, gives none.  One for a process, which has a single thread.  NULL: nobody wants to know.
 */
enum { STORE_STRIDE = 1 << 20 };
void store_on_life(void (*call)(void *user), void *user);

enum { STORE_KEY_MAX = 1024 };		/* bytes of a key, and the NUL */
const char *store_key_upload(struct arena *, struct uuid upload_id);
const char *store_key_original(struct arena *, struct uuid media_id);
/* file as the row holds it, "custom/{name}". */
const char *store_key_thumbnail(struct arena *, struct uuid media_id, const char *file);
/* file is what rows hold, "{generation}/{run}/{name}", "captions/…", "custom/…", or a beginning of it up to a slash;
 * NULL: all of the asset. */
const char *store_key_play(struct arena *, struct uuid media_id, const char *file);

/* Moves a file of this machine to the key: by renaming it where that is possible, else by copying it.  Only regular
 * files.  False with errno (ENOSPC, …). */
bool store_put(struct arena *, const char *file, const char *key);

/*
 * The same in two steps, for who holds a row while the object appears.  The first takes as long as the bytes take to
 * another machine or file system, and nobody sees anything of them; the second is short, and done once.  After the
 * first, one of store_put_end() and store_put_drop() follows; when the former fails, the latter.
 */
struct object_draft;
struct store_putting {
	const char *file, *key, *copy;	/* copy: of a file that lies on another file system; NULL: none */
	struct object_draft *draft;
};
bool store_put_begin(struct arena *, const char *file, const char *key, struct store_putting *);
bool store_put_end(struct arena *, const struct store_putting *);
void store_put_drop(const struct store_putting *);

/* The same of bytes in memory. */
bool store_write(struct arena *, const void *bytes, size_t n, const char *key);

/* The bytes of an object, which end in a NUL that does not count.  NULL with errno; EFBIG: there are more than max. */
char *store_get(struct arena *, const char *key, size_t max, size_t *n);

/* So many of them from there on, in the same way.  NULL with errno, also when it ends before. */
char *store_get_range(struct arena *, const char *key, int64_t from, size_t n);

/* A path of this machine under which programs can read the object: its own, or that of a copy made below the scratch
 * directory, which has the folders of the key.  Never written to.  NULL with errno; scratch NULL: ENOTSUP where a copy
 * would be needed. */
const char *store_fetch(struct arena *, const char *key, const char *scratch);

/* Size in bytes, or -1 with errno: only ENOENT and ENOTDIR mean that it is not there. */
int64_t store_size(struct arena *, const char *key);

/* Is there an object of that key?  False with errno: it cannot be told. */
bool store_has(struct arena *, const char *key, bool *there);

/* Content-Type that an object of that key is given out with, by its last letters. */
const char *store_type(const char *key);

/*
 * Of what a client waits for and a web server does not find on this machine.  What has its place here is not there
 * then; a bucket is asked once, and one that is away says so within seconds.
 *
 * store_address() asks nothing: an address at which the bucket itself gives the object to whoever has it, by the rules
 * of objects_address().  NULL with errno ENOENT: it has its place here.
 */
bool store_has_now(struct arena *, const char *key, bool *there);
char *store_get_now(struct arena *, const char *key, size_t max, size_t *n);
const char *store_address(struct arena *, const char *key, const char *method, const char *disposition,
    struct moment now, struct moment until);

/* The origin of such addresses, which a page has to let in; NULL: there is none. */
const char *store_origin(const struct conf *);

/* Removes the object, and all below the key.  True when nothing is left, also when there was nothing; else errno. */
bool store_delete(struct arena *, const char *key);

/*
 * What lies directly below a prefix that ends in a slash, by name: objects, and beginnings of keys that end in a slash
 * (their size is -1).  At most max (of up to 1000), beginning behind the key `after` of an earlier answer; NULL: from
 * the first on.  NULL with errno when it cannot be told; *n is 0 then, so that who only walks through it finds nothing.
 */
struct store_entry {
	const char *key;
	int64_t size;
	struct moment put_at;
};
struct store_entry *store_list(struct arena *, const char *prefix, const char *after, size_t max, size_t *n);

/* Puts what lies below play/{mediaId} within reach of who holds an address, or out of reach, in one step.  Keys stay
 * as they are, whichever it is.  True when all of it is there, also when there was nothing; else errno.  In a bucket
 * nothing is within reach but by an address that is signed for it, and who signs asks the row. */
bool store_serve(struct arena *, struct uuid media_id, bool served);

/* Is any of it within reach? */
bool store_served(struct arena *, struct uuid media_id);

/* Drops what store_put_begin() of programs that were killed has left since before then, where no list shows it.  How
 * many; -1 with errno. */
int store_tidy(struct moment before);

/* Does it do what is asked of it?  Writes an object that is nobody's, reads it and deletes it.  False with errno. */
bool store_probe(struct arena *);

/* The directory where the bytes of an upload arrive, on the file system of its original; the caller makes it. */
const char *store_incoming(struct arena *, struct uuid upload_id);

/* What is recorded of a livestream: "{session}.video.mp4", see core/livestream.h. */
const char *store_key_live(struct arena *, struct uuid media_id, const char *file);

/* The directory below play/ or live/ where files of a livestream grow, which is made.  They alone are written piece by
 * piece, by the one who holds the stream.  NULL with errno. */
const char *store_growing(struct arena *, const char *key);

/* Bytes that may still arrive there before conf.free_space is touched; never negative. */
int64_t store_incoming_free(void);
/* The same for what grows there already, and cannot come again: it may take half of conf.free_space, too. */
int64_t store_growing_free(void);

/* Bytes that may still be put; never negative.  INT64_MAX: nobody can tell, as of a bucket. */
int64_t store_free(void);

#endif
