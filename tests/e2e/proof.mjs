// SPDX-License-Identifier: GPL-3.0-or-later
// What tour.mjs proves of each row of tour.rows while it goes from call to call.  Around the first call of an operation it sends what the
// document says will be refused, each time one thing changed in what is about to succeed; around each change it looks at what should
// change, by a GET before and one after; and every answer, its own ones too, is held against the document.  report() prints the
// table and says what has no proof.
import { readFileSync } from 'node:fs';
import { request as send } from 'node:http';
import judges from './judge.mjs';

// Statuses that cannot be brought about by one request that is changed: a body that is sent slowly, states, full disks.
const elsewhere = new Set(['408', '409', '410', '507', 'default']);
// What needs no database says so only when all workers are busy; nobody but this machine gets as far as to the figures; and
// events are not found where kinothek-events does not run.
const exempt = { getHealth: '503', getApiDocument: '503', getMetrics: '429', listEvents: '404' };

const nobody = '01990000-0000-7000-8000-00000000dead';
const placeless = (path) => path.replace(/\{[^}]*\}/g, '{}');
const key = (method, path) => `${method} ${placeless(path)}`;
const parsed = (text) => {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
};
// Addresses of files are signed anew, and say nothing of what is there.
const steady = (text) => text.replace(/\/play\/\d+\.[0-9a-f]{64}\//g, '/play/').replace(/"requestId":"[^"]*"/g, '').replace(/\b(ticket|t)=[\w.-]+/g, '');

export function readRows(file) {
	return readFileSync(file, 'utf8').split('\n').filter((line) => line && !line.startsWith('#')).map((line) => {
		const [, later, method, path, statuses] = /^(later )?([A-Z]+) (\/\S*)((?: \d{3})*)$/.exec(line) ?? [];
		if (!method)
			throw new Error(`${file}: ${line}`);
		const [success, ...declared] = statuses.trim().split(' ').filter(Boolean);
		return { later: later !== undefined, method, path, success, declared };
	});
}

// `record` is told each answer of the programs that is sent for here; `powerless` are tokens, by the one scope that each has.
export default function proofs({ doc, rows, url, record, powerless }) {
	const { judge, judgeValue, templateOf } = judges(doc);
	const { hostname, port } = new URL(url);
	const proven = new Map(), faults = [];
	let strangers = 0;

	for (const [path, item] of Object.entries(doc.paths))
		for (const [method, operation] of Object.entries(item))
			proven.set(key(method.toUpperCase(), path), { path, operation, method: method.toUpperCase(), statuses: new Map(), answers: 0, checked: 0, steps: 0,
				changes: 0, looks: [], refused: new Map() });

	const proofOf = (method, path) => {
		const template = templateOf(path.replace(/\?.*/s, ''));
		return template && proven.get(key(method, template.path));
	};

	// What lighttpd refuses by itself, as too large or from afar, has its envelope everywhere, and none of our headers.
	const failure = 'components/responses/Failure/content/application~1json/schema';
	const byServer = ({ status, headers }) => ['403', '413', '431'].includes(String(status)) && !/^x-api-version:/im.test(headers);

	// Counts an answer, and holds it against the document.
	function check(answer) {
		const proof = proofOf(answer.method, answer.path), found = [...byServer(answer) ? judgeValue(parsed(answer.body), failure) : judge(answer)];

		if (!proof)
			return faults.push(`${answer.method} ${answer.path} is no operation`);
		proof.answers++;
		proof.statuses.set(answer.status, 1 + (proof.statuses.get(answer.status) ?? 0));
		const response = proof.operation.responses[answer.status] ?? (answer.status >= 400 ? proof.operation.responses.default : undefined);
		const { content } = response?.$ref ? doc.components.responses[response.$ref.split('/').pop()] : response ?? {};
		if (!response)
			found.push(`nothing is declared for ${answer.status}`);
		else if (answer.type.includes('json') && !Object.entries(content ?? {}).some(([type, { schema }]) => schema && answer.type.startsWith(type)))
			found.push(`nothing says what the JSON of ${answer.status} is`);
		if (found.length === 0)
			proof.checked++;
		else
			faults.push(...found.map((fault) => `${answer.method} ${answer.path} ${answer.status}: ${fault}`));
	}

	// One request by a bare client, which sends what browsers would not.  Of what is refused before it was read whole the answer may
	// be lost with the connection; nothing that is sent here does anything, so it is sent again.
	async function ask(...given) {
		for (let times = 1; ; times++)
			try {
				return await askOnce(...given);
			} catch (error) {
				if (times === 5 || !['ECONNRESET', 'EPIPE'].includes(error.code))
					throw error;
			}
	}

	function askOnce(method, path, headers, body, localAddress = '127.0.0.1') {
		return new Promise((resolve, reject) => {
			const length = body !== undefined && !('Content-Length' in headers) ? { 'Content-Length': Buffer.byteLength(body) } : {};
			const asked = send({ agent: false, hostname, port, method, path, localAddress,
				headers: { ...headers, ...length }, timeout: 60_000 }, (got) => {
				const pieces = [];

				got.on('data', (piece) => pieces.push(piece)).on('error', reject).on('end', () => {
					const type = got.headers['content-type'] ?? '', lines = [];
					for (let i = 0; i < got.rawHeaders.length; i += 2)
						lines.push(`${got.rawHeaders[i]}: ${got.rawHeaders[i + 1]}`);
					const answer = { method, path, status: got.statusCode, type, headers: `HTTP/1.1 ${got.statusCode}\r\n${lines.join('\r\n')}\r\n`,
						etag: got.headers.etag, body: type.includes('json') ? Buffer.concat(pieces).toString() : '', length: Buffer.concat(pieces).length };
					if (!byServer(answer))
						record(answer);
					check(answer);
					resolve(answer);
				});
			});
			asked.on('error', reject).on('timeout', () => asked.destroy(new Error(`${method} ${path}: no answer`))).end(body);
		});
	}

	// The ways to change a call, each with the status that it must then be answered with.  A way that does not apply to an
	// operation is answered otherwise: the next one is tried, but none may succeed.
	function* ways(status, { method, path, headers, body }, proof) {
		const [place, query = ''] = path.split('?'), type = headers['Content-Type'] ?? '';
		const scopes = proof.operation.security[0]?.oauth;
		const proxied = { ...headers, 'X-Forwarded-For': `203.0.113.${++strangers % 250}`, 'X-Forwarded-Proto': 'http' };

		switch (status) {
		case '304':
			yield async () => {
				for (let n = 0;; n++) {		// a job may change it in between, but not each time
					const { etag } = await ask(method, path, headers);
					const answer = etag ? await ask(method, path, { ...headers, 'If-None-Match': etag }) : undefined;
					if (answer?.status !== 200 || n === 9)
						return answer;
				}
			};
			break;
		case '400':
			if (type.startsWith('application/json'))
				yield () => ask(method, path, headers, '{"');
			else if (type.startsWith('application/x-www-form-urlencoded'))
				yield () => ask(method, path, headers, `${body}&client_id=a&client_id=b&%zz`);
			if (body || reads.has(proof.operation.operationId))
				yield () => ask(method, path, { ...headers, 'Content-Range': 'bytes 0-1/2' }, body ?? 'a=b');
			yield () => ask(method, path, { ...headers, 'Content-Type': 'application/json' }, '{"strange":1}');
			break;
		case '401':
			if (scopes)
				yield () => ask(method, path, { ...headers, Authorization: 'Bearer e30.e30.e30' }, body);
			else
				yield () => ask(method, path, headers, new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(String(body))), client_secret: 'wrong' }).toString());
			break;
		case '403':
			if (scopes?.length > 0)
				yield () => ask(method, path, { ...headers, Authorization: `Bearer ${powerless[scopes[0] === 'ViewChannel' ? 'ViewMetadata' : 'ViewChannel']}` }, body);
			yield () => ask(method, path, proxied, body, '127.0.0.2');
			break;
		case '404':
			if (proof.operation.operationId === 'deleteManyMedia')
				yield () => ask(method, path, headers, JSON.stringify([nobody]));
			for (const { name } of proof.operation.parameters.filter((one) => one.in === 'path' && one.name !== 'name').reverse()) {
				const at = proof.path.split('/').indexOf(`{${name}}`);
				yield () => ask(method, place.split('/').map((part, i) => i === at ? nobody : part).join('/') + (query && `?${query}`), headers, body);
			}
			break;
		case '406':
			yield () => ask(method, path, { ...headers, Accept: 'model/vrml' }, body);
			break;
		case '412':
			yield () => ask(method, path, { ...headers, 'If-Match': '"no-version"' }, body);
			break;
		case '413':	// lighttpd's own limit, and it wants no byte of it
			yield () => ask(method, path, { ...headers, 'Content-Length': 2 ** 40 });
			break;
		case '415':
			yield () => ask(method, path, { ...headers, 'Content-Type': 'text/plain' }, body ?? 'words');
			break;
		case '422':
			yield () => ask(method, `${path}${query ? '&' : '?'}strange=1`, headers, body);
			break;
		case '429':	// from an address whose few requests a minute are over soon, since the stack lets it have so few
			yield async () => {
				const form = type.includes('form'), anonymous = { ...headers, 'X-Forwarded-For': '198.51.100.7', 'X-Forwarded-Proto': 'https' };
				let answer;
				delete anonymous.Authorization;
				for (let i = 0; i < 8 && answer?.status !== 429; i++)
					answer = await ask(method, path, anonymous, form ? 'token=nothing' : body, '127.0.0.2');
				return answer;
			};
			break;
		case '431':
			yield () => ask(method, path, { ...headers, 'X-Long': 'long '.repeat(8192) }, body);
			break;
		}
	}

	async function refusals(call, proof, statuses = Object.keys(proof.operation.responses).filter((one) => !/^2/.test(one) && !elsewhere.has(one))) {
		await Promise.all(statuses.map(async (status) => {
			const others = [];

			for (const way of ways(status, call, proof)) {
				const answer = await way();
				if (answer?.status === Number(status)) {
					proof.refused.set(status, 1);
					return;
				}
				others.push(answer?.status);
				if (answer && answer.status < 300 && call.method !== 'GET' && !reads.has(proof.operation.operationId))
					faults.push(`${proof.operation.operationId} was done (${answer.status}), where ${status} was wanted`);
			}
			proof.refused.set(status, others);
		}));
	}

	// POSTs that change nothing, so there is nothing to look at.
	const reads = new Set(['listCommonTags', 'getUserInfoByPost']);

	// Where to look at what the path does not name: a path, or what the look must be answered with afterwards.
	const looks = {
		assignTags: ({ body }) => ({ path: `/v2/media/${JSON.parse(body).mediaIds[0]}` }),
		updateMediaHistory: () => ({ path: '/v2/history' }),
		retryJob: ({ answer }) => answer && ({ path: `/v2/media/${JSON.parse(answer.body).data.mediaId}/jobs`, holds: JSON.parse(answer.body).data.status }),
		cancelJob: ({ answer }) => answer && ({ path: `/v2/media/${JSON.parse(answer.body).data.mediaId}/jobs`, holds: JSON.parse(answer.body).data.status }),
		createToken: ({ answer }) => answer && ({ path: '/v2/tenants/current/settings', headers: { Authorization: `Bearer ${JSON.parse(answer.body).access_token}` },
			holds: '"success"' }),
		revokeToken: ({ answer, path, body }) => answer && ({ path: path.replace(/revoke$/, 'userinfo'),
			headers: { Authorization: `Bearer ${new URLSearchParams(String(body)).get('token')}` }, holds: 'invalid_token', status: 401 }),
		createMediaEventTicket: ({ answer }) => answer && ({ path: JSON.parse(answer.body).data.url.replace(/^https?:\/\/[^/]*/, ''), headers: {}, holds: '"success"' }),
		shareMedia: ({ answer }) => answer && ({ page: JSON.parse(answer.body).data.shareLink, status: 200 }),
		revokeMediaShare: () => ({ page: shared, status: 404 }),
		restoreMediaTranscriptVersion: ({ path }) => ({ path: path.replace(/\/versions\/.*/s, '') }),
		alignMediaTranscript: ({ path }) => ({ path: path.replace(/\/align$/, '') }),
		pingWebhook: ({ path }) => ({ path: path.replace(/ping$/, 'deliveries') }),
	};
	let shared;

	// The nearest GET that answers JSON: of the path itself, or of what it is below.
	function nearest(path) {
		for (let parts = path.replace(/\?.*/s, '').split('/'); parts.length > 2; parts.pop()) {
			const at = parts.join('/'), proof = proofOf('GET', at);
			if (proof && proof.operation.responses['200'].content?.['application/json'])
				return at;
		}
		return undefined;
	}

	const paged = (path) => path && proofOf('GET', path)?.operation.parameters.some(({ name }) => name === 'perpage') && !path.includes('?') ? `${path}?perpage=50` : path;

	// What an answer names that the path does not is what was made: it has a path of its own, or is in the list.
	function madeBy({ path, answer }) {
		const { data } = parsed(answer.body) ?? {}, id = data?.created?.id ?? data?.id;

		if (!id || path.includes(id))
			return undefined;
		for (let parts = path.replace(/\?.*/s, '').split('/'); parts.length > 1; parts.pop())
			for (const at of [[...parts, id].join('/'), [...parts.slice(0, -1), id].join('/')]) {
				const proof = proofOf('GET', at);
				if (proof && proof.path.endsWith('Id}') && (at.startsWith('/v2/uploads/') || !at.includes('/imports/')))
					return { at, data: data.created ?? data };
			}
		return undefined;
	}

	const same = (sent, shown) => (typeof sent === 'string' && /^\d{4}-\d\d-\d\dT/.test(sent) && Date.parse(sent) === Date.parse(shown)) || JSON.stringify(sent) === JSON.stringify(shown) || (typeof sent !== 'object' && String(sent) === String(shown));

	async function look(call, before) {
		const { path, proof, headers, answer, body } = call;
		const bearer = headers.Authorization ? { Authorization: headers.Authorization } : {};
		const special = looks[proof.operation.operationId]?.(call);

		if (special?.page) {
			const { status } = await fetch(special.page);
			shared = special.page;
			return status === special.status ? `${status} of the link` : undefined;
		}
		const made = !special && madeBy(call);
		if (made) {
			const { status, body: text } = await ask('GET', made.at, bearer);
			const shown = parsed(text)?.data;
			const differ = Object.keys(made.data).filter((name) => ['name', 'title', 'text', 'kind', 'type', 'start', 'end', 'role'].includes(name) && !same(made.data[name], shown?.[name]));
			return status === 200 && shown.id === made.data.id && differ.length === 0 ? `GET ${templateOf(made.at).path} has it` : undefined;
		}
		const at = paged(special?.path ?? nearest(path));
		if (!at)
			return undefined;
		const { status, body: text } = await ask('GET', at, special?.headers ?? bearer);
		const name = `GET ${templateOf(at.replace(/\?.*/s, '')).path}`;
		if (special?.holds)
			return status === (special.status ?? 200) && text.includes(special.holds) ? `${name} says ${special.holds}` : undefined;
		if (!before || (before.status === status && steady(before.body) === steady(text)))
			return undefined;
		const was = parsed(before.body)?.data ?? {}, shown = parsed(text)?.data ?? {};
		const sent = at === path && body && call.headers['Content-Type']?.startsWith('application/json') ? JSON.parse(body) : {};
		const ignored = Object.keys(sent).filter((one) => one in shown && !(sent[one] instanceof Object) && !same(sent[one], shown[one]));
		if (ignored.length > 0)
			return undefined;
		const changed = Array.isArray(shown) || Array.isArray(was) ? [`${was.length} to ${shown.length} entries`] :
			Object.keys({ ...was, ...shown }).filter((one) => JSON.stringify(was[one]) !== JSON.stringify(shown[one]));
		return `${name}: ${before.status === status ? changed.filter((one) => one !== 'updatedAt').join(' ') || 'its version' : `${before.status} to ${status}`}`;
	}

	// Sends a call by `run`, and what is to be proven around it.
	async function around(call, run) {
		const proof = proofOf(call.method, call.path);

		if (!proof)
			throw new Error(`${call.method} ${call.path} is no operation`);
		if (proof.refused.size === 0)
			await refusals(call, proof);
		else if (Array.isArray(proof.refused.get('304')))	// it was changed by a job in between
			await refusals(call, proof, ['304']);
		const change = call.method !== 'GET' && !reads.has(proof.operation.operationId);
		const special = change && looks[proof.operation.operationId]?.(call);
		const at = change && paged(special?.path ?? nearest(call.path));
		const bearer = call.headers.Authorization ? { Authorization: call.headers.Authorization } : {};
		const before = at ? await ask('GET', at, special?.headers ?? bearer) : undefined;
		const answer = await run();
		check(answer);
		if (answer.status >= 300) {
			proof.refused.set(String(answer.status), 1);
			return;
		}
		proof.steps++;
		if (!change)
			return;
		proof.changes++;
		const seen = await look({ ...call, proof, answer }, before);
		if (seen)
			proof.looks.push(seen);
		else
			faults.push(`${call.method} ${call.path}: nothing shows that it has changed anything`);
	}

	// With the database gone every operation that needs it says so; the calls are those that went well.
	async function unavailable(calls) {
		for (const call of calls) {
			const proof = proofOf(call.method, call.path);
			const { status } = await ask(call.method, call.path, call.headers, call.body);
			proof.refused.set('503', status === 503 ? 1 : [status]);
		}
	}

	function report(say) {
		const listed = new Set(rows.map(({ method, path }) => key(method, path)));
		for (const [name] of proven)
			if (!listed.has(name))
				faults.push(`${name} is in no row`);
		for (const row of rows) {
			const proof = proven.get(key(row.method, row.path));

			if (row.later || !proof) {
				if (!row.later)
					faults.push(`${row.method} ${row.path} is no operation of the document`);
				else if (proof)
					faults.push(`${row.method} ${row.path} is built, and its row says later`);
				say(`${row.method} ${row.path} -> not built`);
				continue;
			}
			const got = [...proof.statuses].sort(([a], [b]) => a - b), seen = new Set(got.map(([status]) => String(status)));
			const open = Object.keys(proof.operation.responses).filter((status) => /^[345]/.test(status) && !seen.has(status));
			say(`${row.method} ${proof.path} -> ${got.map(([status, times]) => `${status}x${times}`).join(' ')}; ${proof.checked} of ${proof.answers} by the document` +
				`${proof.changes ? `; ${proof.looks.length} of ${proof.changes} seen: ${[...new Set(proof.looks)].slice(0, 3).join(', ')}` : ''}` +
				`${open.length ? `; not brought about: ${open.join(' ')}` : ''}`);
			if (proof.steps === 0)
				faults.push(`${row.method} ${row.path} has no step`);
			if (row.success && !seen.has(row.success))
				faults.push(`${row.method} ${row.path} was never answered ${row.success}`);
			for (const status of new Set([...row.declared, ...open.filter((one) => !elsewhere.has(one))]))
				if (!seen.has(status) && exempt[proof.operation.operationId] !== status)
					faults.push(`${row.method} ${row.path} was never refused with ${status}, but ${[proof.refused.get(status) ?? 'not tried'].flat()}`);
		}
		return faults;
	}

	return { around, unavailable, report, check };
}
