/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of an asset before anybody has listened to it. */
#ifndef JOBS_HINTS_H
#define JOBS_HINTS_H

#include "jobs/engines/hints.h"
#include "jobs/run.h"

/* From the asset's row, the text of its pages, and the glossary of its tenant. */
const struct hints *hints_read(struct job *);

#endif
