# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The files to copy: the example robots are right, and the bridge takes the parameter file."""

from dataclasses import fields, replace
import re

from hypothesis import given, strategies as st
import numpy as np
import pytest

from transmission_bridge.bridge.options.options import BridgeOptions
from transmission_bridge.description import load_description
from transmission_bridge.interfaces import DIRECTIONS, list_mapped_interfaces
from transmission_bridge.resources import resource
from transmission_bridge.transmissions import RobotTransmissions

NAMES = ('arm.urdf', 'arm_ros1.urdf', 'one_joint.urdf')
ARM, ARM_ROS1, ONE_JOINT = (
    RobotTransmissions(load_description(resource('urdf', name), strict=True)) for name in NAMES
)
JOINTS = ['shoulder_pan', 'shoulder_lift', 'elbow', 'forearm_roll', 'wrist_pitch', 'wrist_roll']
MOTORS = ['shoulder_pan_motor', 'forearm_roll_motor', 'shoulder_lift_motor', 'elbow_motor']
MOTORS += ['wrist_left_motor', 'wrist_right_motor']
values = st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6)


@pytest.mark.parametrize('robot', [ARM, ARM_ROS1, ONE_JOINT], ids=NAMES)
def test_nothing_is_odd_in_it(robot):
    """An example to copy loads without any finding."""
    assert robot.findings == ()
    assert robot.pass_through == ()


def test_both_dialects_are_one_robot():
    """Links, joints and names are the same, in one order."""
    one, other = (
        [replace(part, line=None, path='') for part in (*each.links, *each.joints)]
        for each in (ARM.description, ARM_ROS1.description)
    )
    assert one == other
    assert [joint.name for joint in ARM.description.joints if joint.is_scalar] == JOINTS
    for robot in (ARM, ARM_ROS1):
        assert [*robot.joint_names] == JOINTS
        assert [*robot.actuator_names] == MOTORS


@pytest.mark.parametrize('way', DIRECTIONS)
@given(values)
def test_both_dialects_map_alike(way, given_values):
    """Every interface gives the same numbers, bit for bit."""
    for interface in list_mapped_interfaces(way):
        a, b = (getattr(robot, way)(interface, given_values) for robot in (ARM, ARM_ROS1))
        np.testing.assert_array_equal(a, b)
        assert np.isfinite(a).all()


@given(values)
def test_arm_moves_as_its_comments_say(motors):
    """The joint positions follow the formulas in the file, evaluated with its numbers."""
    pan, roll, lift, elbow, left, right = motors
    expected = [
        [pan / 101.0, 0.25],
        [lift / (1.75 * 64.0), -0.35],
        [elbow / -80.0 / 1.2, -lift / (1.75 * 64.0) / 1.2, 1.1],
        [roll / -72.5],
        [left / 48.0 / 2.5, right / -50.0 / 2.5, 0.1],
        [left / 48.0 / -1.6, -right / -50.0 / -1.6, -0.2],
    ]
    for found, terms in zip(ARM.actuator_to_joint('position', motors), expected, strict=True):
        assert abs(found - sum(terms)) <= 1e-14 * sum(map(abs, terms))


# -- config/bridge.yaml --------------------------------------------------------------------------

TEXT = resource('config', 'bridge.yaml').read_text(encoding='utf-8')


@pytest.fixture(scope='module')
def yaml():
    """Return the parser of YAML."""
    return pytest.importorskip('yaml', reason='PyYAML is not installed')


def parameters(yaml):
    """Return what stands under the wildcard for every node."""
    document = yaml.safe_load(TEXT)
    assert list(document) == ['/**']
    assert list(document['/**']) == ['ros__parameters']
    return document['/**']['ros__parameters']


def example(yaml, key):
    """Return the value of a commented example: the line of its key, and those below it."""
    (text,) = re.findall(rf'^    # ({key}:.*\n(?:    #  .*\n)*)', TEXT, re.MULTILINE)
    return yaml.safe_load(text.replace('\n    # ', '\n'))[key]


def test_values_are_the_defaults(yaml):
    """Each parameter is an option of the bridge with its default; autostart is on."""
    defaults = {
        option.name: list(option.default) if isinstance(option.default, tuple) else option.default
        for option in fields(BridgeOptions)
    }
    found = parameters(yaml)
    assert found.pop('autostart') is True
    assert found == {name: defaults[name] for name in found}
    assert 'on_stop' in found


def test_the_commented_examples_fit_the_arm(yaml):
    """The pairs name its motors, and the numbers exist there and differ from its own."""
    pairs = example(yaml, 'actuator_names')
    BridgeOptions(actuator_names=tuple(pairs))
    assert {pair.partition('=')[2] for pair in pairs} <= set(ARM.actuator_names)
    tuned = ARM.with_parameters(example(yaml, 'transmissions'))
    pan, wrist = 'shoulder_pan_transmission', 'wrist_transmission'
    assert tuned.transmissions[pan].joint_offset == (0.262,)
    assert tuned.transmissions[wrist].actuator_reduction == (48.5, -50.0)
    assert tuned.transmissions[wrist].joint_offset == (0.1, -0.195)


def test_no_number_is_an_integer(yaml):
    """No number of the file, examples included, is an integer instead of a double."""

    def leaves(node):
        for value in node.values() if isinstance(node, dict) else node:
            yield from leaves(value) if isinstance(value, dict | list) else [value]

    everything = [*leaves(parameters(yaml)), *leaves(example(yaml, 'transmissions'))]
    assert any(isinstance(value, float) for value in everything)
    assert not any(type(value) is int for value in everything)
