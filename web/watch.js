/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page around the player: sharing, downloads, transcript, colours. */
import { openAsset } from './asset.js';
import { by, formatTime } from './dom.js';
import { helpDialog, shareDialog, transcriptPanel } from './panels.js';
import { _ } from './text.js';
import './theme.js';
import { openTranscript } from './transcript.js';

let video = null;

/* The list of files closes when one is done with it. */
function downloads() {
	const list = by('downloads');

	addEventListener('pointerdown', e => list.contains(e.target) || (list.open = false));
	list.onkeydown = e => {
		if (e.key === 'Escape' && list.open) {
			list.open = false;
			list.querySelector('summary').focus();
		}
	};
}

function shareAddress() {
	const url = new URL(location.href);

	url.searchParams.delete('start');
	url.hash = '';
	if (by('share-start').checked && video)
		url.searchParams.set('start', String(Math.floor(video.currentTime)));
	return url.href;
}

async function copy(url, hint) {
	try {
		await navigator.clipboard.writeText(url.value);
		hint.textContent = _('Copied.');
	} catch {
		url.select();
		hint.textContent = document.execCommand('copy') ? _('Copied.') : _('Select the address and copy it.');
	}
}

function sharing() {
	const dialog = shareDialog();
	const url = by('share-url'), hint = by('share-hint'), box = by('share-start');
	const fill = () => url.value = shareAddress();

	by('share').onclick = () => {
		by('share-time').textContent = formatTime(video?.currentTime);
		box.closest('p').hidden = !video;
		hint.textContent = new URL(location.href).searchParams.has('t') ? _('This link works for a limited time.') : '';
		fill();
		dialog.showModal();
		url.select();
	};
	box.onchange = fill;
	by('share-copy').onclick = () => copy(url, hint);
	by('share').hidden = false;
}

function help() {
	const dialog = helpDialog();

	by('help-button').onclick = () => dialog.showModal();
	by('help-button').hidden = false;
	addEventListener('keydown', e => {
		if (e.key === '?' && !e.composedPath()[0].closest?.('input, textarea, select'))
			dialog.showModal();
	});
}

/* The page of a link shows the asset alone: it offers neither, and nobody tells it what changes. */
const isWhole = by('share') !== null;

if (isWhole) {
	downloads();
	sharing();
}
openAsset(by('stage'), {
	follows: isWhole,
	onPlayer(player) {
		video = player.video;
		help();
		by('stage').parentNode.append(transcriptPanel());
		openTranscript(by('transcript'), player);
	},
});
