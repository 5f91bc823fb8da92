# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions that compete for a name, a joint or an actuator; implied actuators."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from transmission_bridge.description import load_description, RobotDescription


def ros2(name: str, joint: str, actuator: str, attributes: str = '') -> str:
    """Return a ros2_control transmission of one joint."""
    return (
        f'<transmission name="{name}"><plugin>T</plugin><joint name="{joint}" role="joint1"/>'
        f'<actuator name="{actuator}" role="actuator1" {attributes}/></transmission>'
    )


def ros1(name: str, joint: str, actuator: str, interface: str = 'PositionJointInterface') -> str:
    """Return a ROS 1 transmission of one joint."""
    return (
        f'<transmission name="{name}"><type>T</type><joint name="{joint}"><hardwareInterface>'
        f'{interface}</hardwareInterface></joint><actuator name="{actuator}">'
        '<mechanicalReduction>2</mechanicalReduction></actuator></transmission>'
    )


def hardware(*inside: str, name: str = 'hw', kind: str = 'system') -> str:
    """Return a block with joints j1 to j4."""
    components = ''.join(
        f'<joint name="j{number}"><command_interface name="position"/></joint>'
        for number in range(1, 5)
    )
    return (
        f'<ros2_control name="{name}" type="{kind}">{components}{"".join(inside)}</ros2_control>'
    )


def names(robot: RobotDescription) -> tuple[list[str], list[str]]:
    """Return names of the accepted and of the rejected."""
    return [each.name for each in robot.transmissions], [each.name for each in robot.rejected]


def test_several_may_read_one_actuator(robot: Callable[..., str]) -> None:
    """A hand with fingers measured by one motor loads completely."""
    text = robot(
        ros1('t1', 'j1', 'm', 'hardware_interface/JointStateInterface'),
        ros1('t2', 'j2', 'm'),
        ros1('t3', 'j3', 'm', 'JointStateInterface'),
    )
    loaded = load_description(text, strict=True)
    assert names(loaded) == (['t1', 't2', 't3'], [])
    assert [each.can_command for each in loaded.transmissions] == [False, True, False]


def test_a_read_only_actuator_is_not_commanded_twice(robot: Callable[..., str]) -> None:
    """read_only leaves the actuator to another transmission, before or after."""
    for first, second in (('', 'read_only="true"'), ('read_only="true"', '')):
        loaded = load_description(
            robot(hardware(ros2('t1', 'j1', 'm', first), ros2('t2', 'j2', 'm', second)))
        )
        assert names(loaded) == (['t1', 't2'], [])


def test_read_only_counts_for_each_actuator(robot: Callable[..., str]) -> None:
    """A transmission that commands one actuator and only reads another leaves that one free."""
    both = (
        '<transmission name="t1"><plugin>T</plugin><joint name="j1" role="joint1"/>'
        '<actuator name="m1" role="actuator1"/>'
        '<actuator name="m2" role="actuator2" read_only="true"/></transmission>'
    )
    loaded = load_description(
        robot(hardware(both, ros2('t2', 'j2', 'm2'), ros2('t3', 'j3', 'm1')))
    )
    assert names(loaded) == (['t1', 't2'], ['t3'])
    assert loaded.transmission('t1').can_command


def test_the_later_of_two_loses(robot: Callable[..., str]) -> None:
    """Two that could command one actuator: the first stays, the error names it with its line."""
    loaded = load_description(robot(ros1('t1', 'j1', 'm'), ros1('t2', 'j2', 'm')))
    assert names(loaded) == (['t1'], ['t2'])
    (error,) = loaded.errors
    assert error.subject == 't2'
    assert f"by transmission 't1' on line {loaded.transmissions[0].line}" in error.message


def test_ros2_control_comes_before_ros1_wherever_it_stands(robot: Callable[..., str]) -> None:
    """If both dialects drive a joint, the transmission of ros2_control stays."""
    for elements in (
        [ros1('old', 'j1', 'm'), hardware(ros2('new', 'j1', 'm'))],
        [hardware(ros2('new', 'j1', 'm')), ros1('old', 'j1', 'm')],
    ):
        loaded = load_description(robot(*elements))
        assert names(loaded) == (['new'], ['old'])
        assert {error.subject for error in loaded.errors} == {'old'}


