/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A button that copies what stands in a block of code; browsers allow it to pages of https alone. */
import { make, wait } from './dom.js';

export function copyable(pre) {
	if (!navigator.clipboard)
		return;
	const box = make('div', { className: 'code' }), said = make('span', { ariaLive: 'polite', textContent: 'Copy' });
	const button = make('button', { type: 'button', className: 'quiet', onclick: async () => {
		await navigator.clipboard.writeText(pre.textContent);
		said.textContent = 'Copied';
		await wait(2000);
		said.textContent = 'Copy';
	} }, said);

	pre.replaceWith(box);
	box.append(pre, button);
}
