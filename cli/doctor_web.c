/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of what clients meet: the address, its certificate, the pages, the configuration of the web server. */
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <dirent.h>
#include <glob.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "core/web.h"

enum { SECONDS = 10, FILES_MAX = 200, PAGE_MAX = 4 << 20, LISTENS = 10 };

/* Set by the first check that reaches the server, for those behind it. */
static bool reached;
static const char *certificate;

/* Who listens on the port of public_url; NULL: nobody here, "": only root sees who. */
static const char *holder;

/* Host and port of public_url. */
static const char *
site_host(struct cli *c, int *port)
{
	const char *url = c->conf->public_url, *host = strstr(url, "://") + 3, *colon;
	const char *name = arena_copy_n(c->mem, host, strcspn(host, "/"));
	int64_t n;

	*port = strncmp(url, "https", 5) == 0 ? 443 : 80;
	colon = strrchr(name, ':');
	if (colon != NULL && strchr(colon, ']') == NULL && int_parse(colon + 1, &n)) {
		*port = (int)n;
		name = arena_copy_n(c->mem, name, (size_t)(colon - name));
	}
	return name;
}

/* Below public_url, whose host may be private. */
static bool
get(struct cli *c, const char *path, struct web_answer *a)
{
	int port;
	const char *host = site_host(c, &port);
	const struct web_call call = { .url = arena_printf(c->mem, "%s%s", c->conf->public_url, path),
	    .private_hosts = arena_printf(c->mem, "%s:%d", host, port), .timeout = SECONDS, .max_size = PAGE_MAX,
	    .any_certificate = true };

	web_call(c->mem, &call, a);
	return a->end == WEB_ANSWERED;
}

struct finding
check_site(struct cli *c)
{
	static const char forged[] = "/play/9999999999.0000000000000000000000000000000000000000000000000000000000000000"
	    "/01900000-0000-7000-8000-000000000000/a.mp4";
	struct web_answer a;

	if (!get(c, "/readyz", &a))
		return FOUND(WARN, arena_printf(c->mem, "%s does not answer from here: %s", c->conf->public_url,
		    web_sentence(a.end)), "Start the web server; where this machine cannot reach that address, try "
		    "another one.");
	certificate = a.certificate;
	reached = true;
	if (a.status != 200)
		return FOUND(FAIL, arena_printf(c->mem, "%s/readyz is answered with %d", c->conf->public_url, a.status),
		    a.status == 404 ? "Another site answers there: the web server does not know this one." :
		    "See the lines about programs and database, and the error log of the web server.");
	if (!get(c, forged, &a) || a.status != 403)
		return FOUND(FAIL, arena_printf(c->mem, "a forged address of a file is answered with %d", a.status),
		    "The web server must check the keys of /play: use a configuration of share/kinothek/httpd-conf.");
	return FOUND(OK, arena_printf(c->mem, "%s is ready, and refuses forged addresses", c->conf->public_url), NULL);
}

int
doctor_asks(struct cli *c, const char *path)
{
	struct web_answer a;

	return reached && get(c, path, &a) ? a.status : 0;
}

static X509 *
read_certificate(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *x = bio == NULL ? NULL : PEM_read_bio_X509(bio, NULL, NULL, NULL);

	BIO_free(bio);
	return x;
}

struct finding
check_certificate(struct cli *c)
{
	int port, days = 0, seconds = 0;
	const char *host = site_host(c, &port);
	bool fits, known;
	X509 *x;

	if (strncmp(c->conf->public_url, "https", 5) != 0)
		return FOUND(OK, "none: the address is plain HTTP", NULL);
	if (!reached || certificate == NULL || (x = read_certificate(certificate)) == NULL)
		return FOUND(WARN, "could not be looked at", "See the line about the site.");
	fits = X509_check_host(x, host, 0, 0, NULL) == 1 || X509_check_ip_asc(x, host, 0) == 1;
	known = ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(x)) == 1;
	X509_free(x);
	if (!fits)
		return FOUND(FAIL, arena_printf(c->mem, "is not of %s", host),
		    "Get one for this name: browsers refuse it.");
	if (!known || days < 0 || seconds < 0)
		return FOUND(FAIL, "has expired", "Renew it, and reload the web server.");
	return FOUND(days < 14 ? WARN : OK, arena_printf(c->mem, "is of %s, for %d days", host, days), days < 14 ?
	    "Renew it, and see why that was not done by itself." : NULL);
}

/* Files that pages are made of, each fetched once. */
struct files {
	struct cli *c;
	const char *at[FILES_MAX];
	size_t n;
};

/* "./x" and "x" below the folder of the file that names it. */
static void
add_file(struct files *f, const char *from, const char *name)
{
	size_t i, folder = (size_t)(strrchr(from, '/') - from) + 1;

	if (strstr(name, "://") != NULL || strchr(name, '$') != NULL || name[0] == '\0' || name[0] == '#' ||
	    strncmp(name, "data:", 5) == 0 || strncmp(name, "//", 2) == 0)
		return;
	if (strncmp(name, "./", 2) == 0)
		name += 2;
	if (name[0] != '/')
		name = arena_printf(f->c->mem, "%.*s%s", (int)folder, from, name);
	for (i = 0; i < f->n; i++)
		if (strcmp(f->at[i], name) == 0)
			return;
	if (f->n < FILES_MAX)
		f->at[f->n++] = name;
}

