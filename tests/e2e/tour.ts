// SPDX-License-Identifier: GPL-3.0-or-later
// Every operation of the API document once, by the client that @hey-api/openapi-ts makes of it, as a program would call
// them; tour.mjs runs it and keeps what goes over the wire.
import * as operations from './client/sdk.gen.js';
import type { Webhooks } from './client/types.gen.js';

export type Message = Webhooks['body'];

export interface Place {
	tenant: string;
	clientId: string;
	clientSecret: string;
	publicId: string;		// the client that people sign in by
	film: Blob;			// a video with speech and the name film.mp4
	picture: Blob;			// PNG
	receiver: string;		// address that takes webhooks
	// The first message that fits, when it has come; the exchange of it is that of the n-th time that it came.
	message(fits: (message: Message) => boolean, times?: number): Promise<string>;	// its webhook-id
	setToken(token: string): void;	// sent with all that follows; '' is none
	send(url: string, headers: Record<string, unknown>, bytes: Blob): Promise<void>;	// PUT
	stream(operation: Operation, path: string, body?: object): Promise<void>;	// up to its first event; with a body all of it
	stopJobs(): Promise<void>;
	signIn(): Promise<string>;	// a token of a person, for userinfo
}

export type Operation = keyof typeof operations;

// What the operation answers when all is well; anything else ends the tour.
async function good<R extends { data?: unknown; error?: unknown; response?: Response }>(call: Promise<R>): Promise<NonNullable<R['data']>> {
	const { data, error, response } = await call;
	if ((data === undefined || data === null) && response?.status !== 204)
		throw new Error(`${response?.url}: ${response?.status} ${JSON.stringify(error)}`);
	return data as NonNullable<R['data']>;
}

async function until<T>(what: string, ask: () => Promise<T | false | undefined>): Promise<T> {
	for (const end = Date.now() + 180_000; Date.now() < end;) {
		const found = await ask();
		if (found)
			return found;
		await new Promise((resolve) => setTimeout(resolve, 200));
	}
	throw new Error(`waited in vain: ${what}`);
}

// `api` is the SDK, each of whose functions says its own name first.
export default async function tour(api: typeof operations, place: Place): Promise<void> {
	const path = { tenantShortcode: place.tenant };
	const client = { client_id: place.clientId, client_secret: place.clientSecret };

	await service(api, path);
	const grant = await good(api.createToken({ path, body: { grant_type: 'client_credentials', ...client } }));
	place.setToken(grant.access_token);
	await settings(api);
	const { data: watcher } = await good(api.createWebhook({ body: { url: place.receiver, events: ['media.created', 'media.updated', 'media.deleted',
		'media.restored', 'media.ready', 'media.failed', 'metadata.updated', 'upload.failed', 'chapter.created', 'chapter.updated', 'chapter.deleted',
		'section.created', 'section.updated', 'section.deleted', 'comment.created', 'comment.updated', 'comment.deleted', 'livestream.updated', 'flowRun.finished'] } }));
	const channelId = await channels(api);
	await designs(api, place.picture);
	const failed = await refusals(api, place);
	const mediaId = await uploads(api, place);
	await imports(api, new URL('/film.mp4', place.receiver).href);
	await media(api, place, mediaId, channelId);
	const parts = { ...await structure(api, mediaId, place.receiver, place.picture), commentId: await comments(api, mediaId),
		livestreamId: await livestreams(api) };
	await history(api, mediaId);
	await stories(api, mediaId, parts.halfId);
	await meetings(api, mediaId, parts.entryId, place.receiver);
	await downloads(api, mediaId);
	await changes(api, mediaId, channelId);
	await messages(api, place, watcher.id, mediaId, failed, parts);
	await good(api.deleteWebhook({ path: { webhookId: watcher.id } }));
	await webhooks(api, place.receiver);
	await jobs(api, place, mediaId);
	await good(api.listAuditEvents({ query: { perpage: 2, filter: 'type=member.added' } }));
	await people(api, place, path, client);
}

async function service(api: typeof operations, path: { tenantShortcode: string }) {
	await good(api.getHealth());
	await good(api.getReadiness());
	await good(api.getMetrics());
	await good(api.getApiDocument());
	await good(api.getOpenIdConfiguration({ path }));
	await good(api.getTokenKeys({ path }));
}

async function settings(api: typeof operations) {
	await good(api.updateTenantSettings({ body: { portalEnabled: true, corsOrigins: ['https://app.example.org'] } }));
	await good(api.getTenantSettings());
	await good(api.setGlossary({ body: { terms: ['Kinothek', 'Sächsische Schweiz'] } }));
	await good(api.getGlossary());
}

