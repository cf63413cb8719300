/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The asset of a page: what the page says of it, and, when it has changed, what the same address says then.  The server writes the page; here its parts are put in the place of the old ones, and what plays goes on.
 */
import { by, formatTime, make, wait } from './dom.js';
import { follow, isLive } from './follow.js';
import { _, language } from './text.js';

/* Between two questions that nobody told us to ask: while something happens, and when nothing does, or it is told. */
const SOON_MS = 2000, LATE_MS = 30000;
const DAY_MS = 86400000;
const PARTS = ['#live', '#title', '#facts', '#description', '#places', '#downloads ul', '#chapters ol', '#clips ul', '#comments ol', '#agenda .points'];

/* Addresses of files work under whatever host name this page was reached by. */
function local(url) {
	if (!url)
		return null;
	const u = new URL(url, location.href);
	return u.pathname.startsWith('/play/') ? u.pathname + u.search : u.href;
}

/* What /v2/media/{mediaId}/player answers, as players take it. */
export function taken(media) {
	for (const key of ['playlistUrl', 'posterUrl', 'storyboardUrl', 'storyboardVttUrl', 'waveformUrl'])
		media[key] = local(media[key]);
	for (const list of [media.captions ??= [], media.renditions ??= []])
		list.forEach(item => item.url = local(item.url));
	media.chapters ??= [];
	return media;
}

/* What a page says of its asset. */
export const read = page => taken(JSON.parse(page.getElementById('media').textContent));

/* The file that a signed address names, whenever it was signed. */
export const fileOf = url => url?.split('/').slice(4).join('/') ?? null;

/* Status 0: no answer at all.  `state` says it in place of the picture. */
export class Failure extends Error {
	constructor(status, state) {
		super(`${status}`);
		this.status = status;
		this.state = state ?? stateOf(status);
	}
}

function stateOf(status) {
	const [title, text] = status === 0 ? [_('No connection'), _('The server cannot be reached. Check your connection and try again.')] :
		status === -1 ? [_('This cannot be played here'), _('The browser cannot decode it. Another browser may.')] :
			[_('Something went wrong'), _('The server could not answer. Try again in a moment.')];

	return make('div', { className: 'state error', attributes: { role: 'alert' } },
		make('span', { className: 'state-sign', attributes: { 'aria-hidden': 'true' } }),
		make('p', { className: 'state-title', textContent: title }), make('p', { className: 'state-text', textContent: text }));
}

/* Signed addresses end: ms until half of what is left of them.  A clock that is wrong asks too often, not always. */
function untilStale(media) {
	const signed = [media.playlistUrl, media.posterUrl, ...media.renditions.map(r => r.url)].map(u => /\/play\/(\d+)\./.exec(u ?? ''));
	const end = Math.min(...signed.filter(Boolean).map(m => m[1] * 1000));

	return Math.min(Math.max((end - Date.now()) / 2, LATE_MS), DAY_MS);
}

let tag = null;

/* The page as it is now; null: as it was. */
export async function ask({ anyway = false } = {}) {
	let answer, text;
	try {
		answer = await fetch(location.href, { cache: 'no-store', headers: tag && !anyway ? { 'If-None-Match': tag } : {} });
		text = await answer.text();
	} catch {
		throw new Failure(0);
	}
	if (answer.status === 304)
		return null;
	const page = new DOMParser().parseFromString(text, 'text/html');
	if (!answer.ok)
		throw new Failure(answer.status, page.querySelector('.state'));
	tag = answer.headers.get('ETag');
	return page;
}

/* A document is better than its first page, where there is room for it. */
function showDocument(box, media) {
	const pdf = media.renditions.find(r => r.kind === 'pdf' && r.url);

	if (pdf && navigator.pdfViewerEnabled && matchMedia('(min-width: 48rem)').matches) {
		box.querySelector('.picture')?.remove();
		box.prepend(make('iframe', { src: pdf.url, title: media.name, className: 'pdf' }));
	}
}

/* Without the player the browser's own controls stay. */
async function enliven(stage, media) {
	const document = stage.querySelector('.document'), video = stage.querySelector('video');

	if (document)
		showDocument(document, media);
	if (!video)
		return null;
	const module = await import('./player.js').catch(() => null);
	return await module?.openPlayer(stage, video, media) ?? null;
}

function adopt(page) {
	document.title = page.title;
	for (const part of PARTS) {
		const from = page.querySelector(part), to = document.querySelector(part);
		if (from && to && from.innerHTML !== to.innerHTML)
			to.replaceChildren(...from.childNodes);
	}
	const link = document.querySelector('#stage a');
	if (link)
		link.href = page.querySelector('#stage a')?.href ?? link.href;
	if (by('downloads'))
		for (const id of ['live', 'downloads', 'places', 'chapters', 'clips', 'comments', 'agenda'])
			if (by(id))
				by(id).hidden = page.getElementById(id)?.hidden ?? true;
}

/* To a broadcast that is announced: the seconds of the last day, and when that is in the viewer's own time. */
let counting = 0;
function countDown(stage) {
	const time = stage.querySelector('.countdown time');
	const at = new Date(time?.dateTime);
	const left = make('strong', {});
	const tell = () => {
		const seconds = Math.max(0, Math.ceil((at - Date.now()) / 1000));
		left.textContent = seconds < 86400 ? formatTime(seconds) :
			new Intl.RelativeTimeFormat(language).format(Math.round(seconds / 86400), 'day');
	};

	clearInterval(counting);
	if (!time)
		return;
	time.textContent = at.toLocaleString(language, { dateStyle: 'full', timeStyle: 'short' });
	time.before(left);
	counting = setInterval(tell, 1000);
	tell();
}

/* Nobody looks: nothing is asked. */
export const seen = () => document.visibilityState === 'visible' ? null :
	new Promise(done => document.addEventListener('visibilitychange', done, { once: true }));

/* Something that can be waited for; what happens meanwhile is not lost. */
function bell() {
	let rings, rung = new Promise(done => rings = done);

	return {
		ring: () => rings(),
		async within(ms) {
			await Promise.race([rung, wait(ms)]);
			rung = new Promise(done => rings = done);
		},
	};
}

/* Brings the page to life, and follows the asset: until all of it is there, and then in time for new keys to what it loads.
 * onPlayer(player) is called once. */
export async function openAsset(stage, { onPlayer, follows = true } = {}) {
	let media = read(document), player = null, pause = SOON_MS;
	const change = bell();
	const live = async () => {
		player = await enliven(stage, media);
		if (player)
			onPlayer?.(player);
	};

	if (follows)
		follow([['media', media.id, new URL(location.href).searchParams.get('t')]], change.ring);
	await live();
	countDown(stage);
	for (;;) {
		await change.within((media.isComplete ? untilStale(media) : isLive() ? LATE_MS : pause) * (0.9 + Math.random() / 5));
		await seen();
		pause = Math.min(pause * 1.5, LATE_MS);
		try {
			const page = await ask();
			if (!page)
				continue;
			pause = SOON_MS;
			media = read(page);
			adopt(page);
			if (player) {
				player.update(media);
			} else if (stage.querySelector('.state')) {
				stage.replaceChildren(...page.getElementById('stage').childNodes);
				await live();
				countDown(stage);
			}
		} catch (failure) {
			if (!(failure instanceof Failure))
				throw failure;
			if (failure.status < 400 || failure.status >= 500)
				continue;
			if (stage.querySelector('.state'))
				stage.replaceChildren(failure.state);
			return;
		}
	}
}
