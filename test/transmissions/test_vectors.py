# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The classical transmissions against the numbers that the peers' own code computes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from transmission_bridge import load_description, RobotTransmissions, TransmissionBridgeError
from transmission_bridge.description import RobotDescription
from transmission_bridge.transmissions.interfaces import DIRECTIONS

FILES = ('ros1_vectors.json', 'ros2_vectors.json')
#: The dialect that a peer reads.
DIALECTS = {'ros1': 'ros_control', 'ros2': 'ros2_control'}


@pytest.mark.parametrize('name', FILES)
def test_classes_give_the_peers_numbers(vector_check, name):
    """Every interface and direction of every case is right, built from the classes."""
    checked, found = vector_check.failures(name, vector_check.by_class)
    assert checked
    assert not found, '\n'.join(found[:20])


@pytest.fixture(scope='module')
def through_robot(vector_check):
    """Return a function from a robot with all cases to the mapping of one case."""

    def mapping_in(robot: RobotTransmissions, names: dict[str, str]):
        bindings = {binding.spec.name: binding for binding in robot.bindings}

        def mapping(case):
            binding = bindings[names[case['id']]]

            def function(interface, direction, x):
                places = (binding.actuators, binding.joints)
                if direction == 'joint_to_actuator':
                    places = places[::-1]
                size = max(len(robot.actuator_names), len(robot.joint_names))
                # What does not belong to the case is unknown, and has to stay outside.
                values = np.full(size, np.nan)
                values[list(places[0])] = x
                result = getattr(robot, direction)(interface, values)
                known = np.flatnonzero(~np.isnan(result))
                assert sorted(known) == sorted(places[1])
                return result[list(places[1])]

            return function

        return mapping

    return mapping_in


def _urdf(cases, dialect) -> str:
    """Write all cases as one URDF, members of each in reverse order of their roles."""
    tree, components, transmissions = ['<link name="l0"/>'], [], []
    for number, case in enumerate(cases):
        simple = case['kind'] == 'simple'
        ar, jr, off = (
            case[key] for key in ('actuator_reduction', 'joint_reduction', 'joint_offset')
        )
        if simple and dialect == 'ros2_control':
            ar, jr = [1.0], ar
        elif simple:
            jr = [None]
        elements = []
        for k in reversed(range(len(ar))):
            joint, motor = f'c{number}_joint{k}', f'c{number}_motor{k}'
            link = f'l{number}_{k}'
            tree.append(
                f'<link name="{link}"/><joint name="{joint}" type="continuous">'
                f'<parent link="l0"/><child link="{link}"/></joint>'
            )
            interface = '<command_interface name="position"/>'
            components.append(f'<joint name="{joint}">{interface}</joint>')
            elements.append(
                _member('joint', joint, f'joint{k + 1}', jr[k], off[k], dialect)
                + _member('actuator', motor, f'actuator{k + 1}', ar[k], None, dialect)
            )
        kind = ''.join(part.title() for part in case['kind'].split('_'))
        tag = 'plugin' if dialect == 'ros2_control' else 'type'
        transmissions.append(
            f'<transmission name="c{number}">'
            f'<{tag}>transmission_interface/{kind}Transmission</{tag}>'
            f'{"".join(elements)}</transmission>'
        )
    body = ''.join(transmissions)
    if dialect == 'ros2_control':
        body = (
            '<ros2_control name="all" type="system"><hardware><plugin>a/B</plugin></hardware>'
            f'{"".join(components)}{body}</ros2_control>'
        )
    return f'<robot name="all">{"".join(tree)}{body}</robot>'


def _member(side, name, role, ratio, offset, dialect) -> str:
    """Write a member of a transmission; Python's repr of a float is read back to the last bit."""
    ros2 = dialect == 'ros2_control'
    tag = 'mechanical_reduction' if ros2 else 'mechanicalReduction'
    parts = [] if ros2 else [f'<role>{role}</role>']
    if not ros2 and side == 'joint':
        kind = 'hardware_interface/PositionJointInterface'
        parts.append(f'<hardwareInterface>{kind}</hardwareInterface>')
    if ratio is not None:
        parts.append(f'<{tag}>{ratio!r}</{tag}>')
    if offset is not None:
        parts.append(f'<offset>{offset!r}</offset>')
    attribute = f' role="{role}"' if ros2 else ''
    return f'<{side} name="{name}"{attribute}>{"".join(parts)}</{side}>'


@pytest.mark.parametrize('name', FILES)
def test_a_urdf_gives_the_peers_numbers(vector_check, through_robot, name):
    """All cases as one URDF in the peer's dialect, written against role order, give the same."""
    cases = vector_check.cases(name)
    description = load_description(_urdf(cases, DIALECTS[name[:4]]))
    robot = RobotTransmissions(description)
    assert [finding for finding in robot.findings if finding.severity == 'error'] == []
    checked, found = vector_check.failures(
        name,
        through_robot(robot, {case['id']: f'c{number}' for number, case in enumerate(cases)}),
    )
    assert checked
    assert not found, '\n'.join(found[:20])


