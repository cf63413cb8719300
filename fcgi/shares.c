/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/share: a link to an asset, each caller's own */
#include <string.h>

#include "core/password.h"
#include "core/seal.h"
#include "fcgi/asset_view.h"
#include "fcgi/share.h"

struct share {
	const char *share_link;
	struct moment expires_at;
	bool has_pass_phrase;
	struct moment created_at, updated_at;
	struct uuid id, media_id, principal_id;
	const char *pass_phrase_hash;
};
static const struct field share_fields[] = {
	FIELD(struct share, share_link, .on = COMPUTED, .required = true, .format = "uri",
	    .doc = "Address of a page that shows the asset to whoever has it, as long as the caller may share it"),
	FIELD(struct share, expires_at, .on = SERVER, .doc = "From then on the link opens nothing; null: it does not end"),
	FIELD(struct share, has_pass_phrase, .on = COMPUTED, .required = true, .doc = "Does the page ask for a pass phrase?"),
	FIELD(struct share, created_at, .on = SERVER, .required = true, .doc = "When the link was made"),
	FIELD(struct share, updated_at, .on = SERVER, .required = true, .doc = "When its options were last changed"),
	FIELD(struct share, id, .on = SERVER | HIDDEN, .doc = "Its secret follows from it"),
	FIELD(struct share, media_id, .on = SERVER | HIDDEN, .doc = "The asset"),
	FIELD(struct share, principal_id, .on = SERVER | HIDDEN, .doc = "Whose it is"),
	FIELD(struct share, pass_phrase_hash, .on = SERVER | HIDDEN, .doc = "Of crypt(5); null: none"),
};
static const struct record share_record = RECORD("ShareLink", struct share, share_fields);

struct share_options { struct moment expires_at; const char *pass_phrase; };
static const struct field share_options_fields[] = {
	FIELD(struct share_options, expires_at, .on = CREATE, .doc = "From then on the link opens nothing; null: it does not end"),
	FIELD(struct share_options, pass_phrase, .on = CREATE, .max = PASSWORD_MAX, .format = "password",
	    .doc = "What the page asks for before it shows anything, at least 8 characters; null: nothing. Visitors "
	    "who knew the one before are asked again"),
};
static const struct record share_options_record = RECORD("ShareOptions", struct share_options, share_options_fields);

const char *
share_secret(struct req *r, struct uuid id)
{
	return seal_proof(r->conf, r->mem, "share", uuid_text(r->mem, id));
}

/* The caller's own share of the asset; NULL: none. */
static struct share *
own(struct req *r)
{
	return db_row(r->db, &share_record, "FROM shares t WHERE t.media_id = ? AND t.principal_id = ?",
	    ARGS(ID(r->id[0]), ID(r->who->id)));
}

/* One that has expired opens nothing any more, nor one whose secret followed from another key file. */
static bool
is_live(struct req *r, const struct share *s)
{
	return s != NULL && (s->expires_at.ms == 0 || s->expires_at.ms > r->now.ms) && db_number(r->db,
	    "SELECT 1 FROM shares WHERE id = ? AND secret_hash = UNHEX(SHA2(?, 256))", ARGS(ID(s->id),
	    STR(share_secret(r, s->id))), 0) == 1;
}

static void *
hash_pass_phrase(struct req *r)
{
	const struct share_options *in = r->in;

	return (void *)(uintptr_t)password_hash(r->mem, in->pass_phrase);
}

/* False: refused. */
static bool
are_fine(struct req *r, const struct share_options *in)
{
	if (in->expires_at.ms != 0 && in->expires_at.ms <= r->now.ms)
		fault(r, "/expiresAt", "too_small", "a time to come is wanted");
	switch (in->pass_phrase != NULL ? password_check(r->mem, in->pass_phrase) : PASSWORD_FINE) {
	case PASSWORD_FINE:
		break;
	case PASSWORD_SHORT:
		fault(r, "/passPhrase", "too_short", "at least %d characters", PASSWORD_MIN);
		break;
	default:
		fault(r, "/passPhrase", "too_long", "at most %d bytes", PASSWORD_MAX);
	}
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	return !r->refused;
}

static void
audit_share(struct req *r, const char *type, const struct share *s)
{
	char at[MOMENT_TEXT];

	audit(r, type, s->media_id, s->expires_at.ms == 0 ?
	    arena_printf(r->mem, "{\"hasPassPhrase\":%s}", s->pass_phrase_hash != NULL ? "true" : "false") :
	    arena_printf(r->mem, "{\"hasPassPhrase\":%s,\"expiresAt\":\"%s\"}", s->pass_phrase_hash != NULL ? "true" :
	    "false", moment_format(s->expires_at, at)));
}

/* Who shares it sees its channels change. */
static void
channels_changed(struct req *r, struct uuid channel_id)
{
	db_run(r->db, "UPDATE media SET share_channel_id = ?, version = version + 1, updated_at = ? WHERE id = ?",
	    ARGS(ID(channel_id), TIME(r->now), ID(r->id[0])));
	event_modified(r, r->id[0], &media_record, record_bit(&media_record, "channels"));
}

