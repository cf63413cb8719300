/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page around the player: title, sharing, downloads, transcript, colours. */
import { formatTime, make, openPlayer } from './player.js';
import { openTheme } from './theme.js';
import { openTranscript } from './transcript.js';

const by = id => document.getElementById(id);
const bytes = n => n >= 1e9 ? `${(n / 1e9).toFixed(1)} GB` : n >= 1e6 ? `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)} MB` : `${Math.ceil(n / 1e3)} kB`;

const KINDS = { video: 'Video', audio: 'Sound', image: 'Picture', document: 'Document' };

function facts(media) {
	const list = [KINDS[media.type] ?? ''];

	if (media.duration)
		list.push(formatTime(Math.round(media.duration)));
	const largest = media.renditions.filter(r => r.width && r.height).sort((a, b) => b.width - a.width)[0];
	if (largest && ['video', 'image'].includes(media.type))
		list.push(`${largest.width} × ${largest.height}`);
	if (media.pageCount)
		list.push(`${media.pageCount} pages`);
	if (media.captions.length)
		list.push(`Captions: ${media.captions.map(c => c.label || c.languageCode).join(', ')}`);
	return list.filter(Boolean).join(' · ');
}

function downloadLabel(r) {
	const what = { mp4: 'Video', audio: 'Sound', image: 'Picture', pdf: 'PDF' }[r.kind];
	const size = r.height && r.kind === 'mp4' ? `${r.height}p` : r.width && r.kind === 'image' ? `${r.width} × ${r.height}` : '';

	return [what, size, r.fileSize ? bytes(r.fileSize) : ''].filter(Boolean).join(' · ');
}

function offerDownloads(media) {
	const files = media.renditions.filter(r => ['mp4', 'audio', 'image', 'pdf'].includes(r.kind) && r.url);

	by('downloads').hidden = files.length === 0;
	by('downloads').querySelector('ul').replaceChildren(...files.map(r =>
		make('li', {}, make('a', { href: r.url, download: '', textContent: downloadLabel(r) }))));
	addEventListener('pointerdown', e => by('downloads').contains(e.target) || (by('downloads').open = false));
	by('downloads').onkeydown = e => {
		if (e.key === 'Escape' && by('downloads').open) {
			by('downloads').open = false;
			by('downloads').querySelector('summary').focus();
		}
	};
}

function shareAddress(video) {
	const url = new URL(location.href);

	url.searchParams.delete('start');
	url.hash = '';
	if (by('share-start').checked && video)
		url.searchParams.set('start', String(Math.floor(video.currentTime)));
	return url.href;
}

function sharing(video) {
	const url = by('share-url'), hint = by('share-hint'), box = by('share-start');
	const fill = () => url.value = shareAddress(video);

	by('share').onclick = () => {
		by('share-time').textContent = formatTime(video?.currentTime);
		box.closest('p').hidden = !video;
		hint.textContent = new URL(location.href).searchParams.has('t') ? 'This link works for a limited time.' : '';
		fill();
		by('share-dialog').showModal();
		url.select();
	};
	box.onchange = fill;
	by('share-copy').onclick = async () => {
		try {
			await navigator.clipboard.writeText(url.value);
			hint.textContent = 'Copied.';
		} catch {
			url.select();
			hint.textContent = document.execCommand('copy') ? 'Copied.' : 'Select the address and copy it.';
		}
	};
}

function dialogs() {
	by('help-button').onclick = () => by('help').showModal();
	document.querySelectorAll('dialog').forEach(d => {
		d.querySelector('[data-close]').onclick = () => d.close();
		d.addEventListener('click', e => e.target === d && d.close());
	});
	addEventListener('keydown', e => {
		if (e.key === '?' && !e.composedPath()[0].closest?.('input, textarea, select'))
			by('help').showModal();
	});
}

function name(media) {
	document.title = `${media.name} – Kinothek`;
	by('title').textContent = media.name;
}

openTheme(by('theme'));
dialogs();
openPlayer(by('stage'), {
	onWaiting: name,
	onReady(media, { video }) {
		name(media);
		by('facts').textContent = facts(media);
		by('actions').hidden = false;
		by('help-button').hidden = !video;
		offerDownloads(media);
		sharing(video);
		if (video)
			openTranscript(by('transcript'), video, media.captions);
	},
}).finally(() => {
	if (by('title').textContent === '…')
		by('title').textContent = '';
});
