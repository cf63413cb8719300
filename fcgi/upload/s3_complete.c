/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CompleteMultipartUpload: which parts the file consists of, and its end. */
#include <errno.h>
#include <inttypes.h>
#include <libxml/parser.h>
#include <libxml/xmlreader.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/upload/partial.h"
#include "fcgi/upload/s3_visit.h"
#include "media/xml.h"

#define SUM "Checksum"

enum {
	PART_MIN = 5 << 20,		/* bytes, but of the last one */
	XML_MAX = 2 << 20,		/* bytes of a list of parts, */
	XML_SHORT = 32 << 10,		/* and of one that anybody may send at any time */
	XML_MEMORY = 16 << 20,		/* for one that grows */
	ELEMENTS_MAX = 16 * S3_PARTS_MAX, TAG_MAX = 512,	/* elements in it, and bytes of a tag */
};

struct wanted { int64_t number; const char *etag; struct s3_said sum; };
struct wish { struct wanted *at; size_t n; struct s3_said sum; };

/* Quoted or not, and white space around it. */
static const char *
bare(struct arena *mem, const char *text)
{
	text += strspn(text, " \t\r\n\"");
	return arena_copy_n(mem, text, strcspn(text, " \t\r\n\""));
}

/* No client sends comments, either. */
static bool
is_plain(const char *text)
{
	for (const char *at = text; (at = strchr(at, '<')) != NULL; at++)
		if (at[1] == '!')
			return false;
	return xml_costly(text, TAG_MAX) == NULL;
}

/* "ChecksumCRC32"; others that begin so are none. */
static enum s3_sum_kind
sum_named(const char *name)
{
	return strncmp(name, SUM, strlen(SUM)) == 0 ? s3_sum_find(name + strlen(SUM)) : S3_SUM_NONE;
}

/* An element that the reader is at, if we know it. */
static bool
take_element(struct arena *mem, const struct s3_element *e, void *user)
{
	struct wish *wish = user;
	struct wanted *w = &wish->at[wish->n > 0 ? wish->n - 1 : 0];
	enum s3_sum_kind sum;

	if (e->depth == 0)
		return strcmp(e->name, "CompleteMultipartUpload") == 0;
	if (e->depth == 1) {
		wish->at[wish->n == S3_PARTS_MAX ? 0 : wish->n] = (struct wanted){ 0 };
		return strcmp(e->name, "Part") == 0 && wish->n++ < S3_PARTS_MAX;
	}
	if (e->depth == 2 && strcmp(e->name, "PartNumber") == 0)
		return int_parse(bare(mem, s3_element_text(mem, e)), &w->number);
	if (e->depth == 2 && strcmp(e->name, "ETag") == 0)
		w->etag = bare(mem, s3_element_text(mem, e));
	if (e->depth == 2 && (sum = sum_named(e->name)) != S3_SUM_NONE)
		w->sum = (struct s3_said){ sum, bare(mem, s3_element_text(mem, e)) };
	return true;
}

const char *
s3_element_text(struct arena *mem, const struct s3_element *e)
{
	xmlChar *text = xmlTextReaderReadString(e->reader);
	const char *copy = arena_copy(mem, text != NULL ? (const char *)text : "");

	xmlFree(text);
	return copy;
}

static bool
take_node(struct arena *mem, xmlTextReader *reader, bool (*take)(struct arena *, const struct s3_element *, void *),
    void *user)
{
	const struct s3_element e = { xmlTextReaderDepth(reader), (const char *)xmlTextReaderConstLocalName(reader),
	    reader };

	return take(mem, &e, user);
}

/* One by one: a tree of so many bytes would take fifty times their memory.  In UTF-8, as is_plain() has read it,
 * whatever it says of itself. */
