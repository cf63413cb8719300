/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek-live: one thread that waits for all encoders, and what it knows of them and of the livestreams.
 *
 * Whoever connects has five seconds for the handshake and ten to say a key; of one address twenty may be so far at a
 * time, and STATION_STRANGERS in all, of whom the one that has said nothing for the longest makes room for the next.
 * Who comes by SRT has said it, and takes such a place until it may send.
 */
#ifndef FCGI_LIVE_STATION_H
#define FCGI_LIVE_STATION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/conf.h"

enum { STATION_DOORS = 16, STATION_STRANGERS = 1000, STATION_OF_ADDRESS = 20 };

struct srt;
struct door { int fd; bool by_tls; };

/* Receives on the listening sockets and by SRT (NULL: not), and answers viewers on that of a web server (-1: none),
 * until a signal but SIGHUP comes in by `signals` (of signalfd); then all livestreams are left to whoever claims them.
 * SIGHUP: the certificate is read again. */
void station_run(const struct conf *, const struct door *doors, size_t n, struct srt *, int viewers,
    int signals);

#endif
