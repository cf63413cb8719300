/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every error a client can see: name, status, code on the wire, sentence when the caller gives none. */
#ifndef CORE_ERRORS_H
#define CORE_ERRORS_H

#define ERRORS(E) \
	E(BAD_JSON,		400, "bad_json",		"The body is not well-formed JSON.") \
	E(BAD_REQUEST,		400, "bad_request",		"The request is malformed.") \
	E(INCOMPLETE_BODY,	400, "incomplete_body",		"The body ended early.") \
	E(CONTENT_RANGE,	400, "content_range",		"A part of a body is not taken: send the whole, without Content-Range.") \
	E(UNEXPECTED_BODY,	400, "unexpected_body",		"This operation takes no body.") \
	E(UNAUTHORIZED,		401, "unauthorized",		"A valid bearer token is required.") \
	E(TOKEN_EXPIRED,	401, "token_expired",		"The token has expired.") \
	E(FORBIDDEN,		403, "forbidden",		"You may not do this.") \
	E(MISSING_SCOPE,	403, "missing_scope",		"The token lacks the scope of this operation.") \
	E(HTTPS_REQUIRED,	403, "https_required",		"Use HTTPS.") \
	E(NOT_FOUND,		404, "not_found",		"There is no such object.") \
	E(PATH_NOT_FOUND,	404, "path_not_found",		"This path does not exist; see /v2/openapi.json.") \
	E(METHOD_NOT_ALLOWED,	405, "method_not_allowed",	"This path does not take this method.") \
	E(NOT_ACCEPTABLE,	406, "not_acceptable",		"None of the accepted types can be sent.") \
	E(TOO_SLOW,		408, "too_slow",		"The body took too long to arrive; send it again.") \
	E(ALREADY_DELETED,	409, "already_deleted",		"The asset is soft-deleted already.") \
	E(DUPLICATE_FILE,	409, "duplicate_file",		"An identical file is there already.") \
	E(UPLOAD_CANCELLED,	409, "upload_cancelled",	"The upload was cancelled. Create a new one.") \
	E(UPLOAD_COMPLETED,	409, "upload_completed",	"The upload is completed already.") \
	E(UPLOAD_NOT_COMPLETED,	409, "upload_not_completed",	"Only completed uploads can be deleted. Cancel it instead.") \
	E(UPLOAD_NOT_RECEIVED,	409, "upload_not_received",	"The file has not arrived yet: send it to input.url first.") \
	E(UPLOAD_RECEIVED,	409, "upload_received",		"The file of this upload has arrived already.") \
	E(UPLOAD_REFUSED,	409, "upload_refused",		"The file of this upload was refused; its error says why. Create a new upload.") \
	E(UPLOAD_SUPERSEDED,	409, "upload_superseded",	"Another PUT of this upload has taken over.") \
	E(JOB_NOT_RETRYABLE,	409, "job_not_retryable",	"Only failed and cancelled jobs can be retried.") \
	E(JOB_NEEDS_ANOTHER,	409, "job_needs_another",	"A job that this one needs has failed. Retry that one; this one follows.") \
	E(JOB_ENDED,		409, "job_ended",		"The job has ended already.") \
	E(INGEST_OVER,		409, "ingest_over",		"The files of this ingest are gone. Start the ingest of the asset again.") \
	E(UPLOAD_EXPIRED,	410, "upload_expired",		"The upload has expired. Create a new one.") \
	E(LENGTH_REQUIRED,	411, "length_required",		"Content-Length is required.") \
	E(CHANGED,		412, "changed",			"The resource has changed since. Read it again, and send its new ETag.") \
	E(TOO_LARGE,		413, "too_large",		"The body is too large.") \
	E(UNSUPPORTED_TYPE,	415, "unsupported_type",	"This content type is not taken here.") \
	E(INVALID,		422, "invalid",			"The input has faults.") \
	E(NOT_SOFT_DELETED,	422, "not_soft_deleted",	"The asset is not soft-deleted.") \
	E(INGEST_RUNNING,	422, "ingest_running",		"An ingest of this asset is queued or running.") \
	E(NO_DEFAULT_CHANNEL,	422, "no_default_channel",	"The tenant has no default channel: name one in channelId.") \
	E(TOO_MANY_UPLOADS,	429, "too_many_uploads",	"Too many uploads are open. Complete or cancel some.") \
	E(HEAD_TOO_LARGE,	431, "head_too_large",		"The head is too large: send fewer or shorter header fields, or a shorter query.") \
	E(INTERNAL,		500, "internal",		"Something went wrong here.") \
	E(UNAVAILABLE,		503, "unavailable",		"Temporarily unavailable; try again.") \
	E(TOO_EXPENSIVE,	503, "too_expensive", \
		"This takes the database too long. Narrow the filter, sort by an indexed property, or follow the next links.") \
	E(TOO_BUSY,		503, "too_busy",		"Too much is going on at once; try again in a moment.") \
	E(NO_SPACE,		507, "no_space",		"There is no room for this.")

enum error {
	ERR_NONE,
#define ERROR_ENUM(name, status, code, text) ERR_##name,
	ERRORS(ERROR_ENUM)
#undef ERROR_ENUM
	ERR_COUNT
};

struct error_info { int status; const char *code, *text; };
const struct error_info *error_info(enum error);

/* What a client is told when a file of ours could not be written: no room, unavailable where it lies in the machine
 * (core/fault.h), else internal. */
enum error error_of_errno(int number);

#endif