static bool
read_elements(struct arena *mem, const struct buf *text, bool (*take)(struct arena *, const struct s3_element *,
    void *), void *user)
{
	xmlTextReader *reader = xmlReaderForMemory(text->text, (int)text->len, NULL, "UTF-8", XML_PARSE_NONET |
	    XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	int elements = 0, n = reader != NULL ? 1 : -1;
	bool fine = true;

	while (fine && n == 1 && (n = xmlTextReaderRead(reader)) == 1)
		if (xmlTextReaderNodeType(reader) == XML_READER_TYPE_ELEMENT)
			fine = ++elements <= ELEMENTS_MAX && take_node(mem, reader, take, user);
	xmlFreeTextReader(reader);
	return fine && n == 0;
}

static enum s3_error
take_text(struct s3 *s, struct buf *text, const void *bytes, size_t n, int64_t since)
{
	if (text->len + n > XML_MAX)
		return S3_BAD_XML;
	if (s->c->window > 0 && clock_ms() - since > s->c->window)
		return S3_INCOMPLETE;
	if (text->len + n > XML_SHORT && !s->seat.has_list && !room_take_list(s->c->in->room, &s->seat))
		return S3_SLOW_DOWN;
	buf_add(text, bytes, n);
	return S3_FINE;
}

static enum s3_error
read_text(struct s3 *s, struct s3_said *of_file, struct buf *text)
{
	const int64_t since = clock_ms();
	const void *bytes;
	struct s3_body b;
	enum s3_error error = s3_begin_body(s, &b);
	int n = 0;

	if (of_file != NULL && b.sum_said != NULL) {
		*of_file = (struct s3_said){ b.kind, b.sum_said };
		b.kind = S3_SUM_NONE;
	}
	while (error == S3_FINE && (n = s3_body_read(&b, &s->seat, &bytes)) > 0)
		error = take_text(s, text, bytes, (size_t)n, since);
	if (error == S3_FINE)
		error = n < 0 ? (b.error != S3_FINE ? b.error : S3_INCOMPLETE) : s3_body_check(&b);
	s3_body_end(&b);
	return error;
}

enum s3_error
s3_read_xml(struct s3 *s, struct s3_said *of_file, bool (*take)(struct arena *, const struct s3_element *, void *),
    void *user)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct arena *work = arena_new(XML_MEMORY);
	struct buf text = BUF(work);
	enum s3_error error = read_text(s, of_file, &text);

	pthread_once(&once, xmlInitParser);
	if (error == S3_FINE && (!is_plain(buf_string(&text)) || !read_elements(s->c->mem, &text, take, user)))
		error = S3_BAD_XML;
	arena_free(work);
	room_give_list(s->c->in->room, &s->seat);
	return error;
}

static enum s3_error
read_wish(struct s3 *s, struct wish *wish)
{
	enum s3_error error;

	*wish = (struct wish){ arena_array(s->c->mem, S3_PARTS_MAX, sizeof(*wish->at)), 0, { S3_SUM_NONE, NULL } };
	error = s3_read_xml(s, &wish->sum, take_element, wish);
	for (size_t i = 0; error == S3_FINE && i < wish->n; i++)
		if (wish->at[i].number == 0 || wish->at[i].etag == NULL)
			error = S3_BAD_XML;
	return error == S3_FINE && wish->n == 0 ? S3_BAD_XML : error;
}

/* The one that came with the part, if the list says it again. */
static bool
has_sum(const struct s3_part *part, const struct s3_said *said)
{
	return said->kind == S3_SUM_NONE || (part->sum != NULL && s3_sum_find(part->sum_kind) == said->kind &&
	    strcmp(part->sum, said->text) == 0);
}

/* The parts that are wished for, as they are there. */
static enum s3_error
choose(struct s3 *s, const struct wish *wish, const struct s3_part *part, size_t n, const struct s3_part **chosen)
{
	int64_t total = 0;
	size_t i, k;

	for (i = k = 0; i < wish->n; i++) {
		if (i > 0 && wish->at[i].number <= wish->at[i - 1].number)
			return S3_PART_ORDER;
		while (k < n && part[k].number < wish->at[i].number)
			k++;
		if (k == n || part[k].number != wish->at[i].number || strcmp(part[k].md5, wish->at[i].etag) != 0 ||
		    !has_sum(&part[k], &wish->at[i].sum))
			return S3_BAD_PART;
		if (part[k].size < PART_MIN && i + 1 < wish->n)
			return S3_TOO_SMALL;
		chosen[i] = &part[k];
		total += part[k].size;
	}
	s->c->received = total;
	if (s->row->file_size.set && total != s->row->file_size.n)
		return S3_WRONG_SIZE;
	return total > s->c->in->conf->upload_max_size ? S3_TOO_LARGE : S3_FINE;
}

/*
 * Is the checksum that came with the list that of the file?  Of all its bytes (FULL_OBJECT), or of the sums of its
 * parts (COMPOSITE), which not every client says.  It follows from what came with the parts: nothing is read for it,
 * and what does not follow from that is refused, since its client takes the file for checked.
 */
