/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A broadcast in a browser, of which tests/e2e/live has the livestream: how far behind is its picture?  Each picture says in
 * black and white when it was made.  Prints TAP.
 */
import { spawn } from 'node:child_process';
import { BITS, picture } from './clock.mjs';
import { MINUTE, env, launch, test, until, wait } from './tap.mjs';

const WIDTH = 320, HEIGHT = 180, FRAME_MS = 40;

const sender = spawn('ffmpeg', ['-v', 'error', '-f', 'rawvideo', '-pix_fmt', 'gray', '-s', `${WIDTH}x${HEIGHT}`, '-r', `${1000 / FRAME_MS}`, '-i', 'pipe:0',
	'-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-pix_fmt', 'yuv420p', '-g', '50', '-b:v', '800k', '-f', 'flv', env.TO],
	{ stdio: ['pipe', 'ignore', 'inherit'] });
const began = Date.now();
let made = 0;
sender.stdin.on('error', () => {});
const clock = setInterval(() => {
	for (; made * FRAME_MS <= Date.now() - began; made++)
		sender.stdin.write(picture(Date.now(), WIDTH, HEIGHT));
}, FRAME_MS / 2);

const browser = await launch();
const page = await browser.newPage(), asked = [];
page.on('request', r => asked.push(r.url()));

/* ms, NaN without a picture. */
const behind = () => page.evaluate(([bits, width]) => {
	const video = document.querySelector('video'), canvas = document.createElement('canvas');
	let ms = 0;
	if (!video?.videoWidth)
		return NaN;
	canvas.width = width;
	canvas.height = 16;
	const paint = canvas.getContext('2d');
	paint.drawImage(video, 0, 0);
	const line = paint.getImageData(0, 8, width, 1).data;
	for (let i = 0; i < bits; i++)
		ms += line[4 * Math.floor((i + 0.5) * width / bits)] > 128 ? 2 ** i : 0;
	return (Date.now() % 2 ** bits - ms + 2 ** bits) % 2 ** bits;
}, [BITS, WIDTH]);

await test('a browser plays what is sent', async () => {
	await page.goto(`${env.KINOTHEK_URL}/watch/${env.MEDIA}`, { timeout: MINUTE });
	await page.locator('.begin').waitFor({ timeout: 3 * MINUTE });
	await page.click('.begin');
	await until('a picture', async () => await behind() < MINUTE);
});

/* Nine are usual without parts. */
await test('  a few seconds behind', async () => {
	await until('a picture of four seconds ago', async () => await behind() < 4000);
	const all = [];
	for (let i = 0; i < 40; i++) {
		all.push(await behind());
		await wait(500);
	}
	all.sort((a, b) => a - b);
	console.log(`# behind: p50 ${all[20]} ms, p95 ${all[38]} ms, at most ${all[39]} ms`);
	if (all[20] > 4000)
		throw new Error('it fell behind');
});

await test('  by asking for parts that are to come', async () => {
	if (!asked.some(url => /\/low-video\.m3u8\?.*_HLS_part=/.test(url)) || !asked.some(url => /\/\d+\.\d+\.\d+\.video\.m4s/.test(url)))
		throw new Error(asked.filter(url => url.includes('/live/')).slice(-5).join('\n'));
});
/* hls.js would stay there: it catches up while it is near. */
await test('who was cut off comes to the live picture again', async () => {
	await page.context().setOffline(true);
	await until('it falls behind', async () => await behind() > 12000);
	await page.context().setOffline(false);
	await until('a picture of five seconds ago', async () => await behind() < 5000);
});

await test('  and who went back stays there', async () => {
	await page.evaluate(() => document.querySelector('video').currentTime -= 7);
	await until('an old picture', async () => await behind() > 7000);
	await wait(5000);
	if (await behind() < 7000)
		throw new Error('it was taken to the live picture');
});
clearInterval(clock);
sender.kill('SIGKILL');
await browser.close();