async function channels(api: typeof operations): Promise<string> {
	const { data: channel } = await good(api.createChannel({ body: { name: 'Lectures', description: 'Recorded in the main hall' } }));
	const path = { channelId: channel.id };
	await good(api.updateChannel({ path, body: { description: 'Recorded in both halls' } }));
	await good(api.setChannelVisibility({ path, body: { visibility: 'public' } }));
	await good(api.getChannel({ path }));
	await good(api.listChannels({ query: { sort: 'name', filter: 'name~lect' } }));

	const { data: people } = await good(api.listPrincipals({ query: { sort: 'name', perpage: 2 } }));
	const person = people.find((principal) => principal.kind === 'user');
	if (!person)
		throw new Error('nobody is there');
	const { data: group } = await good(api.createGroup({ body: { name: 'Editors' } }));
	const groupId = group.id;
	await good(api.updateGroup({ path: { groupId }, body: { description: 'Who cut the recordings' } }));
	await good(api.getGroup({ path: { groupId } }));
	await good(api.listGroups({ query: { sort: 'name' } }));
	await good(api.addGroupMember({ path: { groupId, principalId: person.id } }));
	await good(api.listGroupMembers({ path: { groupId } }));

	const member = { ...path, principalId: groupId };
	await good(api.addChannelMember({ path, body: { principalId: groupId, role: 'Contributor' } }));
	await good(api.setChannelMember({ path: member, body: { role: 'Publisher' } }));
	await good(api.getChannelMember({ path: member }));
	await good(api.listChannelMembers({ path, query: { sort: 'name', filter: 'kind=group' } }));
	await good(api.removeChannelMember({ path: member }));
	await good(api.removeGroupMember({ path: { groupId, principalId: person.id } }));
	await good(api.deleteGroup({ path: { groupId } }));
	return channel.id;
}

// While a ping waits no other is sent.
async function webhooks(api: typeof operations, url: string) {
	const { data: webhook } = await good(api.createWebhook({ body: { url, events: ['media.created', 'media.ready'], description: 'For the archive' } }));
	const path = { webhookId: webhook.id };
	const pings = (n: number) => until(`${n} pings`, async () => {
		const { data, pagination } = await good(api.listWebhookDeliveries({ path, query: { perpage: 1, filter: 'status=succeeded' } }));
		return pagination.total === n && data[0];
	});
	await pings(1);
	await good(api.updateWebhook({ path, body: { events: ['media.ready', 'media.failed'] } }));
	await pings(2);
	await good(api.rotateWebhookSecret({ path }));
	await good(api.getWebhook({ path }));
	await good(api.listWebhooks());
	await good(api.pingWebhook({ path }));
	const delivery = await pings(3);
	const one = { ...path, deliveryId: delivery.id };
	await good(api.getWebhookDelivery({ path: one }));
	await good(api.retryWebhookDelivery({ path: one }));
	await good(api.deleteWebhook({ path }));
}

async function designs(api: typeof operations, picture: Blob) {
	const { data: design } = await good(api.createDesign({ body: { type: 'ChannelDesign', name: 'Blue', properties: { brandColor: '#1a73e8', radius: 4 } } }));
	const path = { designId: design.id };
	await good(api.updateDesign({ path, body: { isMain: true } }));
	const { data: adorned } = await good(api.setDesignResource({ path: { ...path, name: 'logo.png' }, body: picture, headers: { 'Content-Type': 'image/png' } }));
	await good(api.getDesign({ path }));
	await good(api.listDesigns({ query: { filter: 'type=ChannelDesign' } }));
	if (!adorned.resources.some((resource) => resource.name === 'logo.png'))
		throw new Error('the design has no logo');
	await good(api.getThemeFile({ path: { ...path, name: 'theme.css' }, parseAs: 'text' }));
	await good(api.deleteDesignResource({ path: { ...path, name: 'logo.png' } }));
	const { data: copy } = await good(api.copyDesign({ path, body: { name: 'Blue, once more' } }));
	await good(api.deleteDesign({ path: { designId: copy.id } }));
}

async function upload(api: typeof operations, place: Place, body: { fileName: string; transcriptLanguageCodes?: string[] }, bytes: Blob): Promise<string> {
	const { data: made } = await good(api.createUpload({ body: { ...body, type: 'put', fileSize: bytes.size } }));
	if (!made.input?.url || !made.input.headers)
		throw new Error('nobody says where the bytes go');
	await place.send(made.input.url, made.input.headers, bytes);
	return made.id;
}

// A file that is nothing, and one that only begins as a video does; its asset.
async function refusals(api: typeof operations, place: Place): Promise<string> {
	await upload(api, place, { fileName: 'nothing.mp4' }, new Blob([new Uint8Array(4096).fill(1)])).then(() => Promise.reject(new Error('it is taken')), () => undefined);
	const uploadId = await upload(api, place, { fileName: 'half.mp4' }, place.film.slice(0, 4096));
	const { data: { mediaId } } = await good(api.completeUpload({ path: { uploadId }, body: {} }));
	if (!mediaId)
		throw new Error('half a film became no asset');
	await until('the failure', async () => (await good(api.getMedia({ path: { mediaId } }))).data.status === 'failed');
	return mediaId;
}

