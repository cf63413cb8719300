/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek doctor: is this machine fit for the work, and what to do about it if not. */
#include <errno.h>
#include <glob.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/setup.h"
#include "media/document.h"
#include "core/jail.h"
#include "core/migrate.h"
#include "core/scratch.h"

enum level { OK, WARN, FAIL };

struct finding {
	enum level level;
	const char *text, *remedy;
};

#define FOUND(level, text, remedy) ((struct finding){ (level), (text), (remedy) })

static const int64_t GIB = INT64_C(1) << 30, CLOCKS_APART = 2000;

/* Answers that the database did not give are no findings of their own: the first check tells it. */
static bool database_answers;

static struct finding
check_address(struct cli *c)
{
	const char *url = c->conf->public_url;
	bool local = strncmp(url, "http://localhost", 16) == 0 || strncmp(url, "http://127.", 11) == 0;

	if (strcmp(url, "http://localhost") == 0)
		return FOUND(WARN, "public_url is http://localhost", "Set public_url to the address that clients use.");
	if (strncmp(url, "http://", 7) == 0 && !local && c->conf->require_https)
		return FOUND(FAIL, arena_printf(c->mem, "public_url is %s, but plain HTTP is refused", url),
		    "Use an https:// address, or set http.require_https = no in a trusted network.");
	return FOUND(OK, url, NULL);
}

static struct finding
check_play_key(struct cli *c)
{
	const char *file = c->conf->play_key_file;
	struct stat st;

	if (c->conf->play_key == NULL)
		return FOUND(FAIL, arena_printf(c->mem, "%s is not there", file), "Run `kinothek init`.");
	if (stat(file, &st) == 0 && (st.st_mode & 07) != 0)
		return FOUND(WARN, arena_printf(c->mem, "%s can be read by everyone", file),
		    arena_printf(c->mem, "chmod 0640 %s, with the group of the web server.", file));
	return FOUND(OK, file, NULL);
}

static struct finding
check_database(struct cli *c)
{
	const char *version = db_text(c->db, "SELECT VERSION()", NO_ARGS);
	bool maria;

	database_answers = version != NULL;
	if (version == NULL)
		return FOUND(FAIL, arena_copy(c->mem, db_error(c->db)), cli_db_remedy(c));
	maria = strstr(version, "MariaDB") != NULL;
	if (strverscmp(version, maria ? "10.6" : "8.0.21") < 0)
		return FOUND(FAIL, version, "MariaDB 10.6 or MySQL 8.0.21 is the oldest that works.");
	return FOUND(OK, arena_printf(c->mem, "%s, %s", c->conf->db_name, version), NULL);
}

static struct finding
check_schema(struct cli *c)
{
	struct migrations all;
	const char *fault = migrate_look(c->db, c->mem, schema_dir(c), &all);

	if (fault != NULL)
		return FOUND(
		    FAIL, fault, "Install schema and programs of one version; --schema names another directory.");
	if (all.pending > 0)
		return FOUND(FAIL, arena_printf(c->mem, "%zu of %zu migrations are missing", all.pending, all.n),
		    "Run `kinothek migrate`.");
	if (all.changed > 0)
		return FOUND(WARN, arena_printf(c->mem, "%zu migrations changed since they were applied", all.changed),
		    "Migrations must not change: compare the schema directory with the release.");
	return FOUND(OK, arena_printf(c->mem, "%lld", (long long)all.newest), NULL);
}

static struct finding
check_durability(struct cli *c)
{
	if (db_number(c->db, "SELECT @@innodb_flush_log_at_trx_commit", NO_ARGS, 1) != 1)
		return FOUND(WARN, "innodb_flush_log_at_trx_commit is not 1",
		    "A power failure can lose the last second; set it to 1.");
	if (db_number(c->db, "SELECT @@max_allowed_packet", NO_ARGS, 0) < 16 << 20)
		return FOUND(WARN, "max_allowed_packet is below 16 MiB",
		    "Long transcripts need it: set max_allowed_packet = 64M.");
	return FOUND(OK, "commits reach the disk", NULL);
}

