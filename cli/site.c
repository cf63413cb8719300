/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek setup: what is asked, what is remembered, and the steps in their order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/site.h"
#include "core/text.h"

static const struct {
	const char *name;
	int (*run)(struct site *);
} steps[] = {
	{ "account", step_account },
	{ "settings", step_settings },
	{ "database", step_database },
	{ "schema", step_schema },
	{ "certificate", step_certificate },
	{ "web server", step_web_server },
	{ "services", step_services },
	{ "tenant", step_tenant },
	{ "doctor", step_doctor },
};

/* Answers that no setting holds.  They are kept, so that a second run without a word repeats the first one. */
static const struct {
	const char *name;
	size_t at;
} kept[] = {
	{ "web", offsetof(struct site, web) },
	{ "tls", offsetof(struct site, tls) },
	{ "cert", offsetof(struct site, cert) },
	{ "key", offsetof(struct site, key) },
	{ "email", offsetof(struct site, email) },
	{ "db", offsetof(struct site, db) },
	{ "live", offsetof(struct site, live) },
};

#define ANSWER(s, i) ((const char **)((char *)(s) + kept[i].at))

#define ANSWERS SITE_DIR "/setup.answers"

static void
read_answers(struct site *s)
{
	char *text = site_read(s, ANSWERS), *line, *value;
	size_t i;

	s->first = text == NULL;
	while (text != NULL && (line = strsep(&text, "\n")) != NULL) {
		value = strchr(line, '=');
		for (i = 0; value != NULL && i < sizeof(kept) / sizeof(kept[0]); i++)
			if (strncmp(line, kept[i].name, (size_t)(value - line)) == 0 &&
			    kept[i].name[value - line] == '\0' && value[1] != '\0' && *ANSWER(s, i) == NULL)
				*ANSWER(s, i) = value + 1;
	}
}

static bool
keep_answers(struct site *s)
{
	struct buf b = BUF(s->mem);
	size_t i;

	buf_text(&b, "# What kinothek setup was told; a run without options repeats it.\n");
	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		buf_printf(&b, "%s=%s\n", kept[i].name, *ANSWER(s, i) == NULL ? "" : *ANSWER(s, i));
	return site_put(s, &(struct site_file){ ANSWERS, buf_string(&b), b.len, 0, 0, 0644 });
}

/* A line that somebody types, or what was proposed. */
static const char *
ask(struct site *s, const char *question, const char *proposed)
{
	char *line = NULL;
	size_t room = 0;
	const char *answer = proposed;

	printf("%s [%s]: ", question, proposed);
	fflush(stdout);
	if (getline(&line, &room, stdin) > 1)
		answer = arena_copy_n(s->mem, line, strcspn(line, "\r\n"));
	free(line);
	return answer;
}

/* Each answer becomes a line of a file. */
static bool
is_line(const char *answer)
{
	for (; answer != NULL && *answer != '\0'; answer++)
		if ((unsigned char)*answer < ' ' || *answer == 0x7f)
			return false;
	return true;
}

static int
check_lines(struct site *s)
{
	size_t i;

	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (!is_line(*ANSWER(s, i)))
			return site_fail(s, EX_USAGE, NULL, "--%s has a control character", kept[i].name);
	return 0;
}

static bool
one_of(const char *word, const char *words)
{
	return word_in(words, word, strlen(word));
}

/* The name of this machine, as long as it knows it. */
static const char *
own_address(struct site *s)
{
	return SITE_ASK(s, "hostname", "-f") == 0 ? arena_printf(s->mem, "https://%s", s->said) : "https://localhost";
}

static const char *
found_web_server(void)
{
	if (access("/etc/lighttpd/conf-available", F_OK) == 0)
		return "lighttpd";
	return access("/etc/apache2/sites-available", F_OK) == 0 ? "apache" : "none";
}

