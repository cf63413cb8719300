/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The check of livestreams: from encoders to viewers. */
#include <sys/socket.h>

#include <string.h>

#include "cli/doctor.h"
#include "core/livestream.h"
#include "core/play.h"

enum { RTMP_PORT = 1935, PATIENCE_MS = 30000 };

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

struct finding
check_live(struct cli *c)
{
	const int64_t waiting = db_number(c->db, "SELECT COUNT(*) FROM livestreams WHERE status = 'starting' AND "
	    "started_at < " SQL_NOW " - ?", ARGS(INT(PATIENCE_MS)), 0);
	const bool holds = sockets_listen(arena_printf(c->mem, "%s/live.sock", c->conf->run_dir), SOCK_STREAM);
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
