/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The player of the watch page and of embeds: asks for the asset, shows it, and says clearly why it cannot. */

const TRIES = 5;		/* after a lost connection */
const POLL_MS = 3000;		/* while the asset is being made */
const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 1.75, 2];

const page = new URL(location.href);
export const mediaId = page.pathname.split('/')[2] ?? '';
export const token = page.searchParams.get('t');

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

/* Addresses of files work under whatever host name this page was reached by. */
function local(url) {
	if (!url)
		return null;
	const u = new URL(url, location.href);
	return u.pathname.startsWith('/play/') ? u.pathname + u.search : u.href;
}

class Failure extends Error {
	constructor(status, code) {
		super(`${status} ${code ?? ''}`);
		this.status = status;
		this.code = code;
	}
}

async function fetchMedia() {
	const query = token ? `?t=${encodeURIComponent(token)}` : '';
	let answer;
	try {
		answer = await fetch(`/v2/media/${encodeURIComponent(mediaId)}/player${query}`, { cache: 'no-store' });
	} catch {
		throw new Failure(0);
	}
	const json = await answer.json().catch(() => null);
	if (!answer.ok || !json?.data)
		throw new Failure(answer.status, json?.data?.code);
	const media = json.data;
	for (const key of ['playlistUrl', 'posterUrl', 'storyboardUrl', 'storyboardVttUrl', 'waveformUrl'])
		media[key] = local(media[key]);
	for (const list of [media.captions ??= [], media.renditions ??= []])
		list.forEach(item => item.url = local(item.url));
	return media;
}

function explain(failure) {
	if (failure.status === 0)
		return ['No connection', 'The server cannot be reached. Check your connection and try again.', true];
	const expired = token && parseInt(token, 10) * 1000 < Date.now();
	if (failure.status === 410 || (expired && [401, 403].includes(failure.status)))
		return ['This link has expired', 'Ask whoever sent it to you for a new one.', false];
	if (failure.status === 401 || failure.status === 403)
		return ['You need a valid link', 'This page opens only with a link made for it, and this one does not fit.', false];
	if (failure.status === 404)
		return ['Nothing is here', 'It was deleted, or the address is wrong.', false];
	return ['Something went wrong', 'The server could not answer. Try again in a moment.', true];
}

/* A sentence in place of the picture. */
function showState(root, { title, text, kind = 'error', progress, retry }) {
	const box = make('div', { className: `state ${kind}`, attributes: { role: kind === 'error' ? 'alert' : 'status' } });
	box.append(make('span', { className: 'state-sign', attributes: { 'aria-hidden': 'true' } }));
	box.append(make('p', { className: 'state-title', textContent: title }));
	if (text)
		box.append(make('p', { className: 'state-text', textContent: text }));
	if (progress !== undefined) {
		const bar = make('progress', { max: 100, attributes: { 'aria-label': 'Progress' } });
		if (progress !== null)
			bar.value = progress;
		box.append(bar);
	}
	if (retry)
		box.append(make('button', { type: 'button', textContent: 'Try again', onclick: retry }));
	root.replaceChildren(box);
}

const wait = ms => new Promise(done => setTimeout(done, ms));

/* "Playable" is decided by what is there, so that a first rendition plays while others are still being made. */
function isThere(media) {
	if (media.type === 'video' || media.type === 'audio')
		return Boolean(media.playlistUrl || playableFile(media));
	return media.renditions.length > 0 || Boolean(media.posterUrl);
}

function playableFile(media) {
	return media.renditions.find(r => ['mp4', 'audio'].includes(r.kind) && r.url)?.url ?? null;
}

/*
 * Shows the asset of this page in root.  onReady(media, player) is called when it is there; player is { video } for video
 * and sound, else {}.
 */
