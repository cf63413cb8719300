/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One stream for all tabs of a browser.  The tab that holds the lock keeps it, for what all of them show, and tells the
 * others; when it closes the next one goes on behind the last number that was told.  Where streams are refused, or the
 * server has none, that tab asks for the list instead, for all of them as well.
 *
 * What is told is that something has changed, and no more: the page asks for itself.
 */
import { wait } from './dom.js';

const ADDRESS = '/watch/events';
const GATHER_MS = 200, PAUSE_MS = 1000, LAZY_MS = 15000, WAIT_S = 25, REFUSED_MS = 300000;

const id = Math.random().toString(36).slice(2), began = Date.now();
const tabs = new Map();			/* what each shows, by its id; of the one that leads alone */
const shown = [];			/* ['media', id, token] or ['channel', id], by this tab */
const others = navigator.locks && globalThis.BroadcastChannel ? new BroadcastChannel('kinothek.events') : null;
const latest = new Map();		/* when each was told to have changed, of the tab that leads */
let told = () => {}, live = false, at = null;
let leads = false, source = null, turn = 0, gathering = 0;

/* Does somebody tell what changes? */
export const isLive = () => live;

/* The name by which it is told: without its token. */
const nameOf = ([kind, of]) => `${kind}Id:${of}`;

function post(message) {
	others?.postMessage(message);
	hear(message);
}

function hear(message) {
	at = message.at ?? at;
	live = message.live ?? live;
	if (message.changed && shown.some(s => nameOf(s) === message.changed))
		told();
	if (message.asks && shown.length)
		others?.postMessage({ tab: id, shown, began });
	if (leads && message.tab)
		admit(message);
}

/* One more tab, or one less: the stream is opened anew for what is new, and goes on for what is not. */
function admit({ tab, shown: what, began: since, gone }) {
	if (gone) {
		tabs.delete(tab);
		return;
	}
	const known = new Set([...tabs.values()].flatMap(t => t.shown.map(String)));
	const isKnown = what.every(s => known.has(String(s)));
	tabs.set(tab, { shown: what, began: since, followed: isKnown });
	if (isKnown) {
		post({ at, live });
		what.map(nameOf).filter(n => latest.get(n) >= since - PAUSE_MS).forEach(n => post({ changed: n }));
		return;
	}
	clearTimeout(gathering);
	gathering = setTimeout(open, GATHER_MS);
}

function address(all, more) {
	const query = new URLSearchParams(more);
	const list = kind => [...new Set(all.flatMap(t => t.shown).filter(s => s[0] === kind).map(([, of, token]) => token ? `${of}~${token}` : of))];

	for (const kind of ['media', 'channel'])
		if (list(kind).length)
			query.set(kind, list(kind).join());
	/* what has happened since the page of a new tab was asked for, before anybody followed it */
	const age = Math.max(0, ...all.filter(t => !t.followed).map(t => Date.now() - t.began + PAUSE_MS));
	if (age > 0)
		query.set('age', String(Math.min(age, 86400000)));
	if (at !== null)
		query.set('after', at);
	return `${ADDRESS}?${query}`;
}

/* {"mediaId":"…"} */
function tell(data) {
	const name = Object.entries(data)[0].join(':');

	latest.set(name, Date.now());
	post({ changed: name, at });
}

function isFollowed(all, number) {
	all.forEach(t => t.followed = true);
	post({ at: number || at, live: true });
}

function open() {
	const mine = ++turn, all = [...tabs.values()];

	source?.close();
	if (!others || !globalThis.EventSource) {	/* each tab for itself: a stream of each would be too much */
		ask(mine, Infinity);
		return;
	}
	source = new EventSource(address(all));
	source.addEventListener('position', e => isFollowed(all, e.lastEventId));
	source.addEventListener('changed', e => {
		at = e.lastEventId || at;
		tell(JSON.parse(e.data));
	});
	source.onerror = () => {
		if (mine !== turn || source.readyState !== EventSource.CLOSED)
			return;			/* it comes back by itself */
		post({ live: false });
		ask(mine, Date.now() + REFUSED_MS);
	};
}

/* The list, until streams are worth another try. */
async function ask(mine, until) {
	while (mine === turn && Date.now() < until) {
		const asked = Date.now(), all = [...tabs.values()];
		let pause = LAZY_MS;
		try {
			const answer = await fetch(address(all, { wait: WAIT_S }), { headers: { Accept: 'application/json' }, cache: 'no-store' });
			if (answer.ok) {
				const { changed, next } = await answer.json();
				if (mine !== turn)
					return;
				isFollowed(all, String(next));
				changed.forEach(tell);
				pause = changed.length || Date.now() - asked > PAUSE_MS ? PAUSE_MS : LAZY_MS;
			} else {
				post({ live: false });
				pause = Math.max(LAZY_MS, 1000 * answer.headers.get('retry-after'));
			}
		} catch {
			post({ live: false });
		}
		await wait(pause);
	}
	if (mine === turn)
		open();
}

/* Holds the lock, and with it the stream, until the tab closes. */
function lead() {
	leads = true;
	admit({ tab: id, shown, began });
	others?.postMessage({ asks: true });
	return new Promise(done => addEventListener('pagehide', () => {
		leads = false;
		turn++;
		clearTimeout(gathering);
		source?.close();
		tabs.clear();
		done();
	}, { once: true }));
}

function begin() {
	others?.postMessage({ tab: id, shown, began });
	if (others)
		navigator.locks.request('kinothek.events', lead);
	else
		lead();
}

/* Tells by `changed` when something of that may be another: once for several, and not at the same moment as all others. */
export function follow(subjects, changed) {
	let waits = false;

	if (!subjects.length)
		return;
	shown.push(...subjects);
	told = async () => {
		if (waits)
			return;
		waits = true;
		await wait(Math.random() * PAUSE_MS);
		waits = false;
		changed();
	};
	if (others)
		others.onmessage = e => hear(e.data);
	addEventListener('pagehide', () => others?.postMessage({ tab: id, gone: true }));
	addEventListener('pageshow', e => e.persisted && begin());
	begin();
}
