/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why an address is not taken, for those who take addresses and call nobody: see core/web.h. */
#ifndef CORE_WEB_REFUSAL_H
#define CORE_WEB_REFUSAL_H

#include <stdbool.h>

#include "core/arena.h"

/* It is written wrongly, or leads where nobody is sent.  why NULL: it is taken. */
struct web_refusal { const char *why; bool is_forbidden; };

/* As far as can be told without asking a name service.  A secure call goes by http to private_hosts alone. */
struct web_refusal web_refuse(struct arena *, const char *url, const char *private_hosts, bool secure);

#endif
