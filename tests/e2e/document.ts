// SPDX-License-Identifier: GPL-3.0-or-later
// What a program written against the API document may rely on: compiled by tests/e2e/document, and run by tour.mjs.
import createClient from 'openapi-fetch';
import type { components, operations, paths } from './kinothek.js';

let api = createClient<paths>({ baseUrl: 'https://media.example.org' });
export function connect(baseUrl: string, token?: string): void {
	api = createClient<paths>({ baseUrl, headers: token ? { Authorization: `Bearer ${token}` } : {} });
}

// A token, by the form and the answer of the token endpoint.
export async function token(tenant: string, id: string, secret: string): Promise<string> {
	const { data, error } = await api.POST('/realms/{tenantShortcode}/protocol/openid-connect/token', {
		params: { path: { tenantShortcode: tenant } },
		body: { grant_type: 'client_credentials', client_id: id, client_secret: secret },
		headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
		bodySerializer: (body) => new URLSearchParams(body as Record<string, string>),
	});
	if (error)
		throw new Error(`${error.error}: ${error.error_description}`);
	return data.access_token;
}

// A page, its rows and what they have; what only a single asset has is not there.
export async function names(): Promise<string[]> {
	const { data, error } = await api.GET('/v2/media', { params: { query: { perpage: 50, sort: 'createdAt:desc', filter: 'type=video' } } });
	if (error)
		throw new Error(`${error.data.code}: ${error.data.errors.map((fault) => `${fault.pointer} ${fault.detail}`).join('; ')}`);
	const total: number = data.pagination.total;
	// @ts-expect-error renditions are not in lists
	data.data[0]?.renditions;
	// @ts-expect-error no such order
	await api.GET('/v2/media', { params: { query: { sort: 'secret' } } });
	return total > 0 ? data.data.map((media) => `${media.name} ${media.duration ?? 0}`) : [];
}

// An asset: null only where it can be null.
export async function asset(mediaId: string): Promise<string | null> {
	const { data, error } = await api.GET('/v2/media/{mediaId}', { params: { path: { mediaId } } });
	if (error)
		return error.data.code === 'not_found' ? null : Promise.reject(new Error(error.data.code));
	const status: 'processing' | 'ready' | 'failed' | 'softDeleted' = data.data.status;
	const first: string | undefined = data.data.renditions[0]?.url;
	const tags: string[] = data.data.tags;
	// @ts-expect-error it may be null
	const duration: number = data.data.duration;
	return `${status} ${first} ${tags} ${duration} ${data.data.playlistUrl ?? ''}`;
}

// A state conflict has a code of its own, and others are known not to come.
export async function ingest(mediaId: string): Promise<boolean> {
	const { error, response } = await api.PUT('/v2/media/{mediaId}/ingest', { params: { path: { mediaId } } });
	if (error && response.status === 422 && error.data.code === 'ingest_running')
		return false;
	return !error;
}
export type IngestRefusals = operations['ingestMedia']['responses'][422]['content']['application/json']['data']['code'];
export const refusals: Record<IngestRefusals, string> = { invalid: 'the request', ingest_running: 'later' };

// Bodies are closed, and answers say what cannot be sent back.
export const patch: components['schemas']['MediaPatch'] = { name: 'Cat', tags: ['a'], description: null };
// @ts-expect-error this cannot be set
export const wrong: components['schemas']['MediaPatch'] = { status: 'ready' };
// @ts-expect-error the name cannot be null
export const nameless: components['schemas']['MediaPatch'] = { name: null };
// @ts-expect-error the name is required
export const upload: components['schemas']['UploadNew'] = {};
