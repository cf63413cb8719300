/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks at the pages that tests/e2e/browser has prepared, with Chromium; prints TAP. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { env, launch as launchPlain, test, that } from './tap.mjs';

const base = env.KINOTHEK_URL;
const outside = [], complaints = [];

/* The page elsewhere is no public one. */
const launch = (...more) => launchPlain('--disable-features=LocalNetworkAccessChecks', ...more);
const browser = await launch('--autoplay-policy=no-user-gesture-required');

/* A new page in a browser of its own kind; everything it asks for or complains of is written down. */
async function visit(address, options = {}, by = browser) {
	const context = await by.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'dark', ...options });
	const page = await context.newPage();

	page.setDefaultTimeout(180000);
	page.on('request', r => /^(blob|data|about|chrome|chrome-extension):/.test(r.url()) || r.url().startsWith(base) || r.url().startsWith('http://elsewhere.test/') || outside.push(r.url()));
	page.on('pageerror', e => complaints.push(`${e.message} (${page.url()})`));
	page.on('console', m => m.type() === 'error' && !/Failed to load resource/.test(m.text()) && complaints.push(m.text()));
	await options.before?.(page);
	await page.goto(address);
	return page;
}

/* A page of another site, which is not asked for it. */
const elsewhere = html => visit('http://elsewhere.test/', { before: page => page.route('http://elsewhere.test/', route =>
	route.fulfill({ contentType: 'text/html', body: html })) });

const shot = (page, name) => page.screenshot({ path: `${env.SCREENSHOTS}/${name}.png` });
const state = page => page.evaluate(() => {
	const v = document.querySelector('video');
	const q = v.getVideoPlaybackQuality();
	return { time: v.currentTime, duration: v.duration, paused: v.paused, frames: q.totalVideoFrames, dropped: q.droppedVideoFrames,
		sound: v.webkitAudioDecodedByteCount, height: v.videoHeight, muted: v.muted, rate: v.playbackRate,
		tracks: [...v.textTracks].map(t => ({ kind: t.kind, mode: t.mode, active: t.activeCues?.length ?? 0 })) };
});
const until = (page, check, argument) => page.waitForFunction(check, argument, { timeout: 180000 });
const at = async (page, seconds) => {
	await page.evaluate(s => document.querySelector('video').currentTime = s, seconds);
	await until(page, () => !document.querySelector('video').seeking);
};

let page = await visit(env.WATCH_talk);
await page.waitForSelector('video');

await test('the watch page names the asset', async () => {
	await until(page, () => document.title.includes('lighthouse'));
	that((await page.textContent('h1')).includes('lighthouse'), 'no title');
	await page.waitForSelector('.cue');
	await page.waitForTimeout(500);
	await shot(page, 'watch-poster');
});

await test('pressing play plays: frames and sound advance', async () => {
	await page.click('.begin');
	await until(page, () => document.querySelector('video').currentTime > 2);
	const s = await state(page);
	that(s.frames > 10, `${s.frames} frames`);
	that(s.sound > 0, 'no sound was decoded');
	that(s.duration > 10, `duration ${s.duration}`);
	that(s.dropped < s.frames, `${s.dropped} of ${s.frames} frames dropped`);	/* how many depends on the machine */
});

await test('captions show after C', async () => {
	await page.keyboard.press('c');
	const cue = await page.evaluate(() => [...document.querySelector('video').textTracks].find(t => t.kind === 'captions').cues[0].startTime);
	await at(page, cue + 0.2);
	await until(page, () => [...document.querySelector('video').textTracks].some(t => t.kind === 'captions' && t.mode === 'showing' && t.activeCues.length));
	await page.waitForTimeout(700);
	await shot(page, 'watch-captions');
});

await test('the seek bar shows a preview from the storyboard', async () => {
	const box = await page.locator('media-time-range').boundingBox();
	await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2);
	await until(page, () => {
		const range = document.querySelector('media-time-range');
		const image = range.shadowRoot.querySelector('media-preview-thumbnail').shadowRoot.querySelector('img');
		return image?.naturalWidth > 0 && image.getBoundingClientRect().width > 20;
	});
	await shot(page, 'watch-preview');
	await page.mouse.move(10, 10);
});

await test('the transcript stands beside the player and follows it', async () => {
	that(await page.locator('.cue').count() > 1, 'no lines');
	const [player, panel] = [await page.locator('#stage').boundingBox(), await page.locator('#transcript').boundingBox()];
	that(panel.x >= player.x + player.width, 'not beside');
	await until(page, () => document.querySelectorAll('.cue[aria-current]').length === 1);
});

await test('a line of the transcript seeks', async () => {
	await page.locator('.cue').last().click();
	const start = await page.evaluate(() => [...[...document.querySelector('video').textTracks].find(t => t.kind === 'captions').cues].at(-1).startTime);
	await until(page, start => document.querySelector('video').currentTime >= start, start);
	const { time } = await state(page);
	that(time >= start && time < start + 8, `at ${time}, not ${start}`);
});

await test('the transcript says who answers for it', async () => {
	const said = await page.textContent('#transcript-origin');
	that(/^Automatic( draft)?, made by \w/.test(said), said);
});

await test('the transcript is searched', async () => {
	await page.keyboard.press('/');
	await page.keyboard.type('the');
	that(await page.locator('.cue mark').count() > 0, 'nothing is marked');
	that(/1 of \d+/.test(await page.textContent('#transcript-search output')), 'no count');
	await shot(page, 'watch-search');
	await page.fill('#transcript-search input', '');
	await page.evaluate(() => document.activeElement.blur());
});

await test('keys seek, mute, change the speed and pause', async () => {
	await page.evaluate(() => document.querySelector('video').pause());
	await at(page, 1);
	await page.keyboard.press('l');
	that(Math.abs((await state(page)).time - 11) < 0.2, `L went to ${(await state(page)).time}`);
	await page.keyboard.press('j');
	that(Math.abs((await state(page)).time - 1) < 0.2, 'J');
	await page.keyboard.press('ArrowRight');
	that(Math.abs((await state(page)).time - 6) < 0.2, 'right arrow');
	await page.keyboard.press('m');
	that((await state(page)).muted, 'M');
	await page.keyboard.press('m');
	await page.keyboard.press('>');
	that((await state(page)).rate === 1.25, '>');
	await page.keyboard.press('<');
	await page.keyboard.press('k');
	await until(page, () => !document.querySelector('video').paused);
	await page.keyboard.press(' ');
	await until(page, () => document.querySelector('video').paused);
	await page.keyboard.press('5');
	const s = await state(page);
	that(Math.abs(s.time - s.duration / 2) < 0.3, '5');
});

