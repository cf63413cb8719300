/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests/e2e/broadcast has prepared, in a browser; prints TAP. */
import { execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { MINUTE, env, launch, test, that, until } from './tap.mjs';

const base = env.KINOTHEK_URL, complaints = [];

const sql = text => execFileSync('mariadb', ['--no-defaults', '-uroot', '-S', `${env.STACK}/run/db.sock`, '-N', '-B', 'kinothek', '-e', text],
	{ encoding: 'utf8' }).trim();
const key = `id = UNHEX(REPLACE('${env.STREAM}', '-', ''))`;
/* As a node does it, which lives for ever. */
const node = change => sql(`UPDATE livestreams SET holder = 'node', beat_at = 9e15, ${change} WHERE ${key}; INSERT INTO events (tenant_id, media_id,
	type, data, created_at) SELECT tenant_id, media_id, 'livestream.updated', '{}', ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) FROM livestreams WHERE ${key}`);

async function put(action) {
	const answer = await fetch(`${base}/v2/livestreams/${env.STREAM}/${action}`, { method: 'PUT', headers: { Authorization: `Bearer ${env.TOKEN}` } });
	that(answer.ok, `${action}: ${answer.status}`);
}

/* Sends for as long as it is let, and records beside. */
const secret = createHmac('sha256', Buffer.from(readFileSync(`${env.STACK}/play.key`, 'utf8').trim(), 'hex')).update(`secret/${env.STREAM}`)
	.digest('hex').slice(0, 16);
const shown = `${env.STACK}/data/play/${env.MEDIA}/live/${secret}`, recorded = `${env.STACK}/data/live/${env.MEDIA}`;
function send() {
	const fragments = ['-f', 'mp4', '-movflags', '+frag_every_frame+empty_moov+default_base_moof'];

	mkdirSync(shown, { recursive: true });
	mkdirSync(recorded, { recursive: true });
	return spawn('ffmpeg', ['-v', 'error', '-re', '-f', 'lavfi', '-i', 'testsrc2=s=320x180:r=25', '-re', '-f', 'lavfi', '-i', 'sine=440:r=48000',
		'-map', '0:v', '-map', '1:a', '-c:v', 'libx264', '-preset', 'ultrafast', '-g', '25', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-f', 'hls', '-hls_time', '1',
		'-hls_playlist_type', 'event', '-hls_segment_type', 'fmp4', '-hls_fmp4_init_filename', 'init.mp4', '-hls_segment_filename', `${shown}/s%d.m4s`,
		'-master_pl_name', 'master.m3u8', `${shown}/video.m3u8`,
		'-map', '0:v', '-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', ...fragments, `${recorded}/1.video.mp4`,
		'-map', '1:a', '-c:a', 'aac', ...fragments, `${recorded}/1.audio.mp4`], { stdio: ['pipe', 'ignore', 'inherit'] });
}

const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1100, height: 800 } });
page.setDefaultTimeout(3 * MINUTE);
page.on('pageerror', e => complaints.push(e.message));
const shot = name => page.screenshot({ path: `${env.SCREENSHOTS}/broadcast-${name}.png` });
const sees = (selector, state = 'visible') => page.locator(selector).first().waitFor({ state, timeout: 3 * MINUTE });
const position = () => page.locator('video').evaluate(v => v.currentTime);

await test('before it begins the page counts down', async () => {
	const answer = await page.goto(`${base}/watch/${env.MEDIA}`);
	that(answer.ok(), answer.status());
	await page.evaluate(() => window.stays = true);
	await sees('.state.soon .countdown strong');
	const left = await page.textContent('.countdown strong');
	that(/^(1:00:00|5\d:\d\d)$/.test(left), left);
	await until('a second', async () => await page.textContent('.countdown strong') !== left);
	await shot('soon');
});

