# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Recorded messages of the real JointStateTopicSystem, and the answers of the bridge.

What was recorded is described in ``test/data/topic_based_streams/README.md``; the robot is that of
``urdf/topic_based.urdf`` with ``config/topic_based.yaml``.
"""

import base64
from collections import namedtuple
from dataclasses import fields
from functools import cache
import gzip
from itertools import pairwise
import json
import math
from pathlib import Path

import pytest
from world import as_words, MODES, World
from zoo.elements import load

from transmission_bridge.bridge.options.options import BridgeOptions
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import JointStateReader
from transmission_bridge.tools.files import read_parameter_file

pytest.importorskip('yaml', reason='PyYAML is not installed')

ROOT = Path(__file__).parents[2]
STREAMS = ROOT / 'test' / 'data' / 'topic_based_streams' / 'streams.jsonl.gz'
CONFIG = ROOT / 'config' / 'topic_based.yaml'
URDF = (ROOT / 'urdf' / 'topic_based.urdf').read_text()

#: A velocity ends after its timeout, at the next tick [s].
TIMEOUT, TICK = 0.3, 0.075
#: The joints that have positions.
POSED = ('shoulder', 'wrist_pitch', 'wrist_roll', 'left_finger')
#: The joints that the values in the component's messages are for.
GIVEN = {'position': POSED, 'velocity': ('turntable',)}
SHOULDER = {**GIVEN, 'velocity': ('turntable', 'shoulder')}
PITCH = {**GIVEN, 'velocity': ('turntable', 'wrist_pitch')}
LAMP = {**GIVEN, 'position': ('lamp', *GIVEN['position'])}


MAPS = load(URDF, strict=True)


def motors(joints):
    """Return what joint commands, by field and name, mean to the motors."""
    found = {}
    for field in MODES:
        row = [joints.get((field, name), math.nan) for name in MAPS.joint_names]
        numbers = zip(MAPS.actuator_names, MAPS.joint_to_actuator(field, row), strict=True)
        found |= {(field, name): number for name, number in numbers if not math.isnan(number)}
    return found


@cache
def streams():
    """Return ``(seconds, topic, bytes)`` by scenario."""
    found = {}
    for line in gzip.decompress(STREAMS.read_bytes()).splitlines():
        each = json.loads(line)
        message = (each['us'] * 1e-6, each['topic'], base64.b64decode(each['bytes']))
        found.setdefault(each['scenario'], []).append(message)
    return found


#: A command of the component, finite values only; what was sent; why it was rejected.
Reply = namedtuple('Reply', ('time', 'wanted', 'sent', 'reason', 'text'))


class _Replay(World):
    """
    A scenario, played to a bridge with the parameters as shipped.

    It has what was sent by ticks, when the driver was heard, and whether there were joint states
    at each tick.
    """

    def __init__(self, scenario, given=GIVEN, urdf=URDF):
        names = {option.name for option in fields(BridgeOptions)}
        shipped = read_parameter_file(CONFIG.read_bytes(), CONFIG.name, names)
        super().__init__(load(urdf, strict=True), **shipped)
        self.given, reader, tick = given, JointStateReader(), TICK
        self.replies, self.ends, self.heard, self.published = [], [], [], []
        for time, topic, data in streams()[scenario]:
            while tick <= time:
                self._look(tick)
                tick += TICK
            self.now, view = time, reader.read_message(data)
            if topic == 'robot_joint_commands':
                self._answer(view)
            else:
                self.heard.append(time)
                given = self.bridge.plan.state_map, 'actuator_states', view.layout, view
                self.states.merge_message(*given, view.stamp, time)
        self.rejected = self.counts['joint_commands'].rejected

    def _look(self, now):
        self.now = now
        if sent := self._sent_by(self.gate.end_expired_commands, (1, 0), now):
            self.ends.append((now, flat(sent)))
        self.published.append((now, bool(self.joints())))

    def _answer(self, view):
        given = {m: zip(own, getattr(view, m), strict=True) for m, own in self.given.items()}
        wanted = flat({mode: dict(pairs) for mode, pairs in given.items()})
        before, why, text = len(self.sent), '', ''
        try:
            self.gate.send_joint_command(view.layout, view, view.stamp, self.now)
        except MessageError as error:
            why, text = error.reason, str(error)
        self.replies.append(Reply(self.now, wanted, flat(as_words(self.sent[before:])), why, text))


def flat(numbers):
    """Return known numbers by mode and name."""
    named = ((mode, name, x) for mode, own in numbers.items() for name, x in own.items())
    return {(mode, name): x for mode, name, x in named if not math.isnan(x)}


def same(sent, expected):
    """Return whether exactly these numbers were sent, to 1e-9."""
    return sent == pytest.approx(expected, rel=0.0, abs=1e-9)


@pytest.mark.parametrize('scenario', ['motion', 'unclaimed', 'killed', 'silent', 'released'])
def test_what_the_component_wants_is_sent(scenario):
    """Each message becomes what the maps by hand make of it, NaN nothing, and none is rejected."""
    replay = _Replay(scenario)
    for reply in replay.replies:
        assert reply.reason == ''
        assert same(reply.sent, motors(reply.wanted))
    assert replay.rejected == {}
    assert bool(replay.ends) == (scenario in ('killed', 'silent'))


@pytest.mark.parametrize('scenario', ['killed', 'silent', 'inactive'])
def test_a_velocity_ends_with_its_component(scenario):
    """Killed, silent at its target (threshold 1e-5) or inactive: one zero, and nothing else."""
    replay = _Replay(scenario)
    times = [reply.time for reply in replay.replies] + [replay.heard[-1]]
    last = next(time for time, after in pairwise(times) if after - time > 0.5)
    ((time, sent),) = replay.ends
    assert last + TIMEOUT < time <= last + TIMEOUT + TICK
    assert sent == {('velocity', 'turntable_motor'): 0.0}


def test_a_dead_driver_makes_joints_unknown_and_gets_no_position():
    """Half a second after its last state."""
    replay = _Replay('driver_dead')
    end = replay.heard[-1] + 0.5
    for time, state in replay.published:
        assert state == (time <= end)
    for reply in replay.replies:
        expected = motors(reply.wanted)
        if reply.time > end:
            expected = {key: expected[key] for key in expected if key[0] == 'velocity'}
        assert same(reply.sent, expected)
    assert replay.published[-1][0] > end + 0.2


def test_half_a_wrist_in_another_mode_stops_the_wrist_alone():
    """One message has the whole robot: the turntable goes on."""
    pitch = '<joint name="wrist_pitch">\n      <command_interface name="position"/>'
    both = '<command_interface name="velocity"/><state_interface name="velocity"/>'
    assert URDF.count(pitch) == 1
    replay = _Replay('half_wrist', PITCH, URDF.replace(pitch, pitch + both))
    half = [reply for reply in replay.replies if ('velocity', 'wrist_pitch') in reply.wanted]
    for reply in replay.replies:
        turntable = {('velocity', 'turntable_motor'): -30.0}
        assert same(reply.sent, turntable if reply in half else motors(reply.wanted))
    assert replay.ends == []
    joints = ('wrist_pitch', 'wrist_roll')
    assert replay.rejected == {f'{joint} (mixed_coupled)': len(half) for joint in joints}


@pytest.mark.parametrize(('scenario', 'given'), [('switched', SHOULDER), ('unknown_joint', LAMP)])
def test_short_arrays_of_another_urdf_are_not_guessed(scenario, given):
    """There is a value too many, for an unknown joint."""
    replay = _Replay(scenario, given)
    assert {(reply.reason, len(reply.sent)) for reply in replay.replies} == {('ragged', 0)}
    named = "no joint 'lamp': the sender has another" in replay.replies[0].text
    assert named == (scenario == 'unknown_joint')