/* The host goes into patterns of web servers: letters, digits, dots and hyphens, or an address of version 6. */
static int
take_url(struct site *s)
{
	const char *rest, *colon, *fault = NULL;
	size_t n;

	n = strlen(s->url);
	if (n > 0 && s->url[n - 1] == '/')
		s->url = arena_copy_n(s->mem, s->url, n - 1);
	if (strpbrk(s->url, " \t\r\n#") != NULL ||
	    conf_parse(arena_printf(s->mem, "public_url = %s\n", s->url), "--url", &fault) == NULL)
		return site_fail(s, EX_USAGE, "--url https://media.example.org", "\"%s\" is no address%s%s", s->url,
		    fault == NULL ? "" : ": ", fault == NULL ? "" : fault);
	s->https = strncmp(s->url, "https://", 8) == 0;
	rest = strstr(s->url, "://") + 3;
	colon = rest[0] == '[' ? strchr(rest, ']') : rest;
	colon = colon == NULL ? NULL : strchr(colon, ':');
	n = colon == NULL ? strlen(rest) : (size_t)(colon - rest);
	s->host = arena_copy_n(s->mem, rest, n);
	s->port = colon == NULL ? (s->https ? "443" : "80") : colon + 1;
	if (strspn(s->host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-[]:") != n)
		return site_fail(s, EX_USAGE, NULL, "\"%s\" is no name of a host", s->host);
	return 0;
}

/* From what was said, else from what is written down, else from who sits at the terminal. */
static int
take_answers(struct site *s)
{
	bool person = isatty(0) && !s->dry && cli_option(s->c, "yes") == NULL;
	int status;

	read_answers(s);
	if (s->url == NULL && access(SITE_SETTINGS, F_OK) == 0)
		s->url = s->conf->public_url;
	if (s->url == NULL && person)
		s->url = ask(s, "Address at which people reach this service", own_address(s));
	if (s->url == NULL)
		return site_fail(s, EX_USAGE, "kinothek setup --url https://media.example.org", "no address is given");
	if ((status = take_url(s)) != 0)
		return status;
	if (s->tenant == NULL && s->first && person)
		s->tenant = ask(s, "Short name of the first tenant (a-z, 0-9, -)", "none");
	if (s->tenant != NULL && strcmp(s->tenant, "none") == 0)
		s->tenant = NULL;
	if (s->tenant != NULL && !tenant_is_shortcode(s->tenant))
		return site_fail(s, EX_USAGE, NULL, "a shortcode has 2 to 63 of a-z, 0-9 and -, not like \"%s\"",
		    s->tenant);
	if (s->tls == NULL && s->https && person)
		s->tls = ask(
		    s, "Certificate: files, self-signed, certbot, or none (a proxy in front has it)", "self-signed");
	if (s->tls == NULL || !s->https)
		s->tls = s->https ? "self-signed" : "none";
	if (s->web == NULL)
		s->web = found_web_server();
	if (s->db == NULL)
		s->db = "local";
	if ((status = check_lines(s)) != 0)
		return status;
	if (!one_of(s->web, "lighttpd apache none"))
		return site_fail(s, EX_USAGE, NULL, "--web is lighttpd, apache or none, not \"%s\"", s->web);
	if (!one_of(s->tls, "none files self-signed certbot"))
		return site_fail(s, EX_USAGE, NULL, "--tls is none, files, self-signed or certbot, not \"%s\"", s->tls);
	if (s->live != NULL && !one_of(s->live, "yes no"))
		return site_fail(s, EX_USAGE, NULL, "--live is yes or no, not \"%s\"", s->live);
	if (strcmp(s->tls, "files") == 0 && (s->cert == NULL || s->key == NULL))
		return site_fail(s, EX_USAGE, NULL, "--tls files needs --cert FILE and --key FILE");
	return 0;
}

static int
begin(struct site *s, struct cli *c)
{
	/* The services know of no variable of this terminal. */
	clearenv();
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	s->c = c;
	s->mem = c->mem;
	s->step = "answers";
	s->url = cli_option(c, "url");
	s->web = cli_option(c, "web");
	s->tls = cli_option(c, "tls");
	s->cert = cli_option(c, "cert");
	s->key = cli_option(c, "key");
	s->email = cli_option(c, "email");
	s->db = cli_option(c, "db");
	s->live = cli_option(c, "live");
	s->tenant = cli_option(c, "tenant");
	s->start = cli_option(c, "no-start") == NULL;
	s->dry = cli_option(c, "dry-run") != NULL;
	if (geteuid() != 0)
		return site_fail(s, EX_NOPERM, "sudo kinothek setup …", "only root may do it");
	s->conf = conf_load_setup();
	return 0;
}

int
setup_run(struct cli *c)
{
	struct site *s = NEW(c->mem, struct site);
	int status;
	size_t i;

	status = begin(s, c);
	if (status == 0)
		status = take_answers(s);
	if (status == 0 && (!site_make_dir(s, SITE_DIR, 0, 0, 0755) || !keep_answers(s)))
		status = site_fail(s, EX_CANTCREAT, NULL, "%s cannot be written: %s", SITE_DIR, strerror(errno));
	if (status == 0)
		site_say(s, "%s, web server: %s, TLS: %s, database: %s", s->url, s->web, s->tls, s->db);
	for (i = 0; status == 0 && i < sizeof(steps) / sizeof(steps[0]); i++) {
		s->step = steps[i].name;
		status = steps[i].run(s);
	}
	return status;
}
