/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hello, on the API's transport. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/responder.h"

static void
nothing(void)
{
}

static void
hello(const char *uri, struct answer *answer)
{
	(void)uri;
	answer->body = "hello\n";
	answer->n = 6;
}

int
main(int argc, char **argv)
{
	int workers = argc == 3 ? atoi(argv[2]) : 0;

	if (workers < 1) {
		fprintf(stderr, "usage: brisk SOCKET WORKERS\n");
		return 64;
	}
	responder_run(argv, argv[1], workers, nothing, hello);
	return 0;
}