// One upload becomes an asset, another is given up.
async function uploads(api: typeof operations, place: Place): Promise<string> {
	const { data: given } = await good(api.createUpload({ body: { fileName: 'wrong.mp4' } }));
	await good(api.cancelUpload({ path: { uploadId: given.id } }));
	const path = { uploadId: await upload(api, place, { fileName: 'opening.mp4', transcriptLanguageCodes: ['en'] }, place.film) };
	const { data: completed } = await good(api.completeUpload({ path, body: { name: 'Opening' } }));
	await good(api.getUpload({ path }));
	await good(api.listUploads({ query: { sort: 'createdAt', filter: 'status=completed' } }));
	await good(api.deleteUpload({ path }));
	if (!completed.mediaId)
		throw new Error('the upload became no asset');
	return completed.mediaId;
}

async function media(api: typeof operations, place: Place, mediaId: string, channelId: string) {
	const path = { mediaId };
	await until('the ingest', async () => (await good(api.getMedia({ path }))).data.ingestJob?.status === 'succeeded');
	const { data: before } = await good(api.listMediaEvents({ path, query: { type: ['media.updated'] } }));
	await good(api.updateMedia({ path, body: { name: 'Opening of the conference', tags: ['2026', 'opening'] } }));
	await good(api.listMediaEvents({ path, query: { after: before.next, type: ['media.updated'] } }));
	await good(api.listEvents({ query: { after: before.next, type: ['media.updated'] } }));
	await place.stream('listMediaEvents', `/v2/media/${mediaId}/events?after=${before.next}&type=media.updated`);
	await place.stream('listEvents', `/v2/events?after=${before.next}&type=media.updated`);
	await good(api.createMediaEventTicket({ path }));
	await good(api.addChannelMedia({ path: { channelId, mediaId } }));
	await good(api.listChannelMedia({ path: { channelId }, query: { sort: 'createdAt:desc' } }));
	await good(api.getMedia({ path }));
	await good(api.listMedia({ query: { sort: 'createdAt:desc', filter: 'type=video+name~conference' } }));
	await until('the index', async () =>
		(await good(api.search({ query: { text: '"opening of the" conf' } }))).data.some((hit) => hit.id === mediaId));
	await until('the excerpts', async () =>
		(await good(api.searchSemantic({ query: { text: 'the start of a meeting' } }))).data.some((hit) => hit.id === mediaId));
	await good(api.listRecommendations({ query: { mediaIds: [mediaId] } }));
	await good(api.listOwnRecommendations());
	await good(api.listSearchRanges({ query: { text: 'conf', filter: 'type=video' } }));
	const { data: { id: presetId } } = await good(api.createSearchPreset({ body: { name: 'Openings', query: { text: 'opening -closing', assetTypes: ['video'] } } }));
	await good(api.replaceSearchPreset({ path: { presetId }, body: { name: 'Openings', query: { text: 'opening' }, isShared: true } }));
	await good(api.getSearchPreset({ path: { presetId } }));
	await good(api.listSearchPresets());
	await good(api.deleteSearchPreset({ path: { presetId } }));
	const { data: { id: chatId } } = await good(api.createChat({ body: { prompt: 'How does the meeting begin?', mediaIds: [mediaId] } }));
	await good(api.createChatMessage({ path: { chatId }, body: { prompt: 'Who opens it?' } }));
	await good(api.getChat({ path: { chatId } }));
	await good(api.listChats());
	await good(api.listChatMessages({ path: { chatId } }));
	await good(api.deleteChat({ path: { chatId } }));
	await place.stream('streamChat', '/v2/chats/stream', { prompt: 'How does the meeting begin?', mediaIds: [mediaId] });
	const flow = { name: 'In short', steps: [{ name: 'short', prompt: 'Say in {{language}} what it is about.', inputs: ['transcript'] }],
		target: { kind: 'description' as const }, variables: [{ name: 'language', value: 'English' }] };
	const { data: { id: flowId } } = await good(api.createFlow({ body: flow }));
	await good(api.getFlow({ path: { flowId } }));
	await good(api.setFlow({ path: { flowId }, body: { ...flow, target: { kind: 'webhook' as const }, description: 'For the portal' } }));
	await good(api.listFlows());
	const { data: { id: runId } } = await good(api.createFlowRun({ path: { flowId }, body: { mediaId, variables: [{ name: 'language', value: 'French' }] } }));
	await good(api.getFlowRun({ path: { flowId, runId } }));
	await good(api.listFlowRuns({ path: { flowId } }));
	await good(api.deleteFlow({ path: { flowId } }));
	await good(api.getMediaPlayer({ path }));
	await good(api.getMediaSeoMetadata({ path }));
	await good(api.removeChannelMedia({ path: { channelId, mediaId } }));
	await good(api.listMediaPermissions({ path }));
	await good(api.setMediaThumbnail({ path, body: place.picture, headers: { 'Content-Type': 'image/png' } }));
	await good(api.getMediaThumbnail({ path }));
	await good(api.deleteMediaThumbnail({ path }));
	await transcripts(api, mediaId);
	await tags(api, mediaId);
	await sharing(api, mediaId);
}

