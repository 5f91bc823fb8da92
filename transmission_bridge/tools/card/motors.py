# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The numbers of motors, from ``<param>``s of an ``<actuator>`` and from a YAML file.

As written by hand, in SI at the motor, and gains of joints at the joint::

    actuators:
      knee_motor: {rotor_inertia: 6e-5, effort: 1.2, velocity: 300, kp: 0.5, kd: 0.01}
      hip_motor: {torque_speed_curve: [[0, 1.2], [200, 1.2], [300, 0]]}
    joints:
      hip: {kp: 80, kd: 2}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
import math
from typing import Any

from transmission_bridge.bridge import compute_motor_bounds
from transmission_bridge.description.document import parse_number
from transmission_bridge.errors import closest, shown
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.files import parse_yaml
from transmission_bridge.tools.robot import read_robot_file
from transmission_bridge.transmissions import RobotTransmissions

#: The gains of a motor or of a joint.
GAINS = ('kp', 'kd')

#: The number that is a list.
CURVE = 'torque_speed_curve'


@dataclass(frozen=True)
class Motor:
    """
    The numbers of a motor, in SI at the motor; NaN if unknown.

    :param rotor_inertia: Inertia of the rotor, with gears at its speed [kg m², kg].
    :param effort: Largest effort [N m, N]; in the URDF the ``<limit>``.
    :param velocity: Largest speed [rad/s, m/s]; in the URDF the ``<limit>``.
    :param torque_constant: Effort per ampere [N m/A, N/A].
    :param coulomb_friction: Friction that does not depend on the speed [N m, N].
    :param viscous_friction: Friction per speed [N m s/rad, N s/m].
    :param kp: Gain of the position [N m/rad, N/m].
    :param kd: Gain of the velocity [N m s/rad, N s/m].
    :param torque_speed_curve: Speeds, rising, and the largest effort at each; the largest values
        are limits.
    """

    name: str
    rotor_inertia: float = math.nan
    effort: float = math.inf
    velocity: float = math.inf
    torque_constant: float = math.nan
    coulomb_friction: float = math.nan
    viscous_friction: float = math.nan
    kp: float = math.nan
    kd: float = math.nan
    torque_speed_curve: tuple[tuple[float, float], ...] = ()

    def reflect(self, ratio: float) -> dict[str, float]:
        """Return the numbers at a joint, with the motion of the motor per motion of it."""
        size = abs(ratio)
        return {
            'velocity': self.velocity / size,
            'effort': self.effort * size,
            'friction': self.coulomb_friction * size,
            'armature': self.rotor_inertia * size**2,
            'damping': self.viscous_friction * size**2,
        }


#: Names in the file, and in ``<param>``s: there limits are the ``<limit>``.
NUMBERS = [field.name for field in fields(Motor) if field.name != 'name']
_OF_PARAMS = {*NUMBERS} - {'effort', 'velocity'}

#: Several actuators may have the same motor; so many aliases expand to about 3**13 nodes at most.
_MOST_ALIASES = 40

#: Wanted gains of joints, by joint, each of :data:`GAINS` that is given.
JointGains = Mapping[str, Mapping[str, float]]


def read_motors(
    robot: RobotTransmissions, description: str, file: str | None
) -> tuple[dict[str, Motor], JointGains]:
    """
    Return the numbers of every actuator, and the wanted gains of joints.

    Numbers of the file replace those of the description.

    :param description: Name of the description, for errors.
    :param file: A YAML file, ``None`` without one.
    :raises UsageError: If a name is unknown or a number is invalid; with file, motor, expectation
        and finding.
    """
    limits = compute_motor_bounds(robot)[1, 1:3].T.tolist()
    motors = {
        name: Motor(name, velocity=velocity, effort=effort)
        for name, (velocity, effort) in zip(robot.actuator_names, limits, strict=True)
    }
    for binding in robot.bindings:
        for member in binding.spec.actuators:
            where = f"'{description}', line {member.line}, actuator '{member.name}'"
            given: dict[str, Any] = {}
            for spec in member.parameters:
                if spec.name not in _OF_PARAMS:
                    continue
                if (first := given.setdefault(spec.name, spec.value)) != spec.value:
                    found = f'{first!r} and {spec.value!r}'
                    raise UsageError(f'{where}: {spec.name}: expected one value, found {found}')
            for tunable in binding.tunables:  # perhaps with another value than in the text
                if tunable.path[:2] == ('actuators', member.name) and tunable.path[2] in given:
                    given[tunable.path[2]] = repr(float(tunable.value))
            motors[member.name] = replace(motors[member.name], **_read_numbers(given, where))
    # Only joints that can be commanded can have gains.
    joints = [joint.name for binding in robot.bindings for joint in binding.spec.joints]
    known = {'actuators': [*motors], 'joints': joints}
    wanted: dict[str, Mapping[str, float]] = {}
    content: Any = {}
    if file is not None:
        data = read_robot_file(file)
        content = parse_yaml(data, file, as_text=True, most_aliases=_MOST_ALIASES) or {}
    for side, members in _check_names(content, [*known], f"'{file}'").items():
        for name, given in _check_names(members, known[side], f"'{file}', {side}").items():
            where = f"'{file}', {side[:-1]} '{name}'"
            if side == 'joints':
                wanted[name] = _read_numbers(given, where, GAINS)
            else:
                motors[name] = replace(motors[name], **_read_numbers(given, where))
    for name, motor in motors.items():
        if curve := motor.torque_speed_curve:
            velocity = min(motor.velocity, curve[-1][0])
            effort = min(motor.effort, max(effort for _, effort in curve))
            motors[name] = replace(motor, velocity=velocity, effort=effort)
    return motors, wanted


def _check_names(value: Any, allowed: Sequence[str], where: str) -> dict[str, Any]:
    """Return a mapping with allowed names."""
    if not isinstance(value, dict):
        raise UsageError(f'{where}: expected names with values, found {shown(str(value))}')
    for name in value:
        if name not in allowed:
            expected = f'one of {", ".join(allowed)}' if allowed else 'nothing'
            raise UsageError(
                f'{where}: expected {expected}, found {shown(str(name))}'
                f'{closest(str(name), allowed)}'
            )
    return value


def _read_numbers(given: Any, where: str, allowed: Sequence[str] = NUMBERS) -> dict[str, Any]:
    """Return the numbers of a member by name."""
    numbers: dict[str, Any] = {}
    for name, value in _check_names(given, allowed, where).items():
        try:
            numbers[name] = _parse_curve(value) if name == CURVE else _parse_magnitude(name, value)
        except ValueError as error:
            raise UsageError(
                f'{where}: {name}: expected {error}, found {shown(str(value))}'
            ) from None
    return numbers


def _parse_magnitude(name: str, value: Any) -> float:
    if not isinstance(value, str):
        raise ValueError('a number')
    number = parse_number(value)
    if number < 0.0 or (number == 0.0 and name == 'torque_constant'):
        raise ValueError('a positive number')
    return number


def _parse_curve(value: Any) -> tuple[tuple[float, float], ...]:
    """Return the points of a list of pairs, or of a text ``0 1.2, 200 1.2, 300 0``."""
    pairs = [pair.split() for pair in value.split(',')] if isinstance(value, str) else value
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs) or len(pairs) < 2:
        raise ValueError('two or more pairs of speed and effort')
    curve = tuple((_parse_magnitude(CURVE, x), _parse_magnitude(CURVE, y)) for x, y in pairs)
    if any(a[0] >= b[0] for a, b in pairwise(curve)):
        raise ValueError('rising speeds')
    return curve
