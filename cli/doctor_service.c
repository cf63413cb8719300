/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of the service: its programs as they run, their work and its results. */
#include <sys/socket.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "core/jail.h"
#include "core/job.h"
#include "core/store.h"
#include "core/web.h"

#define DAY_MS INT64_C(86400000)

struct finding
check_programs(struct cli *c)
{
	struct buf missing = BUF(c->mem);

	if (!sockets_listen(arena_printf(c->mem, "%s/api.sock", c->conf->run_dir), SOCK_STREAM))
		buf_text(&missing, "kinothek-api ");
	if (!sockets_listen(arena_printf(c->mem, "%s/upload.sock", c->conf->run_dir), SOCK_STREAM))
		buf_text(&missing, "kinothek-upload ");
	if (!sockets_listen(arena_printf(c->mem, "%s/events.sock", c->conf->run_dir), SOCK_STREAM))
		buf_text(&missing, "kinothek-events ");
	if (!sockets_runner(c))
		buf_text(&missing, "kinothek-jobs ");
	if (missing.len == 0)
		return FOUND(OK, "api, events, upload and jobs listen", NULL);
	return FOUND(WARN, arena_printf(c->mem, "not listening in %s: %s", c->conf->run_dir, buf_string(&missing)),
	    "Start them, unless the web server does (mod_fcgid) or other machines have them.");
}

/* Of runners that were heard of within a minute. */
struct runner { const char *name, *kinds, *no_sandbox; bool degraded; };
static const struct field runner_fields[] = {
	FIELD(struct runner, name, .doc = "Host and process"),
	FIELD(struct runner, kinds, .doc = "What it takes"),
	FIELD(struct runner, no_sandbox, .doc = "Why it cannot isolate"),
	FIELD(struct runner, degraded, .doc = "It need not"),
};
static const struct record runner_record = RECORD("LiveRunner", struct runner, runner_fields);

static const struct runner *
live_runners(struct cli *c, size_t *n)
{
	return db_rows(c->db, &runner_record, "FROM runners t WHERE t.seen_at > " SQL_NOW " - 60000 ORDER BY t.name",
	    NO_ARGS, n);
}

static bool
is_taken(const struct runner *r, size_t n, const char *kind)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (word_in(r[i].kinds, kind, strlen(kind)))
			return true;
	return false;
}

struct finding
check_runners(struct cli *c)
{
#define KIND_NAME(kind, class, attempts, seconds, step, weight, needed, decodes, doc) #kind,
	static const char *const kinds[] = { JOB_KINDS(KIND_NAME) };
#undef KIND_NAME
	struct buf missing = BUF(c->mem);
	size_t i, n;
	const struct runner *r = live_runners(c, &n);

	if (n == 0)
		return FOUND(WARN, "none was heard of within a minute: nothing that is uploaded becomes playable",
		    "Start kinothek-jobs, unless it is run from time to time (--drain).");
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!is_taken(r, n, kinds[i]))
			buf_printf(&missing, "%s%s", missing.len == 0 ? "" : ", ", kinds[i]);
	if (missing.len > 0)
		return FOUND(FAIL, arena_printf(c->mem, "nobody takes jobs of these kinds: %s", buf_string(&missing)),
		    "See the line about the sandbox, and job.kinds of each machine.");
	return FOUND(OK, arena_printf(c->mem, "%zu, which take all kinds of jobs", n), NULL);
}

static const char sandbox_remedy[] = "Linux 5.13 with Landlock and seccomp is wanted (lsm= of the kernel, profile of "
    "the container). sandbox = degraded runs decoders without.";

/* What the service found, which may be shut in otherwise than this process is. */
struct finding
check_sandbox(struct cli *c)
{
	bool degraded = strcmp(c->conf->sandbox, "degraded") == 0;
	const struct runner *r = NULL;
	const char *possible;
	size_t i, n = 0;

	if (doctor_has_database)
		r = live_runners(c, &n);
	for (i = 0; i < n; i++)
		if (r[i].no_sandbox != NULL)
			return FOUND(FAIL, arena_printf(c->mem, "the runner %s cannot isolate decoders: %s", r[i].name,
			    r[i].no_sandbox), sandbox_remedy);
	for (i = 0; i < n; i++)
		if (r[i].degraded)
			return FOUND(WARN, arena_printf(c->mem, "the runner %s is told to decode even where it cannot "
			    "isolate", r[i].name), "Take sandbox = degraded away where the machine can do it.");
	if (n > 0)
		return FOUND(OK, n == 1 ? "decoders are isolated, as the runner says" :
		    arena_printf(c->mem, "decoders are isolated, as all %zu runners say", n), NULL);
	possible = jail_check(c->mem, degraded);
	if (possible == NULL)
		return FOUND(OK, "this process can isolate decoders; no runner is there to say so of itself", NULL);
	return FOUND(degraded ? WARN : FAIL, arena_printf(c->mem, "this process cannot isolate decoders: %s",
	    possible), sandbox_remedy);
}

