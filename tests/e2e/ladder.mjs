/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A livestream of 1080, 720 and 360 lines in a browser, of which tests/e2e/ladder has the livestream.  Prints TAP. */
import { spawn } from 'node:child_process';
import { MINUTE, env, launch, test, until, wait } from './tap.mjs';

const soon = (what, check) => until(what, check).catch(async error => {
	throw new Error(`${error.message}: ${JSON.stringify(await state())}`);
});

/* The encoder goes, and comes again with what may be another picture. */
let encoder = { kill: () => process.kill(+env.ENCODER) };
async function comesAgain(source) {
	encoder.kill();
	await wait(1000);
	encoder = spawn('ffmpeg', ['-v', 'error', '-nostdin', '-re', '-stream_loop', '-1', '-i', `${env.STACK}/${source}.mp4`, '-c', 'copy', '-f', 'flv', env.TO],
		{ stdio: ['ignore', 'ignore', 'inherit'] });
}

const browser = await launch();
const page = await browser.newPage(), complaints = [];
page.setDefaultTimeout(2 * MINUTE);
page.on('pageerror', e => complaints.push(e.message));
let asked = [];
page.on('request', r => asked.push(r.url()));

const state = () => page.evaluate(() => {
	const video = document.querySelector('video');
	return { lines: video?.videoHeight, time: video?.currentTime, until: video?.buffered.length ? video.buffered.end(video.buffered.length - 1) : 0 };
});
const shows = lines => soon(`${lines} lines`, async () => (await state()).lines === lines);
async function goesOn(seconds) {
	const { time } = await state();
	await soon('more of it', async () => (await state()).time > time + seconds);
}
async function choose(label) {
	await page.click('.gear');
	await page.locator('.menu fieldset').first().locator('label').filter({ hasText: new RegExp(`^\\s*${label}\\s*$`) }).locator('input').check({ force: true });
	await page.keyboard.press('Escape');
}

await test('a browser offers 1080, 720 and 360 lines', async () => {
	await page.goto(`${env.KINOTHEK_URL}/watch/${env.MEDIA}`);
	await page.locator('.begin').waitFor();
	await page.click('.begin');
	await goesOn(1);
	await page.click('.gear');
	const labels = await page.locator('.menu fieldset').first().locator('label').allTextContents();
	await page.keyboard.press('Escape');
	if (!/^Auto.*,1080p,720p,360p$/.test(labels.map(l => l.trim()).join()))
		throw new Error(labels.join());
});

for (const lines of [360, 720, 1080, 720])
	await test(`  and goes to ${lines} when it is told to`, async () => {
		await choose(`${lines}p`);
		await shows(lines);
		await goesOn(4);
	});

await test('  by parts of it that are near to the edge', async () => {
	if (!asked.some(url => /\/low-720p\.m3u8\?.*_HLS_part=/.test(url)) || !asked.some(url => /\/\d+\.\d+\.\d+\.720p\.m4s/.test(url)))
		throw new Error(asked.filter(url => url.includes('720p')).slice(-5).join('\n'));
});

await test('when the encoder has come again it goes on', async () => {
	await comesAgain('full');
	asked = [];
	await soon('the new beginning', () => asked.some(url => /\/2\.720p\.mp4/.test(url)));
	await shows(720);
	await goesOn(4);
});

await test('  and so it does when there are no 720 lines made of it any more', async () => {
	await comesAgain('large');
	asked = [];
	await soon('the new beginning', () => asked.some(url => /\/3\.(video|360p)\.mp4/.test(url)));
	await goesOn(8);
	await choose('360p');
	await shows(360);
	await goesOn(4);
});

await test('the page did not complain', () => {
	if (complaints.length)
		throw new Error(complaints.join(' | '));
});
encoder.kill();
await browser.close();
