/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Step of kinothek setup: the site, a drop-in of lighttpd or Apache that includes what httpd-conf/ has for one host. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/sha.h>

#include "cli/site.h"
#include "core/text.h"

#ifndef KINOTHEK_HTTPD_DIR
#define KINOTHEK_HTTPD_DIR "/usr/local/share/kinothek/httpd-conf"
#endif
#define MARK "# Made by kinothek setup "

struct web {
	const char *name, *service, *file, *link, *to; /* link: as the server reads it, to: what it says */
	const char *own; /* lines of the administrator */
	const char *const *test, *packages;
};
static const char *const lighttpd_test[] = { "lighttpd", "-tt", "-f", "/etc/lighttpd/lighttpd.conf", NULL };
static const char *const apache_test[] = { "apache2ctl", "configtest", NULL };
static const struct web servers[] = {
	{ "lighttpd", "lighttpd", "/etc/lighttpd/conf-available/60-kinothek.conf",
	    "/etc/lighttpd/conf-enabled/60-kinothek.conf", "../conf-available/60-kinothek.conf",
	    SITE_DIR "/lighttpd.local", lighttpd_test, "lighttpd-modules-lua lighttpd-mod-openssl" },
	{ "apache", "apache2", "/etc/apache2/sites-available/kinothek.conf", "/etc/apache2/sites-enabled/kinothek.conf",
	    "../sites-available/kinothek.conf", SITE_DIR "/apache.local", apache_test, "apache2" },
};

static const struct web *
server_of(const struct site *s)
{
	return &servers[strcmp(s->web, "apache") == 0];
}

static bool
has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool fine = fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0;

	if (fd >= 0)
		close(fd);
	return fine;
}

static const char *
escaped(struct site *s)
{
	struct buf b = BUF(s->mem);
	const char *p;

	for (p = s->host; *p != '\0'; p++)
		buf_printf(&b, strchr(".[]", *p) != NULL ? "\\%c" : "%c", tolower((unsigned char)*p));
	return buf_string(&b);
}

/* Debian's server listens on port 80 by itself. */
static void
lighttpd_sockets(struct site *s, struct buf *b, bool tls)
{
	static const char *const addresses[] = { "0.0.0.0", "[::]" };
	int i, n = has_ipv6() ? 2 : 1;

	for (i = 0; i < n && tls; i++)
		buf_printf(b,
		    "$SERVER[\"socket\"] == \"%s:%s\" {\n\tssl.engine = \"enable\"\n\tssl.pemfile = \"%s\"\n"
		    "\tssl.privkey = \"%s\"\n}\n",
		    addresses[i], s->port, SITE_CERT, SITE_KEY);
	for (i = 0; i < n && !s->https && strcmp(s->port, "80") != 0; i++)
		buf_printf(b, "$SERVER[\"socket\"] == \"%s:%s\" { }\n", addresses[i], s->port);
}

/* /readyz is answered without TLS too: to setup, and to whoever watches this machine. */
static const char *
lighttpd_site(struct site *s, bool tls)
{
	struct buf b = BUF(s->mem);

	buf_printf(&b,
	    "server.modules += (\"mod_setenv\", \"mod_rewrite\", \"mod_redirect\", \"mod_fastcgi\", \"mod_magnet\"%s)\n"
	    "# Signatures and lists of addresses are longer than the 8 kB of a head that are usual.\n"
	    "server.max-request-field-size = 32768\n"
	    "# Or files of a deleted asset would be served for another second.\n"
	    "server.stat-cache-engine = \"disable\"\n",
	    tls ? ", \"mod_openssl\"" : "");
	lighttpd_sockets(s, &b, tls);
	buf_printf(&b, "$HTTP[\"host\"] =~ \"^%s(:[0-9]+)?$\" {\n", escaped(s));
	if (tls)
		buf_printf(&b,
		    "\t$HTTP[\"scheme\"] == \"http\" {\n\t\t$HTTP[\"url\"] !~ \"^/(readyz$|\\.well-known/acme-challenge/)\" {\n"
		    "\t\t\turl.redirect = (\"\" => \"%s${url.path}${qsa}\")\n\t\t}\n\t}\n",
		    s->url);
	buf_printf(&b, "\tinclude \"%s/lighttpd-site.conf\"\n", KINOTHEK_HTTPD_DIR);
	if (strcmp(s->tls, "certbot") == 0)
		buf_printf(&b,
		    "\talias.url += (\"/.well-known/acme-challenge/\" => \"%s/acme/.well-known/acme-challenge/\")\n",
		    s->conf->run_dir);
	if (access(SITE_DIR "/lighttpd.local", F_OK) == 0)
		buf_text(&b, "\tinclude \"" SITE_DIR "/lighttpd.local\"\n");
	buf_text(&b, "}\n");
	return buf_string(&b);
}