/* One connection beyond max_connections is kept for who administrates: it must not be ours. */
static struct finding
check_connections(struct cli *c)
{
	int64_t most = db_number(c->db, "SELECT @@max_connections", NO_ARGS, 0);
	int64_t need = 4 * sysconf(_SC_NPROCESSORS_ONLN) + 4 * c->conf->job_slots + 20;

	if (db_number(c->db,
		"SELECT COUNT(*) FROM information_schema.user_privileges WHERE grantee = CONCAT(CHAR(39), "
		"REPLACE(CURRENT_USER(), '@', CONCAT(CHAR(39), '@', CHAR(39))), CHAR(39)) AND privilege_type IN "
		"('SUPER', 'CONNECTION ADMIN', 'CONNECTION_ADMIN')",
		NO_ARGS, 0) > 0)
		return FOUND(WARN, "the account may take the connection that is kept for the administrator",
		    "Give it rights to its own database only: GRANT ALL ON kinothek.*, not ON *.*");
	if (most < need)
		return FOUND(WARN,
		    arena_printf(c->mem, "max_connections is %lld, and this machine may need %lld", (long long)most,
			(long long)need),
		    "Raise max_connections by as many for each machine, or requests wait for each other.");
	return FOUND(OK, arena_printf(c->mem, "%lld of %lld are enough", (long long)need, (long long)most), NULL);
}

/* Milliseconds that the clock of a database server is ahead of ours; INT64_MIN: it does not answer. */
static int64_t
clock_ahead(struct cli *c, const char *host)
{
	struct conf conf = *c->conf;
	int64_t before = moment_now().ms, now;
	struct db *db;

	conf.db_hosts = host;
	db = db_open(&conf, DB_API);
	db_use(db, c->mem);
	now = db_number(db, "SELECT " SQL_NOW, NO_ARGS, INT64_MIN);
	db_close(db);
	return now == INT64_MIN ? now : now - (before + moment_now().ms) / 2;
}

static struct finding
check_clock(struct cli *c)
{
	char *hosts = arena_copy(c->mem, c->conf->db_hosts), *host, *rest = hosts;
	int64_t ahead, worst = 0;

	if (hosts == NULL)
		worst = clock_ahead(c, NULL);
	while (hosts != NULL && (host = strsep(&rest, ",")) != NULL) {
		ahead = clock_ahead(c, host);
		if (ahead == INT64_MIN)
			return FOUND(WARN, arena_printf(c->mem, "%s does not answer, so its clock is not known", host),
			    "See whether that server runs, and can be reached from here.");
		if (llabs(ahead) > llabs(worst))
			worst = ahead;
	}
	if (llabs(worst) > CLOCKS_APART)
		return FOUND(WARN,
		    arena_printf(c->mem, "this machine and the database are %.1f s apart", (double)llabs(worst) / 1000),
		    "Let NTP keep both (chrony, systemd-timesyncd): tokens, signed addresses and leases depend on it.");
	return FOUND(
	    OK, arena_printf(c->mem, "agrees with the database within %lld ms", (long long)llabs(worst)), NULL);
}

static struct finding
check_keys(struct cli *c)
{
	int64_t age;

	if (db_number(c->db, "SELECT COUNT(*) FROM signing_keys WHERE retired_at = 0", NO_ARGS, 0) == 0)
		return FOUND(FAIL, "there is none", "Run `kinothek init`.");
	age = (moment_now().ms - db_number(c->db, "SELECT MAX(created_at) FROM signing_keys", NO_ARGS, 0)) / 86400000;
	if (age > 365)
		return FOUND(
		    WARN, arena_printf(c->mem, "made %lld days ago", (long long)age), "Run `kinothek key rotate`.");
	return FOUND(OK, arena_printf(c->mem, "made %lld days ago", (long long)age), NULL);
}

static struct finding
check_tenants(struct cli *c)
{
	int64_t n = db_number(c->db, "SELECT COUNT(*) FROM tenants", NO_ARGS, 0);

	if (n == 0)
		return FOUND(WARN, "there is none", "Run `kinothek tenant create SHORTCODE --name NAME`.");
	return FOUND(OK, arena_printf(c->mem, "%lld", (long long)n), NULL);
}

