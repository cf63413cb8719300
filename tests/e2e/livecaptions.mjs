/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Captions of a broadcast in a browser, of which tests/e2e/livecaptions has the livestream: are they shown, and when?  Each
 * picture says in black and white when it was made; a sentence is said in each tenth second.  Prints TAP.
 */
import { spawn } from 'node:child_process';
import { BITS, picture } from './clock.mjs';
import { MINUTE, env, launch, test, until, wait } from './tap.mjs';

const WIDTH = 320, HEIGHT = 180, FRAME_MS = 40, SAID_S = 1, EACH_S = 10;

const sender = spawn('ffmpeg', ['-v', 'error', '-f', 'rawvideo', '-pix_fmt', 'gray', '-s', `${WIDTH}x${HEIGHT}`, '-r', `${1000 / FRAME_MS}`, '-i', 'pipe:0',
	'-stream_loop', '-1', '-i', env.SAID, '-map', '0:v', '-map', '1:a', '-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency',
	'-pix_fmt', 'yuv420p', '-g', '50', '-b:v', '800k', '-c:a', 'aac', '-b:a', '64k', '-f', 'flv', env.TO], { stdio: ['pipe', 'ignore', 'inherit'] });
const began = Date.now();
let made = 0;
sender.stdin.on('error', () => {});
const clock = setInterval(() => {
	for (; made * FRAME_MS <= Date.now() - began; made++)
		sender.stdin.write(picture(began + made * FRAME_MS, WIDTH, HEIGHT));
}, FRAME_MS / 2);

const browser = await launch();
const page = await browser.newPage();

/* What shows now, and what the picture says of the time: its place in the player, and in what was sent (s). */
const look = () => page.evaluate(([bits, width, start]) => {
	const video = document.querySelector('video'), canvas = document.createElement('canvas');
	const tracks = [...video?.querySelectorAll('track') ?? []].map(t => t.track), track = tracks.find(t => t.mode === 'showing');
	let ms = 0;
	if (!video?.videoWidth)
		return null;
	canvas.width = width;
	canvas.height = 16;
	const paint = canvas.getContext('2d');
	paint.drawImage(video, 0, 0);
	const line = paint.getImageData(0, 8, width, 1).data, at = video.currentTime;
	for (let i = 0; i < bits; i++)
		ms += line[4 * Math.floor((i + 0.5) * width / bits)] > 128 ? 2 ** i : 0;
	return { at, sent: ((ms - start % 2 ** bits) + 2 ** bits) % 2 ** bits / 1000, edge: (Date.now() - start) / 1000, labels: tracks.map(t => t.label),
		shown: [...track?.activeCues ?? []].map(c => ({ start: c.startTime, end: c.endTime, text: c.text })),
		all: [...track?.cues ?? []].map(c => ({ start: c.startTime, end: c.endTime, text: c.text })) };
}, [BITS, WIDTH, began]);

await test('a browser plays what is sent', async () => {
	await page.goto(`${env.KINOTHEK_URL}/watch/${env.MEDIA}`, { timeout: MINUTE });
	await page.locator('.begin').waitFor({ timeout: 3 * MINUTE });
	await page.click('.begin');
	await until('a picture', async () => await look());
});

await test('  and has captions', async () => {
	await until('a track', async () => (await look()).labels.includes('English'));
	await page.hover('video');
	await page.click('button.captions', { timeout: MINUTE });
	await until('captions', async () => (await look()).shown.length);
});

/* Where it was said, however late it is known. */
const places = [], delays = [];
await test('  which show near to the edge what was said', async () => {
	const seen = new Set();
	await until('four captions', async () => {
		const now = await look();
		for (const c of now.shown.filter(c => /attention/i.test(c.text) && !seen.has(c.start))) {
			seen.add(c.start);
			places.push((c.start - now.at + now.sent) % EACH_S);
			delays.push(now.edge - (c.start - now.at + now.sent));
		}
		return seen.size >= 4;
	});
	console.log(`# begin in each ten seconds at ${places.map(p => p.toFixed(2)).join(', ')}; shown ${delays.map(d => d.toFixed(1)).join(', ')} s behind`);
});

await test('  with the time at which it was said', () => {
	if (places.length < 4 || places.some(p => p < SAID_S - 0.3 || p > SAID_S + 0.8))
		throw new Error(places.join(', '));
});

await test('  each once', async () => {
	const { all } = await look(), starts = all.map(c => c.start.toFixed(1));
	if (!all.length || new Set(starts).size !== starts.length)
		throw new Error(starts.join(', '));
});

await test('captions that are switched off show no more', async () => {
	await page.evaluate(() => document.querySelector('button.captions').click());
	await until('none', async () => !(await look()).shown.length);
});
clearInterval(clock);
sender.kill('SIGKILL');
await browser.close();
