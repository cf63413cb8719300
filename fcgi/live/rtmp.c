/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RTMP: a machine of three steps (handshake, header of a chunk, its bytes) above which whole messages are looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "fcgi/live/amf.h"
#include "fcgi/live/rtmp.h"
#include "media/bytes.h"

enum {
	SHAKE = 1536,
	CHUNK_OURS = 65536,		/* FFmpeg takes the same for its own direction */
	CHUNK_PUSHED = 4096,		/* as OBS has it: all services take that */
	CHUNK_MAX = 1 << 20,
	STREAMS_MAX = 16,		/* encoders use six */
	WINDOW = 2500000,
	COMMAND_MAX = 16 << 10, AUDIO_MAX = 64 << 10, VIDEO_MAX = 8 << 20,
	HELD_MAX = 16 << 20,		/* half-read messages of a connection, and before it may publish */
	HELD_FIRST = 64 << 10,
	OUT_MAX = 64 << 10,		/* that a client lets wait unread */
	KEPT_MAX = 256 << 10,		/* memory that a chunk stream keeps between messages */
	ANSWER = 2048,
	EXTENDED = 0xffffff,
};

enum {
	SET_CHUNK_SIZE = 1, ABORT = 2, ACKNOWLEDGED = 3, CONTROL = 4, WINDOW_SIZE = 5, PEER_BANDWIDTH = 6,
	DATA_AMF3 = 15, COMMAND_AMF3 = 17, COMMAND = 20,
};

enum step { READS_HELLO, READS_ECHO, READS_HEAD, READS_BODY };

/* What the next header leaves out is as in the one before on the same chunk stream. */
struct chunks {
	unsigned id;
	uint32_t ms;
	uint32_t field;			/* time as it was sent: a further chunk may repeat it */
	bool extended;
	unsigned type;
	size_t length, got, room;	/* got: 0 between messages */
	uint8_t *body;
};

struct rtmp {
	const struct rtmp_calls *calls;
	void *user;
	enum step step;
	enum rtmp_stage stage;
	const char *fault;

	size_t shaken;
	uint8_t head[18];		/* basic header 3, message header 11, extended time 4 */
	size_t head_n;
	struct chunks *now;		/* whose bytes come */
	size_t chunk_left, chunk_size;
	struct chunks streams[STREAMS_MAX];
	size_t n_streams, held;

	uint64_t taken, told;		/* bytes received, and acknowledged */
	uint32_t window;

	uint8_t *out;
	size_t out_n, out_room;
	size_t answers;			/* bytes put there since it was empty that are no media */
	size_t out_chunk;		/* our own messages come in chunks of that size */

	char app[128];
	bool pushes;			/* we publish, and what follows is ours */
	char *url, *key;
	double stream;			/* that the other side has given us */
};

static const char *
fail(struct rtmp *r, const char *what)
{
	r->stage = RTMP_OVER;
	return r->fault = what;
}

static void *
resized(void *p, size_t n)
{
	p = realloc(p, n);
	if (p == NULL)
		abort();
	return p;
}

struct rtmp *
rtmp_new(const struct rtmp_calls *calls, void *user)
{
	struct rtmp *r = resized(NULL, sizeof(*r));

	memset(r, 0, sizeof(*r));
	r->calls = calls;
	r->user = user;
	r->chunk_size = r->out_chunk = 128;
	r->window = WINDOW;
	return r;
}

void
rtmp_free(struct rtmp *r)
{
	size_t i;

	if (r == NULL)
		return;
	for (i = 0; i < r->n_streams; i++)
		free(r->streams[i].body);
	free(r->out);
	free(r->url);
	free(r->key);
	free(r);
}

enum rtmp_stage
rtmp_stage(const struct rtmp *r)
{
	return r->stage;
}

/* --- what we send */

size_t
rtmp_out(const struct rtmp *r, const uint8_t **bytes)
{
	*bytes = r->out;
	return r->out_n;
}

void
rtmp_sent(struct rtmp *r, size_t n)
{
	memmove(r->out, r->out + n, r->out_n - n);
	r->out_n -= n;
	if (r->out_n == 0) {
		free(r->out);
		r->out = NULL;
		r->out_room = r->answers = 0;
	}
}

