# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The peers' own numbers, and how far ours are from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transmission_bridge.description import TransmissionEnd, TransmissionSpec
from transmission_bridge.transmissions import (
    DifferentialTransmission,
    FourBarLinkageTransmission,
    SimpleTransmission,
    Transmission,
)

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


def build(case: Case, **more: Any) -> Transmission:
    """Build the transmission of a case from its class."""
    ar, jr, offset = (
        [float(number) for number in case[key]]
        for key in ('actuator_reduction', 'joint_reduction', 'joint_offset')
    )
    if case['kind'] == 'simple':
        return SimpleTransmission(ar[0], offset[0])
    return CLASSES[case['kind']](ar, jr, offset, **more)


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
    case = value.case
    ar, jr, off, x = (
        [abs(float(number)) for number in numbers]
        for numbers in (
            case['actuator_reduction'],
            case['joint_reduction'],
            case['joint_offset'],
            value.inputs,
        )
    )
    name = OUR_NAMES.get(value.interface, value.interface)
    kind, forward = case['kind'], value.direction == 'actuator_to_joint'
    if name not in ('position', 'absolute_position'):
        off = [0.0] * len(off)
    if name in ('effort', 'torque', 'force'):
        return _effort_terms(kind, forward, ar, jr, x)
    if kind == 'simple':
        return [x[0] / ar[0] + off[0]] if forward else [(x[0] + off[0]) * ar[0]]
    q = [number + offset for number, offset in zip(x, off, strict=True)]
    if kind == 'differential':
        if forward:
            both = x[0] / ar[0] + x[1] / ar[1]
            return [both / (2 * jr[0]) + off[0], both / (2 * jr[1]) + off[1]]
        both = q[0] * jr[0] + q[1] * jr[1]
        return [both * ar[0], both * ar[1]]
    if forward:
        first = x[0] / (jr[0] * ar[0])
        return [first + off[0], (x[1] / ar[1] + first) / jr[1] + off[1]]
    return [q[0] * jr[0] * ar[0], (q[0] + q[1] * jr[1]) * ar[1]]


def _effort_terms(
    kind: str, forward: bool, ar: list[float], jr: list[float], x: list[float]
) -> list[float]:
    if kind == 'simple':
        return [x[0] * ar[0]] if forward else [x[0] / ar[0]]
    if kind == 'differential':
        if forward:
            both = x[0] * ar[0] + x[1] * ar[1]
            return [jr[0] * both, jr[1] * both]
        both = x[0] / jr[0] + x[1] / jr[1]
        return [both / (2 * ar[0]), both / (2 * ar[1])]
    if forward:
        return [jr[0] * x[0] * ar[0] + x[1] * ar[1], jr[1] * x[1] * ar[1]]
    return [(x[0] + x[1] / jr[1]) / (jr[0] * ar[0]), x[1] / (ar[1] * jr[1])]


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