async function transcripts(api: typeof operations, mediaId: string) {
	const path = { mediaId };
	await good(api.getMediaMetadata({ path, query: { expand: ['file'] } }));
	const { data: [first] } = await good(api.listMediaTranscripts({ path }));
	if (!first)
		throw new Error('nothing was heard');
	const one = { ...path, transcriptId: first.id };
	await good(api.updateMediaTranscript({ path: one, body: { captions: 'published' } }));
	await edit(api, one);
	await good(api.downloadMediaTranscript({ path: one, query: { transcriptDownloadType: 'vtt' }, parseAs: 'text' }));
	await good(api.listLanguages());
	await subtitles(api, mediaId);
	await speakers(api, mediaId);
}

// One has a name, becomes a part of another one, is parted again, and is forgotten.
async function speakers(api: typeof operations, mediaId: string) {
	const { data: [one, two] } = await good(api.listMediaSpeakers({ path: { mediaId }, query: { sort: 'createdAt' } }));
	if (!one || !two)
		throw new Error('there are no two speakers');
	const path = { speakerId: one.id };
	await good(api.listSpeakers());
	await good(api.updateSpeaker({ path, body: { label: 'Ann' } }));
	await good(api.getSpeaker({ path }));
	await good(api.mergeSpeaker({ path, body: { speakerId: two.id } }));
	await good(api.splitSpeaker({ path: { speakerId: two.id } }));
	await good(api.rejectSpeaker({ path: { speakerId: two.id } }));
	await good(api.deleteSpeaker({ path, query: { names: true } }));
}

// Words are mended, and what they were comes back.
async function edit(api: typeof operations, path: { mediaId: string; transcriptId: string }) {
	const { data: { paragraphs: [first], version } } = await good(api.getMediaTranscript({ path }));
	if (!first)
		throw new Error('nothing was said');
	await good(api.updateMediaTranscript({ path, body: { paragraphs: [{ id: first.id, text: `So ${first.text}` }] }, headers: { 'If-Match': `"${version}"` } }));
	await good(api.listMediaTranscriptVersions({ path }));
	const older = { ...path, version: String(version) };
	const { data: { paragraphs: [was] } } = await good(api.getMediaTranscriptVersion({ path: older }));
	const { data: { paragraphs: [now] } } = await good(api.restoreMediaTranscriptVersion({ path: older }));
	if (was?.text !== first.text || now?.text !== first.text)
		throw new Error('the words are not those of then');
	const { data: { paragraphs: [aligned] } } = await good(api.alignMediaTranscript({ path, body: { text: `Now ${first.text}` } }));
	if (!aligned?.text.startsWith('Now '))
		throw new Error('it is another text');
}

// Two languages: of one the subtitles go, of the other the transcript.
async function subtitles(api: typeof operations, mediaId: string) {
	const path = { mediaId }, body = '1\n00:00:00,500 --> 00:00:02,000\nGuten Morgen!\n';
	const upload = async (languageCode: string) => (await good(api.createMediaSubtitle({ path, query: { languageCode }, body,
		headers: { 'Content-Type': 'application/x-subrip' } }))).data;
	const { id: subtitleId } = await upload('de'), { transcriptId } = await upload('fr');
	await until('the captions', async () => (await good(api.getMediaSubtitle({ path: { ...path, subtitleId } }))).data.url);
	await good(api.listMediaSubtitles({ path }));
	await good(api.listMediaSubtitleLanguages({ path }));
	await good(api.downloadMediaSubtitle({ path: { ...path, subtitleId }, query: { format: 'srt' }, parseAs: 'text' }));
	await good(api.deleteMediaSubtitle({ path: { ...path, subtitleId } }));
	await good(api.deleteMediaTranscript({ path: { ...path, transcriptId } }));
}

// A link for a week, which anybody may open who knows the pass phrase.
async function sharing(api: typeof operations, mediaId: string) {
	const path = { mediaId };
	const { data: link } = await good(api.shareMedia({ path, body: { passPhrase: 'correct horse battery',
		expiresAt: new Date(Date.now() + 7 * 86400000).toISOString() } }));
	const page = await (await fetch(link.shareLink)).text();
	if (!link.hasPassPhrase || !page.includes('passPhrase') || page.includes(mediaId))
		throw new Error('the link does not ask for its pass phrase');
	await good(api.revokeMediaShare({ path }));
	if ((await fetch(link.shareLink)).status !== 404)
		throw new Error('the link opens something still');
}