struct waiting { const char *kind; int64_t ready, since, running; };
static const struct field waiting_fields[] = {
	FIELD(struct waiting, kind, .doc = "What"),
	FIELD(struct waiting, ready, .sql = "SUM(t.state = 'ready')", .doc = "How many could begin"),
	FIELD(struct waiting, since, .sql = "MIN(IF(t.state = 'ready', t.run_at, NULL))", .doc = "The first of them since then"),
	FIELD(struct waiting, running, .sql = "SUM(t.state = 'running' AND t.lease_until > " SQL_NOW ")", .doc = "How many run"),
};
static const struct record waiting_record = RECORD("WaitingJobs", struct waiting, waiting_fields);

/* A class has places of its own on each machine; what runs in one helps no other. */
static const struct { const char *name; int64_t patience; } classes[JOB_CLASSES] = {
	[JOB_ENCODE] = { "encodes", 24 * 60 },	/* minutes */
	[JOB_ANALYSE] = { "analyses", 24 * 60 },
	[JOB_QUICK] = { "short steps", 15 },
	[JOB_NETWORK] = { "steps that other servers do", 60 },
	[JOB_TRANSFER] = { "imports", 24 * 60 },
	[JOB_LIVE] = { "captions of livestreams", 10 },
};

static void
count_waiting(struct cli *c, struct waiting of[JOB_CLASSES])
{
	const struct waiting *w;
	const struct job_kind *kind;
	struct waiting *sum;
	size_t i, n;

	w = db_rows(c->db, &waiting_record, "FROM jobs t WHERE t.state IN ('ready', 'running') GROUP BY t.kind",
	    NO_ARGS, &n);
	for (i = 0; i < n; i++) {
		kind = job_kind(w[i].kind);
		if (kind == NULL)
			continue;
		sum = &of[kind->class];
		if (w[i].ready > 0 && (sum->ready == 0 || w[i].since < sum->since))
			sum->since = w[i].since;
		sum->ready += w[i].ready;
		sum->running += w[i].running;
	}
}

struct finding
check_queue(struct cli *c)
{
	struct waiting of[JOB_CLASSES] = { { 0 } };
	struct buf text = BUF(c->mem);
	const char *late;
	int64_t minutes;
	size_t i;

	count_waiting(c, of);
	for (i = 0; i < JOB_CLASSES; i++) {
		minutes = of[i].ready == 0 ? 0 : (moment_now().ms - of[i].since) / 60000;
		late = arena_printf(c->mem, "%lld %s are ready, the first for %lld minutes", (long long)of[i].ready,
		    classes[i].name, (long long)minutes);
		if (of[i].running == 0 && minutes >= 10)
			return FOUND(FAIL, arena_printf(c->mem, "%s, and nobody does such", late),
			    "Start kinothek-jobs; see job.kinds.");
		if (minutes >= classes[i].patience)
			return FOUND(WARN, late, "Raise job.slots, or add a machine that runs kinothek-jobs; "
			    "`kinothek job list` names them.");
		buf_printf(&text, "%s: %lld ready, %lld running; ", classes[i].name, (long long)of[i].ready,
		    (long long)of[i].running);
	}
	buf_printf(&text, "%lld wait for others or for their time", (long long)db_number(c->db,
	    "SELECT COUNT(*) FROM jobs WHERE state IN ('waiting', 'delayed')", NO_ARGS, 0));
	return FOUND(OK, buf_string(&text), NULL);
}

