/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libFuzzer calls; see https://llvm.org/docs/LibFuzzer.html.  Each fuzz_*.c defines it for one parser. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
