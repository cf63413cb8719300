/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek init, migrate, settings: what a new installation needs. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/setup.h"
#include "core/key.h"
#include "core/migrate.h"
#include "core/scratch.h"
#include "core/store.h"
#include "core/token.h"

#ifndef KINOTHEK_SCHEMA_DIR
#define KINOTHEK_SCHEMA_DIR "/usr/local/share/kinothek/schema"
#endif

const char *
schema_dir(const struct cli *c)
{
	const char *dir = cli_option(c, "schema");

	return dir == NULL ? KINOTHEK_SCHEMA_DIR : dir;
}

/* The programs' account and the web server's go through them, whatever umask root has. */
static bool
make_parents(struct arena *mem, const char *file)
{
	char *path = arena_copy(mem, file), *p;

	for (p = path + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		if (mkdir(path, 0755) == 0 ? chmod(path, 0755) != 0 : errno != EEXIST)
			return false;
	}
	return true;
}

/* For the programs and the web server, so that this one needs to be in no group of theirs.  What is not root's doing
 * stays as it is. */
static bool
share_key(int fd)
{
	const struct passwd *user = geteuid() == 0 ? getpwnam(ACCOUNT) : NULL;
	const struct group *web = user == NULL ? NULL : getgrnam(WEB_GROUP);

	if (user == NULL)
		return fchmod(fd, 0640) == 0;
	return fchown(fd, user->pw_uid, web == NULL ? user->pw_gid : web->gr_gid) == 0 && fchmod(fd, 0440) == 0;
}

/* Written under another name first, so that a key that is there is a whole one. */
static bool
write_key(struct arena *mem, const char *file)
{
	unsigned char key[32];
	const char *line, *draft = arena_printf(mem, "%s.%d", file, (int)getpid());
	bool fine;
	int fd;

	random_bytes(key, sizeof(key));
	line = arena_printf(mem, "%s\n", hex_encode(mem, key, sizeof(key)));
	fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (fd < 0)
		return false;
	fine = write(fd, line, strlen(line)) == (ssize_t)strlen(line) && share_key(fd) && fsync(fd) == 0;
	close(fd);
	fine = fine && link(draft, file) == 0;
	unlink(draft);
	return fine;
}

static int
init_play_key(struct cli *c, bool *made)
{
	const char *file = c->conf->play_key_file;

	*made = false;
	if (c->conf->play_key != NULL)
		return 0;
	if (!make_parents(c->mem, file) || !write_key(c->mem, file))
		return cli_fail(c, errno == EACCES ? EX_NOPERM : EX_CANTCREAT, "play.key_file %s cannot be made: %s",
		    file, strerror(errno));
	*made = true;
	return 0;
}

/* A directory of root goes to the account that will write to it. */
static bool
give_away(const char *path, const struct passwd *user)
{
	struct stat st;

	return lstat(path, &st) != 0 || st.st_uid != 0 || !S_ISDIR(st.st_mode) ||
	    lchown(path, user->pw_uid, user->pw_gid) == 0;
}

static int
init_store(struct cli *c)
{
	const struct passwd *user = geteuid() == 0 ? getpwnam(ACCOUNT) : NULL;
	const char *path = c->conf->data_dir;
	size_t i;

	if (!make_parents(c->mem, path) || !store_open(c->conf))
		return cli_fail(c, errno == EACCES ? EX_NOPERM : EX_CANTCREAT, "data_dir %s cannot be made: %s", path,
		    strerror(errno));
	for (i = 0; user != NULL && path != NULL; i++) {
		if (!give_away(path, user))
			return cli_fail(
			    c, EX_CANTCREAT, "%s cannot be given to %s: %s", path, ACCOUNT, strerror(errno));
		path = store_tops[i];
		if (path != NULL)
			path = arena_printf(c->mem, "%s/%s", c->conf->data_dir, path);
	}
	return 0;
}