async function tags(api: typeof operations, mediaId: string) {
	await good(api.assignTags({ query: { operation: 'add' }, body: { mediaIds: [mediaId], tags: ['hall 1'] } }));
	await good(api.listCommonTags({ body: { mediaIds: [mediaId] } }));
	const { data: tag } = await good(api.createTag({ body: { name: 'confrence' } }));
	const path = { tagId: tag.id };
	await good(api.updateTag({ path, body: { name: 'conference' } }));
	await good(api.getTag({ path }));
	await good(api.listTags({ query: { sort: 'name', filter: 'name~hall' } }));
	await good(api.deleteTag({ path }));
}

// A table of contents of two lines, each of which leads to a stretch of the film; then what is made, changed once and deleted.
async function structure(api: typeof operations, mediaId: string, receiver: string, picture: Blob): Promise<{ chapterId: string; sectionId: string; halfId: string; entryId: string }> {
	const media = { mediaId };
	const { data: chapter } = await good(api.createMediaChapter({ path: media, body: { name: 'Agenda' } }));
	const path = { ...media, chapterId: chapter.id };
	await good(api.updateMediaChapter({ path, body: { description: 'Of the first day' } }));
	const { data: section } = await good(api.createMediaSection({ path: media, body: { type: 'timerange', start: 0, end: 3, title: 'Welcome', chapterId: chapter.id } }));
	const sectionId = section.id;
	const pictured = (id: string) => until('its picture', async () => (await good(api.getMediaSection({ path: { ...media, sectionId: id } }))).data.thumbnail);
	await pictured(sectionId);
	await good(api.updateMediaSection({ path: { ...media, sectionId }, body: { end: 3.5 } }));
	const { data: halves } = await good(api.splitMediaSection({ path: { ...media, sectionId }, body: { splitAt: 2 } }));
	await pictured(halves.created.id);
	const { data: welcome } = await good(api.createMediaChapterEntry({ path, body: { title: 'Welcome' } }));
	const { data: thanks } = await good(api.createMediaChapterEntry({ path, body: { title: 'Thanks', parentId: welcome.id, sectionId: halves.created.id } }));
	const entry = { ...path, entryId: welcome.id };
	await good(api.linkMediaSection({ path: { ...entry, sectionId } }));
	await good(api.updateMediaChapterEntry({ path: entry, body: { title: 'A warm welcome' } }));
	await good(api.getMediaChapterEntry({ path: entry }));
	await good(api.updateMediaChapterEntries({ path, body: { entries: [{ id: thanks.id, parentId: null, sortNumber: 1 }, { id: welcome.id, parentId: thanks.id }] } }));
	await good(api.getMediaChapter({ path }));
	const chapters = await good(api.listMediaChapters({ path: media, query: { sort: 'name' } }));
	const { id: chapterId } = chapters.data.find(({ type }) => type === 'autogenerated')!;
	await good(api.recalculateMediaChapter({ path: { ...media, chapterId } }));
	await until('the chapter', async () => (await good(api.getMediaChapter({ path: { ...media, chapterId } }))).data.status === 'ready');
	await until('its job', async () => (await good(api.getMedia({ path: media }))).data.ingestJob?.status === 'succeeded');
	await good(api.listMediaSections({ path: media, query: { chapterId: chapter.id, includeLinked: true } }));
	await until('the clip', async () => (await api.downloadMediaSection({ path: { ...media, sectionId: halves.created.id }, redirect: 'manual' })).response?.status === 302);
	const { data: copy } = await good(api.copyMediaChapter({ path, body: { name: 'Agenda, once more' } }));
	await good(api.unlinkMediaSection({ path: { ...entry, sectionId } }));
	await good(api.getMediaSection({ path: { ...media, sectionId } }));
	await good(api.deleteMediaSection({ path: { ...media, sectionId } }));
	await good(api.deleteMediaChapterEntry({ path: entry }));
	await good(api.updateMediaChapter({ path: { ...media, chapterId: copy.id }, body: { name: 'Agenda of the second day' } }));
	await good(api.deleteMediaChapter({ path: { ...media, chapterId: copy.id } }));
	const { data: agenda } = await good(api.importMediaChapter({ path: media, body: { url: new URL('/meeting/12', receiver).href } }));
	await until('the agenda', async () => (await good(api.getMediaChapter({ path: { ...media, chapterId: agenda.id } }))).data.status === 'ready');
	await good(api.deleteMediaChapter({ path: { ...media, chapterId: agenda.id } }));
	const { data: marker } = await good(api.createMediaSection({ path: media, body: { type: 'marker', time: 1 } }));
	await pictured(marker.id);
	await good(api.updateMediaSection({ path: { ...media, sectionId: marker.id }, body: { title: 'Applause' } }));
	await good(api.setMediaSectionThumbnail({ path: { ...media, sectionId: marker.id }, body: picture, headers: { 'Content-Type': 'image/png' } }));
	await good(api.getMediaSectionThumbnail({ path: { ...media, sectionId: marker.id } }));
	await good(api.deleteMediaSectionThumbnail({ path: { ...media, sectionId: marker.id } }));
	await good(api.deleteMediaSection({ path: { ...media, sectionId: marker.id } }));
	return { chapterId: copy.id, sectionId: marker.id, halfId: halves.created.id, entryId: thanks.id };
}

