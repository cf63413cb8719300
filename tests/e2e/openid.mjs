/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signs in and out as programs and people do, for tests/e2e/openid; prints TAP. */
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const env = process.env;
const oidc = await import(pathToFileURL(`${env.NODE_MODULES}/openid-client/build/index.js`));
const plain = { execute: [oidc.allowInsecureRequests] };
const callback = 'http://127.0.0.1:1/callback';
let count = +env.FIRST_TEST - 1;

async function test(sentence, run) {
	count++;
	try {
		await run();
		console.log(`ok ${count} - ${env.SERVER}: ${sentence}`);
	} catch (error) {
		const text = `${error.stack ?? error} ${error.cause ? JSON.stringify(error.cause) : ''}`;
		console.log(`not ok ${count} - ${env.SERVER}: ${sentence}\n# ${text.split('\n').slice(0, 6).join('\n# ')}`);
	}
}

function that(condition, text) {
	if (!condition)
		throw new Error(text);
}

/* Must be refused with that error. */
async function refused(promise, error) {
	try {
		await promise;
	} catch (e) {
		/* Who came by HTTP Basic is answered by a challenge. */
		that(e.error === error || (error === 'invalid_client' && e.status === 401), `${e.error ?? e}: ${error} was expected`);
		return;
	}
	throw new Error(`${error} was expected`);
}

/* A browser without scripts: cookies by path, no redirect followed by itself. */
class Browser {
	cookies = new Map();

	async ask(url, options = {}) {
		const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
		const answer = await fetch(url, { redirect: 'manual', ...options, headers: { ...options.headers, ...(cookie && { cookie }) } });

		for (const line of answer.headers.getSetCookie()) {
			const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);

			that(/; HttpOnly/.test(line) && /; SameSite=Lax/.test(line) && /; Path=\/realms\/test\//.test(line), line);
			if (value === '')
				this.cookies.delete(name);
			else
				this.cookies.set(name, value);
		}
		return answer;
	}

	/* As far as pages of ours lead by themselves; a page is answered as { url, html }, another site as { url }. */
	async go(url, options) {
		for (let i = 0; i < 10; i++) {
			const answer = await this.ask(url, options);
			const next = answer.headers.get('location') ?? /^0;url=(.*)$/.exec(answer.headers.get('refresh') ?? '')?.[1];

			options = undefined;
			if (!next)
				return { url, html: await answer.text(), status: answer.status };
			url = new URL(next, url).href;
			if (!url.startsWith(env.KINOTHEK_URL))
				return { url };
		}
		throw new Error(`no end at ${url}`);
	}

	/* Sends the form of the page, with what a person fills in. */
	send(page, filled) {
		const text = (s) => s.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'");
		const form = new URLSearchParams(filled);

		for (const [, name, value] of page.html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g))
			form.set(name, text(value));
		return this.go(new URL(text(/<form method="post" action="([^"]*)"/.exec(page.html)[1]), page.url).href, { method: 'POST', body: form });
	}
}

