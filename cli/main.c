/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek: administration from the command line.  See kinothek(1). */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/audit.h"
#include "core/log.h"

#ifndef VERSION
#define VERSION "dev"
#endif

enum { MAX_OPTIONS = 48, MAX_COLUMNS = 12 };

/* No settings are read; root stays root, at least at first. */
enum { NO_SETTINGS = 1, AS_ROOT = 2 };

struct command {
	const char *name;
	const char *usage;		/* behind the name */
	int n_arg;
	const char *options;		/* blank-separated; '=' behind those that take a value */
	int (*run)(struct cli *);
	int flags;
	const char *doc;
};

static const struct command commands[] = {
	{ "setup", "[--url URL] [--web lighttpd|apache|none] [--tls none|files|self-signed|certbot] [--cert FILE --key FILE]\n"
	    "           [--email ADDRESS] [--tenant SHORTCODE [--tenant-name NAME] [--secret-file FILE]]\n"
	    "           [--db local|HOST[:PORT] [--db-password-file FILE]] [--live yes|no] [--no-start]\n"
	    "           [--dry-run] [--yes]", 0,
	    "url= web= tls= cert= key= email= tenant= tenant-name= secret-file= db= db-password-file= live= no-start dry-run yes",
	    setup_run, NO_SETTINGS, "Take this machine from installed programs to a running service; may be repeated" },
	{ "init", "[--schema DIR]", 0, "json schema=", init_run, AS_ROOT, "Make keys, bring the database up to date, check the rest" },
	{ "migrate", "[--schema DIR] [--check]", 0, "json schema= check", migrate_command, 0,
	    "Bring the database to the schema of this version" },
	{ "tenant create", "SHORTCODE --name NAME [--token-lifetime S] [--quota BYTES]", 1, "json name= token-lifetime= quota=",
	    tenant_create, 0, "Make a tenant, its default channel and its first client; print the secret once" },
	{ "tenant list", "", 0, "json", tenant_list, 0, "Show all tenants" },
	{ "tenant quota", "SHORTCODE [--set BYTES | --none]", 1, "json set= none", tenant_quota, 0,
	    "Show or set how much a tenant may store" },
	{ "tenant glossary", "SHORTCODE [--set FILE | --clear]", 1, "json set= clear", tenant_glossary, 0,
	    "Show or replace the words that speech engines shall expect, one term a line" },
	{ "tenant provider", "SHORTCODE [--issuer URL [--jwks-uri URL] [--audience A,…] [--azp CLIENT,…]\n"
	    "           [--roles-claim CLAIM] [--name-claim CLAIM] | --none]", 1,
	    "json issuer= jwks-uri= audience= azp= roles-claim= name-claim= none", provider_command, 0,
	    "Show or set the external token server of a tenant, instead of the one that is built in" },
	{ "provider users", "SHORTCODE", 1, "json", provider_users, 0, "Show the users of external token servers" },
	{ "provider disable", "PRINCIPAL-ID", 1, "json", provider_disable, 0,
	    "Refuse a user of an external token server, within a minute" },
	{ "provider enable", "PRINCIPAL-ID", 1, "json", provider_enable, 0, "Take such a user again" },
	{ "client create", "SHORTCODE --name NAME [--super-admin | --role ROLE [--channel ID] | --public] [--scopes LIST]\n"
	    "           [--redirect-uri URI]... [--post-logout-uri URI]...", 1,
	    "json name= super-admin role= channel= public scopes= redirect-uri= post-logout-uri=", client_create, 0,
	    "Make a client; print its secret once" },
	{ "client update", "CLIENT-ID [--name NAME] [--scopes LIST] [--redirect-uri URI]... [--post-logout-uri URI]...", 1,
	    "json name= scopes= redirect-uri= post-logout-uri=", client_update, 0,
	    "Change a client; addresses that are given replace all there were" },
	{ "client list", "SHORTCODE", 1, "json", client_list, 0, "Show the clients of a tenant" },
	{ "client revoke", "CLIENT-ID", 1, "json", client_revoke, 0, "Refuse a client, and its tokens within a minute" },
	{ "client rotate", "CLIENT-ID", 1, "json", client_rotate, 0, "Give a client a new secret; print it once" },
	{ "user create", "SHORTCODE --login NAME --name NAME [--email ADDRESS] [--super-admin | --role ROLE [--channel ID]]\n"
	    "           [--password]", 1, "json login= name= email= super-admin role= channel= password", user_create, 0,
	    "Make a user; print the address that sets the password, or read a password" },
	{ "user list", "SHORTCODE", 1, "json", user_list, 0, "Show the users of a tenant" },
	{ "user password", "SHORTCODE LOGIN", 2, "json", user_password, 0, "Set the password, read from standard input" },
	{ "user invite", "SHORTCODE LOGIN", 2, "json", user_invite, 0, "Print a new address that sets the password once" },
	{ "user disable", "SHORTCODE LOGIN", 2, "json", user_disable, 0, "Let a user in no more, and end all sessions" },
	{ "user enable", "SHORTCODE LOGIN", 2, "json", user_enable, 0, "Let a disabled user in again" },
	{ "user unlock", "SHORTCODE LOGIN", 2, "json", user_unlock_command, 0, "Forget wrong tries, so that nobody has to wait" },
	{ "user totp-reset", "SHORTCODE LOGIN", 2, "json", user_totp_reset, 0, "Ask a user for no codes any more" },
	{ "key rotate", "", 0, "json", key_rotate_command, 0, "Make a new key that signs tokens; old tokens stay valid" },
	{ "key list", "", 0, "json", key_list, 0, "Show the keys that sign and check tokens" },
	{ "job list", "[--state STATE] [--tenant SHORTCODE] [--media ID] [--limit N] [--all]", 0,
	    "json state= tenant= media= limit= all", job_list, 0, "Show the latest jobs, and why they failed" },
	{ "job show", "JOB-ID", 1, "json", job_show, 0, "Show all of a job, and the end of its log" },
	{ "job retry", "JOB-ID", 1, "json", job_retry, 0, "Start a failed or cancelled job again" },
	{ "job cancel", "JOB-ID", 1, "json", job_cancel_command, 0, "Cancel a job, also one that runs" },
	{ "job rerun", "MEDIA-ID [--only WHAT,…] [--languages CODE,…]", 1, "json only= languages=", job_rerun, 0,
	    "Make storyboard, thumbnail, waveform, scenes, videoTexts, transcripts, speakers, chapters, imageTexts, "
	    "documentContent, keywords, entities or summary anew" },
	{ "audit", "SHORTCODE [--type TYPE] [--since TIME] [--limit N]", 1, "json type= since= limit=", audit_run, 0,
	    "Show who changed who may do what in a tenant, newest first" },
	{ "backup", "DIR", 1, "json", backup_run, 0, "Copy database, originals and settings into a directory, while all runs" },
	{ "restore", "DIR [--schema DIR]", 1, "json schema=", restore_run, 0, "Bring a backup into an installation that has nothing yet" },
	{ "rebuild", "[--all]", 0, "json all", rebuild_run, 0, "Ingest anew the assets whose files are missing, or all" },
	{ "reindex", "", 0, "json", reindex_run, 0, "Make anew what can be searched, by jobs, while all goes on" },
	{ "verify", "[--hashes] [--tenant SHORTCODE | --media ID]", 0, "json hashes tenant= media=", verify_run, 0,
	    "Compare assets with their files, originals with their sums too" },
	{ "prune", "[--dry-run]", 0, "json dry-run", prune_run, 0,
	    "Delete files of the store that no row names, and tell rows whose files are gone" },
	{ "store copy", "--to local|s3 [--tenant SHORTCODE] [--parallel N] [--rate BYTES]", 0,
	    "json to= tenant= parallel= rate=", store_copy, 0,
	    "Copy what is in the other store (store.also) and not there yet, while all goes on" },
	{ "store verify", "--to local|s3 [--tenant SHORTCODE] [--parallel N] [--rate BYTES]", 0,
	    "json to= tenant= parallel= rate=", store_verify, 0,
	    "Compare what the other store has by SHA-256, originals with their sums too" },
	{ "store switch", "--to local|s3 [--tenant SHORTCODE] [--parallel N] [--rate BYTES]", 0,
	    "json to= tenant= parallel= rate=", store_switch, 0,
	    "Copy the last difference, compare all, and say which settings to write now" },
	{ "store clear", "--to local|s3 [--tenant SHORTCODE] [--parallel N] [--rate BYTES]", 0,
	    "json to= tenant= parallel= rate=", store_clear, 0,
	    "Delete from the other store what is the same there, by SHA-256" },
	{ "settings", "", 0, "", settings_run, NO_SETTINGS, "Print the reference of the settings as Markdown" },
	{ "doctor", "[--schema DIR | --consistency [--idle]]", 0, "json schema= consistency idle", doctor_run, AS_ROOT,
	    "Check this machine, or rows and files against each other, and say what to do about what is wrong" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

const char *
cli_option(const struct cli *c, const char *name)
{
	const struct option_value *o;

	for (o = c->options; o->name != NULL; o++)
		if (strcmp(o->name, name) == 0)
			return o->value;
	return NULL;
}

int
cli_fail(const struct cli *c, int status, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", c->program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return status;
}

int
cli_become(struct cli *c)
{
	const struct passwd *user = geteuid() == 0 ? getpwnam(c->conf->db_user) : NULL;

	if (user == NULL || user->pw_uid == 0)
		return 0;
	if (initgroups(user->pw_name, user->pw_gid) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)
		return cli_fail(c, EX_OSERR, "cannot become %s: %s", user->pw_name, strerror(errno));
	c->conf = conf_load_setup();
	return 0;
}

const char *
cli_db_remedy(const struct cli *c)
{
	switch (db_errno(c->db)) {
	case 1146: case 1054:
		return "Run `kinothek migrate`.";
	case 2002: case 2003: case 2006: case 2013:
		return "Is the server running, and are db.socket or db.hosts right?";
	case 1040: case 1203: case 1226:
		return "All its connections are taken; see max_connections.";
	case 1021: case 1026: case 1114:
		return "Its disk is full.";
	case 1044: case 1045: case 1049: case 1698:
		return "Create database and account as in kinothek(1), or set db.user, db.password_file and db.name.";
	case 1205: case 1213: case 1969: case 3024:
		return "It is busy: try again.";
	default:
		return db_failure(c->db) == DB_BROKEN ? "This is a fault of Kinothek, not of the server: report it." :
		    "See the error log of the server.";
	}
}

int
cli_fail_db(const struct cli *c)
{
	return cli_fail(c, db_failure(c->db) == DB_BROKEN ? EX_SOFTWARE : EX_UNAVAILABLE, "database: %s. %s",
	    db_error(c->db), cli_db_remedy(c));
}

int
cli_transaction(struct cli *c, int (*work)(struct cli *, void *), void *arg)
{
	int status, tries;

	for (tries = 1;; tries++) {
		db_begin(c->db);
		status = db_failure(c->db) == DB_FINE ? work(c, arg) : 0;
		if (db_failure(c->db) == DB_FINE && status != 0) {
			db_rollback(c->db);
			return status;
		}
		if (db_failure(c->db) == DB_FINE && db_commit(c->db))
			return 0;
		db_rollback(c->db);
		if (db_failure(c->db) != DB_AGAIN || tries == 3)
			return cli_fail_db(c);
	}
}

void
cli_audit(const struct cli *c, struct uuid tenant_id, const char *type, struct uuid object_id, const char *data)
{
	struct audited a = { .tenant_id = tenant_id, .object_id = object_id, .address = "console", .type = type,
	    .data = data };

	audit_add(c->db, &a);
}

bool
cli_id(const struct cli *c, const char *text, struct uuid *id)
{
	if (uuid_parse(text, id))
		return true;
	cli_fail(c, EX_USAGE, "\"%s\" is not an id: 36 characters, lower case", text);
	return false;
}

void
cli_table(struct arena *mem, const char *cells)
{
	size_t width[MAX_COLUMNS] = { 0 }, n, column = 0;
	const char *p;

	for (p = cells; *p != '\0'; p += n + (p[n] != '\0')) {
		n = strcspn(p, "\t\n");
		if (column < MAX_COLUMNS && utf8_length(arena_copy_n(mem, p, n)) > width[column])
			width[column] = utf8_length(arena_copy_n(mem, p, n));
		column = p[n] == '\t' ? column + 1 : 0;
	}
	for (p = cells, column = 0; *p != '\0'; p += n + (p[n] != '\0')) {
		n = strcspn(p, "\t\n");
		fwrite(p, 1, n, stdout);
		if (p[n] == '\t' && column < MAX_COLUMNS)
			printf("%*s", (int)(width[column] - utf8_length(arena_copy_n(mem, p, n)) + 2), "");
		else
			putchar('\n');
		column = p[n] == '\t' ? column + 1 : 0;
	}
}

const char *
cli_cell(struct arena *mem, const char *text, size_t characters)
{
	char *copy, *p;
	size_t n = 0;

	if (text == NULL || text[0] == '\0')
		return "-";
	copy = arena_copy(mem, text);
	for (p = copy; *p != '\0'; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
		if (((unsigned char)*p & 0xc0) != 0x80 && n++ == characters) {
			*p = '\0';
			return arena_printf(mem, "%s…", copy);
		}
	}
	return copy;
}

int
cli_json_rows(const struct cli *c, const struct record *record, const void *rows, size_t n)
{
	struct buf b = BUF(c->mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < n; i++) {
		if (i > 0)
			buf_char(&b, ',');
		record_render(&b, record, (const char *)rows + i * record->size, false);
	}
	printf("%s]\n", buf_string(&b));
	return 0;
}

const char *
cli_time(struct arena *mem, struct moment at)
{
	char text[MOMENT_TEXT];

	if (at.ms == 0)
		return "-";
	moment_format(at, text);
	text[10] = ' ';
	return arena_copy_n(mem, text, 16);
}

const char *
cli_bytes(struct arena *mem, int64_t n)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB" };
	double x = (double)n / 1024;
	size_t i;

	if (n < 1024)
		return arena_printf(mem, "%lld B", (long long)n);
	for (i = 0; x >= 1024 && i < 4; i++)
		x /= 1024;
	return arena_printf(mem, "%.1f %s", x, units[i]);
}

static void
print_help(FILE *out)
{
	size_t i;

	fputs("usage: kinothek COMMAND [ARGUMENTS] [--json]\n\nCommands:\n", out);
	for (i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-16s  %s\n", commands[i].name, commands[i].doc);
	fputs("\n`kinothek COMMAND --help` shows the arguments of one. Settings: kinothek.conf(5). More: "
	    "kinothek(1).\n", out);
}

/* Of "tenant" alone: the commands that begin with it.  False: there are none. */
static bool
print_group(FILE *out, const char *word)
{
	bool any = false;
	size_t n = strlen(word), i;

	for (i = 0; i < COMMANDS; i++)
		if (strncmp(commands[i].name, word, n) == 0 && commands[i].name[n] == ' ') {
			fprintf(out, "%s kinothek %s%s%s\n", any ? "      " : "usage:", commands[i].name,
			    commands[i].usage[0] == '\0' ? "" : " ", commands[i].usage);
			any = true;
		}
	return any;
}

static void
print_command_help(const struct command *k)
{
	printf("usage: kinothek %s%s%s%s\n\n%s.\n", k->name, k->usage[0] == '\0' ? "" : " ", k->usage,
	    strstr(k->options, "json") == NULL ? "" : " [--json]", k->doc);
}

/* The command in argv[1..], its words counted in *words. */
static const struct command *
find(int argc, char **argv, int *words)
{
	size_t i, n;

	for (i = 0; i < COMMANDS; i++) {
		n = strcspn(commands[i].name, " ");
		if (strncmp(argv[1], commands[i].name, n) != 0 || argv[1][n] != '\0')
			continue;
		*words = commands[i].name[n] == '\0' ? 1 : 2;
		if (*words == 1 || (argc > 2 && strcmp(argv[2], commands[i].name + n + 1) == 0))
			return &commands[i];
	}
	return NULL;
}

/* Is it one of the command's options, and does it take a value? */
static bool
knows(const char *options, const char *name, size_t n, bool *takes)
{
	const char *p;

	for (p = options; *p != '\0'; p += strcspn(p, " "), p += strspn(p, " "))
		if (strncmp(p, name, n) == 0 && strchr(" =", p[n]) != NULL) {
			*takes = p[n] == '=';
			return true;
		}
	return false;
}

static int
parse(struct cli *c, const struct command *k, int argc, char **argv)
{
	struct option_value *options = arena_array(c->mem, MAX_OPTIONS + 1, sizeof(*options));
	const char **args = arena_array(c->mem, (size_t)k->n_arg + 1, sizeof(*args));
	int i, n = 0, n_arg = 0;
	bool takes;

	for (i = 0; i < argc; i++) {
		const char *name = argv[i] + 2, *value = strchr(argv[i], '=');

		if (strncmp(argv[i], "--", 2) != 0) {
			if (argv[i][0] == '-' || n_arg == k->n_arg)
				return cli_fail(c, EX_USAGE, "unexpected \"%s\"; see kinothek %s --help", argv[i],
				    k->name);
			args[n_arg++] = argv[i];
			continue;
		}
		if (!knows(k->options, name, value == NULL ? strlen(name) : (size_t)(value - name), &takes) ||
		    n == MAX_OPTIONS)
			return cli_fail(c, EX_USAGE, "there is no option %s; see kinothek %s --help", argv[i], k->name);
		if (takes && value == NULL && i + 1 == argc)
			return cli_fail(c, EX_USAGE, "%s needs a value", argv[i]);
		if (!takes && value != NULL)
			return cli_fail(c, EX_USAGE, "%s takes no value", argv[i]);
		options[n].name = value == NULL ? name : arena_copy_n(c->mem, name, (size_t)(value - name));
		options[n++].value = !takes ? "" : value != NULL ? value + 1 : argv[++i];
	}
	if (n_arg < k->n_arg)
		return cli_fail(c, EX_USAGE, "usage: kinothek %s %s", k->name, k->usage);
	c->arg = args;
	c->options = options;
	return 0;
}

static bool
asks_help(int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return true;
	return false;
}

static int
run(const struct command *k, int argc, char **argv)
{
	struct cli c = { .program = "kinothek", .mem = arena_new(256 << 20) };
	int status;

	status = parse(&c, k, argc, argv);
	if (status == 0) {
		c.json = cli_option(&c, "json") != NULL;
		log_threshold(LOG_LEVEL_ERROR + 1);	/* commands tell faults themselves */
		if ((k->flags & NO_SETTINGS) == 0) {
			c.conf = conf_load_setup();
			status = (k->flags & AS_ROOT) == 0 ? cli_become(&c) : 0;
			c.db = db_open(c.conf, DB_ADMIN);
			db_use(c.db, c.mem);
		}
		if (status == 0)
			status = k->run(&c);
		db_close(c.db);
	}
	arena_free(c.mem);
	if (fflush(stdout) != 0 || ferror(stdout) != 0)
		return cli_fail(&c, EX_IOERR, "standard output cannot be written");
	return status;
}

int
main(int argc, char **argv)
{
	const struct cli c = { .program = "kinothek" };
	const struct command *k;
	int words = 0;

	if (argc < 2) {
		print_help(stderr);
		return EX_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("kinothek " VERSION);
		return 0;
	}
	k = find(argc, argv, &words);
	if (k != NULL && asks_help(argc - 1 - words, argv + 1 + words)) {
		print_command_help(k);
		return 0;
	}
	if (asks_help(argc - 1, argv + 1) || strcmp(argv[1], "help") == 0) {
		if (!print_group(stdout, argv[1]))
			print_help(stdout);
		return 0;
	}
	if (k == NULL && argc == 2 && print_group(stderr, argv[1]))
		return EX_USAGE;
	if (k == NULL)
		return cli_fail(&c, EX_USAGE, "there is no command \"%s%s%s\"; see kinothek --help", argv[1],
		    argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
	return run(k, argc - 1 - words, argv + 1 + words);
}