static uint8_t *
out_room(struct rtmp *r, size_t n)
{
	uint8_t *at;

	if (r->out_n + n > r->out_room) {
		r->out_room = r->out_n + n + 1024;
		r->out = resized(r->out, r->out_room);
	}
	at = r->out + r->out_n;
	r->out_n += n;
	return at;
}

static void
put_number(struct rtmp *r, uint32_t x)
{
	memcpy(out_room(r, 4), (uint8_t[]){ (uint8_t)(x >> 24), (uint8_t)(x >> 16), (uint8_t)(x >> 8), (uint8_t)x }, 4);
}

/* In chunks of the size that was announced last, each of which repeats a time that does not fit into the head. */
static void
put_message(struct rtmp *r, unsigned chunk_stream, unsigned type, unsigned stream, uint32_t ms, const void *body,
    size_t n)
{
	const bool extended = ms >= EXTENDED;
	const uint32_t field = extended ? EXTENDED : ms;
	const uint8_t *from = body;
	size_t part;

	memcpy(out_room(r, 12), (uint8_t[]){ (uint8_t)chunk_stream, (uint8_t)(field >> 16), (uint8_t)(field >> 8),
	    (uint8_t)field, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, (uint8_t)type, (uint8_t)stream,
	    (uint8_t)(stream >> 8), (uint8_t)(stream >> 16), (uint8_t)(stream >> 24) }, 12);
	for (;;) {
		if (extended)
			put_number(r, ms);
		part = n < r->out_chunk ? n : r->out_chunk;
		if (part > 0)
			memcpy(out_room(r, part), from, part);
		from += part;
		n -= part;
		if (n == 0)
			break;
		*out_room(r, 1) = (uint8_t)(0xc0 | chunk_stream);
	}
}

static void
send_message(struct rtmp *r, unsigned chunk_stream, unsigned type, unsigned stream, const void *body, size_t n)
{
	/* What we publish waits there, too: who reads it slowly may be answered all the same. */
	if ((r->pushes ? r->answers : r->out_n) + n > OUT_MAX) {
		fail(r, "does not read its answers");
		return;
	}
	put_message(r, chunk_stream, type, stream, 0, body, n);
	r->answers += n;
}

static void
send_number(struct rtmp *r, unsigned type, uint32_t x)
{
	const uint8_t body[5] = { (uint8_t)(x >> 24), (uint8_t)(x >> 16), (uint8_t)(x >> 8), (uint8_t)x, 2 };

	/* The limit of PEER_BANDWIDTH is "dynamic". */
	send_message(r, 2, type, 0, body, type == PEER_BANDWIDTH ? 5 : 4);
}

static void
send_command(struct rtmp *r, unsigned stream, const struct buf *b)
{
	send_message(r, 3, COMMAND, stream, b->text, b->len);
}

static void
put_pair(struct buf *b, const char *key, const char *value)
{
	amf_put_key(b, key);
	amf_put_string(b, value);
}

static void
send_status(struct rtmp *r, const char *level, const char *code, const char *description)
{
	char room[ANSWER], text[512];
	struct buf b = BUF_OVER(room);

	amf_put_string(&b, "onStatus");
	amf_put_number(&b, 0);
	amf_put_null(&b);
	amf_put_begin(&b);
	put_pair(&b, "level", level);
	put_pair(&b, "code", code);
	snprintf(text, sizeof(text), "%s", description);
	put_pair(&b, "description", text);
	amf_put_end(&b);
	send_command(r, 1, &b);
}

void
rtmp_grant(struct rtmp *r)
{
	const uint8_t begins[6] = { 0, 0, 0, 0, 0, 1 };

	if (r->stage != RTMP_ASKS)
		return;
	r->stage = RTMP_PUBLISHES;
	send_message(r, 2, CONTROL, 0, begins, sizeof(begins));
	send_status(r, "status", "NetStream.Publish.Start", "The stream is received.");
}

