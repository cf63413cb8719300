/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Settings: one table, one file, environment override.  The file holds `key = value` lines and # comments; an unknown
 * key stops the start.  KINOTHEK_<KEY> in the environment (upper case, dots as underscores) wins.  Secrets come from
 * files that a setting names.  The reference, docs/settings.md, is printed from the table.
 */
#ifndef CORE_CONF_H
#define CORE_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/engines.h"

/* The model of the built-in speech engine, unless engine.transcribe.model names another. */
#define SPEECH_MODEL "/usr/share/pocketsphinx/model/en-us"

enum { CONF_HEIGHTS = 7 };		/* that video.rungs may hold */
enum { CONF_FILES = 16 };

struct conf {
	const char *public_url;			/* without a slash at its end */
	const char *data_dir, *run_dir;
	const char *store;			/* "local" or "s3" */
	const char *store_also;			/* the other one, while objects move; NULL: none */
	const char *store_endpoint, *store_bucket, *store_region, *store_key, *store_secret;	/* of s3 */
	const char *store_public_endpoint;	/* NULL: store_endpoint */
	const char *store_prefix;		/* of keys in the bucket, with a slash at its end; NULL: none */
	const char *scratch_dir;		/* NULL: work below data_dir */
	const char *web_dir;			/* NULL: where they were installed */
	const char *db_hosts, *db_socket, *db_user, *db_password, *db_name;
	int64_t db_port;
	const char *db_sync_wait;				/* off, reads or all */
	int64_t db_statement_limit, db_job_statement_limit;	/* s */
	bool require_https;
	const char *trusted_proxies, *cors_origins;
	int64_t limit_client, limit_user, limit_address, limit_token, limit_signin;	/* requests a minute; 0: any */
	bool limit_local;
	const char *play_key;			/* contents of play_key_file: 64 hex digits */
	int64_t play_lifetime;			/* s */
	int64_t upload_lifetime;		/* s without a byte */
	int64_t upload_max_size;		/* bytes */
	int64_t upload_open_max, upload_reserved_max;	/* of a tenant; bytes */
	int64_t streams_max;			/* of events, of a tenant in one process */
	const char *live_url, *live_second_url;	/* NULL: see fcgi/livestreams.c */
	const char *live_srt_url, *live_srt_second_url;	/* NULL: see fcgi/livestreams.c */
	const char *live_srt_listen;		/* NULL: no SRT is taken */
	int64_t free_space;			/* bytes kept free on data_dir */
	int64_t live_waiters;
	const char *live_ladder;		/* "auto", "yes" or "no" */
	bool live_captions;
	const char *live_private_hosts;		/* allow-list for where livestreams are sent on to */
	const char *live_rtmp_listen;		/* NULL: sockets of systemd alone */
	const char *live_rtmps_listen;		/* NULL: no TLS */
	const char *live_certificate, *live_certificate_key;
	const char *video_rungs;		/* heights, "1080,720,360" */
	const char *video_preset;		/* of x264 */
	bool video_fields;			/* each field of interlaced video becomes a frame */
	int64_t segment_seconds;
	int64_t image_max_pixels;
	int64_t document_max_pages, document_read_pages;
	int64_t job_slots, job_lease;		/* s */
	int64_t chat_days;
	int64_t scrub_days, scrub_rate;		/* bytes a second */
	const char *job_kinds;			/* NULL: all */
	const char *sandbox;			/* "strict" or "degraded" */
	struct engine_settings engine[ENGINE_FAMILY_COUNT];	/* of families that have an engine */
	const char *engine_library;		/* NULL: see sherpa_dir() */
	const char *engine_private_hosts;	/* allow-list for addresses that are not global */
	const char *import_private_hosts;	/* the same for what is imported */
	bool import_pages;			/* films of pages, by yt-dlp */
	int64_t import_silence;			/* s */
	const char *oparl_private_hosts;	/* the same for servers of agendas */
	const char *provider_private_hosts;	/* the same for external token servers */
	const char *webhook_private_hosts;	/* the same for receivers of webhooks */
	int64_t webhook_timeout;		/* s */
	const char *smtp_url;			/* NULL: no mail is sent */
	const char *smtp_from, *smtp_user, *smtp_password;
	bool smtp_plain;
	const char *log_level, *log_format;
	const char *play_key_file;		/* where play_key is kept */
	const char *files[CONF_FILES];		/* of settings, then of secrets that they name; ends with NULL */
};

/* Lists come comma-separated and without blanks, whatever the file has; an empty one is NULL. */

/* Reads KINOTHEK_CONF, else /etc/kinothek/kinothek.conf if it is there, then the environment.  A fault (unknown key,
 * bad value, unreadable secret) prints one sentence with file and line on standard error and ends the program with
 * 78. */
const struct conf *conf_load(void);

/* The same for `kinothek`, which makes the play key: play_key stays NULL while its file is not there. */
const struct conf *conf_load_setup(void);

/* The same as conf_load_setup() from a text, for tests: NULL and a sentence in *fault instead of ending. */
const struct conf *conf_parse(const char *text, const char *name, const char **fault);

/* The reference as Markdown. */
void conf_reference(FILE *);

#endif
