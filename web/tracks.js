/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captions of a video: which there are, which shows. */
import { memory } from './dom.js';

/* A promise that another load or a strict browser breaks; the controls show what is the case. */
export function play(video) {
	video.play().catch(() => {});
}

/* Those of the page: a browser that plays HLS by itself finds the same ones in the playlist.  Those of a broadcast are
   no files. */
export function captionTracks(video, which = 'track') {
	return [...video.querySelectorAll(which)].map(t => t.track).filter(t => ['captions', 'subtitles'].includes(t.kind));
}

/* Hidden, not disabled: the transcript reads the cues of hidden tracks. */
export function showCaptions(video, track) {
	captionTracks(video).forEach(t => t.mode = t === track ? 'showing' : t.mode === 'disabled' ? 'disabled' : 'hidden');
	memory.set('captions', track ? track.language || 'on' : 'off');
}

export const shownCaptions = video => captionTracks(video).find(t => t.mode === 'showing') ?? null;