void
rtmp_refuse(struct rtmp *r, const char *description)
{
	if (r->stage != RTMP_ASKS)
		return;
	send_status(r, "error", "NetStream.Publish.BadName", description);
	r->stage = RTMP_OVER;
}

void
rtmp_bye(struct rtmp *r, const char *description)
{
	if (r->stage != RTMP_PUBLISHES)
		return;
	send_status(r, "status", "NetStream.Unpublish.Success", description);
	r->stage = RTMP_OVER;
}

/* --- commands */

/* `connect`: the name of the application, and the codecs by four letters that the client asks for, if it does. */
static void
answer_connect(struct rtmp *r, struct amf *a, double transaction)
{
	char room[ANSWER], key[AMF_TEXT];
	struct buf b = BUF_OVER(room);
	bool asks = false;

	if (amf_enter(a))
		while (amf_key(a, key)) {
			if (strcmp(key, "app") == 0 && amf_string(a, r->app, sizeof(r->app)))
				continue;
			asks = asks || strcmp(key, "fourCcList") == 0;
			amf_skip(a);
		}
	if (a->bad) {
		fail(r, "a connect that cannot be read");
		return;
	}
	send_number(r, WINDOW_SIZE, WINDOW);
	send_number(r, PEER_BANDWIDTH, WINDOW);
	send_number(r, SET_CHUNK_SIZE, CHUNK_OURS);
	r->out_chunk = CHUNK_OURS;
	amf_put_string(&b, "_result");
	amf_put_number(&b, transaction);
	amf_put_begin(&b);
	put_pair(&b, "fmsVer", "FMS/3,0,1,123");
	amf_put_key(&b, "capabilities");
	amf_put_number(&b, 31);
	if (asks) {
		amf_put_key(&b, "fourCcList");
		buf_add(&b, "\x0a\0\0\0\x04", 5);
		amf_put_string(&b, "avc1");
		amf_put_string(&b, "hvc1");
		amf_put_string(&b, "av01");
		amf_put_string(&b, "mp4a");
	}
	amf_put_end(&b);
	amf_put_begin(&b);
	put_pair(&b, "level", "status");
	put_pair(&b, "code", "NetConnection.Connect.Success");
	put_pair(&b, "description", "Connected.");
	amf_put_key(&b, "objectEncoding");
	amf_put_number(&b, 0);
	amf_put_end(&b);
	send_command(r, 0, &b);
}

static void
answer(struct rtmp *r, double transaction, bool with_stream)
{
	char room[ANSWER];
	struct buf b = BUF_OVER(room);

	amf_put_string(&b, "_result");
	amf_put_number(&b, transaction);
	amf_put_null(&b);
	if (with_stream)
		amf_put_number(&b, 1);
	send_command(r, 0, &b);
}

/* Encoders put parameters behind the key. */
static void
take_publish(struct rtmp *r, struct amf *a)
{
	char key[AMF_TEXT];

	if (r->stage != RTMP_CONNECTS) {
		fail(r, "publishes twice");
		return;
	}
	if (r->app[0] == '\0' || !amf_skip(a) || !amf_string(a, key, sizeof(key))) {
		fail(r, "a publish that cannot be read");
		return;
	}
	key[strcspn(key, "?")] = '\0';
	r->stage = RTMP_ASKS;
	if (strlen(key) > RTMP_KEY)
		key[RTMP_KEY] = '\0';
	r->calls->publish(r->user, r->app, key);
}

/* --- commands of ours */

enum { CONNECT = 1, RELEASE_STREAM, FC_PUBLISH, CREATE_STREAM, PUBLISH, END_STREAM };

struct rtmp *
rtmp_push(const char *app, const char *url, const char *key)
{
	struct rtmp *r = rtmp_new(NULL, NULL);
	int i;

	r->pushes = true;
	r->url = strdup(url);
	r->key = strdup(key);
	if (r->url == NULL || r->key == NULL)
		abort();
	snprintf(r->app, sizeof(r->app), "%s", app);
	*out_room(r, 1) = 3;
	put_number(r, 0);
	put_number(r, 0);
	for (i = 8; i < SHAKE; i++)
		*out_room(r, 1) = (uint8_t)(i * 31);
	return r;
}

