/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which machine this is, for what machines that share a store or a database keep apart. */
#ifndef CORE_MACHINE_H
#define CORE_MACHINE_H

/* "{host}/{pid namespace}": two containers may share the name of a host, and processes their numbers.  The same from
 * start to start of a machine; a container that starts anew is another one. */
const char *machine_name(void);

#endif
