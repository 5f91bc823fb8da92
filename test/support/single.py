# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot that has nothing but one transmission."""

from __future__ import annotations

from transmission_bridge.description.specs import (
    RobotDescription,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.layout import order_members
from transmission_bridge.transmissions.robot import Robot
from transmission_bridge.transmissions.transmission import Transmission


def single(transmission: Transmission, name: str = 't') -> Robot:
    """Return a robot of this transmission, its joints ``j0`` and on, its actuators ``a0``."""
    joints, actuators = (
        tuple(TransmissionEnd(f'{letter}{place}') for place in range(count))
        for letter, count in (('j', transmission.n_joints), ('a', transmission.n_actuators))
    )
    spec = TransmissionSpec(name, type(transmission).__name__, 'ros2_control', joints, actuators)
    return Robot(*order_members(RobotDescription(name), (Binding(spec, transmission),)))
