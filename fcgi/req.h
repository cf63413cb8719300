/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request, a route, an object, and the words a handler speaks.
 *
 * The dispatcher (api.c) finds the route, checks the token and its scope, decodes and checks the input, opens a
 * transaction for writing methods, loads the object that the path names and decides whether the caller may do this to
 * it, calls the handler, commits and renders.  A handler touches nothing but the database (so that it can be run again
 * after a deadlock), answers by reply…() or refuse(), and returns what that returned.
 */
#ifndef FCGI_REQ_H
#define FCGI_REQ_H

#include "core/arena.h"
#include "core/bucket.h"
#include "core/buf.h"
#include "core/conf.h"
#include "core/db.h"
#include "core/errors.h"
#include "core/record.h"
#include "core/token.h"
#include "core/version.h"
#include "core/web_refusal.h"

/* Resources: each is fcgi/<name>.c with `const struct route <name>_routes[]`, ended by a row of zeros. */
#define RESOURCES(R) R(media) R(permissions) R(player) R(thumbnails) R(metadata) R(seo) R(transcripts) \
	R(transcript_versions) R(subtitles) R(speakers) R(languages) R(uploads) R(imports) R(jobs) \
	R(audit) R(realms) R(signin) R(invitations) R(account) R(service) R(pages) R(designs) R(design_resources) \
	R(theme) R(channels) R(members) R(channel_media) R(principals) R(groups) R(tokens) R(userinfo) R(authorize) \
	R(logout) R(tags) R(media_bulk) R(settings) R(portal) R(events) R(following) \
	R(webhooks) R(deliveries) R(downloads) R(livestreams) R(livestream_targets) \
	R(sections) R(section_thumbnails) R(section_download) R(chapters) R(chapter_import) \
	R(entries) R(search) R(search_ranges) R(search_semantic) R(presets) R(recommendations) R(comments) R(history) R(stories) \
	R(meetings) R(chats) R(flows) R(shares) R(share_page) R(story_page)

/* What paths name by an id: each is a `const struct object <name>_object` in the file of its resource. */
#define OBJECTS(O) O(media) O(transcript) O(subtitle) O(speaker) O(upload) O(import) O(job) O(design) O(channel) O(member) O(channel_asset) O(group) \
	O(group_member) O(tag) O(webhook) O(delivery) O(section) O(chapter) O(entry) O(entry_section) \
	O(comment) O(story) O(meeting) O(download) O(preset) O(chat) O(flow) O(flow_run) O(livestream) O(livestream_target)

enum method { GET = 1, HEAD, POST, PUT, METHOD_PATCH, METHOD_DELETE, OPTIONS };

enum {
	LIST = 1 << 0,		/* the answer is a page; page, perpage, sort, filter are taken */
	RAW_BODY = 1 << 1,	/* r->body is the handler's own affair, up to .max_body */
	NO_ENVELOPE = 1 << 2,	/* the answer is not a JSON envelope: reply_raw() */
	ACTION = 1 << 3,	/* PUT or POST without a body */
	OPTIONAL_BODY = 1 << 4,	/* an empty body counts as {} */
	AT_ROOT = 1 << 5,	/* not below /v2; public, and no token is looked at */
	/* single resource with ETag: If-Match is compared with the version of the object; every PATCH, PUT and DELETE
	 * of an object that has one says so */
	CONDITIONAL = 1 << 6,
	READS_ONLY = 1 << 7,	/* a POST that writes nothing: no transaction */
	WITH_DELETED = 1 << 8,	/* also of a soft-deleted asset, for those with CreateContent */
	NO_OBJECT = 1 << 9,	/* the path holds an id, and the handler decides by itself who may do what */
	BELOW = 1 << 10,	/* the route is to what lies below the object: its head is enough */
	OWN_AUDIENCE = 1 << 11,	/* the handler compares r->audience with the version that its rows bring */
	/* a page for people, AT_ROOT: refusals are pages too, parameters that are unknown are nobody's fault, and the
	 * document of the interface is silent about it */
	PAGE = 1 << 12,
	SUPER_ADMIN = 1 << 13,	/* for SuperAdmins alone: others get 403 before anything is looked at */
	ANEW = 1 << 15,		/* a PUT that makes another thing each time: it takes an Idempotency-Key as POST does */
	BARE = 1 << 16,		/* its body may also be the array alone that is the first member of `in` */
	SOMEWHERE = 1 << 14,	/* for those alone who have the permission of its scope in a channel of the tenant */
};

