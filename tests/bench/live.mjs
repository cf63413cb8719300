/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far behind is the picture of a livestream in a browser?  live.mjs SECONDS, of tests/bench/live.  Each picture says in
 * black and white when it was made.  Prints median and 95 of 100 in seconds, how often it stood still, and how many pictures
 * were looked at.
 */
import { spawn } from 'node:child_process';
import { BITS, picture } from '../e2e/clock.mjs';
import { MINUTE, env, launch, wait } from '../e2e/tap.mjs';

const SECONDS = +process.argv[2];
const WIDTH = 640, HEIGHT = 360, RATE = 30, LOOK_MS = 200, SETTLE_MS = 15000;

/* As OBS encodes: with pictures that refer to later ones. */
const sender = spawn('ffmpeg', ['-v', 'error', '-f', 'rawvideo', '-pix_fmt', 'gray', '-s', `${WIDTH}x${HEIGHT}`, '-r', `${RATE}`, '-i', 'pipe:0',
	'-f', 'lavfi', '-i', 'sine=440:r=48000', '-c:v', 'libx264', '-preset', 'veryfast', '-bf', '2', '-pix_fmt', 'yuv420p', '-g', `${2 * RATE}`, '-b:v', '800k',
	'-maxrate', '800k', '-bufsize', '800k', '-c:a', 'aac', '-b:a', '128k', '-f', 'flv', env.TO], { stdio: ['pipe', 'ignore', 'inherit'] });
const began = Date.now();
let made = 0;
sender.stdin.on('error', () => {});
const clock = setInterval(() => {
	for (; made * 1000 / RATE <= Date.now() - began; made++)
		sender.stdin.write(picture(Date.now(), WIDTH, HEIGHT));
}, 10);

const browser = await launch();
try {
	const page = await browser.newPage();
	await page.goto(`${env.KINOTHEK_URL}/watch/${env.MEDIA}`, { timeout: MINUTE });
	await page.locator('.begin').waitFor({ timeout: 3 * MINUTE });
	await page.click('.begin');
	await page.waitForFunction(() => document.querySelector('video')?.currentTime > 1, undefined, { timeout: 2 * MINUTE });
	await wait(Math.min(SETTLE_MS, SECONDS * 1000));
	await page.evaluate(([bits, width, every]) => {
		const video = document.querySelector('video'), canvas = document.createElement('canvas');
		const paint = canvas.getContext('2d', { willReadFrequently: true });
		canvas.width = width;
		canvas.height = 16;
		window.seen = { behind: [], stalls: 0 };
		video.addEventListener('waiting', () => window.seen.stalls++);
		setInterval(() => {
			let ms = 0;
			paint.drawImage(video, 0, 0);
			const line = paint.getImageData(0, 8, width, 1).data;
			for (let i = 0; i < bits; i++)
				ms += line[4 * Math.floor((i + 0.5) * width / bits)] > 128 ? 2 ** i : 0;
			window.seen.behind.push((Date.now() % 2 ** bits - ms + 2 ** bits) % 2 ** bits);
		}, every);
	}, [BITS, WIDTH, LOOK_MS]);
	await wait(SECONDS * 1000);
	const seen = await page.evaluate(() => window.seen), all = seen.behind.sort((a, b) => a - b);
	if (!all.length || all[0] < 100 || all.at(-1) > MINUTE)
		throw new Error(`a picture that is ${all[0]} to ${all.at(-1)} ms old`);
	console.log((all[Math.floor(all.length / 2)] / 1000).toFixed(3), (all[Math.floor(all.length * 0.95)] / 1000).toFixed(3), seen.stalls, all.length);
} finally {
	clearInterval(clock);
	sender.kill('SIGKILL');
	await browser.close();
}
