/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of such a file that is read: its magic; the order n (one byte) and n numbers of n-grams (32 bits); how the
 * others are quantised (32 bits: 1, by tables of 65,536 floats, two for each order between the first and the last, one
 * for the last); single words, of 12 bytes each: logarithm of the probability to the base 1.0001, of backing off, where
 * its pairs begin.  At the end: the size of the words (32 bits) and the words, each with a NUL, in their order.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "media/frequency.h"

#define MAGIC "Trie Language Model"
enum { TABLE = 65536 * 4, UNIGRAM = 12, ORDER_MAX = 5, WORDS_LEAST = 1000, WORDS_MOST = 10000000, LONGEST = 1024 };

struct frequency {
	const unsigned char *bytes;
	size_t size;
	const unsigned char *unigrams;
	const char **words;			/* in the order of strcmp() */
	size_t n;
};

static void
unmap(void *frequency)
{
	struct frequency *f = frequency;

	munmap((void *)(uintptr_t)f->bytes, f->size);
}

static uint32_t
number_at(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The last n texts of the file, if they are as long as the number before them says, none is endless, and in order. */
static bool
find_words(struct arena *mem, struct frequency *f)
{
	const char *end = (const char *)f->bytes + f->size, *at = end - 1;
	size_t i = f->n;

	f->words = arena_array(mem, f->n, sizeof(*f->words));
	if (*at != '\0')
		return false;
	while (i > 0) {
		const size_t left = (size_t)(at - (const char *)f->bytes), room = left < LONGEST ? left : LONGEST;
		const char *before = memrchr(at - room, '\0', room);

		if (before == NULL)
			return false;
		f->words[--i] = before + 1;
		at = before;
	}
	if (f->words[0] - (const char *)f->bytes < 4 || number_at((const unsigned char *)f->words[0] - 4) !=
	    (size_t)(end - f->words[0]))
		return false;
	for (i = 1; i < f->n; i++)
		if (strcmp(f->words[i - 1], f->words[i]) > 0)
			return false;
	return true;
}

static bool
read_head(struct frequency *f)
{
	const size_t magic = sizeof(MAGIC) - 1;
	size_t at;
	int order;

	if (f->size < magic + 1 || memcmp(f->bytes, MAGIC, magic) != 0)
		return false;
	order = f->bytes[magic];
	at = magic + 1 + (size_t)order * 4;
	if (order < 2 || order > ORDER_MAX || f->size < at + 4 || number_at(f->bytes + at) != 1)
		return false;
	f->n = number_at(f->bytes + magic + 1);
	at += 4 + (size_t)TABLE * (2 * (size_t)(order - 2) + 1);
	if (f->n < WORDS_LEAST || f->n > WORDS_MOST || f->size < at || (f->size - at) / UNIGRAM < f->n)
		return false;
	f->unigrams = f->bytes + at;
	return true;
}

struct frequency *
frequency_open(struct arena *mem, const char *path)
{
	struct frequency *f = NEW(mem, struct frequency);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0)
		return NULL;
	bytes = fstat(fd, &st) == 0 && st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) :
	    MAP_FAILED;
	close(fd);
	if (bytes == MAP_FAILED)
		return NULL;
	f->bytes = bytes;
	f->size = (size_t)st.st_size;
	arena_defer(mem, unmap, f);
	return read_head(f) && find_words(mem, f) ? f : NULL;
}

size_t
frequency_words(const struct frequency *f)
{
	return f->n;
}

double
frequency_of(const struct frequency *f, const char *word)
{
	size_t low = 0, high = f->n, middle;
	uint32_t bits;
	float p;
	int order;

	while (low < high) {
		middle = (low + high) / 2;
		order = strcmp(word, f->words[middle]);
		if (order == 0) {
			bits = number_at(f->unigrams + middle * UNIGRAM);
			memcpy(&p, &bits, sizeof(p));
			return (double)p * log10(1.0001);
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return 0;
}