await test('F fills the screen', async () => {
	await page.keyboard.press('f');
	await until(page, () => document.fullscreenElement?.localName === 'media-controller');
	await page.keyboard.press('f');
	await until(page, () => !document.fullscreenElement);
});

await test('a quality can be chosen', async () => {
	await page.click('.gear');
	const labels = await page.locator('.menu fieldset').first().locator('label').allTextContents();
	that(labels[0].startsWith('Auto') && labels.length > 2, labels.join());
	const lowest = labels.at(-1);
	await page.locator('.menu fieldset').first().locator('label').last().click();
	await shot(page, 'watch-settings');
	await page.keyboard.press('Escape');
	await at(page, 2);
	await page.keyboard.press('k');
	await until(page, h => document.querySelector('video').videoHeight === h, parseInt(lowest, 10));
	await page.keyboard.press('k');
});

await test('sharing gives an address with the time', async () => {
	await at(page, 7);
	await page.click('#share');
	await page.check('#share-start');
	const url = new URL(await page.inputValue('#share-url'));
	that(url.searchParams.get('start') === '7' && url.pathname === new URL(env.WATCH_talk).pathname, url.href);
	await shot(page, 'watch-share');
	await page.keyboard.press('Escape');
});

await test('?start begins there', async () => {
	const url = new URL(env.WATCH_talk);
	url.searchParams.set('start', '9');
	const p = await visit(url.href);
	await until(p, () => Math.abs((document.querySelector('video')?.currentTime ?? 0) - 9) < 0.5);
	await p.close();
});

const idOf = url => new URL(url).pathname.split('/')[2];
const talk = idOf(env.WATCH_talk), points = [];
/* The id of what has been made or changed. */
const send = async (path, body, method = 'POST') => {
	const answer = await fetch(`${base}${path}`, { method, body: JSON.stringify(body),
		headers: { Authorization: `Bearer ${env.TOKEN}`, 'Content-Type': 'application/json' } });
	that(answer.ok, `${path}: ${answer.status}`);
	return (await answer.json()).data.id;
};

await test('chapters stand below the player and in its bar, and lead there', async () => {
	const chapterId = await send(`/v2/media/${talk}/chapters`, { name: 'Tour' });

	for (const [i, title] of ['The tower', 'The <lamp> & the lens', 'The sea'].entries()) {
		const sectionId = await send(`/v2/media/${talk}/sections`, { type: 'timerange', start: i * 6, end: i * 6 + 6, chapterId });
		points.push(await send(`/v2/media/${talk}/chapters/${chapterId}/entries`, { title, sectionId }));
	}
	const p = await visit(env.WATCH_talk);
	await until(p, () => document.querySelector('media-time-range')?.mediaChaptersCues?.length === 3);
	that(await p.evaluate(() => document.querySelector('media-time-range').mediaChaptersCues[1].text) === 'The <lamp> & the lens', 'another title in the bar');
	const link = p.locator('#chapters a').nth(1);
	that((await link.textContent()) === '0:06The <lamp> & the lens', await link.textContent());
	await link.click();
	await until(p, () => document.querySelector('video').currentTime > 6.2 && !document.querySelector('video').paused);
	that(new URL(p.url()).hash === '#t=6.000', p.url());
	await until(p, () => document.querySelector('#chapters a[aria-current]')?.textContent.includes('lamp'));
	await p.evaluate(() => document.getElementById('chapters').scrollIntoView());
	await shot(p, 'watch-chapters');
	await p.keyboard.press('k');
	await at(p, 7);
	await p.locator('.gear').click();
	const choice = p.locator('#settings fieldset', { hasText: 'The <lamp>' });
	that(await choice.locator('input').count() === 3 && await choice.locator('input').nth(1).isChecked(), 'the menu has other chapters');
	await shot(p, 'watch-chapters-menu');
	await choice.locator('input').nth(1).press('ArrowDown');
	await until(p, () => document.querySelector('video').currentTime >= 12);
	await p.keyboard.press('Escape');
	await at(p, 1);
	await link.click();
	await until(p, () => document.querySelector('video').currentTime > 6);
	await p.context().close();
});

await test('agenda, clips and comments stand beside the recording, and lead into it', async () => {
	const p = await visit(env.WATCH_talk);
	that(await p.locator('#agenda').isHidden() && await p.locator('#comments').isHidden(), 'something is there already');
	await send('/v2/tenants/current/settings', { commentsOnPages: true }, 'PATCH');
	await send('/v2/meetings', { name: 'Friends of the lighthouse', startsAt: '2026-11-20T18:00:00Z', location: 'At the pier', mediaIds: [talk],
		agenda: [{ number: '1', name: 'Opening and what was agreed upon last time', public: true, entryId: points[0] },
			{ number: '1.1', name: 'Guests', public: true }, { number: '1.2', name: 'Minutes', public: true },
			{ number: '2', name: 'The lamp', public: true, entryId: points[1] }, { number: '3', name: 'The sea', public: true, entryId: points[2] }] });
	for (const [start, end, title] of [[1, 4, 'A tower of stone'], [6, 9.5, 'How light is bent'], [12, 15, 'Ships']])
		await send(`/v2/media/${talk}/sections`, { type: 'timerange', start, end, title });
	const parentId = await send(`/v2/media/${talk}/comments`, { text: 'Is this a Fresnel lens?', time: 7 });
	await send(`/v2/media/${talk}/comments`, { text: 'It is:\nlook at the rings.', parentId });

	/* An open page hears of it. */
	await p.locator('#clips a').nth(2).waitFor();
	await p.locator('#comments li li').waitFor();
	await p.reload();
	await p.locator('#agenda a').first().waitFor();
	await p.waitForSelector('.cue');
	await p.waitForTimeout(500);
	await shot(p, 'watch-agenda');
	that(await p.locator('#chapters').isHidden(), 'the chapters are there twice');
	await p.locator('#agenda a').nth(1).click();
	await until(p, () => document.querySelector('video').currentTime > 6.2 && !document.querySelector('video').paused);
	await until(p, () => document.querySelector('#agenda a[aria-current]')?.textContent.includes('lamp'));
	await p.locator('#clips a').nth(2).click();
	that(new URL(p.url()).hash === '#t=12.000,15.000', p.url());
	await until(p, () => document.querySelector('video').paused && document.querySelector('video').currentTime >= 15);
	await p.locator('#comments a').first().focus();
	await p.keyboard.press('Enter');
	await until(p, () => { const v = document.querySelector('video'); return v.currentTime > 7.1 && v.currentTime < 12; });
	await p.evaluate(() => document.getElementById('clips').scrollIntoView());
	await shot(p, 'watch-clips');
	await p.setViewportSize({ width: 390, height: 844 });
	await p.evaluate(() => document.getElementById('agenda').scrollIntoView());
	await shot(p, 'watch-agenda-phone');
	await p.context().close();
});

