/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ends of programs and errno as reasons; see fault.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/fault.h"
#include "core/text.h"

enum { LOG_MAX = 1024, ASK_MS = 30000, PIECE = 1 << 16 };

/* Errors that lie in the machine.  `said`: programs write them as strerror() does, and mean the same by them. */
static const struct { int error; enum reason reason; bool said; } errors[] = {
	{ ENOSPC, REASON_NO_SPACE, true },
	{ EDQUOT, REASON_NO_SPACE, true },
	{ EROFS, REASON_STORAGE, true },
	{ ESTALE, REASON_STORAGE, true },
	{ ENOTCONN, REASON_STORAGE, true },
	{ ETIMEDOUT, REASON_STORAGE, true },
	{ EHOSTDOWN, REASON_STORAGE, true },
	{ EREMOTEIO, REASON_STORAGE, true },
	{ EIO, REASON_STORAGE, false },		/* also what a demuxer says of a file that is cut off */
	{ ENFILE, REASON_BUSY, true },
	{ EMFILE, REASON_BUSY, false },		/* a program may have its own limit in mind */
	{ EAGAIN, REASON_BUSY, false },
	{ ENOMEM, REASON_BUSY, false },
};

bool
fault_set(struct arena *mem, struct fault *fault, enum reason reason, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	*fault = (struct fault){ .reason = reason, .detail = arena_vprintf(mem, format, ap) };
	va_end(ap);
	return false;
}

enum reason
fault_reason(int error, enum reason otherwise)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == error)
			return errors[i].reason;
	return otherwise;
}

bool
fault_of_errno(struct arena *mem, int error, struct fault *fault, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	*fault = (struct fault){ .reason = fault_reason(error, REASON_INTERNAL), .detail = arena_vprintf(mem, format,
	    ap), .log = error == 0 ? NULL : arena_printf(mem, "error %d: %s", error, strerrordesc_np(error)) };
	va_end(ap);
	return false;
}

bool
fault_is_final(const struct fault *fault)
{
	return reason_info(fault->reason)->class == CLASS_FINAL;
}

/* Counted by the kernel since boot. */
bool
fault_memory_was_short(void)
{
	static long seen = -1;
	FILE *f = fopen("/proc/vmstat", "re");
	char line[128];
	long n = 0, before = seen;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "oom_kill %ld", &n) == 1)
			break;
	if (f != NULL)
		fclose(f);
	seen = n;
	return before >= 0 && n > before;
}

/* Signals that no program sends itself by a fault of its own come from outside. */
enum reason
fault_of_signal(int sig)
{
	bool short_of_memory = fault_memory_was_short();

	switch (sig) {
	case SIGKILL:
		return short_of_memory ? REASON_MEMORY_LIMIT : REASON_INTERRUPTED;
	case SIGTERM:
	case SIGINT:
	case SIGHUP:
		return REASON_INTERRUPTED;
	case SIGXCPU:
		return REASON_TIME_LIMIT;
	case SIGXFSZ:
		return REASON_NO_SPACE;
	default:
		return REASON_CRASHED;
	}
}

/* An error of the storage while a file is read to its end, or 0. */
static int
read_error(struct arena *mem, int fd, int64_t until)
{
	char *bytes = arena_alloc(mem, PIECE);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, bytes, PIECE, at)) > 0 && clock_ms() < until)
		at += n;
	return n < 0 && fault_reason(errno, REASON_NONE) == REASON_STORAGE ? errno : 0;
}

