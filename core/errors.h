/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every error a client can see: name, status, code on the wire, sentence when the caller gives none. */
#ifndef CORE_ERRORS_H
#define CORE_ERRORS_H

#define ERRORS(E) \
	E(BAD_JSON,		400, "bad_json",		"The body is not well-formed JSON.") \
	E(BAD_REQUEST,		400, "bad_request",		"The request is malformed.") \
	E(INCOMPLETE_BODY,	400, "incomplete_body",		"The body ended early.") \
	E(UNAUTHORIZED,		401, "unauthorized",		"A valid bearer token is required.") \
	E(TOKEN_EXPIRED,	401, "token_expired",		"The token has expired.") \
	E(FORBIDDEN,		403, "forbidden",		"You may not do this.") \
	E(MISSING_SCOPE,	403, "missing_scope",		"The token lacks the scope of this operation.") \
	E(HTTPS_REQUIRED,	403, "https_required",		"Use HTTPS.") \
	E(NOT_FOUND,		404, "not_found",		"There is no such thing.") \
	E(METHOD_NOT_ALLOWED,	405, "method_not_allowed",	"This path does not take this method.") \
	E(NOT_ACCEPTABLE,	406, "not_acceptable",		"None of the accepted types can be sent.") \
	E(CONFLICT,		409, "conflict",		"The state of the resource does not allow this.") \
	E(DUPLICATE_FILE,	409, "duplicate_file",		"An identical file is there already.") \
	E(GONE,			410, "gone",			"This has expired.") \
	E(LENGTH_REQUIRED,	411, "length_required",		"Content-Length is required.") \
	E(CHANGED,		412, "changed",			"The resource has changed since.") \
	E(TOO_LARGE,		413, "too_large",		"The body is too large.") \
	E(UNSUPPORTED_TYPE,	415, "unsupported_type",	"This content type is not taken here.") \
	E(INVALID,		422, "invalid",			"The input has faults.") \
	E(INTERNAL,		500, "internal",		"Something went wrong here.") \
	E(UNAVAILABLE,		503, "unavailable",		"Temporarily unavailable; try again.") \
	E(TOO_EXPENSIVE,	503, "too_expensive",		"This takes the database too long. Narrow the filter, sort by an indexed property, or follow the next links.") \
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

#endif