export async function openPlayer(root, { onReady, onWaiting } = {}) {
	showState(root, { kind: 'loading', title: 'Loading …' });
	for (;;) {
		let media;
		try {
			media = await fetchMedia();
		} catch (failure) {
			const [title, text, again] = explain(failure);
			showState(root, { title, text, retry: again && (() => openPlayer(root, { onReady, onWaiting })) });
			return;
		}
		if (isThere(media)) {
			const player = await show(root, media);
			onReady?.(media, player);
			return;
		}
		onWaiting?.(media);
		if (media.status === 'failed') {
			showState(root, { title: 'This could not be prepared', text: 'Whoever put it here finds the reason in its list of jobs.' });
			return;
		}
		showState(root, { kind: 'waiting', title: 'Still being prepared',
			text: 'It starts here as soon as it can be played.', progress: media.progress || null });
		await wait(POLL_MS);
	}
}

async function show(root, media) {
	if (media.type === 'image')
		return showImage(root, media);
	if (media.type === 'document')
		return showDocument(root, media);
	return showMedia(root, media);
}

function showImage(root, media) {
	const pictures = media.renditions.filter(r => r.kind === 'image' && r.url).sort((a, b) => a.width - b.width);
	const image = make('img', { alt: media.name, className: 'picture' });
	const largest = pictures.at(-1)?.url ?? media.posterUrl;
	image.sizes = '(min-width: 64rem) 70vw, 100vw';
	image.srcset = pictures.filter(p => p.width).map(p => `${p.url} ${p.width}w`).join(', ');
	image.src = largest;
	image.onerror = () => showState(root, { title: 'The picture cannot be shown', text: 'The link may have expired. Load the page again.' });
	root.replaceChildren(make('figure', { className: 'stage still' },
		make('a', { href: largest, target: '_blank', rel: 'noopener', title: 'Open in full size' }, image)));
	return {};
}

function showDocument(root, media) {
	const pdf = media.renditions.find(r => r.kind === 'pdf' && r.url);
	const pages = media.renditions.filter(r => r.kind === 'image' && r.url);
	const box = make('div', { className: 'stage document' });

	if (pdf && navigator.pdfViewerEnabled && matchMedia('(min-width: 48rem)').matches) {
		box.append(make('iframe', { src: pdf.url, title: media.name, className: 'pdf' }));
	} else {
		const preview = media.posterUrl ?? pages[0]?.url;
		if (preview)
			box.append(make('img', { src: preview, alt: `First page of ${media.name}`, className: 'picture' }));
	}
	if (pdf)
		box.append(make('a', { href: pdf.url, target: '_blank', rel: 'noopener', className: 'button', textContent: 'Open the document' }));
	root.replaceChildren(box);
	return {};
}

const ICONS = {
	settings: 'M19.4 13a7.5 7.5 0 0 0 0-2l2-1.6-2-3.4-2.4 1a7.6 7.6 0 0 0-1.7-1L15 3.5h-4L10.6 6a7.6 7.6 0 0 0-1.7 1l-2.4-1-2 3.4 2 1.6a7.5 7.5 0 0 0 0 2l-2 1.6 2 3.4 2.4-1a7.6 7.6 0 0 0 1.7 1l.4 2.5h4l.4-2.5a7.6 7.6 0 0 0 1.7-1l2.4 1 2-3.4-2.1-1.6zM13 15.2a3.2 3.2 0 1 1 0-6.4 3.2 3.2 0 0 1 0 6.4z',
	play: 'M8 5.5v13a1 1 0 0 0 1.5.9l10.6-6.5a1 1 0 0 0 0-1.8L9.5 4.6A1 1 0 0 0 8 5.500z',
};

function icon(name) {
	const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
	const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
	svg.setAttribute('viewBox', '0 0 24 24');
	svg.setAttribute('aria-hidden', 'true');
	path.setAttribute('d', ICONS[name]);
	svg.append(path);
	return svg;
}

const CONTROLS = ['media-controller', 'media-control-bar', 'media-play-button', 'media-time-range', 'media-time-display',
	'media-mute-button', 'media-volume-range', 'media-captions-button', 'media-pip-button', 'media-fullscreen-button',
	'media-loading-indicator', 'media-seek-backward-button', 'media-seek-forward-button'];

