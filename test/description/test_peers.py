# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What the parsers and loaders of ros2_control and ROS 1 make of the same files.

``edge_results.json`` is their own output. Where we mean to differ, the difference is listed here
with its reason; anything else has to agree.
"""

from __future__ import annotations

import json
from pathlib import Path
import re

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import DescriptionError

FOLDER = Path(__file__).parents[1] / 'data' / 'edge'
RESULTS = json.loads((FOLDER / 'edge_results.json').read_text(encoding='utf-8'))['files']
ROS1 = sorted(name for name, result in RESULTS.items() if 'ros1' in result)
ROS2 = sorted(name for name, result in RESULTS.items() if 'ros2' in result)

#: ROS 1 reads the number at the beginning of a text (50abc is 50, 0x10 is 16), inf and nan, and
#: the first of two ratios. A number is the whole text here, and two different ratios are none.
REFUSED_BY_US_ONLY = {'n2', 'n5', 'n6', 'n7', 'n8', 'n18', 'n20', 'twice'}
#: ROS 1's parser stops at a comment before the number.
READ_BY_US_ONLY = {'comment_inside'}
#: ros2_control takes its default for a number that it cannot read, and has no check for a
#: transmission without actuators. Neither loads here.
SILENT_DEFAULTS = {
    'r2_no_actuator.urdf',
    *(f'r2_number_{number}.urdf' for number in ('02', '06', '08', '18', '20')),
    *(f'r2_offset_{number}.urdf' for number in ('05', '07', '11', '15', '17', '19')),
}
#: The design draft's second proposal, which ros2_control does not read: 7.0 instead of 1.0.
ATTRIBUTE_REDUCTION = 'r2_attr_reduction.urdf'


def read(name):
    """Return the text of a file."""
    return (FOLDER / name).read_text(encoding='utf-8')


def names_and_values(parameters):
    """Return parameters as the peers print them."""
    return {parameter.name: parameter.value for parameter in parameters}


def ros1_cases():
    """Return every transmission of every ROS 1 file separately: they share a joint."""
    cases = []
    for name in ROS1:
        for element in re.findall(r'<transmission .*?</transmission>', read(name), re.DOTALL):
            for result in RESULTS[name]['ros1']['transmissions']:
                if f'<transmission name="{result["name"].replace("&", "&amp;")}">' in element:
                    cases.append(pytest.param(element, result, id=f'{name}-{result["name"]}'))
    return cases


@pytest.mark.parametrize('name', ROS1 + ROS2)
def test_every_file_loads_from_its_path(name):
    """Each ends in a description, whatever is wrong with a part of it."""
    robot = load_description(FOLDER / name)
    assert robot.name == 'edge'
    loaded = len(robot.transmissions) + len(robot.rejected)
    # Nested ones (under gazebo or group) are not transmissions of the robot.
    assert loaded == read(name).count('<transmission ') - (2 if 'nested' in name else 0)
    assert {path.name for path in FOLDER.glob('*.urdf')} == set(ROS1 + ROS2)


@pytest.mark.parametrize(('element', 'result'), ros1_cases())
def test_ros1_loads_what_the_ros1_loader_loads(element, result):
    """Type, interfaces, ratios and offsets in role order agree with ROS 1."""
    robot = load_description(f'<robot name="one">{element}</robot>')
    loaded = result['loaded']
    if loaded is None and result['name'] not in READ_BY_US_ONLY:
        assert robot.transmissions == ()
        assert robot.errors
        return
    if result['name'] in REFUSED_BY_US_ONLY:
        assert robot.transmissions == ()
        assert 'echanicalReduction' in robot.errors[0].message
        return
    (spec,) = robot.transmissions
    assert (spec.name, spec.type) == (result['name'], result['type'])
    interfaces = {each['name']: each['hardware_interfaces'] for each in result['joints']}
    assert {each.name: list(each.command_interfaces) for each in spec.joints} == interfaces
    if loaded is None:
        assert spec.actuators[0].mechanical_reduction == 40.0
    elif 'reduction' in loaded:
        assert spec.actuators[0].mechanical_reduction == loaded['reduction']
        assert spec.joints[0].offset == loaded['offset']
    else:
        actuators, joints = spec.actuators, spec.joints
        assert [each.mechanical_reduction for each in actuators] == loaded['actuator_reduction']
        assert [each.mechanical_reduction for each in joints] == loaded['joint_reduction']
        assert [each.offset for each in joints] == loaded['joint_offset']


@pytest.mark.parametrize('name', ROS2)
def test_ros2_blocks_are_those_of_ros2_control(name):
    """Hardware, joints, interfaces and raw limits agree; strict mode refuses what it refuses."""
    result = RESULTS[name]['ros2']
    if result['error']:
        with pytest.raises(DescriptionError):
            load_description(FOLDER / name, strict=True)
        return
    blocks = load_description(FOLDER / name).blocks
    assert len(blocks) == len(result['hardware'])
    for block, hardware in zip(blocks, result['hardware'], strict=True):
        for key in ('name', 'type', 'plugin', 'group', 'rw_rate', 'is_async'):
            assert getattr(block, key) == hardware[key]
        assert names_and_values(block.parameters) == hardware['parameters']
        by_name = {each['name']: each for each in hardware['joints']}
        for component in block.components:
            expected = by_name[component.name]
            assert component.kind == expected['type']
            assert component.mimic is expected['mimic']
            assert component.limits_enabled is expected['enable_limits']
            for key in ('command_interfaces', 'state_interfaces'):
                interfaces = getattr(component, key)
                assert len(interfaces) == len(expected[key])
                for interface, other in zip(interfaces, expected[key], strict=True):
                    compare_interface(interface, other)


def compare_interface(interface, other):
    """Bounds are strings over there; one that is no number is reported and open here."""
    assert interface.name == other['name']
    assert interface.data_type == other['data_type']
    assert interface.size == other['size']
    assert interface.limits_enabled is other['enable_limits']
    assert (interface.initial_value or '') == other['initial_value']
    assert names_and_values(interface.parameters) == other['parameters']
    for key in ('min', 'max'):
        readable = other[key] not in ('', 'abc')
        assert getattr(interface, key) == (float(other[key]) if readable else None)


@pytest.mark.parametrize('name', ROS2)
def test_ros2_transmissions_are_those_of_ros2_control(name):
    """Roles, ratios, offsets, interfaces, parameters and the implied actuator agree."""
    result = RESULTS[name]['ros2']
    robot = load_description(FOLDER / name)
    for hardware in result['hardware']:
        for expected in hardware['transmissions']:
            refused = expected['loaded'] is None and expected['name'] in {
                each.name for each in robot.rejected
            }
            if name in SILENT_DEFAULTS or refused:
                assert robot.transmissions == ()
                assert len(robot.errors) == 1
            else:
                compare_transmission(robot.transmission(expected['name']), expected, name)


def compare_transmission(spec, expected, file):
    """Members are compared by name: theirs are in document order, ours in role order."""
    assert spec.type == expected['type']
    assert (
        names_and_values(tuple(each for each in spec.parameters if not each.attributes))
        == expected['parameters']
    )
    for side in ('joints', 'actuators'):
        ours = {each.name: each for each in getattr(spec, side)}
        assert sorted(ours) == sorted(each['name'] for each in expected[side])
        for other in expected[side]:
            member = ours[other['name']]
            reduction = other['mechanical_reduction']
            if file == ATTRIBUTE_REDUCTION and side == 'joints':
                assert reduction == 1.0
                reduction = 7.0
            assert member.role == other['role']
            assert member.mechanical_reduction == reduction
            assert member.offset == other['offset']
            assert member.read_only is other['read_only']
            assert list(member.command_interfaces) == other['command_interfaces']
            assert list(member.state_interfaces) == other['state_interfaces']
