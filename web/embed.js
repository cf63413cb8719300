/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The player alone, for other pages' frames. */
import { openPlayer } from './player.js';

openPlayer(document.getElementById('stage'), {
	onReady(media) {
		document.title = media.name;
	},
});
