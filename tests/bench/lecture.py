#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# lecture.py make DIRECTORY MINUTES: lecture.mp4, a talk with slides that grow line by line, beside which a speaker moves all the
# time, and truth.json.  lecture.py judge TRUTH ITEMS: what the lines that were read (items of videoTexts) are worth.
import difflib
import json
import os
import random
import subprocess
import sys

LINES = [line.strip() for line in '''
    The council met on Tuesday evening
    Costs have grown by twelve percent
    Bridges are inspected every spring
    Water from the northern reservoir
    Results of the second survey
    Schools will open in September
    Energy prices and their causes
    Traffic on the southern road
    Three proposals were rejected
    Members voted by show of hands
    Museum hours during the winter
    Forests cover half of the county
    Railway stations without lifts
    Income from parking and tolls
    Questions from the audience
    Library visits since January
    Waste is collected on Mondays
    New houses along the harbour
    Hospitals need more nurses
    Farmers ask for lower fees
    Annual report of the treasurer
    Street lights use less power
    Tourists arrive by ferry
    Volunteers planted young trees
    Budget 2026: 3,450,000 euros
    Roads (B 31, K 7712) closed until May
    Item 4.2 - fees for day nurseries
    15 of 100 households, as in 2019
'''.splitlines() if line.strip()]
STYLES = [('white', 'black'), ('#102040', 'white'), ('#204020', '#ffffc0'), ('gradient:#e8f0ff-#ffffff', '#202020'), ('#f4ecd8', '#302010')]
SAID = [
    'today we will see how the committee has decided about the budget of the town',
    'the price of bread has doubled within three years and many families cannot pay for it',
    'when the water of the lake rises the people of the village leave their houses',
    'a small railway was built by people who had come from the north many years ago',
    'if you would like to ask a question please raise your hand and wait for the microphone',
    'we have measured the traffic every week since the spring and found nothing unusual',
]


def slide(file, style, lines):
    back, front = style
    command = ['convert', '-size', '1280x720', back if ':' in back else f'xc:{back}', '-fill', front, '-font', 'DejaVu-Sans']
    for i, line in enumerate(lines):
        command += ['-pointsize', '52' if i == 0 else str(38 - 4 * i), '-annotate', f'+80+{120 if i == 0 else 150 + i * 90}', line]
    subprocess.run(command + ['-pointsize', '20', '-annotate', '+80+690', 'Annual assembly of the county', file], check=True)


def slides(directory, minutes):
    """Of each state: from, to (s), its lines, of which the last one is new."""
    dice, states, lines, at, n = random.Random(3), [], [], 0.0, 0
    while at < minutes * 60:
        before, lines, style = lines, [], STYLES[n % len(STYLES)]
        n += 1
        for line in dice.sample([line for line in LINES if line not in before], dice.randint(3, 5)):
            lines.append(line)
            length = dice.randint(7, 18) / 2
            slide(os.path.join(directory, f'{len(states)}.png'), style, lines)
            states.append({'from': at, 'to': at + length, 'lines': list(lines)})
            at += length
    return states


def make(directory, minutes):
    states = slides(directory, minutes)
    at = lambda name: os.path.join(directory, name)
    shown = [i for i, s in enumerate(states) for _ in range(round((s['to'] - s['from']) * 2))]
    for i, state in enumerate(shown):	# two a second
        os.symlink(f'{state}.png', at(f'shown{i:05}.png'))
    for i, text in enumerate(SAID):
        subprocess.run(['ffmpeg', '-v', 'error', '-y', '-f', 'lavfi', '-i', f"flite=text='{text}':voice={('rms', 'slt')[i // 2 % 2]},apad=pad_dur=0.7",
            '-ar', '16000', '-ac', '1', at(f'{i}.wav')], check=True)
    with open(at('said.txt'), 'w', encoding='utf-8') as f:
        f.writelines(f"file '{i}.wav'\n" for i in range(len(SAID)))
    subprocess.run(['ffmpeg', '-v', 'error', '-y', '-f', 'concat', '-safe', '0', '-i', at('said.txt'), at('said.wav')], check=True)
    subprocess.run(['ffmpeg', '-v', 'error', '-y', '-framerate', '2', '-i', at('shown%05d.png'), '-f', 'lavfi', '-i', 'testsrc2=s=200x120:r=25',
        '-stream_loop', '-1', '-i', at('said.wav'), '-filter_complex', '[0]fps=25[a];[a][1]overlay=1060:580', '-map', '2:a', '-t', str(states[-1]['to']),
        '-c:v', 'libx264', '-preset', 'veryfast', '-crf', '30', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-b:a', '64k', '-f', 'mp4', at('lecture.mp4')],
        check=True)
    with open(at('truth.json'), 'w', encoding='utf-8') as f:
        json.dump(states, f)


def alike(a, b):
    return difflib.SequenceMatcher(None, a.lower(), b.lower()).ratio()


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for k, y in enumerate(b, 1):
            before, row[k] = row[k], min(row[k] + 1, row[k - 1] + 1, before + (x != y))
    return row[-1]


def judge(states, items):
    """A state is found when its new line is said to begin in it; words are compared line by line as they stand in its middle."""
    found = wrong = words = 0
    for s in states:
        mid = (s['from'] + s['to']) / 2
        shown = [(i['text'], t) for i in items for t in i['instances'] if t['start'] <= mid < t['end']]
        found += any(alike(s['lines'][-1], text) >= 0.75 and s['from'] - 1.5 <= t['start'] < s['to'] for text, t in shown)
        for line in s['lines']:
            best = max((text for text, _ in shown), key=lambda text: alike(line, text), default='')
            words += len(line.split())
            wrong += min(distance(line.split(), best.split()), len(line.split()))
    return found / len(states), wrong / words, len(states)


if sys.argv[1] == 'make':
    make(sys.argv[2], float(sys.argv[3]))
else:
    with open(sys.argv[2], encoding='utf-8') as truth, open(sys.argv[3], encoding='utf-8') as items:
        recall, error, many = judge(json.load(truth), json.load(items))
    print(f"figure\tslides of a lecture, {many} states: of these found\t{recall:.3f}\t>= 0.90\t{'pass' if recall >= 0.9 else 'fail'}")
    print(f"figure\t… words on them read otherwise, 720 lines\t{error:.3f}\t<= 0.08\t{'pass' if error <= 0.08 else 'fail'}")