struct undeleted {
	struct uuid id;
	const char *state;
	struct nested error;
	struct strings keys;
	struct moment created_at;
};
static const struct field undeleted_fields[] = {
	FIELD(struct undeleted, id, .doc = "The purge"),
	FIELD(struct undeleted, state, .doc = "Whether it is tried again"),
	FIELD(struct undeleted, error, .of = &job_error_record, .doc = "What the store has said"),
	FIELD(struct undeleted, keys, .sql = "JSON_EXTRACT(t.args, '$.keys')", .doc = "Some of them are there still"),
	FIELD(struct undeleted, created_at, .doc = "Since when nobody needs them"),
};
static const struct record undeleted_record = RECORD("FailedPurge", struct undeleted, undeleted_fields);

#define UNDELETED "FROM jobs t WHERE t.kind = 'purge' AND (t.state = 'failed' OR (t.state = 'delayed' AND " \
	"t.error IS NOT NULL))"

/* Files that nobody needs any more, and that the store does not let go.  Those that are tried no more come first. */
struct finding
check_deletions(struct cli *c)
{
	const int64_t n = db_number(c->db, "SELECT COUNT(*) " UNDELETED, NO_ARGS, 0);
	const struct undeleted *u = n == 0 ? NULL : db_row(c->db, &undeleted_record, UNDELETED
	    " ORDER BY t.state = 'failed' DESC, t.created_at LIMIT 1", NO_ARGS);
	const struct job_error *e = u != NULL ? u->error.row : NULL;
	const char *text;

	if (u == NULL)
		return FOUND(OK, "nothing is left of what was deleted", NULL);
	text = arena_printf(c->mem, "%lld could not be done; files of %s should be gone since %s: %s", (long long)n,
	    u->keys.n > 0 ? u->keys.at[0] : "nothing", cli_time(c->mem, u->created_at),
	    e != NULL && e->detail != NULL ? e->detail : "no reason was told");
	if (strcmp(u->state, "failed") == 0)
		return FOUND(FAIL, text, arena_printf(c->mem, "Look at the store, which has to let kinothek-jobs "
		    "delete; then `kinothek job retry %s`.", uuid_text(c->mem, u->id)));
	return FOUND(WARN, text, "It is tried again by itself. Look at the store, which has to let kinothek-jobs "
	    "delete.");
}

struct harm { const char *name, *damage; struct moment verified_at; };
static const struct field harm_fields[] = {
	FIELD(struct harm, name, .doc = "Shown to people"),
	FIELD(struct harm, damage, .doc = "What was found"),
	FIELD(struct harm, verified_at, .doc = "When it was last whole"),
};
static const struct record harm_record = RECORD("DamagedOriginal", struct harm, harm_fields);

/* What the ledger says; the store is not read. */
struct finding
check_originals(struct cli *c)
{
	const int64_t damaged = db_number(c->db, "SELECT COUNT(*) FROM media WHERE damage IS NOT NULL", NO_ARGS, 0);
	const int64_t oldest = db_number(c->db, "SELECT MIN(examined_at) FROM media WHERE damage IS NULL AND file_size "
	    "> 0", NO_ARGS, 0);
	const int64_t days = oldest == 0 ? 0 : (moment_now().ms - oldest) / DAY_MS;
	const struct harm *h;

	h = damaged == 0 ? NULL : db_row(c->db, &harm_record, "FROM media t WHERE t.damage IS NOT NULL ORDER BY "
	    "t.verified_at DESC LIMIT 1", NO_ARGS);
	if (h != NULL)
		return FOUND(FAIL, arena_printf(c->mem, "%lld are damaged: \"%s\" is %s, and was whole on %s",
		    (long long)damaged, h->name, h->damage, cli_time(c->mem, h->verified_at)),
		    "`kinothek verify` names all of them; bring them back from a backup of that time, then `kinothek "
		    "verify --hashes`. Look at the disk, too.");
	if (c->conf->scrub_days == 0)
		return FOUND(WARN, "nobody reads them again: scrub.days = 0",
		    "Set scrub.days, or run `kinothek verify --hashes` from time to time.");
	if (days > 2 * c->conf->scrub_days)
		return FOUND(WARN, arena_printf(c->mem, "one was not read for %lld days, and scrub.days is %lld",
		    (long long)days, (long long)c->conf->scrub_days), "Raise scrub.rate, or scrub.days.");
	return FOUND(OK, "none is known to be damaged", NULL);
}

