/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The asset of a page: what the page says of it, and, while more of it is being made, what the same address says a little
 * later.  The server writes the page; here its parts are put in the place of the old ones, and what plays goes on.
 */
import { by, make, wait } from './dom.js';

const SOON_MS = 2000, LATE_MS = 30000;		/* between two questions: while something happens, and when nothing does */
const PARTS = ['#title', '#facts', '#description', '#downloads ul'];

/* Addresses of files work under whatever host name this page was reached by. */
function local(url) {
	if (!url)
		return null;
	const u = new URL(url, location.href);
	return u.pathname.startsWith('/play/') ? u.pathname + u.search : u.href;
}

/* What a page says of its asset, as /v2/media/{mediaId}/player does. */
export function read(page) {
	const media = JSON.parse(page.getElementById('media').textContent);

	for (const key of ['playlistUrl', 'posterUrl', 'storyboardUrl', 'storyboardVttUrl', 'waveformUrl'])
		media[key] = local(media[key]);
	for (const list of [media.captions ??= [], media.renditions ??= []])
		list.forEach(item => item.url = local(item.url));
	return media;
}

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
	const [title, text] = status === 0 ? ['No connection', 'The server cannot be reached. Check your connection and try again.'] :
		status === -1 ? ['This cannot be played here', 'The browser cannot decode it. Another browser may.'] :
			['Something went wrong', 'The server could not answer. Try again in a moment.'];

	return make('div', { className: 'state error', attributes: { role: 'alert' } },
		make('span', { className: 'state-sign', attributes: { 'aria-hidden': 'true' } }),
		make('p', { className: 'state-title', textContent: title }), make('p', { className: 'state-text', textContent: text }));
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
	if (by('downloads'))
		by('downloads').hidden = page.getElementById('downloads')?.hidden ?? true;
}

/* Nobody looks: nothing is asked. */
const seen = () => document.visibilityState === 'visible' ? null :
	new Promise(done => document.addEventListener('visibilitychange', done, { once: true }));

/* Brings the page to life, and follows the asset until all of it is there.  onPlayer(player) is called once. */
export async function openAsset(stage, { onPlayer } = {}) {
	let media = read(document), player = null, pause = SOON_MS;
	const live = async () => {
		player = await enliven(stage, media);
		if (player)
			onPlayer?.(player);
	};

	await live();
	while (!media.isComplete) {
		await wait(pause * (0.9 + Math.random() / 5));
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
			}
		} catch (failure) {
			if (!(failure instanceof Failure))
				throw failure;
			if (failure.status < 400 || failure.status >= 500)
				continue;
			if (!player)
				stage.replaceChildren(failure.state);
			return;
		}
	}
}
