/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small things that every page needs. */

export const by = id => document.getElementById(id);
export const wait = ms => new Promise(done => setTimeout(done, ms));

/* Makes an element: make('p', { className: 'x' }, 'text', child). */
export function make(name, properties = {}, ...children) {
	const { data, attributes, ...rest } = properties;
	const e = Object.assign(document.createElement(name), rest);
	for (const [key, value] of Object.entries(attributes ?? {}))
		e.setAttribute(key, value);
	Object.assign(e.dataset, data ?? {});
	e.append(...children);
	return e;
}

/* "83", "1:23", "1m23s" as seconds. */
export function parseTime(text) {
	if (!text)
		return 0;
	const units = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?$/.exec(text);
	if (units)
		return (+units[1] || 0) * 3600 + (+units[2] || 0) * 60 + (+units[3] || 0);
	if (/^\d+(:\d+){1,2}$/.test(text))
		return text.split(':').reduce((sum, part) => sum * 60 + +part, 0);
	return 0;
}

export function formatTime(seconds) {
	const s = Math.max(0, Math.floor(seconds || 0));
	const two = n => String(n).padStart(2, '0');
	const h = Math.floor(s / 3600);
	return h ? `${h}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}

/* Settings that stay in this browser; a browser that keeps nothing is fine too. */
export const memory = {
	get(key) {
		try {
			return localStorage.getItem(`kinothek.${key}`);
		} catch {
			return null;
		}
	},
	set(key, value) {
		try {
			localStorage.setItem(`kinothek.${key}`, value);
		} catch { /* private window */ }
	},
};
