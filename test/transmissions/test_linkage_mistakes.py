# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linkages that cannot be used: one finding that says what to try, never a traceback or a wait."""

import random
import re
import time

import numpy as np
import pytest
from zoo.elements import load, transmission
from zoo.linkages import BENT, crank_slider, joint, POINT, robot

from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.interfaces import DIRECTIONS
from transmission_bridge.transmissions.domain import MapReport

HINGE = '<loop type="hinge" frame1="rod_tip" frame2="shin_pin" axis="0 1 0"/>'
PIN = HINGE.replace('hinge', 'point').replace(' axis="0 1 0"', '')
BLOCK = '<loop type="{}" frame1="rod_tip" frame2="block" {}/>'
START = '<start joint="{}" position="{}"/>'
WRONG_AXIS = (
    "axis 1 0 0 of hinge 'rod_tip' - 'shin_pin', |its joints turn about 0 1 0|"
    'degrees between the axes of both frames at the start'
)
CRANK = '<param name="joint">knee_crank</param>'
KNEE = '<joint name="knee" type="revolute">'
AWAY = joint('away', 'block', 'far', (9, 0, 0), kind='fixed') + '<ros2_control'
LOOSE = ''.join(joint(f'loose{k}', 'base', f'far{k}', (k, 0, 0)) for k in (1, 2)) + '<ros2_control'
CHAIN = ''.join(joint(f'j{k}', f'l{k - 1}' if k > 1 else 'block', f'l{k}') for k in range(1, 47))
OTHER = transmission('other', 'Simple', ['knee_crank'], ['m']) + '</ros2_control>'


#: Mistakes in a pump: what is replaced, by what, and what the error says.
PUMP = [
    (POINT, '<loop type="point" frame1="block" frame2="block"/>', 'to itself'),
    (POINT, '<loop type="point" frame1="rod" frame2="rod_tip"/>', 'no joint moves'),
    (POINT, '<loop type="point" frame1="rod_tip"/>', 'no frame2'),
    (POINT, BLOCK.format('glue', ''), 'unknown type'),
    (POINT, BLOCK.format('rod', 'length="0"'), 'length'),
    (POINT, BLOCK.format('hinge', 'axis="0 0"'), 'axis'),
    (POINT, POINT + START.format('neck', 0), "'neck' is not a joint"),
    (POINT, POINT + START.format('rod', 0), "its joint 'elbow', because"),
    (POINT, POINT + START.format('elbow', 57), '57 rad; 57 degrees are 0.994838 rad'),
    ('"slider" role="joint1"/>', '"slider" role="joint1"><offset>0.1</offset></joint>',
     'has an offset'),
    ('>crank<', '>arm<', "its joint 'crank', because 'arm' is a"),
    ('rod_tip"/><origin xyz="0.0 0.0 0.2', 'rod_tip"/><origin xyz="0 0 200',
     'check its frames and all <origin>s between them'),
    (f'<ros2_control|{POINT}', f'{AWAY}|{POINT.replace("block", "far")}', 'does not close'),
    (f'<ros2_control|{POINT}',
     f'{LOOSE}|{POINT}{BENT}<loop type="rod" frame1="far1" frame2="far2"/>',
     "no actuator turns a joint of loop rod 'far1' - 'far2'"),
    (POINT, POINT * 33, 'at most 96 in an independent mechanism, found 99'),
    (f'<ros2_control|{POINT}', f'{CHAIN}<ros2_control|{POINT.replace("block", "l46")}',
     'at most 48 in an independent mechanism, found 49'),
]  # fmt: skip


