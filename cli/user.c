/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek user: people who sign in with a password of this server. */
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "core/job.h"
#include "core/mail.h"
#include "core/password.h"
#include "core/role.h"
#include "core/seal.h"
#include "core/user.h"

struct user_row { const char *login, *name, *email, *state; bool has_totp; struct moment created_at; struct uuid id; };
static const struct field user_row_fields[] = {
	FIELD(struct user_row, login, .doc = "Name to sign in with"),
	FIELD(struct user_row, name, .sql = "p.name", .doc = "Shown to people"),
	FIELD(struct user_row, email, .doc = "Where mail goes, or null"),
	FIELD(struct user_row, state, .sql = "CASE WHEN t.disabled_at > 0 THEN 'disabled' WHEN t.locked_until > " SQL_NOW
	    " THEN 'locked' WHEN t.password_hash IS NULL THEN 'invited' WHEN p.is_super_admin THEN 'SuperAdmin' ELSE 'live' END",
	    .doc = "live, SuperAdmin, invited, locked or disabled"),
	FIELD(struct user_row, has_totp, .sql = "t.totp_at > 0", .doc = "Is a second factor asked for?"),
	FIELD(struct user_row, created_at, .doc = "When it was made"),
	FIELD(struct user_row, id, .json = "userId", .doc = "User and principal"),
};
static const struct record user_row_record = RECORD("UserRow", struct user_row, user_row_fields);

/* One account, and what becomes of it. */
struct doing {
	struct new_client place;
	const char *login, *email, *hash, *link;
	bool disabled;
	const char *mailed_to;			/* NULL: the link is passed on by hand */
	struct uuid id;
};

/* Without its end.  NULL: nothing, NUL, or too much. */
static const char *
read_line(struct arena *mem)
{
	char *line = arena_alloc(mem, PASSWORD_MAX + 2);
	size_t n = 0;
	int c;

	while ((c = getchar()) != EOF && c != '\n') {
		if (c == '\0' || n > PASSWORD_MAX)
			return NULL;
		line[n++] = (char)c;
	}
	line[n] = '\0';
	return n > 0 || c == '\n' ? line : NULL;
}

static const char *
ask(struct arena *mem, const char *prompt)
{
	struct termios was, silent;
	const char *line;

	tcgetattr(STDIN_FILENO, &was);
	silent = was;
	silent.c_lflag &= ~(tcflag_t)ECHO;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
	fputs(prompt, stderr);		/* what is typed before it is shown, and lost */
	line = read_line(mem);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &was);
	fputc('\n', stderr);
	return line;
}

/* From standard input; a terminal is asked twice and shows nothing. */
static int
read_hash(const struct cli *c, const char **hash)
{
	bool terminal = isatty(STDIN_FILENO);
	const char *password = terminal ? ask(c->mem, "Password: ") : read_line(c->mem), *again;

	switch (password != NULL ? password_check(c->mem, password) : PASSWORD_LONG) {
	case PASSWORD_SHORT:
		return cli_fail(c, EX_DATAERR, "a password has at least %d characters", PASSWORD_MIN);
	case PASSWORD_LONG:
		return cli_fail(c, EX_DATAERR, "standard input must hold a line of at most %d bytes, none of them NUL",
		    PASSWORD_MAX);
	case PASSWORD_NOT_TEXT:
		return cli_fail(c, EX_DATAERR, "the password is not UTF-8");
	case PASSWORD_FINE:
		break;
	}
	again = terminal ? ask(c->mem, "The same once more: ") : password;
	if (again == NULL || strcmp(password, again) != 0)
		return cli_fail(c, EX_DATAERR, "the two differ");
	*hash = password_hash(c->mem, password);
	return 0;
}

static int
set_password(struct cli *c, struct doing *d)
{
	struct uuid none = { { 0 } };

	user_set_password(c->db, d->id, d->hash, none);
	cli_audit(c, d->place.tenant_id, "user.password", d->id, NULL);
	return 0;
}

static int
send_link(struct cli *c, struct doing *d, const char *token)
{
	const struct job_place place = { .tenant_id = d->place.tenant_id };

	if (c->conf->play_key == NULL)
		return cli_fail(c, EX_CONFIG, "play.key_file names %s, which is not there: run `kinothek init`",
		    c->conf->play_key_file);
	job_add(c->db, mail, place, .sealed = seal(c->conf, c->mem, MAIL_PURPOSE, token, strlen(token)));
	d->mailed_to = d->email;
	return 0;
}