static void
apache_host(struct site *s, struct buf *b, const char *port, bool tls)
{
	buf_printf(
	    b, "<VirtualHost *:%s>\n\tServerName %s\n\tErrorLog ${APACHE_LOG_DIR}/kinothek-error.log\n", port, s->host);
	if (tls)
		buf_printf(
		    b, "\tSSLEngine on\n\tSSLCertificateFile %s\n\tSSLCertificateKeyFile %s\n", SITE_CERT, SITE_KEY);
}

static const char *
apache_site(struct site *s, bool tls)
{
	const char *port = s->https && !tls ? "80" : s->port;
	struct buf b = BUF(s->mem), acme = BUF(s->mem);

	if (strcmp(s->tls, "certbot") == 0)
		buf_printf(&acme,
		    "\tAlias /.well-known/acme-challenge/ %s/acme/.well-known/acme-challenge/\n"
		    "\t<Directory %s/acme>\n\t\tRequire all granted\n\t</Directory>\n",
		    s->conf->run_dir, s->conf->run_dir);
	if (strcmp(port, "80") != 0 && strcmp(port, "443") != 0)
		buf_printf(&b, "Listen %s\n", port);
	if (tls) {
		apache_host(s, &b, "80", false);
		buf_printf(&b,
		    "%s\t<Location \"/readyz\">\n\t\tSetHandler \"proxy:unix:%s/api.sock|fcgi://kinothek-api/\"\n\t</Location>\n"
		    "\tRedirectMatch permanent \"^/(?!readyz$|\\.well-known/acme-challenge/)(.*)$\" \"%s/$1\"\n</VirtualHost>\n",
		    buf_string(&acme), s->conf->run_dir, s->url);
	}
	apache_host(s, &b, port, tls);
	buf_printf(&b, "%s\tInclude %s/apache-site.conf\n\tIncludeOptional %s/apache.local\n</VirtualHost>\n",
	    tls ? "" : buf_string(&acme), KINOTHEK_HTTPD_DIR, SITE_DIR);
	return buf_string(&b);
}

static const char *
sum(struct site *s, const char *text)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];

	SHA256((const unsigned char *)text, strlen(text), digest);
	return hex_encode(s->mem, digest, 16);
}

/* The first line has the sum of the others: where it is another, somebody has edited them, and they stay. */
static const char *
marked(struct site *s, const struct web *w, const char *body)
{
	return arena_printf(s->mem, MARK "(%s), which makes it anew unless it was edited; lines of your own: %s\n%s",
	    sum(s, body), w->own, body);
}

static bool
is_ours(struct site *s, const char *text)
{
	const char *rest = strchr(text, '\n');

	return strncmp(text, MARK "(", strlen(MARK) + 1) == 0 && rest != NULL &&
	    strncmp(text + strlen(MARK) + 1, sum(s, rest + 1), 32) == 0;
}

