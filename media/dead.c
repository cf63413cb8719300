/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracks of which nothing can be decoded, beside others that play. */
#include <string.h>

#include "media/av_run.h"

enum { PATIENCE = 600 };	/* seconds: one that is dead is read to its end */

/* How many of the streams give a frame. */
static bool
count_alive(struct arena *mem, const struct av_file *f, const int *streams, int n, int *alive, struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");

	av_add(t, "-max_error_rate", "1");
	av_input(t, f->path, f->container);
	for (int i = 0; i < n; i++)
		av_add(t, "-map", arena_printf(mem, "0:%d", streams[i]), "-frames", "1", "-f", "framecrc", "pipe:1");
	t->jail.wall_seconds = t->jail.idle_seconds = PATIENCE;
	*alive = 0;
	if (!av_run(t, fault) && reason_info(fault->reason)->class == CLASS_PASSING)
		return false;
	for (const char *line = t->result.out; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
		line += *line == '\n';
		*alive += *line >= '0' && *line <= '9';
	}
	/* What nobody had the time for counts as alive: its first rendition will tell. */
	if (t->result.end != JAIL_EXITED)
		*alive = n;
	return true;
}

bool
av_find_dead(struct arena *mem, const struct av_file *f, struct av_dead *dead, struct fault *fault)
{
	const bool sized = f->video == NULL || (f->video->coded_width > 0 && f->video->coded_height > 0);
	int streams[AV_SOUNDS + 2], n = 0, alive;

	*dead = (struct av_dead){ .n = 0 };
	if (f->video != NULL)
		streams[n++] = f->video->index;
	for (int i = 0; i < f->n_tracks && n <= AV_SOUNDS; i++)
		if (f->tracks[i].used)
			streams[n++] = f->tracks[i].index;
	if (n < 2)
		return true;
	if (!count_alive(mem, f, streams, n, &alive, fault))
		return false;
	if (alive == n && sized)
		return true;
	for (int i = 0; i < n; i++) {
		if (!count_alive(mem, f, &streams[i], 1, &alive, fault))
			return false;
		if (alive == 0 || (i == 0 && !sized))
			dead->index[dead->n++] = streams[i];
	}
	if (dead->n == n)		/* the first rendition tells why */
		dead->n = 0;
	return true;
}

static bool
is_among(const struct av_dead *dead, int index)
{
	for (int i = 0; i < dead->n; i++)
		if (dead->index[i] == index)
			return true;
	return false;
}

bool
av_is_dead(const struct av_file *f, int stream)
{
	return is_among(&f->dead, stream);
}

const struct av_file *
av_without(struct arena *mem, const struct av_file *f, const struct av_dead *dead)
{
	struct av_file *out = NEW(mem, struct av_file);
	struct av_audio *tracks = arena_array(mem, f->n_tracks > 0 ? (size_t)f->n_tracks : 1, sizeof(*tracks));

	*out = *f;
	out->dead = *dead;
	if (f->video != NULL && is_among(dead, f->video->index))
		out->video = NULL;
	out->tracks = tracks;
	out->audio = NULL;
	for (int i = 0; i < f->n_tracks; i++) {
		tracks[i] = f->tracks[i];
		tracks[i].used = f->tracks[i].used && !is_among(dead, tracks[i].index);
		if (tracks[i].used && (out->audio == NULL || &f->tracks[i] == f->audio))
			out->audio = &tracks[i];
	}
	return out;
}

const char *
av_dead_text(struct arena *mem, const struct av_file *f, int i)
{
	for (int k = 0; k < f->n_tracks; k++)
		if (f->tracks[k].index == f->dead.index[i])
			return f->n_tracks == 1 ? "Nothing of the sound can be read." :
			    arena_printf(mem, "Nothing of the sound \"%s\" can be read.", f->tracks[k].label);
	return "Nothing of the picture can be read.";
}
