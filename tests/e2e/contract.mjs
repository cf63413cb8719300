// SPDX-License-Identifier: GPL-3.0-or-later
// contract.mjs DOCUMENT [ANSWERS.jsonl…]: does every recorded answer keep the word of the API document, and has each of its
// operations an example that does?  Prints TAP.  An answer must have a documented status and content type, the headers that are promised and no others of
// those that the document speaks of, a code that its operation may be refused with, and a body that its schema takes,
// without members that no schema names.
import { readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const [documentFile, ...answerFiles] = process.argv.slice(2);
if (!documentFile) {
	console.error('usage: contract.mjs DOCUMENT [ANSWERS.jsonl…]');
	process.exit(64);
}
const doc = JSON.parse(readFileSync(documentFile, 'utf8'));

let count = 0, failed = 0;
const result = (name, faults) => {
	count++;
	if (faults.length > 0)
		failed++;
	console.log(`${faults.length > 0 ? 'not ok' : 'ok'} ${count} - ${name}`);
	for (const fault of faults.slice(0, 20))
		console.log(`# ${fault}`);
};

// Every object schema that lists members and does not say otherwise takes these alone here: clients bear more, we notice.
const close = (node, open = false) => {
	if (Array.isArray(node))
		return node.map((each) => close(each, open));
	if (node === null || typeof node !== 'object')
		return node;
	const copy = Object.fromEntries(Object.entries(node).map(([key, value]) =>
		[key, key === 'example' || key === 'examples' || key === 'default' || key === 'enum' ? value : close(value, key === 'allOf')]));
	if (!open && copy.type === 'object' && copy.properties && copy.additionalProperties === undefined && copy.unevaluatedProperties === undefined)
		copy.unevaluatedProperties = false;
	return copy;
};

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
addFormats(ajv);
ajv.addSchema({ $id: 'https://document.invalid/', components: close(doc.components ?? {}), paths: close(doc.paths), webhooks: close(doc.webhooks) });

const pointer = (...parts) => parts.map((p) => encodeURIComponent(String(p).replace(/~/g, '~0').replace(/\//g, '~1'))).join('/');
const validators = new Map();
const validator = (ref) => {
	if (!validators.has(ref))
		validators.set(ref, ajv.compile({ $ref: `https://document.invalid/#/${ref}` }));
	return validators.get(ref);
};
const follow = (node, ref) => node?.$ref ? [node.$ref.split('/').slice(1).reduce((o, k) => o[k.replace(/~1/g, '/').replace(/~0/g, '~')], doc), node.$ref.slice(2)] : [node, ref];

const templates = Object.keys(doc.paths).map((path) => ({
	path,
	literal: path.split('/').filter((part) => !part.includes('{')).length,
	regex: new RegExp(`^${path.split('/').map((part) => part.includes('{') ? '[^/]+' : part.replace(/[.*+?^$()|[\]\\]/g, '\\$&')).join('/')}$`),
})).sort((a, b) => b.literal - a.literal);
const templateOf = (path) => templates.find((t) => t.regex.test(path));

// Other programs and the web server itself answer below other prefixes, /upload and /play; the document is about these.
const prefixes = new Set(Object.keys(doc.paths).map((path) => path.split('/')[1]));

// Names in lower case and values of the last block of header lines; what came before it was 100 Continue.
const headersOf = (text) => new Map(text.trimEnd().split(/\r?\n\r?\n/).pop().split(/\r?\n/).slice(1)
	.map((line) => [line.replace(/:.*/s, '').toLowerCase(), line.replace(/^[^:]*:\s*/, '')]));
const spokenOf = new Set(Object.values(doc.paths).flatMap((item) => Object.values(item)).flatMap((operation) =>
	Object.values(operation.responses).flatMap((r) => Object.keys(follow(r)[0].headers ?? {}))).map((name) => name.toLowerCase()));

// What is wrong with the headers of an answer.  A message of the web server itself has none of ours.
const judgeHeaders = (answer, response) => {
	const got = headersOf(answer.headers ?? ''), faults = [];
	const declared = new Map(Object.entries(response.headers ?? {}).map(([name, header]) => [name.toLowerCase(), follow(header)]));
	for (const [name, [header, ref]] of declared) {
		if (!got.has(name)) {
			if (header.required)
				faults.push(`the header ${name} is missing`);
			continue;
		}
		const value = header.schema.type === 'integer' ? Number(got.get(name)) : got.get(name);
		const validate = validator(`${ref}/schema`);
		if (!validate(value))
			faults.push(`the header ${name}: ${got.get(name)} ${validate.errors[0].message}`);
	}
	for (const name of spokenOf)
		if (got.has(name) && !declared.has(name))
			faults.push(`the header ${name} is not documented here`);
	return faults;
};

// What is wrong with one answer.
const judge = (answer) => {
	const path = answer.path.replace(/\?.*/s, '');
	if (!prefixes.has(path.split('/')[1]))
		return [];
	const template = templateOf(path);
	const method = answer.method.toLowerCase();
	if (!template)
		return answer.status >= 400 && answer.status < 500 ? [] : [`path ${path} is not in the document`];
	const operation = doc.paths[template.path][method] ?? (method === 'head' ? doc.paths[template.path].get : undefined);
	if (!operation)
		return method === 'options' || answer.status === 405 ? [] : [`${answer.method} is not documented`];
	const key = operation.responses[answer.status] ? String(answer.status) : 'default';
	const opKey = doc.paths[template.path][method] ? method : 'get';
	if (!operation.responses[key])
		return answer.status === 304 || answer.status === 406 || answer.status === 413 ? [] : [`status ${answer.status} is not documented`];
	const [response, ref] = follow(operation.responses[key], pointer('paths', template.path, opKey, 'responses', key));
	return [...judgeHeaders(answer, response), ...judgeBody(answer, response, ref)];
};

const judgeBody = (answer, response, ref) => {
	if (answer.method === 'HEAD' || !response.content)
		return answer.method !== 'HEAD' && answer.body ? ['a body where none is documented'] : [];
	const type = answer.type.replace(/;.*/, '').trim().toLowerCase();
	const media = response.content[type] ? type : Object.keys(response.content).find((t) => t === '*/*' || (t.endsWith('/*') && type.startsWith(t.slice(0, -1))));
	if (!media)
		return [`content type "${answer.type}" is not among ${Object.keys(response.content).join(', ')}`];
	if (!type.includes('json') || !response.content[media].schema)
		return [];
	let body;
	try {
		body = JSON.parse(answer.body);
	} catch (e) {
		return [`the body is no JSON: ${e.message}`];
	}
	return judgeValue(body, `${ref}/${pointer('content', media, 'schema')}`);
};

const judgeValue = (value, ref) => {
	const validate = validator(ref);
	return validate(value) ? [] : validate.errors.map((e) =>
		`${e.instancePath || '/'} ${e.message}${e.params?.unevaluatedProperty ? `: ${e.params.unevaluatedProperty}` : ''}`);
};

// What is wrong with the examples of a body, which has one unless it is bytes or empty.
const judgeExamples = (what, content, ref) => {
	const texts = Object.keys(content ?? {}).filter((type) => !/^(image|font|multipart)\//.test(type));
	const examples = texts.flatMap((type) => Object.values(content[type].examples ?? {}).map(({ value }) => [type, value]));
	if (texts.length > 0 && examples.length === 0)
		return [`${what} has no example`];
	return examples.flatMap(([type, value]) => judgeValue(value, `${ref}/${pointer('content', type, 'schema')}`).map((fault) => `${what}: ${fault}`));
};

const judgeOperation = (path, method, operation) => {
	const at = (...parts) => pointer('paths', path, method, ...parts);
	const success = '302' in operation.responses ? '302' : Object.keys(operation.responses).find((status) => /^2/.test(status));
	return [...judgeExamples('the request', operation.requestBody?.required ? operation.requestBody.content : {}, at('requestBody')),
		...judgeExamples('the answer', operation.responses[success].content, at('responses', success)),
		...operation.parameters.flatMap(({ name, in: where, example }, i) => example !== undefined ?
			judgeValue(example, at('parameters', i, 'schema')).map((fault) => `${name}: ${fault}`) :
			where === 'path' ? [`${name} has no example`] : [])].map((fault) => `${operation.operationId}: ${fault}`);
};

const judgeMessage = (type, text) => judgeValue(JSON.parse(text), pointer('webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema'));

result('every operation has an example of its request and of its answer, which keep to the document', Object.entries(doc.paths)
	.flatMap(([path, item]) => Object.entries(item).flatMap(([method, operation]) => judgeOperation(path, method, operation))));
result('so has every webhook', Object.entries(doc.webhooks).flatMap(([type, { post }]) =>
	judgeExamples(type, post.requestBody.content, pointer('webhooks', type, 'post', 'requestBody'))));

const operations = new Map();
let answers = 0;
for (const file of answerFiles) {
	for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
		const answer = JSON.parse(line);
		answers++;
		if (answer.webhook) {
			const name = `webhook ${answer.webhook}`;
			operations.set(name, [...(operations.get(name) ?? []), ...judgeMessage(answer.webhook, answer.body)]);
			continue;
		}
		const template = templateOf(answer.path.replace(/\?.*/s, ''));
		const name = template ? `${answer.method} ${template.path} ${answer.status}` : `answers outside the document, ${answer.status}`;
		const faults = judge(answer).map((fault) => `${answer.method} ${answer.path}: ${fault}`);
		operations.set(name, [...(operations.get(name) ?? []), ...faults]);
	}
}
for (const [name, faults] of [...operations].sort())
	result(`answers keep to the document: ${name}`, faults);
if (answerFiles.length > 0)
	result(`answers were recorded (${answers})`, answers > 0 ? [] : ['none was']);
console.log(`1..${count}`);
process.exit(failed > 0 ? 1 : 0);