/*
 * What the last {…Id} of a path names.  The dispatcher loads it with everything that decides about access in one query,
 * and hands it to the handler as r->object: 404 when it is not there or another tenant's, 403 without the permission
 * that the route's scope is called by (any token: ViewChannel), 412 when If-Match names another version; on routes that
 * write, the row is locked.  Nothing of this can be left out but by the flag NO_OBJECT.
 */
enum reach {
	REACH_MEDIA = 1,	/* t is an asset: its channels decide, and whether it is soft-deleted */
	REACH_BELOW_MEDIA,	/* t belongs to the asset `a`, which decides */
	/* the same for those who read it; t.principal_id, who wrote it, Channel Owners and SuperAdmins change it */
	REACH_AUTHOR,
	REACH_OWNER,		/* t.principal_id made it; SuperAdmins reach all; for others it is not there */
	REACH_PRIVATE,		/* t.principal_id made it; for all others, SuperAdmins too, it is not there */
	REACH_CHANNEL,		/* t is a channel, which decides itself */
	REACH_BELOW_CHANNEL,	/* t belongs to the channel `c`, which decides */
	/* t is an asset beside the channel `c`, in which it may be or not: the permission is needed for both */
	REACH_BESIDE_CHANNEL,
	/* all of the tenant see and copy it; t.principal_id, who made it, and SuperAdmins change it, as long as they
	 * have the permission of the route's scope somewhere */
	REACH_SHARED,
	/* t mentions assets: those who see one of them see it; t.principal_id, who made it, and SuperAdmins see it
	 * always, and change it as long as they have the permission of the route's scope somewhere */
	REACH_MENTIONS,
	REACH_TENANT,		/* all of the tenant see it, or who may SOMEWHERE; routes that write are SUPER_ADMIN */
};
struct object {
	const char *path;		/* up to and with its id: "/v2/media/{mediaId}" */
	enum reach reach;
	const struct record *record;	/* of r->object where the path ends with the id or with an action */
	const struct record *head;	/* of r->object on routes to what lies below it (flag BELOW); NULL: record */
	/* FROM … WHERE: a ? for each id of the path, in their order; the tenant is added */
	const char *from;
};

/* Far from the other flags, so that tables which grow do not meet. */
enum {
	OAUTH = 1 << 24,	/* refusals have the shape of OAuth: {error, error_description} */
	LATER = 1 << 26,	/* may also answer 202, with the object of its path, or as it says 302: reply_later() */
	WITH_CLOSING = 1 << 27,	/* also of a channel that is being deleted; others that write get 409 there */
	TAKES_TOKEN = 1 << 28,	/* AT_ROOT, and yet it wants a token, which the handler reads by itself */
	FOR_VIEWERS = 1 << 29,	/* it writes, and is for all who see the object: it changes nothing of that */
	BESIDE = 1 << 30,	/* it writes the caller's own: the object is not locked, nor compared with If-Match */
	WRITES = 1 << 25,	/* a GET that writes, in a transaction, as protocols of browsers want it */
};

struct req;
struct route {
	enum method method;
	/* full pattern; {…Id} parts are UUIDs and land in r->id[], other {…} in r->word[] */
	const char *path;
	enum scope scope;
	int (*run)(struct req *);
	/* GET and DELETE: query; POST, PUT, and a DELETE that has .query as well: CREATE fields; PATCH: PATCH fields */
	const struct record *in;
	const struct record *out;
	const char *doc;		/* one line, imperative */
	unsigned flags;
	int success;			/* 0 = 200 */
	const char *fails;		/* statuses beside 401, "403 404 422" */
	const struct record *query;	/* query parameters of a route that also has a body */
	const char *produces;		/* content types of NO_ENVELOPE, blank-separated */
	const char *consumes;		/* content types of RAW_BODY, blank-separated */
	size_t max_body;		/* 0 = 1 MiB */
	const char *codes;		/* codes of errors.h beside the general ones of `fails`, blank-separated */
	const char *id;			/* operationId, where what follows from method and path does not do */
	const struct record *filtered;	/* LIST: whose fields filter= takes, where it is not `out` */
};

