/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The checks of `kinothek doctor`.  One is a function that returns a finding, and its line here: the name that people
 * see, the function, and whether it asks the database, without which it is left out.  They run in this order.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/cli.h"

#define DOCTOR_CHECKS(C) \
	C("settings",		check_settings,		false) \
	C("address",		check_address,		false) \
	C("site",		check_site,		false) \
	C("certificate",	check_certificate,	false) \
	C("pages",		check_pages,		false) \
	C("port",		check_port,		false) \
	C("web server",		check_web_server,	false) \
	C("web account",	check_web_account,	false) \
	C("play key",		check_play_key,		false) \
	C("database",		check_database,		false) \
	C("schema",		check_schema,		true) \
	C("durability",		check_durability,	true) \
	C("connections",	check_connections,	true) \
	C("clock",		check_clock,		true) \
	C("signing keys",	check_keys,		true) \
	C("tenants",		check_tenants,		true) \
	C("programs",		check_programs,		false) \
	C("units",		check_units,		false) \
	C("livestreams",	check_live,		true) \
	C("ladder",		check_ladder,		false) \
	C("runners",		check_runners,		true) \
	C("sandbox",		check_sandbox,		false) \
	C("queue",		check_queue,		true) \
	C("deletions",		check_deletions,	true) \
	C("assets",		check_assets,		true) \
	C("originals",		check_originals,	true) \
	C("backup",		check_backup,		true) \
	C("store",		check_store,		false) \
	C("scratch",		check_scratch,		false) \
	C("spool",		check_spool,		false) \
	C("mail",		check_mail,		false) \
	C("video",		check_ffmpeg,		false) \
	C("documents",		check_documents,	false) \
	C("pictures",		check_ocr,		false) \
	C("voices",		check_voices,		false) \
	C("speech",		check_speech,		false) \
	C("punctuation",	check_punctuation,	false) \
	C("speakers",		check_speakers,		false) \
	C("known voices",	check_known,		true) \
	C("choices",		check_choices,		true) \
	C("limits",		check_limits,		false)

enum level { OK, WARN, FAIL };

/* remedy: what to do about it; NULL: nothing. */
struct finding { enum level level; const char *text, *remedy; };
#define FOUND(level, text, remedy) ((struct finding){ (level), (text), (remedy) })

#define DOCTOR_CHECK(name, function, database) struct finding function(struct cli *);
DOCTOR_CHECKS(DOCTOR_CHECK)
#undef DOCTOR_CHECK

/* Did the database answer?  What it did not say is no finding of its own: its own check tells it. */
extern bool doctor_has_database;

/* What only root sees, before it becomes the account of the programs: what the web server's account may read, and who
 * holds the port. */
void doctor_look_as_web(struct cli *);
void doctor_look_at_port(struct cli *);
/* Does somebody listen there? */
bool doctor_port_is_open(void);

/* Samples of a sentence in English, 16 kHz mono s16le, or of silence where ffmpeg has no voice, as a file in memory;
 * -1: there is none. */
int doctor_sound(struct cli *, bool *spoken);
/* Runs kinothek-speech on a sound or on words, with so many bytes of memory.  NULL, and what it said; or its last
 * words. */
const char *doctor_listens_to(struct cli *, const char *const *argv, const char *const *read, int64_t memory,
    int sound, const char **said);
/* What to do where sherpa-onnx is not there. */
#define DOCTOR_SHERPA "In the sources: npm ci --omit=dev --ignore-scripts, and make install; or name another " \
	"directory by engine.library."

/* And on another port of this machine? */
bool doctor_listens(int port);
/* The status of an answer to a path below public_url; 0: the site is not reached from here. */
int doctor_asks(struct cli *, const char *path);

#endif
