# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Robots made of specs, and registries of classes."""

import pytest

from transmission_bridge.description import (
    JointSpec,
    RobotDescription,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.transmissions import Registry

TYPES = {
    'simple': 'transmission_interface/SimpleTransmission',
    'differential': 'transmission_interface/DifferentialTransmission',
    'four_bar_linkage': 'transmission_interface/FourBarLinkageTransmission',
}


def make_ends(names, prefix, **numbers):
    """Return the members of a side; a number that is not given has its default."""
    numbers = {field: values for field, values in numbers.items() if values}
    given = frozenset({'role', *numbers})
    return tuple(
        TransmissionEnd(
            name,
            f'{prefix}{k + 1}',
            **{field: values[k] for field, values in numbers.items()},
            given=given,
        )
        for k, name in enumerate(names)
    )


@pytest.fixture(scope='session')
def make_spec():
    """
    Return a function that makes a transmission's spec.

    ``kind`` is a key of the built-in types or a type string; ratios default to one.
    """

    def make(
        name, kind, joints, actuators, *, joint_reduction=(), joint_offset=(),
        actuator_reduction=(), dialect='ros2_control', **more,
    ):  # fmt: skip
        ends = (
            make_ends(joints, 'joint', mechanical_reduction=joint_reduction, offset=joint_offset),
            make_ends(actuators, 'actuator', mechanical_reduction=actuator_reduction),
        )
        return TransmissionSpec(name, TYPES.get(kind, kind), dialect, *ends, **more)

    return make


class _Entry:
    """An entry point that is no file."""

    dist = None

    def __init__(self, cls):
        self.name, self.value = f'me/{cls.__name__}', f'here:{cls.__name__}'
        self.load = lambda: cls


@pytest.fixture(scope='session')
def registry_of():
    """Return a function that makes a registry of classes, each of type ``me/`` and its name."""
    return lambda *classes: Registry([_Entry(cls) for cls in classes])


@pytest.fixture(scope='session')
def make_robot():
    """
    Return a function that makes a robot of specs.

    ``joints`` are the names of its revolute joints in URDF order; none makes it a fragment.
    """

    def make(*transmissions, joints=None, **more):
        if joints is None:
            driven = (member.name for spec in transmissions for member in spec.joints)
            joints = dict.fromkeys(driven)
        parts = tuple(JointSpec(name, 'revolute', 'a', 'b') for name in joints)
        return RobotDescription('robot', joints=parts, transmissions=transmissions, **more)

    return make
