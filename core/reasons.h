/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a job failed: name, code on the wire, may a retry help?, what the user can do. */
#ifndef CORE_REASONS_H
#define CORE_REASONS_H

#include <stdbool.h>

#define REASONS(R) \
	R(EMPTY_FILE,		"empty_file",		false, "The file has no content. Create a new upload from the source.") \
	R(UNKNOWN_FORMAT,	"unknown_format",	false, \
		"The content is no video, audio, image or document we read. Convert it to MP4, MP3, JPEG or PDF and create a new upload.") \
	R(FORMAT_NOT_ALLOWED,	"format_not_allowed",	false, \
		"This kind of file is refused for safety (playlists, scripts, programs, archives, markup). Create a new upload "\
		"with the media itself.") \
	R(CODEC_NOT_ALLOWED,	"codec_not_allowed",	false, "The codec is not on the list. Convert to H.264 and AAC and create a new upload.") \
	R(TRUNCATED,		"truncated",		false, "The file is cut off or damaged. Export or copy it again and create a new upload.") \
	R(NO_STREAMS,		"no_streams",		false, "The file holds neither picture nor sound.") \
	R(TOO_MANY_PIXELS,	"too_many_pixels",	false, "The picture is larger than the limit. Scale it down and create a new upload.") \
	R(TOO_LONG,		"too_long",		false, "The recording is longer than the limit.") \
	R(TOO_MANY_PAGES,	"too_many_pages",	false, "The document has more pages than the limit. Split it and create new uploads.") \
	R(ENCRYPTED,		"encrypted",		false, "The file is protected by a password. Remove the protection and create a new upload.") \
	R(DECODE_FAILED,	"decode_failed",	false, \
		"The content could not be decoded. Play it locally to check it, export it again, and create a new upload.") \
	R(OUTPUT_INVALID,	"output_invalid",	true,  "What we made did not pass its check. Start the ingest again.") \
	R(CONVERTER_MISSING,	"converter_missing",	false, \
		"This server has no LibreOffice to read office files. Create a new upload with a PDF, or ask the operator to install it.") \
	R(NO_SPACE,		"no_space",		true,  "The disk is full. Ask the operator for room; the step starts again by itself.") \
	R(NO_PROGRESS,		"no_progress",		true,  "A program stopped making progress and was ended.") \
	R(TIME_LIMIT,		"time_limit",		true,  "The step took longer than it may.") \
	R(CRASHED,		"crashed",		true, \
		"The program ended unexpectedly. It is tried again; if it keeps failing, the file is at fault.") \
	R(MEMORY_LIMIT,		"memory_limit",		true,  "The step needed more memory than it may have.") \
	R(SANDBOX,		"sandbox_unavailable",	false, "This machine cannot isolate decoders. The operator finds the cause with `kinothek doctor`.") \
	R(ENGINE_UNAVAILABLE,	"engine_unavailable",	true,  "The speech engine cannot be reached. It is tried again.") \
	R(ENGINE_REFUSED,	"engine_refused",	false, "The speech engine refused the request. Check its settings.") \
	R(NOT_INTELLIGIBLE,	"not_intelligible",	false, \
		"The built-in engine understands clean English only. Configure a transcription server for this recording.") \
	R(LANGUAGE_UNAVAILABLE,	"language_unavailable",	false, "The engine does not know this language. Choose another, or configure a transcription server.") \
	R(DEPENDENCY_FAILED,	"dependency_failed",	false, "A step this one needs has failed. See its reason.") \
	R(ASSET_GONE,		"asset_gone",		false, "The asset was deleted meanwhile.") \
	R(CANCELLED,		"cancelled",		false, "It was cancelled.") \
	R(INTERNAL,		"internal",		true,  "Something went wrong here. Start it again; if it fails again, report it with the request id.")

enum reason {
	REASON_NONE,
#define REASON_ENUM(name, code, retryable, remedy) REASON_##name,
	REASONS(REASON_ENUM)
#undef REASON_ENUM
	REASON_COUNT
};

struct reason_info { const char *code; bool retryable; const char *remedy; };
const struct reason_info *reason_info(enum reason);

/* By its code on the wire; REASON_INTERNAL when there is none such. */
enum reason reason_find(const char *code);

#endif
