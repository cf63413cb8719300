/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts our controls and hls.js around the video of a page.  What the asset gets later is added while it plays. */
import { ask, Failure, fileOf, read } from './asset.js';
import { followFragments, fragment, markChapters } from './chapters.js';
import { formatTime, make, memory, parseTime, wait } from './dom.js';
import { positionOf, rememberPosition } from './resume.js';
import { _, language, number } from './text.js';
import { captionTracks, play, showCaptions, shownCaptions } from './tracks.js';
import './vendor/media-chrome/media-control-bar.js';
import './vendor/media-chrome/media-controller.js';
import './vendor/media-chrome/media-fullscreen-button.js';
import './vendor/media-chrome/media-loading-indicator.js';
import './vendor/media-chrome/media-mute-button.js';
import './vendor/media-chrome/media-pip-button.js';
import './vendor/media-chrome/media-play-button.js';
import './vendor/media-chrome/media-seek-backward-button.js';
import './vendor/media-chrome/media-seek-forward-button.js';
import './vendor/media-chrome/media-time-range.js';
import './vendor/media-chrome/media-volume-range.js';

const TRIES = 5;		/* after a lost connection */
const GAPS = 3, LEAP_S = 0.05, SLACK_S = 0.5;	/* so many in a row make a quality doubtful; into what follows a gap; how exact its end is */
const EDGE_S = 4, LIVE_MS = 3000;	/* so far behind is live; between two questions for a broadcast that is interrupted */
/* Catches up by going a bit faster, and does not fall back for ever after each break. */
const LIVE = { lowLatencyMode: true, maxLiveSyncPlaybackRate: 1.25, liveSyncOnStallIncrease: 0 };
const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 1.75, 2];

const ICONS = {
	gear: 'M19.4 13a7.5 7.5 0 0 0 0-2l2-1.6-2-3.4-2.4 1a7.6 7.6 0 0 0-1.7-1L15 3.5h-4L10.6 6a7.6 7.6 0 0 0-1.7 1l-2.4-1-2 3.4 2 1.6a7.5 7.5 0 0 0 0 2l-2 1.6 2 3.4 2.4-1a7.6 7.6 0 0 0 1.7 1l.4 2.5h4l.4-2.5a7.6 7.6 0 0 0 1.7-1l2.4 1 2-3.4-2.1-1.6zM13 15.2a3.2 3.2 0 1 1 0-6.4 3.2 3.2 0 0 1 0 6.4z',
	captions: 'M4 5h16a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2zm1 6v2h6v-2zm8 0v2h6v-2zm-8 3v2h3v-2zm5 0v2h9v-2z',
	play: 'M8 5.5v13a1 1 0 0 0 1.5.9l10.6-6.5a1 1 0 0 0 0-1.8L9.5 4.6A1 1 0 0 0 8 5.500z',
};

function icon(name) {
	const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
	const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
	svg.setAttribute('viewBox', '0 0 24 24');
	svg.setAttribute('aria-hidden', 'true');
	path.setAttribute('d', ICONS[name]);
	path.setAttribute('fill-rule', 'evenodd');
	svg.append(path);
	return svg;
}

/* A button that media-chrome has not. */
function control(name, label, attributes = {}) {
	return make('button', { type: 'button', className: `control ${name}`, ariaLabel: label, attributes }, icon(name));
}

/* Its tooltip would call it otherwise than its name, "seek back 10 seconds", does. */
const seekButton = direction => make(`media-seek-${direction}-button`, { className: 'wide', attributes: { seekoffset: '10', notooltip: '' } });

