/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signs in with Chromium, with scripts and without, and looks at each page with axe; prints one line for each fault. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const env = process.env, realm = `${env.KINOTHEK_URL}/realms/test`;
const { chromium } = await import(pathToFileURL(`${env.NODE_MODULES}/playwright-core/index.mjs`));
const axe = readFileSync(`${env.NODE_MODULES}/axe-core/axe.min.js`, 'utf8');
const browser = await chromium.launch({ executablePath: env.CHROMIUM, timeout: 180000, args: ['--no-sandbox', '--disable-gpu'] });
let looked = 0;

async function look(page, name) {
	if (page.scripts)
		for (const colorScheme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme });
			await page.evaluate(axe);
			for (const v of (await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }))).violations)
				console.log(`${name} ${colorScheme}: ${v.id} ${v.nodes.map(n => n.target.join(' ')).slice(0, 3)}`);
		}
	await page.setViewportSize({ width: 320, height: 800 });
	if (page.scripts && await page.evaluate(() => document.documentElement.scrollWidth > innerWidth))
		console.log(`${name}: wider than 320 pixels`);
	await page.setViewportSize({ width: 1280, height: 800 });
	looked++;
}

async function fill(page, fields) {
	for (const [name, value] of Object.entries(fields))
		await page.fill(`[name=${name}]`, value);
	await page.click('main button');
}

// What an app reads from the screen is the address beside the picture.
async function camera(page) {
	const file = env.SCREENSHOT, want = await page.textContent('code.address');
	await page.locator('.qr').screenshot({ path: file });
	const got = spawnSync('zbarimg', ['--quiet', '--raw', file], { encoding: 'utf8' });
	if (got.error?.code !== 'ENOENT' && got.stdout.trim() !== want)
		console.log(`a camera reads ${got.stdout.trim() || got.stderr} instead of ${want}`);
}

for (const javaScriptEnabled of [true, false]) {
	const context = await browser.newContext({ javaScriptEnabled, locale: 'en-GB', bypassCSP: false });
	const page = await context.newPage();
	page.setDefaultTimeout(90000);
	page.scripts = javaScriptEnabled;
	page.on('console', m => m.type() === 'error' && !/Failed to load resource/.test(m.text()) && console.log(m.text()));
	await page.goto(`${realm}/login`);
	await look(page, 'sign-in');
	await fill(page, { login: 'browser', password: 'not this one' });
	await page.waitForSelector('[role=alert] a[href="#login"]');
	await look(page, 'refused');
	await fill(page, { login: 'browser', password: 'correct horse' });
	await page.waitForURL(`${realm}/account`);
	await page.waitForSelector('text=This browser');
	await look(page, 'account');
	await page.fill('#codes-password', 'correct horse');
	await page.click('text=Make a secret for an app');
	await page.waitForSelector('.secret');
	await look(page, 'secret');
	await camera(page);
	await page.click('header .language');
	await page.waitForSelector('html[lang=de]');
	await look(page, 'secret, in German');
	await page.click('header .language');
	await page.waitForSelector('html[lang=en]');
	await page.click('text=Sign out here');
	await page.waitForSelector('text=You are signed out');
	await look(page, 'signed out');
	await context.close();
}
await browser.close();
if (looked !== 12)
	console.log(`${looked} pages instead of 12`);
