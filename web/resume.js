/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where somebody stopped watching, so that the next visit goes on there.  This browser alone knows it: pages are open to people who have no account.
 */
import { make, memory } from './dom.js';
import { _ } from './text.js';

const MOST = 200;		/* recordings; the oldest are forgotten */
const LEAST = 5;		/* seconds that are worth it */
const FINISHED = 0.95;		/* of the recording, as in /v2/history */
const EVERY_MS = 5000;
const SHOWN_SECONDS = 15;

/* [id, seconds], the latest last. */
function read() {
	try {
		const all = JSON.parse(memory.get('positions') ?? '[]');
		return Array.isArray(all) ? all.filter(p => Array.isArray(p) && typeof p[0] === 'string' && Number.isFinite(p[1])) : [];
	} catch {
		return [];
	}
}

const isWorthIt = (media, seconds) => seconds >= LEAST && seconds < media.duration * FINISHED;

/* 0: from the beginning. */
export function positionOf(media) {
	const seconds = read().find(p => p[0] === media.id)?.[1] ?? 0;

	return isWorthIt(media, seconds) ? seconds : 0;
}

function remember(media, seconds) {
	const others = read().filter(p => p[0] !== media.id);

	if (isWorthIt(media, seconds))
		others.push([media.id, Math.round(seconds)]);
	memory.set('positions', JSON.stringify(others.slice(-MOST)));
}

/* What begins where it was left can begin anew, for a while. */
function offerBeginning({ video, begin }, start) {
	const over = make('button', { type: 'button', className: 'over wide', textContent: _('From the beginning') });

	over.onclick = () => {
		over.remove();
		video.currentTime = 0;
		video.focus();
	};
	video.addEventListener('timeupdate', () => video.currentTime > start + SHOWN_SECONDS && over.remove());
	begin.after(over);
}

/* `start`: where it goes on; 0: it begins. */
export function rememberPosition(player, start) {
	const { video } = player;
	let last = 0;
	const keep = () => {
		last = Date.now();
		remember(player.media, video.ended ? 0 : video.currentTime);
	};

	if (start)
		offerBeginning(player, start);
	video.addEventListener('timeupdate', () => !video.paused && Date.now() - last > EVERY_MS && keep());
	video.addEventListener('pause', keep);
	addEventListener('pagehide', () => video.played.length && keep());
}