// One that is deleted, of which messages tell.
async function comments(api: typeof operations, mediaId: string): Promise<string> {
	const media = { mediaId };
	const { data: question } = await good(api.createMediaComment({ path: media, body: { text: 'Who is speaking here?', time: 1.5 } }));
	const path = { ...media, commentId: question.id };
	const { data: answer } = await good(api.createMediaComment({ path: media, body: { text: 'The mayor', parentId: question.id } }));
	await good(api.updateMediaComment({ path: { ...media, commentId: answer.id }, body: { text: 'The mayor of the town' } }));
	await good(api.getMediaComment({ path: { ...media, commentId: answer.id } }));
	const { data: both } = await good(api.listMediaComments({ path: media }));
	if (both.map(({ text }) => text).join() !== 'The mayor of the town,Who is speaking here?')
		throw new Error(`comments: ${JSON.stringify(both)}`);
	await good(api.updateMediaComment({ path, body: { time: 2 } }));
	await good(api.deleteMediaComment({ path }));
	return question.id;
}

// Half of the film, and all of that forgotten.
async function history(api: typeof operations, mediaId: string) {
	await good(api.updateMediaHistory({ path: { mediaId }, body: { position: 2.5 } }));
	await good(api.listHistory({ query: { filter: 'isFinished=false' } }));
	await good(api.deleteHistory());
}

// Two scenes, of what is before a section and of that, and then a choice between them.
async function stories(api: typeof operations, mediaId: string, sectionId: string) {
	const opening = { id: 'opening', mediaId, start: 0, end: 2, title: 'The opening' };
	const rest = { id: 'rest', mediaId, sectionId };
	const { data: story } = await good(api.createStory({ body: { name: 'The first day', kind: 'static', startSceneId: 'opening',
		scenes: [{ ...opening, choices: [{ sceneId: 'rest' }] }, rest] } }));
	const path = { storyId: story.id };
	await good(api.replaceStory({ path, body: { name: 'The first day, as you like it', kind: 'interactive', startSceneId: 'opening',
		scenes: [{ ...opening, choices: [{ label: 'Go on', sceneId: 'rest' }, { label: 'Once more', sceneId: 'opening' }] }, rest] } }));
	const { data: { scenes } } = await good(api.getStory({ path }));
	if (scenes.map(({ start, end }) => `${start} to ${end}`).join() !== '0 to 2,2 to 3.5')
		throw new Error(`scenes: ${JSON.stringify(scenes)}`);
	await good(api.listStories({ query: { filter: 'kind=interactive', sort: 'name' } }));
	await good(api.deleteStory({ path }));
}

// One whose agenda leads into the film.
async function meetings(api: typeof operations, mediaId: string, entryId: string, receiver: string) {
	const { data: meeting } = await good(api.createMeeting({ body: { name: 'Council, first day', startsAt: '2026-11-20T18:00:00Z', organization: 'Town council',
		oparlUrl: 'https://oparl.example.org/meetings/1', mediaIds: [mediaId], agenda: [{ number: '1', name: 'Thanks', public: true, entryId }] } }));
	const path = { meetingId: meeting.id };
	await good(api.updateMeeting({ path, body: { location: 'Town hall', endsAt: '2026-11-20T21:30:00Z' } }));
	const { data: { agenda } } = await good(api.getMeeting({ path }));
	if (agenda[0]?.entryId !== entryId)
		throw new Error(`agenda: ${JSON.stringify(agenda)}`);
	await good(api.listMeetings({ query: { filter: 'startsAt>=2026-11-01T00:00:00Z', sort: 'startsAt' } }));
	await good(api.deleteMeeting({ path }));
	const { data: imported } = await good(api.importMeeting({ body: { url: new URL('/meeting/12', receiver).href, mediaIds: [mediaId] } }));
	await until('the meeting', async () => (await good(api.getMeeting({ path: { meetingId: imported.id } }))).data.status === 'ready');
	await good(api.deleteMeeting({ path: { meetingId: imported.id } }));
}

