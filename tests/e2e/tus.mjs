// SPDX-License-Identifier: GPL-3.0-or-later
// Uploads by tus-js-client, as its users write them; prints one line of TAP for each thing that held.
// tus.mjs ENDPOINT TOKEN FILE OBJECT LABEL: OBJECT is the program that prints one of the store.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const from = createRequire(`${process.env.NODE_MODULES}/none`);
const tus = from('tus-js-client');
const [, , endpoint, token, file, object, label] = process.argv;
const bytes = readFileSync(file);
const MIB = 1 << 20;

// What it resolves to: the address, or the status that refused it.
function upload(options, from = bytes) {
	return new Promise((resolve) => {
		const u = new tus.Upload(from, { endpoint, headers: { Authorization: `Bearer ${token}` },
			metadata: { filename: 'a film.mp4', filetype: 'video/mp4' }, retryDelays: [100, 500, 1000], ...options,
			onSuccess: () => resolve(u.url), onError: (error) => resolve(error.originalResponse?.getStatus() ?? String(error)) });
		options.begun?.(u, resolve);
		u.start();
	});
}

const id = (url) => /tus\/([0-9a-f-]{36})\?ticket=/.exec(url)?.[1];

function holds(url) {
	try {
		return execFileSync(object, [`originals/${id(url)}`], { maxBuffer: 64 * MIB }).equals(bytes);
	} catch {
		return false;
	}
}

function ok(what, yes, why = '') {
	console.log(`${yes ? 'ok' : 'not ok'} - ${label}: ${what}${yes ? '' : ` # ${why}`}`);
}

const ask = (url, method, headers = {}, body = undefined) => fetch(url, { method, body,
	headers: { 'Tus-Resumable': '1.0.0', ...headers } });

let url = await upload({ chunkSize: 3 * MIB });
ok('tus-js-client brings a file in pieces', holds(url), url);

url = await upload({ chunkSize: Infinity });
ok('and in one', holds(url), url);

url = await upload({ chunkSize: 4 * MIB, parallelUploads: 3 });
ok('and in parts beside each other', holds(url), url);

if (label !== 'fcgid') {
	url = await upload({ chunkSize: 5 * MIB, uploadDataDuringCreation: true });
	ok('and from the first request on', holds(url), url);
}

// Broken in the middle, and gone on with by another client that knows no more than the address.
const broken = await upload({ chunkSize: 2 * MIB, begun: (u, resolve) => {
	u.options.onChunkComplete = (n, accepted) => {
		if (accepted >= 4 * MIB)
			u.abort().then(() => resolve(u.url));
	};
} });
let answer = await ask(broken, 'HEAD');
const offset = Number(answer.headers.get('Upload-Offset'));
ok('a broken one tells where it goes on', answer.status === 204 && offset >= 4 * MIB && offset < bytes.length,
	`${answer.status} ${offset}`);
ok('and how long it will be, and until when', Number(answer.headers.get('Upload-Length')) === bytes.length &&
	Date.parse(answer.headers.get('Upload-Expires')) > Date.now() && answer.headers.get('Cache-Control') === 'no-store', '');
answer = await ask(broken, 'PATCH', { 'Upload-Offset': '0', 'Content-Type': 'application/offset+octet-stream' }, 'x');
ok('bytes of another place are refused', answer.status === 409, answer.status);
answer = await ask(broken, 'PATCH', { 'Upload-Offset': String(offset), 'Content-Type': 'application/offset+octet-stream',
	'Upload-Checksum': 'sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }, bytes.subarray(offset, offset + 1000));
ok('bytes with another checksum are thrown away', answer.status === 460, answer.status);
answer = await ask(broken, 'POST', { 'X-HTTP-Method-Override': 'PATCH', 'Upload-Offset': String(offset),
	'Content-Type': 'application/offset+octet-stream' }, bytes.subarray(offset, offset + 1000));
ok('a POST may stand for PATCH', answer.status === 204 && Number(answer.headers.get('Upload-Offset')) === offset + 1000,
	answer.status);
url = await upload({ uploadUrl: broken, chunkSize: 4 * MIB });
ok('and it goes on', url === broken && holds(broken), url);
answer = await ask(broken, 'HEAD');
ok('what is all there says so', Number(answer.headers.get('Upload-Offset')) === bytes.length, answer.status);

// Two that bring the same file to the same address: one of them ends the other, and the file is right.
const twice = await upload({ chunkSize: 1 * MIB, begun: (u, resolve) => {
	u.options.onChunkComplete = () => u.abort().then(() => resolve(u.url));
} });
await Promise.all([1, 2].map(() => upload({ uploadUrl: twice, chunkSize: 1 * MIB })));
await upload({ uploadUrl: twice });
ok('of two at once the file is right', holds(twice), twice);

const doomed = await upload({ chunkSize: 1 * MIB, begun: (u, resolve) => {
	u.options.onChunkComplete = () => u.abort(true).then(() => resolve(u.url), (e) => resolve(String(e)));
} });
answer = await ask(doomed, 'HEAD');
ok('one that was given up is gone', answer.status === 410, `${answer.status} ${doomed}`);

answer = await ask(endpoint, 'OPTIONS');
ok('OPTIONS tells what there is', answer.headers.get('Tus-Version') === '1.0.0' &&
	answer.headers.get('Tus-Extension').includes('concatenation') && Number(answer.headers.get('Tus-Max-Size')) > 0, answer.status);
answer = await fetch(endpoint, { method: 'POST', headers: { 'Tus-Resumable': '1.0.0', 'Upload-Length': '1000' } });
ok('nobody without a token makes one', answer.status === 401 && answer.headers.has('WWW-Authenticate'), answer.status);
answer = await ask(endpoint, 'POST', { 'Upload-Length': '99999999999999', 'Upload-Metadata': 'filename YQ==',
	Authorization: `Bearer ${token}` });
ok('one that is too large is refused at once', answer.status === 413, answer.status);
answer = await fetch(broken, { method: 'HEAD', headers: { 'Tus-Resumable': '0.1' } });
ok('another version is told ours', answer.status === 412 && answer.headers.get('Tus-Version') === '1.0.0', answer.status);
answer = await ask(broken.replace(/ticket=.*/, 'ticket=x'), 'HEAD');
ok('without the ticket nothing is told', answer.status === 403 && !answer.headers.has('Upload-Offset'), answer.status);
