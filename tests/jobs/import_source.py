# SPDX-License-Identifier: GPL-3.0-or-later
"""A server of files with the faults of real ones.  import_source.py FILE LOG: prints its port; a line of LOG is a request.
What is held goes on when there is a file LOG.go.  Nobody may come to 127.0.0.2, where it listens, too."""
import gzip
import http.server
import os
import subprocess
import sys
import threading
import time

with open(sys.argv[1], 'rb') as f:
    FILM = f.read()
LOG = open(sys.argv[2], 'a', buffering=1)
tries = {}
together = threading.Barrier(2)


def part(which):
    """The film, or what is chosen of it, as a stream of packets."""
    return subprocess.run(['ffmpeg', '-v', 'error', '-nostdin', '-i', sys.argv[1], '-map', which, '-c', 'copy', '-f', 'mpegts', '-'],
                          stdout=subprocess.PIPE, check=True).stdout


class Source(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def head(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.send_header('Connection', 'close')
        self.end_headers()
        self.close_connection = True

    def give(self, bytes_, tag, cut=None, deaf=False, **headers):
        """The part that is asked for, if it is one of this file, or whatever it is of (deaf); at most `cut` bytes of it."""
        asked, begin = self.headers.get('Range'), 0
        if asked and (deaf or self.headers.get('If-Range') == tag):
            begin = int(asked.split('=')[1].split('-')[0])
            headers['Content_Range'] = f'bytes {begin}-{len(bytes_) - 1}/{len(bytes_)}'
        self.head(206 if begin else 200, Content_Length=len(bytes_) - begin, ETag=tag, **headers)
        self.wfile.write(bytes_[begin:][:cut])

    def hold(self, bytes_):
        self.wfile.flush()
        while not os.path.exists(sys.argv[2] + '.go'):
            time.sleep(.05)
        self.wfile.write(bytes_)

    def stall(self):
        """Until the other side has gone."""
        self.wfile.flush()
        self.connection.recv(1)

    def do_GET(self):
        path = self.path.split('?')[0]
        n = tries[path] = tries.get(path, 0) + 1
        LOG.write(f"{path} {self.headers.get('Range') or '-'} {self.headers.get('If-Range') or '-'}\n")
        if path in ('/film.mp4', '/watched.mp4'):
            self.give(FILM, '"one"')
        elif path == '/together.mp4':      # to two who have asked
            together.wait(60)
            self.give(FILM, '"one"')
        elif path == '/named':
            self.give(FILM, '"one"', Content_Disposition="attachment; filename=\"old.mp4\"; filename*=UTF-8''R%C3%A4t%20%E2%82%AC.mp4")
        elif path == '/breaks.mp4':        # each connection brings a third of it
            self.give(FILM, '"one"', cut=len(FILM) // 3 + 1)
        elif path == '/changes.mp4':       # and becomes another file meanwhile
            self.give(FILM + (b'' if n > 1 else b'old'), f'"{min(n, 2)}"', cut=None if n > 1 else len(FILM) // 2)
        elif path == '/deaf.mp4':          # the same, and the server does not know If-Range
            self.give(FILM if n > 1 else FILM[::-1], f'"{min(n, 2)}"', cut=None if n > 1 else len(FILM) // 2, deaf=True)
        elif path == '/deaf-longer.mp4':   # nor does it tell a tag
            self.give(FILM + (b'' if n > 1 else b'old'), 'W/"x"', cut=None if n > 1 else len(FILM) // 2, deaf=True,
                      Last_Modified='Wed, 21 Oct 2015 07:28:00 GMT')
        elif path in ('/grows.mp4', '/grows-on.mp4'):   # goes on with more than there was; -on: each time
            begin = int((self.headers.get('Range') or 'bytes=0-')[6:-1])
            if begin:                      # in a body that does not say how long it is
                self.head(206, ETag='"one"', Content_Range=f'bytes {begin}-{len(FILM) - 1}/{len(FILM)}')
                self.wfile.write(FILM[begin:] + bytes(1000))
            else:
                self.give(FILM, '"one"', cut=len(FILM) // 2 if n == 1 or path == '/grows-on.mp4' else None)
        elif path in ('/grows-range.mp4', '/grows-body.mp4'):   # and says so: in its range, in its length
            begin, more = int((self.headers.get('Range') or 'bytes=0-')[6:-1]), 1000 if path == '/grows-range.mp4' else 0
            if begin:
                self.head(206, ETag='"one"', Content_Range=f'bytes {begin}-{len(FILM) - 1 + more}/*', Content_Length=len(FILM) + 1000 - begin)
                self.wfile.write(FILM[begin:] + bytes(1000))
            else:
                self.give(FILM, '"one"', cut=len(FILM) // 2 if n == 1 else None)
        elif path == '/stalls.mp4':        # in the middle; the rest can be had
            self.give(FILM, '"one"', cut=None if n > 1 else len(FILM) // 2)
            self.stall() if n == 1 else None
        elif path == '/stalls-changes.mp4':
            self.give(FILM if n > 1 else FILM[::-1], f'"{min(n, 2)}"', cut=None if n > 1 else len(FILM) // 2)
            self.stall() if n == 1 else None
        elif path == '/stalls-plain.mp4':  # and there are no ranges here
            self.head(200, Content_Length=len(FILM))
            self.wfile.write(FILM if n > 1 else FILM[:len(FILM) // 2])
            self.stall() if n == 1 else None
        elif path in ('/drips.mp4', '/drips-page.mp4'):
            self.head(200, Content_Length=len(FILM), ETag='"one"')
            try:
                for at in range(len(FILM)):
                    self.wfile.write(FILM[at:at + 1])
                    time.sleep(.1)
            except OSError:
                pass
        elif path == '/slow.mp4':          # but never slow enough to be given up
            self.head(200, Content_Length=len(FILM), ETag='"one"')
            for at in range(0, len(FILM), len(FILM) // 30):
                self.wfile.write(FILM[at:at + len(FILM) // 30])
                time.sleep(.2)
        elif path == '/held.mp4':
            self.give(FILM, '"one"', cut=len(FILM) // 2)
            self.hold(FILM[len(FILM) // 2:])
        elif path == '/held-unsaid.mp4':
            self.head(200)
            self.wfile.write(FILM + bytes(16 << 20))
            self.hold(bytes(1))
        elif path == '/unsaid.mp4':        # how long it is
            self.head(200)
            self.wfile.write(FILM)
        elif path == '/page':
            self.head(200, Content_Type='text/html; charset=utf-8')
            self.wfile.write(b'<!doctype html><title>A video</title>')
        elif path in PAGES:
            self.head(200, Content_Type='text/html; charset=utf-8')
            self.wfile.write(b'<!doctype html><title>Sitting of the council / part 1</title>' + PAGES[path].replace(b'CANARY', b'%d' % canary.server_port))
        elif path in LISTS:
            self.head(200, Content_Type='application/vnd.apple.mpegurl')
            self.wfile.write(b'#EXTM3U\n' + LISTS[path])
        elif path in ('/all.ts', '/pictures.ts', '/sound.ts'):
            self.give(part({'/all.ts': '0', '/pictures.ts': '0:v', '/sound.ts': '0:a'}[path]), '"ts"')
        elif path == '/text.mp4':
            self.give(b'<!doctype html><title>A video</title>', '"one"')
        elif path == '/empty.mp4':
            self.give(b'', '"one"')
        elif path == '/half.mp4':          # and then it is away
            if n == 1:
                self.give(FILM, '"one"', cut=len(FILM) // 2)
            else:
                self.head(503, Content_Length=0)
        elif path == '/lies.mp4':          # more is promised than comes
            self.head(200, Content_Length=len(FILM) + 1000)
            self.wfile.write(FILM)
        elif path == '/endless.mp4':
            self.head(200)
            try:
                self.wfile.write(FILM)
                while True:
                    self.wfile.write(bytes(1 << 20))
            except OSError:
                pass
        elif path == '/bomb.mp4':          # of what it is when somebody inflates it
            self.head(200, Content_Type='video/mp4', Content_Encoding='gzip')
            self.wfile.write(BOMB)
        elif path == '/list.mp4':
            self.give(b'#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.2:%d/x\nfile:///etc/passwd\n' % canary.server_port, '"one"')
        elif path == '/refresh':
            self.head(200, Content_Type='text/html')
            self.wfile.write(b'<meta http-equiv=refresh content="0;url=http://127.0.0.2:%d/x">' % canary.server_port)
        elif path.startswith('/moved/'):   # /moved/STATUS
            self.head(int(path[7:]), Location=f'http://127.0.0.2:{canary.server_port}/film.mp4', Content_Length=0)
        elif path == '/moved-later':
            self.head(503 if n == 1 else 302, Location=f'http://127.0.0.2:{canary.server_port}/film.mp4', Content_Length=0)
        elif path == '/moved-odd':
            self.head(302, Location='wais://media.example.org/film.mp4?signature=SECRET', Content_Length=0)
        elif path == '/round':
            self.head(302, Location='/round', Content_Length=0)
        elif path.startswith('/status/'):  # /status/STATUS
            self.head(int(path[8:]), Content_Length=0)
        elif path == '/busy':
            self.head(503, Content_Length=0)
        elif path == '/inside':
            self.head(302, Location='http://127.0.0.2:1/film.mp4', Content_Length=0)
        else:
            self.head(404, Content_Length=0)


class Canary(http.server.ThreadingHTTPServer):
    def verify_request(self, request, client):
        LOG.write('canary - -\n')
        return True


PAGES = {
    '/watch': b'<video src="watched.mp4"></video>',
    '/watch-parts': b'<video src="all.m3u8"></video>',
    '/watch-streams': b'<video src="master.m3u8"></video>',
    '/watch-two': b'<video src="watched.mp4"></video><video src="named"></video>',
    '/watch-inside': b'<video src="http://127.0.0.2:CANARY/film.mp4"></video>',
    '/watch-file': b'<video src="file:///etc/passwd"></video>',
    '/watch-held': b'<video src="held.mp4"></video>',
    '/watch-drips': b'<video src="drips-page.mp4"></video>',
    '/watch-moved': b'<video src="moved-odd"></video>',
    '/watch-gone': b'<video src="gone.mp4"></video>',
}
LISTS = {
    '/master.m3u8': b'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="one",DEFAULT=YES,URI="sound.m3u8"\n'
                    b'#EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=320x180,CODECS="avc1.42c00d,mp4a.40.2",AUDIO="a"\npictures.m3u8\n',
    **{f'/{name}.m3u8': b'#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n%s.ts\n#EXT-X-ENDLIST\n' % name.encode()
       for name in ('all', 'pictures', 'sound')},
}
BOMB = gzip.compress(bytes(64 << 20), 1)
canary = Canary(('127.0.0.2', 0), Source)
threading.Thread(target=canary.serve_forever, daemon=True).start()
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Source)
os.write(1, b'%d %d\n' % (server.server_port, canary.server_port))
server.serve_forever()