function buildStage(media) {
	const audio = media.type === 'audio';
	const video = make('video', { playsInline: true, preload: 'metadata', slot: 'media',
		attributes: { 'aria-label': media.name } });
	const stage = make('media-controller', { className: `stage ${audio ? 'sound' : 'film'}`,
		attributes: { nohotkeys: '', autohide: audio ? '-1' : '3' } });
	const big = make('button', { type: 'button', className: 'big-play', ariaLabel: 'Play' }, icon('play'));
	const gear = make('button', { type: 'button', className: 'gear', ariaLabel: 'Settings', ariaExpanded: 'false',
		attributes: { 'aria-haspopup': 'true', 'aria-controls': 'settings' } }, icon('settings'));
	const menu = make('div', { className: 'menu', id: 'settings', hidden: true, attributes: { role: 'group', 'aria-label': 'Settings' } });
	const flash = make('div', { className: 'flash', attributes: { role: 'status' } });
	const bar = make('media-control-bar', {},
		make('media-play-button'),
		make('media-seek-backward-button', { className: 'wide', attributes: { seekoffset: '10' } }),
		make('media-seek-forward-button', { className: 'wide', attributes: { seekoffset: '10' } }),
		make('media-mute-button'),
		make('media-volume-range', { className: 'wide' }),
		make('media-time-display', { attributes: { showduration: '' } }),
		make('span', { className: 'spring' }));

	if (media.mimeType.startsWith('image/'))	/* an animation: as people know it, but it can be stopped */
		Object.assign(video, { loop: true, muted: true, autoplay: !matchMedia('(prefers-reduced-motion: reduce)').matches });
	if (media.posterUrl)
		video.poster = media.posterUrl;
	if (media.captions.length)
		bar.append(make('media-captions-button'));
	bar.append(gear);
	if (!audio)
		bar.append(make('media-pip-button', { className: 'wide' }), make('media-fullscreen-button'));
	media.captions.forEach(c => video.append(make('track', { kind: c.kind, src: c.url, srclang: c.languageCode ?? '',
		label: c.label || c.languageCode || 'Captions' })));
	if (media.storyboardVttUrl)
		video.append(make('track', { kind: 'metadata', label: 'thumbnails', default: true, src: media.storyboardVttUrl }));
	stage.append(video, make('media-loading-indicator', { slot: 'centered-chrome', attributes: { noautohide: '' } }),
		make('div', { className: 'middle', slot: 'centered-chrome' }, big, flash),
		make('div', { className: 'controls' }, menu, make('media-time-range'), bar));
	return { stage, video, big, gear, menu, flash };
}

/* A promise that another load or a strict browser breaks; the controls show what is the case. */
export function play(video) {
	video.play().catch(() => {});
}

async function showMedia(root, media) {
	await Promise.all(CONTROLS.map(name => import(`./vendor/media-chrome/${name}.js`)));
	const parts = buildStage(media);
	const { video, big, stage } = parts;
	const player = { video, media, stage, quality: null, say: text => flashText(parts.flash, text) };

	root.replaceChildren(stage);
	big.onclick = () => play(video);
	for (const event of ['play', 'pause', 'ended'])
		video.addEventListener(event, () => big.hidden = !video.paused || video.currentTime > 0.5);
	rememberVolume(video);
	await attach(root, player, parseTime(page.searchParams.get('start')));
	settings(player, parts);
	captions(player);
	keyboard(player);
	if (media.type === 'audio' && media.waveformUrl)
		waveform(player, parts).catch(() => {});
	return player;
}

function rememberVolume(video) {
	const volume = parseFloat(memory.get('volume'));

	if (volume >= 0 && volume <= 1)
		video.volume = volume;
	video.addEventListener('volumechange', () => memory.set('volume', String(video.volume)));
}

