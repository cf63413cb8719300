/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of people, their sessions and invitations. */
#include <string.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include "core/text.h"
#include "core/user.h"

enum { LOGIN_MAX = 255, KEY_MAX = LOGIN_MAX * 4, AGENT_MAX = 200, SECRET = 32, NOTED_MS = 60000 };

static const struct field user_fields[] = {
	FIELD(struct user, id, .doc = "User and principal"),
	FIELD(struct user, tenant_id, .doc = "Its tenant"),
	FIELD(struct user, shortcode, .sql = "n.shortcode", .doc = "Name of the tenant in addresses"),
	FIELD(struct user, login, .doc = "Name to sign in with"),
	FIELD(struct user, name, .sql = "p.name", .doc = "Shown to people"),
	FIELD(struct user, email, .doc = "Where mail goes"),
	FIELD(struct user, is_super_admin, .sql = "p.is_super_admin", .doc = "Has every permission"),
	FIELD(struct user, password_hash, .on = HIDDEN, .doc = "See core/password.h"),
	FIELD(struct user, totp_sealed, .on = HIDDEN, .doc = "See core/totp.h"),
	FIELD(struct user, totp_at, .doc = "Since when a second factor is asked for"),
	FIELD(struct user, totp_step, .on = HIDDEN, .doc = "Last step that was taken"),
	FIELD(struct user, failed_tries, .doc = "Wrong passwords and codes since the last right one"),
	FIELD(struct user, locked_until, .doc = "Nobody gets in before"),
	FIELD(struct user, disabled_at, .doc = "Null while it is live"),
	FIELD(struct user, created_at, .doc = "When it was made"),
};
const struct record user_record = RECORD("User", struct user, user_fields);

#define USER_FROM "FROM users t JOIN principals p ON p.id = t.id JOIN tenants n ON n.id = t.tenant_id WHERE "

static const struct field session_fields[] = {
	FIELD(struct session, id, .doc = "Unique id"),
	FIELD(struct session, user_id, .doc = "Who signed in"),
	FIELD(struct session, tenant_id, .sql = "u.tenant_id", .doc = "Its tenant"),
	FIELD(struct session, login, .sql = "u.login", .doc = "Name to sign in with"),
	FIELD(struct session, name, .sql = "p.name", .doc = "Shown to people"),
	FIELD(struct session, email, .sql = "u.email", .doc = "Where mail goes"),
	FIELD(struct session, is_super_admin, .sql = "p.is_super_admin", .doc = "Has every permission"),
	FIELD(struct session, is_pending, .doc = "The second factor is still to come"),
	FIELD(struct session, has_code, .doc = "A second factor was shown"),
	FIELD(struct session, address, .doc = "Whence"),
	FIELD(struct session, agent, .doc = "Browser"),
	FIELD(struct session, created_at, .doc = "When it began"),
	FIELD(struct session, used_at, .doc = "Last use"),
	FIELD(struct session, expires_at, .doc = "End"),
};
const struct record session_record = RECORD("Session", struct session, session_fields);

#define SESSION_FROM "FROM sessions t JOIN users u ON u.id = t.user_id JOIN principals p ON p.id = u.id " \
	"JOIN tenants n ON n.id = u.tenant_id WHERE u.disabled_at = 0 AND "

/* Blanks and controls of any script: what nobody sees makes no name. */
static bool
has_unseen(const UChar *text, int32_t n)
{
	UChar32 c;
	int32_t i = 0;

	while (i < n) {
		U16_NEXT(text, i, n, c);
		if (u_isUWhiteSpace(c) || u_iscntrl(c) || u_charType(c) == U_FORMAT_CHAR || !u_isdefined(c))
			return true;
	}
	return false;
}

