/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Step of kinothek setup: the certificate of the web server, from files, from certbot, or our own. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "cli/site.h"
#include "core/text.h"

#ifndef LIBEXEC_DIR
#define LIBEXEC_DIR "/usr/libexec/kinothek"
#endif

enum { DAY = 86400, OWN_DAYS = 825, LEFT_DAYS = 14 };

static void
free_x509(void *p)
{
	X509_free(p);
}

static void
free_key(void *p)
{
	EVP_PKEY_free(p);
}

static void
free_bio(void *p)
{
	BIO_free(p);
}

static BIO *
memory(struct arena *mem, const char *text)
{
	BIO *bio = text == NULL ? BIO_new(BIO_s_mem()) : BIO_new_mem_buf(text, -1);

	if (bio == NULL)
		abort();
	arena_defer(mem, free_bio, bio);
	return bio;
}

static bool
is_address(const char *host)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, host, bytes) == 1 || host[0] == '[';
}

/* [::1] without the brackets. */
static const char *
bare(struct site *s)
{
	size_t n = strlen(s->host);

	return s->host[0] == '[' && n > 2 ? arena_copy_n(s->mem, s->host + 1, n - 2) : s->host;
}

/* NULL, or what is wrong with this certificate and this key for our host.  *works: a web server takes them anyway. */
static const char *
fault_of(struct site *s, const char *cert_text, const char *key_text, bool *works)
{
	time_t soon = time(NULL) + LEFT_DAYS * DAY;
	EVP_PKEY *key;
	X509 *cert;

	*works = false;
	if ((cert = PEM_read_bio_X509(memory(s->mem, cert_text), NULL, NULL, NULL)) == NULL)
		return "holds no certificate";
	arena_defer(s->mem, free_x509, cert);
	/* A passphrase would be asked for here, and by the web server at each start: "" is one that does not fit. */
	if ((key = PEM_read_bio_PrivateKey(memory(s->mem, key_text), NULL, NULL, (void *)(uintptr_t) "")) == NULL)
		return "has a key that cannot be read without a passphrase, or not at all";
	arena_defer(s->mem, free_key, key);
	if (X509_check_private_key(cert, key) != 1)
		return "does not belong to the key";
	*works = true;
	if ((is_address(s->host) ? X509_check_ip_asc(cert, bare(s), 0) : X509_check_host(cert, s->host, 0, 0, NULL)) !=
	    1)
		return arena_printf(s->mem, "is not for %s", s->host);
	return X509_cmp_time(X509_get0_notAfter(cert), &soon) < 0 ? "ends within 14 days, or has ended" : NULL;
}

/* What is installed already. */
static const char *
installed_fault(struct site *s)
{
	const char *cert = site_read(s, SITE_CERT), *key = site_read(s, SITE_KEY);
	bool works;

	return cert == NULL || key == NULL ? "is not there" : fault_of(s, cert, key, &works);
}

/* Readable for the web server, which reads them again at each reload, as its own account. */
static int
install(struct site *s, const char *cert, const char *key)
{
	if (!site_make_dir(s, SITE_TLS, 0, s->web_group, 0750) ||
	    !site_put(s, &(struct site_file){ SITE_KEY, key, strlen(key), 0, s->web_group, 0640 }) ||
	    !site_put(s, &(struct site_file){ SITE_CERT, cert, strlen(cert), 0, s->web_group, 0640 }))
		return site_fail(s, EX_CANTCREAT, NULL, "%s cannot be written: %s", SITE_TLS, strerror(errno));
	return 0;
}

/* From the administrator's files, or from certbot's. */
static int
copy(struct site *s, const char *cert_file, const char *key_file)
{
	const char *cert = site_read(s, cert_file), *key = site_read(s, key_file), *fault;
	bool works;

	if (cert == NULL || key == NULL)
		return installed_fault(s) == NULL ? 0
						  : site_fail(s, EX_NOINPUT, "--cert FILE --key FILE",
							"%s cannot be read", cert == NULL ? cert_file : key_file);
	fault = fault_of(s, cert, key, &works);
	if (!works)
		return site_fail(s, EX_DATAERR, NULL, "%s %s", cert_file, fault);
	if (fault != NULL)
		site_say(s, "warning: %s %s", cert_file, fault);
	return install(s, cert, key);
}

