/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/import.h"
#include "core/web.h"

bool
import_url_fits(const struct conf *conf, struct arena *mem, const char *url)
{
	return web_may_fetch(mem, url, conf->import_private_hosts);
}
