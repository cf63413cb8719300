/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of a livestream while encoders come, fall silent and go. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/store.h"
#include "fcgi/live/broadcast.h"

enum {
	FRESH_MS = 1000,	/* of who is to take over */
	RATE_MS = 10000,	/* over which the bit rate is measured */
	RUSH_MS = 60000,	/* that an encoder may be ahead: each segment costs files, whatever is in it */
	NUMBERS_MS = 5000,
	CLAIM_MS = LIVESTREAM_SILENCE_MS + 1500,	/* what had its place may be known to be dead by then */
	AGAIN_MS = 500,
	PATHS = 1 << 20,
};

struct broadcast *
broadcast_new(const struct conf *conf, struct desk *desk, const struct desk_stream *what)
{
	struct broadcast *b = calloc(1, sizeof(*b));

	if (b == NULL)
		abort();
	b->conf = conf;
	b->desk = desk;
	b->what = *what;
	b->simulcast = simulcast_new(conf);
	play_secret(conf, what->id, b->secret);
	b->empty_since = clock_ms();
	return b;
}

static void
say(struct broadcast *b, enum desk_word word, bool on)
{
	desk_put(b->desk, &(struct desk_note){ .word = word, .stream = b->what, .on = on });
}

static void
signals(struct broadcast *b, bool on)
{
	if (b->signal == on)
		return;
	b->signal = on;
	say(b, DESK_SIGNAL, on);
}

static void
log_it(const struct broadcast *b, enum log_level level, const char *address, const char *text)
{
	char id[UUID_TEXT];

	log_line(level, "live", LOG_TEXT("livestream", uuid_format(b->what.id, id)), LOG_TEXT("from", address),
	    LOG_TEXT("text", text));
}

static void
connected(struct broadcast *b, const struct visitor *v, bool on)
{
	desk_put(b->desk, &(struct desk_note){ .word = DESK_CONNECTED, .stream = b->what, .is_primary = v->is_primary,
	    .on = on });
}

bool
broadcast_open(struct broadcast *b)
{
	struct arena *mem = arena_new(PATHS);
	const char *play = store_growing(mem, store_key_play(mem, b->what.media_id, livestream_play_file(mem, b->conf,
	    b->what.id, NULL)));
	const char *kept = play != NULL ? store_growing(mem, store_key_live(mem, b->what.media_id, NULL)) : NULL;
	int saved = errno;

	if (kept != NULL && b->packager == NULL)
		b->packager = packager_open(play, kept, b->what.with_dvr);
	if (b->packager != NULL)
		packager_climb(b->packager, b->conf);
	arena_free(mem);
	errno = saved;
	return b->packager != NULL;
}

/* What has come so far is played; a disk that does not take it is told by the next session. */
static void
pause_it(struct broadcast *b)
{
	signals(b, false);
	if (b->packager != NULL && !packager_pause(b->packager))
		log_it(b, LOG_LEVEL_ERROR, NULL, strerror(errno));
}

/* Whether it may send; who is to be on the air claims the stream by that.  Whoever waits for another node to lose it is
 * to have something that can be seen then. */
static void
ask(struct broadcast *b, const struct visitor *v)
{
	const bool waits = v->granted && !b->held;

	desk_put(b->desk, &(struct desk_note){ .word = DESK_CLAIM, .stream = b->what, .is_primary = v->is_primary,
	    .on = v == b->on_air && !(waits && clock_ms() - v->sent_at >= FRESH_MS) });
}

static void
put_on_air(struct broadcast *b, struct visitor *v)
{
	b->on_air = v;
	simulcast_leap(b->simulcast);
	if (v != NULL)
		ask(b, v);
}

static void
grant(struct broadcast *b, struct visitor *v)
{
	if (v->granted)
		return;
	visitor_grant(v);
	v->granted = true;
	visitor_flush(v);
	connected(b, v, true);
	log_it(b, LOG_LEVEL_INFO, v->address, v->is_primary ? "publishes to the primary input" :
	    "publishes to the secondary input");
}

