/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the samples of every operation, in each language, against a server that writes down what comes, and holds that against the
 * example: samples.mjs SRC DIR. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { isDeepStrictEqual, promisify } from 'node:util';

const [src, dir] = process.argv.slice(2);
const { curl, python, requestOf, script } = await import(`${src}/web/samples.js`);
const document = JSON.parse(readFileSync(`${src}/docs/openapi.json`)), examples = JSON.parse(readFileSync(`${src}/docs/examples.json`));
const run = promisify(execFile);
const came = [];

/* Answers as the examples do, one after the other, so that a sample can read it. */
const server = createServer(async (request, answer) => {
	const body = Buffer.concat(await request.toArray()).toString();

	if (request.url === '/led')
		return answer.end('the bytes of a file');
	const { answer: { status, type, body: data } } = list[came.length].example;

	came.push({ method: request.method, url: request.url, headers: request.headers, body });
	answer.writeHead(status, { ...(type ? { 'Content-Type': type } : {}), ...(status === 302 ? { Location: '/led' } : {}) });
	answer.end(data === undefined || data === null ? '' : typeof data === 'string' ? data : JSON.stringify(data));
});
await new Promise(done => server.listen(0, '127.0.0.1', done));
const origin = `http://127.0.0.1:${server.address().port}`;

/* All that is to be sent, in the order of the document. */
const all = Object.entries(document.paths).flatMap(([path, item]) => Object.entries(item).filter(([, op]) => op?.operationId)
	.map(([method, op]) => ({ op, example: examples[op.operationId], request: requestOf(path, method, op, examples[op.operationId], origin) })));
for (const name of new Set(all.map(({ request }) => request.file).filter(Boolean)))
	writeFileSync(`${dir}/${name}`, 'the bytes of a file');

function fault({ method, url, headers, body }, { example: { request: sent }, request, op }, language) {
	const at = new URL(url, origin), type = request.headers['Content-Type'];
	const faults = [method === sent.method ? '' : `${method} instead of ${sent.method}`,
		at.pathname === sent.path ? '' : `${at.pathname} instead of ${sent.path}`,
		isDeepStrictEqual(Object.fromEntries(at.searchParams), Object.fromEntries(Object.entries(sent.query ?? {}).map(([k, v]) => [k, String(v)]))) ?
			'' : `the query is ${at.search}`,
		(headers.authorization === 'Bearer a-token') === op.security?.length > 0 ? '' : `Authorization is ${headers.authorization}`,
		...Object.entries(sent.headers ?? {}).map(([k, v]) => headers[k.toLowerCase()]?.split(';')[0] === v ? '' : `${k} is ${headers[k.toLowerCase()]}`),
		type === undefined ? (body === '' ? '' : 'it has a body') :
			request.file ? (body === 'the bytes of a file' ? '' : `the file is ${body}`) :
			isDeepStrictEqual(request.form ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body), sent.body) ? '' : `the body is ${body}`];
	return faults.filter(Boolean).map(f => `${language} of ${op.operationId}: ${f}`);
}

const RUN = {
	/* In one shell, one interpreter: what takes long is to start them. */
	curl: list => run('bash', ['-euc', `TOKEN=a-token; curl() { command curl -sSf -o answer "$@"; }\n${list.map(one => curl(one.request)).join('\n')}`], { cwd: dir }),
	JavaScript: async list => {
		const AsyncFunction = (async () => {}).constructor;
		for (const one of list)
			await new AsyncFunction('token', 'file', script(one.request))('a-token', readFileSync(`${dir}/${one.request.file ?? 'talk.mp4'}`));
	},
	Python: list => run('python3', ['-c', `token = 'a-token'\n${list.map(one => python(one.request)).join('\n')}`], { cwd: dir }),
};
const faults = [];
const missing = all.filter(({ example }) => !example).map(({ op }) => `${op.operationId} has no example`);
const list = all.filter(({ example }) => example);

for (const [language, send] of Object.entries(RUN)) {
	came.length = 0;
	await send(list);
	if (came.length !== list.length)
		faults.push(`${language}: ${came.length} requests of ${list.length}`);
	else
		faults.push(...came.flatMap((request, i) => fault(request, list[i], language)));
}
server.close();
server.closeAllConnections();
console.log([...missing, ...faults].join('\n'));
process.exitCode = missing.length || faults.length || list.length === 0 ? 1 : 0;