// One to which nobody sends anything, and one that is not even started.
async function livestreams(api: typeof operations) {
	const { data: stream } = await good(api.createLivestream({ body: { name: 'Council, live', description: 'From the town hall',
		withDvr: true, transcriptLanguageCodes: ['en'], startsAt: new Date(Date.now() + 86400000).toISOString() } }));
	const path = { livestreamId: stream.id };
	if (stream.inputs?.map(({ primary }) => primary).join() !== 'true,false' || !stream.inputs[0]?.streamKey)
		throw new Error(`inputs: ${JSON.stringify(stream.inputs)}`);
	await good(api.updateLivestream({ path, body: { startsAt: new Date(Date.now() + 7200000).toISOString() } }));
	const { data: rotated } = await good(api.rotateLivestreamKey({ path }));
	if (rotated.inputs?.[0]?.streamKey === stream.inputs[0].streamKey)
		throw new Error('the stream key is the same');
	await good(api.startLivestream({ path }));
	await good(api.publishLivestream({ path }));
	const { data: target } = await good(api.createLivestreamTarget({ path, body: { title: 'Elsewhere', url: 'rtmps://live.example.org/app/secret' } }));
	const elsewhere = { ...path, targetId: target.id };
	if (target.url !== 'rtmps://live.example.org/app/***')
		throw new Error(`a target is shown as ${target.url}`);
	await good(api.listLivestreamTargets({ path }));
	await good(api.updateLivestreamTarget({ path: elsewhere, body: { enabled: false } }));
	const { data: { status: off } } = await good(api.getLivestreamTarget({ path: elsewhere }));
	if (off !== 'off')
		throw new Error(`a target that is not enabled is ${off}`);
	await good(api.deleteLivestreamTarget({ path: elsewhere }));
	await good(api.getLivestreamStatistics({ path }));
	await good(api.getLivestreamStatisticsOfInstance({ path: { ...path, instance: 'primary' } }));
	const { data: { status } } = await good(api.stopLivestream({ path }));
	if (status !== 'finished')
		throw new Error(`nothing came, and it is ${status}`);
	await good(api.getLivestream({ path }));
	await good(api.listLivestreams({ query: { filter: 'status=finished', sort: 'startsAt' } }));
	const { data: other } = await good(api.createLivestream({ body: { name: 'Another' } }));
	await good(api.deleteLivestream({ path: { livestreamId: other.id } }));
	return stream.id;
}

// A film from an address, and one that never comes.
async function imports(api: typeof operations, url: string) {
	const { data: { id: importId } } = await good(api.createImport({ body: { files: [{ url, name: 'The opening, from elsewhere', filename: 'opening.mp4' }] } }));
	const [file] = await until('the import', async () => {
		const { data: { status, files } } = await good(api.getImport({ path: { importId } }));
		return status === 'completed' && files;
	});
	if (!file?.mediaId)
		throw new Error('the import has made no asset');
	const { data: { id: stopped } } = await good(api.createImport({ body: { files: [{ url: new URL('/silent', url).href, name: 'Silence' }] } }));
	await good(api.cancelImport({ path: { importId: stopped } }));
	await good(api.listImports({ query: { sort: 'createdAt:desc' } }));
	await good(api.deleteMedia({ path: { mediaId: file.mediaId } }));
}

// The asset, a rendition of it and what is said in it, as one file.
async function downloads(api: typeof operations, mediaId: string) {
	const { data: { renditions } } = await good(api.getMedia({ path: { mediaId } }));
	const { data: [said] } = await good(api.listMediaTranscripts({ path: { mediaId } }));
	const one = renditions.find(({ kind }) => kind === 'mp4');
	if (!said || !one)
		throw new Error('there is nothing to pack');
	const { data: { id: downloadId } } = await good(api.createDownload({ body: { title: 'The opening, to take away', selectedMediaIds: [mediaId],
		selectedRenditionIds: [one.id], selectedTranscripts: [{ id: said.id, format: 'srt' }] } }));
	const path = { downloadId };
	const [file] = await until('the package', async () => {
		const { data: { status, files } } = await good(api.getDownload({ path }));
		return status === 'ready' && files;
	});
	const packed = file && await (await fetch(file.url)).arrayBuffer();
	if (packed?.byteLength !== file?.size || new TextDecoder().decode(packed?.slice(0, 2)) !== 'PK')
		throw new Error('what comes is not the package');
	await good(api.listDownloads({ query: { sort: 'createdAt:desc' } }));
	await good(api.deleteDownload({ path }));
}

// What waits can be cancelled only while nobody runs it.
async function jobs(api: typeof operations, place: Place, mediaId: string) {
	const media = { mediaId };
	await good(api.extractMediaMetadata({ path: media, body: { extract: ['waveform'] } }));
	const over = async () => (await good(api.getMedia({ path: media }))).data.ingestJob?.status === 'succeeded';
	await until('the wave', over);
	await good(api.deleteMediaMetadata({ path: media }));
	await until('the chapters', over);
	await place.stopJobs();
	await good(api.ingestMedia({ path: media }));
	const { error: running } = await api.ingestMedia({ path: media });
	if (running?.data.code !== 'ingest_running')
		throw new Error(`ingested twice: ${JSON.stringify(running)}`);
	const { data: [waiting] } = await good(api.listMediaJobs({ path: media, query: { sort: 'createdAt:desc', filter: 'status=queued', perpage: 1 } }));
	const path = { jobId: waiting?.id ?? '' };
	await good(api.cancelJob({ path }));
	await good(api.retryJob({ path }));
}