static int
write_error(struct arena *mem, const char *dir)
{
	const char *path = arena_printf(mem, "%s/.asked", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int error = fd < 0 || write(fd, path, 1) != 1 || fsync(fd) != 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	unlink(path);
	return fault_reason(error, REASON_NONE) == REASON_STORAGE ? error : 0;
}

/* Does what the program had to read and write give errors to us as well? */
static int
ask_storage(struct arena *mem, const struct jail *jail)
{
	const int64_t until = clock_ms() + ASK_MS;
	int error = jail->in >= 0 ? read_error(mem, jail->in, until) : 0, fd;

	for (size_t i = 0; error == 0 && jail->read != NULL && jail->read[i] != NULL; i++) {
		fd = open(jail->read[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0) {
			error = fault_reason(errno, REASON_NONE) == REASON_STORAGE ? errno : 0;
			continue;
		}
		error = read_error(mem, fd, until);
		close(fd);
	}
	return error != 0 || jail->write_dir == NULL ? error : write_error(mem, jail->write_dir);
}

/* What the program says of the machine, REASON_NONE: nothing. */
static enum reason
said(struct arena *mem, const struct jail *jail, const char *err)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].said && strstr(err, strerrordesc_np(errors[i].error)) != NULL)
			return errors[i].reason;
	if (strstr(err, strerrordesc_np(EIO)) != NULL && ask_storage(mem, jail) != 0)
		return REASON_STORAGE;
	if (strstr(err, strerrordesc_np(ENOMEM)) != NULL || strstr(err, "bad_alloc") != NULL)
		return REASON_MEMORY_LIMIT;		/* it has a limit of its own */
	return REASON_NONE;
}

/* An asset that is soft-deleted or recovered takes its files with it: a program that opens one a moment later finds
 * none. */
static bool
has_moved(const struct jail *jail, const char *err)
{
	if (strstr(err, strerror(ENOENT)) == NULL)
		return false;
	for (size_t i = 0; jail->read != NULL && jail->read[i] != NULL; i++)
		if (access(jail->read[i], F_OK) != 0 && errno == ENOENT)
			return true;
	return false;
}

/* The jail tells the step at which it failed, and errno where there was one. */
static enum reason
reason_of_want(const char *why)
{
	const char *number = strstr(why, ": error ");

	return number == NULL ? REASON_BUSY : fault_reason((int)strtol(number + 8, NULL, 10), REASON_BUSY);
}

/* ffmpeg mentions some failures to read and write but exits with 0. */
static enum reason
reason_of_exit(int status, enum reason by_words)
{
	if (status == 0)
		return by_words == REASON_NO_SPACE || by_words == REASON_STORAGE ? by_words : REASON_NONE;
	if (by_words != REASON_NONE)
		return by_words;
	return status == EX_USAGE ? REASON_INTERNAL : REASON_CRASHED;
}

/* A page of a mapped file that cannot be read is a bus error; a library that gets no memory aborts. */
static enum reason
reason_of_crash(struct arena *mem, const struct jail *jail, const struct jail_result *r, enum reason by_signal)
{
	enum reason by_words;

	if (by_signal != REASON_CRASHED)
		return by_signal;
	if (r->status == SIGBUS && ask_storage(mem, jail) != 0)
		return REASON_STORAGE;
	by_words = said(mem, jail, r->err);
	return by_words != REASON_NONE ? by_words : REASON_CRASHED;
}

