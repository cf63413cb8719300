/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between db.c and db_list.c only: statements whose end is put together from field tables. */
#ifndef CORE_DB_LIST_H
#define CORE_DB_LIST_H

#include "core/db.h"

/* At most `limit` rows of SELECT columns + from + suffix; `brief` leaves DETAIL columns out. */
void *db_rows_suffix(struct db *, const struct record *, const char *from, const char *suffix, const struct arg *,
    bool brief, size_t limit, size_t *n);
int64_t db_number_suffix(struct db *, const char *sql, const char *suffix, const struct arg *, int64_t otherwise);
int64_t db_run_suffix(struct db *, const char *sql, const char *suffix, const struct arg *);

#endif
