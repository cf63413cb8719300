/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of this machine: room, limits, programs that jobs start. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "core/jail.h"
#include "core/scratch.h"
#include "core/store.h"
#include "core/web.h"
#include "media/document.h"

static const int64_t GIB = INT64_C(1) << 30;

static bool
can_write(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno == EOPNOTSUPP || errno == EISDIR;
}

#define SILENT_DISK "The file system does not answer: the log of the system tells why."

static struct finding
room_in(struct cli *c, const char *dir)
{
	struct statvfs fs;
	int64_t room;

	if (statvfs(dir, &fs) != 0)
		return FOUND(FAIL, arena_printf(c->mem, "%s: %s", dir, strerror(errno)), SILENT_DISK);
	room = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize - c->conf->free_space;
	if (room <= 0)
		return FOUND(FAIL,
		    arena_printf(
			c->mem, "%s is full (free_space = %s stays free)", dir, cli_bytes(c->mem, c->conf->free_space)),
		    "Make room, or uploads are refused and jobs wait.");
	return FOUND(room < 10 * GIB ? WARN : OK, arena_printf(c->mem, "%s, room for %s", dir, cli_bytes(c->mem, room)),
	    room < 10 * GIB ? "Make room soon: one long video can need this much." : NULL);
}

#define CORS_RULE "Give the bucket a CORS rule: AllowedOrigin *, AllowedMethod GET and HEAD, AllowedHeader " \
	"Range, ExposeHeader Content-Length and Content-Range (kinothek.conf(5), store.public_endpoint)."

/* What a browser does with an address of the bucket that a page has led it to. */
static struct finding
try_address(struct cli *c, const char *where)
{
	const char *key = store_key_play(c->mem, uuid_new(), "probe.mp4"), *origin = store_origin(c->conf);
	const char *const headers[] = { arena_printf(c->mem, "Origin: %s", c->conf->public_url), NULL };
	struct web_call call = { .headers = headers, .private_hosts = strstr(origin, "://") + 3, .timeout = 10 };
	const struct moment now = moment_now();
	struct web_answer a = { .end = WEB_BROKEN };
	bool fine = store_write(c->mem, key, strlen(key), key);

	call.url = store_address(c->mem, key, "GET", NULL, now, (struct moment){ now.ms + 60000 });
	fine = fine && web_call(c->mem, &call, &a) && a.size == strlen(key) && memcmp(a.body, key, a.size) == 0;
	store_delete(c->mem, key);
	if (!fine)
		return FOUND(FAIL, a.end == WEB_ANSWERED ? arena_printf(c->mem, "%s does not give what an address of "
		    "it was signed for (status %d)", origin, a.status) : arena_printf(c->mem, "%s: %s", origin,
		    web_sentence(a.end)), "Players get media from there: see that store.public_endpoint, or else "
		    "store.endpoint, leads to the bucket from everywhere, and that the clock of this machine is right.");
	if (a.allow_origin == NULL)
		return FOUND(WARN, arena_printf(c->mem, "%s lets no page read media", where), CORS_RULE);
	if (strncmp(c->conf->public_url, "https:", 6) == 0 && strncmp(origin, "https:", 6) != 0)
		return FOUND(WARN, arena_printf(c->mem, "%s is not https", origin),
		    "Browsers load nothing from there into pages of https: give store.public_endpoint one.");
	return FOUND(OK, arena_printf(c->mem, "%s takes, gives and deletes objects, to players, too", where), NULL);
}

static struct finding
try_bucket(struct cli *c)
{
	const struct conf *conf = c->conf;
	const char *where = arena_printf(c->mem, "%s/%s/%s", conf->store_endpoint, conf->store_bucket,
	    conf->store_prefix != NULL ? conf->store_prefix : "");

	if (!store_open(conf) || !store_probe(c->mem))
		return FOUND(FAIL, arena_printf(c->mem, "%s: %s", where, strerror(errno)),
		    "See that store.endpoint answers, that the bucket is there, and that store.key may read, write, "
		    "list and delete in it; what it has answered is told above.");
	/* Two are asked about all of it; one of them takes. */
	if (conf->store_also != NULL)
		return FOUND(OK, arena_printf(c->mem, "%s and data_dir answer; store = %s is written to", where,
		    conf->store), NULL);
	return try_address(c, where);
}