#: The same in a five-bar.
FIVE_BAR = [
    ('frame2="shin_pin"', 'frame2="shinpin"', "(closest: 'shin', 'shin_pin')"),
    ('frame2="shin_pin"', 'frame2="shin_lever"', "its child link 'shin_pin'"),
    (HINGE, HINGE.replace('0 1 0', '1 0 0'), f'{WRONG_AXIS}|a wrong axis'),
    (HINGE, HINGE.replace(' axis="0 1 0"', ''), WRONG_AXIS),
    (HINGE, PIN.replace('point', 'weld'), 'block the driven joints hip, knee_crank'),
    (HINGE, HINGE.replace('axis="0 1 0"', 'length="0.3"'), 'expected no length'),
    (HINGE, PIN * 31 + HINGE, 'at most 96 in an independent mechanism'),
    (HINGE, '', "commanded joint 'knee' is in no loop"),
    (HINGE, HINGE + START.format('nee', 0), "(closest: 'knee'"),
    (HINGE, HINGE + START.format('knee', '9deg'), 'position of <start> (line'),
    ('>knee_crank</param>', '>knee_krank</param>', "(closest: 'knee_crank')"),
    ('>knee_crank</param>', '>rod_end</param>', "joint 'rod_end' is fixed"),
    (CRANK, '', '<param name="joint"> in its actuator'),
    ('>hip</param>', '>knee_crank</param>', 'driven by two actuators'),
    (KNEE, f'{KNEE}<mimic joint="hip"/>', "commanded joint 'knee' mimics 'hip'"),
    ('xyz="0 0 -0.38"', 'xyz="0 0 -3.8"', "loop hinge 'rod_tip' - 'shin_pin' stays open"),
    ('</ros2_control>', f'<joint name="knee_crank"/>{OTHER}', 'in this linkage'),
]  # fmt: skip


MISTAKES = [*(('pump', *each) for each in PUMP), *(('five_bar', *each) for each in FIVE_BAR)]


@pytest.mark.parametrize(('name', 'before', 'after', 'words'), MISTAKES)
def test_a_mistake_is_said_with_what_to_try(linkages, name, before, after, words):
    """One error, which names the loop or the joint, and nothing is bridged in its place."""
    text = linkages.get(name) or crank_slider()
    for old, new in zip(before.split('|'), after.split('|'), strict=True):
        assert old in text
        text = text.replace(old, new)
    found = load(text)
    (error,) = (str(each) for each in found.findings if each.severity == 'error')
    assert all(each in error for each in words.split('|'))
    assert 'Traceback' not in error
    assert {'hip', 'knee', 'slider'}.isdisjoint(found.joint_names)
    assert {'crank', 'knee_crank'}.isdisjoint(found.pass_through)


def hinged_knee(axis, horn, tilt):
    """Return a knee bent by a rod, which begins at the horn and has a hinge at its end."""
    rod = np.array([0.05, 0.0, -0.3]) - horn
    body = (
        joint('crank', 'base', 'arm', (0, 0, -0.05))
        + joint('elbow', 'arm', 'rod', horn)
        + joint('tip', 'rod', 'rod_tip', rod, kind='fixed', rpy=(0, tilt, 0))
        + joint('knee', 'base', 'shin', (0, 0, -0.35))
        + joint('lever', 'shin', 'shin_pin', (0.05, 0, 0), kind='fixed')
    )
    loop = f'<loop type="hinge" frame1="rod_tip" frame2="shin_pin" axis="{axis}"/>'
    return load(robot(body, {'motor': 'crank'}, ('knee',), loop))


AHEAD, BELOW = (0.04, 0.0, 0.0), (0.0, 0.0, -0.04)


@pytest.mark.parametrize('axis', ['1 0 0', '0 0 1', '0 1 0.1'])
@pytest.mark.parametrize(('horn', 'tilt'), [(AHEAD, 0.0), (AHEAD, 0.2), (BELOW, 0.0)])
def test_a_hinge_of_another_axis_is_refused(axis, horn, tilt):
    """The rod cannot turn, even if the kept rows are regular, or all rows are at the start."""
    (finding,) = hinged_knee(axis, horn, tilt).findings
    assert finding.severity == 'error'
    assert 'the loops block the driven joints crank' in finding.message
    assert 'a wrong axis' in finding.expected
    assert not hinged_knee('0 1 0', horn, tilt).findings


@pytest.mark.parametrize(('kind', 'reach'), [('point', 0.1), ('rod', 0.2)])
def test_a_loop_of_driven_joints_alone_is_refused(kind, reach):
    """Without a passive joint no motor moves alone. The rod is perpendicular to both motions."""
    body = ''
    for side, place, end in (('a', 0.1, 0.1), ('b', -0.1, -reach)):
        body += joint(f'crank_{side}', 'base', f'arm_{side}', (0, place, 0))
        body += joint(f'tip_{side}', f'arm_{side}', f'end_{side}', (0, -end, 0.2), kind='fixed')
    loop = f'<loop type="{kind}" frame1="end_a" frame2="end_b"/>'
    motors = {'motor_a': 'crank_a', 'motor_b': 'crank_b'}
    found = load(robot(body, motors, ('crank_a', 'crank_b'), loop))
    assert not found.transmissions
    assert 'the loops block the driven joints crank_a, crank_b' in str(found.findings[0])


