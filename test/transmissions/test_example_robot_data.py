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
import math
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
KNOWN = {SIMPLE, DIFFERENTIAL}

ROBOTS = [WHEEL.locate_file(file) for file in WHEEL.files or () if file.name.endswith('.urdf')]
FILES = [path for path in ROBOTS if b'<transmission' in path.read_bytes()]


class Block:
    """
    One ``<transmission>`` as a reader with a pencil sees it.

    The type is a ``<plugin>`` in the style of ros2_control, a ``<type>`` in that of ROS 1, an
    attribute in that of the PR2.
    """

    def __init__(self, element, movable):
        self.name = element.get('name')
        self.is_ros2 = element.find('plugin') is not None
        self.type = (element.findtext('plugin') or element.findtext('type') or '').strip()
        if element.get('type') is not None:
            prefix = 'transmission_interface/' * (element.get('type') == 'SimpleTransmission')
            self.type = prefix + element.get('type')
        self.joints, self.actuators = (
            sorted(element.findall(kind), key=lambda each: each.findtext('role') or '')
            for kind in ('joint', 'actuator')
        )
        self.joint_names = [each.get('name') for each in self.joints]
        self.whole = element
        self.is_good = self.type in KNOWN and all(name in movable for name in self.joint_names)

    def jacobian(self):
        """Return ``dq/da`` from the numbers in the file and the equations of the types."""
        if self.type == SIMPLE:
            return np.array([[1.0 / self._ratio()]])
        first, second = (1.0 / float(a.findtext('mechanicalReduction')) for a in self.actuators)
        roll, pitch = (float(j.findtext('mechanicalReduction')) for j in self.joints)
        return np.array(
            [[first / (2.0 * roll), second / (2.0 * roll)],
             [first / (2.0 * pitch), -second / (2.0 * pitch)]]
        )  # fmt: skip

    def _ratio(self):
        if self.is_ros2:
            return float(self.joints[0].findtext('mechanical_reduction') or 1.0)
        return float(next(self.whole.iter('mechanicalReduction')).text)


def read(path):
    """Return the blocks of a file and the maps of its robot."""
    root = ElementTree.parse(path).getroot()
    movable = {
        joint.get('name')
        for joint in root.findall('joint')
        if joint.get('type') in ('revolute', 'continuous', 'prismatic')
    }
    blocks = [Block(each, movable) for each in root.iter('transmission')]
    return blocks, RobotTransmissions(load_description(path))


def test_all_of_them():
    """There are thirty, with hundreds of transmissions; they cannot vanish unnoticed."""
    types = Counter(block.type for path in FILES for block in read(path)[0])
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
    blocks, robot = read(path)
    position = np.zeros(len(robot.actuator_names))
    jacobian = robot.jacobian(position)
    assert set(robot.transmissions) == {block.name for block in blocks if block.is_good}
    errors = Counter(finding.subject for finding in robot.findings if finding.severity == 'error')
    assert errors == Counter(block.name for block in blocks if not block.is_good)
    for block in blocks:
        if not block.is_good:
            assert not set(block.joint_names) & set(robot.joint_names)
            continue
        rows = [robot.joint_names.index(name) for name in block.joint_names]
        columns = [robot.actuator_names.index(each.get('name')) for each in block.actuators]
        assert np.allclose(jacobian[np.ix_(rows, columns)], block.jacobian(), rtol=1e-14, atol=0.0)
        offset = [float(each.findtext('offset') or 0.0) for each in block.joints]
        zero = robot.actuator_to_joint('position', position)[rows]
        assert zero.tolist() == offset
    assert math.isfinite(np.abs(jacobian).sum())