static enum s3_error
check_file(struct s3 *s, const struct s3_said *said, const struct s3_part *const *part, size_t n)
{
	struct arena *mem = s->c->mem;
	const char *whole = NULL, *of_sums;
	struct s3_sum sums;
	size_t i;

	if (said->kind == S3_SUM_NONE)
		return S3_FINE;
	for (i = 0; i < n; i++)
		if (part[i]->sum == NULL || s3_sum_find(part[i]->sum_kind) != said->kind)
			return S3_NO_SUM;
	s3_sum_begin(&sums, said->kind);
	for (i = 0; i < n; i++) {
		s3_sum_add_sum(&sums, part[i]->sum);
		if (s3_sum_is_linear(said->kind))
			whole = i == 0 ? part[i]->sum : s3_sum_behind(said->kind, mem, whole, part[i]->sum,
			    part[i]->size);
	}
	of_sums = s3_sum_text(&sums, mem);
	return (whole != NULL && strcmp(said->text, whole) == 0) || strcmp(said->text, of_sums) == 0 ||
	    strcmp(said->text, arena_printf(mem, "%s-%zu", of_sums, n)) == 0 ? S3_FINE : S3_BAD_DIGEST;
}

/* MD5 of the MD5s of the parts, and their number. */
static const char *
etag_of(struct arena *mem, const struct s3_part *const *part, size_t n)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	unsigned char md5[16];

	if (md == NULL || !EVP_DigestInit_ex(md, EVP_md5(), NULL))
		return "";
	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < 16; k++)
			sscanf(part[i]->md5 + 2 * k, "%2hhx", &md5[k]);
		EVP_DigestUpdate(md, md5, sizeof(md5));
	}
	EVP_DigestFinal_ex(md, md5, NULL);
	EVP_MD_CTX_free(md);
	return arena_printf(mem, "%s-%zu", hex_encode(mem, md5, sizeof(md5)), n);
}

static enum s3_error
by_put(struct s3 *s, const struct put *p)
{
	s->c->reason = p->reason;
	s->c->detail = p->detail;
	switch (p->error) {
	case ERR_NONE: return S3_FINE;
	case ERR_UNSUPPORTED_TYPE: case ERR_INVALID: case ERR_UPLOAD_REFUSED: return S3_REFUSED;
	case ERR_NO_SPACE: return S3_NO_SPACE;
	case ERR_UNAVAILABLE: return S3_UNAVAILABLE;
	case ERR_INTERNAL: return S3_INTERNAL;
	default: return S3_NO_SUCH_UPLOAD;	/* cancelled, expired, or begun anew meanwhile */
	}
}

/* All of it is in this file. */
enum s3_error
s3_arrive(struct s3 *s, const struct s3_file *f, int64_t attempt, const char *etag)
{
	struct put p = { .in = s->c->in, .mem = s->c->mem, .id = s->c->upload_id, .received = s->c->received,
	    .etag = etag };
	enum s3_error error;

	put_place(&p, &s->seat, attempt, f->path, f->sha256);
	error = by_put(s, &p);
	if (error == S3_FINE || p.reason != REASON_NONE)
		partial_forget(s->c->mem, p.id, attempt + 1);
	return error;
}

static enum s3_error
answer_complete(struct s3 *s, const char *etag)
{
	struct buf *b = s3_xml(s->c, "CompleteMultipartUploadResult");

	s3_put(b, "Location", arena_printf(s->c->mem, "%s" S3_STORAGE "/" S3_BUCKET "/%s", s->c->in->conf->public_url,
	    uuid_text(s->c->mem, s->c->upload_id)));
	s3_put(b, "Bucket", s->bucket);
	s3_put(b, "Key", s->key);
	s3_put(b, "ETag", arena_printf(s->c->mem, "\"%s\"", etag));
	return s3_end_xml(s->c, "CompleteMultipartUploadResult");
}

static enum s3_error
read_rows(struct s3 *s, struct s3_part **part, size_t *n)
{
	enum s3_error error;

	if (!s3_take_link(s))
		return S3_UNAVAILABLE;
	/* In this order: parts that are gone because another has completed are told of by the row. */
	*part = s3_parts_of(s, 0, S3_PARTS_MAX, n);
	s->row = s3_load(s, false);
	error = s3_by_db(s);
	s3_give_link(s);
	return error;
}

/* Are these all parts that there are?  Asked when nobody can add one to the file that they share. */
static bool
are_all(struct s3 *s, const struct s3_part *const *chosen, size_t n)
{
	struct s3_part *part;
	size_t there, i = 0;

	if (read_rows(s, &part, &there) != S3_FINE || there != n)
		return false;
	while (i < n && strcmp(part[i].file, chosen[i]->file) == 0)
		i++;
	return i == n;
}

