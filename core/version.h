/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The version of the interface, for X-Api-Version and the API document; that of the program is VERSION of config. */
#ifndef CORE_VERSION_H
#define CORE_VERSION_H

#define API_VERSION "2.58.3"

#endif
