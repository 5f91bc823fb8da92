# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The classical transmissions against the numbers that the peers' own code computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from transmission_bridge import load_description, RobotTransmissions, TransmissionBridgeError
from transmission_bridge.description import (
    RobotDescription,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.transmissions import (
    DifferentialTransmission,
    FourBarLinkageTransmission,
    SimpleTransmission,
    Transmission,
)
from transmission_bridge.transmissions.interfaces import DIRECTIONS, quantity_of

SHIPPED = Path(__file__).parents[1] / 'data' / 'vectors'
CLASSES = {
    'simple': SimpleTransmission,
    'differential': DifferentialTransmission,
    'four_bar_linkage': FourBarLinkageTransmission,
}
TYPES = {
    'simple': 'transmission_interface/SimpleTransmission',
    'differential': 'transmission_interface/DifferentialTransmission',
    'four_bar_linkage': 'transmission_interface/FourBarLinkageTransmission',
}

#: Largest deviation, relative to what is expected and to the sum of the absolute terms.
RELATIVE, RELATIVE_TO_TERMS = 1e-12, 1e-15

#: The peers have these only from actuator to joint; ours are the same by other names.
OUR_NAMES = {'torque_sensor': 'effort'}
IGNORE_ENCODER = 'absolute_position[ignore_transmission_for_absolute_encoders=true]'

Case = dict[str, Any]
Mapping = Callable[[str, str, list[float]], Any]


class Value(NamedTuple):
    """One direction of one interface of one case."""

    case: Case
    interface: str
    direction: str
    inputs: list[float]
    expected: list[float]

    @property
    def is_old_effort(self) -> bool:
        """Whether this is ROS 1's effort of a four-bar linkage, which does not conserve power."""
        return (
            self.case['peer'] == 'ros1'
            and self.case['kind'] == 'four_bar_linkage'
            and OUR_NAMES.get(self.interface, self.interface) == 'effort'
        )


def load(name: str) -> dict[str, Any]:
    """Read a file of vectors; TRANSMISSION_BRIDGE_VECTORS may name another folder."""
    folder = Path(os.environ.get('TRANSMISSION_BRIDGE_VECTORS', SHIPPED))
    return json.loads((folder / name).read_text(encoding='utf-8'))


def cases(name: str) -> list[Case]:
    """Return the cases of a file, each with the peer that it is from."""
    return [{**case, 'peer': name[:4]} for case in load(name)['cases']]


def values(case: Case) -> Iterator[Value]:
    """Yield every direction of every interface, but that which ours differs from on purpose."""
    for interface, directions in case['interfaces'].items():
        for direction, numbers in directions.items():
            value = Value(case, interface, direction, numbers['in'], numbers['out'])
            if not value.is_old_effort and interface != IGNORE_ENCODER:
                yield value


def build(case: Case) -> Transmission:
    """Build the transmission of a case from its class."""
    ar, jr, offset = (
        [float(number) for number in case[key]]
        for key in ('actuator_reduction', 'joint_reduction', 'joint_offset')
    )
    if case['kind'] == 'simple':
        return SimpleTransmission(ar[0], offset[0])
    return CLASSES[case['kind']](ar, jr, offset)


def spec(case: Case, name: str, dialect: str, **more: Any) -> TransmissionSpec:
    """Return what a description in a dialect says of a case; members are ``name/joint1`` etc."""
    ar, jr = case['actuator_reduction'], case['joint_reduction']
    if case['kind'] == 'simple' and dialect == 'ros2_control':
        ar, jr = jr, ar
    given = frozenset({'role', 'mechanical_reduction'})
    joints = tuple(
        TransmissionEnd(f'{name}/joint{k}', f'joint{k}', ratio, offset, given=given | {'offset'})
        for k, (ratio, offset) in enumerate(zip(jr, case['joint_offset'], strict=True), 1)
    )
    actuators = tuple(
        TransmissionEnd(f'{name}/actuator{k}', f'actuator{k}', ratio, given=given)
        for k, ratio in enumerate(ar, 1)
    )
    return TransmissionSpec(name, TYPES[case['kind']], dialect, joints, actuators, **more)


def sums_of_terms(value: Value) -> list[float]:
    """Return, for each output, the sum of the absolute values of the terms that make it up."""
    name = OUR_NAMES.get(value.interface, value.interface)
    quantity = quantity_of(name, value.direction)
    parts = build(value.case).coefficients(value.direction, quantity)
    matrix, before, after = map(np.abs, parts)
    return (matrix @ (np.abs(value.inputs) + before) + after).tolist()


def failures(name: str, mapping: Callable[[Case], Mapping]) -> tuple[int, list[str]]:
    """
    Hold a way of mapping to all vectors of a file.

    A value has to be right relative to the sum of its absolute terms, and relative to itself
    unless its terms cancel to less than a thousandth, where the peers' own last bit is more.

    :param mapping: From a case to a function of interface, direction and inputs.
    :returns: The number of values checked, and a line for each that is off.
    """
    checked = 0
    found = []
    for case in cases(name):
        function = mapping(case)
        for value in values(case):
            interface = OUR_NAMES.get(value.interface, value.interface)
            outputs = np.asarray(function(interface, value.direction, value.inputs)).tolist()
            rows = zip(outputs, value.expected, sums_of_terms(value), strict=True)
            for output, expected, terms in rows:
                checked += 1
                error = abs(output - expected)
                is_right = error <= RELATIVE_TO_TERMS * terms and (
                    error <= RELATIVE * abs(expected) or terms > 1000.0 * abs(expected)
                )
                if not is_right:  # NaN is not right
                    found.append(
                        f'{name} {case["id"]} {value.interface} {value.direction}: '
                        f'{output!r}, expected {expected!r}'
                    )
    return checked, found


def by_class(case: Case) -> Mapping:
    """Map with the transmission built from its class."""
    transmission = build(case)
    return lambda interface, direction, x: getattr(transmission, direction)(interface, x)


FILES = ('ros1_vectors.json', 'ros2_vectors.json')
#: The dialect that a peer reads.
DIALECTS = {'ros1': 'ros_control', 'ros2': 'ros2_control'}


@pytest.mark.parametrize('name', FILES)
def test_classes_give_the_peers_numbers(name):
    """Every interface and direction of every case is right, built from the classes."""
    checked, found = failures(name, by_class)
    assert checked
    assert not found, '\n'.join(found[:20])


def through_robot(robot: RobotTransmissions, names: dict[str, str]) -> Callable[[Case], Mapping]:
    """Return how a robot with all cases maps one of them; the names are those of its bindings."""
    bindings = {binding.spec.name: binding for binding in robot.bindings}

    def mapping(case):
        binding = bindings[names[case['id']]]

        def function(interface, direction, x):
            places = (binding.actuators, binding.joints)
            if direction == 'joint_to_actuator':
                places = places[::-1]
            # What does not belong to the case is unknown, and has to stay outside.
            values = np.full(max(len(robot.actuator_names), len(robot.joint_names)), np.nan)
            values[list(places[0])] = x
            result = getattr(robot, direction)(interface, values)
            known = np.flatnonzero(~np.isnan(result))
            assert sorted(known) == sorted(places[1])
            return result[list(places[1])]

        return function

    return mapping


def _urdf(all_cases, dialect) -> str:
    """Write all cases as one URDF, members of each in reverse order of their roles."""
    tree, components, transmissions = ['<link name="l0"/>'], [], []
    for number, case in enumerate(all_cases):
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
def test_a_urdf_gives_the_peers_numbers(name):
    """All cases as one URDF in the peer's dialect, written against role order, give the same."""
    all_cases = cases(name)
    description = load_description(_urdf(all_cases, DIALECTS[name[:4]]))
    robot = RobotTransmissions(description)
    assert [finding for finding in robot.findings if finding.severity == 'error'] == []
    checked, found = failures(
        name,
        through_robot(robot, {case['id']: f'c{number}' for number, case in enumerate(all_cases)}),
    )
    assert checked
    assert not found, '\n'.join(found[:20])


def test_old_four_bar_effort_differs_because_it_loses_power():
    """ROS 1's effort of a four-bar linkage does not conserve power; ours, which does, differs."""
    compared = 0
    for case in cases('ros1_vectors.json'):
        if case['kind'] != 'four_bar_linkage' or case['family'] == 'unit':
            continue
        transmission = build(case)
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


def test_ignored_absolute_encoder_passes_by_role():
    """With <ignoreTransmissionAbsoluteEncoder> absolute positions pass by role, not swapped."""
    compared = 0
    for case in cases('ros1_vectors.json'):
        numbers = case['interfaces'].get(IGNORE_ENCODER)
        if numbers is None:
            continue
        compared += 1
        made = spec(case, 't', 'ros_control', ignore_absolute_encoder=True)
        robot = RobotTransmissions(RobotDescription('robot', transmissions=(made,)))
        given, theirs = (numbers['actuator_to_joint'][key] for key in ('in', 'out'))
        ours = robot.actuator_to_joint('absolute_position', given)
        assert ours.tolist() == given
        assert theirs == given[::-1]
        # The encoder alone is concerned.
        values = case['interfaces']['position']['actuator_to_joint']
        np.testing.assert_allclose(
            robot.actuator_to_joint('position', values['in']), values['out'], rtol=1e-12
        )
    assert compared


@pytest.mark.parametrize('name', FILES)
def test_what_the_peers_refuse_is_refused(name):
    """Every construction that the peers refuse is refused, by class and by spec."""
    for case in load(name)['constructor_errors']:
        numbers = [
            float(number)
            for key in ('actuator_reduction', 'joint_reduction', 'joint_offset')
            for number in case[key]
        ]
        if case['error'] or not all(map(math.isfinite, numbers)):
            with pytest.raises(TransmissionBridgeError):
                build(case)
        else:
            assert build(case)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 0.0, -0.0])
@pytest.mark.parametrize('kind', ['simple', 'differential', 'four_bar_linkage'])
def test_unusable_numbers_are_refused(kind, bad):
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
                build(case)


def test_all_supported_interfaces_of_the_peers_are_supported():
    """What the peers support both ways is supported, and acceleration as well."""
    supported = load('ros2_vectors.json')['supported_interfaces']
    for kind, sides in supported.items():
        size = 1 if kind == 'simple' else 2
        ones = {key: [1.0] * size for key in ('actuator_reduction', 'joint_reduction')}
        transmission = build({'kind': kind, **ones, 'joint_offset': [0.0] * size})
        for interface in {*sides['joint'], *sides['actuator'], 'acceleration', 'torque', 'force'}:
            for direction in DIRECTIONS:
                is_measurement = (interface, direction) == (
                    'absolute_position',
                    'joint_to_actuator',
                )
                assert transmission.supports(interface, direction) is not is_measurement
        assert not transmission.supports('current', 'actuator_to_joint')