await test('#t= begins there, and ends where it says so', async () => {
	const p = await visit(`${env.WATCH_talk}#t=3,4.5`);
	await until(p, () => Math.abs((document.querySelector('video')?.currentTime ?? 0) - 3) < 0.5);
	await p.keyboard.press('k');
	await until(p, () => document.querySelector('video').paused && document.querySelector('video').currentTime >= 4.5);
	await p.keyboard.press('k');
	await until(p, () => document.querySelector('video').currentTime > 6);
	await p.context().close();
});

await test('the next visit goes on where the last one stopped, or begins anew', async () => {
	const p = await visit(env.WATCH_talk);
	const later = seconds => until(p, s => Math.abs((document.querySelector('video')?.currentTime ?? 0) - s) < 0.9, seconds);

	await p.locator('.begin').click();
	await until(p, () => !document.querySelector('video').paused);
	await p.evaluate(() => document.querySelector('video').currentTime = 8);
	await until(p, () => document.querySelector('video').currentTime > 8.1);
	await p.keyboard.press('k');
	await until(p, () => document.querySelector('video').paused);
	await until(p, () => JSON.parse(localStorage.getItem('kinothek.positions') ?? '[]').length === 1);
	const { time } = await state(p);		/* how far it played meanwhile depends on the machine */
	that(time > 8, `it was stopped at ${time}`);
	await p.reload();
	await later(time);
	await until(p, () => document.querySelector('video').paused);
	await shot(p, 'watch-resume');
	await p.locator('.over').click();
	await later(0);
	that(await p.locator('.over').count() === 0, 'it is offered still');
	await p.goto(`${env.WATCH_talk}#t=3`);
	await p.reload();
	await later(3);
	await p.evaluate(() => localStorage.setItem('kinothek.positions', '{"odd":[1]}'));
	await p.goto(env.WATCH_talk);
	await p.reload();
	await until(p, () => document.querySelector('.begin')?.offsetParent);
	that(await p.evaluate(() => document.querySelector('video').currentTime) === 0, 'what was left is odd');
	await p.context().close();
});

await test('the keyboard reaches every control, with a name', async () => {
	const nameless = await page.evaluate(() => [...document.querySelectorAll('button, a, input, select, summary')]
		.filter(e => e.offsetParent && !(e.ariaLabel || e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length || e.title))
		.map(e => e.outerHTML.slice(0, 80)));
	that(nameless.length === 0, nameless.join());
});

await test('on a phone nothing sticks out, and the player comes first', async () => {
	const p = await visit(env.WATCH_talk, { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true });
	await p.waitForSelector('.cue');
	await p.waitForTimeout(500);
	that(await p.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'wider than the screen');
	const box = await p.locator('#stage').boundingBox();
	that(box.x === 0 && box.width === 390, JSON.stringify(box));
	await shot(p, 'watch-phone');
	await p.close();
});

await test('light colours are used where they are wanted', async () => {
	const p = await visit(env.WATCH_talk, { colorScheme: 'light' });
	await p.waitForSelector('.cue');
	await p.waitForTimeout(300);
	that(await p.evaluate(() => getComputedStyle(document.body).backgroundColor) === 'rgb(246, 245, 243)', 'not light');
	await shot(p, 'watch-light');
	await p.close();
});

await test('another site may embed the player, and it plays there', async () => {
	const p = await elsewhere(`<h1>A page elsewhere</h1><iframe src="${env.EMBED_talk}" width="640" height="360" allow="autoplay; fullscreen"></iframe>`);
	const frame = p.frameLocator('iframe');
	await frame.locator('.begin').click();
	await p.waitForTimeout(300);
	const video = frame.locator('video');
	await video.evaluate(v => new Promise((done, fail) => {
		setTimeout(() => fail(new Error(`at ${v.currentTime}`)), 180000);
		v.addEventListener('timeupdate', () => v.currentTime > 0.5 && done());
	}));
	await shot(p, 'embed');
	await p.close();
});

await test('the watch page refuses to be framed elsewhere', async () => {
	const before = complaints.length;
	const p = await elsewhere(`<iframe src="${env.WATCH_talk}"></iframe>`);
	await p.waitForTimeout(800);
	that(!p.frames().some(f => f.url().startsWith(base)), 'it was framed');
	complaints.length = before;	/* the browser's word about the refusal */
	await p.close();
});

await test('a recording shows its waveform and plays', async () => {
	const p = await visit(env.WATCH_sound);
	await p.waitForSelector('canvas.waveform');
	await until(p, () => {
		const c = document.querySelector('canvas.waveform');
		return c.width > 0 && c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v);
	});
	await p.click('.begin');
	await until(p, () => document.querySelector('video').currentTime > 1);
	await p.waitForTimeout(300);
	await shot(p, 'sound');
	const box = await p.locator('canvas.waveform').boundingBox();
	await p.mouse.click(box.x + box.width * 0.75, box.y + box.height / 2);
	await until(p, () => document.querySelector('video').currentTime >= 12);
	await p.close();
});

