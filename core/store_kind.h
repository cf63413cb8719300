/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a kind of store has to do for the words of core/store.h, which say what each means.  For store*.c alone. */
#ifndef CORE_STORE_KIND_H
#define CORE_STORE_KIND_H

#include "core/store.h"

/* What keys are made of. */
#define KEY_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-_./"

/* To be called for store_on_life(). */
void store_alive(void);

/* Could it be one of ours?  What others have put into a bucket beside it is in no list of store.h. */
bool store_is_key(const char *key);

struct store_kind {
	bool (*put)(struct arena *, const char *file, const char *key);
	bool (*put_begin)(struct arena *, struct store_putting *);
	bool (*put_end)(struct arena *, const struct store_putting *);
	void (*put_drop)(const struct store_putting *);
	bool (*write)(struct arena *, const void *bytes, size_t n, const char *key);
	char *(*get)(struct arena *, const char *key, size_t max, size_t *n);
	char *(*get_range)(struct arena *, const char *key, int64_t from, size_t n);
	const char *(*fetch)(struct arena *, const char *key, const char *scratch);
	int64_t (*size)(struct arena *, const char *key);
	bool (*remove)(struct arena *, const char *key);
	struct store_entry *(*list)(struct arena *, const char *prefix, const char *after, size_t max, size_t *n);
	bool (*serve)(struct arena *, struct uuid media_id, bool served);
	bool (*served)(struct arena *, struct uuid media_id);
	int64_t (*free)(void);
	int (*tidy)(struct moment before);
	/* NULL where web servers find all of it themselves. */
	bool (*has_now)(struct arena *, const char *key, bool *there);
	char *(*get_now)(struct arena *, const char *key, size_t max, size_t *n);
	const char *(*address)(struct arena *, const char *key, const char *method, const char *disposition,
	    struct moment now, struct moment until);
};

/* Below data_dir, which the other kind needs for what arrives. */
extern const struct store_kind store_local;
bool store_local_open(const struct conf *);
const char *store_local_path(struct arena *, const char *key);
/* Bytes before half of conf.free_space is touched; never negative. */
int64_t store_local_left(void);

/* In a bucket. */
extern const struct store_kind store_objects;
void store_objects_open(const struct conf *);

/* In either of two, of which the first takes what is written: core/store_side.h says why. */
extern const struct store_kind store_both;
void store_both_open(const struct store_kind *first, const struct store_kind *second);

/* What this thread writes goes there; NULL: to the first. */
void store_both_use(const struct store_kind *);

/* Does it grow piece by piece, as no object does?  Then it lies on this machine, whatever the settings name. */
bool store_grows(const char *key);

/* What lies there has its address from core/play.h. */
extern const char store_playing[];

#endif
