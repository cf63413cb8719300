/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of kinothek setup: account, settings, database, schema, services, tenant. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/setup.h"
#include "cli/site.h"

enum { READY_SECONDS = 30 };

int
step_account(struct site *s)
{
	const struct group *web = getgrnam(WEB_GROUP);
	bool made = getpwnam(ACCOUNT) == NULL;

	if (made &&
	    SITE_RUN(s, "useradd", "--system", "--user-group", "--no-create-home", "--home-dir", s->conf->data_dir,
		"--shell", "/usr/sbin/nologin", "--comment", "Kinothek media service", ACCOUNT) != 0)
		return site_fail(s, EX_CANTCREAT, NULL, "%s cannot be made: %s", ACCOUNT, s->said);
	s->user = getpwnam(ACCOUNT);
	s->web_group = web == NULL ? 0 : web->gr_gid;
	if (s->user == NULL && !s->dry)
		return site_fail(s, EX_CANTCREAT, NULL, "there is still no account %s", ACCOUNT);
	site_say(s, "%s%s", ACCOUNT, made ? ", made" : "");
	return 0;
}

/* The settings with one line changed, or one more. */
static const char *
with_setting(struct site *s, const char *text, const char *key, const char *value)
{
	struct buf b = BUF(s->mem);
	const char *line, *word;
	bool found = false;
	size_t n, end;

	for (line = text; *line != '\0'; line += end) {
		n = strcspn(line, "\n");
		end = n + (line[n] == '\n');
		word = line + strspn(line, " \t");
		if (strncmp(word, key, strlen(key)) == 0 && strchr(" \t=", word[strlen(key)]) != NULL) {
			buf_printf(&b, "%s = %s\n", key, value);
			found = true;
		} else {
			buf_add(&b, line, n);
			buf_char(&b, '\n');
		}
	}
	if (!found)
		buf_printf(&b, "%s = %s\n", key, value);
	return buf_string(&b);
}

/* The password of a database that is elsewhere, for the programs to read. */
static int
take_password(struct site *s)
{
	const char *from = cli_option(s->c, "db-password-file"), *text;

	if (from == NULL)
		return 0;
	text = site_read(s, from);
	if (text == NULL || text[strspn(text, "\r\n")] == '\0')
		return site_fail(
		    s, EX_NOINPUT, NULL, "--db-password-file %s: %s", from, text == NULL ? strerror(errno) : "empty");
	if (!site_put(s,
		&(struct site_file){
		    SITE_PASSWORD, text, strlen(text), 0, s->user == NULL ? 0 : s->user->pw_gid, 0640 }))
		return site_fail(s, EX_CANTCREAT, NULL, "%s cannot be written: %s", SITE_PASSWORD, strerror(errno));
	return 0;
}

int
step_settings(struct site *s)
{
	const char *old = site_read(s, SITE_SETTINGS), *text = old;
	bool moved = old != NULL && strcmp(s->conf->public_url, s->url) != 0;
	int status;

	if ((status = take_password(s)) != 0)
		return status;
	if (old == NULL)
		text =
		    "# Settings of Kinothek, see kinothek.conf(5).  Made by kinothek setup; add lines of your own.\n";
	if (old == NULL || moved)
		text = with_setting(s, text, "public_url", s->url);
	if (!s->https && (old == NULL || s->conf->require_https))
		text = with_setting(s, text, "http.require_https", "no");
	if (strcmp(s->db, "local") != 0 && (s->conf->db_hosts == NULL || strcmp(s->conf->db_hosts, s->db) != 0))
		text = with_setting(s, text, "db.hosts", s->db);
	if (cli_option(s->c, "db-password-file") != NULL && s->conf->db_password == NULL)
		text = with_setting(s, text, "db.password_file", SITE_PASSWORD);
	if (text != old && !site_put(s, &(struct site_file){ SITE_SETTINGS, text, strlen(text), 0, 0, 0644 }))
		return site_fail(s, EX_CANTCREAT, NULL, "%s cannot be written: %s", SITE_SETTINGS, strerror(errno));
	if (!s->dry)
		s->conf = conf_load_setup();
	site_say(s, "%s%s", SITE_SETTINGS,
	    old == NULL       ? ", made"
		: moved       ? ": public_url is another now, and tokens that were given out are invalid"
		: text != old ? ", changed"
			      : "");
	return 0;
}

/* Does the account of the programs get in?  The schema may be none yet. */
static bool
gets_in(struct site *s)
{
	int status = SITE_KINOTHEK(s, -1, "migrate", "--check");

	return status == 0 || status == 1 || status == EX_DATAERR;
}