/* A bucket of limits.h that other machines are to hear of. */
struct drained { struct bucket bucket; const char *owner; };
enum { LIMITS_OF_ONE = 2 };

struct req {
	/* What came in; set by main.c or a test, all decoded by api.c. */
	const char *method_name, *uri;		/* REQUEST_URI as received */
	const char *content_type, *accept, *authorization, *if_match, *if_none_match, *origin, *request_method;
	/* of browsers: for pages of people who have signed in (fcgi/session.h), never for the interface */
	const char *cookie, *fetch_site, *user_agent;
	const char *client;			/* address */
	bool https, loopback;
	const char *body;
	size_t body_size;
	/* found while reading it: INCOMPLETE_BODY, TOO_LARGE, UNAVAILABLE, …; else ERR_NONE */
	enum error body_error;
	const struct upload_tus *tus;		/* of an upload that is announced by tus; NULL: of none */
	int64_t came;				/* ms of clock_ms() */
	bool may_wait;				/* for its turn; then api_run() may have to be called again */
	bool has_waited;			/* in vain: it is refused */
	/* connection of the request, so that somebody may see that it is gone; -1: none */
	int client_fd;

	/* For handlers. */
	struct arena *mem;
	struct db *db;
	const struct conf *conf;
	const struct route *route;
	enum method method;
	const char *methods;			/* without a route: what its path takes, "GET, PUT"; of pages NULL */
	struct uuid id[4];
	const char *word[4];
	struct principal *who;			/* NULL on public routes without token */
	const struct object *kind;		/* of the path; NULL: it names none */
	void *object;				/* struct of kind->record, or of kind->head */
	const struct audience *audience;	/* what the caller may do where, as old as the object: see access.h */
	void *in;				/* struct of route->in */
	void *query;				/* struct of route->query */
	uint64_t given;				/* record_bit()s of members present */
	struct page page;
	struct moment now;

	/* The answer. */
	char request_id[UUID_TEXT];
	int status;
	const char *answer_type, *etag, *location, *cache_control, *disposition;
	int retry_after;			/* s; 0 = none */
	struct buf headers;			/* further lines, CRLF each */
	struct buf out;
	bool refused;				/* then nothing is committed */
	enum error error;			/* and why */
	void (*committed)(struct req *);	/* set by a handler: called once, when its transaction is committed */
	void *(*work)(struct req *), *made;	/* aside() */
	void (*unmade)(struct req *);		/* set by work: see aside() */
	struct faults faults;
	int input_faults;			/* how many of them decoding has found */

	/* came in: its buckets have counted it already; and what is left in them (limits.h) */
	bool counted;
	struct buf limits, policies;
	struct drained drained[LIMITS_OF_ONE];
	int n_drained;
	/* came in, as sent; then without quotes, or NULL where it says nothing */
	const char *idempotency_key;
	const char *content_range;		/* came in: a part is no body (RFC 9110 section 14.5) */
	const char *accept_language;		/* came in */
	const char *last_event_id;		/* came in */
	struct subscription *subscription;	/* of a program that keeps streams: subscription.h */
	bool asks_only;				/* may the caller do this?  200, and the handler is not run */
	const char *language;			/* of a page: say.h */
};

/* The object of the path once more, as the handler's own statements have left it; r->object is that then. */
void *object_again(struct req *);

/* The object of the path as it would be with what a PATCH has given; route->in is the record of the object. */
void *patched(struct req *);

/* 200 or 201 with one record.  `version` fields give the ETag: rows with int64_t members version (and revision). */
int reply(struct req *, int status, const struct record *, const void *row);
/* 201 with what was made, and its address: that of the collection, a slash, the id. */
int reply_created(struct req *, const struct record *, const void *row, struct uuid id);
/* 202: a job goes on with it.  The object of the path as it is now, at whose address a client asks again some seconds
 * later (Location, Retry-After).  For routes with LATER. */
