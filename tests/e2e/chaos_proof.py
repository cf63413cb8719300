# SPDX-License-Identifier: GPL-3.0-or-later
# What has to be true when all is quiet again: the ledger against the API, the rows and the files.
import collections
import concurrent.futures
import hashlib
import json
import os
import random
import re
import subprocess
import urllib.parse

UUID = ("LOWER(CONCAT_WS('-', SUBSTR(HEX({0}), 1, 8), SUBSTR(HEX({0}), 9, 4), SUBSTR(HEX({0}), 13, 4), SUBSTR(HEX({0}), 17, 4), "
    "SUBSTR(HEX({0}), 21)))")
PLAYED = 0.2        # of all that has sound


def beside_master(folder):
    """The playlists of captions that the master playlist there names, without what their names end in."""
    try:
        with open(f'{folder}/master.m3u8') as f:
            return re.findall(r'URI="([^"/]+)\.m3u8"', f.read())
    except FileNotFoundError:
        return []


class Asset:
    """What its client was told."""

    def __init__(self):
        self.there, self.fields = set(), {}     # there: what it may be; fields: values that it may have
        self.versions, self.yes, self.unknown = [], 0, 0
        self.sha256 = self.kind = self.tenant = self.size = None

    def take(self, line):
        do, said = line['do'], line['said']
        if said == 'no':
            return
        if do == 'complete':
            self.sha256, self.kind, self.tenant, self.size = line['sha256'], line['kind'], line['tenant'], line['size']
            self.there = {True} if said == 'yes' else {True, False}
            self.fields = {'name': {line['name']}, 'description': {None}, 'tags': {()}, 'thumbnail': {False}, 'deleted': {False}}
        elif do == 'purge':
            self.there = {False} if said == 'yes' else self.there | {False}
        elif 'fields' in line:
            for name, value in line['fields'].items():
                value = tuple(sorted(value)) if isinstance(value, list) else value
                self.fields[name] = {value} if said == 'yes' else self.fields[name] | {value}
            if said == 'yes':
                self.yes += 1
                if line.get('version') and do == 'patch':
                    self.versions.append(line['version'])
            else:
                self.unknown += 1


