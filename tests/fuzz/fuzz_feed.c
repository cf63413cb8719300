/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tags of FLV that an encoder sends, one behind the other as in a file, to playlists, segments and recording. */
#include <sys/stat.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store.h"
#include "fcgi/live/feed.h"
#include "fcgi/live/rtmp.h"
#include "media/bytes.h"
#include "tests/fuzz/fuzz.h"

enum { TAG_HEAD = 11, TAG_TAIL = 4 };

static char home[64], play[80], kept[80];

static void
leave(void)
{
	rmdir(play);
	rmdir(kept);
	rmdir(home);
}

/* In memory, where that is a file system. */
static void
settle(void)
{
	static struct conf conf;

	if (home[0] != '\0')
		return;
	snprintf(home, sizeof(home), "%s/kinothek-fuzz.XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(home) == NULL)
		abort();
	snprintf(play, sizeof(play), "%s/play", home);
	snprintf(kept, sizeof(kept), "%s/live", home);
	conf.data_dir = home;
	if (!store_open(&conf))
		abort();
	atexit(leave);
}

static void
clear(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (e->d_type == DT_REG)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d != NULL)
		closedir(d);
}

/* Numbered through, and none of them longer than the playlist says; that of sound waits `more` for pictures. */
static void
check(const struct live_list *l, int64_t more)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->at[i].ms < 0 || l->at[i].number != l->first + (int64_t)i ||
		    (l->target > 0 && l->at[i].ms > l->target * 1000 + 499 + more))
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct packager *p;
	struct feed *f = feed_new();
	enum feed_says says = FEED_FINE;
	int64_t session = 1;
	size_t size;

	settle();
	p = packager_open(play, kept, n % 2 == 0);
	feed_begin(f, session);
	while (n >= TAG_HEAD && (says == FEED_FINE || says == FEED_BEGINS)) {
		size = (size_t)bytes_big(data + 1, 3);
		if (size > n - TAG_HEAD)
			break;
		says = feed_take(f, p, data[0], (uint32_t)bytes_big(data + 4, 3) | (uint32_t)data[7] << 24,
		    data + TAG_HEAD, size);
		if (says == FEED_BEGINS)
			feed_begin(f, ++session);
		data += TAG_HEAD + size;
		n -= TAG_HEAD + size;
		data += n < TAG_TAIL ? n : TAG_TAIL;
		n -= n < TAG_TAIL ? n : TAG_TAIL;
	}
	if (says == FEED_DISK || (says == FEED_REFUSED) != (feed_fault(f) != NULL) || !packager_finish(p) ||
	    feed_dropped(f) < 0)
		abort();
	check(packager_list(p, false), 0);
	check(packager_list(p, true), 1000);
	feed_free(f);
	packager_free(p);
	clear(play);
	clear(kept);
	return 0;
}