int reply_later(struct req *, const struct record *, const void *row, int seconds);
/* 200 {"deleted":[id],"permanent":…}: what every DELETE answers. */
int reply_deleted_all(struct req *, const struct uuid *ids, size_t n, bool permanent);
int reply_deleted(struct req *, struct uuid id, bool permanent);
extern const struct record deleted_record;
/* A page: `data` is the array, `pagination` beside it, Link headers. */
int reply_list(struct req *, const struct record *, const void *rows, size_t n);
/* Of `total` rows that are all there already: cuts to the page asked for.  Returns the first, *n their number. */
size_t page_cut(struct req *, size_t total, size_t *n);
/* A data member rendered by the handler itself (JSON text). */
int reply_json(struct req *, int status, const char *json);
/* No envelope: any bytes of any type (r->answer_type); see also location and disposition. */
int reply_raw(struct req *, int status, const char *type, const void *bytes, size_t n);
int reply_none(struct req *);			/* 204 */
/* An ETag that follows from the bytes and says nothing of them. */
const char *entity_tag(struct arena *, const void *bytes, size_t n);
/* "version-" and a tag of what is told: for what also tells of rows that have a version of their own. */
const char *reply_tag(struct req *, const struct record *, const void *row);
/* Answers with 304 when the client names r->etag. */
bool reply_not_modified(struct req *);

/* Refuses with a code of errors.h.  NULL format: its own sentence. */
int refuse(struct req *, enum error, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same as a page, for routes with PAGE: pages.c. */
int refuse_page(struct req *, enum error);
/* The same in the shape of RFC 6749 section 5.2, which clients of OAuth parse. */
int refuse_oauth(struct req *, int status, const char *error, const char *description);
extern const struct record oauth_error_record;
/* Adds one fault of the input; then return refuse(r, ERR_INVALID, NULL). */
void fault(struct req *, const char *pointer, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same of an address that something is sent to or fetched from: one that is written wrongly is told so, and never
 * that it is forbidden.  False: there is nothing to be said. */
bool fault_address(struct req *, const char *pointer, struct web_refusal);

/* The event of a change, in its transaction.  data: JSON; NULL: none. */
void event(struct req *, struct uuid media_id, const char *type, const char *data);
/* "media.updated" with the JSON names of the members of the record whose bits are set. */
void event_modified(struct req *, struct uuid media_id, const struct record *, uint64_t members);
/* The event of a change to who may do what, about the object of that id, in its transaction: core/audit.h lists the
 * types.  data: JSON without secrets; NULL: none. */
void audit(struct req *, const char *type, struct uuid object_id, const char *data);

/*
 * For slow work that must not hold locks: a handler that finds r->made NULL returns aside(r, work).  Its transaction
 * ends without effect, `work` is called outside of any, and the handler runs again, with what `work` returned in
 * r->made.  NULL: it has refused.  What it has written outside of the database goes again by r->unmade, in no
 * transaction either, when the handler refuses; when a commit is lost nobody knows, and it stays.
 */
int aside(struct req *, void *(*work)(struct req *));

/*
 * Answers one request: everything from route to rendered answer, but FastCGI.  Returns the status.  0: it is not
 * its turn (r->may_wait), nothing has happened, and it is to be read and run again.
 */
int api_run(struct req *);
/*
 * Looks at a request whose body is still to come, of r->body_size bytes or 0 when nobody knows: may it?  True: wait for
 * at most *max bytes, then api_run().  False: it is answered, most often refused.
 */
bool api_admit(struct req *, size_t *max);
/* Stops the program when a route or record has a hole.  Called once at start, and by tests. */
void api_check(void);
/* All routes, one after the other; NULL at the end. */
const struct route *api_route(size_t i);
/* That one, which there is: a path of the program's own. */
const struct route *api_route_of(enum method, const char *path);
/* The API document; server: where this installation is, NULL in the one that is kept. */
const char *openapi_print(struct arena *, const char *server);

/* False, and refused with 412, when If-Match names another version: the dispatcher calls it. */
bool precondition(struct req *, int64_t version);
const char *method_name(enum method);
bool route_writes(const struct route *);

/* What every LIST takes in its query. */
struct page_query { int64_t page, page_number, perpage; const char *sort, *filter, *after; };
extern const struct record page_record;

#define RESOURCE_ROUTES(name) extern const struct route name##_routes[];
RESOURCES(RESOURCE_ROUTES)
#undef RESOURCE_ROUTES
#define OBJECT_EXTERN(name) extern const struct object name##_object;
OBJECTS(OBJECT_EXTERN)
#undef OBJECT_EXTERN

#endif
