/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The button that changes the colours of a page; what was chosen stays in the browser. */
import { by, memory } from './dom.js';
import { _ } from './text.js';

const THEMES = { auto: _('Colours: as the system'), light: _('Colours: light'), dark: _('Colours: dark') };
const names = Object.keys(THEMES), button = by('theme');

function use(name) {
	document.documentElement.dataset.theme = name;
	button.ariaLabel = button.title = THEMES[name];
	memory.set('theme', name);
}

if (button) {
	use(Object.hasOwn(THEMES, memory.get('theme') ?? '') ? memory.get('theme') : 'auto');
	button.onclick = () => use(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
	button.hidden = false;
}