/* Starts loading at `start` seconds: by hls.js wherever it works, else by the browser. */
async function attach(root, player, start) {
	const { video, media } = player;

	if (!media.playlistUrl) {
		video.src = playableFile(media);
		seekOnceLoaded(video, start);
		video.onerror = () => recover(root, player, new Failure(0));
		return;
	}
	const { default: Hls } = await import('./vendor/hls.js/hls.min.mjs');
	if (!Hls.isSupported()) {
		video.src = media.playlistUrl;
		seekOnceLoaded(video, start);
		video.onerror = () => recover(root, player, new Failure(0));
		return;
	}
	const hls = new Hls({ enableWorker: false, startPosition: start || -1, capLevelToPlayerSize: true, backBufferLength: 60,
		renderTextTracksNatively: false });
	let tries = 0;
	player.hls = hls;
	hls.on(Hls.Events.FRAG_LOADED, () => tries = 0);
	hls.on(Hls.Events.ERROR, async (_, e) => {
		if (!e.fatal)
			return;
		if (e.type === Hls.ErrorTypes.MEDIA_ERROR && tries++ < 2) {
			hls.recoverMediaError();
		} else if (e.type === Hls.ErrorTypes.NETWORK_ERROR && ![403, 404, 410].includes(e.response?.code) && tries++ < TRIES) {
			await wait(500 * 2 ** tries);
			hls.startLoad();
		} else {
			recover(root, player, new Failure(e.type === Hls.ErrorTypes.MEDIA_ERROR ? -1 : e.response?.code ?? 0));
		}
	});
	hls.on(Hls.Events.AUDIO_TRACKS_UPDATED, (_, e) => {
		const wanted = e.audioTracks.find(t => t.name === memory.get('sound'));
		if (wanted)
			hls.audioTrack = wanted.id;
	});
	hls.loadSource(media.playlistUrl);
	hls.attachMedia(video);
}

function seekOnceLoaded(video, start) {
	if (start)
		video.addEventListener('loadedmetadata', () => video.currentTime = start, { once: true });
}

/* Signed addresses run out while a page stays open: ask once more, and go on where it stopped. */
async function recover(root, player, failure) {
	const { video } = player;
	const at = video.currentTime, playing = !video.paused;

	player.hls?.destroy();
	if (!player.renewed && failure.status !== -1) {
		try {
			const media = await fetchMedia();
			player.renewed = true;
			setTimeout(() => player.renewed = false, 60000);
			Object.assign(player.media, media);
			await attach(root, player, at);
			if (playing)
				play(video);
			return;
		} catch (again) {
			failure = again;
		}
	}
	const [title, text] = failure.status === -1 ?
		['This cannot be played here', 'The browser cannot decode it. Another browser may.'] : explain(failure);
	const resume = new URL(location.href);
	resume.searchParams.set('start', Math.floor(at));
	showState(root, { title, text, retry: () => location.replace(resume) });
}

let flashTimer;
function flashText(place, text) {
	place.textContent = text;
	place.classList.add('on');
	clearTimeout(flashTimer);
	flashTimer = setTimeout(() => place.classList.remove('on'), 900);
}

/* One group of the settings: a heading and its choices, one of them taken. */
function choices(title, items, current, choose) {
	const group = make('fieldset', {}, make('legend', { textContent: title }));

	for (const [value, label] of items) {
		const input = make('input', { type: 'radio', name: `choice-${title}`, checked: value === current });
		input.onchange = () => choose(value);
		group.append(make('label', {}, input, make('span', { textContent: label })));
	}
	return group;
}

function levels(hls) {
	return (hls?.levels ?? []).map((level, i) => [i, level.height ? `${level.height}p` : `${Math.round(level.bitrate / 1000)} kbit/s`])
		.reverse();
}