void
broadcast_enter(struct broadcast *b, struct visitor *v)
{
	b->inputs[v->is_primary ? 0 : 1] = v;
	v->stream = b;
	v->stage = VISITOR_SENDS;
	v->feed = feed_new();
	v->entered_at = v->sent_at = v->counted_at = clock_ms();
	v->counted = v->bytes;
	if (b->on_air == NULL)
		put_on_air(b, v);
	else
		ask(b, v);
}

static struct visitor *
other(const struct broadcast *b, const struct visitor *v)
{
	return v == b->inputs[0] ? b->inputs[1] : b->inputs[0];
}

void
broadcast_leave(struct broadcast *b, struct visitor *v)
{
	struct visitor *standby = other(b, v);

	if (v->granted)
		connected(b, v, false);
	b->bytes += v->bytes;
	b->dropped += feed_dropped(v->feed);
	b->inputs[v == b->inputs[0] ? 0 : 1] = NULL;
	v->stream = NULL;
	if (b->on_air == v) {
		pause_it(b);
		put_on_air(b, standby);
	}
	b->empty_since = clock_ms();
}

/* Sends away who is on the input.  An address that others wait for is free at once. */
static void
dismiss(struct broadcast *b, struct visitor *v, const char *description)
{
	broadcast_leave(b, v);
	visitor_refuse(v, description);
	visitor_flush(v);
}

static void
note_refused(struct broadcast *b, const struct visitor *v, const char *reason)
{
	struct desk_note n = { .word = DESK_REFUSED, .stream = b->what };

	snprintf(n.address, sizeof(n.address), "%s", v->address);
	snprintf(n.reason, sizeof(n.reason), "%s", reason);
	desk_put(b->desk, &n);
}

void
broadcast_held(struct broadcast *b, bool awaited)
{
	b->seen = true;
	b->awaited = awaited;
}

/* It is ours: who is on the air may begin. */
static void
begin(struct broadcast *b, struct visitor *v, int64_t session)
{
	if (!broadcast_open(b)) {
		log_it(b, LOG_LEVEL_ERROR, v->address, strerror(errno));
		note_refused(b, v, "unavailable");
		dismiss(b, v, BROADCAST_NO_ROOM);
		return;
	}
	feed_begin(v->feed, session);
	grant(b, v);
}

void
broadcast_claimed(struct broadcast *b, const struct desk_note *n)
{
	struct visitor *v = n->session > 0 ? b->on_air : b->inputs[n->is_primary ? 0 : 1];
	const bool may_wait = n->reason[0] == '\0', over = strcmp(n->reason, "over") == 0;

	if (n->session > 0)
		b->held = true;
	if (v == NULL)
		return;
	if (n->session > 0) {
		begin(b, v, n->session);
	} else if (n->session < 0 && v->granted && !b->held) {
		b->claim_at = clock_ms() + AGAIN_MS;
	} else if (n->session < 0) {
		dismiss(b, v, "The service cannot reach its database. Try again.");
	} else if (may_wait || (!over && !v->granted && clock_ms() - v->asked_at < CLAIM_MS)) {
		if (may_wait)
			grant(b, v);
		b->claim_at = clock_ms() + AGAIN_MS;
	} else {
		if (!v->granted)
			note_refused(b, v, n->reason);
		dismiss(b, v, over ? "This livestream has ended." : "Another encoder is sending to this livestream.");
	}
}

static bool
send_away(struct broadcast *b, struct visitor *v, const char *reason, const char *description)
{
	log_it(b, LOG_LEVEL_WARN, v->address, description);
	note_refused(b, v, reason);
	dismiss(b, v, description);
	return false;
}

