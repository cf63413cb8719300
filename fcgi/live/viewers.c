/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of players that were seen lately, in a table with open addresses. */
#include <stdlib.h>

#include "core/text.h"
#include "fcgi/live/viewers.h"

enum { ROOM_MIN = 16 };

uint64_t
viewers_number(void)
{
	uint64_t number;

	do
		random_bytes(&number, sizeof(number));
	while (number == 0);
	return number;
}

/* Where it is, or would be.  Who makes numbers up does not know the salt, and so not which ones would meet. */
static struct seen *
place_of(const struct viewers *v, uint64_t number)
{
	size_t i = (size_t)(((number ^ v->salt) * (v->salt | 1)) >> 32) & (v->room - 1);

	while (v->seen[i].number != 0 && v->seen[i].number != number)
		i = (i + 1) & (v->room - 1);
	return &v->seen[i];
}

/* The same without those who have left, and with places enough for as many again. */
static void
make_anew(struct viewers *v, int64_t now)
{
	const struct viewers old = *v;
	size_t i, n = 0;

	for (i = 0; i < old.room; i++)
		n += old.seen[i].number != 0 && now - old.seen[i].at < VIEWERS_SEEN_MS;
	for (v->room = ROOM_MIN; v->room < 4 * n;)
		v->room *= 2;
	v->seen = calloc(v->room, sizeof(*v->seen));
	if (v->seen == NULL)
		abort();
	v->n = n;
	v->salt = viewers_number();
	for (i = 0; i < old.room; i++)
		if (old.seen[i].number != 0 && now - old.seen[i].at < VIEWERS_SEEN_MS)
			*place_of(v, old.seen[i].number) = old.seen[i];
	free(old.seen);
}

void
viewers_see(struct viewers *v, uint64_t number, int64_t now)
{
	struct seen *s;

	if (v->room == 0)
		make_anew(v, now);
	s = place_of(v, number);
	if (s->number == 0) {
		if (v->n == VIEWERS_MAX)
			return;
		if (2 * (v->n + 1) > v->room) {
			make_anew(v, now);
			s = place_of(v, number);
		}
		v->n++;
		s->number = number;
	}
	s->at = now;
}

size_t
viewers_count(struct viewers *v, int64_t now)
{
	if (v->room > 0)
		make_anew(v, now);
	return v->n;
}

void
viewers_free(struct viewers *v)
{
	free(v->seen);
	*v = (struct viewers){ 0 };
}