static int
invite(struct cli *c, struct doing *d)
{
	const char *token;

	if (d->disabled)
		return cli_fail(c, EX_DATAERR, "%s is disabled, and the link would lead nowhere: run `kinothek user "
		    "enable %s %s` first", d->login, d->place.shortcode, d->login);
	token = invitation_add(c->db, d->id);
	d->link = invitation_url(c->mem, c->conf->public_url, d->place.shortcode, token);
	cli_audit(c, d->place.tenant_id, "user.invited", d->id, NULL);
	return c->conf->smtp_url != NULL && d->email != NULL ? send_link(c, d, token) : 0;
}

static int
insert_user(struct cli *c, void *arg)
{
	struct doing *d = arg;
	struct user u = { .id = d->id, .login = d->login, .name = d->place.name, .email = d->email,
		.is_super_admin = d->place.super_admin };
	int status = client_place(c, &d->place);

	if (status != 0 || db_failure(c->db) != DB_FINE)
		return status;
	u.tenant_id = d->place.tenant_id;
	if (!user_add(c->db, &u))
		return db_failure(c->db) != DB_FINE ? 0 :
		    cli_fail(c, EX_DATAERR, "there is a user %s already", d->login);
	cli_audit(c, u.tenant_id, "user.created", u.id, NULL);
	client_join(c, &d->place);
	return d->hash != NULL ? set_password(c, d) : invite(c, d);
}

static void
print_user(const struct cli *c, const struct doing *d)
{
	struct buf b = BUF(c->mem);

	if (!c->json) {
		printf("tenantShortcode: %s\nuserId:          %s\nlogin:           %s\n", d->place.shortcode,
		    uuid_text(c->mem, d->id), d->login);
		if (d->link != NULL)
			printf("invitation:      %s\n", d->link);
		if (d->mailed_to != NULL)
			printf("mailed to:       %s\n", d->mailed_to);
		fflush(stdout);
		if (d->link != NULL)
			fprintf(stderr, "Who opens it first, within seven days, sets the password%s.\n",
			    d->mailed_to != NULL ? "" : ": pass it on by a safe way");
		return;
	}
	buf_printf(&b, "{\"tenantShortcode\":\"%s\",\"userId\":\"%s\",\"login\":", d->place.shortcode,
	    uuid_text(c->mem, d->id));
	buf_json(&b, d->login);
	buf_text(&b, ",\"invitation\":");
	buf_json(&b, d->link);
	buf_text(&b, ",\"mailedTo\":");
	buf_json(&b, d->mailed_to);
	printf("%s}\n", buf_string(&b));
}

/* What is committed: told, and the mail on its way. */
static void
conclude(const struct cli *c, const struct doing *d)
{
	if (d->mailed_to != NULL)
		job_wake(c->conf->run_dir);
	print_user(c, d);
}

int
user_create(struct cli *c)
{
	struct doing *d = NEW(c->mem, struct doing);
	int status;

	d->id = d->place.id = uuid_new();
	d->place.shortcode = c->arg[0];
	d->place.name = cli_option(c, "name");
	d->login = cli_option(c, "login");
	d->email = cli_option(c, "email");
	if (d->login == NULL || user_key(c->mem, d->login) == NULL)
		return cli_fail(c, EX_USAGE, "--login must have 1 to 255 characters without blanks");
	if (d->email != NULL && !mail_is_address(d->email))
		return cli_fail(c, EX_USAGE, "--email is not the address of a mailbox");
	if ((status = client_check_name(c, d->place.name)) != 0 || (status = client_take_role(c, &d->place)) != 0)
		return status;
	if (cli_option(c, "password") != NULL && (status = read_hash(c, &d->hash)) != 0)
		return status;
	status = cli_transaction(c, insert_user, d);
	if (status == 0)
		conclude(c, d);
	return status;
}

