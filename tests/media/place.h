/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A directory of a test of media, and the files that ffmpeg makes in it. */
#ifndef TESTS_MEDIA_PLACE_H
#define TESTS_MEDIA_PLACE_H

#include "core/arena.h"

struct place { struct arena *mem; char dir[64]; };

/* For cmocka_unit_test_setup_teardown(). */
int place_open(void **state);
int place_close(void **state);

/* A file made by a shell command in the directory of the test; $O is the file, $FF is ffmpeg. */
const char *make(struct place *, const char *name, const char *command);

#endif
