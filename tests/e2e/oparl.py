# SPDX-License-Identifier: GPL-3.0-or-later
"""oparl.py PORT CANARY_PORT DIR: a server of OParl 1.0 and 1.1, as good and as bad as real ones; each request is a line of
DIR/asked, each connection to the canary one of DIR/canary."""
import json
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, canary_port, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
base = f'http://127.0.0.1:{port}'
TYPE = 'https://schema.oparl.org/1.1/'
TIMES = {'created': '2025-08-20T09:00:00+02:00', 'modified': '2025-09-19T08:30:00+02:00'}


def item(number, name, order=None, meeting=None, start=None, key=None):
    one = {'id': f'{base}/agendaitem/{key or number or name}', 'type': TYPE + 'AgendaItem', 'number': number, 'name': name,
           'public': True, **TIMES}
    return {**one, **({} if order is None else {'order': order}), **({} if meeting is None else {'meeting': f'{base}/meeting/{meeting}'}),
            **({} if start is None else {'start': f'2025-09-18T17:{start}+02:00'})}


AGENDA = [item('1', 'Eröffnung', 0, start='00:00'), item('2', 'Haushalt 2026', 1, start='00:02'),
          item('2.1', 'Stellenplan', 2, start='00:02'), item('', 'Änderungsantrag zu 2.1', 3), item('2.2', 'Gebühren', 4, start='00:04'),
          item('2.10', 'Freibad & <Sauna>', 5, start='45:00'), item('3', 'Anfragen', 6),
          {**item('4', 'Personalien', 7), 'public': False}]


def meeting(n, agenda, **more):
    return {'id': f'{base}/meeting/{n}', 'type': TYPE + 'Meeting', 'name': f'Rat der Stadt Quellbach, {n}. Sitzung',
            'start': '2025-09-18T17:00:00+02:00', **TIMES, **({} if agenda is None else {'agendaItem': agenda}), **more}


def page(items, at, step, path):
    links = {'self': f'{base}{path}?page={at}'}
    if (at + 1) * step < len(items):
        links['next'] = f'{base}{path}?page={at + 1}'
    return {'data': items[at * step:(at + 1) * step], 'pagination': {'currentPage': at + 1}, 'links': links}


BODY = [item('2', 'Verschiedenes', 2, 42, key='b2'), item('1', 'Verkehr', 0, 42, key='b1'), item('1.1', 'Radweg', 1, 42, key='b11')]
MANY = [item(f'{i // 100 + 1}.{i % 100}' if i % 100 else f'{i // 100 + 1}', f'Punkt {i}', i, key=str(i)) for i in range(10001)]


class Answer(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def say(self, body, status=200, kind='application/json', **headers):
        data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
        self.send_response(status)
        for name, value in {'Content-Type': kind, 'Content-Length': str(len(data)), 'Access-Control-Allow-Origin': '*', **headers}.items():
            self.send_header(name.replace('_', '-'), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        with open(f'{folder}/asked', 'a') as file:
            file.write(f'{self.path}\n')
        path, _, query = self.path.partition('?')
        number = int(query.partition('page=')[2] or 0)
        whole = meeting(41, AGENDA)
        fixed = {
            '/meeting/41': whole, '/meeting/42': meeting(42, None), '/agendaitem/401': item('1', 'Eröffnung', 0, 41),
            '/meeting/8': {'id': f'{base}/meeting/8', **TIMES, 'deleted': True}, '/body/1': {'type': TYPE + 'Body', 'name': 'Quellbach'},
            '/body/1/meeting': page([meeting(41, None)], 0, 10, path), '/bare': AGENDA, '/empty': [], '/meeting/43': meeting(43, []),
            '/several': [meeting(41, None), meeting(42, None)], '/error': {'type': TYPE + 'Error', 'message': 'Sitzung nicht gefunden'},
            '/meeting/46': meeting(46, AGENDA, end='2025-09-18T19:40:00+02:00', organization=[f'{base}/organization/1'],
                location={'type': TYPE + 'Location', 'description': 'Rathaus, Saal 2'}),
            '/meeting/47': meeting(47, AGENDA[:1], organization=[f'http://127.0.0.1:{canary_port}/']),
            '/meeting/48': {**meeting(48, AGENDA), 'start': None},
            '/meeting/49': meeting(49, [{**item('1', 'Haushalt', 0, start='00:00'), 'end': '2025-09-18T17:00:03+02:00'},
                item('1.1', 'Stellenplan', 1, start='00:01'), item('2', 'Anfragen', 2)]),
            '/organization/1': {'type': TYPE + 'Organization', 'name': 'Rat der Stadt Quellbach'},
            '/thousands': meeting(44, MANY[:10000]), '/more': meeting(45, MANY),
            '/itself': {'data': AGENDA[:2], 'links': {'next': f'{base}/itself'}},
            '/elsewhere': {'data': AGENDA[:2], 'links': {'next': f'http://127.0.0.1:{canary_port}/'}},
            '/relative': {'data': AGENDA[:2], 'links': {'next': '/bare'}},
        }
        if path in fixed:
            self.say(fixed[path])
        elif path == '/body/1/agendaitem':
            self.say(page(BODY, number, 2, path))
        elif path == '/endless':        # other items on each page, for ever
            self.say({'data': [item(str(number), f'Punkt {number}', key=f'e{number}')], 'links': {'next': f'{base}/endless?page={number + 1}'}})
        elif path == '/same':           # other addresses, the same items
            self.say({'data': AGENDA[:2], 'links': {'next': f'{base}/same?page={number + 1}'}})
        elif path == '/html':
            self.say('<!doctype html><p>Please wait', kind='text/html')
        elif path == '/latin':
            self.say(json.dumps(whole, ensure_ascii=False).encode('latin-1'), kind='application/json; charset=iso-8859-1')
        elif path == '/raw':
            self.say(b'\xef\xbb\xbf' + json.dumps(whole, ensure_ascii=False).replace('Haushalt 2026', 'Haus\thalt\n2026').encode())
        elif path == '/moved':
            self.say('', 301, Location=f'{base}/meeting/41')
        elif path == '/loop':
            self.say('', 302, Location=f'{base}/loop')
        elif path == '/inside':
            self.say('', 302, Location=f'http://127.0.0.1:{canary_port}/')
        elif path == '/flaky':
            with open(f'{folder}/asked') as file:
                first = sum(line == '/flaky\n' for line in file) == 1
            self.say('' if first else whole, 503 if first else 200)
        elif path == '/deep':
            self.say('[' * 5000)
        elif path == '/huge':
            self.say(b'{"type":"Meeting","name":"' + b'z' * (5 << 20) + b'"}')
        elif path == '/cut':
            self.send_response(200)
            self.send_header('Content-Length', '10000')
            self.end_headers()
            self.wfile.write(b'{"type":')
            self.close_connection = True
        elif path == '/silent':
            time.sleep(60)
        else:
            self.say({'type': TYPE + 'Error', 'message': 'nicht da'}, 404)

    def log_message(self, *_):
        pass


class Canary(socketserver.BaseRequestHandler):
    def handle(self):
        with open(f'{folder}/canary', 'a') as file:
            file.write('connected\n')


threading.Thread(target=socketserver.ThreadingTCPServer(('127.0.0.1', canary_port), Canary).serve_forever, daemon=True).start()
ThreadingHTTPServer(('127.0.0.1', port), Answer).serve_forever()
