/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checks of livestreams: from encoders to viewers, and of the smaller pictures that are made of them. */
#include <sys/socket.h>

#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "core/jail.h"
#include "core/livestream.h"
#include "core/play.h"

enum { RTMP_PORT = 1935, PATIENCE_MS = 30000, TRIAL_MS = 2000, TRIAL_WALL = 20, CORES = 2 };

static const char remedy[] = "kinothek setup --live yes, or by hand: systemctl enable --now kinothek-live.socket "
    "kinothek-live.service";

/* Where encoders come in: the port of systemd's socket, unless the settings name one. */
static int
port_of(const struct conf *conf)
{
	const char *first = conf->live_rtmp_listen, *colon;
	int64_t port;
	char item[256];

	if (first == NULL)
		return RTMP_PORT;
	snprintf(item, sizeof(item), "%.*s", (int)strcspn(first, ","), first);
	colon = strrchr(item, ':');
	return colon != NULL && int_parse(colon + 1, &port) ? (int)port : RTMP_PORT;
}

/* Does the web server lead viewers to who holds them?  Nobody else finds fault with such a question.  One that is not
 * reached from here is told elsewhere. */
static bool
leads_astray(struct cli *c)
{
	const char *file = livestream_play_file(c->mem, c->conf, uuid_new(), "low-video.m3u8?_HLS_part=1");
	char prefix[PLAY_PREFIX_MAX];
	int status;

	if (c->conf->play_key == NULL)
		return false;
	play_prefix(c->conf, uuid_new(), moment_now(), prefix);
	status = doctor_asks(c, arena_printf(c->mem, "%s%s", prefix + strlen(c->conf->public_url), file));
	return status != 0 && status != 400;
}

static bool
is_held(struct cli *c)
{
	return sockets_listen(arena_printf(c->mem, "%s/live.sock", c->conf->run_dir), SOCK_STREAM);
}

struct finding
check_live(struct cli *c)
{
	const int64_t waiting = db_number(c->db, "SELECT COUNT(*) FROM livestreams WHERE status = 'starting' AND "
	    "started_at < " SQL_NOW " - ?", ARGS(INT(PATIENCE_MS)), 0);
	const bool holds = is_held(c);
	const int port = port_of(c->conf);
	const bool takes = doctor_listens(port);

	if (waiting > 0)
		return FOUND(FAIL, arena_printf(c->mem, "%lld are started, and no machine takes them in",
		    (long long)waiting), remedy);
	if (!takes && !holds)
		return FOUND(OK, "none is received on this machine: kinothek-live does not run", NULL);
	if (!takes)
		return FOUND(WARN, arena_printf(c->mem, "no encoder can send: nobody listens on port %d", port),
		    remedy);
	if (!holds)
		return FOUND(WARN, arena_printf(c->mem, "viewers are about nine seconds behind, and not counted: "
		    "kinothek-live does not listen on %s/live.sock", c->conf->run_dir), remedy);
	if (leads_astray(c))
		return FOUND(WARN, "viewers are about nine seconds behind, and not counted: the web server does not "
		    "lead them to kinothek-live", "Use lighttpd-site.conf or apache-site.conf of "
		    "share/kinothek/httpd-conf.");
	return FOUND(OK, arena_printf(c->mem, "encoders can send to port %d, and viewers are led here", port), NULL);
}

/* As fcgi/live/ladder.c makes them, of TRIAL_MS. */
static bool
make_smaller(struct cli *c, struct jail_result *r, int64_t *ms)
{
	static const char *const argv[] = { "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i",
		"testsrc2=s=1920x1080:r=30:d=2,format=yuv420p", "-filter_complex",
		"[0:v]split[a][b];[a]scale=1280:720[c];[b]scale=640:360[d]", "-map", "[c]", "-map", "[d]", "-c:v",
		"libx264", "-preset", "superfast", "-bf", "0", "-threads", "2", "-f", "null", "-", NULL };
	const struct jail jail = { .argv = argv, .in = -1, .wall_seconds = TRIAL_WALL, .threads_only = true };
	const int64_t began = clock_ms();
	const bool fine = jail_run(c->mem, &jail, r);

	*ms = clock_ms() - began;
	return fine;
}

struct finding
check_ladder(struct cli *c)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct jail_result r;
	const char *told;
	int64_t ms;

	if (strcmp(c->conf->live_ladder, "no") == 0)
		return FOUND(OK, "no smaller pictures are made of livestreams (live.ladder = no)", NULL);
	if (!is_held(c) && !doctor_listens(port_of(c->conf)))
		return FOUND(OK, "no livestream is received on this machine", NULL);
	if (!make_smaller(c, &r, &ms) && r.end != JAIL_WALL)
		return FOUND(FAIL, arena_printf(c->mem, "no smaller pictures can be made of livestreams: %s",
		    r.err == NULL ? "" : r.err), "See the lines about video and the sandbox.");
	told = arena_printf(c->mem, "smaller pictures of %d s of a livestream are made in %.1f s, on %ld processors",
	    TRIAL_MS / 1000, (double)ms / 1000, cores);
	if (ms > TRIAL_MS)
		return FOUND(WARN, told, "Give the machine more or faster processors, or less to do; until then frames "
		    "are dropped, and then the larger pictures. Or say live.ladder = no.");
	if (cores < CORES && strcmp(c->conf->live_ladder, "auto") == 0)
		return FOUND(WARN, told, "Give the machine two processors: with one there is hardly time for this and "
		    "anything else. Or say live.ladder = no.");
	return FOUND(OK, told, NULL);
}
