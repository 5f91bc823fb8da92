# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Names of the interfaces and of the two directions of maps.

The names come from ros2_control (``hardware_interface_type_values.hpp``), ``absolute_position``
from transmission_interface.

Every room uses them, and users spell them in URDFs, parameters and calls, so the texts are fixed.
The order of :data:`FIELDS` is the order of rows in memory and on the wire.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal

from transmission_bridge.errors import TransmissionError, UnsupportedInterfaceError

#: The direction of a map; users give the texts as arguments.
Direction = Literal['actuator_to_joint', 'joint_to_actuator']
ACTUATOR_TO_JOINT: Direction = 'actuator_to_joint'
JOINT_TO_ACTUATOR: Direction = 'joint_to_actuator'
DIRECTIONS: tuple[Direction, ...] = (ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR)


#: The arrays of a JointState, in the order in which every state array holds them.
FIELDS = ('position', 'velocity', 'effort')


class Quantity(Enum):
    """The kind of number that an interface carries; all interfaces of a kind share one map."""

    POSITION = 'position'
    VELOCITY = 'velocity'
    ACCELERATION = 'acceleration'
    EFFORT = 'effort'


#: Interface name to quantity, in the order of lists for users.
INTERFACES: dict[str, Quantity] = {
    'position': Quantity.POSITION,
    'velocity': Quantity.VELOCITY,
    'acceleration': Quantity.ACCELERATION,
    'effort': Quantity.EFFORT,
    'torque': Quantity.EFFORT,
    'force': Quantity.EFFORT,
    'absolute_position': Quantity.POSITION,
}

#: Further arguments of a map if the Jacobian varies.
_NEEDED = {
    Quantity.VELOCITY: {'at': 'positions'},
    Quantity.EFFORT: {'at': 'positions'},
    Quantity.ACCELERATION: {'at': 'positions', 'rate': 'velocities'},
}


def list_mapped_interfaces(direction: Direction) -> tuple[str, ...]:
    """
    Return the interfaces that can be mapped in this direction.

    ``absolute_position`` is a measurement: it cannot be mapped from joint to actuator.
    """
    if direction == ACTUATOR_TO_JOINT:
        return tuple(INTERFACES)
    return tuple(name for name in INTERFACES if name != 'absolute_position')


def find_quantity(interface: str, direction: Direction) -> Quantity:
    """
    Return the quantity of an interface.

    :raises UnsupportedInterfaceError: If it cannot be mapped in this direction.
    """
    if interface not in list_mapped_interfaces(direction):
        raise UnsupportedInterfaceError(interface, direction, list_mapped_interfaces(direction))
    return INTERFACES[interface]


def require_map_arguments(
    interface: str, direction: Direction, transmission: str = '', **given: object
) -> None:
    """
    Check the arguments of a map whose Jacobian varies; ``None`` is missing.

    :raises TransmissionError: If ``at`` or ``rate`` is needed and missing.
    """
    for name, expected in _NEEDED.get(find_quantity(interface, direction), {}).items():
        if given.get(name) is None:
            raise TransmissionError(
                f'{interface} cannot be mapped without {name}=, because the Jacobian varies',
                transmission=transmission,
                parameter=name,
                expected=expected,
                found='None',
            )
