/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chromium plays a film that lies in a bucket, on the page of the film; prints what is wrong, else nothing.
 * store.mjs PAGE ORIGIN SCREENSHOT: the origin of the bucket. */
import { pathToFileURL } from 'node:url';

const [address, origin, picture] = process.argv.slice(2), complaints = [], given = [];
const { chromium } = await import(pathToFileURL(`${process.env.NODE_MODULES}/playwright-core/index.mjs`));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-quic',
	'--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
const page = await browser.newPage({ viewport: { width: 1100, height: 800 } });
const wait = { timeout: 120000 };
page.setDefaultTimeout(wait.timeout);
page.on('pageerror', e => complaints.push(e.message));
/* Behind mod_fcgid there are no events; the page asks for them and does without. */
page.on('console', said => said.type() === 'error' && !said.text().startsWith('EventSource') && complaints.push(said.text()));
page.on('response', answer => answer.url().startsWith(`${origin}/`) && given.push(answer.status()));
try {
	await page.goto(address, wait);
	/* Until the player has its stream, each beginning is interrupted by it. */
	await page.waitForFunction(() => {
		const video = document.querySelector('video');
		video.muted = true;
		return video.play().then(() => true, () => false);
	}, null, wait);
	/* The film is four seconds long, and shows something else in each. */
	await page.waitForFunction(() => document.querySelector('video').currentTime > 2.5, null, wait);
	const shown = await page.locator('video').evaluate(video => ({ width: video.videoWidth, error: video.error?.message, frames:
		video.getVideoPlaybackQuality().totalVideoFrames }));
	if (!shown.width || shown.error || shown.frames < 20)
		complaints.push(`it shows ${JSON.stringify(shown)}`);
	await page.screenshot({ path: picture });
	if (!given.length || given.some(status => status !== 200 && status !== 206 && status !== 204))
		complaints.push(`the bucket answered ${given.join(' ') || 'nothing'}`);
} catch (error) {
	complaints.push(String(error.message ?? error));
}
await browser.close();
complaints.forEach(text => console.log(text));
process.exitCode = complaints.length ? 1 : 0;
