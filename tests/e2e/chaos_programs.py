# SPDX-License-Identifier: GPL-3.0-or-later
# The programs of a trial: started as systemd would, started again when they die, and killed in all the ways there are.
import collections
import os
import random
import signal
import subprocess
import time


def process(pid):
    """(state, parent, name); None: there is none, or it has ended."""
    try:
        with open(f'/proc/{pid}/stat', 'rb') as f:
            text = f.read().decode('latin-1')
    except OSError:
        return None
    name, rest = text[text.index('(') + 1:text.rindex(')')], text[text.rindex(')') + 2:].split()
    return None if rest[0] in 'ZX' else (rest[0], int(rest[1]), name)


def processes():
    """All of the machine: {pid: (parent, name)}."""
    found = {int(pid): process(pid) for pid in os.listdir('/proc') if pid.isdigit()}
    return {pid: known[1:] for pid, known in found.items() if known}


def below(pid, all_of_them=None):
    """[(pid, name, depth)] of what descends from a process."""
    all_of_them = all_of_them or processes()
    children = collections.defaultdict(list)
    for child, (parent, name) in all_of_them.items():
        children[parent].append((child, name))
    found, todo = [], [(pid, 0)]
    while todo:
        at, depth = todo.pop()
        for child, name in children[at]:
            found.append((child, name, depth + 1))
            todo.append((child, depth + 1))
    return found


class Program:
    """One service: what it is called, what it does for clients, its command, and what is added to the environment."""

    def __init__(self, name, function, command, log, **environment):
        self.name, self.function, self.command, self.log = name, function, command, log
        self.environment = environment
        self.process, self.again_at, self.wanted, self.killed = None, 0, False, False
        self.strange = []       # [(time, status)] of deaths that nobody here has caused

    def start(self, *more):
        with open(self.log, 'ab') as log:
            # Dies with us; the call of setpriv becomes the program.
            self.process = subprocess.Popen(['setpriv', '--pdeathsig', 'KILL', *self.command, *more], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True, env=os.environ | self.environment)
        self.wanted, self.killed = True, False

    def watch(self):
        if not self.wanted or self.process.poll() is None:
            return
        if self.again_at == 0:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)     # what of it is left, as a service manager does
            except ProcessLookupError:
                pass
            if not self.killed:
                self.strange.append((time.time(), self.process.returncode))
            self.again_at = time.monotonic() + 0.2
        elif time.monotonic() >= self.again_at:
            self.again_at = 0
            self.start()

    def kill(self):
        if self.process is None or self.process.poll() is not None:
            return False
        self.killed = True
        self.process.kill()
        return True

    def stop(self, patience=20):
        self.wanted, self.killed, self.again_at = False, True, 0
        if self.process is None or self.process.poll() is not None:
            return
        self.send(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def pid(self):
        """Of the program itself: below what unshare made, where it is on a machine of its own."""
        if self.process is None or self.process.poll() is not None:
            return None
        if self.command[0] != 'unshare':
            return self.process.pid
        inside = [pid for pid, name, depth in below(self.process.pid) if depth == 1]
        return inside[0] if inside else None

    def send(self, what):
        """A signal to all of it, as the pause of a whole machine would be.  What it starts meanwhile is met, too."""
        told = set()
        while new := {self.process.pid, *(pid for pid, name, depth in below(self.process.pid))} - told:
            for pid in new:
                try:
                    os.kill(pid, what)
                except ProcessLookupError:
                    pass
            if what == signal.SIGSTOP:
                while any((known := process(pid)) and known[0] != 'T' for pid in new):
                    time.sleep(0.01)
            told |= new

    def holder(self):
        """What stands in jobs.runner behind the name of its host: namespace and number of the process."""
        pid = self.pid()
        if pid is None:
            return '/none/'
        with open(f'/proc/{pid}/status') as f:
            inside = next(line.split()[-1] for line in f if line.startswith('NSpid:'))
        return f"/{os.stat(f'/proc/{pid}/ns/pid').st_ino}/{inside}/"

    def shoot(self, depth, is_one=lambda name: True):
        """kill -9 of one process below it at that depth, or deeper where it is negative.  Its name, or None."""
        pid = self.pid()
        targets = [] if pid is None else [(p, name) for p, name, d in below(pid)
            if (d == depth if depth > 0 else d >= -depth) and is_one(name)]
        if not targets:
            return None
        pid, name = random.choice(targets)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        return name


class Killer:
    """Picks whom to kill, and remembers when: kills = [(time, function, what, whether all was well otherwise)]."""
    # weight, function of the program, what is killed
    CHOICES = [
        (4, 'api', 'worker'), (1, 'api', 'itself'), (3, 'upload', 'worker'), (1, 'upload', 'itself'),
        (2, 'jobs', 'itself'), (5, 'jobs', 'job'), (6, 'jobs', 'tool'), (1, 'db', 'itself'), (1, 'web', 'itself'),
    ]

    def __init__(self, programs, choices=CHOICES):
        self.choices = choices
        self.programs, self.kills, self.spared, self.well = programs, [], set(), True
        self.choice, self.until = None, 0

    def note(self, program, what):
        self.kills.append((time.monotonic(), program.function, what, self.well))

    def one_of(self, function):
        able = [p for p in self.programs if p.function == function and p.wanted and p.name not in self.spared]
        return random.choice(able) if able else None

    def strike(self):
        """Kills one, or waits a little for one to run.  What it was, or None."""
        if self.choice is None or time.monotonic() > self.until:
            self.choice, self.until = random.choices(self.choices, [c[0] for c in self.choices])[0], time.monotonic() + 0.5
        _, function, what = self.choice
        program = self.one_of(function)
        label = None
        if program is not None and what == 'itself':
            label = program.name if program.kill() else None
        elif program is not None and what in ('worker', 'job'):
            label = f'{program.name} {what}' if program.shoot(1) else None
        elif program is not None:
            label = program.shoot(-2, lambda name: not name.startswith('kinothek-jobs'))
        if label:
            self.choice = None
            self.note(program, label)
        return label
