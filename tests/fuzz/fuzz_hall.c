/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection of a web server to the hall of kinothek-live: whatever comes gets an answer, waits, or ends, and the
 * next one finds all as it was.  Addresses in the corpus are signed with this key.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fcgi.h"
#include "core/store.h"
#include "fcgi/live/hall.h"
#include "tests/fuzz/fuzz.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define MEDIA "01900000-0000-7000-8000-000000000001"
#define FOLDER "0123456789abcdef"

static struct conf conf = { .play_key = KEY, .play_lifetime = 3600, .public_url = "http://localhost",
	.live_waiters = 4 };
static char dir[] = "/tmp/fuzz-hall-XXXXXX";
static struct sockaddr_un at = { .sun_family = AF_UNIX };
static socklen_t at_n;
static struct broadcast broadcast, *broadcasts = &broadcast;
static struct hall *hall;

static void
clean(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		fprintf(stderr, "%s is left behind\n", dir);
}

static void
put(struct arena *mem, const char *name)
{
	struct uuid id;

	if (!uuid_parse(MEDIA, &id) || !store_write(mem, "#EXTM3U\nvideo.m3u8\n", 19, store_key_play(mem, id,
	    arena_printf(mem, "live/" FOLDER "/%s", name))))
		abort();
}

static void
start(void)
{
	struct arena *mem = arena_new(1 << 20);
	int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (mkdtemp(dir) == NULL || atexit(clean) != 0)
		abort();
	conf.data_dir = dir;
	/* In no directory. */
	snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "%s", dir);
	at_n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(dir));
	if (!store_open(&conf) || bind(door, (const struct sockaddr *)&at, at_n) != 0)
		abort();
	put(mem, "master.m3u8");
	put(mem, "video.m3u8");
	put(mem, "1.1.0.video.m4s");
	/* Of another folder of the same asset: who asks there may wait. */
	if (!uuid_parse(MEDIA, &broadcast.what.media_id))
		abort();
	memset(broadcast.secret, 'f', sizeof(broadcast.secret) - 1);
	broadcast.packager = packager_open(dir, dir, true);
	hall = hall_open(&conf, door, NULL, &broadcasts);
	arena_free(mem);
}

/* Of whom it tells: records of a FastCGI answer, the first of which begins with a status. */
static void
look(const unsigned char *text, size_t n)
{
	if (n >= FCGI_HEADER + 12 && text[1] == 6 && memcmp(text + FCGI_HEADER, "Status: ", 8) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static unsigned char answer[4096];
	ssize_t got;
	int fd;

	if (hall == NULL)
		start();
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (const struct sockaddr *)&at, at_n) != 0)
		abort();
	/* Cut somewhere. */
	send(fd, data, n / 3, MSG_DONTWAIT | MSG_NOSIGNAL);
	hall_attend(hall);
	hall_attend(hall);
	send(fd, data + n / 3, n - n / 3, MSG_DONTWAIT | MSG_NOSIGNAL);
	hall_attend(hall);
	hall_attend(hall);
	hall_tell(hall, clock_ms());
	got = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	if (got > 0)
		look(answer, (size_t)got);
	close(fd);
	hall_attend(hall);
	hall_attend(hall);
	return 0;
}
