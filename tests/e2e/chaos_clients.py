# SPDX-License-Identifier: GPL-3.0-or-later
# Clients of a trial and their ledger.  An asset has one client, which does one thing after the other with it, so that what
# was acknowledged says exactly what has to be true afterwards.
#
# A line of the ledger: {"id", "do", "said": "yes" | "no" | "unknown", …}.  yes: answered with 2xx; no: refused, so nothing has
# changed; unknown: 5xx or a broken connection.  After an unknown answer the client reads the asset before it goes on, and
# every change names the version it is of: a change that comes late is refused then, or was there before the next one.
import base64
import hashlib
import http.client
import json
import os
import random
import re
import threading
import time
import urllib.parse
import zlib


class Ledger:
    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.lock = threading.Lock()
        self.serial, self.acknowledged = 0, 0

    def number(self):
        with self.lock:
            self.serial += 1
            return self.serial

    def write(self, **line):
        os.write(self.file, json.dumps(line, separators=(',', ':')).encode() + b'\n')
        os.fdatasync(self.file)
        with self.lock:
            self.acknowledged += line['said'] == 'yes'


class Server:
    """HTTP by one connection at a time; counts what it was answered."""

    def __init__(self, host, tenant, client_id, secret):
        self.host, self.tenant, self.who = host, tenant, f'{client_id}:{secret}'
        self.connection, self.token = None, None
        self.requests = 0
        self.statuses = {}

    def plain(self, method, path, body, headers):
        """Status (0: no answer), headers, body.  A connection that was idle may have ended: reading is tried again."""
        fresh = self.connection is None
        got = self.once(method, path, body, headers)
        again = got[0] == 0 and method == 'GET' and not fresh
        return self.once(method, path, body, headers) if again else got

    def once(self, method, path, body, headers):
        self.requests += 1
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.host, timeout=60)
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
            got = answer.status, answer.headers, answer.read()
        except (OSError, http.client.HTTPException):
            got = 0, {}, b''
        if got[0] == 0 or got[1].get('Connection') == 'close':
            if self.connection is not None:
                self.connection.close()
            self.connection = None
        self.statuses[got[0]] = self.statuses.get(got[0], 0) + 1
        return got

    def login(self):
        status, _, body = self.plain('POST', f'/realms/{self.tenant}/protocol/openid-connect/token',
            'grant_type=client_credentials', {'Authorization': 'Basic ' + base64.b64encode(self.who.encode()).decode(),
                'Content-Type': 'application/x-www-form-urlencoded'})
        self.token = json.loads(body)['access_token'] if status == 200 else None

    def ask(self, method, path, body=None, version=None, kind='application/json'):
        """Status (0: no answer), version in the ETag, data."""
        if self.token is None:
            self.login()
        headers = {'Authorization': f'Bearer {self.token}'}
        if version is not None:
            headers['If-Match'] = f'"{version}"'
        if body is not None:
            headers['Content-Type'] = kind
            body = body if isinstance(body, bytes) else json.dumps(body)
        status, answer, text = self.plain(method, path, body, headers)
        if status == 401:
            self.token = None
        tag = re.match(r'"(\d+)', answer.get('ETag', '') or '')
        try:
            data = json.loads(text).get('data') if text else None
        except ValueError:
            data = None
        return status, int(tag[1]) if tag else None, data


def said(status):
    # A refusal for want of room may come after something was begun, but never after its commit.
    return 'yes' if 200 <= status < 300 else 'no' if 400 <= status < 500 else 'unknown'


def pdf(text):
    parts, out = [b'<</Type/Catalog/Pages 2 0 R>>', b'<</Type/Pages/Kids[3 0 R]/Count 1>>',
        b'<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1'
        b'/BaseFont/Helvetica>>>>>>>>'], b'%PDF-1.4\n'
    stream = b'BT /F 12 Tf 10 50 Td (' + text + b') Tj ET'
    parts.append(b'<</Length %d>>stream\n%s\nendstream' % (len(stream), stream))
    places = []
    for i, part in enumerate(parts):
        places.append(len(out))
        out += b'%d 0 obj%s\nendobj\n' % (i + 1, part)
    table = len(out)
    out += b'xref\n0 5\n0000000000 65535 f \n' + b''.join(b'%010d 00000 n \n' % p for p in places)
    return out + b'trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n' % table


def chunk(name, content):
    return len(content).to_bytes(4, 'big') + name + content + zlib.crc32(name + content).to_bytes(4, 'big')


