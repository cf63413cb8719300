/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An asset as clients see it: the row with its signed addresses. */
#ifndef FCGI_ASSET_VIEW_H
#define FCGI_ASSET_VIEW_H

#include "fcgi/req.h"

/* A principal, as answers name it. */
struct reference { struct uuid id; const char *name; };
extern const struct record reference_record;

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
	struct json ingest_job, renditions;
	struct list channels;				/* those that the caller sees */
	struct json tags;
	struct nested created_by;
	struct moment recorded_at, deleted_at, created_at, updated_at;
	int64_t version;
	struct uuid channel_id;				/* filter only */

	/* Columns that the members above are made of. */
	struct ids channel_ids;
	const char *playlist_file, *waveform_file;
	struct json ingest_steps, captions, subtitles;
	struct uuid created_by_id;
	const char *created_by_name;
	int64_t revision;
	struct uuid share_channel_id;
	int64_t access_version, media_count;		/* of the tenant, in lists: see media_list.c */
};
extern const struct record media_record;

/* What routes below an asset need of it (flag BELOW). */
struct media_head {
	struct uuid id;
	struct ids channel_ids;
	const char *type, *name, *ingest_status;
	struct position duration;
	int64_t version, revision;
};

/* Fills the members that hold addresses and names.  `brief` leaves out what lists leave out. */
void asset_view(struct req *, struct media *, bool brief);

/* The poster of an asset, by its column, with its signed address; NULL: there is none. */
struct thumbnail *asset_thumbnail(struct req *, struct uuid media_id, struct json);

/* Answers with the object of the request, an asset: as it was loaded, or with `again` as it is now.  Its ETag also
 * changes when its addresses or names of channels do. */
int asset_reply(struct req *, bool again);
/* As it was loaded, in the context of a channel that it is in. */
int asset_reply_in(struct req *, struct uuid channel_id);

/* Is this one of the channels that the asset is in, and that the caller sees? */
bool asset_is_seen_in(struct req *, const struct ids *channel_ids, struct uuid channel_id);

/* Is it a language to transcribe: a BCP 47 tag, or translate-en? */
bool asset_language_fits(const char *code);
/* Faults for what is no language to transcribe, at the member of the body that holds the list. */
void asset_check_languages(struct req *, const char *member, const struct strings *codes);

#endif