/* Are the chosen ones still those that count?  Others may have come. */
static enum s3_error
look_again(struct s3 *s, const struct s3_part *const *chosen, size_t n)
{
	struct s3_part *part;
	size_t there, i, found = 0;
	enum s3_error error = read_rows(s, &part, &there);

	for (i = 0; error == S3_FINE && i < there && found < n; i++)
		if (part[i].number == chosen[found]->number && strcmp(part[i].file, chosen[found]->file) == 0)
			found++;
	return error == S3_FINE && found < n ? S3_INTERNAL : error;
}

/* Without a copy, if no other part needs its bytes, for which a client could still ask when this fails. */
static bool
open_whole(struct s3 *s, struct s3_file *f, const struct s3_part *const *chosen, size_t n)
{
	const char *name = arena_printf(f->mem, "%" PRId64 ".whole.%s", f->attempt, s->c->request_id);

	if (s3_file_gather(f, s->c->upload_id, name, chosen, n)) {
		if (are_all(s, chosen, n))
			return true;
		s3_file_remove(f->mem, s->c->upload_id, name);
		s3_file_close(f);
	}
	return s3_file_new(f, s->c->upload_id, name);
}

static enum s3_error
join(struct s3 *s, const struct s3_part *const *chosen, size_t n, int64_t attempt, const char *etag)
{
	struct s3_file f = { .in = s->c->in, .mem = s->c->mem, .seat = &s->seat, .attempt = attempt, .fd = -1 };
	enum s3_error error;

	if (!open_whole(s, &f, chosen, n))
		return errno == ENOSPC || errno == EDQUOT ? S3_NO_SPACE : S3_INTERNAL;
	error = s3_file_join(&f, s->c->upload_id, chosen, n);
	/* The place of one that was sent again is given back behind its row: what was read there may be zeros. */
	if (error == S3_FINE)
		error = look_again(s, chosen, n);
	if (error == S3_FINE)
		error = s3_arrive(s, &f, attempt, etag);
	if (error != S3_FINE)
		s3_file_remove(s->c->mem, s->c->upload_id, f.name);
	s3_file_close(&f);	/* nobody writes into it before it has lost its other name */
	return error;
}

/* Whoever asks twice gets the first answer. */
static bool
is_complete(const struct s3 *s, int64_t attempt)
{
	return s->row != NULL && s->row->etag != NULL && s3_has_arrived(s->row) && s->row->attempt == attempt;
}

/* Why it failed: what was given up, begun anew or sent again meanwhile has taken bytes away that were to be joined. */
static enum s3_error
look_why(struct s3 *s, const struct wish *wish, int64_t attempt, enum s3_error error)
{
	const struct s3_part **chosen = arena_array(s->c->mem, wish->n, sizeof(*chosen));
	struct s3_part *part;
	size_t n;
	enum s3_error now;

	if (read_rows(s, &part, &n) != S3_FINE || is_complete(s, attempt))
		return error;
	if (!s3_takes(s->row, attempt))
		return S3_NO_SUCH_UPLOAD;
	now = choose(s, wish, part, n, chosen);
	return now != S3_FINE ? now : error;
}

/*
 * Of two at once one finds that the other was first.  Takes its seat in front of the body, so that those who let us
 * wait for it give way to others.
 */
enum s3_error
s3_complete(struct s3 *s)
{
	const struct s3_part **chosen;
	struct s3_part *part;
	struct wish wish;
	const char *etag;
	int64_t attempt;
	size_t n;
	enum s3_error error = s3_enter(s, true);

	if (error == S3_FINE)
		error = read_wish(s, &wish);
	if (error != S3_FINE)
		return error;
	if (!s3_read_attempt(s, &attempt))
		return S3_NO_SUCH_UPLOAD;
	error = is_complete(s, attempt) ? S3_FINE : read_rows(s, &part, &n);
	if (error != S3_FINE)
		return error;
	if (is_complete(s, attempt))
		return answer_complete(s, s->row->etag);
	if (!s3_takes(s->row, attempt))
		return S3_NO_SUCH_UPLOAD;
	chosen = arena_array(s->c->mem, wish.n, sizeof(*chosen));
	error = choose(s, &wish, part, n, chosen);
	if (error == S3_FINE)
		error = check_file(s, &wish.sum, chosen, wish.n);
	if (error != S3_FINE)
		return error;
	etag = etag_of(s->c->mem, chosen, wish.n);
	error = join(s, chosen, wish.n, attempt, etag);
	if (error == S3_FINE)
		return answer_complete(s, etag);
	if (error != S3_REFUSED)
		error = look_why(s, &wish, attempt, error);
	return error != S3_REFUSED && is_complete(s, attempt) ? answer_complete(s, s->row->etag) : error;
}