class Proof:
    def __init__(self, ledger, sql, data, servers):
        self.sql, self.data, self.servers = sql, data, servers      # servers: by tenant
        self.lost, self.doubled, self.orphans, self.wrong = [], [], [], []
        self.assets, self.uploads = collections.defaultdict(Asset), collections.defaultdict(dict)
        self.lines = collections.Counter()
        with open(ledger) as f:
            for text in f:
                line = json.loads(text)
                self.lines[line['said']] += 1
                if line['do'] in ('announce', 'put', 'cancel'):
                    if line['said'] == 'yes' and line['id']:
                        self.uploads[line['id']][line['do']] = line.get('sha256', True)
                elif line['id']:
                    self.assets[line['id']].take(line)

    def rows(self, query):
        return [line.split('\t') for line in self.sql(query).splitlines()]

    def told(self):
        self.check_uploads()
        with concurrent.futures.ThreadPoolExecutor(len(self.servers)) as pool:
            by_tenant = collections.defaultdict(list)
            for asset_id, asset in self.assets.items():
                if asset.tenant is not None:
                    by_tenant[asset.tenant].append((asset_id, asset))
            list(pool.map(lambda some: [self.check_asset(*one) for one in some], by_tenant.values()))

    def kept(self):
        self.check_originals()
        self.check_rows()
        self.check_files()
        self.check_counters()

    # The ledger against the API.

    def check_uploads(self):
        have = {row[0]: row[1:] for row in self.rows(
            f"SELECT {UUID.format('id')}, status, LOWER(HEX(sha256)) FROM uploads")}
        for upload_id, told in self.uploads.items():
            status, sha = have.get(upload_id, (None, None))
            if status is None:
                self.lost.append(f'upload {upload_id} has no row')
            elif 'cancel' in told and status != 'cancelled':
                self.lost.append(f'upload {upload_id} was cancelled and is {status}')
            elif 'put' in told and 'cancel' not in told and (status not in ('uploaded', 'completed') or sha != told['put']):
                self.lost.append(f'upload {upload_id} had arrived and is {status} with {sha}')

    def check_asset(self, asset_id, asset):
        status, version, data = self.servers[asset.tenant].ask('GET', '/v2/media/' + asset_id)
        if status == 401:
            status, version, data = self.servers[asset.tenant].ask('GET', '/v2/media/' + asset_id)
        if (status == 200) not in asset.there or status not in (200, 404):
            self.lost.append(f'asset {asset_id}: GET says {status}, there may be {asset.there}')
            return
        if status == 404:
            return
        now = {'name': data['name'], 'description': data['description'], 'tags': tuple(sorted(data['tags'])),
            'thumbnail': '/custom/' in (data['thumbnail'] or {}).get('url', ''), 'deleted': data['status'] == 'softDeleted'}
        for name, may in asset.fields.items():
            if now[name] not in may:
                self.lost.append(f'asset {asset_id}: {name} is {now[name]!r}, not of {may}')
        if data['fileSize'] != asset.size:
            self.lost.append(f"asset {asset_id}: {data['fileSize']} bytes, not {asset.size}")
        if asset.versions and max(asset.versions) > version:
            self.lost.append(f'asset {asset_id}: version {max(asset.versions)} was acknowledged, it has {version}')
        if version < 1 + asset.yes:
            self.lost.append(f'asset {asset_id}: {asset.yes} changes were acknowledged, it has version {version}')
        if len(set(asset.versions)) < len(asset.versions) or version > 1 + asset.yes + asset.unknown:
            self.doubled.append(f'asset {asset_id}: version {version} after {asset.yes} and perhaps {asset.unknown} changes')
        if now['deleted']:
            return
        if data['ingestJob']['status'] != 'succeeded' or data['ingestJob']['warnings'] or data['status'] != 'ready':
            self.wrong.append(f"asset {asset_id} ({asset.kind}): {data['status']}, {json.dumps(data['ingestJob'])}")
        else:
            self.check_shown(asset_id, asset, data)

    def check_shown(self, asset_id, asset, data):
        """Everything that the answer names is served; some are played as well."""
        links = [data[m] for m in ('playlistUrl', 'waveformUrl') if data.get(m)] + [r['url'] for r in data['renditions']]
        links += [data['thumbnail']['url']] if data['thumbnail'] else []
        links += list((data['storyboard'] or {}).values())
        wants = {'mp4': 5, 'long': 5, 'wav': 3, 'png': 1, 'pdf': 1}[asset.kind]
        if len(links) < wants:
            self.wrong.append(f'asset {asset_id} ({asset.kind}) shows only {len(links)} files')
        server = self.servers[asset.tenant]
        for link in links:
            parts = urllib.parse.urlsplit(link)
            status, _, body = server.plain('GET', parts.path + (f'?{parts.query}' if parts.query else ''), None, {})
            if status != 200 or not body:
                self.lost.append(f'asset {asset_id}: {parts.path} answers {status}')
        if asset.kind in ('mp4', 'long', 'wav') and random.random() < PLAYED:
            got = subprocess.run(['ffprobe', '-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0',
                data['playlistUrl']], capture_output=True, text=True, timeout=120)
            if got.returncode != 0 or got.stderr or not 0.5 < float(got.stdout or 0) < 120:
                self.wrong.append(f'asset {asset_id} ({asset.kind}) does not play: {got.stdout} {got.stderr}')

    # Rows and files.

    def check_originals(self):
        for asset_id, size, sha in self.rows(f"SELECT {UUID.format('id')}, file_size, LOWER(HEX(sha256)) FROM media"):
            try:
                with open(f'{self.data}/originals/{asset_id}', 'rb') as f:
                    is_now = hashlib.sha256(f.read()).hexdigest()
            except OSError as e:
                self.lost.append(f'original {asset_id}: {e}')
                continue
            if is_now != sha or (asset_id in self.assets and is_now != self.assets[asset_id].sha256):
                self.lost.append(f'original {asset_id} has other bytes')

    def find(self, into, name, query):
        into += [f'{name}: {row}' for row in self.rows(query)]

    def find_twice(self, name, what, of):
        self.find(self.doubled, name, f'SELECT {what}, COUNT(*) FROM {of} GROUP BY {what} HAVING COUNT(*) > 1')

    def check_rows(self):
        self.find(self.wrong, 'a job that does not end', "SELECT kind, state, error FROM jobs WHERE kind <> 'sweep' "
            "AND state NOT IN ('succeeded', 'failed', 'cancelled')")
        self.find(self.wrong, 'a lease that nobody holds', "SELECT kind, runner FROM jobs WHERE kind <> 'sweep' "
            "AND state <> 'running' AND lease_until <> 0")
        self.find_twice('a step', 'HEX(ingest_id), kind', 'jobs WHERE ingest_id IS NOT NULL')
        self.find_twice('an asset', 'name', 'media')
        self.find_twice('a file', 'HEX(media_id), file', 'renditions')
        self.find_twice('two generations', 'HEX(media_id)', '(SELECT DISTINCT media_id, generation FROM renditions) r')
        self.find_twice('created', 'HEX(media_id)', "events WHERE type = 'media.created'")
        self.find_twice('deleted for good', 'HEX(media_id)', "events WHERE type = 'media.deleted' "
            "AND JSON_VALUE(data, '$.permanent') = 'true'")
        self.find_twice('a transcript', 'HEX(media_id)', 'transcripts')
        self.find(self.lost, 'an asset without its event', "SELECT HEX(id) FROM media m WHERE NOT EXISTS (SELECT 1 "
            "FROM events e WHERE e.media_id = m.id AND e.type = 'media.created')")
        self.find(self.lost, 'changes without events', "SELECT HEX(m.id), m.version, COUNT(e.id) FROM media m "
            "LEFT JOIN events e ON e.media_id = m.id AND e.principal_id IS NOT NULL AND e.type IN ('media.updated', "
            "'media.deleted', 'media.restored') AND COALESCE(JSON_VALUE(e.data, '$.modified[0]'), '') <> 'ingestJob' "
            "GROUP BY m.id HAVING COUNT(e.id) <> m.version - 1")
        self.find(self.lost, 'sound without a transcript', "SELECT HEX(m.id) FROM media m WHERE m.type IN ('audio', "
            "'video') AND m.ingest_status = 'succeeded' AND NOT EXISTS (SELECT 1 FROM transcripts t "
            "WHERE t.media_id = m.id AND t.status = 'completed')")
        self.find(self.wrong, 'speech that was not heard', "SELECT HEX(m.id), m.duration FROM transcripts t JOIN media m "
            "ON m.id = t.media_id WHERE t.no_speech = 1 AND m.duration < 10000")

    def belongs(self):
        """Which files the rows name, below play/ and deleted/."""
        files = collections.defaultdict(set)
        for asset_id, custom in self.rows(f"SELECT {UUID.format('id')}, custom_thumbnail_file FROM media"):
            files[asset_id] |= {custom} - {'NULL'}
        for asset_id, custom, made in self.rows(f"SELECT {UUID.format('media_id')}, custom_thumbnail_file, thumbnail_file FROM sections"):
            files[asset_id] |= {custom, made} - {'NULL'}
        for asset_id, name in self.rows(f"SELECT {UUID.format('media_id')}, file FROM renditions UNION ALL "
                f"SELECT {UUID.format('media_id')}, file FROM clips WHERE file IS NOT NULL"):
            files[asset_id].add(name)
        for asset_id, name in self.rows(f"SELECT {UUID.format('m.id')}, j.file FROM media m JOIN JSON_TABLE("
                "COALESCE(m.captions, '[]'), '$[*]' COLUMNS (file VARCHAR(255) PATH '$.file')) j"):
            files[asset_id].add(name)
        return files

    def thumbnails(self):
        """What clients have set is kept beside the originals."""
        return {f"{asset_id}.{custom.removeprefix('custom/')}" for asset_id, custom in self.rows(
            f"SELECT {UUID.format('id')}, custom_thumbnail_file FROM media WHERE custom_thumbnail_file IS NOT NULL UNION "
            f"SELECT {UUID.format('media_id')}, custom_thumbnail_file FROM sections WHERE custom_thumbnail_file IS NOT NULL")}

    def check_files(self):
        files = self.belongs()
        hidden = {row[0] for row in self.rows(f"SELECT {UUID.format('id')} FROM media WHERE deleted_at > 0")}
        for top in ('play', 'deleted'):
            for asset_id in sorted(os.listdir(f'{self.data}/{top}')):
                root = f'{self.data}/{top}/{asset_id}'
                # Directories that moving has left empty are nothing that anybody could miss.
                have = {os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names}
                if have and (asset_id in hidden) != (top == 'deleted') and asset_id in files:
                    self.orphans.append(f'{top}/{asset_id}: it is {"not " * (asset_id not in hidden)}soft-deleted')
                # A playlist has its media file beside it, a storyboard its pictures.
                named = {re.sub(r'\.[a-z0-9]+$', '', name) for name in files.get(asset_id, ())}
                # The first master stays where it is, for who plays it while the next one replaces it; and so does what it
                # names beside it.
                for folder in {os.path.dirname(name) for name in files.get(asset_id, ())}:
                    named |= {f'{folder}/{name}' for name in ['master', *beside_master(f'{root}/{folder}')]}
                self.orphans += [f'{top}/{asset_id}/{name}' for name in sorted(have)
                    if name not in files.get(asset_id, ()) and re.sub(r'\.[a-z0-9]+$', '', name) not in named]
        for asset_id, names in files.items():
            root = f'{self.data}/{"deleted" if asset_id in hidden else "play"}/{asset_id}'
            self.lost += [f'{root}/{name} is missing' for name in sorted(names) if not os.path.exists(f'{root}/{name}')]
        have, kept = set(os.listdir(f'{self.data}/originals')), self.thumbnails()
        self.orphans += [f'originals/{name}' for name in sorted(have - set(files) - kept)]
        self.lost += [f'originals/{name} is missing' for name in sorted(kept - have)]
        self.orphans += [f'uploads/{name}' for name in os.listdir(f'{self.data}/uploads')]
        # What stays there has no number: folders of machines, a file of locks.
        for at, folders, names in os.walk(f'{self.data}/work'):
            self.orphans += [f'{at}/{name}' for name in folders + names if re.search('[0-9a-f]{8}-[0-9a-f]{4}', name)]

    def check_counters(self):
        for row in self.rows("SELECT n.shortcode, u.media_count, u.storage_used, (SELECT COUNT(*) FROM media m "
                "WHERE m.tenant_id = n.id AND m.deleted_at = 0), (SELECT COALESCE(SUM(m.file_size + m.custom_thumbnail_size + (SELECT "
                "COALESCE(SUM(s.custom_thumbnail_size), 0) FROM sections s WHERE s.media_id = m.id)), 0) FROM media m WHERE "
                "m.tenant_id = n.id) FROM tenants n JOIN tenant_usage u ON u.tenant_id = n.id"):
            if row[1] != row[3] or row[2] != row[4]:
                self.wrong.append(f'counters of {row[0]}: {row[1]} assets, {row[2]} bytes; in truth {row[3]} and {row[4]}')
