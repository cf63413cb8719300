/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens sherpa-onnx, if it is the version whose layouts are known. */
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "jobs/engines/sherpa_library.h"

static const struct { const char *symbol; size_t at; } calls[] = {
#define SHERPA_SYMBOL(member, type, symbol, arguments) { "Sherpa" #symbol, offsetof(struct sherpa, member) },
	SHERPA_CALLS(SHERPA_SYMBOL)
#undef SHERPA_SYMBOL
};

const char *
sherpa_open(struct sherpa *so, const char *dir)
{
	static char fault[300];
	char path[4096];
	void *library, *address;
	size_t i;

	/* With a model of another kind it crashes, which the signal tells: sanitizers are not to make an exit of it. */
	signal(SIGSEGV, SIG_DFL);
	snprintf(path, sizeof(path), "%s/libsherpa-onnx-c-api.so", dir);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		snprintf(fault, sizeof(fault), "the library does not load: %s", dlerror());
		return fault;
	}
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		address = dlsym(library, calls[i].symbol);
		if (address == NULL) {
			snprintf(fault, sizeof(fault), "the library has no %s", calls[i].symbol);
			return fault;
		}
		/* ISO C knows no conversion from an object's to a function's address. */
		memcpy((char *)so + calls[i].at, &address, sizeof(address));
		/* The first of them tells it: another version may lack the others. */
		if (i == 0 && strcmp(so->version(), SHERPA_VERSION) != 0) {
			snprintf(fault, sizeof(fault), "the library is version %.20s, not " SHERPA_VERSION,
			    so->version());
			return fault;
		}
	}
	return NULL;
}