await test('an animation plays by itself, silent, over and over, but not for those who want no motion', async () => {
	const wary = await launch();		/* lets nothing sound by itself */
	const p = await visit(env.WATCH_animation, {}, wary);
	await until(p, () => document.querySelector('video')?.currentTime > 1);
	await shot(p, 'animation');
	that((await state(p)).muted, 'it may sound');
	await p.evaluate(() => new Promise((done, fail) => {
		setTimeout(() => fail(new Error('it stops at its end')), 180000);
		document.querySelector('video').addEventListener('seeking', done, { once: true });
	}));
	that(!(await state(p)).paused, 'it was stopped');
	await p.keyboard.press('k');
	await until(p, () => document.querySelector('video').paused);
	const calm = await visit(env.WATCH_animation, { reducedMotion: 'reduce' }, wary);
	await calm.waitForSelector('.begin');
	await calm.waitForTimeout(1500);
	that((await state(calm)).time === 0 && (await state(calm)).paused, 'it moves');
	await wary.close();
});

await test('a picture is shown', async () => {
	const p = await visit(env.WATCH_picture);
	await until(p, () => document.querySelector('img.picture')?.naturalWidth > 100);
	await p.waitForTimeout(300);
	await shot(p, 'picture');
	await p.close();
});

await test('a document can be opened', async () => {
	const p = await visit(env.WATCH_document);
	await p.waitForSelector('.stage.document');
	await until(p, () => document.querySelector('iframe.pdf, img.picture'));
	that(await p.locator('.stage.document a').count() === 1, 'no link');
	await shot(p, 'document');
	await p.close();
});

await test('an expired link says so', async () => {
	const url = new URL(env.WATCH_talk);
	url.searchParams.set('t', `1700000000.${'0'.repeat(64)}`);
	const p = await visit(url.href);
	await p.waitForSelector('[role=alert]');
	that((await p.textContent('.state-title')).includes('expired'), await p.textContent('.state-title'));
	await shot(p, 'expired');
	await p.close();
});

await test('an address of nothing says so', async () => {
	const p = await visit(`${base}/watch/0190aaaa-0000-7000-8000-000000000009`);
	await p.waitForSelector('[role=alert]');
	that((await p.textContent('.state-title')).includes('Nothing'), await p.textContent('.state-title'));
	await p.close();
});

await test('the page of the interface lists every operation and finds one', async () => {
	const api = await (await fetch(`${base}/v2/openapi.json`)).json();
	const all = Object.values(api.paths).flatMap(item => Object.keys(item)).filter(m => m !== 'parameters').length;
	const p = await visit(`${base}/docs/#createUpload`);
	await p.waitForSelector('#createUpload[open] td code');
	that(await p.locator('#operations .entry').count() === all, `${await p.locator('#operations .entry').count()} of ${all}`);
	that((await p.textContent('#createUpload')).includes('fileName'), 'the body is not described');
	for (const to of await p.$$eval('#createUpload a, #listMedia a', links => links.map(a => a.hash)))
		that(await p.locator(to).count() === 1, `${to} leads nowhere`);
	for (const to of await p.$$eval('.guides a', links => links.map(a => a.href)))
		that((await p.request.get(to)).ok(), `${to} is not there`);
	await p.fill('#find', 'cancel upload bytes');
	await until(p, () => document.querySelectorAll('#operations .entry:not([hidden])').length === 1);
	await p.fill('#find', '');
	await shot(p, 'docs');
	await p.setViewportSize({ width: 390, height: 844 });
	that(await p.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'wider than a phone');
	await p.close();
});

await test('the samples of an operation come in three languages, and the one that is chosen stays', async () => {
	const p = await visit(`${base}/docs/#updateMedia`);
	const seen = () => p.locator('#updateMedia .samples pre:visible').textContent();
	await p.waitForSelector('#updateMedia .samples');
	that((await seen()).startsWith('curl -X PATCH'), await seen());
	await p.click('#updateMedia .choice >> text=Python');
	that((await seen()).includes('urllib.request'), await seen());
	await p.reload();
	await p.waitForSelector('#updateMedia .samples');
	that((await seen()).includes('urllib.request'), 'forgotten');
	await p.close();
});

await test('an operation is tried with the reader\'s own token, which is kept nowhere', async () => {
	const p = await visit(`${base}/docs/#createTag`), sent = [];
	const attempt = async (operation, token) => {
		await p.evaluate(id => location.hash = id, operation);
		await p.click(`#${operation} .try summary:has-text("Try it")`);
		await p.fill(`#${operation} .token`, token);
	};
	const answer = (operation, status) => p.waitForSelector(`#${operation} [role=status]:has-text("Answer ${status}")`);
	p.on('request', r => r.url().includes('/v2/tags') && sent.push(r));
	await p.waitForSelector('#createTag .try');
	await attempt('createTag', 'none');
	await p.fill('#createTag textarea', '{"name":"tried"}');
	await p.click('#createTag .try form button');
	await p.waitForSelector('dialog[open]');
	await p.click('dialog >> text=Cancel');
	await p.waitForSelector('dialog', { state: 'detached' });
	that(sent.length === 0, 'sent without consent');
	await p.click('#createTag .try form button');
	await p.click('dialog >> text=Send');
	await answer('createTag', 401);
	await p.fill('#createTag .token', env.TOKEN);
	await p.click('#createTag .try form button');
	await p.click('dialog >> text=Send');
	await answer('createTag', 201);
	that((await p.textContent('#createTag .parts')).includes('"name": "tried"'), await p.textContent('#createTag .parts'));
	that(/^location: /m.test(await p.textContent('#createTag .parts')), 'no headers');
	await p.evaluate(() => location.hash = 'listTags');
	await p.click('#listTags .try summary:has-text("Try it")');
	that(await p.inputValue('#listTags .token') === env.TOKEN, 'another operation does not know the token');
	await p.fill('#listTags [data-name=filter]', 'name=tried');
	await p.click('#listTags .try form button');
	await answer('listTags', 200);
	that((await p.textContent('#listTags .parts')).includes('"total": 1'), await p.textContent('#listTags .parts'));
	const kept = await p.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
	that(!kept.includes(env.TOKEN), 'the token is stored');
	await p.reload();
	await p.waitForSelector('#listTags .try');
	that(await p.inputValue('#listTags .token') === '', 'the token outlives the page');
	await p.close();
});

