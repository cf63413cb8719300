/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/import.h"

struct web_refusal
import_refuse_url(const struct conf *conf, struct arena *mem, const char *url)
{
	return web_refuse(mem, url, conf->import_private_hosts, false);
}