/* What stands in quotes behind each of these words. */
static void
add_named(struct files *f, const char *from, const char *text, const char *const *words)
{
	const char *p;

	for (; *words != NULL; words++)
		for (p = strstr(text, *words); p != NULL; p = strstr(p + 1, *words)) {
			const char *name = p + strlen(*words);

			if (*name == '"' || *name == '\'')
				add_file(f, from, arena_copy_n(f->c->mem, name + 1, strcspn(name + 1,
				    *name == '"' ? "\"\n" : "'\n")));
		}
}

/* Page, scripts and modules as a browser would find them, one behind the other. */
struct finding
check_pages(struct cli *c)
{
	static const char *const in_page[] = { "<script type=\"module\" src=", "rel=\"stylesheet\" href=", "img src=",
		NULL };
	static const char *const in_script[] = { " from ", "import(", "import ", NULL };
	struct files f = { .c = c, .at = { "/watch/01900000-0000-7000-8000-000000000000", "/docs/" }, .n = 2 };
	struct web_answer a;
	size_t i;

	if (!reached)
		return FOUND(WARN, "could not be looked at", "See the line about the site.");
	for (i = 0; i < f.n; i++) {
		/* There is no such asset, and the page of that is as good. */
		if (!get(c, f.at[i], &a) || (a.status != 200 && !(i == 0 && a.status == 404)))
			return FOUND(FAIL, arena_printf(c->mem, "%s is answered with %d", f.at[i], a.status),
			    "Install the pages with their modules (npm ci before make install), where the web server "
			    "looks.");
		if (strstr(a.type, "html") != NULL)
			add_named(&f, f.at[i], a.body, in_page);
		else if (strstr(a.type, "javascript") != NULL)
			add_named(&f, f.at[i], a.body, in_script);
	}
	if (f.n < 4)
		return FOUND(WARN, "the pages name no scripts", "Another site may answer at that address.");
	return FOUND(OK, arena_printf(c->mem, "the pages with %zu files, modules among them", f.n - 2), NULL);
}

/* Of proc_net_tcp(5): what listens on the port.  The inode of its socket, or 0. */
static unsigned long
listening(const char *table, int port)
{
	FILE *f = fopen(table, "re");
	unsigned long inode, found = 0;
	unsigned at, state;
	char line[512];

	while (f != NULL && found == 0 && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*d %*d %lu", &at, &state,
		    &inode) == 3 && at == (unsigned)port && state == LISTENS)
			found = inode;
	if (f != NULL)
		fclose(f);
	return found;
}

bool
doctor_listens(int port)
{
	return listening("/proc/net/tcp", port) != 0 || listening("/proc/net/tcp6", port) != 0;
}

/* Does the process have that socket open?  Only root may look into those of others. */
static bool
holds(struct cli *c, const char *pid, const char *socket)
{
	DIR *dir = opendir(arena_printf(c->mem, "/proc/%s/fd", pid));
	struct dirent *e;
	bool found = false;
	char to[64];
	ssize_t n;

	while (dir != NULL && !found && (e = readdir(dir)) != NULL) {
		n = readlinkat(dirfd(dir), e->d_name, to, sizeof(to) - 1);
		to[n < 0 ? 0 : n] = '\0';
		found = strcmp(to, socket) == 0;
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

static const char *
program_of(struct cli *c, const char *pid)
{
	FILE *f = fopen(arena_printf(c->mem, "/proc/%s/comm", pid), "re");
	char name[64] = "";

	if (f != NULL && fgets(name, sizeof(name), f) == NULL)
		name[0] = '\0';
	if (f != NULL)
		fclose(f);
	return arena_copy_n(c->mem, name, strcspn(name, "\n"));
}

void
doctor_look_at_port(struct cli *c)
{
	unsigned long inode;
	const char *socket;
	struct dirent *e;
	DIR *dir;
	int port;

	site_host(c, &port);
	inode = listening("/proc/net/tcp", port);
	if (inode == 0)
		inode = listening("/proc/net/tcp6", port);
	if (inode == 0)
		return;
	holder = "";
	socket = arena_printf(c->mem, "socket:[%lu]", inode);
	dir = opendir("/proc");
	while (dir != NULL && holder[0] == '\0' && (e = readdir(dir)) != NULL)
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9' && holds(c, e->d_name, socket))
			holder = program_of(c, e->d_name);
	if (dir != NULL)
		closedir(dir);
}

bool
doctor_port_is_open(void)
{
	return holder != NULL;
}

struct finding
check_port(struct cli *c)
{
	int port;

	site_host(c, &port);
	if (holder == NULL)
		return FOUND(WARN, arena_printf(c->mem, "nobody listens on port %d of this machine", port),
		    "Start the web server, unless it, or a proxy, is on another machine.");
	if (holder[0] == '\0')
		return FOUND(OK, arena_printf(c->mem, "%d is open (only root sees whose it is)", port), NULL);
	return FOUND(OK, arena_printf(c->mem, "%d is held by %s", port, holder), NULL);
}

struct finding
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
	return FOUND(OK, arena_copy(c->mem, file), NULL);
}

struct finding
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