function fillMenu(player, menu) {
	const { video, hls } = player;
	const qualities = levels(hls);

	menu.replaceChildren();
	if (qualities.length > 1) {
		const now = hls.levels[hls.currentLevel]?.height;
		menu.append(choices('Quality', [[-1, hls.autoLevelEnabled && now ? `Auto (${now}p)` : 'Auto'], ...qualities],
			hls.autoLevelEnabled ? -1 : hls.loadLevel, i => hls.nextLevel = i));
	}
	if (hls?.audioTracks.length > 1)
		menu.append(choices('Sound', hls.audioTracks.map(t => [t.id, t.name]), hls.audioTrack, i => {
			hls.audioTrack = i;
			memory.set('sound', hls.audioTracks[i].name);
		}));
	menu.append(choices('Speed', SPEEDS.map(s => [s, s === 1 ? 'Normal' : `${s}×`]), video.playbackRate, s => video.playbackRate = s));
	const tracks = captionTracks(video);
	if (tracks.length)
		menu.append(choices('Captions', [[null, 'Off'], ...tracks.map(t => [t, t.label])],
			tracks.find(t => t.mode === 'showing') ?? null, track => showCaptions(video, track)));
}

function settings(player, { gear, menu, stage }) {
	const close = focus => {
		if (menu.hidden)
			return;
		menu.hidden = true;
		gear.ariaExpanded = 'false';
		if (focus)
			gear.focus();
	};

	gear.onclick = () => {
		if (!menu.hidden)
			return close(true);
		fillMenu(player, menu);
		menu.hidden = false;
		gear.ariaExpanded = 'true';
		menu.querySelector('input:checked')?.focus();
	};
	menu.addEventListener('keydown', e => {
		if (e.key === 'Escape') {
			e.stopPropagation();
			close(true);
		}
	});
	menu.addEventListener('click', e => e.stopPropagation());
	addEventListener('pointerdown', e => {
		const path = e.composedPath();
		if (!path.includes(menu) && !path.includes(gear))
			close(false);
	});
	stage.addEventListener('userinactivechange', () => {
		if (stage.hasAttribute('userinactive') && !menu.contains(document.activeElement))
			close(false);
	});
}

export function captionTracks(video) {
	return [...video.textTracks].filter(t => ['captions', 'subtitles'].includes(t.kind));
}

/* Hidden, not disabled: the transcript reads the cues of hidden tracks. */
function showCaptions(video, track) {
	captionTracks(video).forEach(t => t.mode = t === track ? 'showing' : t.mode === 'disabled' ? 'disabled' : 'hidden');
	memory.set('captions', track ? track.language || 'on' : 'off');
}

function captions(player) {
	const { video } = player;
	const tracks = captionTracks(video);
	const wanted = memory.get('captions');

	if (!tracks.length)
		return;
	if (wanted && wanted !== 'off')
		showCaptions(video, tracks.find(t => t.language === wanted) ?? tracks[0]);
	video.textTracks.addEventListener('change', () => {
		const shown = captionTracks(video).find(t => t.mode === 'showing');
		memory.set('captions', shown ? shown.language || 'on' : 'off');
	});
}

function toggleCaptions(player) {
	const tracks = captionTracks(player.video);
	const shown = tracks.find(t => t.mode === 'showing');

	if (!tracks.length)
		return player.say('No captions');
	const next = shown ? null : tracks.find(t => t.language === memory.get('captions-language')) ?? tracks[0];
	if (shown)
		memory.set('captions-language', shown.language);
	showCaptions(player.video, next);
	player.say(next ? `Captions: ${next.label}` : 'Captions off');
}

function seekBy(player, seconds) {
	const { video } = player;
	video.currentTime = Math.min(Math.max(0, video.currentTime + seconds), video.duration || 0);
	player.say(`${seconds > 0 ? '+' : '−'}${Math.abs(seconds)} s`);
}

function changeVolume(player, by) {
	const { video } = player;
	video.volume = Math.min(1, Math.max(0, Math.round((video.volume + by) * 20) / 20));
	video.muted = video.volume === 0;
	player.say(`Volume ${Math.round(video.volume * 100)} %`);
}

function changeSpeed(player, step) {
	const { video } = player;
	const i = SPEEDS.indexOf(video.playbackRate);
	video.playbackRate = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, (i < 0 ? 2 : i) + step))];
	player.say(`${video.playbackRate}×`);
}

function toggleFullscreen(player) {
	if (document.fullscreenElement)
		document.exitFullscreen();
	else if (player.stage.requestFullscreen)
		player.stage.requestFullscreen().catch(() => {});
	else
		player.video.webkitEnterFullscreen?.();	/* iPhones know only this */
}