struct sample { struct uuid id; const char *name, *file; };
static const struct field sample_fields[] = {
	FIELD(struct sample, id, .doc = "Asset"),
	FIELD(struct sample, name, .doc = "Shown to people"),
	FIELD(struct sample, file, .doc = "One of its files", .sql = "(SELECT r.file FROM renditions r WHERE "
	    "r.media_id = t.id AND r.generation = t.generation ORDER BY r.kind = 'playlist' DESC LIMIT 1)"),
};
static const struct record sample_record = RECORD("SampledAsset", struct sample, sample_fields);

/* Of the assets that are called ready: the newest, and some from anywhere, since ids go by time. */
static size_t
count_lost(struct cli *c, bool newest, size_t *looked, const char **name)
{
	int64_t first = db_number(c->db, "SELECT MIN(created_at) FROM media", NO_ARGS, 0), now = moment_now().ms;
	uint64_t chance, at;
	const struct sample *a;
	struct uuid from = { { 0 } };
	size_t i, n, lost = 0;
	bool there;

	random_bytes(&chance, sizeof(chance));
	at = (uint64_t)first + (now > first ? chance % (uint64_t)(now - first) : 0);
	for (i = 0; i < 6; i++)
		from.b[i] = (uint8_t)(at >> (40 - 8 * i));
	if (newest)
		a = db_rows(c->db, &sample_record, "FROM media t WHERE t.status = 'ready' AND t.deleted_at = 0 ORDER "
		    "BY t.id DESC LIMIT 20", NO_ARGS, &n);
	else
		a = db_rows(c->db, &sample_record, "FROM media t WHERE t.id >= ? AND t.status = 'ready' AND "
		    "t.deleted_at = 0 ORDER BY t.id LIMIT 20", ARGS(BYTES(from.b, sizeof(from.b))), &n);
	for (i = 0; i < n; i++)
		if (a[i].file != NULL && store_has(c->mem, store_key_play(c->mem, a[i].id, a[i].file), &there) &&
		    !there) {
			lost++;
			*name = a[i].name;
		}
	*looked += n;
	return lost;
}

struct finding
check_assets(struct cli *c)
{
	const char *name = NULL;
	size_t looked = 0, lost;

	/* Making the directories is not our affair. */
	if (access(arena_printf(c->mem, "%s/play", c->conf->data_dir), X_OK) != 0 || !store_open(c->conf))
		return FOUND(WARN, "data_dir cannot be read", "See the line about the store.");
	lost = count_lost(c, true, &looked, &name);
	lost += count_lost(c, false, &looked, &name);
	if (lost > 0)
		return FOUND(FAIL, arena_printf(c->mem, "%zu of %zu that were looked at are called ready and have no "
		    "files, \"%s\" for one", lost, looked, name),
		    "Run `kinothek rebuild`; `kinothek verify` names all of them.");
	return FOUND(OK, arena_printf(c->mem, "%zu were looked at, and have their files", looked), NULL);
}

struct finding
check_backup(struct cli *c)
{
	int64_t oldest = db_number(c->db, "SELECT MIN(created_at) FROM media", NO_ARGS, 0), now = moment_now().ms;
	int64_t last = db_number(c->db, "SELECT MAX(made_at) FROM backups", NO_ARGS, 0);
	const char *place = db_text(c->db, "SELECT place FROM backups ORDER BY made_at DESC LIMIT 1", NO_ARGS);

	if (last == 0 && (oldest == 0 || now - oldest < DAY_MS))
		return FOUND(OK, "none yet, and nothing that is older than a day", NULL);
	if (last == 0)
		return FOUND(WARN, "none was ever made", "Run `kinothek backup DIR` daily, from cron or a timer.");
	return FOUND(now - last > 7 * DAY_MS ? WARN : OK, arena_printf(c->mem, "the last one is of %s, in %s",
	    cli_time(c->mem, (struct moment){ last }), place), now - last > 7 * DAY_MS ?
	    "Run `kinothek backup DIR` daily, from cron or a timer." : NULL);
}

