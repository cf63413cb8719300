/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests/e2e/follow has prepared, in three tabs; prints TAP. */
import { readFileSync } from 'node:fs';
import { MINUTE, env, launch, test, until } from './tap.mjs';

const base = env.KINOTHEK_URL, watch = `${base}/watch/${env.MEDIA}`, shelf = `${base}/c/${env.CHANNEL}`;
const complaints = [];
let renamed = 0;

/* Connections that kinothek-events holds; a line of the listening socket itself has another state. */
const streams = () => readFileSync('/proc/net/unix', 'utf8').split('\n')
	.filter(l => l.includes(`${env.STACK}/run/events.sock`) && l.split(/\s+/)[5] === '03').length;

const oneStream = () => until('one stream', () => streams() === 1);

async function rename() {
	const name = `Name ${env.SERVER} ${++renamed}`;
	const answer = await fetch(`${base}/v2/media/${env.MEDIA}`, { method: 'PATCH', body: JSON.stringify({ name }),
		headers: { Authorization: `Bearer ${env.TOKEN}`, 'Content-Type': 'application/json' } });
	if (!answer.ok)
		throw new Error(`renaming: ${answer.status}`);
	return name;
}

const shows = (tab, name) => tab.waitForFunction(n => document.querySelector('main').textContent.includes(n), name, { timeout: 3 * MINUTE });

async function tabs(context, ...addresses) {
	const all = [];
	for (const address of addresses) {
		const page = await context.newPage();
		page.on('pageerror', e => complaints.push(e.message));
		page.on('console', m => m.type() === 'error' && !/Failed to load resource|EventSource/.test(m.text()) && complaints.push(m.text()));
		const answer = await page.goto(address, { timeout: 3 * MINUTE });
		if (!answer.ok() || !await page.locator('main').count())
			throw new Error(`${answer.status()} at ${address}: ${(await answer.text()).slice(0, 300)}`);
		all.push(page);
	}
	return all;
}

const browser = await launch();

if (env.SERVER !== 'fcgid') {
	const context = await browser.newContext();
	const [first, second, third] = await tabs(context, watch, watch, shelf);

	await test('three tabs have one stream', oneStream);
	await test('each shows a new title', async () => {
		const name = await rename();
		await Promise.all([first, second, third].map(tab => shows(tab, name)));
		await oneStream();
	});
	await test('when the tab that holds it closes, another goes on, and nothing is missed', async () => {
		await first.close({ runBeforeUnload: false });
		const name = await rename();
		await Promise.all([second, third].map(tab => shows(tab, name)));
		await oneStream();
	});
	await test('so it is for the last one', async () => {
		await second.close();
		await shows(third, await rename());
		await oneStream();
	});
	await test('and without tabs there is none', async () => {
		await context.close();
		await until('no stream', () => streams() === 0);
	});
	await test('where streams are refused the list is asked, by one tab', async () => {
		const refused = await browser.newContext();
		let asking = 0, most = 0;
		await refused.route('**/watch/events*', route => route.request().resourceType() === 'eventsource' ?
			route.fulfill({ status: 429, body: '' }) : route.continue());
		refused.on('request', r => r.resourceType() === 'fetch' && r.url().includes('/watch/events') && (most = Math.max(most, ++asking)));
		for (const event of ['requestfinished', 'requestfailed'])
			refused.on(event, r => r.resourceType() === 'fetch' && r.url().includes('/watch/events') && asking--);
		const both = await tabs(refused, watch, shelf);
		await until('a question', () => most > 0);
		const name = await rename();
		await Promise.all(both.map(tab => shows(tab, name)));
		if (most > 2)		/* one, and one more while the first is given up */
			throw new Error(`${most} questions at once`);
		await refused.close();
	});
} else {
	await test('what has no streams is followed by lists', async () => {
		const context = await browser.newContext();
		const both = await tabs(context, watch, shelf);
		const name = await rename();
		await Promise.all(both.map(tab => shows(tab, name)));
		await context.close();
	});
}
await test('no page complained', async () => {
	if (complaints.length)
		throw new Error(complaints.join(' | '));
});
await browser.close();