/* Modules that Debian does not load by itself. */
static int
load_modules(struct site *s, bool tls)
{
	if (SITE_RUN(s, "a2enmod", "-q", "alias", "headers", "mime", "setenvif", "proxy", "proxy_fcgi", "lua",
		"reqtimeout", "rewrite", "unique_id") != 0)
		return site_fail(s, EX_CONFIG, "apt install apache2", "a2enmod: %s", s->said);
	if (tls && SITE_RUN(s, "a2enmod", "-q", "ssl") != 0)
		return site_fail(s, EX_CONFIG, "apt install apache2", "a2enmod: %s", s->said);
	return 0;
}

static bool
put_text(struct site *s, const char *path, const char *text)
{
	return site_put(s, &(struct site_file){ path, text, strlen(text), 0, 0, 0644 });
}

/* On, tested, and off again if the server does not like it. */
static int
enable(struct site *s, const struct web *w, const char *old)
{
	bool on = access(w->link, F_OK) == 0;
	const char *said;

	if (s->dry)
		return 0;
	if (!on)
		unlink(w->link); /* one that leads nowhere */
	if (!on && symlink(w->to, w->link) != 0)
		return site_fail(s, EX_CANTCREAT, NULL, "%s cannot be made: %s", w->link, strerror(errno));
	if (site_run(s, w->test) == 0)
		return 0;
	said = s->said;
	if (!on)
		unlink(w->link);
	if (old != NULL)
		put_text(s, w->file, old);
	return site_fail(s, EX_CONFIG, arena_printf(s->mem, "apt install %s; or see %s", w->packages, w->file),
	    "%s refuses the site, which is as before again: %s", w->name, said);
}

/* At each reload lighttpd ends transfers that last longer than its server.graceful-shutdown-timeout, and takes nobody
 * in until then: so it is told to only when there is something new for it. */
int
site_write(struct site *s, bool tls)
{
	const struct web *w = server_of(s);
	const char *old = site_read(s, w->file), *text;
	bool edited = old != NULL && !is_ours(s, old), apache = strcmp(w->name, "apache") == 0;
	int status;

	text = marked(s, w, apache ? apache_site(s, tls) : lighttpd_site(s, tls));
	if (apache && (status = load_modules(s, tls)) != 0)
		return status;
	if (!put_text(s, edited ? arena_printf(s->mem, "%s.setup", w->file) : w->file, text))
		return site_fail(s, EX_CANTCREAT, arena_printf(s->mem, "apt install %s", w->packages),
		    "%s cannot be written: %s", w->file, strerror(errno));
	if (edited)
		site_say(s, "%s was edited and stays; ours is beside it, with .setup at its end", w->file);
	if ((status = enable(s, w, edited ? NULL : old)) != 0)
		return status;
	if (!site_has_systemd(s) || (!s->changed && SITE_ASK(s, "systemctl", "-q", "is-active", w->service) == 0))
		return 0;
	if (SITE_RUN(s, "systemctl", "reload-or-restart", w->service) != 0)
		return site_fail(s, EX_UNAVAILABLE, arena_printf(s->mem, "journalctl -n 20 -u %s", w->service),
		    "%s does not start: %s", w->service, s->said);
	return 0;
}

int
step_web_server(struct site *s)
{
	bool tls = strcmp(s->tls, "none") != 0;
	int status;

	if (strcmp(s->web, "none") == 0) {
		site_say(s, "none: include one of %s in yours", KINOTHEK_HTTPD_DIR);
		return 0;
	}
	if ((status = site_write(s, tls)) == 0)
		site_say(s, "%s, %s", s->web, server_of(s)->file);
	return status;
}

int
site_ready(const struct site *s)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct timeval patience = { .tv_sec = 5 };
	const char *ask =
	    arena_printf(s->mem, "GET /readyz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", s->host);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;
	char answer[64] = "";

	to.sin_port = htons((uint16_t)(s->https ? 80 : atoi(s->port)));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 && send(fd, ask, strlen(ask), MSG_NOSIGNAL) > 0 &&
	    recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL) > 12)
		status = atoi(answer + 9);
	close(fd);
	return status;
}
