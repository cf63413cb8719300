/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of /v2/media, a subject each: handlers of media.c's routes, and what PATCH and bulk operations share. */
#ifndef FCGI_MEDIA_H
#define FCGI_MEDIA_H

#include "fcgi/asset_view.h"

int media_list(struct req *);				/* media_list.c */
int media_delete(struct req *);				/* media_delete.c */
int media_recover(struct req *);
extern const struct record deletion_record;

/* Gives the asset exactly these labels; those that are new are made.  tags: a JSON array of strings. */
void media_set_tags(struct req *, struct uuid media_id, const char *tags);
/* Are these the labels that the asset has, in whatever order, however often and in either case?  JSON arrays. */
bool media_same_tags(struct req *, const char *now, const char *given);
/* The channels that a client means by those it gives: without doubles, in order, and with those that the asset is in
 * and the client does not see. */
struct ids media_channels_meant(struct req *, const struct ids *now, const struct ids *given);
/*
 * May the caller put the asset, which is in the channels `now`, into the channels `given`?  CreateContent is needed in
 * those that it enters and in those that it leaves.  Refuses with 403; channels that the caller does not see are
 * faults.
 */
bool media_may_move(struct req *, const struct ids *now, const struct ids *given);
void media_set_channels(struct req *, struct uuid media_id, const struct ids *wanted);

#endif
