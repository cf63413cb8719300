// SPDX-License-Identifier: GPL-3.0-or-later
// examples.mjs record|compare DOCUMENT EXCHANGES EXAMPLES: makes what tour.mjs has kept into the examples of the document,
// in which nothing differs from one recording to the next and nothing is secret; or says what has another shape now.
import { readFileSync, writeFileSync } from 'node:fs';

const [mode, ...files] = process.argv.slice(2);
const [documentFile, exchangesFile, examplesFile] = files;
const read = (name) => JSON.parse(readFileSync(name, 'utf8'));
const doc = read(documentFile), exchanges = read(exchangesFile);
const names = [...Object.values(doc.paths).flatMap((item) => Object.values(item)).map((operation) => operation.operationId), ...Object.keys(doc.webhooks)];

const began = Date.parse('2026-01-15T10:00:00Z');
const MINUTE = 60_000, HOUR = 60 * MINUTE;
const seen = { uuid: new Map(), time: new Map(), event: new Map() };
const once = (map, key, make) => map.get(key) ?? map.set(key, make(map.size + 1)).get(key);

// What was just now is all the same moment; what is to come is as far away as it was, to the minute or the hour.
const moment = (text, at) => once(seen.time, text, () => {
	const ahead = Date.parse(text) - at;
	const unit = ahead < 10 * MINUTE ? MINUTE : HOUR;
	return new Date(began + Math.max(0, Math.round(ahead / unit) * unit)).toISOString();
});

// One after the other; ids before what holds ids.
const words = (text, at) => text
	.replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl')
	.replace(/\bkts_[\w-]+/g, 'kts_of-the-client')
	.replace(/\bwhsec_[\w+/=]+/g, 'whsec_T2YgdGhpcyB3ZWJob29rIGFsb25lLg==')
	.replace(/\/s\/[\w-]{43}/g, `/s/${Buffer.alloc(32, 'of the link ').toString('base64url')}`)
	.replace(/\b(ticket|t)=[\w.-]+/g, '$1=of-this-address')
	.replace(/\bv=[0-9a-f]{16}\b/g, 'v=0123456789abcdef')
	.replace(/\/play\/\d+\.[0-9a-f]{64}\//g, `/play/${(began + 6 * HOUR) / 1000}.${'0123456789abcdef'.repeat(4)}/`)
	.replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) =>
		once(seen.uuid, id, (n) => `019bc0c7-1f00-7000-8000-${String(n).padStart(12, '0')}`))
	.replace(/\bping_[0-9a-f]{32}\b/g, `ping_${'0123456789abcdef'.repeat(2)}`)
	.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) => moment(time, at))
	.replace(/http:\/\/127\.0\.0\.1:\d+\/kinothek/g, 'https://archive.example.org/kinothek')
	.replace(/http:\/\/127\.0\.0\.1:\d+/g, 'https://media.example.org')
	.replace(/\b127\.0\.0\.1\b/g, '192.0.2.7')
	.replace(/\bTest tenant\b/g, 'Example University')
	.replace(/(_free_bytes) \d+/, '$1 68719476736');

// What another machine, another key or another moment makes different, by the member that it is in.
const measured = { bitrate: 1096000, fileSize: 921539, receivedBytes: 921539, size: 691, durationMs: 84, sha256: '0123456789abcdef'.repeat(4),
	hash: '0123456789abcdef', n: Buffer.alloc(256, 'modulus ').toString('base64url'), 'webhook-timestamp': String(began / 1000),
	'webhook-signature': `v1,${Buffer.alloc(32, 'of the secret').toString('base64')}` };
const number = (value, key) => ['id', 'next', 'after', 'messageId', 'webhook-id'].includes(key) && /^\d+$/.test(value);

const event = (number) => once(seen.event, String(number), (n) => 40 + n);

const told = (value, at, key) => {
	if (key in measured && value !== null && typeof value !== 'object')
		return measured[key];
	if (number(value, key))
		return (typeof value === 'string' ? String : Number)(event(value));
	if (key === 'stream')
		return words(value, at).replace(/^(id: )(\d+)$|("id":)(\d+)/gm, (_, line, n, member, m) => (line ?? member) + event(n ?? m));
	if (typeof value === 'string')
		return words(value, at);
	if (Array.isArray(value))
		return value.map((each) => told(each, at, key));
	if (value === null || typeof value !== 'object')
		return value;
	return Object.fromEntries(Object.entries(value).map(([name, each]) => [told(name, at), told(each, at, name)]));
};

// Of the document in the document, its head is enough.
const head = ({ openapi, info: { title, version } }) => ({ openapi, info: { title, version } });

const example = (name, { at, request, answer }) => {
	const { method, path, query, type, headers, body, file } = told(request, at);
	return {
		request: { method, path, ...(Object.keys(query).length && { query }), ...(type && { headers: { 'Content-Type': type, ...headers } }),
			...(body !== undefined && { body }), ...(file && { file }) },
		answer: told(name === 'getApiDocument' ? { ...answer, body: head(answer.body) } : answer, at),
	};
};

// The members that are there, whatever they are; those of an array together.
const shape = (value, at = '') => value === null || typeof value !== 'object' ? [at] :
	Object.entries(value).flatMap(([name, each]) => shape(each, `${at}/${Array.isArray(value) ? '*' : name}`));

const faults = [...new Set(names)].filter((name) => !exchanges[name]).map((name) => `${name} was not called: tests/e2e/tour.ts has no call of it, or ended before`);
const examples = Object.fromEntries(names.filter((name) => exchanges[name]).map((name) => [name, example(name, exchanges[name])]));
if (mode === 'record') {
	writeFileSync(examplesFile, `${JSON.stringify(examples, null, 2)}\n`);
} else {
	const kept = read(examplesFile), uncalled = faults.length;
	for (const name of Object.keys({ ...kept, ...examples }).filter((each) => examples[each] || !names.includes(each))) {
		const before = new Set(shape(kept[name])), now = new Set(shape(examples[name]));
		faults.push(...[...now].filter((at) => !before.has(at)).map((at) => `${name}: new is ${at}`),
			...[...before].filter((at) => !now.has(at)).map((at) => `${name}: gone is ${at}`));
	}
	if (faults.length > uncalled)
		faults.push('record them again: make examples');
}
console.log(faults.join('\n'));
process.exit(faults.length > 0 ? 1 : 0);
