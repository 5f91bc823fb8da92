# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A description that changed after the compilation is refused or applied, never ignored.

Each attribute and each text of the joints and transmissions of a robot with a linkage is changed.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace

from component_manager import FOLDER, Manager
from lxml import etree
import numpy as np
import pytest

pytest.importorskip('casadi', reason='CasADi is not installed (extra mechanisms)')
from transmission_bridge.description import load_description
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.interfaces import JOINT_TO_ACTUATOR
from transmission_bridge.tools.compiler import fingerprint
from transmission_bridge.transmissions import RobotTransmissions

EXAMPLE = FOLDER.parents[2] / 'examples' / 'mapped_system'
TEXT = (EXAMPLE / 'urdf' / 'mapped.urdf').read_text(encoding='utf-8')
#: The motors of the tests keep what is measured; steps are not of interest.
ROBOT = TEXT.replace('mapped_system/Motors', 'test_motors/Motors').replace(
    '<!-- The other', '<param name="max_step">off</param><!-- The other'
)
COMMANDED = ('hip', 'knee', 'shoulder', 'elbow', 'wrist_pitch', 'wrist_roll')
GOAL = dict(zip(COMMANDED, (0.05, -0.1, 0.1, 0.05, 0.15, -0.1), strict=True))


def change_value(value):
    """Yield other values of an attribute or a text: moved, with other signs, another word."""
    try:
        numbers = np.array([float(word) for word in value.split()])
    except ValueError:
        others = {
            'revolute': 'continuous', 'fixed': 'revolute', 'hinge': 'point', 'joint1': 'joint2',
            'joint2': 'joint1', 'actuator1': 'actuator2', 'actuator2': 'actuator1',
        }  # fmt: skip
        yield others.get(value, 'thigh' if value != 'thigh' else 'body')
        return
    moved = numbers.copy()
    moved[0] += 0.0625
    yield ' '.join(map(repr, moved.tolist()))
    if numbers.any():
        yield ' '.join(map(repr, (-numbers).tolist()))


def list_edits():
    """Yield the name of each change, and the changed description."""
    root = etree.fromstring(ROBOT.encode())
    tree = root.getroottree()
    for top in (*root.findall('joint'), *root.iter('transmission')):
        for element in top.iter(etree.Element):
            place = tree.getpath(element)
            label = f'{top.get("name")}:{place.rpartition("/")[2]}:{element.get("name", "")}'
            values = dict(element.attrib)
            if top.tag == 'joint' or top is element:
                values.pop('name', None)  # a joint of another name is another joint
            if (element.text or '').strip():
                values[''] = element.text
            for key, value in values.items():
                for number, other in enumerate(change_value(value)):
                    changed = copy.deepcopy(root)
                    (same,) = changed.xpath(place)
                    if key:
                        same.set(key, other)
                    else:
                        same.text = other
                    yield f'{label}:{key}:{number}', etree.tostring(changed, encoding='unicode')
    for name, before, after in (
        ('mimic', '<limit lower="-2.0"',
         '<mimic joint="hip" multiplier="0.5"/><limit lower="-2.0"'),
        ('rpy', '<origin xyz="0.06 0 0"/><axis', '<origin xyz="0.06 0 0" rpy="0 0.1 0"/><axis'),
        ('offset', '<joint name="shoulder" role="joint1"/>',
         '<joint name="shoulder" role="joint1"><offset>0.25</offset></joint>'),
        ('reduction', '<joint name="elbow" role="joint2"/>',
         '<joint name="elbow" role="joint2"><mechanical_reduction>-2</mechanical_reduction>'
         '</joint>'),
        ('no reduction', '<mechanical_reduction>64</mechanical_reduction>', ''),
        ('no offset', '<offset>0.1</offset>', ''),
        ('length', 'frame2="shin_pin"', 'frame2="shin_pin" length="0.01"'),
        ('unit', '<param name="id">3</param>', '<param name="position_unit">deg</param>'),
        ('parameter', '<param name="joint">hip</param>', ''),
        ('id', '<param name="id">3</param>', '<param name="id">33</param>'),
    ):  # fmt: skip
        assert before in ROBOT
        yield f'added {name}', ROBOT.replace(before, after)
    changed = copy.deepcopy(root)
    arm, wrist = list(changed.iter('transmission'))[1:]
    arm.addprevious(wrist)
    yield 'order of transmissions', etree.tostring(changed, encoding='unicode')