static X509 *
sign_own(struct site *s, EVP_PKEY *key)
{
	const char *name = arena_printf(s->mem, "%s:%s", is_address(s->host) ? "IP" : "DNS", bare(s));
	X509 *cert = X509_new();
	X509_EXTENSION *ext;
	unsigned char serial[8];

	if (cert == NULL || (ext = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, name)) == NULL)
		return NULL;
	arena_defer(s->mem, free_x509, cert);
	random_bytes(serial, sizeof(serial));
	serial[0] = (serial[0] & 0x7f) | 1;
	X509_set_version(cert, X509_VERSION_3);
	ASN1_STRING_set(X509_get_serialNumber(cert), serial, sizeof(serial));
	X509_gmtime_adj(X509_getm_notBefore(cert), -DAY);
	X509_gmtime_adj(X509_getm_notAfter(cert), (long)OWN_DAYS * DAY);
	X509_set_pubkey(cert, key);
	X509_NAME_add_entry_by_txt(
	    X509_get_subject_name(cert), "CN", MBSTRING_UTF8, (const unsigned char *)s->host, -1, -1, 0);
	X509_set_issuer_name(cert, X509_get_subject_name(cert));
	X509_add_ext(cert, ext, -1);
	X509_EXTENSION_free(ext);
	return X509_sign(cert, key, EVP_sha256()) > 0 ? cert : NULL;
}

static const char *
text_of(struct site *s, BIO *bio)
{
	char *bytes;
	long n = BIO_get_mem_data(bio, &bytes);

	return arena_copy_n(s->mem, bytes, (size_t)n);
}

static int
make_own(struct site *s)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	BIO *cert_out = memory(s->mem, NULL), *key_out = memory(s->mem, NULL);
	X509 *cert;

	if (key == NULL)
		abort();
	arena_defer(s->mem, free_key, key);
	cert = sign_own(s, key);
	if (cert == NULL || PEM_write_bio_X509(cert_out, cert) != 1 ||
	    PEM_write_bio_PrivateKey(key_out, key, NULL, NULL, 0, NULL, NULL) != 1)
		return site_fail(s, EX_SOFTWARE, NULL, "no certificate can be made for %s", s->host);
	return install(s, text_of(s, cert_out), text_of(s, key_out));
}

/* The site has to answer first, without TLS, to whoever asks whether the name is ours. */
static int
by_certbot(struct site *s)
{
	const char *live = arena_printf(s->mem, "/etc/letsencrypt/live/%s", s->host);
	const char *acme = arena_printf(s->mem, "%s/acme", s->conf->run_dir);
	const char *hook = LIBEXEC_DIR "/certbot-deploy";
	int status;

	if (installed_fault(s) == NULL)
		return 0;
	if ((status = site_write(s, false)) != 0)
		return status;
	status = s->email != NULL
	    ? SITE_RUN(s, "certbot", "certonly", "--webroot", "-w", acme, "-d", s->host, "--non-interactive",
		  "--agree-tos", "--keep-until-expiring", "--deploy-hook", hook, "-m", s->email, "--no-eff-email")
	    : SITE_RUN(s, "certbot", "certonly", "--webroot", "-w", acme, "-d", s->host, "--non-interactive",
		  "--agree-tos", "--keep-until-expiring", "--deploy-hook", hook, "--register-unsafely-without-email");
	if (status == 127)
		return site_fail(s, EX_UNAVAILABLE, "apt install certbot", "certbot is not installed");
	if (status != 0)
		return site_fail(s, EX_TEMPFAIL, "certbot certificates; /var/log/letsencrypt/letsencrypt.log",
		    "certbot: %s", s->said);
	return s->dry
	    ? 0
	    : copy(s, arena_printf(s->mem, "%s/fullchain.pem", live), arena_printf(s->mem, "%s/privkey.pem", live));
}

int
step_certificate(struct site *s)
{
	const char *fault = NULL;
	int status = 0;

	s->changed = false;
	if (strcmp(s->tls, "none") == 0) {
		site_say(s, s->https ? "none: a proxy in front has it; name it in http.trusted_proxies" : "none");
		return 0;
	}
	if (strcmp(s->tls, "files") == 0)
		status = copy(s, s->cert, s->key);
	else if (strcmp(s->tls, "certbot") == 0)
		status = by_certbot(s);
	else if ((fault = installed_fault(s)) != NULL)
		status = make_own(s);
	if (status == 0)
		site_say(s, "%s, %s", SITE_CERT, fault != NULL ? "made by ourselves: browsers will warn" : s->tls);
	return status;
}
