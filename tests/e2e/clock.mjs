/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures that say in black and white when they were made, in the lowest BITS of ms, for those who look how far behind a
 * livestream is. */
export const BITS = 32;
const LINES = 16;

/* One in gray, whose uppermost lines say it. */
export function picture(ms, width, height) {
	const bytes = Buffer.alloc(width * height, 128);
	for (let x = 0; x < width; x++)
		bytes[x] = Math.floor(ms / 2 ** Math.floor(x * BITS / width)) % 2 ? 235 : 16;
	for (let y = 1; y < LINES; y++)
		bytes.copy(bytes, y * width, 0, width);
	return bytes;
}