class Files:
    """Small files, no two of which are the same."""
    MIX = ['png'] * 10 + ['pdf'] * 4 + ['wav'] * 2 + ['mp4'] * 3

    def __init__(self, folder):
        self.samples = {}
        for kind in ('png', 'wav', 'mp4'):
            with open(f'{folder}/sample.{kind}', 'rb') as f:
                self.samples[kind] = f.read()
        with open(f'{folder}/long.mp4', 'rb') as f:
            self.samples['long'] = f.read()

    def make(self, kind, serial):
        mark = b'serial %012d' % serial
        if kind == 'pdf':
            return pdf(mark)
        whole = self.samples[kind]
        if kind == 'png':
            end = whole.rindex(b'\0\0\0\0IEND')
            return whole[:end] + chunk(b'tEXt', b'Comment\0' + mark) + whole[end:]
        if kind == 'wav':
            return whole[:-len(mark)] + mark
        return whole + (8 + len(mark)).to_bytes(4, 'big') + b'free' + mark


class Client(threading.Thread):
    """One of many people."""

    def __init__(self, server, ledger, files, trial):
        super().__init__(daemon=True)
        self.server, self.ledger, self.files, self.trial = server, ledger, files, trial
        self.assets = {}        # id: {version, deleted, sure}
        self.faults = []        # answers that must not be
        self.mine, self.idle = 40, False        # so many assets at a time; idle: waits for the end of the calm

    def run(self):
        try:
            while not self.trial.over:
                self.idle = self.trial.calm.is_set()
                if self.idle:
                    time.sleep(0.05)
                else:
                    self.step()
        except Exception as e:          # a fault of ours must not look like peace
            self.faults.append(f'client ended: {e!r}')
            raise

    def step(self):
        if (len(self.assets) < 3 or random.random() < 0.4) and self.trial.open_jobs < self.trial.backlog:
            self.upload(random.choice(Files.MIX))
            return
        if not self.assets:
            time.sleep(0.05)
            return
        asset_id = random.choice(list(self.assets))
        if len(self.assets) > self.mine:
            self.delete(asset_id)
            return
        random.choices([self.patch, self.thumbnail, self.turn, self.delete, self.jobs, self.ingest, self.read, self.clip],
            [30, 6, 12, 4, 5, 2, 12, 4])[0](asset_id)

    def note(self, asset_id, do, status, **more):
        self.ledger.write(id=asset_id, do=do, said=said(status), **more)
        asset = self.assets.get(asset_id)
        if asset is not None and not 200 <= status < 300:
            asset['version'] = None         # read it before the next change

    def version(self, asset_id):
        """What the next change is of; None: not known now."""
        asset = self.assets[asset_id]
        if asset['version'] is None:
            status, version, data = self.server.ask('GET', '/v2/media/' + asset_id)
            if status == 404:
                if not asset.get('going'):
                    self.faults.append(f'{asset_id} is not found')
                del self.assets[asset_id]
                return None
            if status != 200:
                time.sleep(0.1)
                return None
            asset['version'], asset['deleted'] = version, data['status'] == 'softDeleted'
        return asset['version']

    def until_known(self, method, path, body=None, tries=40):
        """Asks until somebody decides; for what may be asked twice."""
        for _ in range(tries):
            status, version, data = self.server.ask(method, path, body)
            if said(status) != 'unknown' and status not in (401, 429):
                break
            if self.trial.over:
                break
            time.sleep(0.1)
        return status, version, data

    def upload(self, kind):
        serial = self.ledger.number()
        content = self.files.make(kind, serial)
        name = f'{self.server.tenant} {serial}'
        status, _, data = self.server.ask('POST', '/v2/uploads', {'fileName': f'{serial}.{kind[:3]}', 'type': 'put',
            **({'fileSize': len(content)} if random.random() < 0.5 else {})})
        if status != 201:
            self.note(None, 'announce', status)
            time.sleep(0.05)
            return None
        upload_id, url = data['id'], urllib.parse.urlsplit(data['input']['url'])
        self.note(upload_id, 'announce', status)
        if random.random() < 0.03:
            status = self.until_known('PUT', f'/v2/uploads/{upload_id}/cancel', {})[0]
            self.note(upload_id, 'cancel', status)
            return None
        for _ in range(40):
            status = self.server.plain('PUT', f'{url.path}?{url.query}', content,
                {'Content-Type': 'application/octet-stream'})[0]
            # 409: an attempt whose answer was lost has arrived.
            if said(status) == 'yes' or status in (409, 410, 422) or self.trial.over:
                break
            time.sleep(0.1)
        sha256 = hashlib.sha256(content).hexdigest()
        self.note(upload_id, 'put', 200 if status == 409 else status, sha256=sha256, size=len(content))
        if said(status) == 'no' and status != 409:
            self.faults.append(f'the bytes of {upload_id} were refused with {status}')
        if (said(status) != 'yes' and status != 409) or random.random() < 0.03:
            return None
        status, _, data = self.until_known('PUT', f'/v2/uploads/{upload_id}/complete', {'name': name})
        self.note(upload_id, 'complete', status, name=name, kind=kind, tenant=self.server.tenant, sha256=sha256,
            size=len(content))
        if said(status) == 'no':
            self.faults.append(f'{upload_id} had arrived and was refused with {status}')
        if said(status) == 'yes':
            self.assets[upload_id] = {'version': None, 'deleted': False}
            return upload_id
        return None

    def changed(self, asset_id, do, answer, **more):
        status, version, _ = answer
        self.note(asset_id, do, status, version=version, **more)
        if said(status) == 'yes' and asset_id in self.assets:
            self.assets[asset_id]['version'] = version
            return True
        return False

    def patch(self, asset_id):
        version = self.version(asset_id)
        if version is None or self.assets[asset_id]['deleted']:
            return
        serial = self.ledger.number()
        would = random.choice([{'name': f'name {serial}'}, {'description': f'description {serial}'},
            {'tags': [f't{serial % 50}', f's{serial}']}, {'name': f'name {serial}', 'description': f'both {serial}'}])
        self.changed(asset_id, 'patch', self.server.ask('PATCH', '/v2/media/' + asset_id, would, version), fields=would)

    def thumbnail(self, asset_id):
        version = self.version(asset_id)
        if version is None or self.assets[asset_id]['deleted']:
            return
        path = f'/v2/media/{asset_id}/thumbnail'
        if self.assets[asset_id].get('thumbnail') and random.random() < 0.5:
            answer = self.server.ask('DELETE', path, version=version)
            fields = {'thumbnail': False}
        else:
            answer = self.server.ask('PUT', path, self.files.make('png', self.ledger.number()), version, 'image/png')
            fields = {'thumbnail': True}
        self.changed(asset_id, 'thumbnail', answer, fields=fields)
        if said(answer[0]) == 'yes':
            self.assets[asset_id]['thumbnail'] = fields['thumbnail']
            self.assets[asset_id]['version'] = None

    def turn(self, asset_id):
        """Softly deleted, or back again."""
        version = self.version(asset_id)
        if version is None:
            return
        if self.assets[asset_id]['deleted']:
            answer = self.server.ask('PUT', f'/v2/media/{asset_id}/recover', {}, version)
        else:
            answer = self.server.ask('DELETE', '/v2/media/' + asset_id, version=version)
        self.changed(asset_id, 'turn', answer, fields={'deleted': not self.assets[asset_id]['deleted']})
        self.assets[asset_id]['version'] = None

    def delete(self, asset_id):
        """For good."""
        version = self.version(asset_id)
        if version is None:
            return
        self.assets[asset_id]['going'] = True
        answer = self.server.ask('DELETE', f'/v2/media/{asset_id}?permanent=true', version=version)
        self.note(asset_id, 'purge', answer[0])
        if said(answer[0]) == 'yes':
            del self.assets[asset_id]
            status = self.server.ask('GET', '/v2/media/' + asset_id)[0]
            if status == 200:
                self.faults.append(f'{asset_id} is there although it was deleted')

    def jobs(self, asset_id):
        status, _, data = self.server.ask('GET', f'/v2/media/{asset_id}/jobs')
        if status != 200 or not data:
            return
        job = random.choice(data)
        if job['status'] in ('failed', 'cancelled'):
            self.server.ask('PUT', f'/v2/jobs/{job["id"]}/retry', {})
        elif job['status'] in ('waiting', 'queued', 'running', 'delayed') and random.random() < 0.3:
            self.server.ask('PUT', f'/v2/jobs/{job["id"]}/cancel', {})

    def ingest(self, asset_id):
        if not self.assets[asset_id]['deleted']:
            status = self.server.ask('PUT', f'/v2/media/{asset_id}/ingest', {})[0]
            self.note(asset_id, 'ingest', status)
            self.assets[asset_id]['version'] = None

    def read(self, asset_id):
        """What was just acknowledged is there to read."""
        known = self.assets[asset_id]['version']
        status, version, _ = self.server.ask('GET', '/v2/media/' + asset_id)
        if status == 404 and not self.assets[asset_id].get('going'):
            self.faults.append(f'{asset_id} is not found')
        if status == 200 and known is not None and version < known:
            self.faults.append(f'{asset_id} has version {version} after {known} was acknowledged')

    def clip(self, asset_id):
        """A section as a file, which a job cuts."""
        status, _, sections = self.server.ask('GET', f'/v2/media/{asset_id}/sections?includeAllChapterSections=true')
        if status == 200 and sections:
            self.server.ask('GET', f'/v2/media/{asset_id}/sections/{random.choice(sections)["id"]}/download')


class Prober(threading.Thread):
    """Asks for the same all the time, so that it is seen when a program answers again."""

    def __init__(self, server, trial, function):
        super().__init__(daemon=True)
        self.server, self.trial, self.function, self.answered = server, trial, function, []

    def run(self):
        while not self.trial.over:
            begun = time.monotonic()
            if self.function == 'api':
                good = self.server.ask('GET', '/v2/media?perpage=1')[0] == 200
            else:       # an address that is none: both the program and the database have to be there to say so
                nowhere = '/upload/00000000-0000-7000-8000-000000000000?ticket=none'
                good = self.server.plain('PUT', nowhere, b'', {})[0] == 403
            if good:
                self.answered.append((begun, time.monotonic()))
            time.sleep(0.05)