def test_old_four_bar_effort_differs_because_it_loses_power(vector_check):
    """ROS 1's effort of a four-bar linkage does not conserve power; ours, which does, differs."""
    compared = 0
    for case in vector_check.cases('ros1_vectors.json'):
        if case['kind'] != 'four_bar_linkage' or case['family'] == 'unit':
            continue
        transmission = vector_check.build(case)
        for direction, numbers in case['interfaces']['effort'].items():
            given, theirs = np.array(numbers['in']), np.array(numbers['out'])
            if not given.any():
                continue
            compared += 1
            ours = getattr(transmission, direction)('effort', given)
            rate = np.array([0.3, -0.7])
            there = getattr(transmission, direction)('velocity', rate)
            terms = abs(ours * there).sum() + abs(given * rate).sum()
            assert abs(ours @ there - given @ rate) <= 1e-14 * terms
            assert abs(theirs @ there - given @ rate) > 1e-6 * terms
    assert compared


def test_ignored_absolute_encoder_passes_by_role(vector_check):
    """With <ignoreTransmissionAbsoluteEncoder> absolute positions pass by role, not swapped."""
    compared = 0
    for case in vector_check.cases('ros1_vectors.json'):
        numbers = case['interfaces'].get(vector_check.IGNORE_ENCODER)
        if numbers is None:
            continue
        compared += 1
        spec = vector_check.spec(case, 't', 'ros_control', ignore_absolute_encoder=True)
        robot = RobotTransmissions(RobotDescription('robot', transmissions=(spec,)))
        given, theirs = (numbers['actuator_to_joint'][key] for key in ('in', 'out'))
        ours = robot.actuator_to_joint('absolute_position', given)
        assert ours.tolist() == given
        assert theirs == given[::-1]
        alone = vector_check.build(case, ignore_absolute_encoder=True)
        assert alone.actuator_to_joint('absolute_position', given).tolist() == given
        # The encoder alone is concerned.
        values = case['interfaces']['position']['actuator_to_joint']
        np.testing.assert_allclose(
            robot.actuator_to_joint('position', values['in']), values['out'], rtol=1e-12
        )
    assert compared


@pytest.mark.parametrize('name', FILES)
def test_what_the_peers_refuse_is_refused(vector_check, name):
    """Every construction that the peers refuse is refused, by class and by spec."""
    for case in vector_check.load(name)['constructor_errors']:
        numbers = [
            float(number)
            for key in ('actuator_reduction', 'joint_reduction', 'joint_offset')
            for number in case[key]
        ]
        if case['error'] or not all(map(math.isfinite, numbers)):
            with pytest.raises(TransmissionBridgeError):
                vector_check.build(case)
        else:
            assert vector_check.build(case)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 0.0, -0.0])
@pytest.mark.parametrize('kind', ['simple', 'differential', 'four_bar_linkage'])
def test_unusable_numbers_are_refused(vector_check, kind, bad):
    """A ratio that is zero or not finite is refused, and so is an offset that is not finite."""
    size = 1 if kind == 'simple' else 2
    keys = ['actuator_reduction', 'joint_reduction', 'joint_offset']
    if kind == 'simple':
        keys.remove('joint_reduction')
    for key in keys:
        if key == 'joint_offset' and bad == 0.0:
            continue
        for place in range(size):
            case = {'kind': kind, 'joint_reduction': [2.0] * size}
            case |= {'actuator_reduction': [3.0] * size, 'joint_offset': [0.0] * size}
            case[key] = [*case[key]]
            case[key][place] = bad
            with pytest.raises(TransmissionBridgeError):
                vector_check.build(case)


def test_all_supported_interfaces_of_the_peers_are_supported(vector_check):
    """What the peers support both ways is supported, and acceleration as well."""
    supported = vector_check.load('ros2_vectors.json')['supported_interfaces']
    for kind, sides in supported.items():
        size = 1 if kind == 'simple' else 2
        ones = {key: [1.0] * size for key in ('actuator_reduction', 'joint_reduction')}
        transmission = vector_check.build({'kind': kind, **ones, 'joint_offset': [0.0] * size})
        for interface in {*sides['joint'], *sides['actuator'], 'acceleration', 'torque', 'force'}:
            for direction in DIRECTIONS:
                is_measurement = (interface, direction) == (
                    'absolute_position',
                    'joint_to_actuator',
                )
                assert transmission.supports(interface, direction) is not is_measurement
        assert not transmission.supports('current', 'actuator_to_joint')
