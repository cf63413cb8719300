// SPDX-License-Identifier: GPL-3.0-or-later
// Has the clients of clients-page.mjs bring files by Chromium; prints one line of TAP for each thing that held.
import { execSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, rmSync, statSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { basename } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const env = process.env;
const from = createRequire(`${env.NODE_MODULES}/none`);
const { chromium } = await import(pathToFileURL(`${env.NODE_MODULES}/playwright-core/index.mjs`));
const bundle = from('esbuild').buildSync({ entryPoints: [fileURLToPath(new URL('clients-page.mjs', import.meta.url))], bundle: true,
	write: false, format: 'iife', target: 'chrome110', nodePaths: [env.NODE_MODULES], logLevel: 'error' }).outputFiles[0].text;
const pages = createHttpServer((request, answer) => request.url === '/clients.js' ?
	answer.setHeader('Content-Type', 'text/javascript').end(bundle) :
	answer.setHeader('Content-Type', 'text/html').end('<!DOCTYPE html><title>Elsewhere</title><input type=file><script src=clients.js></script>'));
const base = env.KINOTHEK_URL;
const server = +new URL(base).port;
const nap = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The network between the browser and the server: its client's address can change, and it can be cut or hold still
// after so many bytes, so that there is a middle of a transfer in which things can happen.
const relay = { address: '127.0.0.5', cut: false, sockets: new Set(), left: Infinity, through: 0,
	held: null, addresses: new Set() };

function pump(socket, out) {
	socket.on('data', (bytes) => {
		relay.left -= bytes.length;
		relay.through += bytes.length;
		out.write(bytes) || socket.pause();
		if (relay.left <= 0) {
			socket.pause();
			relay.held?.();
		}
	});
	out.on('drain', () => relay.left > 0 && socket.resume());
}

const network = createServer((socket) => {
	if (relay.cut)
		return socket.resetAndDestroy();
	const out = connect({ port: server, host: '127.0.0.1', localAddress: relay.address });

	relay.addresses.add(relay.address);
	relay.sockets.add(socket);
	for (const [one, other] of [[socket, out], [out, socket]]) {
		one.on('error', () => other.destroy());
		one.on('close', () => { relay.sockets.delete(one); other.destroy(); });
	}
	pump(socket, out);
	out.pipe(socket);
});

function hold(after) {
	relay.left = after;
	relay.through = 0;
	return new Promise((resolve) => { relay.held = resolve; });
}

function release() {
	relay.left = Infinity;
	relay.held = null;
	for (const socket of relay.sockets)
		socket.resume();
}

function drop() {
	for (const socket of relay.sockets)
		socket.resetAndDestroy();
}

await new Promise((done) => pages.listen(+env.PAGE_PORT, '127.0.0.1', done));
await new Promise((done) => network.listen(+env.RELAY_PORT, '127.0.0.1', done));
const browser = await chromium.launch({ executablePath: env.CHROMIUM, timeout: 180000, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking',
	'--disable-component-update', '--no-first-run', '--disable-features=LocalNetworkAccessChecks',
	`--host-resolver-rules=MAP 127.0.0.1:${server} 127.0.0.1:${env.RELAY_PORT}`] });

