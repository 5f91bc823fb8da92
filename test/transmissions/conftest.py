# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Robots made of specs, and registries of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def _members(names, prefix, ratios, offsets=()) -> tuple[TransmissionEnd, ...]:
    given = {'role'}
    given.update(['mechanical_reduction'] if ratios else [], ['offset'] if offsets else [])
    return tuple(
        TransmissionEnd(
            name,
            f'{prefix}{k}',
            ratios[k - 1] if ratios else 1.0,
            offsets[k - 1] if offsets else 0.0,
            given=frozenset(given),
        )
        for k, name in enumerate(names, 1)
    )


@pytest.fixture(scope='session')
def make_spec() -> Callable[..., TransmissionSpec]:
    """
    Return a function that makes a transmission's spec.

    ``kind`` is a key of the built-in types or a type string; ratios default to one.
    """

    def make(
        name: str,
        kind: str,
        joints: tuple[str, ...],
        actuators: tuple[str, ...],
        *,
        joint_reduction: tuple[float, ...] = (),
        joint_offset: tuple[float, ...] = (),
        actuator_reduction: tuple[float, ...] = (),
        dialect: str = 'ros2_control',
        **more: Any,
    ) -> TransmissionSpec:
        return TransmissionSpec(
            name,
            TYPES.get(kind, kind),
            dialect,
            _members(joints, 'joint', joint_reduction, joint_offset),
            _members(actuators, 'actuator', actuator_reduction),
            **more,
        )

    return make


class _Entry:
    """An entry point that is no file."""

    dist = None

    def __init__(self, cls) -> None:
        self.name, self.value = f'me/{cls.__name__}', f'here:{cls.__name__}'
        self.load = lambda: cls


@pytest.fixture(scope='session')
def registry_of() -> Callable[..., Registry]:
    """Return a function that makes a registry of classes, each of type ``me/`` and its name."""
    return lambda *classes: Registry([_Entry(cls) for cls in classes])


@pytest.fixture(scope='session')
def make_robot() -> Callable[..., RobotDescription]:
    """
    Return a function that makes a robot of specs.

    ``joints`` are the names of its revolute joints in URDF order; none makes it a fragment.
    """

    def make(
        *transmissions: TransmissionSpec,
        joints: tuple[str, ...] | None = None,
        **more: Any,
    ) -> RobotDescription:
        if joints is None:
            joints = tuple(
                dict.fromkeys(member.name for spec in transmissions for member in spec.joints)
            )
        return RobotDescription(
            'robot',
            joints=tuple(JointSpec(name, 'revolute', 'a', 'b') for name in joints),
            transmissions=transmissions,
            **more,
        )

    return make