const char *
user_key(struct arena *mem, const char *login)
{
	UErrorCode error = U_ZERO_ERROR;
	const UNormalizer2 *form = unorm2_getNFKCCasefoldInstance(&error);
	UChar wide[LOGIN_MAX * 2 + 1], folded[KEY_MAX];
	char *key = arena_alloc(mem, KEY_MAX + 1);
	int32_t n, m, bytes;

	if (!utf8_valid(login, strlen(login)) || *login == '\0' || utf8_length(login) > LOGIN_MAX)
		return NULL;
	u_strFromUTF8(wide, LOGIN_MAX * 2 + 1, &n, login, -1, &error);
	if (U_FAILURE(error) || has_unseen(wide, n))
		return NULL;
	m = unorm2_normalize(form, wide, n, folded, KEY_MAX, &error);
	u_strToUTF8(key, KEY_MAX, &bytes, folded, m, &error);
	return U_FAILURE(error) || bytes == 0 || utf8_length(key) > LOGIN_MAX ? NULL : key;
}

const struct user *
user_by_login(struct db *db, const char *shortcode, const char *login)
{
	const char *key = user_key(db_arena(db), login);

	return key == NULL ? NULL : db_row(db, &user_record, USER_FROM "n.shortcode = ? AND t.login_key = ?",
	    ARGS(STR(shortcode), STR(key)));
}

const struct user *
user_by_id(struct db *db, struct uuid id)
{
	return db_row(db, &user_record, USER_FROM "t.id = ?", ARGS(ID(id)));
}

/* The row alone: others need the tenant's. */
const struct user *
user_lock(struct db *db, struct uuid id)
{
	db_number(db, "SELECT 1 FROM users WHERE id = ? FOR UPDATE", ARGS(ID(id)), 0);
	return user_by_id(db, id);
}

struct key_row { struct uuid id, tenant_id; const char *login, *login_key, *email; struct moment created_at,
    updated_at; };
static const struct field key_fields[] = {
	FIELD(struct key_row, id, .on = SERVER, .doc = "User and principal"),
	FIELD(struct key_row, tenant_id, .on = SERVER, .doc = "Its tenant"),
	FIELD(struct key_row, login, .on = SERVER, .doc = "As it was given"),
	FIELD(struct key_row, login_key, .on = SERVER, .doc = "As it is found"),
	FIELD(struct key_row, email, .on = SERVER, .doc = "Where mail goes"),
	FIELD(struct key_row, created_at, .on = SERVER, .doc = "When it was made"),
	FIELD(struct key_row, updated_at, .on = SERVER, .doc = "When it was changed"),
};
static const struct record key_record = RECORD("UserRow", struct key_row, key_fields);

void
user_principal(struct db *db, const struct user *u)
{
	db_run(db, "INSERT INTO principals (id, tenant_id, kind, name, is_super_admin, created_at) VALUES "
	    "(?, ?, 'user', ?, ?, ?)", ARGS(ID(u->id), ID(u->tenant_id), STR(u->name), INT(u->is_super_admin),
	    TIME(moment_now())));
}

bool
user_add(struct db *db, const struct user *u)
{
	struct moment now = moment_now();
	struct key_row row = { u->id, u->tenant_id, u->login, user_key(db_arena(db), u->login), u->email, now, now };

	if (row.login_key == NULL)
		return false;
	user_principal(db, u);
	return db_insert(db, "users", &key_record, &row);
}

void
user_set_password(struct db *db, struct uuid id, const char *hash, struct uuid kept)
{
	struct arg now = TIME(moment_now());

	db_run(db, "UPDATE users SET password_hash = ?, password_at = ?, updated_at = ?, failed_tries = 0, "
	    "locked_until = 0 WHERE id = ?", ARGS(STR(hash), now, now, ID(id)));
	db_run(db, "DELETE FROM sessions WHERE user_id = ? AND id <> COALESCE(?, '')", ARGS(ID(id), ID(kept)));
	db_run(db, "DELETE FROM invitations WHERE user_id = ? AND used_at = 0", ARGS(ID(id)));
}

