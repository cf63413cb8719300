// SPDX-License-Identifier: GPL-3.0-or-later
// tour.mjs DIR: runs the compiled tour and document in DIR against KINOTHEK_URL and writes DIR/exchanges.json, for examples.mjs, and the
// answers for tests/e2e/contract.  DIR has film.mp4 and picture.png.  Around each call proof.mjs proves what it can; its table and what
// it found wrong go to DIR/rows and DIR/faults.
import { createHash, randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath, pathToFileURL } from 'node:url';
import proofs, { readRows } from './proof.mjs';

const env = process.env, [dir] = process.argv.slice(2);
const { default: tour } = await import(pathToFileURL(`${dir}/out/tour.js`));
const { client } = await import(pathToFileURL(`${dir}/out/client/client.gen.js`));
const operations = await import(pathToFileURL(`${dir}/out/client/sdk.gen.js`));
const file = (name, type) => new File([readFileSync(`${dir}/${name}`)], name, { type });
const film = file('film.mp4', 'video/mp4'), picture = file('picture.png', 'image/png');

// The last good exchange of each operation, what was asked again and again is over by then; and its call, to be sent once more.
const exchanges = {}, calls = new Map();
let operation, token = '';

const bodyOf = (type, text) => type.startsWith('application/json') ? JSON.parse(text) :
	type.startsWith('application/x-www-form-urlencoded') ? Object.fromEntries(new URLSearchParams(text)) :
	type.startsWith('application/x-subrip') ? text : undefined;

const keep = (answer) => env.KINOTHEK_RECORD && appendFileSync(`${env.KINOTHEK_RECORD}/answers.tour.jsonl`, `${JSON.stringify(answer)}\n`);
const proof = proofs({ doc: JSON.parse(readFileSync(fileURLToPath(new URL('../../docs/openapi.json', import.meta.url)), 'utf8')),
	rows: readRows(fileURLToPath(new URL('tour.rows', import.meta.url))), url: env.KINOTHEK_URL, record: keep,
	powerless: { ViewChannel: env.TOUR_VIEW_CHANNEL, ViewMetadata: env.TOUR_VIEW_METADATA } });

const kept = async (method, path, answer) => {
	const type = answer.headers.get('content-type') ?? '';

	return { method, path, status: answer.status, type,
		headers: `HTTP/1.1 ${answer.status}\r\n${[...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n`,
		body: type.includes('json') ? await answer.clone().text() : '' };
};

async function record(request) {
	const sent = request.body ? Buffer.from(await request.clone().arrayBuffer()) : undefined;
	const url = new URL(request.url), path = url.pathname + url.search;
	const headers = Object.fromEntries(['Authorization', 'Content-Type'].map((name) => [name, request.headers.get(name)]).filter(([, value]) => value));
	const call = { operation, method: request.method, path, headers, body: sent?.byteLength ? sent : undefined };
	let answer;

	await proof.around(call, async () => {
		answer = await fetch(request);
		const one = await kept(request.method, path, answer);
		keep(one);
		return one;
	});
	if (answer.status >= 400)
		return answer;
	calls.set(call.operation, call);
	const type = answer.headers.get('content-type') ?? '', text = await answer.clone().text();
	const asked = { method: request.method, path: url.pathname, query: Object.fromEntries(url.searchParams) };
	if (sent?.byteLength) {
		asked.type = request.headers.get('content-type');
		asked.body = bodyOf(asked.type, new TextDecoder().decode(sent));
		if (asked.body === undefined)
			asked.file = picture.name;
	}
	exchanges[call.operation] = { at: Date.now(), request: asked, answer: { status: answer.status, type: type.replace(/;.*/, ''),
		body: type.includes('json') ? JSON.parse(text) : text } };
	return answer;
}

// Says its name before each call; calls come one after the other.
const named = Object.fromEntries(Object.entries(operations).map(([name, call]) => [name, (...given) => {
	operation = name;
	return call(...given);
}]));

