/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Peaks of the sound as JSON in the format of audiowaveform, which peaks.js reads: pairs of 8-bit minimum and maximum.
 * The number of pairs is bounded whatever the length: when the room is full, neighbours are joined.  Safe to run twice.
 */
#include <inttypes.h>

#include "core/buf.h"
#include "media/playlist.h"
#include "jobs/step.h"

enum { RATE = 8000, FIRST_SAMPLES = 64, PAIRS_MAX = 4096 };

struct peaks {
	struct job *job;
	int8_t low[PAIRS_MAX], high[PAIRS_MAX];
	int n;
	int64_t samples_per_pair, in_pair, total, expected;
	int lowest, highest;			/* of the pair that is being filled */
	bool half;				/* a byte of the next sample has come */
	unsigned char first;
};

static void
join_neighbours(struct peaks *p)
{
	for (int i = 0; i < p->n / 2; i++) {
		p->low[i] = p->low[2 * i] < p->low[2 * i + 1] ? p->low[2 * i] : p->low[2 * i + 1];
		p->high[i] = p->high[2 * i] > p->high[2 * i + 1] ? p->high[2 * i] : p->high[2 * i + 1];
	}
	p->n /= 2;
	p->samples_per_pair *= 2;
}

static void
end_pair(struct peaks *p)
{
	/* A full room is joined before the next pair, whose own samples are all in by then: lengths stay true. */
	p->low[p->n] = (int8_t)(p->lowest / 256);
	p->high[p->n] = (int8_t)(p->highest / 256);
	p->n++;
	p->in_pair = 0;
	p->lowest = p->highest = 0;
	if (p->n == PAIRS_MAX)
		join_neighbours(p);
}

static void
take_sample(struct peaks *p, int sample)
{
	if (p->in_pair == 0)
		p->lowest = p->highest = sample;
	else if (sample < p->lowest)
		p->lowest = sample;
	else if (sample > p->highest)
		p->highest = sample;
	p->total++;
	if (++p->in_pair == p->samples_per_pair)
		end_pair(p);
}

static bool
take_bytes(void *user, const char *bytes, size_t n)
{
	struct peaks *p = user;

	for (size_t i = 0; i < n; i++) {
		if (p->half)
			take_sample(p, (int16_t)(p->first | (unsigned char)bytes[i] << 8));
		else
			p->first = (unsigned char)bytes[i];
		p->half = !p->half;
	}
	if (p->expected > 0)
		step_progress(p->job, p->total >= p->expected ? 100 : (int)(p->total * 100 / p->expected));
	return true;
}

static bool
write_peaks(struct job *j, const struct peaks *p)
{
	struct buf out = BUF(j->mem);

	buf_printf(&out, "{\"version\":2,\"channels\":1,\"sample_rate\":%d,\"samples_per_pixel\":%" PRId64
	    ",\"bits\":8,\"length\":%d,\"data\":[", RATE, p->samples_per_pair, p->n);
	for (int i = 0; i < p->n; i++)
		buf_printf(&out, "%s%d,%d", i > 0 ? "," : "", p->low[i], p->high[i]);
	buf_text(&out, "]}\n");
	return step_write(j, "waveform.json", buf_string(&out));
}

enum outcome
waveform_run(struct job *j)
{
	const struct asset_args *in = j->in;
	struct peaks *p = NEW(j->mem, struct peaks);
	const struct av_pcm pcm = { .rate = RATE, .take = take_bytes, .user = p };
	struct rendition_row row;
	const struct av_file *f;
	struct fault fault;
	const char *file, *path;

	file = db_text(j->db, "SELECT file FROM renditions WHERE media_id = ? AND generation = ? AND kind = 'audio' "
	    "AND mime_type = ?", ARGS(ID(in->media_id), STR(in->generation), STR(PLAYLIST_TYPE)));
	if (file == NULL)
		return job_retry(j, REASON_INTERNAL, "The first rendition is missing.");
	step_begin(j);
	path = step_media(j, in, file, &fault);
	f = path != NULL ? av_headers(j->mem, path, &fault) : NULL;
	if (f == NULL)
		return job_fault(j, &fault);
	p->job = j;
	p->samples_per_pair = FIRST_SAMPLES;
	p->expected = f->duration_ms * RATE / 1000;
	if (!av_pcm(j->mem, f, &pcm, &fault))
		return job_fault(j, &fault);
	if (p->in_pair > 0)
		end_pair(p);
	if (p->n == 0)
		return job_give_up(j, REASON_DECODE_FAILED, "The sound is empty.");
	if (!write_peaks(j, p) || !step_store(j, in, (const char *const[]){ "waveform.json", NULL }))
		return step_not_stored(j, "The waveform");
	if (!job_resume(j))
		return RETRY;
	row = step_row(j, in, "waveform", "waveform.json", "application/json");
	rendition_put(j->db, &row);
	asset_summarise(j->db, in->media_id, SUM_RENDITIONS);
	return DONE;
}