bool
user_set_disabled(struct db *db, struct uuid id, bool disabled)
{
	struct moment now = moment_now();

	if (disabled) {
		db_run(db, "DELETE FROM sessions WHERE user_id = ?", ARGS(ID(id)));
		db_run(db, "DELETE FROM invitations WHERE user_id = ?", ARGS(ID(id)));
		db_run(db, "UPDATE authorizations SET ended_at = ? WHERE user_id = ? AND ended_at = 0", ARGS(TIME(now),
		    ID(id)));
	}
	return db_run(db, "UPDATE users SET disabled_at = ?, updated_at = ? WHERE id = ?",
	    ARGS(INT(disabled ? now.ms : 0), TIME(now), ID(id))) == 1;
}

/* Half a minute, one, two, …: the row is the caller's by user_lock(), so none of several tries at once is lost. */
bool
user_failed(struct db *db, const struct user *u)
{
	int64_t over = u->failed_tries + 1 - TRIES_UNTIL_LOCKED;
	int64_t wait = over < 0 ? 0 : over > 4 ? 900000 : (int64_t)30000 << over;

	db_run(db, "UPDATE users SET failed_tries = failed_tries + 1, locked_until = ? WHERE id = ?",
	    ARGS(INT(wait > 0 ? moment_now().ms + wait : 0), ID(u->id)));
	return wait > 0;
}

void
user_unlock(struct db *db, struct uuid id)
{
	db_run(db, "UPDATE users SET failed_tries = 0, locked_until = 0 WHERE id = ? AND failed_tries > 0",
	    ARGS(ID(id)));
}

void
user_remove_codes(struct db *db, struct uuid id)
{
	db_run(db, "UPDATE users SET totp_sealed = NULL, totp_at = 0, totp_step = 0 WHERE id = ?", ARGS(ID(id)));
}

static const char *
secret_make(struct arena *mem)
{
	unsigned char bytes[SECRET];

	random_bytes(bytes, sizeof(bytes));
	return base64url_encode(mem, bytes, sizeof(bytes));
}

const char *
invitation_add(struct db *db, struct uuid user_id)
{
	const char *token = secret_make(db_arena(db));
	struct moment now = moment_now();

	db_run(db, "DELETE FROM invitations WHERE user_id = ?", ARGS(ID(user_id)));
	db_run(db, "INSERT INTO invitations (token_hash, user_id, created_at, expires_at) VALUES "
	    "(UNHEX(SHA2(?, 256)), ?, ?, ?)", ARGS(STR(token), ID(user_id), TIME(now), INT(now.ms + INVITATION_MS)));
	return token;
}

const char *
invitation_url(struct arena *mem, const char *public_url, const char *shortcode, const char *token)
{
	return arena_printf(mem, "%s/realms/%s/invitations/%s", public_url, shortcode, token);
}

struct moment
invitation_end(struct db *db, const char *token)
{
	return (struct moment){ db_number(db, "SELECT expires_at FROM invitations WHERE token_hash = "
	    "UNHEX(SHA2(?, 256))", ARGS(STR(token)), 0) };
}

const struct user *
invitation_find(struct db *db, const char *shortcode, const char *token)
{
	return db_row(db, &user_record, "FROM invitations i JOIN users t ON t.id = i.user_id JOIN principals p ON "
	    "p.id = t.id JOIN tenants n ON n.id = t.tenant_id WHERE i.token_hash = UNHEX(SHA2(?, 256)) AND "
	    "i.used_at = 0 AND i.expires_at > ? AND t.disabled_at = 0 AND n.shortcode = ?", ARGS(STR(token),
	    TIME(moment_now()), STR(shortcode)));
}

void
invitation_mailed(struct db *db, const char *token)
{
	db_run(db, "UPDATE invitations SET mailed_at = ? WHERE token_hash = UNHEX(SHA2(?, 256))",
	    ARGS(TIME(moment_now()), STR(token)));
}

