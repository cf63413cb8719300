/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What scripts of a page of another origin can do, for tests/e2e/cors; fails with the first that is otherwise. */
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const env = process.env;
const { chromium } = await import(pathToFileURL(`${env.NODE_MODULES}/playwright-core/index.mjs`));
const server = createServer((_, answer) => answer.setHeader('Content-Type', 'text/html').end('<title>Elsewhere</title>'));

await new Promise(done => server.listen(+env.PAGE_PORT, '127.0.0.1', done));
const browser = await chromium.launch({ executablePath: env.CHROMIUM, timeout: 180000, args: ['--no-sandbox', '--disable-gpu'] });

function that(condition, text) {
	if (!condition)
		throw new Error(text);
}

/* Runs in the page.  An answer that it may not read is { blocked }. */
async function ask([url, method, headers, body]) {
	try {
		const answer = await fetch(url, { method, headers, body });

		return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.json().catch(() => null) };
	} catch (error) {
		return { blocked: String(error) };
	}
}

try {
	const page = await (await browser.newContext()).newPage();
	page.setDefaultTimeout(180000);
	const call = (url, method = 'GET', headers = {}, body) => page.evaluate(ask, [new URL(url, env.KINOTHEK_URL).href, method, headers, body]);
	const token = async (tenant, id, secret) => call(`/realms/${tenant}/protocol/openid-connect/token`, 'POST',
		{ 'Content-Type': 'application/x-www-form-urlencoded' }, `grant_type=client_credentials&client_id=${id}&client_secret=${secret}`);

	await page.goto(`http://127.0.0.1:${env.PAGE_PORT}/`);
	let got = await call(`/realms/${env.KINOTHEK_TENANT}/.well-known/openid-configuration`);
	that(got.status === 200 && got.body.issuer, `discovery: ${JSON.stringify(got)}`);
	got = await token(env.KINOTHEK_TENANT, env.KINOTHEK_CLIENT_ID, env.KINOTHEK_CLIENT_SECRET);
	that(got.status === 200, `a token: ${JSON.stringify(got)}`);
	const bearer = { Authorization: `Bearer ${got.body.access_token}` };
	got = await call('/v2/tenants/current/settings', 'GET', bearer);
	that(got.status === 200 && got.headers.etag && got.headers['x-request-id'], `reads, also ETag: ${JSON.stringify(got)}`);
	got = await call('/v2/media', 'GET', { Authorization: 'Bearer none' });
	that(got.status === 401 && got.body.data.code === 'unauthorized', `a refusal: ${JSON.stringify(got)}`);
	got = await call('/v2/uploads', 'POST', { ...bearer, 'Content-Type': 'application/json' }, '{"fileName":"a.txt","type":"put"}');
	that(got.status === 201 && got.headers.location, `writes, also Location: ${JSON.stringify(got)}`);
	const { url } = got.body.data.input;
	got = await call(url, 'PUT', { 'Content-Type': 'application/octet-stream' }, 'A text of few words.');
	that(got.status === 200 && got.body.data.receivedBytes === 20, `bytes: ${JSON.stringify(got)}`);

	/* The second tenant has never heard of this page. */
	got = await token(env.SECOND_TENANT, env.SECOND_ID, env.SECOND_SECRET);
	that(got.blocked, `a token of another tenant: ${JSON.stringify(got)}`);
	const made = await (await fetch(`${env.KINOTHEK_URL}/realms/${env.SECOND_TENANT}/protocol/openid-connect/token`, { method: 'POST',
		body: new URLSearchParams({ grant_type: 'client_credentials', client_id: env.SECOND_ID, client_secret: env.SECOND_SECRET }) })).json();
	got = await call('/v2/media', 'GET', { Authorization: `Bearer ${made.access_token}` });
	that(got.blocked, `media of another tenant: ${JSON.stringify(got)}`);

	/* A page that no tenant names; and one in a frame without an origin. */
	await page.goto(`http://localhost:${env.PAGE_PORT}/`);
	got = await call('/v2/media', 'GET', bearer);
	that(got.blocked, `another origin: ${JSON.stringify(got)}`);
	await page.goto('data:text/html,<title>Nowhere</title>');
	got = await call('/v2/media', 'GET', bearer);
	that(got.blocked, `no origin: ${JSON.stringify(got)}`);
} finally {
	await browser.close();
	server.close();
}
