/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clients, and where they may send users. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>
#include <strings.h>

#include "core/client.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

enum { SALT = 16 };

static const struct field client_fields[] = {
	FIELD(struct client, id, .doc = "Client and principal"),
	FIELD(struct client, tenant_id, .doc = "Its tenant"),
	FIELD(struct client, shortcode, .sql = "n.shortcode", .doc = "Name of the tenant in addresses"),
	FIELD(struct client, name, .sql = "p.name", .doc = "Shown to people"),
	FIELD(struct client, scopes, .doc = "Blank-separated"),
	FIELD(struct client, secret_hash, .doc = "See secret_hash()"),
	FIELD(struct client, is_super_admin, .sql = "p.is_super_admin", .doc = "Has every permission"),
	FIELD(struct client, is_public, .doc = "Has no secret"),
	FIELD(struct client, revoked_at, .doc = "Null while it is live"),
	FIELD(struct client, token_lifetime, .sql = "n.token_lifetime", .doc = "Seconds"),
	FIELD(struct client, redirect_uris, .doc = "Where users are sent with a code"),
	FIELD(struct client, logout_uris, .doc = "Where users are sent when they have signed out"),
};
const struct record client_record = RECORD("TokenClient", struct client, client_fields);

const char *
secret_new(struct arena *mem)
{
	unsigned char bytes[32];

	random_bytes(bytes, sizeof(bytes));
	return arena_printf(mem, "kts_%s", base64url_encode(mem, bytes, sizeof(bytes)));
}

static void
digest(const unsigned char *salt, const char *secret, unsigned char out[SHA256_DIGEST_LENGTH])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1 ||
	    EVP_DigestUpdate(context, salt, SALT) != 1 || EVP_DigestUpdate(context, secret, strlen(secret)) != 1 ||
	    EVP_DigestFinal_ex(context, out, NULL) != 1)
		abort();
	EVP_MD_CTX_free(context);
}

/*
 * "sha256$salt$hash" in hex.  One round is enough: a secret has 256 random bits and is never a person's password, so
 * there is nothing to guess that a slow hash would protect; and the token endpoint stays cheap under a flood.
 */
const char *
secret_hash(struct arena *mem, const char *secret)
{
	unsigned char salt[SALT], hash[SHA256_DIGEST_LENGTH];

	random_bytes(salt, sizeof(salt));
	digest(salt, secret, hash);
	return arena_printf(mem, "sha256$%s$%s", hex_encode(mem, salt, sizeof(salt)), hex_encode(mem, hash,
	    sizeof(hash)));
}

bool
secret_matches(const char *hash, const char *secret)
{
	unsigned char salt[SALT], wanted[SHA256_DIGEST_LENGTH], got[SHA256_DIGEST_LENGTH];
	const size_t length = 7 + 2 * SALT + 1 + 2 * SHA256_DIGEST_LENGTH;

	if (strlen(hash) != length || strncmp(hash, "sha256$", 7) != 0 || hash[7 + 2 * SALT] != '$' ||
	    !hex_decode(hash + 7, salt, SALT) || !hex_decode(hash + 7 + 2 * SALT + 1, wanted, sizeof(wanted)))
		return false;
	digest(salt, secret, got);
	return CRYPTO_memcmp(wanted, got, sizeof(got)) == 0;
}

const struct client *
client_find(struct db *db, const char *shortcode, const char *client_id)
{
	struct uuid id = uuid_new();	/* never there; it keeps the query when client_id is none at all */

	uuid_parse(client_id, &id);
	return db_row(db, &client_record, "FROM clients t JOIN principals p ON p.id = t.id JOIN tenants n ON n.id = "
	    "t.tenant_id WHERE t.id = ? AND n.shortcode = ?", ARGS(ID(id), STR(shortcode)));
}

const struct client *
client_authenticate(struct db *db, const char *shortcode, const char *client_id, const char *secret)
{
	/* Work for clients that are not there: the hash of a secret nobody has. */
	static const char nobody[] = "sha256$00000000000000000000000000000000$"
	    "0000000000000000000000000000000000000000000000000000000000000000";
	const struct client *c = client_find(db, shortcode, client_id);
	bool fits = secret_matches(c == NULL || c->is_public ? nobody : c->secret_hash, secret != NULL ? secret : "");

	if (c == NULL || c->revoked_at.ms != 0)
		return NULL;
	if (c->is_public)
		return secret == NULL || *secret == '\0' ? c : NULL;
	return fits ? c : NULL;
}