# -- what it costs -------------------------------------------------------------------------------


@pytest.mark.parametrize(('name', 'wrong'), [('"block"/>', '"blok"/>'), ('rod_tip', 'rod_tp')])
def test_a_misspelt_frame_costs_its_own_linkage_only(linkages, name, wrong):
    """A linkage and a joint above it are used, whichever frame it is, and the frame is named."""
    knee, pump = linkages['four_bar_knee'], crank_slider(POINT.replace(name, wrong))
    above = knee[knee.index('<link') : knee.index('<ros2_control')]
    above += joint('ankle', 'shin', 'base') + joint('hand', 'base', 'palm')
    upper = knee[knee.index('<joint name="knee"><c') : knee.index('</ros2_control>')]
    for each in ('"arm"', '"horn"'):
        above, upper = (text.replace(each, f'{each[:-1]}_of_knee"') for text in (above, upper))
    text = pump.replace('<link name="base"/>', above)
    found = load(text.replace('<transmission', upper + '<transmission'))
    assert set(found.transmissions) == {'knee_linkage'}
    assert {'ankle', 'hand'} <= set(found.pass_through)
    (finding,) = found.findings
    assert finding.subject == 'linkage'
    assert 'is not a link of this URDF (closest: ' in finding.message


def test_a_joint_that_cannot_be_read_costs_the_linkage_around_it(linkages):
    """Without the joint, the frames of the loop have no common link: its place is unknown."""
    mount = joint('mount', 'thigh', 'stand', (0.0, 0.0, 0.02), kind='fixed')
    text = linkages['four_bar_knee'].replace('<parent link="thigh"/>', '<parent link="stand"/>', 1)
    text = text.replace('<ros2_control', mount + '<ros2_control')
    assert load(text).transmissions
    found = load(text.replace('xyz="0.0 0.0 0.02"', 'xyz="x 0 0.02"', 1))
    assert not found.transmissions
    _, finding = found.findings
    assert 'not connected' in finding.message
    assert finding.found in ("'thigh' and 'stand'", "'stand' and 'thigh'")


# -- linkages that nobody would draw -------------------------------------------------------------

#: CPU time that one linkage may take from its text to its first samples [s].
LONGEST = 2.0

#: What stands in place of an attribute's value, apart from the values of other attributes.
ODD = ('0', '1e-9', '1e9', '1e300', '-1', 'x', '', 'rod', 'weld', 'point', 'floating', 'planar')


@pytest.mark.parametrize('name', ['four_bar_knee', 'five_bar', 'push_rod_ankle', 'pump'])
def test_a_linkage_that_cannot_be_is_a_finding_in_a_short_time(linkages, name, campaign):
    """Whatever values are changed: some work, none raises or waits, no finding is a traceback."""
    draw, works = random.Random(name), 0
    parts = re.split('="(.*?)"', linkages.get(name) or crank_slider(more=BENT))
    for _ in range(40 * campaign):
        changed = list(parts)
        for place in draw.sample(range(1, len(parts), 2), draw.randint(1, 3)):
            changed[place] = draw.choice([*ODD, *parts[1::2]])
        text = ''.join(f'="{each}"' if k % 2 else each for k, each in enumerate(changed))
        begin = time.process_time()
        try:
            found = load(text)
        except TransmissionBridgeError:  # the robot itself cannot be read
            continue
        assert not re.search('Traceback|Error', ' '.join(map(str, found.findings))), text
        assert found.transmissions or any(each.severity == 'error' for each in found.findings)
        works += bool(found.transmissions)
        sizes = len(found.actuator_names), len(found.joint_names)
        for direction, size in zip(DIRECTIONS, sizes, strict=True):
            stream = found.stream(direction)
            for far in (0.0, 0.01, 3.0, 1e300, np.nan, 0.0):
                stream.map_state(np.full((3, size), far), MapReport())
        assert time.process_time() - begin < LONGEST, text
    assert 0 < works < 40 * campaign