def test_what_was_refused_takes_nothing(robot: Callable[..., str]) -> None:
    """A bad transmission costs its own joints only, not the next one of the same joint."""
    bad = ros1('t', 'j1', 'm').replace('>2<', '>two<')
    loaded = load_description(robot(bad, ros1('t', 'j1', 'm')))
    assert names(loaded) == (['t'], ['t'])
    assert len(loaded.errors) == 1
    second_loses = load_description(
        robot(ros1('a', 'j1', 'm1'), ros1('b', 'j1', 'm2'), ros1('c', 'j2', 'm2'))
    )
    assert names(second_loses) == (['a', 'c'], ['b'])


def implied(name: str, joint: str) -> str:
    """Return a transmission that declares no actuator."""
    return (
        f'<transmission name="{name}"><plugin>T</plugin><joint name="{joint}" role="joint1">'
        '<mechanical_reduction>5</mechanical_reduction></joint></transmission>'
    )


def test_one_actuator_block_implies_actuator1(robot: Callable[..., str]) -> None:
    """The actuator has ratio 1, the role and the joint's interfaces, and is reported."""
    loaded = load_description(robot(hardware(implied('t', 'j1'), kind='actuator')), strict=True)
    (finding,) = loaded.findings
    assert (finding.severity, "'actuator1' is implied" in finding.message) == ('info', True)
    spec = loaded.transmission('t')
    (actuator,) = spec.actuators
    assert (actuator.name, actuator.role, actuator.given) == (
        'actuator1',
        'actuator1',
        frozenset(),
    )
    assert (actuator.mechanical_reduction, actuator.offset, actuator.read_only) == (
        1.0,
        0.0,
        False,
    )
    assert actuator.command_interfaces == spec.joints[0].command_interfaces == ('position',)
    assert spec.can_command


def test_several_actuator_blocks_have_actuators_of_their_own(robot: Callable[..., str]) -> None:
    """If actuator1 is not unique, each actuator is named after its block."""
    loaded = load_description(
        robot(
            hardware(implied('t1', 'j1'), name='hip', kind='actuator'),
            hardware(implied('t2', 'j2'), name='knee', kind='actuator'),
        )
    )
    actuators = [each.actuators[0].name for each in loaded.transmissions]
    assert actuators == ['hip_actuator1', 'knee_actuator1']
    assert [finding.severity for finding in loaded.findings] == ['warning', 'warning']


@pytest.mark.parametrize(
    'other', [ros1('other', 'j4', 'actuator1'), hardware(ros2('other', 'j4', 'actuator1'))]
)
def test_a_declared_actuator1_makes_the_implied_one_another(
    robot: Callable[..., str], other: str
) -> None:
    """The name in use elsewhere stays with its owner, in either dialect."""
    block = hardware(implied('t', 'j1'), name='hip', kind='actuator')
    for elements in ((block, other), (other, block)):
        loaded = load_description(robot(*elements))
        assert loaded.transmission('t').actuators[0].name == 'hip_actuator1'
        assert loaded.transmission('other').actuators[0].name == 'actuator1'
        assert loaded.errors == ()


def test_a_refused_neighbour_does_not_rename_an_actuator(robot: Callable[..., str]) -> None:
    """Mending one transmission later leaves the names of the others alone."""
    good = hardware(implied('t1', 'j1'), name='hip', kind='actuator')
    bad = hardware(implied('t2', 'ghost'), name='knee', kind='actuator')
    declared = ros1('t2', 'ghost', 'actuator1')
    for other in (bad, declared):
        loaded = load_description(robot(good, other))
        assert names(loaded) == (['t1'], ['t2'])
        assert loaded.transmission('t1').actuators[0].name == 'hip_actuator1'
    unreadable = load_description(robot(good, declared.replace('>2<', '>two<')))
    assert unreadable.transmission('t1').actuators[0].name == 'hip_actuator1'


def test_none_is_implied_where_one_is_declared(robot: Callable[..., str]) -> None:
    """An actuator block with a declared actuator has that one only."""
    loaded = load_description(robot(hardware(ros2('t', 'j1', 'motor'), kind='actuator')))
    assert [each.name for each in loaded.transmission('t').actuators] == ['motor']
    assert loaded.findings == ()


def test_fragments_load_without_joints_to_check() -> None:
    """A document of transmissions alone says once that names were not checked."""
    text = '<robot name="r">' + ros1('t1', 'a', 'm1') + ros1('t2', 'b', 'm2') + '</robot>'
    loaded = load_description(text, strict=True)
    assert names(loaded) == (['t1', 't2'], [])
    (finding,) = loaded.findings
    assert (finding.severity, 'not checked' in finding.message) == ('info', True)


def test_findings_come_in_document_order(robot: Callable[..., str]) -> None:
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