EDITS = dict(list_edits())


def make_fingerprint(text):
    """Return what ``compile --check`` compares, without the functions, and the robot."""
    whole = RobotTransmissions(load_description(text))
    assert not any(each.severity == 'error' for each in whole.findings)
    part = whole.part([each.name for each in whole.description.joints if each.name in GOAL])
    live = SimpleNamespace(values=np.empty(0), places={JOINT_TO_ACTUATOR: slice(0)})
    compiled = SimpleNamespace(name='mapped_map', robot=part, functions='', live=live)
    return fingerprint.make_fingerprint(compiled, whole), whole


def is_applied(it, robot):
    """Return whether states and commands are those of the maps of a robot in Python."""
    motors = dict(zip(robot.actuator_names, 0.1 * np.arange(1, 7), strict=True))
    for name, value in motors.items():
        it(f'measure {name}/position {value}')
    it.script('all', *(f'{name}/position' for name in GOAL))
    assert it('switch +all') == 'ok'
    it.move('all', *GOAL.values(), cycles=2)
    states, sent = it('states'), it('motors')
    joints = robot.actuator_to_joint('position', np.array(list(motors.values())))
    goal = [GOAL.get(name, np.nan) for name in robot.joint_names]
    # A joint that starts beyond a limit moves inward only.
    lower = np.fmin(robot.joint_limits[0, 0], joints)
    goal = np.clip(goal, lower, np.fmax(robot.joint_limits[1, 0], joints))
    wanted = robot.joint_to_actuator('position', goal)
    pairs = [
        (states[f'{name}/position'], x) for name, x in zip(robot.joint_names, joints, strict=True)
    ]
    names = zip(robot.actuator_names, wanted, strict=True)
    pairs += [(sent[f'{name}/position'], x) for name, x in names]
    found, expected = np.array(pairs).T
    return bool(np.allclose(found, expected, rtol=1e-9, atol=1e-9, equal_nan=True))


@pytest.fixture(scope='module')
def start(build_once, tmp_path_factory):
    """Return a function that starts the component of the example with a description."""
    program = build_once(TEXT, 'mapped_map', 'new', [EXAMPLE / 'src' / 'motors.cpp'])
    it = Manager([program], ROBOT, tmp_path_factory.mktemp('descriptions'))

    def call(text):
        it.start(text)
        return it

    yield call
    assert it.end() == 0, it.log


def test_the_compiled_description_is_applied(start):
    """States and commands are those of Python."""
    assert is_applied(start(ROBOT), RobotTransmissions(load_description(ROBOT)))


@pytest.mark.parametrize('edit', EDITS)
def test_a_changed_description_is_refused_or_applied(start, edit):
    """What compile --check reports is refused, or the maps are those of the changed robot."""
    it = start(EDITS[edit])
    if it('components') == {}:
        assert ': expected ' in it.log
        return
    known, _ = make_fingerprint(ROBOT)
    try:
        found, robot = make_fingerprint(EDITS[edit])
    except (TransmissionBridgeError, AssertionError):
        pytest.skip('no tree of links: no manager starts with it')
    assert is_applied(it, robot), fingerprint.list_fingerprint_differences(known, found)


def test_a_reversed_crank_is_refused(start):
    """A joint that is driven, and not commanded, moves a motor the other way."""
    crank = '<parent link="body"/><child link="crank"/><origin xyz="0 0 0.08"/><axis xyz="0 1 0"/>'
    assert crank in ROBOT
    it = start(ROBOT.replace(crank, crank.replace('0 1 0', '0 -1 0')))
    assert it('components') == {}
    assert (
        "joint[knee_crank]/axis/xyz: expected '0 1 0' of package mapped_map, found '0 -1 0'"
        in it.log
    )
    assert 'transmission_bridge compile' in it.log
