/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sounds for engines, and what they make of them. */
#ifndef TESTS_JOBS_EARS_H
#define TESTS_JOBS_EARS_H

#include "jobs/engines/engine.h"

struct world;

#define LECTURE "Today we will see how the immune system protects the body against infections and diseases. " \
	"The human body has several lines of defense. The first line is the skin which keeps most of the bacteria outside. " \
	"When a virus enters the body special cells in the blood recognize the intruder and begin to attack it."
#define SECOND "Thank you very much for your attention. Please come back again next week."
#define VOICE(text, name) "flite=text='" text "':voice=" name ",aresample=16000"
#define MUSIC "aevalsrc='0.25*exp(-3*mod(t,0.5))*(sin(2*PI*t*220*pow(2,floor(mod(t*2,8))/12))+" \
	"sin(2*PI*t*277*pow(2,floor(mod(t*2,5))/12))+sin(2*PI*t*330))+0.1*exp(-20*mod(t,0.25))*(random(0)-0.5)':d=12"

enum { MAX_HEARD = 64 };

/* What an engine gave. */
struct ear {
	struct hearing h;
	struct segment heard[MAX_HEARD];
	size_t n;
	int percent;
};

/* Where sounds are put; each test program makes its own. */
extern const char *ears_dir;

/* A program, which has to succeed. */
void run(const char *const *argv);
/* The sound of an ffmpeg graph as a file in ears_dir; its extension decides the format. */
const char *make_sound(struct arena *, const char *graph, const char *name);
/* The same as samples, open. */
int samples(struct arena *, const char *graph);
/* All that engine_hear() gives; the language is that which the ear has, or English.  Closes the samples. */
enum outcome hear(struct world *, const struct engine *, const struct conf *, struct ear *, int pcm);
const char *all_text(struct arena *, const struct ear *);
/* Percent of wrong words: the edit distance over the length of the truth. */
int word_error_rate(struct arena *, const char *truth, const char *heard);

#endif