static void
connect_app(struct rtmp *r)
{
	char room[ANSWER];
	struct buf b = BUF_OVER(room);

	amf_put_string(&b, "connect");
	amf_put_number(&b, CONNECT);
	amf_put_begin(&b);
	put_pair(&b, "app", r->app);
	put_pair(&b, "type", "nonprivate");
	put_pair(&b, "flashVer", "FMLE/3.0 (compatible; Kinothek)");
	put_pair(&b, "tcUrl", r->url);
	amf_put_end(&b);
	send_command(r, 0, &b);
}

static void
ask(struct rtmp *r, const char *name, double transaction, unsigned stream, bool with_key, bool live)
{
	char room[ANSWER];
	struct buf b = BUF_OVER(room);

	amf_put_string(&b, name);
	amf_put_number(&b, transaction);
	amf_put_null(&b);
	if (with_key)
		amf_put_string(&b, r->key);
	if (live)
		amf_put_string(&b, "live");
	send_command(r, stream, &b);
}

void
rtmp_put(struct rtmp *r, int type, uint32_t ms, const uint8_t *bytes, size_t n)
{
	if (r->stage == RTMP_PUBLISHES)
		put_message(r, type == RTMP_AUDIO ? 4 : type == RTMP_VIDEO ? 6 : 5, (unsigned)type,
		    (unsigned)r->stream, ms, bytes, n);
}

void
rtmp_end(struct rtmp *r)
{
	char room[ANSWER];
	struct buf b = BUF_OVER(room);

	if (r->stage != RTMP_PUBLISHES)
		return;
	ask(r, "FCUnpublish", END_STREAM, 0, true, false);
	amf_put_string(&b, "deleteStream");
	amf_put_number(&b, END_STREAM + 1);
	amf_put_null(&b);
	amf_put_number(&b, r->stream);
	send_command(r, 0, &b);
}

/* What it says of the stream: that it has begun, or an end. */
static void
take_status(struct rtmp *r, struct amf *a)
{
	char key[AMF_TEXT], code[64] = "", level[16] = "";

	if (!amf_skip(a) || !amf_enter(a))
		return;
	while (amf_key(a, key)) {
		if (strcmp(key, "code") == 0 && amf_string(a, code, sizeof(code)))
			continue;
		if (strcmp(key, "level") == 0 && amf_string(a, level, sizeof(level)))
			continue;
		amf_skip(a);
	}
	if (r->stage == RTMP_ASKS && strcmp(code, "NetStream.Publish.Start") == 0)
		r->stage = RTMP_PUBLISHES;
	else if (strcmp(level, "error") == 0 || strcmp(code, "NetStream.Unpublish.Success") == 0 ||
	    strcmp(code, "NetConnection.Connect.Closed") == 0)
		r->stage = RTMP_OVER;
}

static void
take_result(struct rtmp *r, struct amf *a, double transaction)
{
	if (transaction == CONNECT) {
		/* FFmpeg hears nothing else before the first command. */
		send_number(r, SET_CHUNK_SIZE, CHUNK_PUSHED);
		r->out_chunk = CHUNK_PUSHED;
		ask(r, "releaseStream", RELEASE_STREAM, 0, true, false);
		ask(r, "FCPublish", FC_PUBLISH, 0, true, false);
		ask(r, "createStream", CREATE_STREAM, 0, false, false);
	} else if (transaction == CREATE_STREAM && r->stage == RTMP_CONNECTS) {
		if (!amf_skip(a) || !amf_number(a, &r->stream) || !(r->stream >= 0 && r->stream <= UINT32_MAX)) {
			fail(r, "a stream that cannot be read");
			return;
		}
		r->stage = RTMP_ASKS;
		ask(r, "publish", PUBLISH, (unsigned)r->stream, true, true);
	}
}

/* Not all know releaseStream and FCPublish. */
static void
take_answer(struct rtmp *r, const char *name, struct amf *a, double transaction)
{
	if (strcmp(name, "_result") == 0)
		take_result(r, a, transaction);
	else if (strcmp(name, "onStatus") == 0)
		take_status(r, a);
	else if (strcmp(name, "close") == 0 || (strcmp(name, "_error") == 0 && transaction != RELEASE_STREAM &&
	    transaction != FC_PUBLISH))
		r->stage = RTMP_OVER;
}

