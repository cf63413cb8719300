/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A token server for tests/e2e/provider: two tenants below /realms/, as other such servers have them, one that signs by RS256 and
 * one by ES256, with new keys at each start.  node provider.mjs PORT (0: any); prints the port. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const { Provider } = await import(pathToFileURL(`${process.env.NODE_MODULES}/oidc-provider/lib/index.js`));
const roles = {
	viewer: ['ViewChannel', 'ViewMetadata', 'offline_access'], nobody: [], stranger: ['ViewChannel'],
	admin: ['SuperAdmin', 'ViewChannel', 'ViewMetadata', 'CreateContent', 'ManageChannel'],
};
const kinds = { red: ['RS256', 'rsa', { modulusLength: 2048 }], blue: ['ES256', 'ec', { namedCurve: 'P-256' }] };

function realm(home, name) {
	const [alg, type, options] = kinds[name];
	const key = generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' });

	return new Provider(`${home}/realms/${name}`, {
		jwks: { keys: [{ ...key, alg, kid: randomUUID(), use: 'sig' }] },
		clients: Object.keys(roles).map((id) => ({
			client_id: id, client_secret: `${id} secret`, grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
			id_token_signed_response_alg: alg,
		})),
		enabledJWA: { idTokenSigningAlgValues: [alg] },
		routes: { token: '/protocol/openid-connect/token', jwks: '/protocol/openid-connect/certs' },
		features: {
			clientCredentials: { enabled: true }, devInteractions: { enabled: false },
			resourceIndicators: {
				enabled: true, defaultResource: () => 'urn:media', useGrantedResource: () => true,
				getResourceServerInfo: (ctx, resource, client) => ({
					scope: '', audience: client.clientId === 'stranger' ? 'elsewhere' : 'media',
					accessTokenFormat: 'jwt', accessTokenTTL: 300, jwt: { sign: { alg } },
				}),
			},
		},
		extraTokenClaims: (ctx, token) => ({
			typ: 'Bearer', azp: token.clientId, preferred_username: `service-account-${token.clientId}`,
			realm_access: { roles: roles[token.clientId] },
		}),
	}).callback();
}

const realms = {};
const server = createServer((request, answer) => {
	const [, base, name, path] = /^(\/realms\/(\w+))(\/.*)$/.exec(request.url) ?? [];

	if (!realms[name])
		return answer.writeHead(404).end();
	request.originalUrl = request.url;
	request.baseUrl = base;
	request.url = path;
	realms[name](request, answer);
});
server.listen(+process.argv[2], '127.0.0.1', () => {
	const { port } = server.address();

	for (const name of Object.keys(kinds))
		realms[name] = realm(`http://127.0.0.1:${port}`, name);
	console.log(port);
});
