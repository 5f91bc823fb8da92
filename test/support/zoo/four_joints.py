# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot of four revolute joints, j1 to j4, to put elements into, and what loading it finds."""

from __future__ import annotations

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import DescriptionError

LINKS = ''.join(f'<link name="l{number}"/>\n' for number in range(5))
JOINTS = ''.join(
    f'<joint name="j{number}" type="revolute">'
    f'<parent link="l{number - 1}"/><child link="l{number}"/><axis xyz="0 0 1"/>'
    '<limit lower="-1" upper="1" effort="10" velocity="2"/></joint>\n'
    for number in range(1, 5)
)
COMPONENTS = ''.join(
    f'<joint name="j{number}"><command_interface name="position"/>'
    '<state_interface name="position"/><state_interface name="velocity"/></joint>\n'
    for number in range(1, 5)
)


def robot(*elements, joints=JOINTS, links=LINKS):
    """Return the robot with these elements."""
    return '<robot name="small">\n' + links + joints + '\n'.join(elements) + '\n</robot>\n'


def block(*elements, attributes='name="hw" type="system"', components=COMPONENTS, **kinematics):
    """Return the robot with these elements in a block of ros2_control."""
    inside = f'\n{components}' + '\n'.join(elements)
    return robot(f'<ros2_control {attributes}>{inside}</ros2_control>', **kinematics)


def ros2(name, joint, actuator, attributes=''):
    """Return a ros2_control transmission of one joint."""
    return (
        f'<transmission name="{name}"><plugin>T</plugin><joint name="{joint}" role="joint1"/>'
        f'<actuator name="{actuator}" role="actuator1" {attributes}/></transmission>'
    )


def find_only(text):
    """Return a description and its only finding, which strict mode raises if it is to."""
    loaded = load_description(text)
    (finding,) = loaded.findings
    if finding.fatal_if_strict:
        with pytest.raises(DescriptionError) as caught:
            load_description(text, strict=True)
        parts = ('message', 'line', 'path', 'expected', 'found')
        assert all(getattr(caught.value, each) == getattr(finding, each) for each in parts)
    else:
        assert load_description(text, strict=True) == loaded
    return loaded, finding


def load_clean(text):
    """Return a description that has no finding."""
    loaded = load_description(text, strict=True)
    assert loaded.findings == ()
    return loaded


def read_table(text):
    """Return the rows of a table whose cells are parted by bars."""
    return [[cell.strip() for cell in line.split('|')] for line in text.strip().split('\n')]
