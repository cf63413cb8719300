// SPDX-License-Identifier: GPL-3.0-or-later
// contract.mjs DOCUMENT [ANSWERS.jsonl…]: does every recorded answer keep the word of the API document (judge.mjs says how), and has
// each of its operations an example that does?  Prints TAP.
import { readFileSync } from 'node:fs';
import judges from './judge.mjs';

const [documentFile, ...answerFiles] = process.argv.slice(2);
if (!documentFile) {
	console.error('usage: contract.mjs DOCUMENT [ANSWERS.jsonl…]');
	process.exit(64);
}
const doc = JSON.parse(readFileSync(documentFile, 'utf8'));
const { judge, judgeValue, pointer, templateOf } = judges(doc);

let count = 0, failed = 0;
const result = (name, faults) => {
	count++;
	if (faults.length > 0)
		failed++;
	console.log(`${faults.length > 0 ? 'not ok' : 'ok'} ${count} - ${name}`);
	for (const fault of faults.slice(0, 20))
		console.log(`# ${fault}`);
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