await test('a viewer chooses the language of the sound and of the subtitles, and it is kept', async () => {
	const asked = [];
	const p = await visit(env.WATCH_languages, { before: page => page.on('request', r => asked.push(r.url())) });
	const choose = async (group, label) => {
		await p.click('.gear');
		const all = p.locator('fieldset', { has: p.locator('legend', { hasText: group }) }).locator('label');
		const names = await all.allTextContents();
		const taken = await all.locator('input:checked').evaluate(input => input.parentElement.textContent);
		await all.filter({ hasText: label }).locator('input').check({ force: true });
		await p.keyboard.press('Escape');
		return `${names.join()} ${taken}`;
	};
	await p.click('.begin');
	await until(p, () => document.querySelector('video')?.readyState >= 2);
	that(await choose('Sound', 'English') === 'Deutsch,English Deutsch', 'not the sounds of the file');
	await until(p, () => document.querySelector('video').currentTime > 1);
	that(asked.some(a => /\/track-2\.mp4/.test(a)), 'the other sound was not asked for');
	that((await state(p)).sound > 0, 'no sound was decoded');
	that(await choose('Captions', 'Fran\u00e7ais') === 'Off,Deutsch,Fran\u00e7ais Off', 'not the subtitles of the file');
	await at(p, 1);
	await until(p, () => [...document.querySelector('video').textTracks].some(t => t.language === 'fr' && t.mode === 'showing' &&
		t.kind === 'subtitles' && t.activeCues[0]?.text === 'Ein Satz'));
	await shot(p, 'watch-languages');
	asked.length = 0;
	await p.reload();
	await p.click('.begin');
	await until(p, () => document.querySelector('video')?.readyState >= 2);
	for (let i = 0; i < 900 && !asked.some(a => /\/track-2\.mp4/.test(a)); i++)
		await p.waitForTimeout(100);
	that(asked.some(a => /\/track-2\.mp4/.test(a)), 'the sound chosen before was not taken');
	await p.close();
});

/* ---- pages that follow their asset ---- */

const sql = text => execFileSync('mariadb', ['--no-defaults', '-uroot', '-S', `${env.STACK}/run/db.sock`, '-N', '-B', 'kinothek', '-e', text],
	{ encoding: 'utf8' }).trim();
const key = `id = UNHEX('${talk.replaceAll('-', '')}')`;
const COLUMNS = ['status', 'name', 'ingest', 'playlist_file', 'captions', 'renditions', 'thumbnail', 'storyboard'];
/* With the event that goes with each change: pages follow by it. */
const EVENT = `INSERT INTO events (tenant_id, media_id, type, data, created_at) SELECT tenant_id, id, 'media.updated', '{}',
	ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) FROM media WHERE ${key}`;
const change = assignments => sql(`UPDATE media SET ${assignments} WHERE ${key}; ${EVENT}`);
const asItWas = (columns = COLUMNS) => sql(`UPDATE media m JOIN kept k ON k.id = m.id SET ${columns.map(c => `m.${c} = k.${c}`)}; ${EVENT}`);
const ingest = (status, progress) => `ingest = '{"status":"${status}","progress":${progress}}'`;
/* Requests of the page for itself, which are how it follows. */
const isQuestion = request => request.resourceType() === 'fetch' && request.url().includes('/watch/');
const countQuestions = page => {
	const asked = { n: 0 };
	page.on('request', r => asked.n += isQuestion(r));
	return asked;
};
const answered = (page, status) => page.waitForResponse(r => r.status() === status && isQuestion(r.request()), { timeout: 180000 });

sql(`CREATE TABLE kept AS SELECT * FROM media WHERE ${key}`);
const master = sql(`SELECT playlist_file FROM media WHERE ${key}`), folder = `${env.STACK}/data/play/${talk}`;
const lines = readFileSync(`${folder}/${master}`, 'utf8').split('\n');
const first = master.replace('master.m3u8', 'first.m3u8');
const lowest = lines.findLastIndex(l => l.startsWith('#EXT-X-STREAM-INF') && l.includes('x360'));
writeFileSync(`${folder}/${first}`, lines.filter((l, i) => i === lowest || i === lowest + 1 || (l.startsWith('#') && !l.startsWith('#EXT-X-STREAM-INF'))).join('\n'));

await test('the transcript of a draft says so, and where words are missing', async () => {
	const body = 'WEBVTT\n\n00:00.000 --> 00:02.000\nfirst <c.unsure>…</c> then <b>more…</b>\n';
	const was = sql(`SELECT CONCAT_WS('|', quality, engine) FROM transcripts WHERE ${key.replace('id', 'media_id')}`).split('|');
	const set = (quality, engine) => sql(`UPDATE transcripts SET quality = '${quality}', engine = '${engine}' WHERE ${key.replace('id', 'media_id')}`);
	set('draft', 'test 1');
	const p = await visit(env.WATCH_talk, { before: page =>
		page.route('**/captions/*.vtt', route => route.fulfill({ contentType: 'text/vtt', body })) });
	await p.waitForSelector('.cue .unsure');
	that(await p.textContent('#transcript-origin') === 'Automatic draft, made by test 1', 'not told');
	that(await p.locator('.cue .unsure').count() === 1, 'a mark in what was said');
	that(await p.getByRole('button', { name: 'first not understood then more…' }).count() === 1, 'not told to the ear');
	await p.fill('#transcript-search input', 'then');
	that(await p.locator('.cue mark').count() === 1 && await p.locator('.cue .unsure').count() === 1, 'lost in the search');
	await shot(p, 'watch-draft');
	await p.close();
	set(...was);
});

await test('an open page follows its asset: what plays goes on, what is added appears', async () => {
	change(`status = 'processing', name = 'Being made', playlist_file = NULL, captions = NULL, renditions = '[]', thumbnail = NULL, storyboard = NULL, ${ingest('running', 40)}`);
	const p = await visit(env.WATCH_talk);
	await p.waitForSelector('.state.waiting progress');
	that(await p.evaluate(() => document.querySelector('progress').value) === 40, 'no progress');
	await shot(p, 'waiting');
	change(ingest('running', 55));
	await p.waitForFunction(() => document.querySelector('progress')?.value === 55, null, { timeout: 180000 });

	change(`status = 'ready', playlist_file = '${first}', ${ingest('running', 60)}`);
	await p.waitForSelector('.begin', { timeout: 180000 });
	that(await p.locator('.control.captions').isHidden() && await p.locator('#transcript').isHidden(), 'captions that are not there');
	await p.click('.begin');
	await until(p, () => document.querySelector('video').currentTime > 1);
	await p.click('.gear');
	that(await p.locator('.menu fieldset').first().locator('label').count() === 7, 'qualities of one rendition');
	await p.keyboard.press('Escape');
	await p.evaluate(() => {
		const v = document.querySelector('video');
		window.breaks = [];
		for (const event of ['pause', 'emptied', 'seeking', 'loadstart', 'ended'])
			v.addEventListener(event, () => window.breaks.push(event));
		window.same = v;
	});

	const before = (await state(p)).time;
	asItWas(COLUMNS.filter(c => c !== 'ingest'));
	await p.waitForSelector('.cue', { timeout: 180000 });
	await p.waitForSelector('.control.captions:not([hidden])');
	await until(p, () => document.querySelector('h1').textContent.includes('lighthouse') && document.title.includes('lighthouse'));
	that((await p.textContent('#facts')).includes('1080') && await p.locator('#downloads li').count() > 0, 'facts or downloads of before');
	await p.click('.gear');
	that(await p.locator('.menu fieldset').first().locator('label').count() > 3, 'no further qualities');
	await p.keyboard.press('Escape');
	await until(p, before => document.querySelector('video').currentTime > before + 1.5, before);
	that(await p.evaluate(() => window.same === document.querySelector('video') && window.breaks.join() === ''), `disturbed: ${await p.evaluate(() => window.breaks.join())}`);
	await p.evaluate(() => document.querySelector('video').pause());

	asItWas();
	await p.close();
});

