/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request as curl, JavaScript (fetch) and Python (urllib) send it.  A request has method, url, headers (none for the token),
 * secured: does it need a token?, and form, json or file: what its body is, a file by its name; and answer: its type, if any;
 * leads: it is the address of a file. */

const JSON_TYPE = 'application/json';

/* What an operation is sent, by its example or else by the document alone. */
export function requestOf(path, method, op, example, origin) {
	const types = Object.keys(op.requestBody?.content ?? {});
	const sent = example?.request ?? { path };
	const type = sent.headers?.['Content-Type'] ?? (example ? undefined : types[0]);
	const query = new URLSearchParams(sent.query ?? {}).toString();
	const success = Object.entries(op.responses).find(([status]) => status < '400')?.[1];

	return { method: method.toUpperCase(), url: origin + sent.path + (query && `?${query}`),
		secured: (op.security ?? []).length > 0,
		headers: { ...(type ? { 'Content-Type': type } : {}), ...sent.headers },
		...(type === undefined ? {} : type === JSON_TYPE ? { json: sent.body ?? {} } :
			type === 'application/x-www-form-urlencoded' ? { form: sent.body ?? {} } :
			{ file: `file.${type.split('/').pop()}` }),
		leads: '302' in op.responses,
		answer: example ? example.answer.type : Object.keys(success?.content ?? {})[0] };
}

const shell = text => `'${text.replaceAll("'", `'\\''`)}'`;
/* A literal of JavaScript and of Python. */
const quoted = text => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;

export function curl({ method, url, secured, headers, form, json, file, leads }) {
	const body = form ? Object.entries(form).map(([k, v]) => `--data-urlencode ${shell(`${k}=${v}`)}`) :
		json !== undefined ? [`-d ${shell(JSON.stringify(json))}`] : file ? [`--data-binary @${file}`] : [];
	const usual = form ? 'POST' : body.length ? 'POST' : 'GET';

	return [`curl ${leads ? '-L -o result ' : ''}${method === usual ? '' : `-X ${method} `}${shell(url)}`, ...(secured ? ['-H "Authorization: Bearer $TOKEN"'] : []),
		...Object.entries(headers).filter(([k]) => !form || k !== 'Content-Type').map(([k, v]) => `-H ${shell(`${k}: ${v}`)}`),
		...body].join(' \\\n    ');
}

/* A value as a literal; `words` are those of the language for true, false and null. */
function literal(value, words, indent) {
	const inner = `${indent}    `;

	if (value === null || typeof value === 'boolean')
		return words[String(value)];
	if (typeof value === 'string')
		return quoted(value);
	if (typeof value !== 'object')
		return String(value);
	const parts = Array.isArray(value) ? value.map(v => literal(v, words, inner)) :
		Object.entries(value).map(([k, v]) => `${words.key(k)}: ${literal(v, words, inner)}`);
	const [open, close] = Array.isArray(value) ? '[]' : '{}';
	const line = parts.join(', ');
	return parts.length === 0 ? open + close : line.length < 80 && !line.includes('\n') ? Array.isArray(value) ? `[${line}]` :
		words.spaced ? `{ ${line} }` : `{${line}}` : `${open}\n${parts.map(p => `${inner}${p},\n`).join('')}${indent}${close}`;
}

const SCRIPT = { true: 'true', false: 'false', null: 'null', spaced: true, key: k => /^[A-Za-z_]\w*$/.test(k) ? k : quoted(k) };
const PYTHON = { true: 'True', false: 'False', null: 'None', spaced: false, key: quoted };

export function script({ method, url, secured, headers, form, json, file, answer, leads }) {
	const head = [...(secured ? ['Authorization: `Bearer ${token}`'] : []),
		...Object.entries(headers).map(([k, v]) => `${SCRIPT.key(k)}: ${quoted(v)}`)];
	const options = [...(method === 'GET' ? [] : [`method: '${method}'`]), ...(head.length ? [`headers: { ${head.join(', ')} }`] : []),
		...(form ? [`body: new URLSearchParams(${literal(form, SCRIPT, '    ')})`] :
			json !== undefined ? [`body: JSON.stringify(${literal(json, SCRIPT, '    ')})`] : file ? ['body: file'] : [])];
	const read = leads ? '\nconst result = await answer.blob();' : answer === undefined ? '' : answer === JSON_TYPE ? '\nconst result = await answer.json();' : '\nconst result = await answer.text();';

	return `const answer = await fetch(${quoted(url)}${options.length ? `, {\n${options.map(o => `    ${o},\n`).join('')}}` : ''});
if (!answer.ok)
    throw new Error(\`\${answer.status} \${await answer.text()}\`);${read}`;
}

export function python({ method, url, secured, headers, form, json, file, answer, leads }) {
	const head = [...(secured ? [`'Authorization': f'Bearer {token}'`] : []),
		...Object.entries(headers).map(([k, v]) => `${quoted(k)}: ${quoted(v)}`)];
	const data = form ? `urllib.parse.urlencode(${literal(form, PYTHON, '    ')}).encode()` :
		json !== undefined ? `json.dumps(${literal(json, PYTHON, '    ')}).encode()` : file ? `open('${file}', 'rb').read()` : null;
	const modules = [...((answer === JSON_TYPE && !leads) || json !== undefined ? ['json'] : []), ...(form ? ['urllib.parse'] : []), 'urllib.request'];
	const read = leads ? 'result = answer.read()' : answer === undefined ? 'pass' : answer === JSON_TYPE ? 'result = json.load(answer)' : 'result = answer.read().decode()';

	return `import ${modules.join(', ')}

request = urllib.request.Request(${quoted(url)}, method='${method}'${head.length ? `, headers={
${head.map(h => `    ${h},\n`).join('')}}` : ''}${data ? `${head.length ? ', ' : ',\n    '}data=${data}` : ''})
with urllib.request.urlopen(request) as answer:
    ${read}`;
}

export const LANGUAGES = { curl, JavaScript: script, Python: python };