/* Another link than the one before, if there was any. */
static void
begin(struct req *r, const struct share *before, struct share *s)
{
	const struct media *m = r->object;

	s->id = uuid_new();
	s->media_id = m->id;
	s->principal_id = r->who->id;
	s->created_at = s->updated_at = r->now;
	db_run(r->db, "DELETE FROM shares WHERE media_id = ? AND principal_id = ?", ARGS(ID(m->id), ID(r->who->id)));
	db_run(r->db, "INSERT INTO shares (id, media_id, principal_id, secret_hash, pass_phrase_hash, expires_at, "
	    "created_at, updated_at) VALUES (?, ?, ?, UNHEX(SHA2(?, 256)), ?, ?, ?, ?)", ARGS(ID(s->id), ID(m->id),
	    ID(r->who->id), STR(share_secret(r, s->id)), STR(s->pass_phrase_hash), TIME(s->expires_at), TIME(r->now),
	    TIME(r->now)));
	if (before == NULL)
		channels_changed(r, uuid_is_none(m->share_channel_id) ? uuid_new() : m->share_channel_id);
	audit_share(r, "share.created", s);
}

static void
change(struct req *r, struct share *s)
{
	s->updated_at = r->now;
	db_run(r->db, "UPDATE shares SET pass_phrase_hash = ?, expires_at = ?, updated_at = ? WHERE id = ?",
	    ARGS(STR(s->pass_phrase_hash), TIME(s->expires_at), TIME(r->now), ID(s->id)));
	audit_share(r, "share.updated", s);
}

static bool
differ(const struct share *a, const struct share *b)
{
	return a->expires_at.ms != b->expires_at.ms || (a->pass_phrase_hash != b->pass_phrase_hash &&
	    (a->pass_phrase_hash == NULL || b->pass_phrase_hash == NULL || strcmp(a->pass_phrase_hash,
	    b->pass_phrase_hash) != 0));
}

/* The row of the asset is locked: of two at once the second finds what the first has made. */
static int
share_put(struct req *r)
{
	const struct share_options *in = r->in;
	struct media *m = r->object;
	const struct share *before = own(r);
	bool live = is_live(r, before);
	struct share s = { .media_id = m->id };

	if (strcmp(m->status, "ready") != 0)
		return refuse(r, ERR_NOT_READY, NULL);
	if (!are_fine(r, in))
		return r->status;
	if (in->pass_phrase != NULL && r->made == NULL)
		return aside(r, hash_pass_phrase);
	if (live)
		s = *before;
	if (r->given & record_bit(&share_options_record, "expires_at"))
		s.expires_at = in->expires_at;
	if (r->given & record_bit(&share_options_record, "pass_phrase"))
		s.pass_phrase_hash = r->made;
	if (!live)
		begin(r, before, &s);
	else if (differ(before, &s))
		change(r, &s);
	if ((m = object_again(r)) == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	asset_view(r, m, false);	/* whose ETag the answer has */
	s.share_link = arena_printf(r->mem, "%s/s/%s", r->conf->public_url, share_secret(r, s.id));
	s.has_pass_phrase = s.pass_phrase_hash != NULL;
	r->cache_control = "no-store";
	return reply(r, 200, &share_record, &s);
}

static int
share_revoke(struct req *r)
{
	const struct media *m = r->object;
	const struct share *s = own(r);
	bool others = db_number(r->db, "SELECT 1 FROM shares WHERE media_id = ? AND principal_id <> ? LIMIT 1",
	    ARGS(ID(m->id), ID(r->who->id)), 0) == 1;

	if (s == NULL)
		return refuse(r, others ? ERR_SHARED_BY_OTHERS : ERR_NOT_SHARED, NULL);
	db_run(r->db, "DELETE FROM shares WHERE id = ?", ARGS(ID(s->id)));
	channels_changed(r, others ? m->share_channel_id : (struct uuid){ { 0 } });
	audit_share(r, "share.revoked", s);
	return reply_none(r);
}

const struct route shares_routes[] = {
	{
		PUT, "/v2/media/{mediaId}/share", SCOPE_MANAGE_SHARING_OPTIONS, share_put, &share_options_record,
		&share_record,
		"Share an asset by a link of the caller's own; the same again answers the same link, and changes the "
		    "options that are given",
		.flags = CONDITIONAL | OPTIONAL_BODY, .fails = "403 404 412 422", .codes = "not_ready",
		.id = "shareMedia",
	},
	{
		METHOD_DELETE, "/v2/media/{mediaId}/share/revoke", SCOPE_MANAGE_SHARING_OPTIONS, share_revoke, NULL,
		    NULL,
		"End the caller's link; those of others stay. An asset that nobody shares any more leaves its "
		    "background channel",
		.flags = CONDITIONAL, .success = 204, .fails = "403 404 412 422", .codes = "shared_by_others "
		    "not_shared",
		.id = "revokeMediaShare",
	},
	{ 0 }
};
