/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table behind enum reason. */
#include <string.h>

#include "core/reasons.h"

static const struct reason_info infos[REASON_COUNT] = { [REASON_NONE] = { "", CLASS_FINAL, "" },
#define REASON_ROW(name, code, class, remedy) [REASON_##name] = { code, CLASS_##class, remedy },
	REASONS(REASON_ROW)
#undef REASON_ROW
};

const struct reason_info *
reason_info(enum reason reason)
{
	if (reason <= REASON_NONE || reason >= REASON_COUNT)
		reason = REASON_INTERNAL;
	return &infos[reason];
}

enum reason
reason_find(const char *code)
{
	int i;

	for (i = REASON_NONE + 1; i < REASON_COUNT; i++)
		if (strcmp(infos[i].code, code) == 0)
			return (enum reason)i;
	return REASON_INTERNAL;
}
