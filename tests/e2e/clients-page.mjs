// SPDX-License-Identifier: GPL-3.0-or-later
// The page of tests/e2e/clients: what its users write around Uppy and tus-js-client.  Each client brings the file of the
// input and resolves to the id of its upload, or rejects; what it needs to go on after a reload lies in localStorage.
import AwsS3 from '@uppy/aws-s3';
import Uppy from '@uppy/core';
import UppyTus from '@uppy/tus';
import * as tus from 'tus-js-client';

const CHUNK = 5 << 20;
const idOf = (url) => /([0-9a-f-]{36})(\?ticket=.*)?$/.exec(url)[1];
const file = () => document.querySelector('input').files[0];

async function announce(base, token) {
	const answer = await fetch(`${base}/v2/uploads`, { method: 'POST',
		headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
		body: JSON.stringify({ fileName: file().name, fileSize: file().size, type: 'multipart' }) });

	if (answer.status !== 201)
		throw new Error(`POST /v2/uploads: ${answer.status}`);
	return (await answer.json()).data.input;
}

// The file is added, `saved` is what the uploader keeps with it, and the upload ends or fails.  What Uppy gives up is tried
// again a second later, as its users do by a button.
async function run(uppy, saved) {
	const id = uppy.addFile({ name: file().name, type: file().type, data: file() });
	let fault, result;

	if (saved)
		uppy.setFileState(id, saved);
	uppy.on('upload-error', (_, error) => { fault = error; });
	result = await uppy.upload();
	for (let tries = 0; result.successful.length === 0 && tries < 4; tries++) {
		await new Promise((resolve) => setTimeout(resolve, 1000));
		result = await uppy.retryAll();
	}
	if (result.successful.length !== 1)
		throw fault ?? new Error('nothing was brought');
	return result.successful[0].uploadURL;
}

// In one PUT, or in parts; signed in the page by the credentials of the upload.
const s3 = (inParts) => async ({ base, token }) => {
	const resumed = JSON.parse(localStorage.getItem('s3') ?? 'null');
	const input = resumed?.input ?? await announce(base, token);
	const uppy = new Uppy().use(AwsS3, { s3Endpoint: `${input.endpoint}/uploads`, region: input.region, shouldUseMultipart: inParts,
		getChunkSize: () => CHUNK, generateObjectKey: () => input.key, getCredentials: () => ({ region: input.region, credentials: input }) });

	uppy.on('state-update', (_, next) => {
		const state = Object.values(next.files)[0]?.s3Multipart;

		if (state)
			localStorage.setItem('s3', JSON.stringify({ input, state }));
	});
	await run(uppy, resumed && { s3Multipart: resumed.state });
	localStorage.removeItem('s3');
	return input.key;
};

const uppyTus = async ({ base, token }) => idOf(await run(new Uppy().use(UppyTus, { endpoint: `${base}/upload/tus`,
	chunkSize: CHUNK, headers: { Authorization: `Bearer ${token}` } })));

// It gives up when the browser is offline; its users start it again when that is over.
const tusJs = ({ base, token }) => new Promise((resolve, reject) => {
	const upload = new tus.Upload(file(), { endpoint: `${base}/upload/tus`, chunkSize: CHUNK, retryDelays: [0, 1000, 3000, 5000],
		headers: { Authorization: `Bearer ${token}` }, metadata: { filename: file().name, filetype: file().type },
		removeFingerprintOnSuccess: true, onSuccess: () => resolve(idOf(upload.url)),
		onError: (error) => navigator.onLine ? reject(error) :
			window.addEventListener('online', () => upload.start(), { once: true }) });

	upload.findPreviousUploads().then((previous) => {
		if (previous.length > 0)
			upload.resumeFromPreviousUpload(previous[0]);
		upload.start();
	});
});

const clients = { 'Uppy in one PUT of S3': s3(false), 'Uppy in parts of S3': s3(true), 'Uppy by tus': uppyTus, 'tus-js-client': tusJs };

window.bring = (name, how) => clients[name](how);
