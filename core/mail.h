/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Letters: addresses of mailboxes, and messages as in RFC 5322.  core/web.h sends them. */
#ifndef CORE_MAIL_H
#define CORE_MAIL_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/text.h"

/* One mailbox, without a name, and nothing that could end a line or a command. */
bool mail_is_address(const char *);

struct mail {
	struct uuid id;				/* of the message: the same when it is sent once more */
	struct moment date;
	const char *from_name, *from, *to_name, *to;	/* names may hold anything: they are encoded */
	const char *subject, *body;		/* UTF-8; lines of the body end in \n */
};

/* The whole message, in ASCII unless an address is not, lines of at most 998 bytes that end in CR LF.  from and to have
 * passed mail_is_address(). */
const char *mail_text(struct arena *, const struct mail *);

#endif