static void
take_command(struct rtmp *r, const uint8_t *bytes, size_t n)
{
	struct amf a = AMF(bytes, n);
	char name[AMF_TEXT];
	double transaction = 0;

	/* Some say onFCPublish and nothing else. */
	if (!amf_string(&a, name, sizeof(name)) || (!amf_number(&a, &transaction) && !r->pushes)) {
		fail(r, "a command that cannot be read");
		return;
	}
	if (r->pushes) {
		take_answer(r, name, &a, transaction);
	} else if (strcmp(name, "connect") == 0) {
		if (r->app[0] == '\0')
			answer_connect(r, &a, transaction);
	} else if (strcmp(name, "createStream") == 0) {
		answer(r, transaction, true);
	} else if (strcmp(name, "releaseStream") == 0 || strcmp(name, "FCPublish") == 0) {
		answer(r, transaction, false);
	} else if (strcmp(name, "publish") == 0) {
		take_publish(r, &a);
	} else if (strcmp(name, "FCUnpublish") == 0 || strcmp(name, "deleteStream") == 0 ||
	    strcmp(name, "closeStream") == 0) {
		if (r->stage == RTMP_PUBLISHES)
			r->calls->unpublish(r->user);
	}
}

/* --- messages */

static void
take_control(struct rtmp *r, const uint8_t *bytes, size_t n)
{
	uint8_t pong[6] = { 0, 7 };

	if (n < 6 || bytes_big(bytes, 2) != 6)
		return;
	memcpy(pong + 2, bytes + 2, 4);
	send_message(r, 2, CONTROL, 0, pong, sizeof(pong));
}

/* A room is kept for the next message; who has not shown a key keeps less. */
static void
give_back(const struct rtmp *r, struct chunks *c)
{
	if (c->room <= (r->stage == RTMP_PUBLISHES ? KEPT_MAX : HELD_FIRST / STREAMS_MAX))
		return;
	free(c->body);
	c->body = NULL;
	c->room = 0;
}

static void
forget_half(struct rtmp *r, unsigned id)
{
	size_t i;

	for (i = 0; i < r->n_streams; i++)
		if (r->streams[i].id == id) {
			r->held -= r->streams[i].got;
			r->streams[i].got = 0;
			give_back(r, &r->streams[i]);
		}
}

static void
take_number(struct rtmp *r, unsigned type, uint32_t x)
{
	if (type == ABORT)
		forget_half(r, x);
	else if (type == WINDOW_SIZE)
		r->window = x >= 4096 ? x : 4096;
	else if (type == SET_CHUNK_SIZE && (x == 0 || x > CHUNK_MAX))
		fail(r, "a chunk size out of bounds");
	else if (type == SET_CHUNK_SIZE)
		r->chunk_size = x;
}

/* Kinds that are not known are passed over: encoders get new ones. */
static void
take_message(struct rtmp *r, unsigned type, uint32_t ms, const uint8_t *bytes, size_t n)
{
	switch (type) {
	case SET_CHUNK_SIZE:
	case ABORT:
	case WINDOW_SIZE:
		if (n >= 4)
			take_number(r, type, (uint32_t)bytes_big(bytes, 4));
		break;
	case CONTROL:
		take_control(r, bytes, n);
		break;
	case COMMAND_AMF3:
		if (n > 0)
			take_command(r, bytes + 1, n - 1);
		break;
	case COMMAND:
		take_command(r, bytes, n);
		break;
	case RTMP_AUDIO:
	case RTMP_VIDEO:
	case RTMP_DATA:
		if (r->stage == RTMP_PUBLISHES && !r->pushes && !r->calls->media(r->user, (int)type, ms, bytes, n))
			r->stage = RTMP_OVER;
		break;
	default:
		break;
	}
}

static size_t
length_max(unsigned type)
{
	return type == RTMP_VIDEO ? VIDEO_MAX : type == RTMP_AUDIO ? AUDIO_MAX : COMMAND_MAX;
}