/* What systemd says of our units, one property a line.  NULL: there is none here, or it says nothing. */
static const char *
ask_systemd(struct cli *c)
{
	static const char *const argv[] = { "systemctl", "show", "-p",
		"Id,LoadState,ActiveState,UnitFileState,NRestarts",
		"kinothek-api.service", "kinothek-api.socket", "kinothek-events.service", "kinothek-events.socket",
		"kinothek-upload.service", "kinothek-upload.socket", "kinothek-jobs.service", "kinothek-live.service",
		"kinothek-live.socket", NULL };
	struct buf out = BUF(c->mem);
	char piece[4096];
	int ends[2], n;
	pid_t pid;

	if (access("/run/systemd/system", F_OK) != 0 || pipe2(ends, O_CLOEXEC) != 0)
		return NULL;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(ends[1]);
	while (pid > 0 && (n = (int)read(ends[0], piece, sizeof(piece))) > 0)
		buf_add(&out, piece, (size_t)n);
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return out.len == 0 ? NULL : buf_string(&out);
}

/* The value of a property in the lines of one unit. */
static const char *
property(struct cli *c, const char *lines, const char *name)
{
	const char *at = strstr(lines, arena_printf(c->mem, "%s=", name));

	if (at == NULL)
		return "";
	at += strlen(name) + 1;
	return arena_copy_n(c->mem, at, strcspn(at, "\n"));
}

/* Livestreams are for who wants them. */
static bool
is_off(struct cli *c, const char *lines)
{
	return strstr(property(c, lines, "Id"), "kinothek-live") != NULL &&
	    strcmp(property(c, lines, "UnitFileState"), "enabled") != 0 &&
	    strcmp(property(c, lines, "ActiveState"), "inactive") == 0;
}

struct finding
check_units(struct cli *c)
{
	const char *all = ask_systemd(c), *end, *one, *id;
	int64_t restarts, most = 0;

	if (all == NULL)
		return FOUND(OK, "systemd does not run here", NULL);
	for (; *all != '\0'; all = *end == '\0' ? end : end + 2) {
		end = strstr(all, "\n\n");
		end = end == NULL ? all + strlen(all) : end;
		one = arena_copy_n(c->mem, all, (size_t)(end - all));
		id = property(c, one, "Id");
		if (is_off(c, one))
			continue;
		if (strcmp(property(c, one, "LoadState"), "loaded") != 0)
			return FOUND(WARN, arena_printf(c->mem, "%s is not installed", id),
			    "Install the units, unless another supervisor runs the programs.");
		if (strcmp(property(c, one, "ActiveState"), "failed") == 0)
			return FOUND(FAIL, arena_printf(c->mem, "%s has failed", id),
			    arena_printf(c->mem, "journalctl -u %s", id));
		if (strstr(id, "api.service") == NULL && strstr(id, "upload.service") == NULL &&
		    (strcmp(property(c, one, "ActiveState"), "active") != 0 ||
		    strcmp(property(c, one, "UnitFileState"), "enabled") != 0))
			return FOUND(WARN, arena_printf(c->mem, "%s is %s and %s", id, property(c, one, "ActiveState"),
			    property(c, one, "UnitFileState")), arena_printf(c->mem, "systemctl enable --now %s", id));
		if (int_parse(property(c, one, "NRestarts"), &restarts) && restarts > most)
			most = restarts;
	}
	return FOUND(most > 3 ? WARN : OK, arena_printf(c->mem, "enabled and active; restarted %lld times at most",
	    (long long)most), most > 3 ? "Something ends a program again and again: journalctl -u 'kinothek-*'" : NULL);
}

struct finding
check_mail(struct cli *c)
{
	const struct conf *conf = c->conf;
	const struct web_letter letter = { .url = conf->smtp_url, .plain = conf->smtp_plain, .user = conf->smtp_user,
	    .password = conf->smtp_password };
	struct web_answer a;

	if (conf->smtp_url == NULL)
		return FOUND(OK, "none is sent: links of invitations are passed on by hand", NULL);
	if (web_mail(c->mem, &letter, &a))
		return FOUND(OK, arena_printf(c->mem, "%s answers", conf->smtp_url), NULL);
	return FOUND(FAIL, arena_printf(c->mem, "%s: %s", conf->smtp_url, a.end != WEB_ANSWERED ? web_sentence(a.end) :
	    arena_printf(c->mem, "the server refuses us with code %d", a.status)),
	    "See smtp.url, smtp.user and smtp.password_file; smtp:// needs STARTTLS and a certificate that is valid, unless "
	    "smtp.plain = yes.");
}