static int
init_scratch(struct cli *c)
{
	const struct passwd *user = geteuid() == 0 ? getpwnam(ACCOUNT) : NULL;
	const char *root = scratch_root(c->conf);

	if (!make_parents(c->mem, root) || !scratch_open(c->conf))
		return cli_fail(c, errno == EACCES ? EX_NOPERM : EX_CANTCREAT, "scratch_dir %s cannot be made: %s",
		    root, strerror(errno));
	if (user != NULL && (!give_away(root, user) || !give_away(scratch_here(c->mem), user)))
		return cli_fail(c, EX_CANTCREAT, "%s cannot be given to %s: %s", root, ACCOUNT, strerror(errno));
	return 0;
}

static bool quiet;

static void
say_migration(const struct migration *m)
{
	if (!quiet)
		printf("applying %s\n", m->name);
}

static int
migrate(struct cli *c, struct migrations *all)
{
	const char *fault;
	size_t i;

	quiet = c->json;
	fault = migrate_run(c->db, c->mem, schema_dir(c), say_migration, all);
	if (fault != NULL && db_failure(c->db) == DB_LOST)
		return cli_fail_db(c);
	if (fault != NULL)
		return cli_fail(c, EX_DATAERR, "%s", fault);
	for (i = 0; i < all->n; i++)
		if (all->at[i].changed)
			cli_fail(c, 0, "warning: %s has changed since it was applied; the database has its older form",
			    all->at[i].name);
	return 0;
}

int
migrate_command(struct cli *c)
{
	struct migrations all;
	const char *fault;
	int status;

	if (cli_option(c, "check") != NULL) {
		fault = migrate_look(c->db, c->mem, schema_dir(c), &all);
		if (fault != NULL)
			return db_failure(c->db) != DB_FINE ? cli_fail_db(c) : cli_fail(c, EX_DATAERR, "%s", fault);
		printf(c->json ? "{\"schema\":%lld,\"pending\":%zu}\n" : "schema %lld, %zu to apply\n",
		    (long long)all.newest, all.pending);
		return all.pending == 0 ? 0 : 1;
	}
	status = migrate(c, &all);
	if (status == 0)
		printf(c->json ? "{\"schema\":%lld}\n" : "schema %lld\n", (long long)all.newest);
	return status;
}

/* The lock keeps two that start at the same time from making a key each. */
static int
first_key(struct cli *c, void *made)
{
	db_number(c->db, "SELECT number FROM schema_migrations WHERE number = 1 FOR UPDATE", NO_ARGS, 0);
	*(bool *)made = db_number(c->db, "SELECT COUNT(*) FROM signing_keys WHERE retired_at = 0", NO_ARGS, 1) == 0;
	if (*(bool *)made)
		key_rotate(c->db, c->mem);
	return 0;
}

int
init_run(struct cli *c)
{
	struct migrations all;
	bool play_key, signing_key;
	int status;

	if ((status = init_play_key(c, &play_key)) != 0 || (status = init_store(c)) != 0 ||
	    (status = init_scratch(c)) != 0 || (status = cli_become(c)) != 0 || (status = migrate(c, &all)) != 0 ||
	    (status = cli_transaction(c, first_key, &signing_key)) != 0)
		return status;
	if (c->json) {
		printf("{\"schema\":%lld,\"playKeyMade\":%s,\"signingKeyMade\":%s}\n", (long long)all.newest,
		    play_key ? "true" : "false", signing_key ? "true" : "false");
		return 0;
	}
	printf("play key:    %s, %s\n", c->conf->play_key_file, play_key ? "made" : "there already");
	printf("store:       %s\n", c->conf->data_dir);
	printf("database:    %s, schema %lld\n", c->conf->db_name, (long long)all.newest);
	printf("signing key: %s\n", signing_key ? "made" : "there already");
	if (db_number(c->db, "SELECT COUNT(*) FROM tenants", NO_ARGS, 0) == 0)
		puts("next:        kinothek tenant create SHORTCODE --name NAME");
	return 0;
}

int
settings_run(struct cli *c)
{
	conf_reference(stdout);
	return 0;
}
