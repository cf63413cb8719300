/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What requests and imports both do with an upload. */
#ifndef FCGI_UPLOADS_H
#define FCGI_UPLOADS_H

#include "fcgi/req.h"

struct upload {
	struct uuid id, tenant_id, principal_id;
	const char *principal_name, *file_name, *type;
	struct number file_size;
	struct strings transcript_language_codes;
	const char *status;
	int64_t received_bytes;
	const char *mime_type, *sha256;
	struct nested error;
	struct uuid media_id;
	struct moment expires_at;
	struct nested input;
	int64_t version;
	struct moment created_at, updated_at;
};
extern const struct record upload_record;

/* What an upload by tus has that POST /v2/uploads does not take (fcgi/upload/tus.h). */
struct upload_tus {
	bool is_partial;			/* its bytes become part of another one */
	const char *upload_concat;		/* of which others it is made; NULL: of none */
	struct uuid tenant_id;			/* whose these are; none: all are gone */
	int64_t counted_bytes;			/* of these: the quota knows them */
	bool is_again;				/* some of these are gone: it was made of them before, or cannot be */
	const char *upload_metadata;		/* what its client says of it; NULL: nothing */
};

/*
 * Makes the file that has arrived an asset of that channel, in the caller's name, and starts its ingest; in a
 * transaction that holds the row of the upload.  No channel: the default one of the tenant; name NULL: that of the
 * file.  The last that its transaction writes.  False: refused, and that is to be taken back.
 */
bool upload_finish(struct req *, const struct upload *, struct uuid channel_id, const char *name);

/* Would it be, for want of room or for being there already?  For a job, which cannot take back what it has written; the
 * row of the usage is locked then.  False: refused. */
bool upload_may_finish(struct req *, const struct upload *);

/* Cancels one that is no asset yet, and has its bytes deleted.  False: it is over, or there is none. */
bool upload_drop(struct req *, struct uuid id);

/* Where assets of the caller go: the channel that it names, or the default one of the tenant.  None: refused;
 * pointer: of the member that names it. */
struct uuid upload_channel(struct req *, struct uuid wanted, const char *pointer);

#endif
