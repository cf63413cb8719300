# SPDX-License-Identifier: GPL-3.0-or-later
# A web server's side of FastCGI, for clients that talk to the programs themselves.
import re
import socket
import struct
import time


def record(kind, content=b''):
    return struct.pack('>BBHHBB', 1, kind, 1, len(content), 0, 0) + content


def length(n):
    return bytes([n]) if n < 128 else struct.pack('>I', n | 1 << 31)


def head(path, declared, variables):
    values = {'REQUEST_METHOD': 'POST', 'REQUEST_URI': path, 'CONTENT_TYPE': 'application/json', 'CONTENT_LENGTH': declared,
              'REMOTE_ADDR': '127.0.0.1'}
    values.update(v.split('=', 1) for v in variables)
    pairs = b''.join(length(len(k)) + length(len(v)) + k.encode() + v.encode() for k, v in values.items())
    return record(1, struct.pack('>HB5x', 1, 0)) + b''.join(record(4, pairs[i:i + 60000]) for i in range(0, len(pairs), 60000)) + record(4)


def dial(where, room=0):
    s = socket.socket(socket.AF_INET if where.isdigit() else socket.AF_UNIX)
    if room:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    s.settimeout(30)
    while True:
        try:
            s.connect(('127.0.0.1', int(where)) if where.isdigit() else where)
            return s
        except BlockingIOError:     # the queue of the socket is full
            time.sleep(0.01)


def answer(s):
    """What a program says to one request, head and body as they are; None: the connection ended before."""
    got, text = b'', b''
    while True:
        more = s.recv(65536)
        if not more:
            return None
        got += more
        while len(got) >= 8 and len(got) >= 8 + (n := got[4] << 8 | got[5]) + got[6]:
            if got[1] == 6:
                text += got[8:8 + n]
            if got[1] == 3:
                return text
            got = got[8 + n + got[6]:]


def ask(where, method, path, body=b'', token=''):
    """A request by itself: its status, 0 when there was no answer, and the version in the ETag."""
    with dial(where) as s:
        s.sendall(head(path, str(len(body)), ['REQUEST_METHOD=' + method, 'HTTP_AUTHORIZATION=Bearer ' + token]) +
                  (record(5, body) if body else b'') + record(5))
        text = answer(s) or b''
    status = re.match(rb'Status: (\d+)', text)
    version = re.search(rb'\nETag: "(\d+)', text)
    return int(status[1]) if status else 0, int(version[1]) if version else None
