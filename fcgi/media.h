/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of /v2/media, a subject each: handlers of media.c's routes, and what PATCH and bulk operations share. */
#ifndef FCGI_MEDIA_H
#define FCGI_MEDIA_H

#include "fcgi/asset_view.h"

int media_list(struct req *);				/* media_list.c */
int channel_media_list(struct req *);			/* of the channel that the path names */
/* Does the filter of the page name a channel that the caller does not see?  Whether an asset is there is not told by a
 * filter either. */
bool media_filters_hidden(struct req *);
int media_delete(struct req *);				/* media_delete.c */
int media_recover(struct req *);
struct deletion { bool permanent; };
extern const struct record deletion_record;
/* asset_delete() by the caller.  Once this is committed its files move at once by media_move_files(), or by a job,
 * should we not live to do it. */
int64_t media_delete_one(struct req *, struct uuid media_id, const struct ids *channel_ids, bool permanent);
void media_move_files(struct req *, struct uuid media_id);

enum { MEDIA_TAG_MAX = 100 };		/* characters */
/* The name of a tag as it is kept (media/label.h): nothing to be seen, or too long, is a fault. */
const char *media_tag_meant(struct req *, const char *pointer, const char *given);
/* The labels that a client means by these, each once. */
struct strings media_tags_meant(struct req *, const char *pointer, const struct strings *given);
/* Are these the same labels, in whatever order, however often and in either case? */
bool media_same_tags(const struct strings *, const struct strings *);
/* The tags of these names; those that are new are made, or left out. */
struct ids media_tag_ids(struct req *, const struct strings *names, bool make);
/* Gives the asset exactly these labels. */
void media_set_tags(struct req *, struct uuid media_id, const struct ids *tags);
/* Those without one: a client may send back the background channel of a share, which nobody chooses. */
struct ids media_channels_without(struct req *, const struct ids *, struct uuid channel_id);
/* The channels that a client means by those it gives: without doubles, in order, and with those that the asset is in
 * and the client does not see. */
struct ids media_channels_meant(struct req *, const struct ids *now, const struct ids *given);
/*
 * May the caller put the asset, which is in the channels `now`, into the channels `given`?  CreateContent is needed in
 * those that it enters and in those that it leaves.  Refuses with 403, or 409 where it would enter one that is being
 * deleted; channels that the caller does not see are faults.
 */
bool media_may_move(struct req *, const struct ids *now, const struct ids *given);
/* Puts the asset into exactly these channels.  Refuses with 409 unless one of them stays. */
bool media_set_channels(struct req *, struct uuid media_id, const struct ids *wanted);

#endif
