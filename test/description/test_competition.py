# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions that compete for a name, a joint or an actuator; implied actuators."""

from __future__ import annotations

import pytest
from zoo.four_joints import find_only, load_clean, robot, ros2

from transmission_bridge.description import load_description


def ros1(name, joint, actuator, interface='PositionJointInterface', ratio='2'):
    """Return a ROS 1 transmission of one joint."""
    return (
        f'<transmission name="{name}"><type>T</type><joint name="{joint}"><hardwareInterface>'
        f'{interface}</hardwareInterface></joint><actuator name="{actuator}">'
        f'<mechanicalReduction>{ratio}</mechanicalReduction></actuator></transmission>'
    )


def implied(name, joint):
    """Return a transmission that declares no actuator."""
    return (
        f'<transmission name="{name}"><plugin>T</plugin><joint name="{joint}" role="joint1">'
        '<mechanical_reduction>5</mechanical_reduction></joint></transmission>'
    )


def hardware(*inside, name='hw', kind='system'):
    """Return a block with joints j1 to j4."""
    components = ''.join(
        f'<joint name="j{number}"><command_interface name="position"/></joint>'
        for number in range(1, 5)
    )
    return (
        f'<ros2_control name="{name}" type="{kind}">{components}{"".join(inside)}</ros2_control>'
    )


BOTH = (
    '<transmission name="t1"><plugin>T</plugin><joint name="j1" role="joint1"/>'
    '<actuator name="m1" role="actuator1"/>'
    '<actuator name="m2" role="actuator2" read_only="true"/></transmission>'
)
READ = 'read_only="true"'
OLD, NEW = ros1('old', 'j1', 'm'), hardware(ros2('new', 'j1', 'm'))


@pytest.mark.parametrize(
    ('elements', 'accepted', 'rejected'),
    [
        # Two that could command one actuator: the first stays.
        ([ros1('a', 'j1', 'm'), ros1('b', 'j2', 'm')], 'a', 'b'),
        # read_only leaves the actuator to another transmission, before or after, each by itself.
        ([hardware(ros2('a', 'j1', 'm'), ros2('b', 'j2', 'm', READ))], 'a b', ''),
        ([hardware(ros2('a', 'j1', 'm', READ), ros2('b', 'j2', 'm'))], 'a b', ''),
        ([hardware(BOTH, ros2('t2', 'j2', 'm2'), ros2('t3', 'j3', 'm1'))], 't1 t2', 't3'),
        # Of both dialects ros2_control stays, wherever it stands.
        ([OLD, NEW], 'new', 'old'),
        ([NEW, OLD], 'new', 'old'),
        # What was refused takes neither name, joint nor actuator.
        ([ros1('t', 'j1', 'm', ratio='two'), ros1('t', 'j1', 'm')], 't', 't'),
        ([ros1('a', 'j1', 'm1'), ros1('b', 'j1', 'm2'), ros1('c', 'j2', 'm2')], 'a c', 'b'),
    ],
)
def test_who_keeps_what_two_would_have(elements, accepted, rejected):
    """The loser is one error with its name, which says who won."""
    loaded = load_description(robot(*elements))
    assert [each.name for each in loaded.transmissions] == accepted.split()
    assert [each.name for each in loaded.rejected] == rejected.split()
    assert {each.subject for each in loaded.errors} == set(rejected.split())
    first = loaded.transmissions[0]
    if accepted == 'a' or accepted == 'a c':
        (error,) = loaded.errors
        assert f"by transmission 'a' on line {first.line}" in error.message
    assert accepted != 't1 t2' or loaded.transmission('t1').can_command


def test_several_may_read_one_actuator():
    """A hand with fingers measured by one motor loads completely."""
    loaded = load_clean(
        robot(
            ros1('t1', 'j1', 'm', 'hardware_interface/JointStateInterface'),
            ros1('t2', 'j2', 'm'),
            ros1('t3', 'j3', 'm', 'JointStateInterface'),
        )
    )
    assert [each.can_command for each in loaded.transmissions] == [False, True, False]


def test_one_actuator_block_implies_actuator1():
    """The actuator has ratio 1, the role and the joint's interfaces, and is reported."""
    loaded, finding = find_only(robot(hardware(implied('t', 'j1'), kind='actuator')))
    assert (finding.severity, "'actuator1' is implied" in finding.message) == ('info', True)
    spec = loaded.transmission('t')
    (actuator,) = spec.actuators
    assert (actuator.name, actuator.role, set(actuator.given)) == ('actuator1', 'actuator1', set())
    numbers = (actuator.mechanical_reduction, actuator.offset, actuator.read_only)
    assert numbers == (1.0, 0.0, False)
    assert actuator.command_interfaces == spec.joints[0].command_interfaces == ('position',)
    assert spec.can_command
    declared = load_clean(robot(hardware(ros2('t', 'j1', 'motor'), kind='actuator')))
    assert [each.name for each in declared.transmission('t').actuators] == ['motor']


HIP = hardware(implied('hip', 'j1'), name='hip', kind='actuator')


@pytest.mark.parametrize(
    ('other', 'taken'),
    [
        (hardware(implied('other', 'j2'), name='knee', kind='actuator'), 'knee_actuator1'),
        (ros1('other', 'j4', 'actuator1'), 'actuator1'),
        (hardware(ros2('other', 'j4', 'actuator1'), name='b'), 'actuator1'),
        # A refused neighbour counts as well: it may be mended later.
        (hardware(implied('other', 'ghost'), name='knee', kind='actuator'), None),
        (ros1('other', 'ghost', 'actuator1'), None),
        (ros1('other', 'j4', 'actuator1', ratio='two'), None),
    ],
)
def test_an_actuator1_elsewhere_makes_the_implied_one_another(other, taken):
    """The implied one is named after its block; a declared name stays with its owner."""
    for elements in ((HIP, other), (other, HIP)):
        loaded = load_description(robot(*elements))
        assert loaded.transmission('hip').actuators[0].name == 'hip_actuator1'
        if taken is None:
            assert [each.name for each in loaded.rejected] == ['other']
        else:
            assert loaded.transmission('other').actuators[0].name == taken
            assert loaded.errors == ()


def test_fragments_load_without_joints_to_check():
    """A document of transmissions alone says once that names were not checked."""
    text = '<robot name="r">' + ros1('t1', 'a', 'm1') + ros1('t2', 'b', 'm2') + '</robot>'
    loaded, finding = find_only(text)
    assert len(loaded.transmissions) == 2
    assert (finding.severity, 'not checked' in finding.message) == ('info', True)


def test_findings_come_in_document_order():
    """Whatever was looked at first, lines do not go back."""
    loaded = load_description(
        robot(
            ros1('t1', 'ghost', 'm1'),
            hardware(ros2('t2', 'j9', 'm2')),
            ros1('t3', 'j1', 'm3').replace('<type>T</type>', ''),
            '<joint name="bad" type="odd"/>',
        )
    )
    lines = [finding.line for finding in loaded.findings]
    assert lines == sorted(lines)
    assert len(lines) >= 4
