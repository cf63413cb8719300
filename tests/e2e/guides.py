# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the commands of a guide as they stand there, and compares what they print with what it shows.

usage: guides.py DIR OLD=NEW… FILE…    the guides, one after the other, in one shell in DIR; OLD becomes NEW in them

Blocks of `sh` are run; those of another language that name a file are saved there. Behind a block of `sh` one of `json` has
members that its output must have, of the same types, and each line of one of `text` must come in it: digits stand for any number,
… for anything, whatever the case.
"""
import json, os, re, signal, subprocess, sys

LIMIT = int(os.environ.get('GUIDE_SECONDS', 600))
ORIGIN = 'https://media.example.org'
BLOCK = re.compile(r'^```(\w+)(?: (\S+))?\n(.*?)^```$', re.M | re.S)


def type_of(value):
    return 'number' if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def lacks(shown, got, place=''):
    """What is shown and not in what was got."""
    if type_of(shown) != type_of(got):
        yield f'{place or "/"} is {json.dumps(got)[:80]} instead of {json.dumps(shown)[:80]}'
    elif isinstance(shown, dict):
        for name, value in shown.items():
            if name in got:
                yield from lacks(value, got[name], f'{place}/{name}')
            else:
                yield f'{place}/{name} is not there'
    elif isinstance(shown, list) and shown:
        yield from lacks(shown[0], got[0], f'{place}/0') if got else [f'{place} is empty']
    elif isinstance(shown, str) and re.fullmatch('[a-z_]+', shown) and shown != got:
        yield f'{place} is {got} instead of {shown}'


def pattern(line):
    parts = [re.sub(r'[0-9]+', '[0-9]+', re.escape(part)) for part in line.split('…')]
    return re.compile('.*'.join(parts), re.I)


def compare(kind, shown, got):
    shown = shown.replace(ORIGIN, os.environ['KINOTHEK_URL'])
    if kind == 'json':
        try:
            return list(lacks(json.loads(shown), json.loads(got)))
        except ValueError as error:
            return [f'{error} in {got[:300]!r}']
    return [f'{line!r} does not come in {got[:500]!r}' for line in shown.splitlines()
            if not any(pattern(line).fullmatch(l.rstrip('\r')) for l in got.splitlines())]


def parse(path, directory, changes):
    """[(commands, [(kind, what is shown)])]"""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    for old, new in changes:
        text = text.replace(old, new)
    steps = []
    for kind, name, inside in BLOCK.findall(text):
        if kind == 'sh':
            steps.append((inside, []))
        elif name:
            with open(os.path.join(directory, name), 'w', encoding='utf-8') as file:
                file.write(inside)
        elif steps:
            steps[-1][1].append((kind, inside))
    return steps


def run(directory):
    """What the commands leave running ends with them."""
    with open(os.path.join(directory, 'err'), 'w+', encoding='utf-8') as err:
        shell = subprocess.Popen(['bash', 'script'], cwd=directory, stdin=subprocess.DEVNULL, stderr=err, start_new_session=True)
        try:
            status = shell.wait(LIMIT)
        except subprocess.TimeoutExpired:
            status = f'of nothing after {LIMIT} s'
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        err.seek(0)
        return [] if status == 0 else [f'status {status}: {err.read()}']


def main(directory, *arguments):
    changes = [a.split('=', 1) for a in arguments if not a.endswith('.md')]
    steps = [s for path in arguments if path.endswith('.md') for s in parse(path, directory, changes)]
    with open(os.path.join(directory, 'script'), 'w', encoding='utf-8') as file:
        file.write('set -eu\n' + ''.join(f'exec >{i}.out\n{commands}' for i, (commands, _) in enumerate(steps)) + 'exec >end\n')
    faults = run(directory)
    if not steps:
        faults.append('no commands')
    for i, (commands, shown) in enumerate(steps):
        try:
            with open(os.path.join(directory, f'{i}.out'), encoding='utf-8') as file:
                got = file.read()
        except FileNotFoundError:
            faults.append('never run: ' + commands)
            continue
        faults += [f'{fault}\n    after: {commands}' for kind, text in shown for fault in compare(kind, text, got)]
    print('\n'.join(faults))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