await test('it asks no more when all is there, and not while nobody looks', async () => {
	change(ingest('running', 90));
	const p = await visit(env.WATCH_talk, { before: page => page.addInitScript(() => {
		Object.defineProperty(Document.prototype, 'visibilityState', { get: () => window.hiddenNow ? 'hidden' : 'visible' });
	}) });
	const asked = countQuestions(p);
	await p.waitForSelector('.begin');
	await p.evaluate(() => window.hiddenNow = true);
	await p.waitForTimeout(4000);
	that(asked.n <= 1, `asked ${asked.n} times in a hidden tab`);
	const fresh = answered(p, 304);
	await p.evaluate(() => {
		window.hiddenNow = false;
		document.dispatchEvent(new Event('visibilitychange'));
	});
	await fresh;
	asItWas();
	await answered(p, 200);
	const { n } = asked;
	await p.waitForTimeout(5000);
	that(asked.n === n, 'it goes on asking');
	await p.close();
});

await test('a signed address that runs out while playing is renewed', async () => {
	/* Each piece but the first six is refused until the page has asked for itself: so it is, wherever the player is by then. */
	let asked = 0, pieces = 0;
	const p = await visit(env.WATCH_talk, { before: async page => {
		await page.route('**/watch/**', route => {
			asked += isQuestion(route.request());
			return route.continue();
		});
		await page.route('**/play/**/*.mp4', route => !asked && ++pieces > 6 ? route.fulfill({ status: 410, body: '' }) : route.continue());
	} });
	await p.hover('.begin');
	await p.waitForFunction(() => document.querySelector('video').readyState >= 2, null, { timeout: 180000 });
	await p.evaluate(() => {
		const v = document.querySelector('video');
		v.currentTime = v.duration - 3;
		v.play().catch(() => {});
	});
	await p.waitForFunction(() => { const v = document.querySelector('video'); return v?.currentTime > v?.duration - 2.5; }, null, { timeout: 180000 });
	that(asked === 1, `asked ${asked} times`);
	await p.close();
});

await test('of several sound tracks one is chosen, and it is played', async () => {
	const tracks = master.replace('master.m3u8', 'tracks/master.m3u8');
	mkdirSync(dirname(`${folder}/${tracks}`), { recursive: true });
	execFileSync('ffmpeg', ['-nostdin', '-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=s=320x180:r=25:d=12', '-f', 'lavfi', '-i', 'sine=440:d=12',
		'-f', 'lavfi', '-i', 'sine=880:d=12', '-map', '0:v', '-map', '1:a', '-map', '2:a', '-c:v', 'libx264', '-preset', 'ultrafast', '-g', '50',
		'-c:a', 'aac', '-f', 'hls', '-hls_time', '2', '-hls_playlist_type', 'vod', '-hls_segment_type', 'fmp4', '-master_pl_name', 'master.m3u8',
		'-hls_fmp4_init_filename', 'init_%v.mp4', '-hls_segment_filename', `${folder}/${tracks.replace('master.m3u8', 'v%v_%d.m4s')}`,
		'-var_stream_map', 'a:0,agroup:s,name:deutsch,default:yes,language:de a:1,agroup:s,name:english,language:en v:0,agroup:s,name:video',
		`${folder}/${tracks.replace('master.m3u8', '%v.m3u8')}`]);
	change(`playlist_file = '${tracks}'`);
	const p = await visit(env.WATCH_talk);
	const english = [];
	p.on('request', r => /english_\d+\.m4s/.test(r.url()) && english.push(r.url()));
	await p.click('.begin');
	await until(p, () => document.querySelector('video').currentTime > 0.5);
	that(english.length === 0, 'both are fetched');
	await p.click('.gear');
	const group = p.locator('.menu fieldset', { hasText: 'Sound' });
	that(await group.locator('label').count() === 2, await p.textContent('.menu'));
	await group.locator('label').last().click();
	await p.keyboard.press('Escape');
	const { time } = await state(p);
	await until(p, time => document.querySelector('video').currentTime > time + 1, time);
	that(english.length > 0, 'the other is not fetched');
	await p.close();
	asItWas();
});

/* ---- what everybody needs ---- */

await test('without a script title, poster, files and the browser\'s own player are there', async () => {
	const p = await visit(env.WATCH_talk, { javaScriptEnabled: false });
	that((await p.textContent('h1')).includes('lighthouse'), 'no title');
	const box = await p.locator('video[controls][poster]').boundingBox();
	that(box.width > 600 && box.height > 300, JSON.stringify(box));
	for (const [selector, name] of [['video', 'poster'], ['video source', 'src'], ['video track', 'src'], ['#downloads a', 'href']]) {
		const answer = await p.request.get(new URL(await p.locator(selector).first().getAttribute(name), base).href);
		that(answer.ok(), `${selector}: ${answer.status()}`);
	}
	await p.locator('#downloads summary').click();
	that(await p.locator('#downloads a').first().isVisible(), 'no download');
	that(await p.locator('button:visible').count() === 0, 'buttons that do nothing');
	await shot(p, 'no-script');
	await p.close();
});

