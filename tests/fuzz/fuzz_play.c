/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signed addresses: core/play.c, lighttpd's script and Apache's say the same of each, the first time and from memory.
 * A $ in the input stands for the signature that fits.  Both scripts run here as they are; what their servers lend them
 * is lent by us.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <openssl/hmac.h>

#include <stdlib.h>
#include <string.h>

#include "core/play.h"
#include "tests/fuzz/fuzz.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

enum { NOW = 1790000000, PREFIX = sizeof("/play/") - 1, ID = UUID_TEXT - 1, HASH = 32 };

static const struct conf conf = { .public_url = "http://localhost", .play_key = KEY };

static const char servers[] =
    "os.time = function() return 1790000000 end\n"
    "io.open = function() return { read = function() return '" KEY "' end, close = function() end } end\n"
    "lighty = { RESTART_REQUEST = 'anew', r = { req_attr = {}, resp_header = {} }, c = { hmac = hmac,\n"
    "	stat = function(path) return path == '@run_dir@/live.sock' or nil end,\n"
    "	digest_eq = function(a, b) return a:lower() == b:lower() end } }\n"
    "apache2 = { AUTHZ_GRANTED = 0, AUTHZ_DENIED = 1, AUTHZ_GENERAL_ERROR = 2, DECLINED = -1 }\n"
    "function apache(method, uri)\n"
    "	local r = { method = method, unparsed_uri = uri }\n"
    "	return check(r), tell(r)\n"
    "end\n"
    "function lighttpd(uri)\n"
    /* Asked twice, first without a path: what is not on the disk is for a program, and what is refused is refused. */
    "	lighty.r.req_attr = { ['request.orig-uri'] = uri }\n"
    "	local first = play()\n"
    "	if first == nil and lighty.r.req_attr['uri.path'] ~= '/lived/' then return 0, '' end\n"
    "	if first == 'anew' and lighty.r.req_attr['request.uri'] == '/played/' then first = nil end\n"
    "	lighty.r.req_attr = { ['request.orig-uri'] = uri, ['physical.path'] = '-' }\n"
    "	local answer = play()\n"
    "	if answer ~= first then return 0, '' end\n"
    "	return answer or 200, answer and '' or lighty.r.req_attr['physical.path']\n"
    "end\n";

static void
hmac(const void *key, size_t key_n, const char *message, size_t n, char out[2 * HASH + 1])
{
	unsigned char mac[HASH];
	int i;

	if (HMAC(EVP_sha256(), key, (int)key_n, (const unsigned char *)message, n, mac, NULL) == NULL)
		abort();
	for (i = 0; i < HASH; i++)
		snprintf(out + 2 * i, 3, "%02x", mac[i]);
}

/* lighty.c.hmac("sha256", key, message) */
static int
lua_hmac(lua_State *lua)
{
	size_t key_n, n;
	const char *key = luaL_checklstring(lua, 2, &key_n), *message = luaL_checklstring(lua, 3, &n);
	char out[2 * HASH + 1];

	if (strcmp(luaL_checkstring(lua, 1), "sha256") != 0)
		abort();
	hmac(key, key_n, message, n, out);
	lua_pushstring(lua, out);
	return 1;
}

/* A script that does not run is a failure too. */
static void
must(lua_State *lua, int status)
{
	if (status == LUA_OK)
		return;
	fprintf(stderr, "%s\n", lua_tostring(lua, -1));
	abort();
}

static void
load(lua_State *lua, const char *name)
{
	const char *src = getenv("KINOTHEK_SRC");
	char path[4096];

	snprintf(path, sizeof(path), "%s/httpd-conf/%s", src == NULL ? "." : src, name);
	must(lua, luaL_loadfile(lua, path));
}

static lua_State *
start(void)
{
	lua_State *lua = luaL_newstate();

	luaL_openlibs(lua);
	lua_register(lua, "hmac", lua_hmac);
	must(lua, luaL_dostring(lua, servers));
	load(lua, "play.lua.in");
	lua_setglobal(lua, "play");
	load(lua, "play-apache.lua.in");
	must(lua, lua_pcall(lua, 0, 0, 0));
	return lua;
}

/* Is it let in?  *told: the status that it gets otherwise, or -1: that of whoever may not. */
static int
apache(lua_State *lua, const char *method, const char *uri, int *told)
{
	int answer;

	lua_getglobal(lua, "apache");
	lua_pushstring(lua, method);
	lua_pushstring(lua, uri);
	must(lua, lua_pcall(lua, 2, 2, 0));
	answer = (int)lua_tointeger(lua, -2);
	*told = (int)lua_tointeger(lua, -1);
	lua_pop(lua, 2);
	return answer;
}

/* The file it sends is the one that the address names. */
static int
lighttpd(lua_State *lua, const char *uri, const char *file)
{
	static const char folder[] = "@data_dir@/play/";
	const char *path;
	size_t n;
	int answer;

	lua_getglobal(lua, "lighttpd");
	lua_pushstring(lua, uri);
	must(lua, lua_pcall(lua, 1, 2, 0));
	answer = (int)lua_tointeger(lua, -2);
	path = lua_tostring(lua, -1);
	if ((answer == 200) != (*path != '\0'))
		abort();
	if (answer == 200 && file != NULL) {
		n = ID + 1 + strcspn(file, "?");
		if (strlen(path) != sizeof(folder) - 1 + n || strncmp(path, folder, sizeof(folder) - 1) != 0 ||
		    strncmp(path + sizeof(folder) - 1, file - ID - 1, n) != 0)
			abort();
	}
	lua_pop(lua, 2);
	return answer;
}

/* The input with the signature in the place of the first $, where "{digits}.$/{id}/" stands around it. */
static const char *
signed_address(struct arena *mem, const char *text)
{
	const char *mark = strchr(text, '$'), *expiry = text + PREFIX;
	char id[UUID_TEXT], key[HASH], out[2 * HASH + 1];
	struct uuid uuid;
	const char *message;
	int i;

	if (mark == NULL || mark - text < PREFIX + 1 || mark[1] != '/')
		return text;
	snprintf(id, sizeof(id), "%s", mark + 2);
	if (!uuid_parse(id, &uuid))
		return text;
	for (i = 0; i < HASH; i++)
		key[i] = (char)i;
	message = arena_printf(mem, "%.*s/%s/", (int)(mark - 1 - expiry), expiry, id);
	hmac(key, sizeof(key), message, strlen(message), out);
	return arena_printf(mem, "%.*s%s%s", (int)(mark - text), text, out, mark + 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const int status[] = { [PLAY_FINE] = 200, [PLAY_REFUSED] = 403, [PLAY_EXPIRED] = 410 };
	static struct arena *mem;
	static lua_State *lua;
	const char *uri, *file = NULL;
	struct uuid id;
	enum play p;
	int i, told;

	if (mem == NULL) {
		mem = arena_new((size_t)64 << 20);
		lua = start();
	}
	uri = signed_address(mem, arena_copy_n(mem, data, n));
	p = play_check(&conf, uri, (struct moment){ NOW * INT64_C(1000) }, &id, &file);
	for (i = 0; i < 2; i++)
		if (lighttpd(lua, uri, file) != status[p] || apache(lua, "GET", uri, &told) != (p != PLAY_FINE) ||
		    told != (p == PLAY_EXPIRED ? 410 : -1))
			abort();
	if (apache(lua, "POST", uri, &told) != 1 || told != 405)
		abort();
	arena_reset(mem);
	return 0;
}
