/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What tests in a browser share: TAP with numbers from FIRST_TEST on, whose sentences begin with SERVER where that is set, and
 * the browser, CHROMIUM, by the playwright-core of NODE_MODULES.
 */
import { pathToFileURL } from 'node:url';

export const env = process.env, MINUTE = 60000;
const { chromium } = await import(pathToFileURL(`${env.NODE_MODULES}/playwright-core/index.mjs`));
const whose = env.SERVER ? `${env.SERVER}: ` : '';
let count = +env.FIRST_TEST - 1;

export const wait = ms => new Promise(done => setTimeout(done, ms));

export async function test(sentence, run) {
	count++;
	try {
		await run();
		console.log(`ok ${count} - ${whose}${sentence}`);
	} catch (error) {
		console.log(`not ok ${count} - ${whose}${sentence}\n# ${String(error.message ?? error).split('\n').slice(0, 6).join('\n# ')}`);
	}
}

export function that(fits, what) {
	if (!fits)
		throw new Error(what);
}

/* What the check gives, once that is something. */
export async function until(what, check) {
	const end = Date.now() + 3 * MINUTE;
	for (;;) {
		const found = await check();
		if (found)
			return found;
		that(Date.now() < end, `${what} within minutes`);
		await wait(100);
	}
}

export const launch = (...more) => chromium.launch({ executablePath: env.CHROMIUM, timeout: 3 * MINUTE, args: ['--no-sandbox', '--disable-gpu', '--disable-quic',
	'--mute-audio', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', ...more] });