await test('sound that is started by the keyboard keeps its controls', async () => {
	const p = await visit(env.WATCH_sound);
	await p.waitForSelector('.begin');
	await p.keyboard.press('k');
	await until(p, () => document.querySelector('video').currentTime > 4);
	that(await p.evaluate(() => {
		const box = document.querySelector('media-play-button').getBoundingClientRect();
		return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)?.localName === 'media-play-button' &&
			getComputedStyle(document.querySelector('.controls')).opacity === '1';
	}), 'they are hidden');
	await p.close();
});

await test('nothing hides the picture before it plays but the bar', async () => {
	const p = await visit(env.WATCH_talk);
	await p.waitForSelector('.begin');
	that(await p.evaluate(() => {
		const stage = document.querySelector('media-controller').getBoundingClientRect();
		const bar = document.querySelector('.controls').getBoundingClientRect(), begin = document.querySelector('.begin').getBoundingClientRect();
		return bar.height < stage.height / 4 && begin.top > bar.top && begin.bottom <= stage.bottom;
	}), 'it is in the way');
	await p.close();
});

await test('a page that plays loads 350 kB at most beside media', async () => {
	const p = await visit('about:blank');
	const session = await p.context().newCDPSession(p), urls = new Map();
	let bytes = 0;
	await session.send('Network.enable');
	session.on('Network.requestWillBeSent', e => urls.set(e.requestId, e.request.url));
	session.on('Network.loadingFinished', e => bytes += /\/play\//.test(urls.get(e.requestId)) ? 0 : e.encodedDataLength);
	await p.goto(env.WATCH_talk);
	await p.click('.begin');
	await until(p, () => document.querySelector('video').currentTime > 1);
	console.log(`# ${Math.round(bytes / 1000)} kB`);
	that(bytes > 50000 && bytes < 350000, `${bytes} bytes`);
	await p.close();
});

/* The sheets that elements bring along are let in one by one. */
await test('the policy names the styles of media-chrome, and no others', async () => {
	const wanted = new Set();
	let policy;
	for (const address of [env.WATCH_talk, env.WATCH_sound]) {
		const p = await visit(address, { bypassCSP: true });
		policy = (await p.request.get(address)).headers()['content-security-policy'];
		await p.waitForSelector('.begin');
		for (const control of [null, '.begin', 'media-mute-button', 'media-time-range', '.gear']) {
			await (control && p.locator(control).hover());
			for (const text of await p.evaluate(() => {
				const all = root => [...root.querySelectorAll('*')].flatMap(e => [e, ...e.shadowRoot ? all(e.shadowRoot) : []]);
				return all(document).filter(e => e.localName === 'style').map(e => e.textContent);
			}))
				wanted.add(`'sha256-${createHash('sha256').update(text).digest('base64')}'`);
		}
		await p.close();
	}
	const named = new Set(policy.match(/'sha256-[^']+'/g));
	const fault = [...[...wanted].filter(h => !named.has(h)).map(h => `lacks ${h}`), ...[...named].filter(h => !wanted.has(h)).map(h => `needs no ${h}`)];
	that(!fault.length, `fcgi/player_styles.h ${fault.join(', ')}`);
});

/* Every page in every state, by colours and widths. */
const press = (...selectors) => async p => {
	for (const selector of selectors)
		await p.click(selector);
};
/* Channels of the portal, the ids of which say which: one of all assets, one of a long name, one of nothing. */
const channelId = n => `0190aaaa-0000-7000-8000-00000000000${n}`, hex = id => `UNHEX('${id.replaceAll('-', '')}')`;
const channelUrl = n => `${base}/c/${channelId(n)}`;
const portal = enabled => sql(`UPDATE tenants SET portal_enabled = ${enabled}`);
const LONG = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft and its yearly meeting';

for (const [n, name, description] of [[1, 'Lighthouses', 'Talks and recordings about lights at the sea, the people who keep them, and the ships that look for them at night.'],
	[2, LONG, `${LONG}. `.repeat(4)], [3, 'Nothing yet', '']])
	sql(`INSERT INTO channels (id, tenant_id, name, description, visibility, created_at, updated_at) SELECT ${hex(channelId(n))}, id,
		'${name}', NULLIF('${description}', ''), 'public', 1, 1 FROM tenants LIMIT 1`);
sql(`INSERT INTO media_channels (media_id, channel_id, created_at) SELECT id, ${hex(channelId(1))}, 1 FROM media UNION
	SELECT id, ${hex(channelId(2))}, 1 FROM media WHERE type = 'audio'`);

/* Stories of what is open by now: in one way, and by choice. */
const film = idOf(env.WATCH_languages);
const stories = {};
for (const [kind, choices] of [['static', [[['b']], [['c']], []]], ['interactive', [[['b', 'Hear both languages'], ['c', 'See <the> lens']], [['a', 'Once more']], []]]])
	stories[kind] = `${base}/watch/stories/${await send('/v2/stories', { kind, name: 'Lights at sea', description: 'What a keeper saw.', startSceneId: 'a',
		scenes: [['a', talk, 1, 2.5, 'The tower'], ['b', film, 2, 3.5, ''], ['c', talk, 6, 7, 'The lens']].map(([id, mediaId, start, end, title], i) =>
			({ id, mediaId, start, end, title, choices: choices[i].map(([sceneId, label]) => ({ sceneId, label })) })) })}`;
const sceneNow = (p, number) => until(p, n => document.querySelector(`#scene-${n} > a`).ariaCurrent === 'true' && !document.querySelector('video').paused, number);

await test('a story plays through', async () => {
	const p = await visit(stories.static);
	await p.click('.begin');
	await sceneNow(p, 1);
	await until(p, () => document.querySelector('video').currentTime > 1.2);
	await sceneNow(p, 2);
	await until(p, () => document.querySelector('video').currentTime >= 2 && document.querySelector('video').currentTime < 3);
	await shot(p, 'story-second');
	await sceneNow(p, 3);
	await until(p, () => document.querySelector('.crossing')?.textContent.includes('The end'));
	that(Math.abs((await state(p)).time - 7) < 0.4, `it went on to ${(await state(p)).time}`);
	that(new URL(p.url()).hash === '#scene-3', p.url());
	await shot(p, 'story-end');
	await p.click('.crossing button');
	await sceneNow(p, 1);
	await p.click('#scene-3 > a');
	await sceneNow(p, 3);
	await p.context().close();
});

await test('a story asks how it goes on, and the keyboard answers', async () => {
	const p = await visit(stories.interactive);
	await p.locator('.begin').press('Enter');
	await until(p, () => document.activeElement?.textContent === 'Hear both languages');
	await shot(p, 'story-choices');
	await p.keyboard.press('Tab');
	await p.keyboard.press('Enter');
	await sceneNow(p, 3);
	await until(p, () => document.querySelector('.crossing'));
	await p.click('.crossing >> text=Back');
	await sceneNow(p, 1);
	await p.reload();
	await until(p, () => document.querySelector('#scene-1 > a').ariaCurrent === 'true');
	await p.click('#scene-1 .ways a >> text=See <the> lens');
	await sceneNow(p, 3);
	await p.context().close();
});

await test('without a script a story is a list of links', async () => {
	const p = await visit(stories.interactive, { javaScriptEnabled: false });
	that(await p.locator('#scenes > li > a').count() === 3 && await p.locator('.ways a').count() === 3, 'links are missing');
	await p.click('.opening');
	that(p.url() === `${base}/watch/${talk}#t=1.000,2.500`, p.url());
	await p.context().close();
});

const STATES = {
	story: [stories.static, '.begin'],
	crossing: [`${stories.interactive}?lang=de#scene-3`, '.begin', async p => { await p.click('.begin'); await p.waitForSelector('.crossing'); }],
	nothing: [`${base}/`, '.empty', null, () => portal(0)],
	portal: [`${base}/`, '.card', null, () => portal(1)],
	channels: [`${base}/?lang=de`, '.card', p => p.keyboard.press('Tab')],
	channel: [channelUrl(1), '.card-length'],
	cards: [`${channelUrl(1)}?lang=de`, '.card-length', p => p.locator('.card a').first().focus(),
		() => sql(`UPDATE media SET name = '${LONG}' WHERE type = 'audio'`)],
	long: [channelUrl(2), '.card'],
	empty: [channelUrl(3), '.empty'],
	leer: [`${channelUrl(3)}?lang=de`, '.empty'],
	watch: [env.WATCH_talk, '.cue', null, () => sql(`DELETE FROM media_channels WHERE channel_id IN (${[1, 2].map(n => hex(channelId(n)))})`)],
	settings: [env.WATCH_talk, '.cue', press('.gear')],
	playing: [env.WATCH_talk, '.cue', async p => { await p.click('.begin'); await p.keyboard.press('c'); await p.waitForTimeout(300); await p.keyboard.press('k'); }],
	seeking: [env.WATCH_talk, '.cue', async p => { await p.click('.begin'); await p.hover('media-seek-backward-button'); }],
	share: [env.WATCH_talk, '.cue', press('#share')],
	keyboard: [env.WATCH_talk, '.cue', press('#help-button')],
	downloads: [env.WATCH_talk, '.cue', press('#downloads summary')],
	search: [env.WATCH_talk, '.cue', p => p.fill('#transcript-search input', 'the')],
	sound: [env.WATCH_sound, '.waveform'],
	picture: [env.WATCH_picture, '.picture'],
	animation: [env.WATCH_animation, '.begin'],
	document: [env.WATCH_document, '.stage.document'],
	waiting: [env.WATCH_talk, '.state.waiting', null, () => change(`status = 'processing', playlist_file = NULL, renditions = '[]', ${ingest('succeeded', 40)}`)],
	failed: [env.WATCH_talk, '.state.error', null, () => change(`status = 'failed', playlist_file = NULL, renditions = '[]', ${ingest('failed', 40)}`)],
	refused: [env.WATCH_talk.replace(/t=\d+/, 't=1700000000'), '.state.error', null, asItWas],
	embed: [env.EMBED_talk, '.begin'],
	interface: [`${base}/docs/#createUpload`, '#createUpload[open]'],
	guides: [`${base}/docs/`, '.guides'],
	guide: [`${base}/docs/webhooks`, '.guide h1'],
	tables: [`${base}/docs/errors`, '.guide table'],
	trying: [`${base}/docs/#updateMedia`, '#updateMedia .try', async p => {
		await p.click('#updateMedia .try summary:has-text("Try it")');
		await p.fill('#updateMedia [data-name=mediaId]', '019bc0c7-1f00-7000-8000-000000000001');
		await p.click('#updateMedia .try form button');
		await p.click('dialog >> text=Send');
		await p.waitForSelector('#updateMedia .parts pre');
	}],
	asking: [`${base}/docs/#createTag`, '#createTag .try', async p => {
		await p.click('#createTag .try summary:has-text("Try it")');
		await p.click('#createTag .try form button');
		await p.waitForSelector('dialog[open]');
	}],
};
const axe = readFileSync(`${env.NODE_MODULES}/axe-core/axe.min.js`, 'utf8');
const violations = [];
let states = 0;

await test('axe finds nothing in any state of any page', async () => {
	for (const [name, [address, ready, act, before]] of Object.entries(STATES)) {
		await before?.();
		const p = await visit(address, { reducedMotion: 'reduce' });
		await p.waitForSelector(ready);
		await act?.(p);
		await p.evaluate(axe);
		for (const colorScheme of ['light', 'dark'])
			for (const width of [400, 1280]) {
				await p.emulateMedia({ colorScheme });
				await p.setViewportSize({ width, height: 800 });
				await p.waitForTimeout(150);
				const found = await p.evaluate(() => axe.run(document, { iframes: false, resultTypes: ['violations'] }));
				for (const v of found.violations)
					violations.push(`${name} ${colorScheme} ${width}: ${v.id} ${v.nodes.map(n => n.target.join(' ')).slice(0, 3)}`);
				states++;
				await shot(p, `state-${name}-${colorScheme}-${width}`);
			}
		await p.setViewportSize({ width: 320, height: 800 });
		if (await p.evaluate(() => document.documentElement.scrollWidth > innerWidth))
			violations.push(`${name}: wider than 320 pixels`);
		await shot(p, `state-${name}-dark-320`);
		await p.close();
	}
	console.log(`# ${states} states`);
	that(states >= 100 && violations.length === 0, violations.join('\n'));
});
asItWas();

await test('no page asked for anything outside', async () => that(outside.length === 0, outside.join(' ')));
await test('no page complained', async () => that(complaints.length === 0, complaints.join(' | ')));
await browser.close();
