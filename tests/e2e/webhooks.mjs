/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * listen PORT TLS_PORT CANARY_PORT DIR: receivers of webhooks, good and bad, which write each request into DIR/heard and each
 * connection to the canary into DIR/canary.  What it answers is in the path.
 * verify FILE PATH SECRET: prints webhook-id and type of each request at the path whose signature is good.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { pathToFileURL } from 'node:url';

const GIGABYTE = 1 << 30, PIECE = Buffer.alloc(1 << 16, 'z');

// As much as the other side takes.
function pour(response, dir) {
	let sent = 0;
	const more = () => {
		while (sent < GIGABYTE && !response.destroyed) {
			sent += PIECE.length;
			if (!response.write(PIECE))
				return response.once('drain', more);
		}
	};
	response.on('close', () => writeFileSync(`${dir}/poured`, `${sent}\n`));
	response.on('error', () => {});
	response.writeHead(200, { 'content-length': GIGABYTE });
	more();
}

function answer(request, response, dir, canary) {
	const name = request.url.slice(1);
	switch (name) {
	case 'fail': return response.writeHead(500).end('Oh no');
	case 'gone': return response.writeHead(410).end();
	case 'later': return response.writeHead(503, { 'retry-after': '1000' }).end();
	case 'away': return response.writeHead(307, { location: `http://127.0.0.1:${canary}/` }).end();
	case 'round': return response.writeHead(302, { location: '/round' }).end();
	case 'huge': return pour(response, dir);
	case 'cut':
		response.writeHead(200, { 'content-length': 100 });
		return response.write('short', () => request.socket.destroy());
	case 'silent': return undefined;
	case 'held':	// until somebody says go on
		return existsSync(`${dir}/go-on`) ? response.writeHead(204).end() : undefined;
	default: return response.writeHead(204).end();
	}
}

async function listen([port, tlsPort, canaryPort, dir]) {
	const handler = async (request, response) => {
		const parts = [];
		for await (const part of request)
			parts.push(part);
		appendFileSync(`${dir}/heard`, JSON.stringify({ path: request.url, headers: request.headers, body: Buffer.concat(parts).toString() }) + '\n');
		answer(request, response, dir, canaryPort);
	};
	const canary = () => net.createServer(socket => {
		appendFileSync(`${dir}/canary`, 'connected\n');
		socket.destroy();
	});
	http.createServer(handler).listen(port, '127.0.0.1');
	https.createServer({ key: readFileSync(`${dir}/tls.key`), cert: readFileSync(`${dir}/tls.crt`) }, handler).listen(tlsPort, '127.0.0.1');
	canary().listen(canaryPort, '0.0.0.0', () => canary().on('error', () => {}).listen({ port: canaryPort, host: '::', ipv6Only: true }));
}

async function verify([file, path, secret]) {
	const { Webhook } = await import(pathToFileURL(`${process.env.NODE_MODULES}/standardwebhooks/dist/index.js`));
	const webhook = new Webhook(secret);
	for (const line of readFileSync(file, 'utf8').split('\n').filter(line => line !== '')) {
		const heard = JSON.parse(line);
		if (heard.path !== path)
			continue;
		try {
			console.log(heard.headers['webhook-id'], webhook.verify(heard.body, heard.headers).type);
		} catch {
			continue;
		}
	}
}

const [what, ...rest] = process.argv.slice(2);
await { listen, verify }[what](rest);
