/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request to the object store whose signature fits, and what its operations share. */
#ifndef FCGI_UPLOAD_S3_VISIT_H
#define FCGI_UPLOAD_S3_VISIT_H

#include "fcgi/upload/s3.h"
#include "fcgi/upload/s3_part.h"

#define S3_STORAGE "/storage"
#define S3_BUCKET "uploads"

enum { S3_PARTS_MAX = 10000 };

struct s3_row {
	struct uuid id, tenant_id, principal_id;
	const char *type, *ticket_hash, *status, *refusal, *sha256, *etag;
	struct number file_size, multipart_attempt;
	int64_t attempt, received_bytes;
	struct moment expires_at, updated_at;
};

struct s3 {
	struct s3_call *c;
	struct s3_sign sign;
	struct s3_row *row;
	const char *bucket, *prefix;	/* as the client calls them; prefix: what keys begin with */
	const char *key;		/* NULL: it is about the bucket */
	struct db *db;
	struct arena *db_own;
	struct seat seat;
	bool seated;
};

/* A link to the database, whose rows stay in the arena of the call.  False: it was away a moment ago. */
bool s3_take_link(struct s3 *);
void s3_give_link(struct s3 *);
enum s3_error s3_with_link(struct s3 *, enum s3_error (*run)(struct s3 *));
/* What its failure says; S3_FINE: there was none. */
enum s3_error s3_by_db(const struct s3 *);

struct s3_row *s3_load(struct s3 *, bool locked);
bool s3_is_open(const struct s3_row *);
bool s3_has_arrived(const struct s3_row *);
/* Does it take parts of that attempt? */
bool s3_takes(const struct s3_row *, int64_t attempt);
/* Its parts, by number, behind that one. */
struct s3_part *s3_parts_of(struct s3 *, int64_t after, int64_t max, size_t *n);
/* NULL: there is none of that number. */
struct s3_part *s3_part_of(struct s3 *, int64_t number);

/* A seat in the room, which s3_run() leaves; beside: as of struct seat. */
enum s3_error s3_enter(struct s3 *, bool beside);
/* The name of a multipart upload, and the attempt in ?uploadId=.  False: it is no name of this upload. */
const char *s3_upload_name(const struct s3 *, int64_t attempt);
bool s3_read_attempt(struct s3 *, int64_t *attempt);
/* Its body; s3_body_end() follows, whatever it answers. */
enum s3_error s3_begin_body(struct s3 *, struct s3_body *);

/* How many a list is to have, up to 1000: as of real servers 0 is an empty list that does not go on. */
enum s3_error s3_read_max(struct s3 *, const char *name, int64_t *max);

/* A body of XML, element by element; take() is false: it is not as it should be.  Whoever has no seat is not waited
 * for.  of_file: a header with a checksum is that of a file, and of which kind; NULL: it is that of this body. */
struct s3_said { enum s3_sum_kind kind; const char *text; };	/* S3_SUM_NONE: nothing */
struct s3_element { int depth; const char *name; void *reader; };
enum s3_error s3_read_xml(struct s3 *, struct s3_said *of_file, bool (*take)(struct arena *, const struct s3_element *,
    void *user), void *user);
/* Of the element that take() has; "": it has none. */
const char *s3_element_text(struct arena *, const struct s3_element *);

/* The body of an answer. */
struct buf *s3_xml(struct s3_call *, const char *root);
enum s3_error s3_end_xml(struct s3_call *, const char *root);
/* Is it something that XML 1.0 can say? */
bool s3_is_text(const char *);
/* What is none has question marks instead of what no parser takes. */
void s3_put(struct buf *, const char *name, const char *text);
void s3_put_number(struct buf *, const char *name, int64_t);
void s3_put_etag(struct buf *headers, const char *etag);
const char *s3_moment(struct arena *, struct moment);

/* All of the file is in this one: it becomes what has arrived.  s3_complete.c. */
enum s3_error s3_arrive(struct s3 *, const struct s3_file *, int64_t attempt, const char *etag);

/* Headers of an object of which n bytes follow. */
void s3_put_object_head(struct s3 *, int64_t n);

/* Operations on the object. */
enum s3_error s3_create(struct s3 *);
enum s3_error s3_upload_part(struct s3 *);
enum s3_error s3_list_parts(struct s3 *);
enum s3_error s3_complete(struct s3 *);
enum s3_error s3_abort(struct s3 *);
enum s3_error s3_put_object(struct s3 *);
enum s3_error s3_get_object(struct s3 *);
enum s3_error s3_delete_object(struct s3 *);
/* ours: the key as its client calls it. */
enum s3_error s3_delete_objects(struct s3 *, const char *ours);

#endif
