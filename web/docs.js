/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API document, /v2/openapi.json, as a page for people. */
import { copyable } from './copy.js';
import { by, make, memory } from './dom.js';
import examples from './examples.js';
import { LANGUAGES, requestOf } from './samples.js';
import { tryIt } from './try.js';
import './theme.js';

const code = textContent => make('code', { textContent });
const nameOf = ref => ref.split('/').pop();

/* Text of the document: `code` between backticks, and lines that begin with "- " as a list. */
const words = text => text.split('`').map((part, i) => i % 2 ? code(part) : part);

function prose(text) {
	const [first, ...lines] = text.split('\n');

	return [make('p', {}, ...words(first)),
		...(lines.length ? [make('ul', { className: 'points' }, ...lines.map(line => make('li', {}, ...words(line.replace(/^- /, '')))))] : [])];
}

/* A type in words: "string (uuid)", "Channel[]", "video | audio".  What may be null is optional everywhere. */
function typeOf(schema) {
	if (schema.$ref)
		return [make('a', { href: `#object-${nameOf(schema.$ref)}`, textContent: nameOf(schema.$ref) })];
	if (schema.allOf)
		return typeOf(schema.allOf[0]);
	if (schema.anyOf)
		return schema.anyOf.filter(s => s.type !== 'null').flatMap((s, i) => i ? [' | ', ...typeOf(s)] : typeOf(s));
	if (schema.const !== undefined)
		return [JSON.stringify(schema.const)];
	if (schema.enum)
		return [schema.enum.filter(v => v !== null).join(' | ')];

	const types = [schema.type ?? 'any'].flat().filter(t => t !== 'null');
	const parts = types.flatMap((t, i) => [i ? ' | ' : '', ...(t === 'array' && schema.items ? [...typeOf(schema.items), '[]'] : [t])]);
	return schema.format ? [...parts, ` (${schema.format})`] : parts;
}

function limitsOf(schema) {
	const low = schema.minimum ?? schema.minLength ?? schema.minItems;
	const high = schema.maximum ?? schema.maxLength ?? schema.maxItems;
	const what = schema.maxLength ?? schema.minLength ? ' characters' : schema.maxItems ?? schema.minItems ? ' items' : '';

	if (low === undefined && high === undefined)
		return '';
	return `${low === undefined ? 'Up to ' + high : high === undefined ? 'From ' + low : `${low} to ${high}`}${what}.`;
}

function table(heads, rows) {
	return make('div', { className: 'wide' }, make('table', {},
		make('thead', {}, make('tr', {}, ...heads.map(textContent => make('th', { textContent })))),
		make('tbody', {}, ...rows)));
}

const preset = schema => schema.default === undefined ? '' : `${JSON.stringify(schema.default)} unless given.`;

function row(name, required, schema, text = schema.description ?? '') {
	return make('tr', {},
		make('td', {}, code(name), ...(required ? [' ', make('span', { className: 'must', textContent: 'required' })] : [])),
		make('td', { className: 'type' }, ...typeOf(schema)),
		make('td', {}, ...prose([text.includes('\n') || text === '' ? text : `${text}.`, limitsOf(schema), preset(schema)]
			.filter(Boolean).join(text.includes('\n') ? '\n' : ' '))));
}

function members(schema) {
	return table(['Member', 'Type', 'Meaning'], Object.entries(schema.properties ?? {}).map(([name, s]) =>
		row(name, schema.required?.includes(name), s)));
}

/* What a body holds.  The members of what is sent stand here; those of an answer, which many share, among the objects. */
function body(content, schemas) {
	return Object.entries(content).flatMap(([type, { schema }]) => {
		const data = schema.properties?.data ?? schema;
		const listed = data.$ref ? schemas?.[nameOf(data.$ref)] : data;

		return [make('p', {}, code(type), ' ', make('span', { className: 'type' }, ...typeOf(data))),
			...(listed?.properties ? [members(listed)] : [])];
	});
}

/* What an answer says in its headers. */
function headers(response, components) {
	const all = Object.entries(response?.headers ?? {});

	return all.length === 0 ? [] : [make('h3', { textContent: 'Headers of the answer' }), make('ul', { className: 'points' },
		...all.map(([name, header]) => make('li', {}, code(name),
			`: ${(components.headers?.[nameOf(header.$ref ?? '')] ?? header).description}`)))];
}

/* The codes that a refusal may have. */
function codesOf(response, { responses, schemas }) {
	const ref = responses?.[nameOf(response.$ref ?? '')]?.content?.['application/json']?.schema.$ref;

	return schemas[nameOf(ref ?? '')]?.properties.data?.properties.code.enum ?? [];
}

/* One language is chosen for all operations, and stays. */
function speak(name) {
	document.querySelectorAll('.choice button').forEach(b => b.ariaPressed = String(b.textContent === name));
	document.querySelectorAll('.samples [data-language]').forEach(e => e.hidden = e.dataset.language !== name);
	memory.set('language', name);
}