/* A request to sign in, and what is needed to end it. */
async function request(config, more = {}) {
	const verifier = oidc.randomPKCECodeVerifier(), state = oidc.randomState(), nonce = oidc.randomNonce();
	const url = oidc.buildAuthorizationUrl(config, { redirect_uri: callback, scope: 'openid profile email ViewChannel ViewMetadata', state, nonce,
		code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256', ...more });

	return { url: url.href, end: (at) => oidc.authorizationCodeGrant(config, new URL(at),
		{ pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }) };
}

const api = (token) => fetch(`${env.KINOTHEK_URL}/v2/media`, { headers: { authorization: `Bearer ${token}` } });
const browser = new Browser();
let config, tokens;

await test('discovery says all that the library wants', async () => {
	config = await oidc.discovery(new URL(env.ISSUER), env.PUBLIC_ID, undefined, oidc.None(), plain);
	that(config.serverMetadata().supportsPKCE(), 'PKCE is not announced');
});

await test('a user signs in by the page for passwords', async () => {
	const { url, end } = await request(config);
	const page = await browser.go(url);

	that(page.status === 200 && page.html.includes('name="password"'), `no page for passwords: ${page.status}`);
	const again = await browser.send(page, { login: 'anna', password: 'wrong' });
	that(again.status === 403 && again.html.includes('name="password"'), 'a wrong password is taken');
	const back = await browser.send(again, { login: 'anna', password: env.PASSWORD });
	that(back.url.startsWith(`${callback}?code=`), back.url);
	tokens = await end(back.url);
	const claims = tokens.claims();
	that(claims.name === 'Anna Å' && claims.preferred_username === 'anna' && claims.email === 'anna@example.org', JSON.stringify(claims));
	that(tokens.refresh_expires_in > 0, 'no end of the refresh token');
});

await test('the interface takes the token', async () => {
	const answer = await api(tokens.access_token);

	that(answer.status === 200, `${answer.status} ${await answer.text()}`);
});

await test('userinfo tells of the user', async () => {
	const info = await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);

	that(info.name === 'Anna Å' && info.email === 'anna@example.org', JSON.stringify(info));
});

await test('a code is good once', async () => {
	const { url, end } = await request(config);
	const back = await browser.go(url);
	const first = await end(back.url);

	that(first.access_token, 'no token');
	await refused(end(back.url), 'invalid_grant');
	await refused(oidc.refreshTokenGrant(config, first.refresh_token), 'invalid_grant');
});

await test('who is signed in is not asked again, but where the client wants it', async () => {
	const silent = await request(config, { prompt: 'none' });
	const back = await browser.go(silent.url);
	that((await silent.end(back.url)).access_token, 'no token');
	const strict = await request(config, { prompt: 'login' });
	const page = await browser.go(strict.url);
	that(page.html?.includes('name="password"'), `no page for passwords: ${page.url}`);
	const again = await browser.send(page, { login: 'anna', password: env.PASSWORD });
	that((await strict.end(again.url)).access_token, 'no token');
	const nobody = await request(config, { prompt: 'none' });
	await refused(nobody.end((await new Browser().go(nobody.url)).url), 'login_required');
});

await test('a refresh token gives the next one, and a stolen one ends all', async () => {
	const next = await oidc.refreshTokenGrant(config, tokens.refresh_token);

	that(next.claims().sub === tokens.claims().sub && next.refresh_token !== tokens.refresh_token, 'not the next one');
	that((await api(next.access_token)).status === 200, 'the token is not taken');
	await refused(oidc.refreshTokenGrant(config, tokens.refresh_token), 'invalid_grant');
	await refused(oidc.refreshTokenGrant(config, next.refresh_token), 'invalid_grant');
});

await test('a token is given back', async () => {
	const { url, end } = await request(config);
	const given = await end((await browser.go(url)).url);

	await oidc.tokenRevocation(config, given.refresh_token);
	await refused(oidc.refreshTokenGrant(config, given.refresh_token), 'invalid_grant');
});

await test('an address that is not registered leads nowhere', async () => {
	const { url } = await request(config, { redirect_uri: 'https://evil.example/callback' });
	const page = await browser.go(url);

	that(page.status === 400 && page.url.startsWith(env.KINOTHEK_URL), `${page.status} ${page.url}`);
});

await test('a user signs out', async () => {
	const { url, end } = await request(config);
	const given = await end((await browser.go(url)).url);
	const bye = await browser.go(oidc.buildEndSessionUrl(config, { id_token_hint: given.id_token,
		post_logout_redirect_uri: 'http://127.0.0.1:1/bye', state: 'x y' }).href);

	that(bye.url === 'http://127.0.0.1:1/bye?state=x%20y', bye.url);
	await refused(oidc.refreshTokenGrant(config, given.refresh_token), 'invalid_grant');
	that((await browser.go((await request(config)).url)).html.includes('name="password"'), 'still signed in');
});

for (const [name, way] of [['the header', oidc.ClientSecretBasic], ['the form', oidc.ClientSecretPost]])
	await test(`a client signs in for itself by ${name}`, async () => {
		const own = await oidc.discovery(new URL(env.ISSUER), env.SITE_ID, undefined, way(env.SITE_SECRET), plain);
		const given = await oidc.clientCredentialsGrant(own, { scope: 'ViewChannel' });

		that(given.scope === 'ViewChannel' && given.refresh_expires_in === 0 && !given.refresh_token, JSON.stringify(given));
		await refused(oidc.clientCredentialsGrant(await oidc.discovery(new URL(env.ISSUER), env.SITE_ID, undefined, way('x'), plain)),
			'invalid_client');
	});

if (env.CHROMIUM) {
	const { chromium } = await import(pathToFileURL(`${env.NODE_MODULES}/playwright-core/index.mjs`));
	const program = await chromium.launch({ executablePath: env.CHROMIUM, timeout: 180000, args: ['--no-sandbox', '--disable-gpu', '--no-first-run',
		'--disable-background-networking', '--disable-component-update', '--disable-sync'] });
	const page = await (await program.newContext()).newPage();
	const complaints = [];
	/* Another site, which a page of ours may not send a form to. */
	const site = createServer((_, answer) => answer.end('<title>App</title>')).listen(0, '127.0.0.1');
	await new Promise((done) => site.once('listening', done));
	const home = `http://127.0.0.1:${site.address().port}`;

	page.setDefaultTimeout(90000);
	page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
	await test('a browser goes from the page for passwords to another site, and none of our rules is in the way', async () => {
		const { url, end } = await request(config, { redirect_uri: `${home}/callback` });

		await page.goto(url);
		await page.fill('input[name=login]', 'anna');
		await page.fill('input[name=password]', env.PASSWORD);
		await page.click('button[type=submit]');
		await page.waitForURL(`${home}/callback?*`);
		that((await end(page.url())).access_token, 'no token');
		that(complaints.every((text) => /favicon|404/.test(text)), complaints.join('; '));
	});
	await test('a browser asks before it signs out for a stranger, and goes on from there', async () => {
		await page.goto(`${env.ISSUER}/protocol/openid-connect/logout?client_id=${env.PUBLIC_ID}&post_logout_redirect_uri=` +
			encodeURIComponent(`${home}/bye`));
		await page.click('main button[type=submit]');
		await page.waitForURL(`${home}/bye`);
		that(complaints.every((text) => /favicon|404/.test(text)), complaints.join('; '));
		await page.goto((await request(config)).url);
		that(await page.locator('input[name=password]').count() === 1, 'still signed in');
	});
	await program.close();
	site.close();
}
