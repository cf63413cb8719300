# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds sockets as systemd does, and starts a program with them, again and again: activator.py SOCKET… -- PROGRAM….

SOCKET is tcp:PORT, udp:PORT, both on 127.0.0.1, or unix:PATH.  The program gets them as descriptors from 3 on, blocking, with LISTEN_FDS and
LISTEN_PID (sd_listen_fds(3)), and when it has ended, however that was, once more after a while.  SIGTERM ends both."""
import os, signal, socket, sys, time

PAUSE = 1.0     # s, so that who calls meanwhile is seen


def bound(name):
    kind, _, where = name.partition(':')
    if kind == 'unix':
        s = socket.socket(socket.AF_UNIX)
        s.bind(where)
        os.chmod(where, 0o666)
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == 'tcp' else socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(('127.0.0.1', int(where)))
    if kind != 'udp':
        s.listen(4096)
    return s


def become(program, sockets):
    high = [os.dup(s.fileno()) for s in sockets]
    while min(high) < 3 + len(high):
        high = [os.dup(fd) for fd in high]
    for i, fd in enumerate(high):
        os.dup2(fd, 3 + i)
    os.closerange(3 + len(high), 1024)
    os.execve(program[0], program, {**os.environ, 'LISTEN_FDS': str(len(high)), 'LISTEN_PID': str(os.getpid())})


split = sys.argv.index('--')
sockets, program = [bound(name) for name in sys.argv[1:split]], sys.argv[split + 1:]
child = 0


def end(signum, frame):
    if child:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
while True:
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        become(program, sockets)
    print(child, flush=True)
    os.waitpid(child, 0)
    child = 0
    print('ended', flush=True)
    time.sleep(PAUSE)
