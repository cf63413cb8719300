/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of errors.h as a table, and errno in its words. */
#include "core/errors.h"
#include "core/fault.h"

const struct error_info *
error_info(enum error error)
{
	static const struct error_info table[] = {
		[ERR_NONE] = { 200, "none", "" },
#define ERROR_ROW(name, status, code, text) [ERR_##name] = { status, code, text },
		ERRORS(ERROR_ROW)
#undef ERROR_ROW
	};

	return &table[error < ERR_COUNT ? error : ERR_INTERNAL];
}

enum error
error_of_errno(int number)
{
	switch (fault_reason(number, REASON_INTERNAL)) {
	case REASON_NO_SPACE: return ERR_NO_SPACE;
	case REASON_STORAGE: case REASON_BUSY: return ERR_UNAVAILABLE;
	default: return ERR_INTERNAL;
	}
}
