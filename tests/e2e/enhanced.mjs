/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many lines has the picture of a livestream in a browser, once it has gone on for some seconds?  Prints them. */
import { MINUTE, env, launch } from './tap.mjs';

const SECONDS = 4;
const browser = await launch();
try {
	const page = await browser.newPage();
	await page.goto(`${env.KINOTHEK_URL}/watch/${env.MEDIA}`, { timeout: 3 * MINUTE });
	await page.locator('.begin').waitFor({ timeout: 3 * MINUTE });
	await page.click('.begin');
	await page.waitForFunction(() => document.querySelector('video')?.videoHeight > 0, undefined, { timeout: 3 * MINUTE });
	const from = await page.evaluate(() => document.querySelector('video').currentTime);
	await page.waitForFunction(end => document.querySelector('video').currentTime > end, from + SECONDS, { timeout: 3 * MINUTE });
	console.log(await page.evaluate(() => document.querySelector('video').videoHeight));
} finally {
	await browser.close();
}
