/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must outlive a power cut goes to the disk in a thread of its own, since a disk may take seconds for it. */
#ifndef FCGI_LIVE_FLUSH_H
#define FCGI_LIVE_FLUSH_H

/* What was written to the file so far.  It may be closed at once.  When the disk is far behind this is left out: the
 * next call for the file makes up for it. */
void flush_later(int fd);

/* Waits for all of it and ends the thread, which begins anew when it is needed. */
void flush_end(void);

#endif
