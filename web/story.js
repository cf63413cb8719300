/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays a story: one scene after the other, or the next one as people choose. */
import { Failure, taken } from './asset.js';
import { by, make } from './dom.js';
import { openPlayer } from './player.js';
import { _ } from './text.js';
import './theme.js';
import { play } from './tracks.js';

const NEAR_S = 0.5;		/* before the end of a scene: from here on its last moment is waited for */

const story = JSON.parse(by('story').textContent), stage = by('stage');
const items = [...by('scenes').children];
const assets = new Map();	/* by id: what a player takes, once it was asked for */
const path = [];		/* numbers of the scenes that were shown */
let player = null, now = null, panel = null, timer = 0;

const scene = number => story.scenes[number - 1];
const titleOf = number => items[number - 1].querySelector('a > span:last-child').textContent;

async function ask(id) {
	const answer = await fetch(`/v2/media/${id}/player`, { cache: 'no-store' }).catch(() => null);

	if (!answer?.ok)
		throw new Failure(answer?.status ?? 0);
	return taken((await answer.json()).data);
}

async function assetOf(id) {
	if (!assets.has(id))
		assets.set(id, await ask(id));
	return assets.get(id);
}

/* What is over the picture between scenes. */
function closePanel() {
	panel?.remove();
	panel = null;
}

function openPanel(text, choices) {
	const back = path.length > 1 && story.kind === 'interactive' ? [[_('Back'), () => history.back()]] : [];
	const button = ([textContent, onclick], i) => make('button', { type: 'button', textContent, onclick, className: i < choices.length ? '' : 'quiet' });

	closePanel();
	panel = make('div', { className: 'crossing', slot: 'centered-chrome', attributes: { role: 'group', 'aria-label': text, noautohide: '' } },
		make('p', { textContent: text, attributes: { role: 'status' } }), ...[...choices, ...back].map(button));
	player.stage.append(panel);
	if (document.activeElement === document.body || player.stage.contains(document.activeElement))
		panel.querySelector('button')?.focus();
}

/* A scene is over: the next one, the choices, or the end. */
function goOn() {
	const { choices } = scene(now);

	player.video.pause();
	if (story.kind === 'static' && choices.length)
		go(choices[0].scene);
	else if (choices.length)
		openPanel(_('How does it go on?'), choices.map(c => [c.label ?? titleOf(c.scene), () => go(c.scene, { stays: true })]));
	else
		openPanel(_('The end'), [[_('From the beginning'), () => go(story.start, { stays: true })]]);
}

function watch() {
	const { video } = player, left = scene(now).end - video.currentTime;

	clearTimeout(timer);
	if (panel || video.paused && !video.ended && left > 0.02)
		return;
	if (left <= 0.02 || video.ended)
		goOn();
	else if (left < NEAR_S)
		timer = setTimeout(watch, 1000 * left / video.playbackRate);
}

function mark() {
	items.forEach((item, i) => {
		const link = item.querySelector('a');
		if (i === now - 1)
			link.setAttribute('aria-current', 'true');
		else
			link.removeAttribute('aria-current');
	});
}

/* `stays`: the address of the page leads back to the scene before; `silent`: it is this one already. */
async function go(number, { stays = false, silent = false } = {}) {
	const before = now && scene(now), next = scene(number);

	clearTimeout(timer);
	closePanel();
	now = number;
	path.push(number);
	mark();
	if (!silent)
		history[stays ? 'pushState' : 'replaceState'](null, '', `#scene-${number}`);
	try {
		const media = await assetOf(next.mediaId);
		if (now !== number)
			return;
		if (!media.playlistUrl && !media.renditions.some(r => ['mp4', 'audio'].includes(r.kind)))
			throw new Failure(-1);
		if (before?.mediaId === next.mediaId) {
			await player.prepare();
			player.video.currentTime = next.start;
			play(player.video);
		} else {
			await player.show(media, next.start);
		}
	} catch (failure) {
		if (!(failure instanceof Failure))
			throw failure;
		assets.delete(next.mediaId);
		now = number;
		openPanel(_('This scene cannot be shown.'), [...next.choices.map(c => [c.label ?? _('Go on'), () => go(c.scene, { stays: true })]),
			[_('Try again'), () => go(number, { silent: true })]]);
	}
}

const asked = () => {
	const number = +/^#scene-(\d+)$/.exec(location.hash)?.[1];

	return number >= 1 && number <= story.scenes.length ? number : null;
};

/* The picture that leads to the first scene becomes its player. */
async function open() {
	const first = asked() ?? story.start, media = await assetOf(scene(first).mediaId).catch(() => null);
	const wanted = stage.querySelector('a');
	if (!media?.playlistUrl && !media?.renditions.some(r => ['mp4', 'audio'].includes(r.kind)))
		return;			/* its link says why */
	const hadFocus = wanted === document.activeElement;
	const video = make('video', { className: media.type === 'audio' ? 'stage sound' : 'stage film', playsInline: true, preload: 'none',
		poster: media.posterUrl ?? '' });

	now = first;
	path.push(first);
	player = await openPlayer(stage, video, media, { at: scene(first).start, renew: () => ask(scene(now).mediaId) });
	mark();
	for (const event of ['timeupdate', 'ended'])
		video.addEventListener(event, watch);
	/* Whoever goes back into a scene goes on with it; behind its end there is nothing to be seen. */
	video.addEventListener('play', () => panel && (video.currentTime < scene(now).end - 0.02 ? closePanel() : video.pause()));
	by('scenes').addEventListener('click', e => {
		const link = e.target.closest('a'), item = link?.closest('#scenes > li');
		if (!link || e.ctrlKey || e.metaKey || e.shiftKey || link.closest('.ways'))
			return;		/* a choice is an address of the page */
		e.preventDefault();
		go(items.indexOf(item) + 1, { stays: true });
	});
	addEventListener('popstate', () => go(asked() ?? story.start, { silent: true }));
	if (hadFocus)
		stage.querySelector('.begin')?.focus();
}

open();