static struct finding
check_queue(struct cli *c)
{
	int64_t ready = db_number(c->db, "SELECT COUNT(*) FROM jobs WHERE state = 'ready'", NO_ARGS, 0);
	int64_t since = db_number(c->db, "SELECT MIN(run_at) FROM jobs WHERE state = 'ready'", NO_ARGS, 0);
	int64_t busy = db_number(
	    c->db, "SELECT COUNT(*) FROM jobs WHERE state = 'running' AND lease_until > " SQL_NOW, NO_ARGS, 0);
	int64_t waiting = db_number(
	    c->db, "SELECT COUNT(*) FROM jobs WHERE state IN ('waiting', 'delayed')", NO_ARGS, 0);
	int64_t minutes = (moment_now().ms - since) / 60000;

	if (ready > 0 && busy == 0 && minutes >= 10)
		return FOUND(FAIL,
		    arena_printf(c->mem, "%lld jobs are ready, the first for %lld minutes, and nobody works",
			(long long)ready, (long long)minutes),
		    "Start kinothek-jobs; see job.kinds.");
	return FOUND(OK,
	    arena_printf(c->mem, "%lld jobs ready, %lld waiting for others or for their time, %lld running",
		(long long)ready, (long long)waiting, (long long)busy),
	    NULL);
}

static bool
can_write(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno == EOPNOTSUPP || errno == EISDIR;
}

static struct finding
room_in(struct cli *c, const char *dir)
{
	struct statvfs fs;
	int64_t room;

	if (statvfs(dir, &fs) != 0)
		return FOUND(FAIL, arena_printf(c->mem, "%s: %s", dir, strerror(errno)), "Run `kinothek init`.");
	room = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize - c->conf->free_space;
	if (room <= 0)
		return FOUND(FAIL,
		    arena_printf(
			c->mem, "%s is full (free_space = %s stays free)", dir, cli_bytes(c->mem, c->conf->free_space)),
		    "Make room, or uploads are refused and jobs wait.");
	return FOUND(room < 10 * GIB ? WARN : OK, arena_printf(c->mem, "%s, room for %s", dir, cli_bytes(c->mem, room)),
	    room < 10 * GIB ? "Make room soon: one long video can need this much." : NULL);
}

static struct finding
check_store(struct cli *c)
{
	const char *dir = c->conf->data_dir;

	if (!can_write(arena_printf(c->mem, "%s/originals", dir)))
		return FOUND(FAIL, arena_printf(c->mem, "%s/originals cannot be written: %s", dir, strerror(errno)),
		    errno == ENOENT ? "Run `kinothek init`."
				    : "Give data_dir to the account of the programs, and run this as that account.");
	return room_in(c, dir);
}

static struct finding
check_scratch(struct cli *c)
{
	const char *dir = scratch_root(c->conf);

	if (!can_write(dir))
		return FOUND(FAIL, arena_printf(c->mem, "%s cannot be written: %s", dir, strerror(errno)),
		    errno == ENOENT ? "Make the directory that scratch_dir names, then run `kinothek init`."
				    : "Give scratch_dir to the account of the programs, and run this as that account.");
	return room_in(c, dir);
}

static struct finding
check_programs(struct cli *c)
{
	struct buf missing = BUF(c->mem);

	if (!sockets_listen(arena_printf(c->mem, "%s/api.sock", c->conf->run_dir), SOCK_STREAM))
		buf_text(&missing, "kinothek-api ");
	if (!sockets_listen(arena_printf(c->mem, "%s/upload.sock", c->conf->run_dir), SOCK_STREAM))
		buf_text(&missing, "kinothek-upload ");
	if (!sockets_runner(c))
		buf_text(&missing, "kinothek-jobs ");
	if (missing.len == 0)
		return FOUND(OK, "api, upload and jobs listen", NULL);
	return FOUND(WARN, arena_printf(c->mem, "not listening in %s: %s", c->conf->run_dir, buf_string(&missing)),
	    "Start them, unless the web server does (mod_fcgid) or other machines have them.");
}

static struct finding
check_sandbox(struct cli *c)
{
	bool degraded = strcmp(c->conf->sandbox, "degraded") == 0;
	const char *possible = jail_check(c->mem, degraded);

	if (possible == NULL)
		return FOUND(OK, "decoders are isolated", NULL);
	return FOUND(degraded ? WARN : FAIL, arena_printf(c->mem, "this machine cannot isolate decoders: %s", possible),
	    "Linux 5.13 with Landlock and seccomp is wanted (lsm= of the kernel, profile of the container). "
	    "sandbox = degraded runs them without.");
}

