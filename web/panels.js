/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is beside the player, and in front of it, for those with scripts. */
import { make } from './dom.js';
import { _ } from './text.js';

const KEYS = [[_('Space K'), _('play, pause')], ['J L', _('10 seconds back, on')], ['← →', _('5 seconds back, on')],
	['↑ ↓', _('louder, quieter')], ['0 … 9', _('to that tenth')], [', .', _('one frame back, on (paused)')], ['< >', _('slower, faster')],
	['M', _('sound off, on')], ['C', _('captions')], ['F', _('full screen')], ['/', _('search in the transcript')]];

const button = (textContent, properties) => make('button', { type: 'button', textContent, ...properties });

export function transcriptPanel() {
	return make('aside', { className: 'transcript', id: 'transcript', hidden: true, attributes: { 'aria-labelledby': 'transcript-title' } },
		make('div', { className: 'transcript-head' },
			make('h2', { id: 'transcript-title', textContent: _('Transcript') }),
			make('select', { id: 'transcript-language', hidden: true, ariaLabel: _('Language of the transcript') })),
		make('p', { className: 'transcript-origin', id: 'transcript-origin', hidden: true }),
		make('form', { className: 'transcript-search', id: 'transcript-search', role: 'search' },
			make('input', { type: 'search', placeholder: _('Search'), ariaLabel: _('Search in the transcript'), autocomplete: 'off' }),
			make('output', { ariaLive: 'polite' }),
			button('↑', { className: 'quiet', ariaLabel: _('Previous match'), disabled: true, data: { step: '-1' } }),
			button('↓', { className: 'quiet', ariaLabel: _('Next match'), disabled: true, data: { step: '1' } })),
		make('ol', { className: 'cues', id: 'cues' }),
		button(_('Back to the current line'), { className: 'follow', id: 'follow', hidden: true }));
}

/* Closes by its button, by Escape and by a click beside it. */
function dialog(id, title, ...content) {
	const d = make('dialog', { id, attributes: { 'aria-labelledby': `${id}-title` } },
		make('h2', { id: `${id}-title`, textContent: title }), ...content,
		make('p', { className: 'right' }, button(_('Close'), { className: 'quiet', onclick: () => d.close() })));

	d.addEventListener('click', e => e.target === d && d.close());
	document.body.append(d);
	return d;
}

export function shareDialog() {
	return dialog('share-dialog', _('Share this page'),
		make('p', {}, make('label', {}, make('input', { type: 'checkbox', id: 'share-start' }), ' ', _('Start at'), ' ',
			make('span', { id: 'share-time', textContent: '0:00' }))),
		make('p', { className: 'row' }, make('input', { id: 'share-url', readOnly: true, ariaLabel: _('Address') }),
			button(_('Copy'), { id: 'share-copy' })),
		make('p', { className: 'hint', id: 'share-hint', role: 'status' }));
}

export function helpDialog() {
	const keys = ([names, what]) => [make('dt', {}, ...names.split(' ').flatMap((k, i) => [i ? ' ' : '',
		k === '…' ? k : make('kbd', { textContent: k })])), make('dd', { textContent: what })];

	return dialog('help', _('Keyboard'), make('dl', { className: 'keys' }, ...KEYS.flatMap(keys)));
}
