/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a model for sherpa-onnx consists of. */
#include <dirent.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "jobs/engines/sherpa_model.h"

/* As the models of sherpa-onnx are packed: names begin or end with what training called them. */
#define TRANSDUCER { "*encoder*.onnx", "*decoder*.onnx", "*joiner*.onnx", "*tokens.txt" }
static const struct { const char *name, *files[SHERPA_PARTS]; } types[SHERPA_TYPE_COUNT] = {
	[SHERPA_whisper] = { "whisper", { "*encoder*.onnx", "*decoder*.onnx", "*tokens.txt" } },
	[SHERPA_zipformer] = { "zipformer", TRANSDUCER },
	[SHERPA_zipformer_ctc] = { "zipformer_ctc", { "*.onnx", "*tokens.txt" } },
	[SHERPA_parakeet] = { "parakeet", TRANSDUCER },
	[SHERPA_moonshine] = { "moonshine", { "preprocess*.onnx", "encode*.onnx", "uncached_decode*.onnx",
	    "cached_decode*.onnx", "*tokens.txt" } },
	[SHERPA_sense_voice] = { "sense_voice", { "model*.onnx", "*tokens.txt" } },
};

enum sherpa_type
sherpa_type_find(const char *name)
{
	enum sherpa_type type = 0;

	while (type < SHERPA_TYPE_COUNT && strcmp(types[type].name, name) != 0)
		type++;
	return type;
}

static void
add_name(struct buf *b, const char *name)
{
	buf_printf(b, "%s%s", b->len > 0 ? ", " : "", name);
}

const char *
sherpa_type_files(struct arena *mem, enum sherpa_type type)
{
	struct buf b = BUF(mem);

	for (size_t i = 0; i < SHERPA_PARTS && types[type].files[i] != NULL; i++)
		add_name(&b, types[type].files[i]);
	return buf_string(&b);
}

/* The smallest file of the directory that is called so; NULL: none. */
static const char *
file_like(struct arena *mem, const char *dir, const char *pattern, int64_t *size)
{
	DIR *d = opendir(dir);
	const char *found = NULL, *path;
	struct dirent *e;
	struct stat st;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (fnmatch(pattern, e->d_name, FNM_PERIOD) != 0)
			continue;
		path = arena_printf(mem, "%s/%s", dir, e->d_name);
		if (access(path, R_OK) != 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
			continue;
		if (found == NULL || st.st_size < *size || (st.st_size == *size && strcmp(path, found) < 0)) {
			found = path;
			*size = st.st_size;
		}
	}
	if (d != NULL)
		closedir(d);
	return found;
}

const char *
sherpa_model_file(struct arena *mem, const char *path, int64_t *bytes)
{
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return file_like(mem, path, "*.onnx", bytes);
	*bytes = st.st_size;
	return access(path, R_OK) == 0 ? path : NULL;
}

const char *
sherpa_model_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

const char *
sherpa_model_files(struct arena *mem, enum sherpa_type type, const char *dir, const char *files[SHERPA_PARTS],
    int64_t *bytes)
{
	struct buf missing = BUF(mem);
	int64_t size = 0;

	*bytes = 0;
	for (size_t i = 0; i < SHERPA_PARTS && types[type].files[i] != NULL; i++) {
		files[i] = file_like(mem, dir, types[type].files[i], &size);
		if (files[i] == NULL)
			add_name(&missing, types[type].files[i]);
		else
			*bytes += size;
	}
	return missing.len == 0 ? NULL : buf_string(&missing);
}