static bool
installed(struct cli *c, const char *program)
{
	static const char *const dirs[] = { "/usr/bin", "/bin", "/usr/local/bin" }; /* those of core/jail.h */
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (access(arena_printf(c->mem, "%s/%s", dirs[i], program), X_OK) == 0)
			return true;
	return false;
}

static struct finding
check_ffmpeg(struct cli *c)
{
	static const char *const argv[] = { "ffmpeg", "-hide_banner", "-encoders", NULL };
	const struct jail jail = { .argv = argv, .in = -1, .wall_seconds = 20 };
	struct jail_result r;

	if (!installed(c, "ffmpeg") || !installed(c, "ffprobe"))
		return FOUND(FAIL, "ffmpeg or ffprobe is not installed", "Install the package ffmpeg.");
	if (!jail_run(c->mem, &jail, &r))
		return FOUND(FAIL,
		    arena_printf(c->mem, "ffmpeg does not run in the sandbox: %s", r.err == NULL ? "" : r.err),
		    "See the line about the sandbox.");
	if (strstr(r.out, " libx264 ") == NULL || strstr(r.out, " aac ") == NULL)
		return FOUND(FAIL, "ffmpeg has no encoder libx264 or aac",
		    "Install an ffmpeg with both, as distributions ship it.");
	return FOUND(OK, "ffmpeg with libx264 and aac, ffprobe", NULL);
}

static struct finding
check_documents(struct cli *c)
{
	if (!installed(c, "pdftoppm") || !installed(c, "pdftotext") || !installed(c, "pdfinfo"))
		return FOUND(
		    FAIL, "pdftoppm, pdftotext or pdfinfo is not installed", "Install the package poppler-utils.");
	if (document_libreoffice() == NULL)
		return FOUND(OK, "PDF; office files without preview (no LibreOffice)", NULL);
	return FOUND(OK, "PDF, and office files by LibreOffice", NULL);
}

static struct finding
check_speech(struct cli *c)
{
	const struct engine_settings *set = &c->conf->engine[ENGINE_transcribe];
	const char *model = set->model;

	if (strcmp(set->name, "http") == 0)
		return FOUND(OK, set->url, NULL);
	if (model == NULL)
		model = SPEECH_MODEL;
	if (access(arena_printf(c->mem, "%s/en-us.lm.bin", model), R_OK) != 0)
		return FOUND(WARN, arena_printf(c->mem, "there is no model in %s", model),
		    "Install the package pocketsphinx-en-us, or set engine.transcribe = http.");
	return FOUND(OK, "built-in engine with its model (clean English only)", NULL);
}

static struct finding
check_limits(struct cli *c)
{
	FILE *f = fopen("/proc/sys/net/core/somaxconn", "re");
	struct rlimit files;
	int backlog = 1024;

	if (f != NULL && fscanf(f, "%d", &backlog) != 1)
		backlog = 1024;
	if (f != NULL)
		fclose(f);
	if (backlog < 1024)
		return FOUND(WARN, arena_printf(c->mem, "net.core.somaxconn is %d", backlog),
		    "sysctl net.core.somaxconn=4096: bursts of connections are refused below 1024.");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < 4096)
		return FOUND(WARN, "this account may have fewer than 4096 open files",
		    "Raise the limit (LimitNOFILE= of the unit).");
	return FOUND(OK, "enough connections may wait, and enough files be open", NULL);
}

/* What must stand beside what, in files of web servers that name us. */
static const struct {
	const char *with, *without, *text, *remedy;
} web_rules[] = {
	{ "FcgidWrapper", "FcgidPassHeader", "mod_fcgid drops the Authorization header",
	    "FcgidPassHeader Authorization" },
	{ "FcgidWrapper", "FcgidMaxRequestLen", "mod_fcgid answers 500 to bodies over 128 KiB",
	    "FcgidMaxRequestLen 137438953472" },
	{ "fastcgi.server", "server.max-request-size", "lighttpd takes bodies of any size for the API",
	    "server.max-request-size = 1024" },
};