static bool
is_plain_name(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
}

/* By the administrator's own way in: root at the socket.  NULL, or what the server says. */
static const char *
make_database(struct site *s)
{
	const char *name = s->conf->db_name, *user = s->conf->db_user, *fault;
	struct conf root = *s->conf;
	struct db *db;

	root.db_user = "root";
	root.db_password = root.db_name = NULL;
	db = db_open(&root, DB_ADMIN);
	db_use(db, s->mem);
	fault = db_script(db,
	    arena_printf(s->mem,
		"CREATE DATABASE IF NOT EXISTS %s CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci; "
		"CREATE USER IF NOT EXISTS %s@localhost IDENTIFIED VIA unix_socket; "
		"GRANT ALL ON %s.* TO %s@localhost",
		name, user, name, user));
	fault = arena_copy(s->mem, fault);
	db_close(db);
	return fault;
}

static int
make_local(struct site *s)
{
	const char *fault;

	if (access(s->conf->db_socket, F_OK) != 0 && site_has_systemd(s))
		SITE_RUN(s, "systemctl", "start", "mariadb");
	if (gets_in(s)) {
		site_say(s, "%s is there, and %s gets in", s->conf->db_name, s->conf->db_user);
		return 0;
	}
	if (access(s->conf->db_socket, F_OK) != 0 && !s->dry)
		return site_fail(s, EX_UNAVAILABLE, "apt install mariadb-server; or --db HOST --db-password-file FILE",
		    "no server listens on %s", s->conf->db_socket);
	if (!is_plain_name(s->conf->db_name) || !is_plain_name(s->conf->db_user))
		return site_fail(s, EX_CONFIG, "Make both by hand, or take letters, digits and _.",
		    "db.name and db.user are no plain names");
	if (s->dry) {
		site_say(s, "would make database %s and account %s", s->conf->db_name, s->conf->db_user);
		return 0;
	}
	if ((fault = make_database(s)) != NULL)
		return site_fail(s, EX_UNAVAILABLE, "Root must get in by the socket: mariadb -e 'SELECT 1'",
		    "database and account cannot be made: %s", fault);
	if (!gets_in(s))
		return site_fail(s, EX_UNAVAILABLE,
		    arena_printf(s->mem, "See: mariadb -e \"SHOW CREATE USER %s@localhost\"", s->conf->db_user),
		    "%s still does not get in: %s", s->conf->db_user, s->said);
	site_say(s, "%s, made; %s comes in by the socket, without a password", s->conf->db_name, s->conf->db_user);
	return 0;
}

int
step_database(struct site *s)
{
	const char *name = s->conf->db_name, *user = s->conf->db_user;

	if (s->conf->db_hosts == NULL)
		return make_local(s);
	if (!s->dry && !gets_in(s))
		return site_fail(s, EX_UNAVAILABLE,
		    arena_printf(s->mem,
			"Its administrator must have done: CREATE DATABASE %s CHARACTER SET utf8mb4; "
			"CREATE USER %s@'%%' IDENTIFIED BY '…'; GRANT ALL ON %s.* TO %s@'%%'; the password goes into "
			"--db-password-file FILE.",
			name, user, name, user),
		    "%s does not get in at %s: %s", user, s->conf->db_hosts, s->said);
	site_say(s, "%s at %s", name, s->conf->db_hosts);
	return 0;
}

int
step_schema(struct site *s)
{
	int status;

	if (s->dry) {
		site_say(s, "would run kinothek init");
		return 0;
	}
	if (!site_make_dir(s, s->conf->run_dir, s->user->pw_uid, s->user->pw_gid, 0755) ||
	    !site_make_dir(s, arena_printf(s->mem, "%s/acme", s->conf->run_dir), 0, 0, 0755))
		return site_fail(s, EX_CANTCREAT, NULL, "%s cannot be made: %s", s->conf->run_dir, strerror(errno));
	status = SITE_KINOTHEK(s, -1, "init");
	if (status != 0)
		return site_fail(s, status, "kinothek init", "keys, store or tables cannot be made: %s", s->said);
	SITE_KINOTHEK(s, -1, "migrate");
	site_say(s, "%s, keys and store are there", s->said);
	return 0;
}

