/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek setup: from installed programs to a running service.  A step looks first, so it may be killed anywhere and
 * run again; what it does goes through the acts below, which only tell of it in a dry run.
 */
#ifndef CLI_SITE_H
#define CLI_SITE_H

#include <pwd.h>
#include <sys/types.h>

#include "cli/cli.h"

#define SITE_DIR "/etc/kinothek"
#define SITE_SETTINGS SITE_DIR "/kinothek.conf"
#define SITE_PASSWORD SITE_DIR "/db.password"
/* What it keeps beside the settings, and what their administrator puts there for it: belongs into a backup. */
#define SITE_BESIDE "setup.answers", "lighttpd.local", "apache.local", "tls/cert.pem", "tls/key.pem"

struct site {
	struct cli *c;
	struct arena *mem;
	const struct conf *conf;	/* as they are; as they will be, from step_settings() on */

	/* answers */
	const char *url, *web, *tls, *cert, *key, *email, *db, *live, *tenant;
	bool first, dry, start;

	const char *host, *port;	/* of url; port is never empty */
	bool https;
	const struct passwd *user;	/* of the programs; NULL in a dry run that would make it */
	gid_t web_group;

	bool changed;			/* something that the web server reads, since the certificate was looked at */
	const char *step;		/* its name */
	const char *said;		/* what the last program that was run said last */
};

/* "kinothek: setup, STEP: …", and below it what helps (or NULL).  Returns the status. */
int site_fail(const struct site *, int status, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What became of the step: one line. */
void site_say(const struct site *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Acts.  Files are written whole, under another name first; one that holds the same already is given its owner and
 * mode.  False: errno. */
struct site_file {
	const char *path, *bytes;
	size_t n;
	uid_t uid;
	gid_t gid;
	mode_t mode;
};
bool site_put(struct site *, const struct site_file *);
bool site_make_dir(struct site *, const char *path, uid_t, gid_t, mode_t);

/* Runs a program and waits for it.  Returns its status, 127 when it is not there; ->said has its last line.  site_ask()
 * is for one that changes nothing, and runs in a dry run too. */
int site_run(struct site *, const char *const *argv);
int site_ask(struct site *, const char *const *argv);
#define SITE_RUN(s, ...) site_run((s), (const char *const[]){ __VA_ARGS__, NULL })
#define SITE_ASK(s, ...) site_ask((s), (const char *const[]){ __VA_ARGS__, NULL })

/* This program once more, with its output on a descriptor. */
int site_kinothek(struct site *, int out, const char *const *arg);
#define SITE_KINOTHEK(s, out, ...) site_kinothek((s), (out), (const char *const[]){ __VA_ARGS__, NULL })

/* The whole file, or NULL with errno. */
char *site_read(struct site *, const char *path);

/* systemd runs on this machine, and the services may be started. */
bool site_has_systemd(const struct site *);

/* Steps: 0, or the status that `kinothek setup` ends with. */
int step_account(struct site *);
int step_settings(struct site *);
int step_database(struct site *);
int step_schema(struct site *);
int step_certificate(struct site *);
int step_web_server(struct site *);
int step_services(struct site *);
int step_tenant(struct site *);
int step_doctor(struct site *);

/* Where the web server finds certificate and key: copies that its group may read. */
#define SITE_TLS SITE_DIR "/tls"
#define SITE_CERT SITE_TLS "/cert.pem"
#define SITE_KEY SITE_TLS "/key.pem"

/* The site as a file of the web server, with or without TLS. */
int site_write(struct site *, bool tls);

/* The answer of /readyz through the web server, or 0. */
int site_ready(const struct site *);

#endif
