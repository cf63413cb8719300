/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenSSL over sockets that nobody waits for.  The handshake is a part of the first bytes that are taken. */
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "core/log.h"
#include "fcgi/live/tls.h"

/* A file that was replaced or written has another one. */
struct stamp { dev_t device; ino_t inode; off_t size; struct timespec at; };

struct tls {
	const struct conf *conf;
	SSL_CTX *ctx;			/* NULL: no certificate could be used yet */
	struct stamp certificate, key;	/* that were looked at last */
};

struct tls_line {
	SSL *ssl;
	bool wants_to_send, broken;
	const char *fault;
};

static struct stamp
stamp_of(const char *path)
{
	struct stamp s;
	struct stat st;

	memset(&s, 0, sizeof(s));
	if (path != NULL && stat(path, &st) == 0) {
		s.device = st.st_dev;
		s.inode = st.st_ino;
		s.size = st.st_size;
		s.at = st.st_mtim;
	}
	return s;
}

/* The reason of the first failure: those behind it follow from it. */
static const char *
reason(void)
{
	unsigned long code = ERR_peek_error();
	const char *text = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);

	ERR_clear_error();
	return text != NULL ? text : "unknown";
}

/* A key behind a pass phrase is not asked for at a terminal. */
static int
no_phrase(char *to, int n, int writes, void *user)
{
	(void)to, (void)n, (void)writes, (void)user;
	return 0;
}

static SSL_CTX *
context(const struct conf *conf)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());

	if (c == NULL)
		abort();
	SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
	SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
	/* What is sent lies in a buffer that moves, and idle encoders shall cost little. */
	SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
	    SSL_MODE_RELEASE_BUFFERS);
	/* Encoders come once. */
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(c, 0);
	SSL_CTX_set_default_passwd_cb(c, no_phrase);
	if (SSL_CTX_use_certificate_chain_file(c, conf->live_certificate) == 1 &&
	    SSL_CTX_use_PrivateKey_file(c, conf->live_certificate_key, SSL_FILETYPE_PEM) == 1 &&
	    SSL_CTX_check_private_key(c) == 1)
		return c;
	SSL_CTX_free(c);
	return NULL;
}

void
tls_look(struct tls *t, bool whatever)
{
	struct stamp certificate = stamp_of(t->conf->live_certificate), key = stamp_of(t->conf->live_certificate_key);
	SSL_CTX *c;

	if (t->conf->live_certificate == NULL || t->conf->live_certificate_key == NULL)
		return;
	if (!whatever && memcmp(&certificate, &t->certificate, sizeof(certificate)) == 0 &&
	    memcmp(&key, &t->key, sizeof(key)) == 0)
		return;
	t->certificate = certificate;
	t->key = key;
	ERR_clear_error();
	c = context(t->conf);
	if (c == NULL) {
		log_line(LOG_LEVEL_ERROR, "live", LOG_TEXT("certificate", t->conf->live_certificate),
		    LOG_TEXT("text", t->ctx != NULL ? "cannot be used, the one before stays" :
		    "cannot be used, no encoder is taken by TLS"), LOG_TEXT("reason", reason()));
		return;
	}
	log_line(LOG_LEVEL_INFO, "live", LOG_TEXT("certificate", t->conf->live_certificate),
	    LOG_TEXT("text", "is used from now on"));
	/* Connections hold the one that they began with. */
	SSL_CTX_free(t->ctx);
	t->ctx = c;
}

struct tls *
tls_open(const struct conf *conf)
{
	struct tls *t = calloc(1, sizeof(*t));

	if (t == NULL)
		abort();
	t->conf = conf;
	tls_look(t, true);
	return t;
}

void
tls_close(struct tls *t)
{
	SSL_CTX_free(t->ctx);
	free(t);
}

struct tls_line *
tls_line(struct tls *t, int fd)
{
	struct tls_line *l;

	if (t->ctx == NULL)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		abort();
	l->ssl = SSL_new(t->ctx);
	if (l->ssl == NULL || SSL_set_fd(l->ssl, fd) != 1)
		abort();
	SSL_set_accept_state(l->ssl);
	return l;
}

/* A context for each call: there are few, and what the machine trusts may have changed. */
struct tls_line *
tls_call(int fd, const char *host)
{
	SSL_CTX *c = SSL_CTX_new(TLS_client_method());
	struct tls_line *l = calloc(1, sizeof(*l));

	if (c == NULL || l == NULL)
		abort();
	SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
	SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_default_verify_paths(c);
	SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
	l->ssl = SSL_new(c);
	SSL_CTX_free(c);
	if (l->ssl == NULL || SSL_set_fd(l->ssl, fd) != 1)
		abort();
	/* Addresses are no names, and are not sent. */
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(l->ssl), host) != 1 &&
	    (SSL_set1_host(l->ssl, host) != 1 || SSL_set_tlsext_host_name(l->ssl, host) != 1))
		abort();
	ERR_clear_error();
	SSL_set_connect_state(l->ssl);
	return l;
}

/* The end is said once, and not waited for. */
void
tls_hang_up(struct tls_line *l)
{
	if (l == NULL)
		return;
	if (!l->broken && SSL_is_init_finished(l->ssl))
		SSL_shutdown(l->ssl);
	ERR_clear_error();
	SSL_free(l->ssl);
	free(l);
}

/* What has come of a call. */
static ssize_t
outcome(struct tls_line *l, int result)
{
	int error = SSL_get_error(l->ssl, result);

	l->wants_to_send = error == SSL_ERROR_WANT_WRITE;
	if (result > 0)
		return result;
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
		errno = EAGAIN;
		return -1;
	}
	l->broken = true;
	/* Many hang up without a word, which is no fault of theirs. */
	if (error == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_error()) != SSL_R_UNEXPECTED_EOF_WHILE_READING)
		l->fault = reason();
	errno = ECONNRESET;
	return -1;
}

ssize_t
tls_take(struct tls_line *l, void *bytes, size_t n)
{
	ERR_clear_error();
	return outcome(l, SSL_read(l->ssl, bytes, (int)n));
}

ssize_t
tls_send(struct tls_line *l, const void *bytes, size_t n)
{
	ERR_clear_error();
	return outcome(l, SSL_write(l->ssl, bytes, (int)n));
}

bool
tls_wants_to_send(const struct tls_line *l)
{
	return l->wants_to_send;
}

const char *
tls_fault(const struct tls_line *l)
{
	return l->fault;
}