let sender = null;
await test('when it is live the player comes by itself, and plays', async () => {
	await put('start');
	sender = send();
	await until('a playlist', () => existsSync(`${shown}/master.m3u8`) && existsSync(`${shown}/s2.m4s`));
	node('session = 1, status = \'waitingForSignal\', has_signal = 1, live_at = ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000)');
	that(await page.locator('video').count() === 0, 'it shows before it is published');
	await put('publish');
	await sees('#live .badge.on');
	await sees('.edge');
	await page.click('.begin');
	await until('a picture', async () => await position() > 1 && page.locator('video').evaluate(v => v.videoWidth === 320));
	await sees('.edge.at');
	await shot('live');
});

await test('who goes back is told how far, and comes to the live picture again', async () => {
	await until('some of it', async () => await position() > 12);
	await page.locator('video').evaluate(v => v.currentTime = 1);
	await sees('.edge:not(.at)');
	that(/^−\d+:\d\d$/.test(await page.textContent('.time')), await page.textContent('.time'));
	await page.click('.edge');
	await sees('.edge.at');
	that(await position() > 8, await position());
});

/* Nothing else can be chosen here, and the list is read anew for it once at the most. */
await test('who meets a gap that is longer than a player bears comes out behind it', async () => {
	const other = await browser.newPage(), video = other.locator('video');
	let lists = 0;

	other.setDefaultTimeout(MINUTE);
	await other.route('**/video.m3u8*', async route => {
		const answer = await route.fetch();
		await route.fulfill({ response: answer, body: (await answer.text()).replace(/#EXTINF:[^\n]*\ns(\d+)\.m4s/g,
			(entry, n) => n >= 4 && n < 9 ? `#EXT-X-GAP\n${entry}` : entry) });
	});
	await other.goto(`${base}/watch/${env.MEDIA}`);
	await other.click('.begin');
	await other.waitForFunction(() => document.querySelector('video')?.currentTime > 9);
	other.on('request', r => lists += r.url().includes('master.m3u8'));
	for (const from of [2, 4.5]) {
		await video.evaluate((v, s) => v.currentTime = s, from);
		await other.waitForFunction(() => document.querySelector('video').currentTime > 9 && !document.querySelector('video').seeking);
		that(await video.evaluate(v => v.currentTime) < 12, `it is ${await video.evaluate(v => v.currentTime)} s`);
	}
	that(lists <= 2, `${lists} times`);
	await other.unrouteAll({ behavior: 'ignoreErrors' });
	await other.close();
});

await test('a break is told, and its end, too', async () => {
	node('status = \'interrupted\', has_signal = 0, interrupted_at = 1');
	await sees('.notice');
	that((await page.textContent('.notice')).includes('interrupted'), await page.textContent('.notice'));
	await until('what the page says of it', async () => (await page.textContent('#live')).includes('interrupted'));
	await shot('interrupted');
	node('status = \'live\', has_signal = 1, interrupted_at = 0');
	await sees('.notice', 'hidden');
	await sees('#live .badge.on');
	const at = await position();
	await until('more of it', async () => await position() > at + 1);
});

await test('after its end the recording takes its place, and the page was never loaded anew', async () => {
	const ended = new Promise(done => sender.once('exit', done));
	sender.stdin.end('q');
	await ended;
	await put('stop');
	await sees('.notice');
	await shot('over');
	sql(`UPDATE livestreams SET beat_at = 1 WHERE ${key}`);
	await until('the recording', () => sql(`SELECT status FROM livestreams WHERE ${key}`) === 'finished');
	await sees('#live', 'hidden');
	await sees('.edge', 'hidden');
	await sees('.notice', 'hidden');
	await until('its length', async () => /\/ (?!0:0)\d+:\d\d$/.test(await page.textContent('.time')));
	await page.locator('video').evaluate(v => v.paused && v.play());
	await until('a picture of it', () => page.locator('video').evaluate(v => v.currentTime > 0.5 && v.duration < 3600));
	that(await page.evaluate(() => window.stays) === true, 'the page was loaded anew');
	await shot('recording');
});
sender?.kill();

await test('the page did not complain', async () => that(complaints.length === 0, complaints.join(' | ')));
await browser.close();
