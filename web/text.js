/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the scripts say, in the language of the page: from the catalogue that the page itself was written by. */
export const language = document.documentElement.lang || 'en';
const texts = new Map();

/* A .mo of gettext: number of texts, places of the originals, places of the translations. */
async function load() {
	const answer = await fetch(new URL(`${language}.mo`, import.meta.url));
	if (!answer.ok)
		return;
	const bytes = await answer.arrayBuffer(), view = new DataView(bytes), utf8 = new TextDecoder();
	const word = at => view.getUint32(at, true);
	const text = at => utf8.decode(new Uint8Array(bytes, word(at + 4), word(at)));

	for (let i = 0; i < word(8); i++)
		texts.set(text(word(12) + 8 * i), text(word(16) + 8 * i));
}

/* English is what the sources are written in, and what remains when there is nothing else. */
if (language !== 'en')
	await load().catch(() => {});

/* What stands in braces is replaced by the value of that name. */
export const _ = (text, values = {}) => (texts.get(text) || text).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

export const number = (n, options) => new Intl.NumberFormat(language, options).format(n);