static enum reason
reason_of(struct arena *mem, const struct jail *jail, const struct jail_result *r)
{
	switch (r->end) {
	case JAIL_EXITED:
		if (r->status != 0 && has_moved(jail, r->err))
			return REASON_INTERRUPTED;
		return reason_of_exit(r->status, said(mem, jail, r->err));
	case JAIL_SIGNALLED:
		return reason_of_crash(mem, jail, r, fault_of_signal(r->status));
	case JAIL_KILLED:
		return fault_of_signal(SIGKILL);
	case JAIL_MEMORY:
		return REASON_MEMORY_LIMIT;
	case JAIL_IDLE:
		return REASON_NO_PROGRESS;
	case JAIL_WALL:
	case JAIL_CPU:
		return REASON_TIME_LIMIT;
	case JAIL_STOPPED:
		return REASON_OUTPUT_INVALID;
	case JAIL_MISSING:
		return REASON_PROGRAM_MISSING;
	case JAIL_NO_ISOLATION:
		return REASON_SANDBOX;
	case JAIL_WANT:
		return reason_of_want(r->err);
	}
	return REASON_INTERNAL;
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static const char *
how_it_ended(struct arena *mem, const struct jail_result *r)
{
	switch (r->end) {
	case JAIL_EXITED: return arena_printf(mem, "ended with status %d", r->status);
	case JAIL_SIGNALLED: case JAIL_KILLED:
		return arena_printf(mem, "ended by signal %d (%s)", r->status, strsignal(r->status));
	case JAIL_MEMORY: return "held more memory than it may";
	case JAIL_IDLE: return "made no progress";
	case JAIL_WALL: return "took too long";
	case JAIL_CPU: return "took too much time of the processor";
	case JAIL_STOPPED: return "was stopped because of what it wrote";
	case JAIL_MISSING: case JAIL_NO_ISOLATION: case JAIL_WANT: break;
	}
	return "could not be started";
}

/* All but the last component of absolute paths goes; so do addresses of memory ("[mov @ 0x55d1c0]"). */
static void
add_cleaned(struct buf *out, const char *text)
{
	const char *word, *end;

	while (*text != '\0') {
		if (strncmp(text, " @ 0x", 5) == 0) {
			for (text += 5; isxdigit((unsigned char)*text); text++)
				continue;
			continue;
		}
		if (*text == '/' && (out->len == 0 || strchr(" \t\n\"'`([<=:,", out->text[out->len - 1]) != NULL)) {
			end = text + strcspn(text, " \t\n\"'`)>:,;");
			for (word = end; word[-1] != '/'; word--)
				continue;
			if (word < end)
				buf_add(out, word, (size_t)(end - word));
			text = end;
			continue;
		}
		buf_char(out, *text == '\n' || ((unsigned char)*text >= 0x20 && *text != 0x7f) ? *text : ' ');
		text++;
	}
}

/* A path that we gave to the program may hold blanks, which end a word: its directory goes first. */
static const char *
without_dir(struct arena *mem, const char *text, const char *path, bool is_dir)
{
	size_t n = is_dir ? strlen(path) : (size_t)(base_name(path) - path);
	struct buf out = BUF(mem);
	const char *at;

	if (n < 2)
		return text;
	while ((at = strstr(text, arena_copy_n(mem, path, n))) != NULL) {
		buf_add(&out, text, (size_t)(at - text));
		text = at + n + (is_dir && at[n] == '/');
	}
	buf_text(&out, text);
	return buf_string(&out);
}

/* The last lines, whole ones where they fit. */
static const char *
last_lines(const char *text)
{
	size_t n = strlen(text);
	const char *line;

	if (n <= LOG_MAX)
		return text;
	text += n - LOG_MAX;
	line = strchr(text, '\n');
	return line != NULL && line[1] != '\0' ? line + 1 : text;
}

static const char *
log_of(struct arena *mem, const struct jail *jail, const struct jail_result *r)
{
	struct buf cleaned = BUF(mem);
	const char *err = r->err;

	for (size_t i = 0; jail->read != NULL && jail->read[i] != NULL; i++)
		err = without_dir(mem, err, jail->read[i], false);
	if (jail->write_dir != NULL)
		err = without_dir(mem, err, jail->write_dir, true);
	add_cleaned(&cleaned, err);
	return arena_printf(mem, "%s %s after %.1f s (%.1f s of the processor, %" PRId64 " MiB)\n%s",
	    base_name(jail->argv[0]), how_it_ended(mem, r), (double)r->wall_ms / 1000, (double)r->cpu_ms / 1000,
	    r->peak_rss >> 20, last_lines(buf_string(&cleaned)));
}

bool
fault_of_jail(struct arena *mem, const struct jail *jail, const struct jail_result *r, struct fault *fault)
{
	*fault = (struct fault){ .reason = reason_of(mem, jail, r) };
	if (fault->reason == REASON_NONE)
		return true;
	fault->log = log_of(mem, jail, r);
	if (fault->reason == REASON_PROGRAM_MISSING)
		fault->detail = arena_printf(mem, "%s is not there.", base_name(jail->argv[0]));
	else if (fault->reason == REASON_CRASHED || fault->reason == REASON_NO_PROGRESS ||
	    fault->reason == REASON_TIME_LIMIT || fault->reason == REASON_INTERRUPTED)
		fault->detail = arena_printf(mem, "%s %s.", base_name(jail->argv[0]), how_it_ended(mem, r));
	return false;
}
