# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The same files as ros2_control and ROS 1 read them; differences that we mean are listed."""

from itertools import product
import json
from pathlib import Path
import re

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import DescriptionError

FOLDER = Path(__file__).parents[1] / 'data' / 'edge'
#: What their own parsers and loaders print.
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
#: What is compared of a joint or an actuator.
MEMBER = 'mechanical_reduction offset read_only role command_interfaces state_interfaces'
#: The design draft's second proposal, which ros2_control does not read: 7.0 instead of 1.0.
ATTRIBUTE_REDUCTION = 'r2_attr_reduction.urdf'


def parameters(members):
    """Return parameters as the peers print them."""
    return {each.name: each.value for each in members if not getattr(each, 'attributes', ())}


def assert_agrees(ours, theirs, *names, **other_names):
    """Check that fields have the peer's values, which may have other names there."""
    for ours_name, name in ({name: name for name in names} | other_names).items():
        found = getattr(ours, ours_name)
        found = list(found) if isinstance(found, tuple) else found
        assert found == theirs[name], ours_name


def ros1_cases():
    """Return every transmission of every ROS 1 file separately: they share a joint."""
    for name in ROS1:
        text = (FOLDER / name).read_text(encoding='utf-8')
        elements = re.findall(r'<transmission .*?</transmission>', text, re.DOTALL)
        for element, result in product(elements, RESULTS[name]['ros1']['transmissions']):
            if f'<transmission name="{result["name"].replace("&", "&amp;")}">' in element:
                yield pytest.param(element, result, id=f'{name}-{result["name"]}')


@pytest.mark.parametrize('name', ROS1 + ROS2)
def test_every_file_loads_from_its_path(name):
    """Each ends in a description, whatever is wrong with a part of it."""
    robot = load_description(FOLDER / name)
    assert robot.name == 'edge'
    # Nested ones (under gazebo or group) are not transmissions of the robot.
    text = (FOLDER / name).read_text(encoding='utf-8')
    expected = text.count('<transmission ') - (2 if 'nested' in name else 0)
    assert len(robot.transmissions) + len(robot.rejected) == expected
    assert {path.name for path in FOLDER.glob('*.urdf')} == set(ROS1 + ROS2)


@pytest.mark.parametrize(('element', 'result'), list(ros1_cases()))
def test_ros1_loads_what_the_ros1_loader_loads(element, result):
    """Type, interfaces, ratios and offsets in role order agree with ROS 1."""
    robot = load_description(f'<robot name="one">{element}</robot>')
    name, loaded = result['name'], result['loaded']
    if name in REFUSED_BY_US_ONLY or (loaded is None and name not in READ_BY_US_ONLY):
        assert robot.transmissions == ()
        assert name not in REFUSED_BY_US_ONLY or 'echanicalReduction' in robot.errors[0].message
        assert robot.errors
        return
    (spec,) = robot.transmissions
    assert_agrees(spec, result, 'name', 'type')
    interfaces = {each['name']: each['hardware_interfaces'] for each in result['joints']}
    assert {each.name: list(each.command_interfaces) for each in spec.joints} == interfaces
    ratios = [each.mechanical_reduction for each in spec.actuators]
    if loaded is None:
        assert ratios == [40.0]
    elif 'reduction' in loaded:
        assert (ratios, spec.joints[0].offset) == ([loaded['reduction']], loaded['offset'])
    else:
        assert ratios == loaded['actuator_reduction']
        assert [each.mechanical_reduction for each in spec.joints] == loaded['joint_reduction']
        assert [each.offset for each in spec.joints] == loaded['joint_offset']


@pytest.mark.parametrize('name', ROS2)
def test_ros2_blocks_are_those_of_ros2_control(name):
    """Hardware, joints, interfaces and raw limits agree; strict mode refuses what it refuses."""
    result = RESULTS[name]['ros2']
    if result['error']:
        with pytest.raises(DescriptionError):
            load_description(FOLDER / name, strict=True)
        return
    blocks = load_description(FOLDER / name).blocks
    for block, hardware in zip(blocks, result['hardware'], strict=True):
        assert_agrees(block, hardware, 'name', 'type', 'plugin', 'group', 'rw_rate', 'is_async')
        assert parameters(block.parameters) == hardware['parameters']
        by_name = {each['name']: each for each in hardware['joints']}
        for component in block.components:
            joint = by_name[component.name]
            assert_agrees(component, joint, 'mimic', kind='type', limits_enabled='enable_limits')
            for side in ('command_interfaces', 'state_interfaces'):
                for ours, theirs in zip(getattr(component, side), joint[side], strict=True):
                    compare_interface(ours, theirs)


def compare_interface(ours, theirs):
    """Bounds are strings over there; one that is no number is reported and open here."""
    assert_agrees(ours, theirs, 'name', 'data_type', 'size', limits_enabled='enable_limits')
    assert (ours.initial_value or '') == theirs['initial_value']
    assert parameters(ours.parameters) == theirs['parameters']
    for key in ('min', 'max'):
        readable = theirs[key] not in ('', 'abc')
        assert getattr(ours, key) == (float(theirs[key]) if readable else None)


@pytest.mark.parametrize('name', ROS2)
def test_ros2_transmissions_are_those_of_ros2_control(name):
    """Roles, ratios, offsets, interfaces, parameters and the implied actuator agree."""
    robot = load_description(FOLDER / name)
    rejected = {each.name for each in robot.rejected}
    for hardware in RESULTS[name]['ros2']['hardware']:
        for theirs in hardware['transmissions']:
            if name in SILENT_DEFAULTS or (
                theirs['loaded'] is None and theirs['name'] in rejected
            ):
                assert (robot.transmissions, len(robot.errors)) == ((), 1)
                continue
            spec = robot.transmission(theirs['name'])
            assert_agrees(spec, theirs, 'type')
            assert parameters(spec.parameters) == theirs['parameters']
            for side in ('joints', 'actuators'):
                # Theirs are in document order, ours in role order.
                members = {each.name: each for each in getattr(spec, side)}
                assert sorted(members) == sorted(each['name'] for each in theirs[side])
                for member in theirs[side]:
                    if name == ATTRIBUTE_REDUCTION and side == 'joints':
                        assert member['mechanical_reduction'] == 1.0
                        member = member | {'mechanical_reduction': 7.0}
                    assert_agrees(members[member['name']], member, *MEMBER.split())
