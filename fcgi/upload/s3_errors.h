/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an object store answers when it refuses: codes of the Amazon S3 API reference, "Error responses". */
#ifndef FCGI_UPLOAD_S3_ERRORS_H
#define FCGI_UPLOAD_S3_ERRORS_H

#define S3_ERRORS(E) \
	E(ACCESS_DENIED,	403, "AccessDenied",		"These credentials reach one key, input.key of their upload, and nothing else.") \
	E(CLOSED,		403, "AccessDenied",		"The file is whole, and nothing is added to it: announce another upload.") \
	E(NO_CREDENTIALS,	403, "AccessDenied",		"Sign the request with the credentials that POST /v2/uploads answered.") \
	E(UNKNOWN_KEY,		403, "InvalidAccessKeyId",	"These credentials open no upload here.") \
	E(SIGNATURE,		403, "SignatureDoesNotMatch",	"The signature is not that of this request.") \
	E(SKEWED,		403, "RequestTimeTooSkewed",	"The clock of the client is more than 15 minutes wrong.") \
	E(ADDRESS_EXPIRED,	403, "AccessDenied",		"Request has expired.") \
	E(BAD_AUTHORIZATION,	400, "AuthorizationHeaderMalformed", "The authorization is not as Signature Version 4 has it.") \
	E(OLD_SIGNATURE,	400, "InvalidRequest",		"Signature Version 2 is not taken: use Signature Version 4 (AWS4-HMAC-SHA256).") \
	E(NO_TOKEN,		400, "InvalidToken",		"The session token is missing or is not that of the upload.") \
	E(EXPIRED,		400, "ExpiredToken",		"The upload has expired or was cancelled, and its credentials with it.") \
	E(NO_SUCH_BUCKET,	404, "NoSuchBucket",		"There is one bucket, uploads.") \
	E(NO_SUCH_KEY,		404, "NoSuchKey",		"The file has not arrived.") \
	E(NO_SUCH_UPLOAD,	404, "NoSuchUpload",		"There is no such multipart upload: it was aborted, finished or begun anew.") \
	E(BAD_METHOD,		405, "MethodNotAllowed",	"This is not done here.") \
	E(NOT_MODIFIED,		304, "NotModified",		"It is the file that you have.") \
	E(PRECONDITION,		412, "PreconditionFailed",	"It is another file.") \
	E(BAD_RANGE,		416, "InvalidRange",		"The file has no such bytes.") \
	E(IS_ASSET,		403, "AccessDenied",		"The file belongs to an asset by now, and is to be had there.") \
	E(CONFLICT,		409, "OperationAborted",	"Another transfer of this upload has taken over.") \
	E(SETTLING,		409, "OperationAborted",	"An earlier transfer of this upload is about to end. Try again in a moment.") \
	E(NO_LENGTH,		411, "MissingContentLength",	"Say the length of the body.") \
	E(BAD_ARGUMENT,		400, "InvalidArgument",		"An argument is not as it should be.") \
	E(NO_TEXT,		400, "InvalidArgument",		"An argument has what XML cannot say: ask with encoding-type=url.") \
	E(BAD_PART_NUMBER,	400, "InvalidArgument",		"partNumber is a number from 1 to 10000.") \
	E(BAD_DIGEST,		400, "BadDigest",		"The bytes are not those that the checksum was made of.") \
	E(BAD_HASH,		400, "XAmzContentSHA256Mismatch", "The bytes are not those that x-amz-content-sha256 was made of.") \
	E(INVALID_DIGEST,	400, "InvalidDigest",		"A checksum is not what such a checksum looks like.") \
	E(ONE_SUM,		400, "InvalidRequest",		"One checksum comes with a body: crc32, crc32c, crc64nvme, sha1 or sha256.") \
	E(NO_SUM,		400, "InvalidRequest",		"A checksum of the file can be looked at where each part came with one of that kind.") \
	E(BAD_CHUNK,		400, "IncompleteBody",		"The chunks of the body are not as aws-chunked has them.") \
	E(INCOMPLETE,		400, "IncompleteBody",		"The body ended early.") \
	E(PARTIAL,		400, "InvalidRequest",		"A part of a body is not taken: send the whole, without Content-Range.") \
	E(TOO_SMALL,		400, "EntityTooSmall",		"Parts but the last have 5 MiB at least.") \
	E(TOO_LARGE,		400, "EntityTooLarge",		"The file is larger than it was declared, or than files may be here.") \
	E(BAD_XML,		400, "MalformedXML",		"The body is not the XML that this operation takes.") \
	E(BAD_PART,		400, "InvalidPart",		"A part that is named has not arrived, or is another one.") \
	E(PART_ORDER,		400, "InvalidPartOrder",	"Parts are named in ascending order.") \
	E(WRONG_SIZE,		400, "InvalidRequest",		"The parts are not as long together as fileSize says.") \
	E(REFUSED,		400, "InvalidRequest",		"The file was refused.") \
	E(NOT_IMPLEMENTED,	501, "NotImplemented",		"This endpoint takes uploads in, and no more.") \
	E(NO_SPACE,		507, "InsufficientStorage",	"There is no room for this file.") \
	E(SLOW_DOWN,		503, "SlowDown",		"Too many transfers at once: try again soon.") \
	E(UNAVAILABLE,		503, "ServiceUnavailable",	"The database does not answer: try again soon.") \
	E(INTERNAL,		500, "InternalError",		"This was our fault: try again.")

enum s3_error {
	S3_FINE,
#define S3_NAME(name, status, code, text) S3_##name,
	S3_ERRORS(S3_NAME)
#undef S3_NAME
};

struct s3_error_info { int status; const char *code, *text; };
const struct s3_error_info *s3_error_info(enum s3_error);

#endif