function buildStage(video, media) {
	const audio = media.type === 'audio';
	const stage = make('media-controller', { className: video.className,
		attributes: { lang: language, nohotkeys: '', autohide: audio ? '-1' : '3' } });
	const begin = make('button', { type: 'button', className: 'begin' }, icon('play'), _('Play'));
	const cc = control('captions', _('Captions'), { 'aria-pressed': 'false' });
	const gear = control('gear', _('Settings'), { 'aria-haspopup': 'true', 'aria-controls': 'settings', 'aria-expanded': 'false' });
	const menu = make('div', { className: 'menu', id: 'settings', hidden: true, attributes: { role: 'group', 'aria-label': _('Settings') } });
	const flash = make('div', { className: 'flash', attributes: { role: 'status' } });
	const time = make('span', { className: 'time' });
	const edge = make('button', { type: 'button', className: 'control edge', hidden: !media.live, title: _('To the live picture') }, _('Live'));
	const notice = make('p', { className: 'notice', hidden: true, attributes: { role: 'status' } });
	const bar = make('media-control-bar', {},
		begin,
		make('media-play-button'),
		seekButton('backward'),
		seekButton('forward'),
		make('media-mute-button'),
		make('media-volume-range', { className: 'wide' }),
		edge, time, make('span', { className: 'spring' }), cc, gear);

	if (!audio)
		bar.append(make('media-pip-button', { className: 'wide' }), make('media-fullscreen-button'));
	video.className = '';
	video.slot = 'media';
	video.controls = false;
	video.replaceChildren();
	stage.append(make('media-loading-indicator', { slot: 'centered-chrome', attributes: { noautohide: '' } }),
		make('div', { className: 'middle', slot: 'centered-chrome' }, flash, notice),
		make('div', { className: 'controls', attributes: audio ? { noautohide: '' } : {} }, menu, make('media-time-range'), bar));
	return { stage, begin, cc, gear, menu, flash, time, edge, notice };
}

/* The video as it stands in the page becomes a player; onto it comes what update(media) brings.  Of the media nothing is
 * fetched before somebody is about to play.  Of a story: `at`, where it begins, and no address or memory says otherwise;
 * `renew`, which gets the asset again when its addresses have run out. */
export async function openPlayer(place, video, media, { at, renew = async () => read(await ask({ anyway: true })) } = {}) {
	if (language !== 'en')
		await import(`./vendor/media-chrome/lang/${language}.js`).catch(() => null);
	const wanted = at ?? (fragment().start || parseTime(new URL(location.href).searchParams.get('start')) || video.currentTime), playing = !video.paused;
	const left = wanted || playing || video.loop || media.live || at !== undefined ? 0 : positionOf(media), start = media.live ? 0 : wanted || left;
	const parts = buildStage(video, media);
	const player = { place, video, media, renew, Hls: null, hls: null, height: null, sound: memory.get('sound'), attached: false, going: playing, renewed: false,
		...parts, say: text => flashText(parts.flash, text), update: next => update(player, next), show: (next, from) => show(player, next, from) };
	let begun = null;

	place.replaceChildren(parts.stage);
	parts.stage.append(video);
	parts.begin.onclick = () => play(video);
	for (const event of ['play', 'pause', 'ended', 'seeked'])
		video.addEventListener(event, () => parts.stage.classList.toggle('begun', !video.paused || video.currentTime > (at ?? 0) + 0.5));
	video.onerror = () => !player.hls && video.error && recover(player, new Failure(video.error.code === 4 ? -1 : 0));
	tellTime(player);
	parts.edge.onclick = () => toEdge(player);
	keepUp(player);
	rememberVolume(video);
	if (!video.loop && !media.live && at === undefined)
		rememberPosition(player, left);
	extras(player);
	settings(player);
	captions(player);
	keyboard(player);
	player.prepare = () => begun ??= attach(player, start);
	for (const event of ['pointerenter', 'focusin'])
		parts.stage.addEventListener(event, player.prepare, { once: true });
	video.addEventListener('play', () => {
		player.going ||= !player.attached;
		player.prepare();
	});
	if (at === undefined)
		followFragments(player);
	if (start || playing)
		player.prepare();
	/* An animation, as people know it; but it can be stopped. */
	if (video.loop && !matchMedia('(prefers-reduced-motion: reduce)').matches)
		play(video);
	return player;
}

function tellTime(player) {
	const { video, time, edge } = player;
	const tell = () => {
		const behind = player.media.live ? behindLive(player) : 0;

		edge.hidden = !player.media.live;
		edge.classList.toggle('at', behind < EDGE_S && player.media.live?.status === 'live');
		time.textContent = !player.media.live ? `${formatTime(video.currentTime)} / ${formatTime(video.duration || player.media.duration)}` :
			behind < EDGE_S ? '' : `−${formatTime(behind)}`;
	};

	for (const event of ['timeupdate', 'seeking', 'durationchange'])
		video.addEventListener(event, tell);
	tell();
}

/* Seconds between what is shown and what could be. */
function behindLive({ video, hls }) {
	const end = hls?.liveSyncPosition ?? (video.seekable.length ? video.seekable.end(video.seekable.length - 1) : video.currentTime);

	return Math.max(0, end - video.currentTime);
}