// Signs in by the page, as a browser without scripts, and fetches a token with the code.
async function signIn() {
	const realm = `${env.KINOTHEK_URL}/realms/${env.KINOTHEK_TENANT}`, cookies = new Map(), verifier = randomBytes(32).toString('hex');
	const ask = async (url, options = {}) => {
		const answer = await fetch(url, { redirect: 'manual', ...options, headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') } });
		for (const line of answer.headers.getSetCookie())
			cookies.set(...line.split(';', 1)[0].split(/=(.*)/s));
		return answer;
	};
	const page = await (await ask(`${realm}/login`)).text();
	await ask(`${realm}/login`, { method: 'POST', body: new URLSearchParams({ login: 'anna', password: env.TOUR_PASSWORD,
		csrf: /name="csrf" value="([^"]*)"/.exec(page)[1] }) });
	const back = 'https://app.example.org/back';
	const found = await ask(`${realm}/protocol/openid-connect/auth?${new URLSearchParams({ response_type: 'code', client_id: env.TOUR_PUBLIC_ID,
		redirect_uri: back, scope: 'openid profile email ViewChannel', code_challenge_method: 'S256',
		code_challenge: createHash('sha256').update(verifier).digest('base64url') })}`);
	const { access_token } = await (await ask(`${realm}/protocol/openid-connect/token`, { method: 'POST', body: new URLSearchParams({
		grant_type: 'authorization_code', client_id: env.TOUR_PUBLIC_ID, redirect_uri: back, code_verifier: verifier,
		code: new URL(found.headers.get('location')).searchParams.get('code') }) })).json();
	if (!access_token)
		throw new Error('nobody has signed in');
	return access_token;
}

const runs = (pid) => {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
};
async function stop(pid) {
	process.kill(pid, 'SIGTERM');
	for (const end = Date.now() + 60_000; runs(pid) && Date.now() < end;)
		await new Promise((resolve) => setTimeout(resolve, 50));
}

// The same service by the other client, openapi-fetch, for which openapi-typescript makes the types.
async function again() {
	const { connect, token: grant, names, asset, ingest } = await import(pathToFileURL(`${dir}/out/document.js`));
	const id = exchanges.getMedia.answer.body.data.id;

	connect(env.KINOTHEK_URL);
	connect(env.KINOTHEK_URL, await grant(env.KINOTHEK_TENANT, env.KINOTHEK_CLIENT_ID, env.KINOTHEK_CLIENT_SECRET));
	const told = [(await names()).some((name) => name.startsWith('Opening of the conference ')), await asset(id), await ingest(id)];
	if (told[0] !== true || !told[1]?.startsWith('ready http') || told[2] !== false)
		throw new Error(`openapi-fetch is told ${JSON.stringify(told)}`);
}

// What webhooks have brought, in their order, with how often each came.
const came = [];
const receiver = createServer((request, answer) => {
	let text = '';

	if (request.url === '/film.mp4')	// what is imported
		return film.arrayBuffer().then((bytes) => answer.end(Buffer.from(bytes)));
	if (request.url === '/silent')
		return;
	if (request.method === 'GET')		// a server of OParl, too
		return answer.end(JSON.stringify({ id: `http://${request.headers.host}${request.url}`, type: 'https://schema.oparl.org/1.1/Meeting',
			name: 'Council, 12th meeting', start: '2026-03-05T17:00:00+01:00', agendaItem: [['1', 'Opening', '00'], ['2', 'Budget', '02'], ['2.1', 'Staff', '']]
				.map(([number, name, second], order) => ({ type: 'https://schema.oparl.org/1.1/AgendaItem', order, number, name,
					...second && { start: `2026-03-05T17:00:${second}+01:00` } })) }));

	request.setEncoding('utf8').on('data', (piece) => { text += piece; }).on('end', () => {
		const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name.startsWith('webhook-')));
		const message = { at: Date.now(), headers, body: JSON.parse(text), times: 1 + came.filter((one) => one.headers['webhook-id'] === headers['webhook-id']).length };

		came.push(message);
		keep({ webhook: message.body.type, body: text });
		answer.end('Thank you');
	});
});
async function message(fits, times = 1) {
	for (const end = Date.now() + 180_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 50))) {
		const first = came.find(({ body }) => fits(body));
		const found = first && came.find((one) => one.headers['webhook-id'] === first.headers['webhook-id'] && one.times === times);

		if (found) {
			exchanges[found.body.type] = { at: found.at, request: { method: 'POST', path: '/kinothek', query: {}, type: 'application/json',
				headers: found.headers, body: found.body }, answer: { status: 200, type: 'text/plain', body: 'Thank you' } };
			return found.headers['webhook-id'];
		}
	}
	throw new Error(`no webhook came ${times} times that is ${fits}`);
}

// Up to and with the first event, which a comment or a position may come before; with a body all of it, by POST.
async function stream(of, path, body) {
	const url = env.KINOTHEK_URL + path, headers = { Accept: 'text/event-stream', Authorization: `Bearer ${token}` };

	if (body) {
		operation = of;
		await record(new Request(url, { method: 'POST', body: JSON.stringify(body), headers: { ...headers, 'Content-Type': 'application/json' } }));
		return;
	}
	const end = new AbortController();
	const answer = await fetch(url, { signal: end.signal, headers });
	let text = '';

	proof.check(await kept('GET', path, answer));
	for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
		text += piece;
		if (/^event: .*\n(.*\n)*\n/m.test(text))
			break;
	}
	end.abort();
	exchanges[of].answer.stream = text;
}

await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
client.setConfig({ baseUrl: env.KINOTHEK_URL, auth: () => token, fetch: record });
try {
	await tour(named, {
		tenant: env.KINOTHEK_TENANT, clientId: env.KINOTHEK_CLIENT_ID, clientSecret: env.KINOTHEK_CLIENT_SECRET, publicId: env.TOUR_PUBLIC_ID, film, picture,
		receiver: `http://127.0.0.1:${receiver.address().port}/kinothek`,
		setToken: (given) => { token = given; },
		send: async (url, headers, body) => {
			const answer = await fetch(url, { method: 'PUT', headers, body });
			if (!answer.ok)
				throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
		},
		message, stream, stopJobs: () => stop(env.TOUR_JOBS_PID), signIn,
	});
	await again();
	await stop(env.TOUR_DB_PID);
	await proof.unavailable(calls.values());
} finally {
	receiver.close();
	receiver.closeAllConnections();
	writeFileSync(`${dir}/exchanges.json`, JSON.stringify(exchanges, null, '\t'));
	const table = [];
	writeFileSync(`${dir}/faults`, proof.report((line) => table.push(line)).map((line) => `${line}\n`).join(''));
	writeFileSync(`${dir}/rows`, table.map((line) => `${line}\n`).join(''));
}
