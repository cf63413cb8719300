/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vectors of questions, in rows. */
#include <string.h>

#include "core/digest.h"
#include "core/job.h"
#include "core/question.h"

/* One that nobody has answered for so long is asked again; how long somebody may wait; rows that go at a time; ms. */
enum { LOST_MS = 60000, WAIT_MS = 2000, GOES = 200 };

struct kept { const char *vector; int64_t plane0, plane1, plane2, plane3; };
static const struct field kept_fields[] = {
	FIELD(struct kept, vector, .sql = "LOWER(HEX(t.meaning))", .doc = "Its parts"),
	FIELD(struct kept, plane0, .doc = "Sides"), FIELD(struct kept, plane1, .doc = "Sides"),
	FIELD(struct kept, plane2, .doc = "Sides"), FIELD(struct kept, plane3, .doc = "Sides"),
};
static const struct record kept_record = RECORD("Question", struct kept, kept_fields);

/* Of its words, however they are spaced. */
static const char *
digest_of(struct arena *mem, const char *text)
{
	struct buf b = BUF(mem);
	size_t n;

	for (text += strspn(text, " \t\r\n"); *text != '\0'; text += n + strspn(text + n, " \t\r\n")) {
		n = strcspn(text, " \t\r\n");
		if (b.len > 0)
			buf_char(&b, ' ');
		buf_add(&b, text, n);
	}
	return digest_text(mem, buf_string(&b), b.len);
}

struct meaning
question_meaning(struct db *db, struct arena *mem, struct uuid tenant_id, const char *engine, const char *text)
{
	const struct kept *k = db_row(db, &kept_record, "FROM questions t WHERE t.tenant_id = ? AND t.engine = ? AND "
	    "t.digest = ? AND t.meaning IS NOT NULL", ARGS(ID(tenant_id), STR(engine), STR(digest_of(mem, text))));
	struct meaning m = { 0 };
	unsigned char *bytes;
	size_t n;

	if (k == NULL)
		return m;
	n = strlen(k->vector) / 2;
	bytes = arena_alloc(mem, n + 1);
	hex_decode(k->vector, bytes, n);
	m = meaning_kept(bytes, n);
	m.planes[0] = (uint64_t)k->plane0;
	m.planes[1] = (uint64_t)k->plane1;
	m.planes[2] = (uint64_t)k->plane2;
	m.planes[3] = (uint64_t)k->plane3;
	return m;
}

bool
question_ask(struct db *db, struct uuid tenant_id, const char *engine, const char *text)
{
	const struct job_place place = { .tenant_id = tenant_id, .priority = PRIORITY_FIRST };
	const char *digest = digest_of(db_arena(db), text);
	const int64_t now = moment_now().ms;

	if (db_run(db, "INSERT IGNORE INTO questions (tenant_id, engine, digest, text, asked_at) VALUES (?, ?, ?, ?, "
	    "?)", ARGS(ID(tenant_id), STR(engine), STR(digest), STR(text), INT(now))) != 1 && db_run(db, "UPDATE questions SET "
	    "asked_at = ? WHERE tenant_id = ? AND engine = ? AND digest = ? AND meaning IS NULL AND asked_at < ?",
	    ARGS(INT(now), ID(tenant_id), STR(engine), STR(digest), INT(now - LOST_MS))) != 1)
		return false;
	job_add(db, question, place, .engine = engine, .digest = digest);
	if (db_number(db, "SELECT COUNT(*) FROM questions WHERE tenant_id = ?", ARGS(ID(tenant_id)), 0) > QUESTIONS_MAX)
		db_run(db, "DELETE FROM questions WHERE tenant_id = ? ORDER BY asked_at LIMIT ?", ARGS(ID(tenant_id),
		    INT(GOES)));
	return db_number(db, "SELECT COUNT(*) FROM questions WHERE asked_at > ? AND meaning IS NULL",
	    ARGS(INT(now - WAIT_MS)), 0) <= QUESTION_WAITERS;
}
