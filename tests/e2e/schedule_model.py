# SPDX-License-Identifier: GPL-3.0-or-later
# What chapters, entries, sections and shares of an asset are, as one client after the other would find them: the pure
# model that the trial of tests/e2e/schedule holds the server against.  It knows nothing of requests or the database.
#
# Ids are hexadecimal digits.  What a server has to choose, the ids of what it makes, is taken from its answer; a copied
# section that no entry leads to has none there, and is known by what it is alone (a Copied id).
from collections import Counter, namedtuple

Entry = namedtuple('Entry', 'chapter parent sort title')
Section = namedtuple('Section', 'chapter entry type time start end title')
LAST = float('inf')


class Refused(Exception):
    def __init__(self, status, code):
        super().__init__(status, code)
        self.status, self.code = status, code


INVALID, NOT_FOUND = (422, 'invalid'), (404, 'not_found')


class Copied(str):
    """The id of something whose id nobody was told."""


class State:
    def __init__(self, duration, chapters=(), entries=(), sections=(), shares=(), is_shared=False):
        self.duration, self.chapters = duration, set(chapters)
        self.entries, self.sections, self.shares, self.is_shared = dict(entries), dict(sections), set(shares), is_shared

    def copy(self):
        return State(self.duration, self.chapters, self.entries, self.sections, self.shares, self.is_shared)

    def difference(self, real):
        """What is not as in a state whose ids are all known, or None."""
        for what in 'chapters', 'entries', 'shares', 'is_shared':
            if getattr(self, what) != getattr(real, what):
                return what
        known = {i: s for i, s in self.sections.items() if not isinstance(i, Copied)}
        rest = Counter(s for i, s in self.sections.items() if isinstance(i, Copied))
        if any(real.sections.get(i) != s for i, s in known.items()):
            return 'sections'
        return None if rest == Counter(s for i, s in real.sections.items() if i not in known) else 'copied sections'

    # The tree.

    def below(self, chapter, parent):
        return sorted((e.sort, i) for i, e in self.entries.items() if e.chapter == chapter and e.parent == parent)

    def in_order(self, chapter, parent=None):
        for _, i in self.below(chapter, parent):
            yield i
            yield from self.in_order(chapter, i)

    def number(self, chapter, moves):
        """moves: {entry: (parent, wanted)} in the order in which they were said.  Those that stay keep their order; who moves
        gets the number that it wants, or the one behind the last."""
        parent_of = {i: moves[i][0] if i in moves else e.parent for i, e in self.entries.items() if e.chapter == chapter}
        for i in moves:
            up, steps = i, 0
            while up is not None and steps <= len(parent_of):
                up, steps = parent_of[up], steps + 1
            if up is not None:
                raise Refused(*INVALID)
        said = {i: n for n, i in enumerate(moves)}
        for parent in {*parent_of.values()}:
            children = [i for i in parent_of if parent_of[i] == parent]
            stay = sorted((i for i in children if i not in moves), key=lambda i: self.entries[i].sort)
            place = 0
            for i in sorted((i for i in children if i in moves), key=lambda i: (moves[i][1], said[i])):
                place = int(min(len(stay) + 1, max(moves[i][1], place + 1)))
                stay.insert(place - 1, i)
            for n, i in enumerate(stay, 1):
                self.entries[i] = self.entries[i]._replace(parent=parent, sort=n)

    def leads_to(self, entry):
        return next((i for i, s in self.sections.items() if s.entry == entry), None)

    def let_go(self, entry):
        section = self.leads_to(entry)
        if section is not None:
            self.sections[section] = self.sections[section]._replace(entry=None)

    # Who is asked for must be there, and where it is asked for.

    def need_chapter(self, chapter):
        if chapter not in self.chapters:
            raise Refused(*NOT_FOUND)

    def need_entry(self, chapter, entry):
        if entry not in self.entries or self.entries[entry].chapter != chapter:
            raise Refused(*NOT_FOUND)

    def need_section(self, section):
        if section not in self.sections:
            raise Refused(*NOT_FOUND)
        return self.sections[section]

    def check(self, s):
        wants, bans = (('time',), ('start', 'end')) if s.type == 'marker' else (('start', 'end'), ('time',))
        if any(getattr(s, p) is None or getattr(s, p) > self.duration for p in wants) or any(getattr(s, p) is not None for p in bans) or \
                s.type == 'timerange' and s.end <= s.start or s.chapter is not None and s.chapter not in self.chapters:
            raise Refused(*INVALID)

    # What clients do.  Each returns the status and what the answer shows.

    def chapter_create(self, made):
        self.chapters.add(made['id'])
        return 201, {}

    def chapter_delete(self, made, chapter):
        self.need_chapter(chapter)
        self.chapters.remove(chapter)
        self.entries = {i: e for i, e in self.entries.items() if e.chapter != chapter}
        self.sections = {i: s for i, s in self.sections.items() if s.chapter != chapter}
        return 200, {}

    def chapter_copy(self, made, chapter):
        self.need_chapter(chapter)
        old = list(self.in_order(chapter))
        new = dict(zip(old, (e['id'] for e in made['entries'])))
        section_of = {e['id']: e['section'] for e in made['entries']}
        if len(made['entries']) != len(old):
            return 200, {'entries': len(old)}
        self.chapters.add(made['id'])
        for i in old:
            e = self.entries[i]
            self.entries[new[i]] = e._replace(chapter=made['id'], parent=new.get(e.parent))
        for n, (i, s) in enumerate(list(self.sections.items())):
            if s.chapter == chapter:
                entry = new.get(s.entry)
                copy = section_of[entry] if entry is not None else Copied(f'{made["id"]} {n}')
                if copy is None:
                    return 200, {'entries': 'one does not lead to its section'}
                self.sections[copy] = s._replace(chapter=made['id'], entry=entry)
        return 200, {'entries': [self.show_entry(new[i]) for i in old]}

    def show_entry(self, i):
        return {'id': i, **self.entries[i]._asdict(), 'section': self.leads_to(i)}

    def show_section(self, i):
        return {'id': i, **self.sections[i]._asdict()}

    def change_entries(self, chapter, changes):
        moves, fresh = {}, [i for i, _ in changes if self.entries[i].sort is None]
        for i, change in changes:
            e = self.entries[i]
            parent = change.get('parent', e.parent)
            if parent is not None and (parent not in self.entries or self.entries[parent].chapter != chapter):
                raise Refused(*INVALID)
            if i in fresh or 'sort' in change or parent != e.parent:
                moves[i] = parent, change.get('sort', LAST)
            self.entries[i] = e._replace(title=change.get('title', e.title))
        links = [(i, change['section']) for i, change in changes if 'section' in change]
        for i, _ in links:
            self.let_go(i)
        for i, section in links:
            if section is None:
                continue
            if section not in self.sections or self.sections[section].chapter != chapter or self.sections[section].entry is not None:
                raise Refused(*INVALID)
            self.sections[section] = self.sections[section]._replace(entry=i)
        self.number(chapter, moves)

    def entry_create(self, made, chapter, change):
        self.need_chapter(chapter)
        self.entries[made['id']] = Entry(chapter, None, None, change['title'])
        self.change_entries(chapter, [(made['id'], change)])
        return 201, self.show_entry(made['id'])

    def entry_put(self, made, chapter, entry, change):
        self.need_entry(chapter, entry)
        self.change_entries(chapter, [(entry, change)])
        return 201, self.show_entry(entry)

    def entry_bulk(self, made, chapter, changes):
        self.need_chapter(chapter)
        if len({i for i, _ in changes}) < len(changes) or any(i not in self.entries or self.entries[i].chapter != chapter for i, _ in changes):
            raise Refused(*INVALID)
        self.change_entries(chapter, changes)
        return 200, {}

    def entry_delete(self, made, chapter, entry):
        self.need_entry(chapter, entry)
        for i in [entry, *self.in_order(chapter, entry)]:
            self.let_go(i)
            del self.entries[i]
        self.number(chapter, {})
        return 200, {}

    def entry_link(self, made, chapter, entry, section):
        self.need_entry(chapter, entry)
        s = self.need_section(section)
        if s.chapter != chapter:
            raise Refused(422, 'section_elsewhere')
        if s.entry not in (None, entry):
            raise Refused(422, 'section_linked')
        self.let_go(entry)
        self.sections[section] = s._replace(entry=entry)
        return 201, self.show_entry(entry)

    def entry_unlink(self, made, chapter, entry, section):
        self.need_entry(chapter, entry)
        if self.need_section(section).entry != entry:
            raise Refused(*NOT_FOUND)
        self.let_go(entry)
        return 200, {}

    def section_create(self, made, change):
        s = Section(**{'chapter': None, 'entry': None, 'time': None, 'start': None, 'end': None, 'title': None, **change})
        self.check(s)
        self.sections[made['id']] = s
        return 201, self.show_section(made['id'])

    def section_patch(self, made, section, change):
        now = self.need_section(section)
        s = now._replace(**change)
        for member in ('start', 'end') if s.type == 'marker' else ('time',):
            if member not in change:
                s = s._replace(**{member: None})
        self.check(s)
        if s.chapter != now.chapter and now.entry is not None:
            raise Refused(422, 'section_linked')
        self.sections[section] = s
        return 201, self.show_section(section)

    def section_delete(self, made, section):
        self.need_section(section)
        del self.sections[section]
        return 200, {}

    def section_split(self, made, section, at):
        s = self.need_section(section)
        position = s.time if s.type == 'marker' else s.start
        if not position < at <= self.duration or s.type == 'timerange' and at >= s.end:
            raise Refused(*INVALID)
        rest = s._replace(entry=None, **({'time': at} if s.type == 'marker' else {'start': at}))
        self.sections[section] = s._replace(type='timerange', time=None, start=position, end=at)
        self.sections[made['created']] = rest
        return 201, {'updated': self.show_section(section), 'created': self.show_section(made['created'])}

    def share_put(self, made, who):
        self.shares.add(who)
        self.is_shared = True
        return 200, {}

    def share_revoke(self, made, who):
        if who not in self.shares:
            raise Refused(403, 'shared_by_others') if self.shares else Refused(422, 'not_shared')
        self.shares.remove(who)
        self.is_shared = bool(self.shares)
        return 204, {}
