/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-jobs: its options and the kinds it can run. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/jail.h"
#include "core/log.h"
#include "jobs/deliver.h"
#include "jobs/engines/engine.h"
#include "jobs/runner.h"

#ifndef VERSION
#define VERSION "unknown"
#endif

static const char usage[] =
    "Usage: kinothek-jobs [OPTION]...\n"
    "Runs the jobs of Kinothek until it is told to stop.\n"
    "\n"
    "  --drain         end when nothing is left to do (for cron)\n"
    "  --grace SECONDS time for running jobs after SIGTERM, then they are handed back (30)\n"
    "  --help          this text\n"
    "  --version       the version\n"
    "\n"
    "Settings come from /etc/kinothek/kinothek.conf or the file that KINOTHEK_CONF names; see job.slots, job.lease,\n"
    "job.kinds and sandbox there.\n";

static struct {
	const char *name;
	enum outcome (*run)(struct job *);
} const functions[] = {
#define FUNCTION(kind, class, attempts, seconds, step, weight, needed, decodes, doc) { #kind, kind##_run },
	JOB_KINDS(FUNCTION)
#undef FUNCTION
};

enum { KINDS = sizeof(functions) / sizeof(functions[0]) };

static int
wrong(const char *what)
{
	fprintf(stderr, "kinothek-jobs: %s; see kinothek-jobs --help\n", what);
	return 64;
}

/* A descriptor below 3 that is closed would be given to a pipe. */
static void
fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < 3);
	if (fd >= 0)
		close(fd);
}

/* A misspelt kind in job.kinds would never be noticed otherwise. */
static const char *
unknown_kind(const struct conf *conf)
{
	static char word[64];
	const char *p = conf->job_kinds;
	size_t n;

	while (p != NULL && *p != '\0') {
		n = strcspn(p, ", ");
		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		if (n > 0 && job_kind(word) == NULL)
			return word;
		p += n;
		p += strspn(p, ", ");
	}
	return NULL;
}

/* What the machine cannot keep from decoders; NULL when all is well, or the operator has said that it need not be. */
static const char *
check_sandbox(const struct conf *conf)
{
	bool degraded = conf->sandbox != NULL && strcmp(conf->sandbox, "degraded") == 0;
	static struct arena *mem;
	const char *why;

	if (mem == NULL)
		mem = arena_new(1 << 20);
	arena_reset(mem);
	why = jail_check(mem, degraded);

	if (why != NULL && degraded) {
		log_line(LOG_LEVEL_WARN, "jobs", LOG_TEXT("text", "sandbox = degraded: decoders run without isolation"),
		    LOG_TEXT("why", why));
		return NULL;
	}
	return why;
}

/* Is every engine that may be chosen a server? */
static bool
asks_servers(const struct conf *conf, enum engine_family family)
{
	return conf->engine[family].others == NULL && engine_chosen(conf, family)->limits.tries > 0;
}

int
main(int argc, char **argv)
{
	static struct run_kind kinds[KINDS];
	struct run_options options = { .grace = 30 };
	const struct conf *conf;
	int64_t n;
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			return fputs(usage, stdout) < 0;
		if (strcmp(argv[i], "--version") == 0)
			return puts("kinothek-jobs " VERSION) < 0;
		if (strcmp(argv[i], "--drain") == 0) {
			options.drain = true;
		} else if (strcmp(argv[i], "--grace") == 0) {
			if (++i == argc || !int_parse(argv[i], &n) || n < 0 || n > 86400)
				return wrong("--grace takes seconds");
			options.grace = (int)n;
		} else {
			return wrong("unknown option");
		}
	}
	fill_standard_descriptors();
	conf = conf_load();
	if (conf->log_level != NULL)
		log_threshold_named(conf->log_level);
	log_format_named(conf->log_format);
	if (unknown_kind(conf) != NULL) {
		fprintf(stderr, "kinothek-jobs: job.kinds names %s, which is no kind of job\n", unknown_kind(conf));
		return 78;
	}
	if (options.drain)
		deliver_only_due(-1);
	jail_delegate();
	options.no_sandbox = check_sandbox(conf);
	options.ask_again = check_sandbox;
	for (i = 0; i < KINDS; i++)
		kinds[i] = (struct run_kind){ job_kind(functions[i].name), functions[i].run,
		    strcmp(functions[i].name, "transcribe") == 0 &&
		    asks_servers(conf, ENGINE_transcribe), strcmp(functions[i].name, "deliver") ==
		    0 };
	return run_jobs(conf, kinds, KINDS, &options);
}
