/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of strangers, as far as they are read outside the sandbox: type by content, and the sizes in picture
 * headers. */
#include "media/image.h"
#include "media/sniff.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sniff sniff = sniff_bytes(data, n);
	int64_t width, height;
	const char *mime_type;

	sniff_mime_type(&sniff, true);
	sniff_mime_type(&sniff, false);
	image_header(data, n, &width, &height, &mime_type);
	return 0;
}
