/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a job failed: name, code on the wire, class, what the user can do.  The class says what becomes of the job:
 *   FINAL    it lies in the file or in what was asked for: the job fails
 *   TWICE    an attempt like the last one: failed when that ended in the same way
 *   COUNTED  tried again as often as its kind is
 *   PASSING  it lies in the machine: tried again, further and further apart, for a day before attempts count
 */
#ifndef CORE_REASONS_H
#define CORE_REASONS_H

#define REASONS(R) \
	R(EMPTY_FILE,		"empty_file",		FINAL,   "The file has no content. Create a new upload from the source.") \
	R(UNKNOWN_FORMAT,	"unknown_format",	FINAL, \
		"The content is no video, audio, image or document we read. Convert it to MP4, MP3, JPEG or PDF and create a new upload.") \
	R(FORMAT_NOT_ALLOWED,	"format_not_allowed",	FINAL, \
		"This kind of file is refused for safety (playlists, scripts, programs, archives, markup). Create a new upload "\
		"with the media itself.") \
	R(CODEC_NOT_ALLOWED,	"codec_not_allowed",	FINAL,   "The codec is not on the list. Convert to H.264 and AAC and create a new upload.") \
	R(TRUNCATED,		"truncated",		FINAL,   "The file is cut off or damaged. Export or copy it again and create a new upload.") \
	R(DAMAGED,		"damaged",		FINAL, \
		"What could be read plays. Copy or export the file again and create a new upload to have the whole.") \
	R(SHORTENED,		"shortened",		FINAL, \
		"Of an animation the first minute is shown. Convert it to MP4 and create a new upload to have all of it.") \
	R(LEFT_OUT,		"left_out",		FINAL,   "All else is there. Put what is missing into a file of its own.") \
	R(NOT_WHOLE,		"not_whole",		FINAL, \
		"All else is there. What is missing was not deleted: the operator finds it in the store, below live/.") \
	R(NO_STREAMS,		"no_streams",		FINAL,   "The file holds neither picture nor sound.") \
	R(TOO_MANY_PIXELS,	"too_many_pixels",	FINAL,   "The picture is larger than the limit. Scale it down and create a new upload.") \
	R(TOO_LONG,		"too_long",		FINAL,   "The recording is longer than the limit.") \
	R(TOO_MANY_PAGES,	"too_many_pages",	FINAL,   "The document has more pages than the limit. Split it and create new uploads.") \
	R(ENCRYPTED,		"encrypted",		FINAL,   "The file is protected by a password. Remove the protection and create a new upload.") \
	R(DECODE_FAILED,	"decode_failed",	FINAL, \
		"The content could not be decoded. Play it locally to check it, export it again, and create a new upload.") \
	R(OUTPUT_INVALID,	"output_invalid",	COUNTED, "What we made did not pass its check. Start the ingest again.") \
	R(CONVERTER_MISSING,	"converter_missing",	FINAL, \
		"This server has no LibreOffice to read office files. Create a new upload with a PDF, or ask the operator to install it.") \
	R(NO_SPACE,		"no_space",		PASSING, "The disk is full. Ask the operator for room; the step starts again by itself.") \
	R(NO_PROGRESS,		"no_progress",		TWICE,   "A program stopped making progress and was ended.") \
	R(TIME_LIMIT,		"time_limit",		TWICE,   "The step took longer than it may.") \
	R(INTERRUPTED,		"interrupted",		PASSING, "A program was ended from outside. It is tried again for a day.") \
	R(STORAGE,		"storage_unavailable",	PASSING, \
		"The storage answered with an error. It is tried again for a day; the operator finds the cause in the log of the system.") \
	R(BUSY,			"machine_busy",		PASSING, "The machine had no room for another process or file. It is tried again for a day.") \
	R(PROGRAM_MISSING,	"program_missing",	PASSING, \
		"A program that the step needs is not there. It is tried again for a day; the operator finds out which with `kinothek doctor`.") \
	R(CRASHED,		"crashed",		COUNTED, \
		"The program ended unexpectedly. It is tried again; if it keeps failing, the file is at fault.") \
	R(MEMORY_LIMIT,		"memory_limit",		COUNTED, "The step needed more memory than it may have.") \
	R(LEASE_LOST,		"lease_lost",		COUNTED, \
		"The runner that worked on it ended, or was not heard of for too long. It is tried again; the operator finds the cause in its log.") \
	R(SANDBOX,		"sandbox_unavailable",	FINAL,   "This machine cannot isolate decoders. The operator finds the cause with `kinothek doctor`.") \
	R(SOURCE_UNAVAILABLE,	"source_unavailable",	COUNTED, "The server that it comes from cannot be reached. It is tried again.") \
	R(SOURCE_REFUSED,	"source_refused",	FINAL, \
		"The server that it comes from does not give the file. Open the address without being signed in, and import it again.") \
	R(SOURCE_CHANGED,	"source_changed",	COUNTED, \
		"The server that it comes from went on with more than it had announced: the file has changed meanwhile. It is fetched again "\
		"from its beginning.") \
	R(ADDRESS_FORBIDDEN,	"address_forbidden",	FINAL, \
		"Only http and https addresses of public servers are fetched. The operator may name others in import.private_hosts.") \
	R(SOURCE_IS_PAGE,	"source_is_page",	FINAL, \
		"No film was found on the web page at this address. Import the address of the file itself. The operator may install yt-dlp.") \
	R(FILE_TOO_LARGE,	"file_too_large",	FINAL,   "The file is larger than files may be here. The operator sets upload.max_size.") \
	R(QUOTA_FULL,		"quota_full",		FINAL,   "The storage quota of the tenant has no room for the file. Delete something.") \
	R(DUPLICATE_FILE,	"duplicate_file",	FINAL,   "An identical file is there already.") \
	R(CHANNEL_UNAVAILABLE,	"channel_unavailable",	FINAL, \
		"Who asked for it may not put assets into the channel now, or the channel is gone. Import it again into another one.") \
	R(ENGINE_UNAVAILABLE,	"engine_unavailable",	COUNTED, "The engine cannot be reached. It is tried again.") \
	R(ENGINE_REFUSED,	"engine_refused",	FINAL,   "The engine refused the request. Check its settings.") \
	R(MODEL_MISSING,	"model_missing",	FINAL, \
		"The model, or the program or library for it, is not where the settings say. The operator finds out what is missing with "\
		"`kinothek doctor`.") \
	R(MODEL_UNUSABLE,	"model_unusable",	FINAL, \
		"The speech model cannot be used: it is damaged, or of another kind than the settings say. The operator tries it with "\
		"`kinothek doctor`.") \
	R(LANGUAGE_UNAVAILABLE,	"language_unavailable",	FINAL, \
		"The engine does not know this language. Choose another, or configure a transcription server.") \
	R(MAIL_UNAVAILABLE,	"mail_unavailable",	PASSING, \
		"The mail server did not take the letter. It is tried again for a day; the operator finds out more with `kinothek doctor`.") \
	R(MAIL_REFUSED,		"mail_refused",		FINAL, \
		"The mail server refuses the letter. Check the address of the user, or pass the link on in another way.") \
	R(KEYS_UNAVAILABLE,	"keys_unavailable",	FINAL,   "The token server of the tenant gave no keys. It is asked again when a token needs them.") \
	R(DEPENDENCY_FAILED,	"dependency_failed",	FINAL,   "A step this one needs has failed. See its reason.") \
	R(ASSET_GONE,		"asset_gone",		FINAL,   "The asset was deleted meanwhile.") \
	R(CANCELLED,		"cancelled",		FINAL,   "It was cancelled.") \
	R(INTERNAL,		"internal",		COUNTED, "Something went wrong here. Start it again; if it fails again, report it with the request id.")

enum reason {
	REASON_NONE,
#define REASON_ENUM(name, code, class, remedy) REASON_##name,
	REASONS(REASON_ENUM)
#undef REASON_ENUM
	REASON_COUNT
};

enum reason_class { CLASS_FINAL, CLASS_TWICE, CLASS_COUNTED, CLASS_PASSING };

struct reason_info { const char *code; enum reason_class class; const char *remedy; };
const struct reason_info *reason_info(enum reason);

/* By its code on the wire; REASON_INTERNAL when there is none such. */
enum reason reason_find(const char *code);

#endif
