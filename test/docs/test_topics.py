# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""docs/interface.md, docs/security.md and the SROS2 policy agree with the table of topics."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.resources import resource
from transmission_bridge.ros.topics import TOPICS

ROOT = Path(__file__).parents[2]

#: Topics of every node with a life cycle, and with simulated time.
OF_EVERY_NODE = {
    'in': {'clock'},
    'out': {'rosout', 'parameter_events', '~/transition_event'},
}


def section(file, heading):
    """Return the text under a heading."""
    text = (ROOT / file).read_text(encoding='utf-8')
    return text.split(f'\n## {heading}\n')[1].split('\n## ')[0]


def row(topic):
    """Return the row of docs/interface.md for a topic."""
    quality = 'reliable' if topic.quality.reliable else 'best effort'
    quality += ', latched' if topic.quality.latched else ''
    meaning = topic.description
    meaning += f' Exists if `{topic.parameter}` is set.' if topic.parameter else ''
    return f'| `{topic.name}` | {topic.type} | {topic.direction} | {quality} | {meaning} |'


def test_table_of_the_interface():
    """It has one row for each topic, and one for each service."""
    text = section('docs/interface.md', 'Topics and services')
    rows = re.findall(r'^\| `.*\|$', text, re.MULTILINE)
    *topics, zero, absolute = rows
    assert topics == [row(topic) for topic in TOPICS.values()]
    assert zero.startswith('| `~/zero` | std_srvs/Trigger | service |')
    assert absolute.startswith('| `~/zero_from_absolute` | std_srvs/Trigger | service |')


def test_table_of_security():
    """Each topic is in one row, which says its direction."""
    rows = []
    for line in re.findall(r'^\| `.*\|$', section('docs/security.md', 'SROS2'), re.MULTILINE):
        cell = line.split(' | ')[0]
        direction = re.search(r'\((in|out|services?)\b', cell)[1]
        rows.append((re.findall(r'`([^`]+)`', cell.partition('(')[0]), direction))
    for topic in TOPICS.values():
        found = {
            direction
            for patterns, direction in rows
            if 'service' not in direction
            and any(fnmatchcase(topic.name, pattern) for pattern in patterns)
        }
        assert topic.direction in found, topic.name
    plain = {name for names, way in rows if 'service' not in way for name in names}
    assert {name for name in plain if '*' not in name} <= {*TOPICS, '/clock'}


def test_policy():
    """It allows every topic of the table in its direction, what every node has, and no other."""
    file = resource('config', 'sros2', 'transmission_bridge.policy.xml')
    profile = ElementTree.parse(file).find('.//profile')
    for direction, kind in (('in', 'subscribe'), ('out', 'publish')):
        allowed = {each.text.strip() for each in profile.iterfind(f'topics[@{kind}]/topic')}
        ours = {
            topic.name.lstrip('/') for topic in TOPICS.values() if topic.direction == direction
        }
        assert allowed == ours | OF_EVERY_NODE[direction]


def test_parameters_of_topics():
    """What a topic depends on is a parameter that is empty unless somebody sets it."""
    for topic in TOPICS.values():
        assert not topic.parameter or getattr(BridgeOptions(), topic.parameter) == ()
        assert topic.description.endswith('.')
