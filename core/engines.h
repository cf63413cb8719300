/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The analysis engines: the one list of them.  A family is an interface: what is handed over, and what comes back
 * (jobs/engines/engine.h).  An engine is a file that defines engine_<family>_<name>, and a line here; the settings
 * engine.<family> choose one of each family; "none" is one that does nothing.  Tenants may choose others that the
 * operator lets them choose from: engines_conf() is the one place that decides.
 */
#ifndef CORE_ENGINES_H
#define CORE_ENGINES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"

struct conf;
struct db;
struct strings;

/* Family; the struct that its engines are handed; what they do. */
#define ENGINE_FAMILIES(F) \
	F(transcribe,	hearing,	"Speech into words with times") \
	F(punctuate,	sentences,	"Words into sentences, by the marks between them") \
	F(translate,	translation,	"Text into another language") \
	F(diarize,	conversation,	"Who speaks when") \
	F(voiceprint,	conversation,	"Each of those who speak into numbers that tell a voice from others") \
	F(ocr,		sheet,		"A picture into the text on it") \
	F(vision,	prompt,		"Pictures into what they show") \
	F(complete,	prompt,		"A text that goes on") \
	F(embed,	excerpt,	"Text into numbers by what it means")

#define TRANSCRIBE_ENGINES(E) \
	E(transcribe, pocketsphinx) \
	E(transcribe, http) \
	E(transcribe, sherpa)

#define PUNCTUATE_ENGINES(E) \
	E(punctuate, sherpa)

#define TRANSLATE_ENGINES(E) \
	E(translate, apertium)

#define OCR_ENGINES(E) \
	E(ocr, tesseract)

#define DIARIZE_ENGINES(E) \
	E(diarize, mixtures) \
	E(diarize, sherpa)

#define VOICEPRINT_ENGINES(E) \
	E(voiceprint, mixtures) \
	E(voiceprint, sherpa)

#define VISION_ENGINES(E) \
	E(vision, http)

#define COMPLETE_ENGINES(E) \
	E(complete, http)

#define EMBED_ENGINES(E) \
	E(embed, http)

#define ENGINES(E) TRANSCRIBE_ENGINES(E) PUNCTUATE_ENGINES(E) TRANSLATE_ENGINES(E) OCR_ENGINES(E) \
	DIARIZE_ENGINES(E) VOICEPRINT_ENGINES(E) VISION_ENGINES(E) COMPLETE_ENGINES(E) EMBED_ENGINES(E)

/* Families of which tenants choose their engine; of `embed` they choose the model (core/models.h). */
#define CHOSEN_FAMILIES(F) F(transcribe) F(translate) F(diarize) F(voiceprint) F(ocr) F(vision) F(complete)

/* Kinds of models that sherpa-onnx takes, and that are known here. */
#define SHERPA_TYPES(T) T(whisper) T(zipformer) T(zipformer_ctc) T(parakeet) T(moonshine) T(sense_voice)

enum engine_family {
#define ENGINE_FAMILY(family, task, doc) ENGINE_##family,
	ENGINE_FAMILIES(ENGINE_FAMILY)
#undef ENGINE_FAMILY
	ENGINE_FAMILY_COUNT
};

/* What engine.<family> and engine.<family>.… say. */
struct engine_settings {
	const char *name;		/* of the engine */
	const char *url, *key, *model;	/* NULL: not set */
	const char *models;		/* others that may be named, comma-separated; NULL: none */
	/* engines that tenants may choose instead, "name" or "name:model", comma-separated; NULL: none */
	const char *others;
	bool gone;			/* chosen by a tenant, and offered no more: name is "none" */
	const char *type;		/* one of SHERPA_TYPES */
	const char *languages;		/* comma-separated; NULL: any */
	int64_t same, maybe;		/* percent, see struct engine's likeness; 0: as the engine has them */
	const char *voices;		/* of diarize: the model that compares voices, engine.voiceprint.model */
	int64_t timeout;		/* s per request */
	int64_t daily_tokens;		/* of a tenant; 0: any number */
	int64_t window;			/* tokens that a model reads at once */
};

/* What may be chosen of a family: the engine of the settings first, "none" last. */
struct strings engines_of(struct arena *, const struct engine_settings *);

/* Is it one of them?  NULL, which leaves it to the settings, always is. */
bool engines_known(const struct engine_settings *, const char *name);

/* The settings of a family with another engine: what it is of itself, and the model beside its name.  One that may not
 * be chosen is "none". */
struct engine_settings engines_chosen(struct arena *, const struct engine_settings *, const char *name);

/* What is wrong with engine.<family>.others, as a sentence that begins with the setting; NULL: nothing. */
const char *engines_wrong(struct arena *, const struct conf *);

/* The settings as a tenant has chosen: the same, or a copy with other engines, in the arena of the database.  One that
 * may not be chosen any more is "none", not another: what was to stay on this machine is sent to no server. */
const struct conf *engines_conf(struct db *, const struct conf *, struct uuid tenant_id);

/* What tenants have chosen and may not choose any more, for people: "tenant: ocr = tesseract, …"; NULL: nothing. */
const char *engines_gone(struct db *, const struct conf *);

#endif
