/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Translation by the rules of Apertium, in the jail: what comes out tells what it is about, and is no text to be shown
 * as somebody's words. */
#include <errno.h>
#include <string.h>

#include "core/disk.h"
#include "core/jail.h"
#include "core/translate.h"
#include "jobs/engines/translation.h"

/* A sentence becomes no longer than so many times what it was, and so many bytes. */
enum { SECONDS = 1800, IDLE_SECONDS = 600, GROWTH = 10, GROWTH_LEAST = 200 };

static const char *
apertium_version(struct arena *mem, const struct conf *conf)
{
	return "Apertium, machine gist";
}

static bool
apertium_knows(const struct conf *conf, const char *language)
{
	struct arena *mem = arena_new(1 << 16);
	const bool known = translate_mode(mem, conf, language) != NULL;

	arena_free(mem);
	return known;
}

/* Blank lines part sentences: no rule looks across them. */
static const char *
write_sentences(struct translation *t)
{
	const char *path = arena_printf(t->mem, "%s/sentences.txt", t->work_dir);
	struct buf b = BUF(t->mem);

	for (size_t i = 0; i < t->n; i++)
		buf_printf(&b, "%s\n\n", t->sentences[i]);
	if (disk_put(path, buf_string(&b), b.len))
		return path;
	fault_of_errno(t->mem, errno, &t->fault, "The sentences could not be handed over.");
	return NULL;
}

/* As many as went in, or none is to be believed. */
static bool
read_sentences(struct translation *t, const char *out)
{
	size_t n = 0;

	t->english = arena_array(t->mem, t->n, sizeof(*t->english));
	for (; *out != '\0' && n < t->n; n++) {
		const char *end = strstr(out, "\n\n");

		if (end == NULL || (size_t)(end - out) > GROWTH * strlen(t->sentences[n]) + GROWTH_LEAST ||
		    !utf8_valid(out, (size_t)(end - out)))
			break;
		t->english[n] = utf8_to_line(t->mem, arena_copy_n(t->mem, out, (size_t)(end - out)));
		out = end + 2;
	}
	return n == t->n && out[strspn(out, " \n")] == '\0';
}

static enum outcome
apertium_run(struct translation *t)
{
	const char *mode = translate_mode(t->mem, t->conf, t->language);
	const char *path = mode != NULL ? write_sentences(t) : NULL;
	const char *const argv[] = { "apertium", "-u", mode, path, NULL };
	const char *const read[] = { path, NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", arena_printf(t->mem, "TMPDIR=%s",
	    t->work_dir), NULL };
	const struct jail jail = { .argv = argv, .read = read, .write_dir = t->work_dir, .in = -1, .env = env,
	    .memory = INT64_C(1) << 30, .cpu_seconds = SECONDS, .wall_seconds = SECONDS, .idle_seconds = IDLE_SECONDS };
	struct jail_result r = { 0 };

	if (mode == NULL)
		fault_set(t->mem, &t->fault, REASON_LANGUAGE_UNAVAILABLE, "Apertium has no pair for the language.");
	if (path == NULL)
		return fault_is_final(&t->fault) ? GIVE_UP : RETRY;
	if (!jail_run(t->mem, &jail, &r)) {
		fault_of_jail(t->mem, &jail, &r, &t->fault);
		return fault_is_final(&t->fault) ? GIVE_UP : RETRY;
	}
	if (read_sentences(t, r.out))
		return DONE;
	fault_set(t->mem, &t->fault, REASON_OUTPUT_INVALID, "Apertium gave other sentences than it was given.");
	return RETRY;
}

const struct engine engine_translate_apertium = {
	.family = ENGINE_translate, .name = "apertium", .version = apertium_version, .knows = apertium_knows,
	.run.translate = apertium_run,
};