/* A fifth more than the limit is fine, since encoders do not hit it exactly. */
static bool
is_too_much(struct broadcast *b, struct visitor *v, int64_t now)
{
	int64_t ms = now - v->counted_at;

	if (ms < RATE_MS)
		return false;
	v->bitrate = (v->bytes - v->counted) * 8 * 1000 / ms;
	v->counted = v->bytes;
	v->counted_at = now;
	return b->what.bitrate_max > 0 && v->bitrate > b->what.bitrate_max + b->what.bitrate_max / 5;
}

bool
broadcast_media(struct broadcast *b, struct visitor *v, int kind, uint32_t ms, const uint8_t *bytes, size_t n)
{
	int64_t now = clock_ms();

	if (kind != RTMP_DATA)
		v->sent_at = now;
	if (is_too_much(b, v, now))
		return send_away(b, v, "bitrate", "The encoder sends more than this livestream may have.");
	if (feed_passed(v->feed) > now - v->entered_at + RUSH_MS)
		return send_away(b, v, "format", "The clock of the encoder runs too fast.");
	if (b->on_air == v && kind != RTMP_DATA && b->held)
		signals(b, true);
	switch (feed_take(v->feed, b->packager, kind, ms, bytes, n)) {
	case FEED_BEGINS:
		if (b->on_air == v)
			ask(b, v);
		return true;
	case FEED_REFUSED:
		return send_away(b, v, "format", feed_fault(v->feed));
	case FEED_DISK:
		log_it(b, LOG_LEVEL_ERROR, v->address, strerror(errno));
		return send_away(b, v, "unavailable", BROADCAST_NO_ROOM);
	default:
		if (b->on_air == v && b->held)
			simulcast_media(b->simulcast, v->feed, kind, ms, bytes, n);
		return true;
	}
}

/* Of who is on the air, as long as something comes. */
static void
add_incoming(const struct visitor *v, int64_t now, struct desk_note *n)
{
	const struct feed *f = v->feed;
	const struct setup *video = feed_setup(f, true), *audio = feed_setup(f, false);

	if (now - v->sent_at >= BROADCAST_SILENCE_MS)
		return;
	if (video != NULL) {
		snprintf(n->video_codec, sizeof(n->video_codec), "%s", video->codecs);
		n->numbers.incoming.width = video->width;
		n->numbers.incoming.height = video->height;
		n->numbers.incoming.interlaced = video->interlaced;
		n->numbers.incoming.frame_rate = feed_frame_rate(f);
	}
	if (audio != NULL) {
		snprintf(n->audio_codec, sizeof(n->audio_codec), "%s", audio->codecs);
		n->numbers.incoming.sample_rate = audio->rate;
		n->numbers.incoming.audio_channels = audio->channels;
	}
}

static void
tell_numbers(struct broadcast *b, int64_t now)
{
	struct desk_note n = { .word = DESK_NUMBERS, .stream = b->what };
	const struct visitor *v;
	size_t i;

	if (now - b->told_at < NUMBERS_MS)
		return;
	b->told_at = now;
	n.numbers = (struct livestream_numbers){ .is_primary = b->on_air == NULL || b->on_air->is_primary,
		.rtmp_primary = b->inputs[0] != NULL, .rtmp_secondary = b->inputs[1] != NULL,
		.bytes_in = b->bytes,
		.dropped = b->dropped + (b->packager != NULL ? packager_dropped(b->packager) : 0) };
	for (i = 0; i < 2; i++) {
		v = b->inputs[i];
		if (v == NULL)
			continue;
		n.numbers.bytes_in += v->bytes;
		n.numbers.bitrate += v->bitrate;
		n.numbers.dropped += feed_dropped(v->feed);
	}
	if (b->on_air != NULL)
		add_incoming(b->on_air, now, &n);
	desk_put(b->desk, &n);
}

/* Who is on the air has said nothing for a while: the other input takes over, or there is an interruption, in which
 * players get what there is. */
