// SPDX-License-Identifier: GPL-3.0-or-later
// What is wrong with an answer, by the API document: for contract.mjs, which judges what was recorded, and proof.mjs, which judges at once.
// An answer must have a documented status and content type, the headers that are promised and no others of
// those that the document speaks of, a code that its operation may be refused with, and a body that its schema takes,
// without members that no schema names.
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export default function judges(doc) {
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

	return { judge, judgeValue, pointer, templateOf };
}
