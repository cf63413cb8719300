/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trying an operation from its page.  The token stays in this module, as long as the page is open. */
import { make } from './dom.js';

let token = '';

function tokenInput() {
	return make('input', { type: 'password', className: 'token', value: token, autocomplete: 'off', spellcheck: false, oninput: e => {
		token = e.target.value.trim();
		document.querySelectorAll('.try .token').forEach(other => other === e.target || (other.value = token));
	} });
}

const labelled = (text, input) => make('label', {}, make('span', {}, text), input);

function parameterInput(p) {
	const properties = { required: p.required, attributes: { 'data-name': p.name, 'data-in': p.in } };

	if (p.schema.enum)
		return make('select', properties, make('option', { value: '', textContent: p.required ? 'choose one' : 'not given' }),
			...p.schema.enum.map(textContent => make('option', { textContent })));
	return make('input', { ...properties, autocomplete: 'off', spellcheck: false,
		placeholder: p.schema.default === undefined ? '' : String(p.schema.default) });
}

function bodyInput(request) {
	if (request.file)
		return make('input', { type: 'file', className: 'body', required: true });
	if (request.json !== undefined || request.form)
		return make('textarea', { className: 'body', spellcheck: false,
			value: request.form ? String(new URLSearchParams(request.form)) : JSON.stringify(request.json, null, 2) });
	return null;
}

/* The address that the form asks for, and the headers. */
function asked(path, form, request) {
	const query = new URLSearchParams(), headers = {};
	let address = path;

	for (const input of form.querySelectorAll('[data-name]')) {
		const { name, in: place } = input.dataset;
		if (place === 'path')
			address = address.replace(`{${name}}`, encodeURIComponent(input.value));
		else if (input.value !== '' && place === 'query')
			query.append(name, input.value);
		else if (input.value !== '')
			headers[name] = input.value;
	}
	if (form.querySelector('.body'))
		headers['Content-Type'] = request.file ? form.querySelector('.body').files[0].type || request.headers['Content-Type'] : request.headers['Content-Type'];
	if (request.secured && token)
		headers.Authorization = `Bearer ${token}`;
	return { address: address + (query.size ? `?${query}` : ''), headers };
}

/* Who writes is asked first. */
function confirmed(method, address) {
	const send = make('button', { value: 'send', textContent: 'Send' });
	const dialog = make('dialog', { className: 'ask', ariaLabel: 'Really?' },
		make('p', {}, 'This changes what is there, and nothing asks again: ', make('code', { textContent: `${method} ${address}` })),
		make('form', { method: 'dialog' }, make('button', { value: '', className: 'quiet', autofocus: true, textContent: 'Cancel' }), send));

	document.body.append(dialog);
	dialog.showModal();
	return new Promise(done => dialog.onclose = () => {
		dialog.remove();
		done(dialog.returnValue === 'send');
	});
}

async function bodyOf(answer) {
	const type = answer.headers.get('Content-Type') ?? '';

	if (/json/.test(type)) {
		const text = await answer.text();
		try {
			return JSON.stringify(JSON.parse(text), null, 2);
		} catch {
			return text;
		}
	}
	if (/^text\//.test(type))
		return answer.text();
	const { size } = await answer.blob();
	return size ? `${size} bytes of ${type || 'no type'}` : '';
}

async function send(path, form, request, result) {
	const { address, headers } = asked(path, form, request);
	const status = result.querySelector('[role=status]'), parts = result.querySelector('.parts');
	const body = form.querySelector('.body');

	if (request.method !== 'GET' && !await confirmed(request.method, address))
		return;
	parts.replaceChildren();
	status.textContent = 'Sending …';
	try {
		const answer = await fetch(address, { method: request.method, headers, body: body?.type === 'file' ? body.files[0] : body?.value,
			credentials: 'omit', cache: 'no-store' });
		const text = await bodyOf(answer);
		status.textContent = `Answer ${answer.status} ${answer.statusText}`;
		parts.append(make('pre', { tabIndex: 0, ariaLabel: 'Headers', textContent: [...answer.headers].map(h => h.join(': ')).join('\n') }),
			...(text === '' ? [] : [make('pre', { tabIndex: 0, ariaLabel: 'Body', textContent: text })]));
	} catch (error) {
		status.textContent = `No answer: ${error.message}`;
	}
}

export function tryIt(path, op, request) {
	const result = make('div', { className: 'result' }, make('p', { attributes: { role: 'status' } }), make('div', { className: 'parts result' }));
	const body = bodyInput(request);
	const form = make('form', { onsubmit: async e => {
		e.preventDefault();
		const button = form.querySelector('button');
		button.disabled = true;
		await send(path, form, request, result);
		button.disabled = false;
		button.focus();
	} }, ...(request.secured ? [labelled('Your token, which this page forgets when it is closed', tokenInput())] : []),
	...(op.parameters ?? []).map(p => labelled(`${p.name}${p.required ? ', required' : ''}`, parameterInput(p))),
	...(body ? [labelled(`Body, ${request.file ? 'a file' : request.headers['Content-Type']}`, body)] : []),
	make('button', { textContent: 'Send' }));

	return make('details', { className: 'try' }, make('summary', { textContent: 'Try it' }), form, result);
}