// Refusals of each kind are what their types say.
async function changes(api: typeof operations, mediaId: string, channelId: string) {
	const path = { mediaId };
	await good(api.deleteMedia({ path }));
	const { error: again } = await api.deleteMedia({ path });
	if (again?.data.code !== 'already_deleted')
		throw new Error(`deleted twice: ${JSON.stringify(again)}`);
	await good(api.recoverMedia({ path }));
	await good(api.deleteManyMedia({ body: { mediaIds: [mediaId] }, query: { permanent: false } }));
	await good(api.recoverMedia({ path }));
	const { error: wrong } = await api.updateMedia({ path, body: { name: '' } });
	if (wrong?.data.errors[0]?.pointer !== '/name')
		throw new Error(`no name: ${JSON.stringify(wrong)}`);
	await good(api.deleteChannel({ path: { channelId } }));
}

// Each type has come; when all is quiet it is sent once more, since a message holds the asset as it is then.
async function messages(api: typeof operations, place: Place, webhookId: string, mediaId: string, failed: string,
	parts: { chapterId: string; sectionId: string; commentId: string; livestreamId: string }) {
	const about: ((message: Message) => boolean)[] = [
		(m) => m.type === 'media.created' && m.data.mediaId === mediaId,
		(m) => m.type === 'media.updated' && m.data.media.id === mediaId && m.data.modified.includes('tags') && m.data.modified.includes('name'),
		(m) => m.type === 'media.ready' && m.data.media.id === mediaId,
		(m) => m.type === 'media.failed' && m.data.media.id === failed,
		(m) => m.type === 'media.deleted' && m.data.mediaId === mediaId && !m.data.permanent,
		(m) => m.type === 'media.restored' && m.data.media.id === mediaId,
		(m) => m.type === 'metadata.updated' && m.data.mediaId === mediaId && m.data.kind === 'transcripts',
		(m) => m.type === 'chapter.created' && m.data.chapterId === parts.chapterId,
		(m) => m.type === 'chapter.updated' && m.data.chapterId === parts.chapterId,
		(m) => m.type === 'chapter.deleted' && m.data.chapterId === parts.chapterId,
		(m) => m.type === 'section.created' && m.data.sectionId === parts.sectionId,
		(m) => m.type === 'section.updated' && m.data.sectionId === parts.sectionId,
		(m) => m.type === 'section.deleted' && m.data.sectionId === parts.sectionId,
		(m) => m.type === 'comment.created' && m.data.commentId === parts.commentId,
		(m) => m.type === 'comment.updated' && m.data.commentId === parts.commentId,
		(m) => m.type === 'comment.deleted' && m.data.commentId === parts.commentId,
		(m) => m.type === 'livestream.updated' && m.data.livestreamId === parts.livestreamId && m.data.status === 'finished',
		(m) => m.type === 'flowRun.finished' && m.data.mediaId === mediaId && m.data.status === 'failed',
		(m) => m.type === 'upload.failed' && m.data.code !== '',
		(m) => m.type === 'ping' && m.data.webhookId === webhookId,
	];
	for (const fits of about) {
		const id = await place.message(fits);
		const { data } = await until('its delivery', () => delivery(api, webhookId, id));
		await good(api.retryWebhookDelivery({ path: { webhookId, deliveryId: data.id } }));
		await place.message(fits, 2);
	}
}

// Of a message, once it has succeeded.
async function delivery(api: typeof operations, webhookId: string, messageId: string) {
	let after: string | null = null;
	do {
		const page: Awaited<ReturnType<typeof list>> = await list(after);
		const found = page.data.find((each) => each.messageId === messageId);
		if (found)
			return { data: found };
		after = page.pagination.next;
	} while (after);
	return undefined;

	function list(at: string | null) {
		return good(api.listWebhookDeliveries({ path: { webhookId }, query: { perpage: 50, filter: 'status=succeeded', ...(at && { after: at }) } }));
	}
}

async function people(api: typeof operations, place: Place, path: { tenantShortcode: string }, client: { client_id: string; client_secret: string }) {
	const token = await place.signIn();
	place.setToken(token);
	await good(api.getUserInfo({ path }));
	await good(api.getUserInfoByPost({ path, body: {} as never }));
	place.setToken('');
	await good(api.revokeToken({ path, body: { token, client_id: place.publicId } }));
	await good(api.revokeToken({ path, body: { token, ...client } }));
	const { error } = await api.createToken({ path, body: { grant_type: 'client_credentials', ...client, client_secret: 'wrong' } });
	if (error?.error !== 'invalid_client')
		throw new Error(`a wrong secret: ${JSON.stringify(error)}`);
}
