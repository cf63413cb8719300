#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""mail.py DIRECTORY CERTIFICATE KEY: a mail server for tests/e2e/mail, on a port of its own at every address.

DIRECTORY/port says where.  DIRECTORY/mode says what it does: accept, refuse (550), busy (451), lost (goes away within the
letter), tls (offers STARTTLS), login (535), slow.  What it is told goes to DIRECTORY/said, a letter to DIRECTORY/letter."""
import os
import socket
import ssl
import sys
import threading

place, certificate, key = sys.argv[1:]


def path(name):
    return os.path.join(place, name)


def serve(connection, mode):
    def say(text):
        connection.sendall(text.encode() + b'\r\n')

    lines = connection.makefile('rb')
    say('220 test')
    for line in lines:
        with open(path('said'), 'ab') as said:
            said.write(line)
        word = line[:4].upper()
        if word == b'EHLO':
            offers = ['test', 'AUTH PLAIN', '8BITMIME']
            if mode == 'tls' and not isinstance(connection, ssl.SSLSocket):
                offers.append('STARTTLS')
            for offer in offers[:-1]:
                say('250-' + offer)
            say('250 ' + offers[-1])
        elif word == b'STAR' and mode == 'tls':
            say('220 go on')
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            connection = context.wrap_socket(connection, server_side=True)
            lines = connection.makefile('rb')
            return serve_rest(connection, lines, mode)
        elif not answer(say, lines, word, mode):
            return None


def serve_rest(connection, lines, mode):
    def say(text):
        connection.sendall(text.encode() + b'\r\n')

    for line in lines:
        with open(path('said'), 'ab') as said:
            said.write(b'TLS ' + line)
        if line[:4].upper() == b'EHLO':
            say('250-test')
            say('250 AUTH PLAIN')
        elif not answer(say, lines, line[:4].upper(), mode):
            return


def answer(say, lines, word, mode):
    if word == b'AUTH':
        say('334 ')
        with open(path('said'), 'ab') as said:
            said.write(b'SECRET ' + lines.readline())
        say('535 no' if mode == 'login' else '235 welcome')
    elif word == b'RCPT' and mode in ('refuse', 'busy'):
        say('550 nobody here' if mode == 'refuse' else '451 later')
    elif word == b'DATA':
        say('354 go on')
        text = b''
        for line in lines:
            if mode == 'lost':
                return False
            if line == b'.\r\n':
                break
            text += line[1:] if line.startswith(b'.') else line
        with open(path('letter'), 'wb') as letter:
            letter.write(text)
        say('250 taken')
    elif word == b'QUIT':
        say('221 bye')
        return False
    else:
        say('250 fine')
    return True


def main():
    listener = socket.socket(socket.AF_INET6)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(('::', 0))
    listener.listen()
    with open(path('port.new'), 'w', encoding='ascii') as port:
        port.write(str(listener.getsockname()[1]))
    os.rename(path('port.new'), path('port'))
    while True:
        connection = listener.accept()[0]
        with open(path('mode'), encoding='ascii') as file:
            mode = file.read().strip()

        def one(connection=connection, mode=mode):
            try:
                serve(connection, mode)
            except OSError:
                pass
            connection.close()
        threading.Thread(target=one, daemon=True).start()


main()