static struct finding
check_web_file(struct cli *c, const char *file)
{
	char *text = arena_alloc(c->mem, (1 << 18) + 1);
	FILE *f = fopen(file, "re");
	size_t i;

	if (f == NULL)
		return FOUND(OK, NULL, NULL);
	text[fread(text, 1, 1 << 18, f)] = '\0';
	fclose(f);
	if (strstr(text, "kinothek") == NULL)
		return FOUND(OK, NULL, NULL);
	for (i = 0; i < sizeof(web_rules) / sizeof(web_rules[0]); i++)
		if (strstr(text, web_rules[i].with) != NULL && strstr(text, web_rules[i].without) == NULL)
			return FOUND(WARN, arena_printf(c->mem, "%s: %s", file, web_rules[i].text),
			    arena_printf(c->mem, "Add: %s", web_rules[i].remedy));
	return FOUND(OK, file, NULL);
}

static struct finding
check_web_server(struct cli *c)
{
	static const char *const patterns[] = { "/etc/lighttpd/conf-enabled/*", "/etc/lighttpd/lighttpd.conf",
		"/etc/apache2/sites-enabled/*", "/etc/apache2/conf-enabled/*", "/etc/httpd/conf.d/*.conf" };
	struct finding found, first = FOUND(OK, NULL, NULL);
	size_t i, k;
	glob_t g;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (glob(patterns[i], 0, NULL, &g) == 0)
			for (k = 0; k < g.gl_pathc && first.level == OK; k++) {
				found = check_web_file(c, g.gl_pathv[k]);
				if (found.text != NULL)
					first = found;
			}
		globfree(&g);
	}
	if (first.text == NULL)
		return FOUND(WARN, "no configuration of lighttpd or Apache below /etc names kinothek",
		    "Use one of share/kinothek/httpd-conf, unless the web server is on another machine or elsewhere.");
	return first;
}

static const struct {
	const char *name;
	struct finding (*run)(struct cli *);
	bool database;
} checks[] = {
	{ "address", check_address, false },
	{ "play key", check_play_key, false },
	{ "database", check_database, false },
	{ "schema", check_schema, true },
	{ "durability", check_durability, true },
	{ "connections", check_connections, true },
	{ "clock", check_clock, true },
	{ "signing keys", check_keys, true },
	{ "tenants", check_tenants, true },
	{ "queue", check_queue, true },
	{ "store", check_store, false },
	{ "scratch", check_scratch, false },
	{ "programs", check_programs, false },
	{ "sandbox", check_sandbox, false },
	{ "video", check_ffmpeg, false },
	{ "documents", check_documents, false },
	{ "speech", check_speech, false },
	{ "limits", check_limits, false },
	{ "web server", check_web_server, false },
};

static void
print_json(struct cli *c, struct buf *b, const char *name, const struct finding *f)
{
	static const char *const levels[] = { "ok", "warn", "fail" };

	buf_printf(
	    b, "%s{\"check\":\"%s\",\"level\":\"%s\",\"text\":", b->len == 0 ? "[" : ",", name, levels[f->level]);
	buf_json(b, f->text);
	buf_text(b, ",\"remedy\":");
	buf_json(b, f->remedy);
	buf_char(b, '}');
}

static void
print_line(const char *name, const struct finding *f)
{
	static const char *const levels[] = { "ok  ", "warn", "FAIL" };

	printf("%s  %-12s  %s\n", levels[f->level], name, f->text);
	if (f->remedy != NULL)
		printf("      %-12s  -> %s\n", "", f->remedy);
}

int
doctor_run(struct cli *c)
{
	struct buf b = BUF(c->mem);
	struct finding f;
	enum level worst = OK;
	size_t i;

	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (checks[i].database && !database_answers)
			continue;
		f = checks[i].run(c);
		if (checks[i].database && db_failure(c->db) != DB_FINE)
			f = FOUND(FAIL, arena_copy(c->mem, db_error(c->db)), cli_db_remedy(c));
		db_forgive(c->db);
		if (c->json)
			print_json(c, &b, checks[i].name, &f);
		else
			print_line(checks[i].name, &f);
		worst = f.level > worst ? f.level : worst;
	}
	if (c->json)
		printf("%s]\n", buf_string(&b));
	return worst == FAIL ? 1 : 0;
}
