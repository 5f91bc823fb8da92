# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The robots of the wheel ``example-robot-data`` that have transmissions, read once more by hand.

The wheel is large and in no extra; where it is not installed, these tests are skipped.
"""

from __future__ import annotations

from collections import Counter
import importlib.metadata
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge.implausible_numbers import find_implausible_numbers

try:
    WHEEL = importlib.metadata.distribution('example-robot-data')
except importlib.metadata.PackageNotFoundError:
    pytest.skip('example-robot-data is not installed', allow_module_level=True)

SIMPLE = 'transmission_interface/SimpleTransmission'
DIFFERENTIAL = 'transmission_interface/DifferentialTransmission'

ROBOTS = [WHEEL.locate_file(file) for file in WHEEL.files or () if file.name.endswith('.urdf')]
FILES = [path for path in ROBOTS if b'<transmission' in path.read_bytes()]


def type_of(block) -> str:
    """Return a ``<plugin>`` of ros2_control, a ``<type>`` of ROS 1, or an attribute of the PR2."""
    attribute = block.get('type')
    if attribute is not None:
        return SIMPLE if attribute == 'SimpleTransmission' else attribute
    return (block.findtext('plugin') or block.findtext('type') or '').strip()


def members(block, kind):
    """Return the joints or the actuators by their roles."""
    return sorted(block.findall(kind), key=lambda each: each.findtext('role') or '')


def jacobian_of(block) -> np.ndarray:
    """Return ``dq/da`` from the numbers in the file and the equations of the types."""
    if type_of(block) == SIMPLE and block.find('plugin') is not None:
        return np.array([[1.0 / float(block.findtext('joint/mechanical_reduction') or 1.0)]])
    if type_of(block) == SIMPLE:
        return np.array([[1.0 / float(next(block.iter('mechanicalReduction')).text)]])
    joints, actuators = (
        np.array([float(each.findtext('mechanicalReduction')) for each in members(block, kind)])
        for kind in ('joint', 'actuator')
    )
    return np.array([[1.0, 1.0], [1.0, -1.0]]) / (2.0 * np.outer(joints, actuators))


def test_all_of_them():
    """There are thirty, with hundreds of transmissions; they cannot vanish unnoticed."""
    roots = [ElementTree.parse(path).getroot() for path in FILES]
    types = Counter(type_of(block) for root in roots for block in root.iter('transmission'))
    assert len(FILES) >= 30
    assert types[SIMPLE] >= 300
    assert types[DIFFERENTIAL] >= 20
    assert sum(types.values()) - types[SIMPLE] - types[DIFFERENTIAL] >= 100


def test_no_number_of_a_real_robot_is_implausible():
    """Also of the joints that pass through: fast ones, those of several turns, placeholders."""
    found = {
        path.stem: find_implausible_numbers(RobotTransmissions(load_description(path)))
        for path in ROBOTS
    }
    assert len(found) >= 60
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_robot(path):
    """
    Every simple and differential transmission of joints that can move loads, with its own ratio.

    Every other one is one error finding, and its joints are not bridged at all.
    """
    root, robot = ElementTree.parse(path).getroot(), RobotTransmissions(load_description(path))
    scalar = ('revolute', 'continuous', 'prismatic')
    movable = {each.get('name') for each in root.findall('joint') if each.get('type') in scalar}
    position = np.zeros(len(robot.actuator_names))
    jacobian, zero = robot.jacobian(position), robot.actuator_to_joint('position', position)
    assert np.isfinite(jacobian).all()
    good, bad = [], []
    for block in root.iter('transmission'):
        joints = [each.get('name') for each in members(block, 'joint')]
        if type_of(block) not in (SIMPLE, DIFFERENTIAL) or not movable.issuperset(joints):
            bad.append(block.get('name'))
            assert not set(joints) & set(robot.joint_names)
            continue
        good.append(block.get('name'))
        rows = [robot.joint_names.index(name) for name in joints]
        motors = [each.get('name') for each in members(block, 'actuator')]
        columns = [robot.actuator_names.index(name) for name in motors]
        expected = jacobian_of(block)
        assert np.allclose(jacobian[np.ix_(rows, columns)], expected, rtol=1e-14, atol=0.0)
        offsets = [float(each.findtext('offset') or 0.0) for each in members(block, 'joint')]
        assert zero[rows].tolist() == offsets
    assert set(robot.transmissions) == set(good)
    errors = Counter(each.subject for each in robot.findings if each.severity == 'error')
    assert errors == Counter(bad)
