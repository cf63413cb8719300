/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said, beside the player: click to go there, search, the current line stands out. */
import { fileOf } from './asset.js';
import { formatTime, make } from './dom.js';
import { _ } from './text.js';
import { captionTracks, play } from './tracks.js';

const REST_MS = 6000;		/* after the reader has scrolled, the list stays where it is for so long */

const UNSURE = '\uE000';		/* stands for what the engine did not understand */
const plain = text => text.replace(/<c\.unsure>[^<]*<\/c>/g, UNSURE).replace(/<[^>]*>/g, '').replace(/\s+/g, ' ').trim();

/* Text for people: where words are hidden there is a mark that says so, to the ear too. */
function shown(text) {
	return text.split(UNSURE).flatMap((part, i) => i === 0 ? [part] : [make('span', { className: 'unsure', textContent: '…',
		title: _('Not understood'), attributes: { role: 'img', 'aria-label': _('not understood') } }), part]);
}

/* Who answers for the words. */
function origin(caption) {
	if (caption?.source !== 'machine')
		return '';
	return ['draft', 'unreliable'].includes(caption.quality) ? _('Automatic draft, made by {engine}', caption) : _('Automatic, made by {engine}', caption);
}

const elementOf = (video, track) => [...video.querySelectorAll('track')].find(e => e.track === track);

/* The cues of a track, loaded if need be. */
function load(video, track) {
	const element = elementOf(video, track);

	if (track.mode === 'disabled')
		track.mode = 'hidden';
	if (element?.readyState >= 2)
		return Promise.resolve([...track.cues ?? []]);
	return new Promise(done => {
		element.addEventListener('load', () => done([...track.cues]), { once: true });
		element.addEventListener('error', () => done([]), { once: true });
	});
}

function lineOf(cue, video) {
	const text = make('span', { className: 'cue-text' }, ...shown(plain(cue.text)));
	const line = make('button', { type: 'button', className: 'cue' },
		make('time', { textContent: formatTime(cue.startTime) }), text);

	line.onclick = () => {
		video.currentTime = cue.startTime + 0.001;
		play(video);
	};
	return { cue, text, line, item: make('li', {}, line) };
}