bool
invitation_use(struct db *db, const char *token)
{
	struct arg now = TIME(moment_now());

	db_run(db, "UPDATE users u JOIN invitations i ON i.user_id = u.id SET u.email_proven_at = ? WHERE "
	    "i.token_hash = UNHEX(SHA2(?, 256)) AND i.used_at = 0 AND i.expires_at > ? AND i.mailed_at > 0 AND u.email IS NOT NULL",
	    ARGS(now, STR(token), now));
	return db_run(db, "UPDATE invitations SET used_at = ? WHERE token_hash = UNHEX(SHA2(?, 256)) AND used_at = 0 "
	    "AND expires_at > ?", ARGS(now, STR(token), now)) == 1;
}

/* What has ended goes here: a user's own sign-ins clear up behind it. */
static void
sessions_clear(struct db *db, struct uuid user_id, struct moment now)
{
	db_run(db, "DELETE FROM sessions WHERE user_id = ? AND (expires_at <= ? OR used_at <= ?)",
	    ARGS(ID(user_id), TIME(now), INT(now.ms - SESSION_IDLE_MS)));
	db_run(db, "DELETE FROM sessions WHERE user_id = ? AND id <= (SELECT id FROM (SELECT id FROM sessions WHERE "
	    "user_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?) oldest)", ARGS(ID(user_id), ID(user_id),
	    INT(SESSIONS_MAX - 1)));
}

const char *
session_add(struct db *db, const struct session_start *s, struct uuid *id)
{
	const char *token = secret_make(db_arena(db)), *agent = s->agent != NULL ? s->agent : "";
	size_t n = strlen(agent);
	struct moment now = moment_now();

	*id = uuid_new();
	sessions_clear(db, s->user_id, now);
	agent = arena_copy_n(db_arena(db), agent, utf8_prefix(agent, n < AGENT_MAX ? n : AGENT_MAX));
	db_run(db, "INSERT INTO sessions (id, token_hash, user_id, is_pending, has_code, address, agent, created_at, "
	    "used_at, expires_at) VALUES (?, UNHEX(SHA2(?, 256)), ?, ?, ?, ?, ?, ?, ?, ?)", ARGS(ID(*id), STR(token),
	    ID(s->user_id), INT(s->is_pending), INT(s->has_code), STR(s->address), STR(agent), TIME(now), TIME(now),
	    INT(now.ms + (s->is_pending ? SESSION_PENDING_MS : SESSION_MS))));
	return token;
}

const struct session *
session_by_token(struct db *db, const char *shortcode, const char *token)
{
	struct moment now = moment_now();
	const struct session *s;

	s = db_row(db, &session_record, SESSION_FROM "t.token_hash = UNHEX(SHA2(?, 256)) AND n.shortcode = ? AND "
	    "t.expires_at > ? AND t.used_at > ?", ARGS(STR(token), STR(shortcode), TIME(now),
	    INT(now.ms - SESSION_IDLE_MS)));
	if (s != NULL && s->used_at.ms < now.ms - NOTED_MS)
		db_run(db, "UPDATE sessions SET used_at = ? WHERE id = ?", ARGS(TIME(now), ID(s->id)));
	return s;
}

const struct session *
session_list(struct db *db, struct uuid user_id, size_t *n)
{
	struct moment now = moment_now();

	return db_rows(db, &session_record, SESSION_FROM "t.user_id = ? AND t.is_pending = 0 AND t.expires_at > ? AND "
	    "t.used_at > ? ORDER BY t.id DESC", ARGS(ID(user_id), TIME(now), INT(now.ms - SESSION_IDLE_MS)), n);
}

bool
session_remove(struct db *db, struct uuid user_id, struct uuid id)
{
	return db_run(db, "DELETE FROM sessions WHERE id = ? AND user_id = ?", ARGS(ID(id), ID(user_id))) == 1;
}
