/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of outgoing requests: the address as the library understands it that connects. */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/text.h"
#include "core/web_target.h"

static const char *
url_part(struct arena *mem, CURLU *u, CURLUPart part, unsigned flags)
{
	char *text = NULL;
	const char *copy;

	if (curl_url_get(u, part, &text, flags) != CURLUE_OK)
		return NULL;
	copy = arena_copy(mem, text);
	curl_free(text);
	return copy;
}

bool
web_target_parse(struct arena *mem, const char *url, const char *schemes, struct web_target *t)
{
	CURLU *u = curl_url();
	const char *port;
	char *host;
	bool fine = u != NULL && web_target_is_clean(url) && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK;

	*t = (struct web_target){ .url = url };
	if (fine) {
		t->scheme = url_part(mem, u, CURLUPART_SCHEME, 0);
		port = url_part(mem, u, CURLUPART_PORT, CURLU_DEFAULT_PORT);
		t->port = port == NULL ? 0 : atoi(port);
		t->host = host = arena_copy(mem, url_part(mem, u, CURLUPART_HOST, 0));
		/* A sign at the beginning has a meaning of its own in CURLOPT_RESOLVE. */
		fine = t->scheme != NULL && host != NULL && strchr("+-", host[0]) == NULL && t->port > 0 &&
		    t->port < 65536 &&
		    word_in(schemes, t->scheme, strlen(t->scheme)) &&
		    url_part(mem, u, CURLUPART_USER, 0) == NULL && url_part(mem, u, CURLUPART_PASSWORD, 0) == NULL &&
		    strchr(host, '%') == NULL;
		if (fine && host[0] == '[') {
			host[strlen(host) - 1] = '\0';
			t->host = host + 1;
		}
	}
	curl_url_cleanup(u);
	return fine;
}

struct curl_slist *
web_target_pinned(struct arena *mem, const struct web_target *t)
{
	struct buf line = BUF(mem);
	char text[INET6_ADDRSTRLEN];
	size_t i;

	buf_printf(&line, "%s:%d:", t->host, t->port);
	for (i = 0; i < t->n; i++)
		buf_printf(&line, t->at[i].family == AF_INET6 ? "%s[%s]" : "%s%s", i > 0 ? "," : "",
		    inet_ntop(t->at[i].family, t->at[i].b, text, sizeof(text)));
	return curl_slist_append(NULL, buf_string(&line));
}
