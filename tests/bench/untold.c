/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LD_PRELOAD: with UNTOLD in its environment a program writes no events, and is told that it has; what it makes ready
 * for them it makes still.  Without, it pays what this file costs, and that alone. */
#include <dlfcn.h>
#include <mysql.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static MYSQL_STMT *events[MOST];	/* a worker has one connection */

static void *
real(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (f == NULL)
		abort();
	return f;
}

static MYSQL_STMT **
find(const MYSQL_STMT *s)
{
	int i;

	for (i = 0; i < MOST; i++)
		if (events[i] == s)
			return &events[i];
	return NULL;
}

int
mysql_stmt_prepare(MYSQL_STMT *s, const char *text, unsigned long n)
{
	static const char start[] = "INSERT INTO events ";
	int (*prepare)(MYSQL_STMT *, const char *, unsigned long) = (int (*)(MYSQL_STMT *, const char *, unsigned
	    long))real("mysql_stmt_prepare");
	MYSQL_STMT **at = find(s);

	if (at != NULL)			/* one that was closed had this address */
		*at = NULL;
	if (getenv("UNTOLD") != NULL && n > strlen(start) && strncmp(text, start, strlen(start)) == 0 &&
	    (at = find(NULL)) != NULL)
		*at = s;
	return prepare(s, text, n);
}

int
mysql_stmt_execute(MYSQL_STMT *s)
{
	static int (*execute)(MYSQL_STMT *);

	if (find(s) != NULL)
		return 0;
	if (execute == NULL)
		execute = (int (*)(MYSQL_STMT *))real("mysql_stmt_execute");
	return execute(s);
}

my_ulonglong
mysql_stmt_affected_rows(MYSQL_STMT *s)
{
	typedef my_ulonglong function(MYSQL_STMT *);
	static function *affected;

	if (find(s) != NULL)
		return 1;
	if (affected == NULL)
		affected = (function *)real("mysql_stmt_affected_rows");
	return affected(s);
}