/* Where it goes on behind what the playlist calls a gap, once that is there: hls.js waits in some of them for ever. */
function beyondGap({ video, hls }) {
	const { buffered, currentTime: at } = video;
	let end = at;

	for (const f of hls?.latestLevelDetails?.fragments ?? [])
		end = f.gap && f.start <= end && end < f.end ? f.end : end;
	for (let i = 0; end > at && i < buffered.length; i++) {
		if (buffered.start(i) <= at && at < buffered.end(i))
			return null;
		if (buffered.start(i) > at)
			return buffered.start(i) < end + SLACK_S ? buffered.start(i) + LEAP_S : null;
	}
	return null;
}

/* Who has fallen behind without going back or stopping, since a line or a machine was too slow, comes to the live picture
 * again: hls.js catches up by itself only while it is near. */
function keepUp(player) {
	const { video } = player;
	let stays = false, leaps = false;

	video.addEventListener('seeking', () => {
		stays = leaps ? stays : behindLive(player) >= EDGE_S;
		leaps = false;
	});
	for (const event of ['progress', 'waiting'])	/* what follows may be there before it is waited for */
		video.addEventListener(event, () => {
			const to = beyondGap(player);
			leaps ||= to !== null;
			if (to !== null)
				video.currentTime = to;
		});
	video.addEventListener('pause', () => stays = true);
	video.addEventListener('timeupdate', () => {
		if (player.media.live && player.hls?.liveSyncPosition && !stays && !video.seeking && behindLive(player) >= EDGE_S)
			video.currentTime = player.hls.liveSyncPosition;
	});
}

function toEdge(player) {
	const { video, hls } = player;

	player.prepare();
	if (hls?.liveSyncPosition)
		video.currentTime = hls.liveSyncPosition;
	play(video);
}

function rememberVolume(video) {
	const volume = parseFloat(memory.get('volume'));

	if (volume >= 0 && volume <= 1)
		video.volume = volume;
	video.addEventListener('volumechange', () => memory.set('volume', String(video.volume)));
}

const playableFile = media => media.renditions.find(r => ['mp4', 'audio'].includes(r.kind) && r.url)?.url ?? null;

/* Starts loading at `start` seconds: by hls.js wherever it works, else by the browser. */
async function attach(player, start) {
	const { video } = player;
	const module = player.media.playlistUrl ? await import('./vendor/hls.js/hls.min.mjs').catch(() => null) : null;

	player.Hls = module?.default.isSupported() ? module.default : null;
	if (player.Hls)
		return load(player, video, start);
	video.preload = 'metadata';
	video.src = player.media.playlistUrl && video.canPlayType('application/vnd.apple.mpegurl') ? player.media.playlistUrl :
		playableFile(player.media);
	if (start)
		video.addEventListener('loadedmetadata', () => video.currentTime = start, { once: true });
	goOn(player);
}

/* A source that is attached stops what was about to play. */
function goOn(player) {
	player.attached = true;
	if (player.going)
		play(player.video);
	player.going = false;
}