function ok(what, yes, why = '') {
	console.log(`${yes ? 'ok' : 'not ok'} - ${what}${yes ? '' : ` # ${String(why).replaceAll('\n', ' ').slice(0, 300)}`}`);
}

async function sum(path) {
	const hash = createHash('sha256');

	for await (const piece of createReadStream(path))
		hash.update(piece);
	return hash.digest('hex');
}

async function ask(path, method = 'GET') {
	const answer = await fetch(`${base}${path}`, { method, headers: { Authorization: `Bearer ${env.TOKEN}`, 'Content-Type': 'application/json' },
		body: method === 'GET' ? undefined : '{}' });

	return { status: answer.status, data: (await answer.json()).data };
}

// What lies there is that file, the interface says so, and it becomes an asset.
async function arrived(what, id, path) {
	const wanted = await sum(path);
	const there = execSync(`'${env.FILES}/object' originals/${id} | sha256sum`).toString().slice(0, 64);
	const { data } = await ask(`/v2/uploads/${id}`);
	const done = await ask(`/v2/uploads/${id}/complete`, 'PUT');

	rmSync(`${env.DATA}/originals/${id}`, { force: true });		// large ones would fill the disk

	ok(what, there === wanted && data.sha256 === wanted && data.fileName === basename(path) && done.status === 200 && done.data.mediaId,
		`${id} ${there} ${JSON.stringify(data)} ${JSON.stringify(done)}`);
}

async function visit(context, path) {
	const page = await context.newPage();

	page.setDefaultTimeout(180000);
	page.on('console', (message) => message.type() === 'error' && console.error(message.text()));
	page.on('pageerror', (error) => console.error(error));
	await page.goto(`http://127.0.0.1:${env.PAGE_PORT}/`);
	await page.setInputFiles('input', path);
	return page;
}

// Resolves to { id } or { fault }.
const bring = (page, client) => page.evaluate(([name, how]) => window.bring(name, how), [client, { base, token: env.TOKEN }])
	.then((id) => ({ id }), (fault) => ({ fault }));

const signal = (name) => process.kill(-env.UPLOAD_PID, name);

// What happens in the middle of a transfer; resolves to what the client then came to.
const troubles = {
	'after its tab was killed': async (run) => {
		const session = await run.context.newCDPSession(run.page);
		session.send('Page.crash').catch(() => {});
		await Promise.race([run.result, new Promise((gone) => run.page.once('crash', gone))]);
		release();
		const page = await visit(run.context, run.path);
		const result = await bring(page, run.client);
		await page.close();
		return result;
	},
	'after the browser was offline': async (run) => {
		await run.context.setOffline(true);
		release();
		await nap(1500);
		await run.context.setOffline(false);
		return run.result;
	},
	'after the network was cut': async (run) => {
		relay.cut = true;
		drop();
		release();
		await nap(1500);
		relay.cut = false;
		return run.result;
	},
	'after the program was stopped for a while': async (run) => {
		signal('SIGSTOP');
		release();
		await nap(4000);
		signal('SIGCONT');
		return run.result;
	},
	'from another address': async (run) => {
		relay.address = '127.0.0.6';
		relay.addresses.clear();
		drop();
		release();
		const result = await run.result;
		if (!relay.addresses.has('127.0.0.6'))
			return { fault: 'came from the address that it had' };
		relay.address = '127.0.0.5';
		return result;
	},
};

const [byte, middle, large] = ['byte.txt', '1000000.mp4', 'large.mp4'].map((name) => `${env.FILES}/${name}`);
const LARGE = statSync(large).size, MIDDLE = 17e6, AGAIN = 12e6;	// AGAIN: what was on its way may be sent once more, not all that came
const all = ['Uppy in one PUT of S3', 'Uppy in parts of S3', 'Uppy by tus', 'tus-js-client'];

try {
	for (const client of all)
		for (const [size, path] of [['1 byte', byte], ['1 MB', middle], [`${LARGE / 1e6} MB`, large]]) {
			const context = await browser.newContext();
			const { id, fault } = await bring(await visit(context, path), client);

			if (fault)
				ok(`${client} brings ${size}`, false, fault);
			else
				await arrived(`${client} brings ${size}`, id, path);
			await context.close();
		}
	ok('all of it went through the network that can be cut', relay.addresses.has('127.0.0.5'));
	for (const client of all.slice(1))
		for (const [name, happen] of Object.entries(troubles)) {
			const context = await browser.newContext();
			const page = await visit(context, large);
			const held = hold(MIDDLE);
			const result = bring(page, client);
			await Promise.race([held, result]);
			const { id, fault } = await happen({ context, page, client, result, path: large });

			if (fault || relay.through > LARGE + AGAIN)
				ok(`${client} goes on ${name}`, false, fault ?? `${relay.through} bytes were sent`);
			else
				await arrived(`${client} goes on ${name}`, id, large);
			release();
			await context.close();
		}
} finally {
	signal('SIGCONT');
	await browser.close();
	pages.close();
	network.close();
	drop();
}
