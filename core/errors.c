/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of errors.h as a table. */
#include "core/errors.h"

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