/* The page has got new keys, and playlists that were read before name the old one. */
const withKey = (url, newer) => url.replace(/\/play\/[^/]+\//, /\/play\/[^/]+\//.exec(newer)?.[0] ?? '$&');

const noGaps = () => ({ last: -1, count: 0, next: GAPS });

/* Is this gap the 3rd, 6th, 12th and so on of a row?  The next instance meets those before once more, and what follows is to
 * be reached. */
function isDoubtful({ gaps }, { sn }) {
	if (!(sn > gaps.last))
		return false;
	gaps.last = sn;
	if (++gaps.count < gaps.next)
		return false;
	gaps.next *= 2;
	return true;
}

/* `media`: the video, or what another instance leaves of it. */
function load(player, media, start) {
	const { Hls } = player;
	const hls = new Hls({ ...player.media.live ? LIVE : {}, enableWorker: false, startPosition: start || -1, capLevelToPlayerSize: true, backBufferLength: 60,
		renderTextTracksNatively: false, xhrSetup: (xhr, url) => xhr.open('GET', withKey(url, player.media.playlistUrl), true) });
	let tries = 0;

	player.hls = hls;
	player.gaps ??= noGaps();
	hls.once(Hls.Events.MEDIA_ATTACHED, () => goOn(player));
	hls.on(Hls.Events.MANIFEST_PARSED, () => choose(player));
	hls.on(Hls.Events.AUDIO_TRACKS_UPDATED, () => choose(player));
	hls.on(Hls.Events.FRAG_LOADED, (event, { frag }) => {
		tries = 0;
		if (frag.type === 'main' && frag.sn > player.gaps.last)
			player.gaps = noGaps();
	});
	hls.on(Hls.Events.ERROR, async (event, e) => {
		/* It may not be made any more, and then stands in the playlist of all no more. */
		if (e.details === Hls.ErrorDetails.FRAG_GAP && isDoubtful(player, e.frag)) {
			await wait(0);
			if (hls === player.hls)
				changePlaylist(player);
			return;
		}
		if (!e.fatal || hls !== player.hls)
			return;
		if (e.type === Hls.ErrorTypes.NETWORK_ERROR && player.media.live) {
			await wait(LIVE_MS);	/* an encoder comes back, or a server; the page says that it is interrupted */
			if (hls === player.hls && hls.levels.length)
				hls.startLoad();
			else if (hls === player.hls)
				hls.loadSource(player.media.playlistUrl);
		} else if (e.type === Hls.ErrorTypes.MEDIA_ERROR && tries++ < 2) {
			hls.recoverMediaError();
		} else if (e.type === Hls.ErrorTypes.NETWORK_ERROR && ![403, 404, 410].includes(e.response?.code) && tries++ < TRIES) {
			await wait(500 * 2 ** tries);
			if (hls === player.hls)
				hls.startLoad();
		} else {
			recover(player, new Failure(e.type === Hls.ErrorTypes.MEDIA_ERROR ? -1 : e.response?.code ?? 0));
		}
	});
	if (player.media.live)
		bringCaptions(player, hls);
	hls.loadSource(player.media.playlistUrl);
	hls.attachMedia(media);
}

/* Captions of a broadcast come with it: tracks without a file, which go with the instance.  Only what shows is loaded. */
function bringCaptions(player, hls) {
	const { Hls, video, cc } = player, own = [];
	const choose = () => hls.subtitleTrack = own.findIndex(({ track }) => track.mode === 'showing');

	hls.on(Hls.Events.NON_NATIVE_TEXT_TRACKS_FOUND, (event, { tracks }) => {
		for (const { label, subtitleTrack } of tracks) {
			own.push(make('track', { kind: 'captions', label, srclang: subtitleTrack?.lang ?? '' }));
			video.append(own.at(-1));
		}
		cc.hidden = !own.length;
	});
	hls.on(Hls.Events.CUES_PARSED, (event, { cues }) => {
		const track = own[hls.subtitleTrack]?.track;
		for (const cue of cues)
			if (track?.cues && !track.cues.getCueById(cue.id))
				track.addCue(cue);
	});
	/* Their list comes a moment after that of the first pictures, and hls.js does not ask twice for what is not there. */
	hls.on(Hls.Events.ERROR, async (event, e) => {
		if (e.fatal || ![Hls.ErrorDetails.SUBTITLE_LOAD_ERROR, Hls.ErrorDetails.SUBTITLE_TRACK_LOAD_TIMEOUT].includes(e.details))
			return;
		await wait(LIVE_MS);
		if (hls !== player.hls)
			return;
		hls.subtitleTrack = -1;
		choose();
	});
	video.textTracks.addEventListener('change', choose);
	hls.once(Hls.Events.DESTROYING, () => {
		video.textTracks.removeEventListener('change', choose);
		own.forEach(element => element.remove());
		cc.hidden = !captionTracks(video).length;
	});
}

/* What was chosen in the menu holds for the next instance, too. */
function choose({ hls, height, sound }) {
	const level = hls.levels.findIndex(l => l.height === height), track = hls.audioTracks.findIndex(t => t.name === sound);

	if (height && level >= 0 && hls.autoLevelEnabled)
		hls.nextLevel = level;
	if (sound && track >= 0 && track !== hls.audioTrack)
		hls.audioTrack = track;
}

/* There are more renditions than before.  Another instance takes over what is buffered, and what plays goes on. */
function changePlaylist(player) {
	const { hls, video } = player;

	if (hls) {
		player.hls = null;
		const kept = hls.transferMedia();
		hls.destroy();
		load(player, kept ?? video, video.currentTime);
	} else if (player.attached && video.paused && video.currentTime === 0) {
		attach(player, 0);
	}
}

/* Signed addresses run out while a page stays open: ask once more, and go on where it stopped. */
async function recover(player, failure) {
	const { video } = player;
	const at = video.currentTime;

	player.going = !video.paused;
	player.hls?.destroy();
	player.hls = null;
	if (!player.renewed && failure.status !== -1) {
		player.renewed = true;
		setTimeout(() => player.renewed = false, 60000);
		try {
			player.media = await player.renew();
			await attach(player, at);
			return;
		} catch (again) {
			failure = again instanceof Failure ? again : new Failure(-1);
		}
	}
	const again = new URL(location.href);
	again.searchParams.set('start', Math.floor(at));
	failure.state.append(make('button', { type: 'button', textContent: _('Try again'), onclick: () => location.replace(again) }));
	player.place.replaceChildren(failure.state);
}

/* The asset has changed; addresses that are merely signed anew change nothing, and a playlist that names other captions
   is not asked for, since those of the page are shown. */
function update(player, media) {
	const changed = key => fileOf(media[key]) !== fileOf(player.media[key]);
	const forms = m => m.playlistUrl && m.renditions.map(r => fileOf(r.url)).join();
	const more = changed('playlistUrl') && forms(media) !== forms(player.media), wasLive = player.media.live;

	player.media = media;
	if (wasLive && !media.live && player.attached)
		toRecording(player);
	else if (more && media.playlistUrl)
		changePlaylist(player);
	extras(player);
}

/* The broadcast is over, and is an asset now.  Who still looks at an earlier part of it comes to its end first. */
function toRecording(player) {
	const { video } = player;
	const begin = () => {
		player.hls?.destroy();
		player.hls = null;
		player.attached = false;
		attach(player, 0);
	};

	if (video.ended || behindLive(player) < EDGE_S)
		begin();
	else
		video.addEventListener('ended', begin, { once: true });
}

/* Another asset, from `from` seconds on; it goes on playing. */
async function show(player, media, from) {
	player.hls?.destroy();
	player.hls = null;
	player.attached = false;
	player.going = true;
	player.media = media;
	extras(player);
	await attach(player, from);
}

/* What comes with the video, and may come late: poster, captions, previews, waveform. */
function extras(player) {
	const { video, media, stage, cc } = player;
	const tracks = [...media.captions.map(c => ({ kind: c.kind, src: c.url, srclang: c.languageCode ?? '',
		label: c.label || c.languageCode || _('Captions') })),
	...media.storyboardVttUrl ? [{ kind: 'metadata', label: 'thumbnails', default: true, src: media.storyboardVttUrl }] : []];
	const wanted = new Map(tracks.map(t => [fileOf(t.src), t]));

	const status = media.live?.status;

	player.notice.hidden = !media.live || status === 'live';
	player.notice.textContent = ['finishing', 'finished'].includes(status) ? _('The broadcast is over. The recording follows here.') :
		_('The broadcast is interrupted. It goes on by itself.');
	stage.classList.toggle('without-past', Boolean(media.live && !media.live.withDvr));
	video.ariaLabel = media.name;
	if (media.posterUrl && fileOf(media.posterUrl) !== fileOf(video.getAttribute('poster')))
		video.poster = media.posterUrl;
	for (const track of video.querySelectorAll('track[src]')) {
		const now = wanted.get(track.dataset.file);
		if (!now)
			track.remove();
		else if (track.readyState === HTMLTrackElement.NONE)
			track.src = now.src;
		wanted.delete(track.dataset.file);
	}
	for (const [file, track] of wanted)
		video.append(make('track', { ...track, data: { file } }));
	cc.hidden = !captionTracks(video).length;
	markChapters(player);
	if (media.type === 'audio' && media.waveformUrl && !stage.classList.contains('with-wave'))
		waveform(player).catch(() => {});
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
	return (hls?.levels ?? []).map((level, i) => [i, level.height ? `${level.height}p` :
		`${number(Math.round(level.bitrate / 1000))} kbit/s`]).reverse();
}

function fillMenu(player, menu) {
	const { video, hls } = player;
	const qualities = levels(hls);

	menu.replaceChildren();
	if (qualities.length > 1) {
		const now = hls.levels[hls.currentLevel]?.height;
		menu.append(choices(_('Quality'), [[-1, hls.autoLevelEnabled && now ? _('Auto ({height}p)', { height: now }) : _('Auto')], ...qualities],
			hls.autoLevelEnabled ? -1 : hls.loadLevel, i => {
				hls.nextLevel = i;
				player.height = hls.levels[i]?.height ?? null;
			}));
	}
	if (hls?.audioTracks.length > 1)
		menu.append(choices(_('Sound'), hls.audioTracks.map((t, i) => [i, t.name || t.lang || `${i + 1}`]), hls.audioTrack, i => {
			hls.audioTrack = i;
			player.sound = hls.audioTracks[i].name;
			memory.set('sound', player.sound);
		}));
	menu.append(choices(_('Speed'), SPEEDS.map(s => [s, s === 1 ? _('Normal') : `${number(s)}×`]), video.playbackRate, s => video.playbackRate = s));
	const tracks = captionTracks(video);
	if (tracks.length)
		menu.append(choices(_('Captions'), [[null, _('Off')], ...tracks.map(t => [t, t.label])], shownCaptions(video),
			track => showCaptions(video, track)));
	/* In full screen, and on other sites' pages, there is no other list of them. */
	const { chapters } = player.media;
	if (chapters.length)
		menu.append(choices(_('Chapters'), chapters.map(c => [c, `${formatTime(c.start)} ${c.title}`]),
			chapters.findLast(c => c.start <= video.currentTime + 0.05), c => video.currentTime = c.start));
}

function settings(player) {
	const { gear, menu, stage } = player;
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

/* What was wanted last time shows as soon as it is there. */
function captions(player) {
	const { video, cc } = player;
	const tell = () => cc.ariaPressed = String(Boolean(shownCaptions(video)));
	const begin = () => {
		const wanted = memory.get('captions'), tracks = captionTracks(video);
		if (wanted && wanted !== 'off' && tracks.length && !shownCaptions(video))
			showCaptions(video, tracks.find(t => t.language === wanted) ?? tracks[0]);
	};

	begin();
	tell();
	cc.onclick = () => toggleCaptions(player);
	video.textTracks.addEventListener('addtrack', ({ track }) => {
		if (['captions', 'subtitles'].includes(track.kind) && !captionTracks(video).includes(track))
			track.mode = 'disabled';
		begin();
	});
	video.textTracks.addEventListener('change', () => {
		if (captionTracks(video).length)
			memory.set('captions', shownCaptions(video)?.language ?? (shownCaptions(video) ? 'on' : 'off'));
		tell();
	});
}

function toggleCaptions(player) {
	const tracks = captionTracks(player.video);
	const shown = shownCaptions(player.video);

	if (!tracks.length)
		return player.say(_('No captions'));
	const next = shown ? null : tracks.find(t => t.language === memory.get('captions-language')) ?? tracks[0];
	if (shown)
		memory.set('captions-language', shown.language);
	showCaptions(player.video, next);
	player.say(next ? _('Captions: {label}', { label: next.label }) : _('Captions off'));
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
	player.say(_('Volume {volume}', { volume: number(video.volume, { style: 'percent' }) }));
}

function changeSpeed(player, step) {
	const { video } = player;
	const i = SPEEDS.indexOf(video.playbackRate);
	video.playbackRate = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, (i < 0 ? 2 : i) + step))];
	player.say(`${number(video.playbackRate)}×`);
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
		p.say(p.video.muted ? _('Sound off') : _('Sound on'));
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
			'media-pip-button, media-fullscreen-button, media-seek-backward-button, media-seek-forward-button'));
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
		player.prepare();
		e.preventDefault();
	});
}

/* The loudness of the recording, as a picture that seeks. */
async function waveform(player) {
	const json = await (await fetch(player.media.waveformUrl)).json();
	const data = json.peaks ?? json.data ?? [];
	const pairs = !json.peaks && data.some(v => v < 0);
	const loud = pairs ? data.filter((value, i) => i % 2) : data;
	const top = Math.max(...loud, 1e-6);
	const canvas = make('canvas', { className: 'waveform', attributes: { 'aria-hidden': 'true' } });
	const { video, stage } = player;

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
			context.fillStyle = style.getPropertyValue(i / bars < played ? '--play' : '--wave');
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
