/* SPDX-License-Identifier: GPL-3.0-or-later */
/* QR codes by libqrencode. */
#include <qrencode.h>

#include "core/buf.h"
#include "core/qr.h"

const char *
qr_path(struct arena *mem, const char *text, int *size)
{
	QRcode *code = QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1);
	struct buf b = BUF(mem);
	int x, y, n;

	if (code == NULL)
		return NULL;
	*size = code->width;
	for (y = 0; y < *size; y++)
		for (x = 0; x < *size; x += n) {
			for (n = 0; x + n < *size && code->data[y * *size + x + n] & 1; n++)
				continue;
			if (n > 0)
				buf_printf(&b, "M%d %dh%dv1h-%dz", x, y, n, n);
			else
				n = 1;
		}
	QRcode_free(code);
	return buf_string(&b);
}