function samples(request) {
	const chosen = Object.hasOwn(LANGUAGES, memory.get('language') ?? '') ? memory.get('language') : 'curl';
	const all = Object.entries(LANGUAGES).map(([language, write]) => {
		const pre = make('pre', { tabIndex: 0, ariaLabel: `As ${language}`, textContent: write(request) });
		const box = make('div', { data: { language }, hidden: language !== chosen }, pre);
		copyable(pre);
		return box;
	});

	return make('div', { className: 'samples' }, make('div', { className: 'choice', role: 'group', ariaLabel: 'Language of the samples' },
		...Object.keys(LANGUAGES).map(name => make('button', { type: 'button', className: 'quiet', textContent: name,
			ariaPressed: String(name === chosen), onclick: () => speak(name) }))), ...all);
}

/* What is seen when an operation is opened, and made only then. */
function use(path, method, op) {
	const example = examples[op.operationId];
	const request = requestOf(path, method, op, example, location.origin);
	const body = example?.answer.body;

	return [make('h3', { textContent: 'Example' }), samples(request),
		...(body === undefined || body === null ? [] : [make('details', { className: 'try' },
			make('summary', { textContent: `Its answer, ${example.answer.status}` }),
			make('pre', { tabIndex: 0, ariaLabel: 'The answer', textContent: typeof body === 'string' ? body : JSON.stringify(body, null, 2) }))]),
		tryIt(path, op, request)];
}

function operation(path, method, op, components) {
	const success = Object.keys(op.responses).find(s => s < '400');
	const inside = make('div', { className: 'inside' });
	const entry = make('details', { className: 'entry', id: op.operationId, data: { find: `${method} ${path} ${op.summary}`.toLowerCase() } },
		make('summary', {}, make('span', { className: 'method', textContent: method.toUpperCase(), data: { method } }), code(path),
			make('span', { className: 'what', textContent: op.summary })), inside);

	inside.append(...prose(op.description ?? op.summary));
	if (op.parameters?.length)
		inside.append(make('h3', { textContent: 'Parameters' }), table(['Name', 'Type', 'Meaning'], op.parameters.map(p =>
			row(p.name, p.required && p.in !== 'path', p.schema, `${p.in === 'path' ? 'In the path: ' : p.in === 'header' ? 'A header: ' : ''}${p.description ?? p.name}`))));
	if (op.requestBody)
		inside.append(make('h3', { textContent: 'Body' }), ...body(op.requestBody.content, components.schemas));
	if (op.responses[success]?.content)
		inside.append(make('h3', { textContent: 'Answer' }), ...body(op.responses[success].content));
	inside.append(...headers(op.responses[success], components));
	inside.append(make('ul', { className: 'statuses', ariaLabel: 'Statuses' }, ...Object.entries(op.responses).filter(([s]) => s !== 'default')
		.map(([s, response]) => make('li', { textContent: [s, ...codesOf(response, components)].join(' ') }))));
	entry.addEventListener('toggle', () => inside.append(...use(path, method, op)), { once: true });
	return entry;
}

function object([name, schema]) {
	return make('details', { className: 'entry', id: `object-${name}` }, make('summary', {}, code(name)),
		make('div', { className: 'inside' }, ...(schema.properties ? [members(schema)] :
			[make('p', { className: 'type' }, ...typeOf(schema))])));
}

function find() {
	const words = by('find').value.toLowerCase().split(/\s+/).filter(Boolean);
	let n = 0;

	for (const section of by('operations').children) {
		const entries = [...section.querySelectorAll('.entry')];

		entries.forEach(e => e.hidden = !words.every(w => e.dataset.find.includes(w)));
		section.hidden = entries.every(e => e.hidden);
		n += entries.filter(e => !e.hidden).length;
	}
	by('found').textContent = words.length ? `${n} found` : '';
}

/* Opens what the address names. */
function go() {
	const e = document.getElementById(decodeURIComponent(location.hash.slice(1)));

	if (e?.tagName === 'DETAILS') {
		e.open = true;
		e.scrollIntoView();
	}
}

function show(api) {
	const tags = new Map();

	for (const [path, item] of Object.entries(api.paths))
		for (const method of ['get', 'post', 'put', 'patch', 'delete'])
			if (item[method]) {
				const tag = item[method].tags?.[0] ?? 'other';
				tags.set(tag, [...tags.get(tag) ?? [], operation(path, method, item[method], api.components)]);
			}
	by('about').textContent = `${api.info.summary ?? ''}, version ${api.info.version} of the interface.`;
	for (const [tag, entries] of tags) {
		by('operations').append(make('section', {}, make('h2', { id: tag, textContent: tag }), ...entries));
		by('contents').append(make('a', { href: `#${tag}`, textContent: tag }));
	}
	by('objects-title').hidden = false;
	by('objects').append(...Object.entries(api.components.schemas).filter(([name]) => !/.Failure$/.test(name)).sort().map(object));
	by('contents').append(make('a', { href: '#objects-title', textContent: 'Objects' }));
	by('find').oninput = find;
	addEventListener('hashchange', go);
	go();
}

fetch('/v2/openapi.json').then(answer => answer.ok ? answer.json() : Promise.reject(new Error(`HTTP ${answer.status}`))).then(show).catch(error => {
	by('problem').textContent = `The API document cannot be read (${error.message}).`;
	by('problem').hidden = false;
});
