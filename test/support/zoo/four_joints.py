# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot of four revolute joints, j1 to j4, to put elements into, and what loading it finds."""

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
HARDWARE = 'name="hw" type="system"'


def robot(*elements, joints=JOINTS, links=LINKS):
    """Return the robot with these elements."""
    return '<robot name="small">\n' + links + joints + '\n'.join(elements) + '\n</robot>\n'


def hardware(*elements, attributes=HARDWARE, components=COMPONENTS):
    """Return a block of ros2_control with these elements."""
    inside = f'\n{components}' + '\n'.join(elements)
    return f'<ros2_control {attributes}>{inside}</ros2_control>'


def block(*elements, attributes=HARDWARE, components=COMPONENTS, **kinematics):
    """Return the robot with these elements in a block of ros2_control."""
    return robot(hardware(*elements, attributes=attributes, components=components), **kinematics)


def transmission(*inside, kind='<plugin>T</plugin>', name='t', attributes=''):
    """Return a transmission of either dialect, by what names its type."""
    return f'<transmission name="{name}"{attributes}>{kind}' + ''.join(inside) + '</transmission>'


def ros2(name, joint, actuator, attributes=''):
    """Return a ros2_control transmission of one joint."""
    joint = f'<joint name="{joint}" role="joint1"/>'
    actuator = f'<actuator name="{actuator}" role="actuator1" {attributes}/>'
    return transmission(joint, actuator, name=name)


def ros1(name, joint, actuator, interface='PositionJointInterface', ratio='2'):
    """Return a ROS 1 transmission of one joint."""
    return transmission(
        f'<joint name="{joint}"><hardwareInterface>{interface}</hardwareInterface></joint>',
        f'<actuator name="{actuator}"><mechanicalReduction>{ratio}</mechanicalReduction>',
        '</actuator>',
        kind='<type>T</type>',
        name=name,
    )


def load(source):
    """Return a description; strict mode gives the same, or raises its first fatal finding."""
    loaded = load_description(source)
    fatal = [each for each in loaded.findings if each.severity == 'error' or each.fatal_if_strict]
    if not fatal:
        assert load_description(source, strict=True) == loaded
        return loaded
    with pytest.raises(DescriptionError) as caught:
        load_description(source, strict=True)
    for part in ('message', 'line', 'path', 'expected', 'found'):
        assert getattr(caught.value, part) == getattr(fatal[0], part)
    return loaded


def find_only(text):
    """Return a description and its only finding."""
    loaded = load(text)
    (finding,) = loaded.findings
    return loaded, finding


def load_clean(text):
    """Return a description that has no finding."""
    loaded = load(text)
    assert loaded.findings == ()
    return loaded


def read_table(text):
    """Return the rows of a table whose cells are parted by bars."""
    return [[cell.strip() for cell in line.split('|')] for line in text.strip().split('\n')]
