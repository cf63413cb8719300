/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The portal and the page of a channel: what is in them, as it is now. */
import { ask, seen } from './asset.js';
import { follow } from './follow.js';
import './theme.js';

const CHANNEL = /\/c\/([0-9a-f-]{36})/;
const main = document.querySelector('main');

/* Of the portal those that are on it. */
function channels() {
	const own = CHANNEL.exec(location.pathname);
	const links = own ? [own] : [...main.querySelectorAll('.card a')].map(a => CHANNEL.exec(a.pathname)).filter(Boolean);

	return links.map(found => ['channel', found[1]]);
}

let waiting = false;

/* Whoever stands on a card stays there; nobody looks: nothing is asked. */
async function adopt() {
	if (waiting)
		return;
	waiting = true;
	await seen();
	waiting = false;
	const page = await ask().catch(() => null), from = page?.querySelector('main');
	if (!from || from.innerHTML === main.innerHTML)
		return;
	const focus = main.contains(document.activeElement) ? document.activeElement.href : null;
	document.title = page.title;
	main.replaceChildren(...from.childNodes);
	if (focus)
		[...main.querySelectorAll('a')].find(a => a.href === focus)?.focus();
}

follow(channels(), adopt);