static void
fall_silent(struct broadcast *b, int64_t now)
{
	struct visitor *v = b->on_air, *standby = other(b, v);

	if (standby != NULL && now - standby->sent_at < FRESH_MS) {
		log_it(b, LOG_LEVEL_WARN, standby->address, "takes over from the other input");
		pause_it(b);
		feed_pause(v->feed);
		put_on_air(b, standby);
	} else if (b->signal) {
		signals(b, false);
		if (b->packager != NULL && !packager_cut(b->packager))
			log_it(b, LOG_LEVEL_ERROR, v->address, strerror(errno));
	}
}

/* Why there are no smaller pictures, when that has changed. */
static void
tell_lack(struct broadcast *b)
{
	const char *lack = b->packager != NULL ? packager_lack(b->packager) : NULL;
	struct desk_note n = { .word = DESK_LACKS, .stream = b->what };

	if (lack == b->lack)
		return;
	b->lack = lack;
	snprintf(n.reason, sizeof(n.reason), "%s", lack != NULL ? lack : "");
	desk_put(b->desk, &n);
}

static void
dismiss_all(struct broadcast *b, const char *description)
{
	size_t i;

	/* Nobody is to take over. */
	b->on_air = NULL;
	for (i = 0; i < 2; i++)
		if (b->inputs[i] != NULL)
			dismiss(b, b->inputs[i], description);
}

/* Nothing comes here, and to another node something does. */
static void
hand_over(struct broadcast *b)
{
	log_it(b, LOG_LEVEL_WARN, NULL, "is left to another machine");
	dismiss_all(b, "The other input has taken over.");
	broadcast_release(b);
}

/* Who is granted what is ours has nothing more to ask. */
static void
ask_again(struct broadcast *b)
{
	size_t i;

	b->claim_at = 0;
	for (i = 0; i < 2; i++)
		if (b->inputs[i] != NULL && (!b->held || !b->inputs[i]->granted))
			ask(b, b->inputs[i]);
}

void
broadcast_tick(struct broadcast *b, int64_t now)
{
	if (b->packager != NULL && !packager_look(b->packager))
		log_it(b, LOG_LEVEL_ERROR, NULL, strerror(errno));
	if (b->on_air != NULL && now - b->on_air->sent_at >= BROADCAST_SILENCE_MS)
		fall_silent(b, now);
	if (b->claim_at != 0 && now >= b->claim_at)
		ask_again(b);
	if (b->held && b->awaited && (b->on_air == NULL || now - b->on_air->sent_at >= BROADCAST_SILENCE_MS)) {
		hand_over(b);
		return;
	}
	if (b->held) {
		tell_lack(b);
		tell_numbers(b, now);
		simulcast_tell(b->simulcast, b->desk, &b->what, now);
	}
	if (b->inputs[0] == NULL && b->inputs[1] == NULL && now - b->empty_since >= BROADCAST_EMPTY_MS)
		broadcast_release(b);
}

void
broadcast_finish(struct broadcast *b)
{
	dismiss_all(b, "The livestream has ended.");
	if (b->packager != NULL && !packager_finish(b->packager))
		log_it(b, LOG_LEVEL_ERROR, NULL, strerror(errno));
	say(b, DESK_END, true);
	b->gone = true;
}

void
broadcast_lose(struct broadcast *b)
{
	log_it(b, LOG_LEVEL_WARN, NULL, "is received by another machine");
	packager_free(b->packager);
	b->packager = NULL;
	dismiss_all(b, "The livestream is received elsewhere.");
	b->gone = true;
}

void
broadcast_release(struct broadcast *b)
{
	if (b->packager != NULL && !packager_pause(b->packager))
		log_it(b, LOG_LEVEL_ERROR, NULL, strerror(errno));
	say(b, DESK_RELEASE, true);
	b->gone = true;
}

void
broadcast_free(struct broadcast *b)
{
	size_t i;

	for (i = 0; i < 2; i++)
		if (b->inputs[i] != NULL)
			b->inputs[i]->stream = NULL;
	simulcast_free(b->simulcast);
	packager_free(b->packager);
	free(b);
}
