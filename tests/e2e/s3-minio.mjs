// SPDX-License-Identifier: GPL-3.0-or-later
// Brings the file by the client of MinIO for JavaScript, which has a host for an endpoint and no path: "storage" is the
// bucket then, and the rest is the key.
import { createRequire } from 'node:module';

const from = createRequire(`${process.env.NODE_MODULES}/none`);
const { Client } = from('minio');
const [, , file] = process.argv;
const endpoint = new URL(process.env.endpoint);
const client = new Client({ endPoint: endpoint.hostname, port: Number(endpoint.port), useSSL: endpoint.protocol === 'https:',
	accessKey: process.env.AWS_ACCESS_KEY_ID, secretKey: process.env.AWS_SECRET_ACCESS_KEY,
	sessionToken: process.env.AWS_SESSION_TOKEN, region: process.env.AWS_REGION, partSize: 5 << 20 });
let parts = 0;
const send = client.makeRequestAsyncOmit.bind(client);
client.makeRequestAsyncOmit = async (options, ...rest) => {
	const answer = await send(options, ...rest);
	if (options.method === 'PUT' && ++parts === Number(process.env.DIES_AFTER))
		process.kill(process.pid, 'SIGKILL');
	return answer;
};
await client.fPutObject('storage', `uploads/${process.env.key}`, file);