/* --- chunks */

static struct chunks *
stream_of(struct rtmp *r, unsigned id)
{
	size_t i;

	for (i = 0; i < r->n_streams; i++)
		if (r->streams[i].id == id)
			return &r->streams[i];
	if (r->n_streams == STREAMS_MAX)
		return NULL;
	r->streams[r->n_streams] = (struct chunks){ .id = id };
	return &r->streams[r->n_streams++];
}

static size_t
basic_size(const struct rtmp *r)
{
	unsigned id = r->head[0] & 63;

	return id == 0 ? 2 : id == 1 ? 3 : 1;
}

static unsigned
stream_id(const struct rtmp *r)
{
	unsigned id = r->head[0] & 63;

	return id == 0 ? 64u + r->head[1] : id == 1 ? 64u + r->head[1] + 256u * r->head[2] : id;
}

/* Bytes that the header has, as far as it can be said from those that are there. */
static size_t
head_size(struct rtmp *r)
{
	static const size_t sizes[] = { 11, 7, 3, 0 };
	unsigned format = r->head[0] >> 6;
	size_t basic = basic_size(r), n = basic + sizes[format];
	const struct chunks *c;

	if (r->head_n < n)
		return n;
	if (format < 3)
		return n + (bytes_big(r->head + basic, 3) == EXTENDED ? 4 : 0);
	c = stream_of(r, stream_id(r));
	return n + (c != NULL && c->extended ? 4 : 0);
}

/* The body grows with what comes, never with what is announced. */
static bool
body_room(struct rtmp *r, struct chunks *c, size_t n)
{
	size_t want = c->got + n, max = r->stage == RTMP_PUBLISHES ? HELD_MAX : HELD_FIRST;

	if (r->held + n > max)
		return false;
	if (want > c->room) {
		c->room = want > 2 * c->room ? want : 2 * c->room;
		if (c->room > c->length)
			c->room = c->length;
		c->body = resized(c->body, c->room);
	}
	return true;
}

static void
message_done(struct rtmp *r, struct chunks *c)
{
	size_t n = c->got;

	r->held -= n;
	c->got = 0;
	/* An empty one may have no body at all. */
	take_message(r, c->type, c->ms, c->body != NULL ? c->body : r->head, n);
	give_back(r, c);
}

static size_t
take_body(struct rtmp *r, const uint8_t *bytes, size_t n)
{
	struct chunks *c = r->now;

	if (n > r->chunk_left)
		n = r->chunk_left;
	if (!body_room(r, c, n)) {
		fail(r, "more half-read messages than may be");
		return 0;
	}
	if (n > 0)
		memcpy(c->body + c->got, bytes, n);
	c->got += n;
	r->held += n;
	r->chunk_left -= n;
	if (r->chunk_left > 0)
		return n;
	r->step = READS_HEAD;
	r->head_n = 0;
	if (c->got == c->length)
		message_done(r, c);
	return n;
}

/* A header that says a new message while the one before is not whole replaces it. */
static bool
new_message(struct rtmp *r, struct chunks *c, unsigned format, size_t basic)
{
	const uint8_t *p = r->head + basic;
	uint32_t field = format < 3 ? (uint32_t)bytes_big(p, 3) : c->field;

	forget_half(r, c->id);
	if (format < 3) {
		c->extended = field == EXTENDED;
		if (c->extended)
			field = (uint32_t)bytes_big(r->head + r->head_n - 4, 4);
		c->field = field;
	}
	if (format < 2) {
		c->length = (size_t)bytes_big(p + 3, 3);
		c->type = p[6];
	}
	if (c->length > length_max(c->type)) {
		fail(r, "a message that is too long");
		return false;
	}
	c->ms = format == 0 ? field : c->ms + field;
	return true;
}

static const char *chunks_take(struct rtmp *, const uint8_t *, size_t);

/* Some encoders leave the extended time out where a message goes on: then these four are bytes of the message already,
 * and maybe of the next header. */