/* Livestreams are for who wants them, since their port is open to all.  What was never said stays as it is. */
static int
serve_live(struct site *s)
{
	if (s->live == NULL)
		return 0;
	if (strcmp(s->live, "no") == 0) {
		SITE_RUN(s, "systemctl", "disable", "--now", "kinothek-live.socket", "kinothek-live.service");
		return 0;
	}
	return SITE_RUN(s, "systemctl", "enable", "--now", "kinothek-live.socket", "kinothek-live.service");
}

int
step_services(struct site *s)
{
	static const char *const units[] = { "kinothek-api.socket", "kinothek-events.socket",
		"kinothek-upload.socket", "kinothek-api.service", "kinothek-events.service", "kinothek-upload.service",
		"kinothek-jobs.service" };
	const int count = (int)(sizeof(units) / sizeof(units[0]));
	int i, status = 0;

	if (!site_has_systemd(s)) {
		site_say(s,
		    s->start ? "systemd does not run here: start api, events, upload and jobs by your own means"
			     : "not started");
		return 0;
	}
	SITE_RUN(s, "systemctl", "daemon-reload");
	SITE_RUN(s, "systemctl", "reset-failed", "kinothek-*");
	SITE_RUN(s, "systemctl", "restart", "kinothek-migrate.service");
	for (i = 0; status == 0 && i < count; i++)
		if ((status = SITE_RUN(s, "systemctl", "enable", units[i])) == 0)
			status = SITE_RUN(s, "systemctl", "start", units[i]);
	if (status != 0)
		return site_fail(s, EX_UNAVAILABLE, "journalctl -n 20 -u 'kinothek-*'", "%s does not start: %s",
		    units[i - 1], s->said);
	status = serve_live(s);
	if (status != 0)
		return site_fail(s, EX_UNAVAILABLE, "journalctl -n 20 -u 'kinothek-live*'",
		    "kinothek-live does not start: %s", s->said);
	for (i = 0; !s->dry && strcmp(s->web, "none") != 0 && i < READY_SECONDS * 5 && (status = site_ready(s)) != 200;
	     i++)
		usleep(200000);
	if (status != 0 && status != 200)
		return site_fail(s, EX_UNAVAILABLE, "journalctl -n 20 -u 'kinothek-*'", "/readyz answers %d", status);
	if (i == READY_SECONDS * 5)
		return site_fail(s, EX_UNAVAILABLE,
		    arena_printf(s->mem, "systemctl status %s", strcmp(s->web, "apache") == 0 ? "apache2" : s->web),
		    "the web server does not answer for %s", s->host);
	site_say(s, s->live != NULL && strcmp(s->live, "yes") == 0 ? "api, events, upload, jobs and live run; encoders "
	    "send to port 1935" : "api, events, upload and jobs run");
	return 0;
}

/* The secret is shown once: to whom it was asked for, or into a file for root alone. */
static int
make_tenant(struct site *s, const char *file)
{
	const char *name = cli_option(s->c, "tenant-name"), *draft = NULL;
	int out = 1, status;

	if (file != NULL) {
		draft = arena_printf(s->mem, "%s.new", file);
		unlink(draft);
		out = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (out < 0)
		return site_fail(s, EX_CANTCREAT, NULL, "--secret-file %s: %s", file, strerror(errno));
	status = SITE_KINOTHEK(s, out, "tenant", "create", s->tenant, "--name", name == NULL ? s->tenant : name,
	    file == NULL ? NULL : "--json");
	if (file != NULL)
		close(out);
	if (file != NULL && (status == 0 ? rename(draft, file) : unlink(draft)) != 0)
		return site_fail(s, EX_CANTCREAT, NULL, "--secret-file %s: %s", file, strerror(errno));
	return status;
}

int
step_tenant(struct site *s)
{
	int status;

	if (s->tenant == NULL || s->dry) {
		site_say(s,
		    s->tenant == NULL ? "none asked for: kinothek tenant create SHORTCODE --name NAME"
				      : "would make it, unless it is there");
		return 0;
	}
	status = make_tenant(s, cli_option(s->c, "secret-file"));
	if (status == EX_DATAERR) {
		site_say(s, "%s is there; a secret that was lost: kinothek client list %s, kinothek client rotate ID",
		    s->tenant, s->tenant);
		return 0;
	}
	if (status != 0)
		return site_fail(s, status, NULL, "%s cannot be made: %s", s->tenant, s->said);
	site_say(s, "%s, made", s->tenant);
	return 0;
}

int
step_doctor(struct site *s)
{
	if (s->dry)
		return 0;
	puts("");
	return SITE_KINOTHEK(s, 1, "doctor");
}