int
user_list(struct cli *c)
{
	const struct user_row *rows;
	struct buf b = BUF(c->mem);
	struct uuid tenant_id;
	size_t n, i;
	int status = tenant_find(c, c->arg[0], &tenant_id);

	if (status != 0)
		return status;
	rows = db_rows(c->db, &user_row_record, "FROM users t JOIN principals p ON p.id = t.id WHERE t.tenant_id = ? "
	    "ORDER BY t.login_key", ARGS(ID(tenant_id)), &n);
	if (db_failure(c->db) != DB_FINE)
		return cli_fail_db(c);
	if (c->json)
		return cli_json_rows(c, &user_row_record, rows, n);
	buf_text(&b, "LOGIN\tNAME\tMAIL\tSTATE\tCODES\tCREATED\tUSER\n");
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", rows[i].login, rows[i].name,
		    rows[i].email != NULL ? rows[i].email : "-", rows[i].state, rows[i].has_totp ? "yes" : "no",
		    cli_time(c->mem, rows[i].created_at), uuid_text(c->mem, rows[i].id));
	cli_table(c->mem, buf_string(&b));
	return 0;
}

/* What is done to an account that is there, in the transaction that has locked it. */
struct act { struct doing doing; int (*run)(struct cli *, struct doing *); };

/* Those that tokens of another server have made sign in there, and have no account here. */
static int
no_user(const struct cli *c)
{
	int64_t others = db_number(c->db, "SELECT COUNT(*) FROM provider_users u JOIN tenants t ON t.id = u.tenant_id "
	    "WHERE t.shortcode = ?", ARGS(STR(c->arg[0])), 0);

	if (db_failure(c->db) != DB_FINE)
		return 0;
	return cli_fail(c, EX_NOINPUT, others == 0 ? "tenant %s has no user %s" : "tenant %s has no user %s who signs "
	    "in here; for those of an external token server see `kinothek provider users` and `kinothek provider "
	    "disable`", c->arg[0], c->arg[1]);
}

static int
find_and_act(struct cli *c, void *arg)
{
	struct act *a = arg;
	const struct user *u = user_by_login(c->db, c->arg[0], c->arg[1]);

	if (u == NULL || (u = user_lock(c->db, u->id)) == NULL)
		return no_user(c);
	a->doing.id = u->id;
	a->doing.login = u->login;
	a->doing.email = u->email;
	a->doing.disabled = u->disabled_at.ms != 0;
	a->doing.place = (struct new_client){ .tenant_id = u->tenant_id, .shortcode = u->shortcode };
	return a->run(c, &a->doing);
}

static int
act(struct cli *c, int (*run)(struct cli *, struct doing *), const char *hash, const char *sentence)
{
	struct act a = { .run = run, .doing.hash = hash };
	int status = cli_transaction(c, find_and_act, &a);

	if (status == 0 && (c->json || a.doing.link != NULL))
		conclude(c, &a.doing);
	else if (status == 0)
		printf("%s %s.\n", a.doing.login, sentence);
	return status;
}

int
user_password(struct cli *c)
{
	const char *hash;
	int status = read_hash(c, &hash);

	return status != 0 ? status : act(c, set_password, hash, "has a new password; all sessions have ended");
}

int
user_invite(struct cli *c)
{
	return act(c, invite, NULL, "");
}

static int
disable(struct cli *c, struct doing *d)
{
	user_set_disabled(c->db, d->id, true);
	cli_audit(c, d->place.tenant_id, "user.disabled", d->id, NULL);
	return 0;
}

int
user_disable(struct cli *c)
{
	return act(c, disable, NULL, "is disabled; all sessions have ended, tokens end within a minute");
}

static int
enable(struct cli *c, struct doing *d)
{
	user_set_disabled(c->db, d->id, false);
	cli_audit(c, d->place.tenant_id, "user.enabled", d->id, NULL);
	return 0;
}

int
user_enable(struct cli *c)
{
	return act(c, enable, NULL, "may sign in again");
}

static int
unlock(struct cli *c, struct doing *d)
{
	user_unlock(c->db, d->id);
	cli_audit(c, d->place.tenant_id, "user.unlocked", d->id, NULL);
	return 0;
}

int
user_unlock_command(struct cli *c)
{
	return act(c, unlock, NULL, "need not wait any more");
}

static int
reset_codes(struct cli *c, struct doing *d)
{
	user_remove_codes(c->db, d->id);
	cli_audit(c, d->place.tenant_id, "user.codes", d->id, "{\"on\":false}");
	return 0;
}

int
user_totp_reset(struct cli *c)
{
	return act(c, reset_codes, NULL, "is asked for no codes until a new app is set up");
}
