#!/usr/bin/python3 -SE
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the film on a page with yt-dlp and fetches it into the working directory.

It has no network: whatever yt-dlp asks for, it asks of the program that has started it, one message a line.  We write
{"op": "open", "method", "url", "headers", "body"}, {"op": "read", "stream", "most"}, {"op": "close", "stream"} and
{"op": "progress", "percent"}, and in the end {"op": "done", "file", "name"} or {"op": "failed", "why", "detail"}.  The first two are
answered by {"stream", "status", "head"} and {"n"}, behind which n bytes follow, or {"error"} with a sentence.  The first
line that comes is {"url", "most"}: the page, and how many bytes the film may have.
"""
import base64
import glob
import io
import json
import os
import sys
import traceback

# Where it may lie: as one file, by pip, by the package.  Without -S these would run code from the administrator's home.
sys.path += ['/usr/local/bin/yt-dlp', *glob.glob('/usr/local/lib/python3*/dist-packages'), '/usr/lib/python3/dist-packages']
# What would want sockets of its own.
for module in 'requests', 'curl_cffi', 'websockets':
    sys.modules[module] = None

import http.client
import urllib.error
import urllib.request
import urllib.response


def on_fault(kind, fault, trace):
    """Where it lies, for the log; what it says may hold a signed address."""
    print(kind.__name__, *(f'{os.path.basename(at.filename)}:{at.lineno}' for at in traceback.extract_tb(trace)), file=sys.stderr)


sys.excepthook = on_fault


def say(op, **more):
    os.write(1, json.dumps({'op': op, **more}).encode() + b'\n')


def answer():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(1)
    said = json.loads(line)
    if said.get('error'):
        raise urllib.error.URLError(said['error'])
    return said


def end(why, detail=''):
    say('failed', why=why, detail=detail[:500])
    sys.exit(0)


class Body(io.RawIOBase):
    def __init__(self, stream):
        self.stream = stream

    def readable(self):
        return True

    def readinto(self, room):
        if self.stream is None:
            return 0
        say('read', stream=self.stream, most=len(room))
        try:
            n = answer()['n']
        except urllib.error.URLError as fault:
            raise ConnectionResetError(str(fault.reason)) from None
        room[:n] = sys.stdin.buffer.read(n)
        return n

    def close(self):
        if self.stream is not None and not self.closed:
            say('close', stream=self.stream)
            self.stream = None
        super().close()


def do_open(self, http_class, request, **more):
    """In the place of urllib's, through which all versions of yt-dlp go."""
    headers = {**request.unredirected_hdrs, **{k: v for k, v in request.headers.items() if k not in request.unredirected_hdrs}}
    body = request.data
    if body is not None and not isinstance(body, bytes):
        body = body.read() if hasattr(body, 'read') else b''.join(body)
    say('open', method=request.get_method(), url=request.full_url,
        headers=['%s: %s' % (k, v) for k, v in headers.items() if k.lower() not in ('host', 'connection', 'content-length')],
        body=None if body is None else base64.urlsafe_b64encode(body).rstrip(b'=').decode())
    said = answer()
    head = http.client.parse_headers(io.BytesIO((said['head'] + '\r\n').encode('latin-1', 'replace')))
    response = urllib.response.addinfourl(io.BufferedReader(Body(said['stream']), 1 << 16), head, request.full_url, said['status'])
    response.msg = response.reason = http.client.responses.get(said['status'], '')
    response.version = 11
    return response


urllib.request.AbstractHTTPHandler.do_open = do_open

try:
    import yt_dlp
except ImportError:
    end('missing')

task = json.loads(sys.stdin.buffer.readline())


class Silent:
    def debug(self, text): pass
    warning = info = error = debug


last = 0
shares, parts = {}, {}      # of each stream of the film, by their rates; how much of it has come


def share_out(streams):
    rates = [stream.get('tbr') or 0 for stream in streams]
    rates = rates if all(rates) else [1] * len(rates)
    shares.update((stream['format_id'], rate / sum(rates)) for stream, rate in zip(streams, rates))


def on_progress(at):
    global last
    whose = at['info_dict'].get('format_id')
    total = at.get('total_bytes') or at.get('total_bytes_estimate') or 0
    if at.get('fragment_count'):
        parts[whose] = (at.get('fragment_index') or 0) / at['fragment_count']
    else:
        parts[whose] = (at.get('downloaded_bytes') or 0) / total if total else 0
    percent = int(95 * sum(shares.get(stream, 1) * part for stream, part in parts.items()))
    if percent > last:
        last = percent
        say('progress', percent=percent)


options = {
    'nocheckcertificate': True,     # who speaks TLS for it checks them
    'logger': Silent(), 'quiet': True, 'noprogress': True, 'no_color': True, 'cachedir': False, 'noplaylist': True,
    'format': 'bestvideo*+bestaudio/best', 'merge_output_format': 'mkv', 'outtmpl': {'default': 'film.%(ext)s'},
    'max_filesize': task['most'], 'hls_prefer_native': True, 'external_downloader': {'default': 'native'}, 'nopart': True,
    'retries': 3, 'fragment_retries': 3, 'extractor_retries': 1, 'file_access_retries': 0, 'updatetime': False,
    'skip_unavailable_fragments': False, 'progress_hooks': [on_progress], 'ffmpeg_location': '/usr/bin', 'writethumbnail': False,
}
try:
    with yt_dlp.YoutubeDL(options) as service:
        film = service.extract_info(task['url'], download=False, process=False)
        film = service.process_ie_result(film, download=False)
        entries = list(film['entries']) if 'entries' in film else [film]
        if len(entries) != 1:
            end('several' if entries else 'none')
        film = entries[0]
        if film.get('is_live') or film.get('live_status') in ('is_live', 'is_upcoming'):
            end('live')
        share_out(film.get('requested_formats') or [])
        film = service.process_ie_result(film, download=True)
        path = film['requested_downloads'][0]['filepath'] if film.get('requested_downloads') else ''
        if not os.path.isfile(path):
            end('too_large')
        # Where it does not know the platform, it counts what the page has, also the only one.
        title = (film.get('title') or 'film').removesuffix(' (1)' if film.get('extractor_key') == 'HTML5MediaEmbed' else '')
        name = yt_dlp.utils.sanitize_filename(title) + os.path.splitext(path)[1]
        say('done', file=os.path.basename(path), name=name)
except yt_dlp.utils.UnsupportedError:
    end('none')
except yt_dlp.utils.YoutubeDLError as fault:
    cause = fault
    while getattr(cause, 'exc_info', None) and cause.exc_info[1] is not None and cause.exc_info[1] is not cause:
        cause = cause.exc_info[1]
    if isinstance(cause, yt_dlp.utils.UnsupportedError):
        end('none')
    network = isinstance(cause, (OSError, http.client.HTTPException)) and not isinstance(cause, urllib.error.HTTPError)
    text = getattr(fault, 'orig_msg', None) or getattr(cause, 'msg', None) or str(fault)
    end('unavailable' if network else 'refused', str(text).split('; please report')[0].replace('\n', ' '))