/* Index of the last line that has begun, or -1. */
function currentIndex(lines, time) {
	let low = 0, high = lines.length;

	while (low < high) {
		const middle = (low + high) >> 1;
		if (lines[middle].cue.startTime <= time + 0.05)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

/* Puts marks around every match; returns whether there was one. */
function mark(line, needle) {
	const text = plain(line.cue.text), low = text.toLocaleLowerCase();
	const parts = [];
	let at = 0, found;

	if (needle)
		while ((found = low.indexOf(needle, at)) >= 0) {
			parts.push(...shown(text.slice(at, found)), make('mark', { textContent: text.slice(found, found + needle.length) }));
			at = found + needle.length;
		}
	line.text.replaceChildren(...parts, ...shown(text.slice(at)));
	return parts.length > 0;
}

class Transcript {
	constructor(panel, player) {
		const { video } = player;

		this.panel = panel;
		this.player = player;
		this.origin = panel.querySelector('#transcript-origin');
		this.video = video;
		this.list = panel.querySelector('#cues');
		this.follow = panel.querySelector('#follow');
		this.form = panel.querySelector('#transcript-search');
		this.input = this.form.querySelector('input');
		this.output = this.form.querySelector('output');
		this.lines = [];
		this.matches = [];
		this.now = -1;
		this.scrolled = 0;
		video.addEventListener('timeupdate', () => this.update());
		video.addEventListener('seeking', () => this.update());
		for (const event of ['wheel', 'touchmove', 'keydown'])
			this.list.addEventListener(event, () => this.letGo(), { passive: true });
		this.list.addEventListener('pointerdown', e => e.target === this.list && this.letGo());	/* the scroll bar */
		this.list.addEventListener('scroll', () => this.offerReturn(), { passive: true });
		this.follow.onclick = () => {
			this.scrolled = 0;
			this.follow.hidden = true;
			this.show(this.now);
		};
		this.input.oninput = () => this.search();
		this.form.onsubmit = e => {
			e.preventDefault();
			this.step(1);
		};
		this.form.querySelectorAll('[data-step]').forEach(b => b.onclick = () => this.step(+b.dataset.step));
	}

	async open(track) {
		this.track = track;
		const cues = await load(this.video, track);

		if (track !== this.track)	/* another was chosen meanwhile */
			return;
		this.lines = cues.map(cue => lineOf(cue, this.video));
		this.list.replaceChildren(...this.lines.map(l => l.item));
		this.list.lang = track.language;
		this.now = -1;
		this.panel.hidden = cues.length === 0;
		this.origin.textContent = origin(this.player.media.captions.find(c => fileOf(c.url) === elementOf(this.video, track)?.dataset.file));
		this.origin.hidden = !this.origin.textContent;
		this.search();
		this.update();
	}

	/* The reader moves the list: it stays where they want it for a while. */
	letGo() {
		this.scrolled = Date.now();
	}

	offerReturn() {
		const item = this.lines[this.now]?.item;
		const top = (item?.offsetTop ?? 0) - this.list.scrollTop;

		this.follow.hidden = !item || Date.now() - this.scrolled > REST_MS || (top > -item.offsetHeight && top < this.list.clientHeight);
	}

	update() {
		const now = currentIndex(this.lines, this.video.currentTime);

		if (now === this.now)
			return;
		this.lines[this.now]?.line.removeAttribute('aria-current');
		this.lines[now]?.line.setAttribute('aria-current', 'true');
		this.now = now;
		if (Date.now() - this.scrolled > REST_MS && document.activeElement !== this.input) {
			this.follow.hidden = true;
			this.show(now);
		}
	}

	/* Scrolls the list only, never the page. */
	show(index) {
		const item = this.lines[index]?.item;
		const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;

		if (item)
			this.list.scrollTo({ top: item.offsetTop - this.list.clientHeight / 3, behavior: calm ? 'auto' : 'smooth' });
	}

	search() {
		const needle = plain(this.input.value).toLocaleLowerCase();

		this.matches = this.lines.filter(line => mark(line, needle));
		this.at = -1;
		this.panel.classList.toggle('searching', needle !== '');
		const matching = new Set(this.matches);
		for (const l of this.lines) {
			l.item.classList.toggle('match', matching.has(l));
			l.item.classList.remove('chosen');
		}
		this.output.textContent = needle ? (this.matches.length ? `${this.matches.length}` : _('none')) : '';
		this.form.querySelectorAll('[data-step]').forEach(b => b.disabled = this.matches.length === 0);
		if (this.matches.length)
			this.step(1);
	}

	step(by) {
		const n = this.matches.length;

		if (!n)
			return;
		this.matches[this.at]?.item.classList.remove('chosen');
		this.at = (this.at + by + n) % n;
		this.matches[this.at].item.classList.add('chosen');
		this.output.textContent = _('{i} of {n}', { i: this.at + 1, n });
		this.scrolled = Date.now();
		this.show(this.lines.indexOf(this.matches[this.at]));
	}
}

/* Fills the panel from the captions of the video, those that come later too; it stays hidden while there are none. */
export function openTranscript(panel, player) {
	const { video } = player;
	const select = panel.querySelector('select');
	const transcript = new Transcript(panel, player);
	const written = () => captionTracks(video, 'track[src]');
	let shown = null;
	const fill = () => {
		const tracks = written();

		select.replaceChildren(...tracks.map((t, i) => make('option', { value: String(i), textContent: t.label, selected: t === shown })));
		select.hidden = tracks.length < 2;
		if (tracks.includes(shown))
			return;
		shown = tracks.find(t => t.mode === 'showing') ?? tracks[0] ?? null;
		if (shown)
			transcript.open(shown);
		else
			panel.hidden = true;
	};

	select.onchange = () => transcript.open(shown = written()[+select.value]);
	video.textTracks.addEventListener('addtrack', fill);
	video.textTracks.addEventListener('removetrack', fill);
	fill();
	addEventListener('keydown', e => {
		if (e.key === '/' && !panel.hidden && !e.composedPath()[0].closest?.('input, textarea, select')) {
			e.preventDefault();
			transcript.input.focus();
		}
	});
}
