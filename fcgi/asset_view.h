/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An asset as clients see it: the row with its signed addresses.  media.c and thumbnails.c answer with it. */
#ifndef FCGI_ASSET_VIEW_H
#define FCGI_ASSET_VIEW_H

#include "fcgi/req.h"

struct media {
	struct uuid id;
	const char *type, *name, *description, *status, *original_file_name, *mime_type;
	int64_t file_size;
	struct position duration;
	struct number width, height, page_count;
	double frame_rate;
	const char *language_code, *playlist_url;
	struct json thumbnail, storyboard;
	const char *waveform_url;
	struct nested embed;
	struct json ingest_job, renditions, channels, tags;
	struct nested created_by;
	struct moment deleted_at, created_at, updated_at;
	int64_t version;
	struct uuid channel_id;				/* filter only */

	/* Columns that the members above are made of. */
	const char *playlist_file, *waveform_file;
	struct json ingest_steps, captions;
	struct uuid created_by_id;
	const char *created_by_name;
	int64_t revision;
	int64_t changes, edits, media_count;		/* of the tenant: tenant_usage */
};
extern const struct record media_record;

/* Where media_record reads from; the row of usage is one for all assets of the tenant and costs next to nothing. */
#define MEDIA_FROM(hint) "FROM media t " hint "JOIN tenant_usage u ON u.tenant_id = t.tenant_id "
/* Binds: ID(asset), ID(tenant). */
#define ASSET_FROM MEDIA_FROM("") "WHERE t.id = ? AND t.tenant_id = ?"

/* One asset of the caller's tenant with its addresses, or NULL after refusing (404, 403).  Soft-deleted ones are
 * shown to those who may recover them. */
struct media *asset_load(struct req *, struct uuid id);

/* Fills the members that hold addresses.  `brief` leaves out what lists leave out. */
void asset_view(struct req *, struct media *, bool brief);

/* Answers with the asset: its ETag also changes when its addresses do. */
int asset_reply(struct req *, int status, struct media *);

#endif
