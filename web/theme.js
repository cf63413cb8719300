/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The button that changes the colours of a page; what was chosen stays in the browser. */
import { by, memory } from './dom.js';

const THEMES = { auto: 'as the system', light: 'light', dark: 'dark' };
const names = Object.keys(THEMES), button = by('theme');

function use(name) {
	document.documentElement.dataset.theme = name;
	button.ariaLabel = button.title = `Colours: ${THEMES[name]}`;
	memory.set('theme', name);
}

if (button) {
	use(Object.hasOwn(THEMES, memory.get('theme') ?? '') ? memory.get('theme') : 'auto');
	button.onclick = () => use(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
	button.hidden = false;
}