/* Printable ASCII alone, without what browsers and libraries read differently from each other. */
static bool
is_plain(const char *address)
{
	const unsigned char *c;

	for (c = (const unsigned char *)address; *c != '\0'; c++)
		if (*c <= 0x20 || *c >= 0x7f || strchr("\\\"<>^`{|}*", *c) != NULL)
			return false;
	return true;
}

/* Is one of the path's parts "." or "..", however it is written? */
static bool
has_dots(const char *path)
{
	size_t end = strcspn(path, "?"), i, dots;

	for (i = 0; i < end; i++) {
		if (path[i] != '/')
			continue;
		for (dots = 0; i + 1 < end; dots++) {
			if (path[i + 1] == '.')
				i++;
			else if (strncasecmp(path + i + 1, "%2e", 3) == 0)
				i += 3;
			else
				break;
		}
		if (dots > 0 && dots < 3 && (i + 1 == end || path[i + 1] == '/'))
			return true;
	}
	return false;
}

/* The length of a loopback address at the beginning of an authority, or 0. */
static size_t
loopback(const char *host)
{
	static const char *const names[] = { "127.0.0.1", "[::1]", "localhost" };
	size_t i, n;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		n = strlen(names[i]);
		if (strncmp(host, names[i], n) == 0 && strchr(":/?", host[n]) != NULL)
			return n;
	}
	return 0;
}

/* ":8080", ":" or nothing at all; returns its length. */
static size_t
port_length(const char *text)
{
	return *text == ':' ? 1 + strspn(text + 1, DIGITS) : 0;
}

static const char *
host_fault(const char *host)
{
	size_t n = *host == '[' ? strcspn(host, "]") + 1 : strspn(host, LETTERS DIGITS ".-"), port;

	if (n == 0 || (*host == '[' && strspn(host + 1, "0123456789abcdef:") + 2 != n))
		return "its host is missing, or not in lower-case ASCII";
	port = port_length(host + n);
	if (port == 1 || port > 6 || strchr("/?", host[n + port]) == NULL)
		return "only host and port may stand before the path: no name, no password";
	return has_dots(host + n + port) ? "its path goes up by dots" : NULL;
}

const char *
client_address_fault(const char *address)
{
	size_t scheme = strspn(address, LETTERS DIGITS "+-.");

	if (strlen(address) > CLIENT_ADDRESS_MAX)
		return "it is longer than 2,000 characters";
	if (!is_plain(address))
		return "it holds blanks, wildcards or characters that an address escapes";
	if (strchr(address, '#') != NULL)
		return "it has a fragment";
	if (strncmp(address, "https://", 8) == 0)
		return host_fault(address + 8);
	if (strncmp(address, "http://", 7) == 0)
		return loopback(address + 7) == 0 ? "http is for 127.0.0.1, [::1] and localhost alone" :
		    host_fault(address + 7);
	if (scheme == 0 || address[scheme] != ':' || memchr(address, '.', scheme) == NULL ||
	    strchr(LETTERS, address[0]) == NULL)
		return "it begins neither with https:// nor with a scheme of one's own, as com.example.app:";
	return address[scheme + 1] != '/' || address[scheme + 2] == '\0' ? "a path must follow its scheme" :
	    has_dots(address + scheme + 1) ? "its path goes up by dots" : NULL;
}

/* The same but for the port of a loopback address, which only literals have (RFC 8252 section 8.3). */
static bool
is_same_machine(const char *registered, const char *address)
{
	size_t n;

	if (strncmp(registered, "http://", 7) != 0 || strncmp(registered + 7, "localhost", 9) == 0)
		return false;
	n = loopback(registered + 7);
	if (n == 0 || strncmp(registered, address, 7 + n) != 0 || client_address_fault(address) != NULL)
		return false;
	registered += 7 + n;
	address += 7 + n;
	return strcmp(registered + port_length(registered), address + port_length(address)) == 0;
}

static bool
is_listed(const struct client *c, struct strings list, const char *address)
{
	size_t i;

	for (i = 0; i < list.n; i++)
		if (strcmp(list.at[i], address) == 0 || (c->is_public && is_same_machine(list.at[i], address)))
			return true;
	return false;
}

bool
client_redirects_to(const struct client *c, const char *address)
{
	return is_listed(c, c->redirect_uris, address);
}

bool
client_logs_out_to(const struct client *c, const char *address)
{
	return is_listed(c, c->logout_uris, address);
}
