# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Numbers of one joint through one transmission: position, rate and effort, there and back.

``apply`` goes from the joint to the actuator, ``unapply`` back, as in Beam Bots
(``BB.Transmission``). With ``n`` the reduction, negative where reversed, and ``off`` the joint
offset:

========= ===================== ======================
number    apply                 unapply
========= ===================== ======================
position  ``a = n (j - off)``   ``j = a / n + off``
rate      ``a = n j``           ``j = a / n``
effort    ``a = j / n``         ``j = n a``
========= ===================== ======================

Any transmission of one actuator and one joint does. Where its ratio depends on position, rates and
efforts need to know at which: ``at``, in the space of the number that is given.
"""

from __future__ import annotations

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.transmissions.simple import SimpleTransmission
from transmission_bridge.transmissions.transmission import Transmission

__all__ = [
    'apply_acceleration',
    'apply_effort',
    'apply_position',
    'apply_rate',
    'simple_transmission',
    'unapply_effort',
    'unapply_position',
    'unapply_rate',
]


def simple_transmission(
    reduction: float = 1.0,
    offset: float = 0.0,
    *,
    reversed: bool = False,  # noqa: A002 - the word that users of Beam Bots write
) -> SimpleTransmission:
    """
    Return the transmission that a reduction, an offset and a sense of rotation describe.

    :param reduction: Turns of the actuator per turn of the joint.
    :param offset: Joint position [rad or m] at actuator position zero.
    :param reversed: Whether the actuator turns the other way, a spelling of a negative ratio.
    :returns: A simple transmission of ratio ``reduction``, or ``-reduction`` where reversed.
    :raises TransmissionError: If the reduction is zero or a number is not finite.
    """
    return SimpleTransmission(-reduction if reversed else reduction, offset)


def apply_position(value: float, transmission: Transmission) -> float:
    """
    Return the actuator position of a joint position.

    :param value: Joint position [rad or m].
    :param transmission: One actuator, one joint.
    :returns: Actuator position [rad or m].
    :raises TransmissionError: If the transmission has more actuators or joints.
    """
    return _map(JOINT_TO_ACTUATOR, 'position', value, transmission, None)


def unapply_position(value: float, transmission: Transmission) -> float:
    """
    Return the joint position of an actuator position.

    :param value: Actuator position [rad or m].
    :param transmission: One actuator, one joint.
    :returns: Joint position [rad or m].
    :raises TransmissionError: If the transmission has more actuators or joints.
    """
    return _map(ACTUATOR_TO_JOINT, 'position', value, transmission, None)


def apply_rate(value: float, transmission: Transmission, *, at: float | None = None) -> float:
    """
    Return the actuator's velocity, or acceleration from standstill, of a joint's.

    :param value: Joint rate [rad or m, per second or per second squared].
    :param transmission: One actuator, one joint.
    :param at: Joint position [rad or m]; needed where the ratio depends on it, else ignored.
    :returns: Actuator rate, in the actuator's unit.
    :raises TransmissionError: If the transmission has more actuators or joints, or ``at`` is
        needed and missing.
    """
    return _map(JOINT_TO_ACTUATOR, 'velocity', value, transmission, at)


def unapply_rate(value: float, transmission: Transmission, *, at: float | None = None) -> float:
    """
    Return the joint's velocity, or acceleration from standstill, of an actuator's.

    :param value: Actuator rate [rad or m, per second or per second squared].
    :param transmission: One actuator, one joint.
    :param at: Actuator position [rad or m]; needed where the ratio depends on it, else ignored.
    :returns: Joint rate, in the joint's unit.
    :raises TransmissionError: If the transmission has more actuators or joints, or ``at`` is
        needed and missing.
    """
    return _map(ACTUATOR_TO_JOINT, 'velocity', value, transmission, at)


def apply_acceleration(
    value: float,
    transmission: Transmission,
    *,
    at: float | None = None,
    rate: float | None = None,
) -> float:
    """
    Return the actuator acceleration of a joint acceleration, in motion.

    :param value: Joint acceleration [rad/s² or m/s²].
    :param transmission: One actuator, one joint.
    :param at: Joint position [rad or m]; needed where the ratio depends on it, else ignored.
    :param rate: Joint velocity [rad/s or m/s]; needed where the ratio depends on position.
    :returns: Actuator acceleration [rad/s² or m/s²].
    :raises TransmissionError: If the transmission has more actuators or joints, or ``at`` or
        ``rate`` is needed and missing.
    """
    return _map(JOINT_TO_ACTUATOR, 'acceleration', value, transmission, at, rate)


def apply_effort(value: float, transmission: Transmission, *, at: float | None = None) -> float:
    """
    Return the actuator effort of a joint effort.

    :param value: Joint effort [N m or N].
    :param transmission: One actuator, one joint.
    :param at: Joint position [rad or m]; needed where the ratio depends on it, else ignored.
    :returns: Actuator effort [N m or N].
    :raises TransmissionError: If the transmission has more actuators or joints, or ``at`` is
        needed and missing.
    """
    return _map(JOINT_TO_ACTUATOR, 'effort', value, transmission, at)


def unapply_effort(value: float, transmission: Transmission, *, at: float | None = None) -> float:
    """
    Return the joint effort of an actuator effort.

    :param value: Actuator effort [N m or N].
    :param transmission: One actuator, one joint.
    :param at: Actuator position [rad or m]; needed where the ratio depends on it, else ignored.
    :returns: Joint effort [N m or N].
    :raises TransmissionError: If the transmission has more actuators or joints, or ``at`` is
        needed and missing.
    """
    return _map(ACTUATOR_TO_JOINT, 'effort', value, transmission, at)


def _map(
    direction: Direction,
    interface: str,
    value: float,
    transmission: Transmission,
    at: float | None,
    rate: float | None = None,
) -> float:
    size = (transmission.n_actuators, transmission.n_joints)
    if size != (1, 1):
        raise TransmissionError(
            'a single value needs a transmission of one actuator and one joint',
            expected='1 and 1',
            found=f'{size[0]} and {size[1]}',
        )
    function = (
        transmission.actuator_to_joint
        if direction == ACTUATOR_TO_JOINT
        else transmission.joint_to_actuator
    )
    where = None if at is None else [at]
    moving = None if rate is None else [rate]
    return float(function(interface, [value], at=where, rate=moving)[0])