static void
head_done(struct rtmp *r)
{
	unsigned format = r->head[0] >> 6;
	size_t basic = basic_size(r);
	struct chunks *c = stream_of(r, stream_id(r));
	bool goes_on = c != NULL && format == 3 && c->got > 0;
	bool given_back = c != NULL && format == 3 && c->extended && bytes_big(r->head + basic, 4) != c->field;
	uint8_t four[4];

	if (c == NULL || (c->type == 0 && format > 1)) {
		fail(r, c == NULL ? "too many chunk streams" : "a chunk that goes on from nothing");
		return;
	}
	if (given_back)
		memcpy(four, r->head + basic, 4);
	if (!goes_on && !new_message(r, c, format, basic))
		return;
	r->now = c;
	r->chunk_left = c->length - c->got < r->chunk_size ? c->length - c->got : r->chunk_size;
	r->step = READS_BODY;
	if (r->chunk_left == 0)
		take_body(r, NULL, 0);
	if (given_back)
		chunks_take(r, four, sizeof(four));
}

static const char *
chunks_take(struct rtmp *r, const uint8_t *bytes, size_t n)
{
	size_t done;

	while (n > 0 && r->fault == NULL) {
		if (r->step == READS_HEAD) {
			r->head[r->head_n++] = *bytes++;
			n--;
			if (r->head_n >= basic_size(r) && r->head_n == head_size(r))
				head_done(r);
			continue;
		}
		done = take_body(r, bytes, n);
		bytes += done;
		n -= done;
	}
	return r->fault;
}

/* --- handshake */

/* What comes is said back: version, a time and bytes of our own, and then the client's 1536. */
static size_t
take_hello(struct rtmp *r, const uint8_t *bytes, size_t n)
{
	size_t left = 1 + SHAKE - r->shaken;

	if (r->shaken == 0) {
		if (bytes[0] != 3) {
			fail(r, "not RTMP");
			return 0;
		}
		memset(out_room(r, 1 + 2 * SHAKE), 0, 1 + 2 * SHAKE);
		r->out[0] = 3;
		/* Held back until all of it is there. */
		r->out_n = 0;
	}
	if (n > left)
		n = left;
	memcpy(r->out + SHAKE + r->shaken, bytes, n);
	r->shaken += n;
	if (r->shaken == 1 + SHAKE) {
		r->out[SHAKE] = 0;
		r->out_n = 1 + 2 * SHAKE;
		r->step = READS_ECHO;
		r->shaken = 0;
	}
	return n;
}

/* The same from the other side: what comes is said back, and then comes what we have said. */
static size_t
take_hello_back(struct rtmp *r, const uint8_t *bytes, size_t n)
{
	if (r->shaken == 0) {
		if (bytes[0] != 3)
			fail(r, "not RTMP");
		r->shaken = 1;
		return 1;
	}
	if (n > 1 + SHAKE - r->shaken)
		n = 1 + SHAKE - r->shaken;
	memcpy(out_room(r, n), bytes, n);
	r->shaken += n;
	if (r->shaken == 1 + SHAKE) {
		r->step = READS_ECHO;
		r->shaken = 0;
	}
	return n;
}

static size_t
take_echo(struct rtmp *r, size_t n)
{
	if (n > SHAKE - r->shaken)
		n = SHAKE - r->shaken;
	r->shaken += n;
	if (r->shaken == SHAKE) {
		r->step = READS_HEAD;
		r->stage = RTMP_CONNECTS;
		if (r->pushes)
			connect_app(r);
	}
	return n;
}

const char *
rtmp_take(struct rtmp *r, const uint8_t *bytes, size_t n)
{
	size_t done;

	r->taken += n;
	while (n > 0 && r->fault == NULL && r->step < READS_HEAD) {
		done = r->step == READS_ECHO ? take_echo(r, n) : r->pushes ? take_hello_back(r, bytes, n) :
		    take_hello(r, bytes, n);
		bytes += done;
		n -= done;
	}
	if (n > 0 && r->fault == NULL)
		chunks_take(r, bytes, n);
	if (r->fault == NULL && r->step >= READS_HEAD && r->taken - r->told >= r->window / 2) {
		send_number(r, ACKNOWLEDGED, (uint32_t)r->taken);
		r->told = r->taken;
	}
	return r->fault;
}
