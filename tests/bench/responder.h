/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A FastCGI program on the API's own transport, core/server.h, and nothing else of it. */
#ifndef TESTS_BENCH_RESPONDER_H
#define TESTS_BENCH_RESPONDER_H

#include <stddef.h>

struct answer { const char *type; const void *body; size_t n; };

/* Serves the socket with that many processes until they are told to end.  `begin` is called once in each. */
void responder_run(char **argv, const char *socket, int workers, void (*begin)(void),
    void (*answer)(const char *uri, struct answer *));

#endif
