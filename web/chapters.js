/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a recording may be entered: in the seek bar, in the list below, and by addresses that end in #t=. */
import { by, parseTime } from './dom.js';
import { _, language } from './text.js';
import { play } from './tracks.js';

/* Media Fragments URI, 4.2.1: "#t=10", "#t=10,20.5", "#t=1:02:03".  Seconds; the end is Infinity where none is said. */
export function fragment() {
	const [start, end] = (/^#t=(?:npt:)?([^&]*)/.exec(location.hash)?.[1] ?? '').split(',').map(parseTime);

	return { start, end: end > start ? end : Infinity };
}

/* The bar shows a stretch for each, and its title above the pointer. */
export function markChapters(player) {
	const { video, media } = player;
	const now = JSON.stringify(media.chapters);

	if (now === (player.marked ?? '[]'))
		return;
	player.marked = now;
	player.chapters ??= video.addTextTrack('chapters', _('Chapters'), language);
	player.chapters.mode = 'hidden';
	[...player.chapters.cues].forEach(cue => player.chapters.removeCue(cue));
	media.chapters.forEach((c, i) => {
		const end = media.chapters[i + 1]?.start ?? media.duration;
		if (end > c.start)
			player.chapters.addCue(new VTTCue(c.start, end, c.title.replace(/[<&]/g, s => s === '<' ? '&lt;' : '&amp;')));
	});
	/* What reads them hears of tracks, not of cues. */
	player.chapters.mode = 'disabled';
	player.chapters.mode = 'hidden';
}

/* The one that is shown stands out. */
function follow(video) {
	const links = [...document.querySelectorAll('.chapters:not([hidden]) a, .agenda a[href^="#t="]')];
	const now = links.findLast(a => parseTime(/#t=(.*)/.exec(a.hash)?.[1]) <= video.currentTime + 0.05);

	for (const a of links)
		if (a === now)
			a.setAttribute('aria-current', 'true');
		else
			a.removeAttribute('aria-current');
}

/* A link of the page to a time of what it shows goes there; one that ends stops there, once. */
export function followFragments(player) {
	const { video } = player;
	let { end } = fragment();

	const go = async () => {
		const part = fragment();
		await player.prepare();
		video.currentTime = part.start;
		end = part.end;
		play(video);
	};

	addEventListener('hashchange', () => location.hash.startsWith('#t=') && go());
	document.addEventListener('click', e => {
		const link = e.target.closest?.('a[href^="#t="]');
		if (link?.hash === location.hash)
			go();
	});
	video.addEventListener('timeupdate', () => {
		if (video.currentTime >= end) {
			end = Infinity;
			video.pause();
		}
		if (by('chapters'))
			follow(video);
	});
}