const KEYS = {
	' ': p => p.video.paused ? play(p.video) : p.video.pause(),
	k: p => KEYS[' '](p),
	j: p => seekBy(p, -10),
	l: p => seekBy(p, 10),
	ArrowLeft: p => seekBy(p, -5),
	ArrowRight: p => seekBy(p, 5),
	ArrowUp: p => changeVolume(p, 0.1),
	ArrowDown: p => changeVolume(p, -0.1),
	',': p => p.video.paused && (p.video.currentTime -= 1 / 25),
	'.': p => p.video.paused && (p.video.currentTime += 1 / 25),
	'<': p => changeSpeed(p, -1),
	'>': p => changeSpeed(p, 1),
	f: p => toggleFullscreen(p),
	m: p => {
		p.video.muted = !p.video.muted;
		p.say(p.video.muted ? 'Sound off' : 'Sound on');
	},
	c: p => toggleCaptions(p),
};

/* Keys belong to whatever field or button has the focus first. */
function keyIsTaken(e) {
	const target = e.composedPath()[0];

	if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || document.querySelector('dialog[open]'))
		return true;
	if (!(target instanceof Element))
		return false;
	if (target.closest('input:not([type=radio]):not([type=range]), textarea, select, [contenteditable]'))
		return true;
	if (e.key === ' ' || e.key === 'Enter')
		return Boolean(target.closest('button, a, summary, input, [role=button], media-play-button, media-mute-button, ' +
			'media-captions-button, media-pip-button, media-fullscreen-button, media-seek-backward-button, media-seek-forward-button'));
	if (e.key.startsWith('Arrow'))
		return Boolean(target.closest('input, [role=slider], .cues'));
	return false;
}

function keyboard(player) {
	addEventListener('keydown', e => {
		if (keyIsTaken(e))
			return;
		const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
		if (/^[0-9]$/.test(key) && player.video.duration)
			player.video.currentTime = player.video.duration * key / 10;
		else if (KEYS[key])
			KEYS[key](player);
		else
			return;
		e.preventDefault();
	});
}

/* The loudness of the recording, as a picture that seeks. */
async function waveform(player, { stage }) {
	const json = await (await fetch(player.media.waveformUrl)).json();
	const data = json.peaks ?? json.data ?? [];
	const pairs = !json.peaks && data.some(v => v < 0);
	const loud = pairs ? data.filter((_, i) => i % 2) : data;
	const top = Math.max(...loud, 1e-6);
	const canvas = make('canvas', { className: 'waveform', attributes: { 'aria-hidden': 'true' } });
	const { video } = player;

	const draw = () => {
		const scale = devicePixelRatio || 1, w = canvas.clientWidth * scale, h = canvas.clientHeight * scale;
		const context = canvas.getContext('2d');
		const style = getComputedStyle(stage);
		const bars = Math.max(1, Math.floor(w / (4 * scale)));
		const played = video.duration ? video.currentTime / video.duration : 0;

		canvas.width = w;
		canvas.height = h;
		for (let i = 0; i < bars; i++) {
			const from = Math.floor(i * loud.length / bars), to = Math.max(from + 1, Math.floor((i + 1) * loud.length / bars));
			const height = Math.max(2 * scale, h * Math.max(...loud.slice(from, to)) / top);
			context.fillStyle = style.getPropertyValue(i / bars < played ? '--accent-bright' : '--wave');
			context.fillRect(i * 4 * scale, (h - height) / 2, 2.5 * scale, height);
		}
	};
	canvas.onclick = e => {
		e.stopPropagation();
		if (video.duration)
			video.currentTime = e.offsetX / canvas.clientWidth * video.duration;
	};
	stage.classList.add('with-wave');
	stage.append(make('div', { className: 'wave-place', slot: 'centered-chrome' }, canvas));
	new ResizeObserver(draw).observe(canvas);
	video.addEventListener('timeupdate', draw);
	video.addEventListener('seeking', draw);
}