struct finding
check_store(struct cli *c)
{
	const char *dir = c->conf->data_dir;

	if (!can_write(arena_printf(c->mem, "%s/originals", dir)))
		return FOUND(FAIL, arena_printf(c->mem, "%s/originals cannot be written: %s", dir, strerror(errno)),
		    errno == ENOENT ? "Run `kinothek init`."
				    : "Give data_dir to the account of the programs, and run this as that account.");
	return strcmp(c->conf->store, "s3") == 0 || c->conf->store_also != NULL ? try_bucket(c) : room_in(c, dir);
}

struct finding
check_scratch(struct cli *c)
{
	const char *dir = scratch_root(c->conf);

	if (!can_write(dir))
		return FOUND(FAIL, arena_printf(c->mem, "%s cannot be written: %s", dir, strerror(errno)),
		    errno == ENOENT ? "Make the directory that scratch_dir names, then run `kinothek init`."
				    : "Give scratch_dir to the account of the programs, and run this as that account.");
	return room_in(c, dir);
}

/* Web servers may keep uploads there until they are whole. */
struct finding
check_spool(struct cli *c)
{
	struct statvfs fs;
	int64_t room;

	if (statvfs("/var/tmp", &fs) != 0)
		return FOUND(WARN, arena_printf(c->mem, "/var/tmp: %s", strerror(errno)), errno == ENOENT ?
		    "Make it, with mode 1777." : SILENT_DISK);
	room = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
	return FOUND(room < GIB ? WARN : OK, arena_printf(c->mem, "/var/tmp has room for %s", cli_bytes(c->mem, room)),
	    room < GIB ? "Make room: web servers may keep uploads there until they are whole." : NULL);
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

struct finding
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

struct finding
check_documents(struct cli *c)
{
	if (!installed(c, "pdftoppm") || !installed(c, "pdftotext") || !installed(c, "pdfinfo"))
		return FOUND(
		    FAIL, "pdftoppm, pdftotext or pdfinfo is not installed", "Install the package poppler-utils.");
	if (document_libreoffice() == NULL)
		return FOUND(OK, "PDF; office files without preview (no LibreOffice)", NULL);
	return FOUND(OK, "PDF, and office files by LibreOffice", NULL);
}

/* The first language of the settings that tesseract has no model for, or NULL. */
static const char *
unread(struct cli *c, const char *installed_ones)
{
	const char *at = c->conf->engine[ENGINE_ocr].languages, *language;
	size_t n;

	for (; at != NULL && *at != '\0'; at += n, at += strspn(at, ",")) {
		n = strcspn(at, ",");
		language = arena_copy_n(c->mem, at, n);
		if (strstr(installed_ones, arena_printf(c->mem, "\n%s\n", language)) == NULL)
			return language;
	}
	return NULL;
}

/* The package of chi_sim is called chi-sim. */
static const char *
packaged(struct cli *c, const char *language)
{
	char *name = arena_copy_n(c->mem, language, strlen(language)), *at;

	for (at = name; (at = strchr(at, '_')) != NULL; at++)
		*at = '-';
	return name;
}

struct finding
check_ocr(struct cli *c)
{
	const char *const argv[] = { "tesseract", "--list-langs", NULL };
	const struct jail jail = { .argv = argv, .in = -1, .wall_seconds = 30, .threads_only = true };
	struct jail_result r = { 0 };
	const char *missing;

	if (!installed(c, "tesseract"))
		return FOUND(WARN, "tesseract is not installed: text on slides and pictures is not read",
		    "Install the packages tesseract-ocr and tesseract-ocr-deu.");
	if (!jail_run(c->mem, &jail, &r))
		return FOUND(WARN, "tesseract does not run", "See \"sandbox\" above, or install tesseract-ocr anew.");
	missing = unread(c, r.out);
	if (missing != NULL)
		return FOUND(WARN, arena_printf(c->mem, "tesseract has no model for %s", missing), arena_printf(c->mem,
		    "Install the package tesseract-ocr-%s, or change engine.ocr.languages.", packaged(c, missing)));
	return FOUND(OK, arena_printf(c->mem, "text is read in %s", c->conf->engine[ENGINE_ocr].languages), NULL);
}

struct finding
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
