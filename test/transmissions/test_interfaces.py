# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names of the interfaces and the directions in which they are mapped."""

from __future__ import annotations

import pickle

import pytest

from transmission_bridge.errors import UnsupportedInterfaceError
from transmission_bridge.transmissions import SimpleTransmission
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    DIRECTIONS,
    interfaces_of,
    JOINT_TO_ACTUATOR,
    quantity_of,
)

NAMES = {'position', 'velocity', 'acceleration', 'effort', 'torque', 'force'}


def test_every_interface_is_mapped_both_ways_but_the_measurement():
    """All interfaces are mapped from actuator to joint, all but absolute_position back."""
    assert set(interfaces_of(ACTUATOR_TO_JOINT)) == NAMES | {'absolute_position'}
    assert set(interfaces_of(JOINT_TO_ACTUATOR)) == NAMES
    for direction in DIRECTIONS:
        for interface in interfaces_of(direction):
            assert quantity_of(interface, direction)


@pytest.mark.parametrize('name', ['effort', 'torque', 'force'])
def test_effort_torque_and_force_are_one_quantity(name):
    """Effort, torque and force are mapped alike."""
    for direction in DIRECTIONS:
        assert quantity_of(name, direction) is quantity_of('effort', direction)


@pytest.mark.parametrize(
    ('interface', 'direction'),
    [
        ('absolute_position', JOINT_TO_ACTUATOR),
        ('current', ACTUATOR_TO_JOINT),
        ('', ACTUATOR_TO_JOINT),
        ('Position', JOINT_TO_ACTUATOR),
    ],
)
def test_what_is_not_mapped_is_refused_with_what_is(interface, direction):
    """An interface that is not mapped is refused, and the error says which are."""
    transmission = SimpleTransmission(1.0)
    assert not transmission.supports(interface, direction)
    for refused in (
        lambda: quantity_of(interface, direction),
        lambda: getattr(transmission, direction)(interface, [1.0]),
    ):
        with pytest.raises(UnsupportedInterfaceError) as caught:
            refused()
        error = pickle.loads(pickle.dumps(caught.value))
        assert (error.interface, error.direction) == (interface, direction)
        assert error.supported == interfaces_of(direction)
        assert 'velocity' in str(error)
