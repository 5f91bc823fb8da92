# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The numbers of motors, and what follows for the joints through ``J = ∂q/∂a``.

Numbers are in ``<param>``s of an ``<actuator>`` and in a YAML file. As written by hand, in SI at
the motor, and gains of joints at the joint::

    actuators:
      knee_motor: {rotor_inertia: 6e-5, effort: 1.2, velocity: 300, kp: 0.5, kd: 0.01}
      hip_motor: {torque_speed_curve: [[0, 1.2], [200, 1.2], [300, 0]]}
    joints:
      hip: {kp: 80, kd: 2}

With a motion ``ȧ = J^-1 q̇`` the kinetic energy of the rotors is ``½ q̇ᵀ M q̇`` with
``M = J^-T I J^-1`` and ``I`` the diagonal of rotor inertias: the reflected inertia, as in
Featherstone, *Rigid Body Dynamics Algorithms* (2008), chapter 9. Viscous friction and gains follow
by the same equation. The formats of a card are in :mod:`transmission_bridge.tools.card.command`,
which alone calls this module. Names in files, ``<param>``s and the JSON are the fields of
:class:`CardMotor` and the keys of :class:`Card`, so they are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
import math
from typing import Any

import numpy as np

from transmission_bridge.bridge import compute_motor_bounds
from transmission_bridge.description import TransmissionSpec
from transmission_bridge.description.document import parse_number
from transmission_bridge.errors import closest, shown, TransmissionError
from transmission_bridge.kinematics import compute_gain_ratios, compute_lost_gain_share, GainRatios
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.files import parse_yaml_file
from transmission_bridge.tools.limit_report import (
    read_reported_limits,
    report_joint_limits,
)
from transmission_bridge.tools.robot import read_robot_file
from transmission_bridge.tools.units import report_joint_unit
from transmission_bridge.transmissions import Binding, RobotTransmissions
from transmission_bridge.transmissions.robot import sample_mapped_positions
from transmission_bridge.types import Array

#: The gains of a motor or of a joint, as users spell them.
GAINS = ('kp', 'kd')

#: The number that is a list.
CURVE = 'torque_speed_curve'


@dataclass(frozen=True)
class CardMotor:
    """
    The numbers of a motor, in SI at the motor; NaN if unknown.

    Users spell the names of the fields.

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
NUMBERS = [field.name for field in fields(CardMotor) if field.name != 'name']
_OF_PARAMS = {*NUMBERS} - {'effort', 'velocity'}

#: Several actuators may have the same motor; so many aliases expand to about 3**13 nodes at most.
_MOST_ALIASES = 40

#: Wanted gains of joints, by joint, each of :data:`GAINS` that is given.
JointGains = Mapping[str, Mapping[str, float]]


def read_card_motors(
    robot: RobotTransmissions, description: str, file: str | None
) -> tuple[dict[str, CardMotor], JointGains]:
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
        name: CardMotor(name, velocity=velocity, effort=effort)
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
        content = parse_yaml_file(data, file, as_text=True, most_aliases=_MOST_ALIASES) or {}
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
    """Return the checked numbers of a member by name; ``allowed`` are the possible names."""
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


#: Decimals of positions that are different.
_DECIMALS = 9

#: Smallest share beside the diagonal that is not rounding.
_LEAST_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class Card:
    """
    The numbers of a transmission with ``m`` motors and ``n`` joints at ``k`` positions.

    Numbers are in SI, NaN if they do not follow. Matrices are forms: an entry on the diagonal is
    the number of one joint while the others stand still.

    :param joints: Names and units of position of the joints.
    :param position: Positions of the joints, shape ``(k, n)``.
    :param reference: Index of the position closest to zero, for formats with one number.
    :param ratios: ``J`` at each position.
    :param per_joint: The numbers of each joint by name, shape ``(k, n)``: ``velocity`` and
        ``effort``, the largest ones; ``friction``, Coulomb friction if one joint moves,
        ``Σ_i |∂a_i/∂q_j| F_i``; and the diagonals of the matrices at the joints.
    :param matrices: By name, at the joints, shape ``(k, n, n)``: ``armature`` ``J^-T I J^-1``,
        ``damping`` ``J^-T B J^-1`` (viscous friction), and the gains ``kp``, ``kd``,
        ``J^-T K J^-1`` or as wanted. At the motors, shape ``(k, m, m)``: ``actuator_kp`` and
        ``actuator_kd``, as given, or ``Jᵀ K J``.
    :param rest: Positions of the joints with the motors at zero, shape ``(n,)``, if the ratio is
        constant.
    :param ungiven: Joints without wanted gains, if others of the transmission have some.
    :param cranks: Joints of the model that are the own cranks of the motors, if it has them, with
        the motion of the motor per motion of the crank. Their armature is the only one.
    :param remark: Why inertia and friction stay at the motors; empty if they are at the joints.
    """

    name: str
    motors: tuple[CardMotor, ...]
    joints: tuple[tuple[str, str], ...]
    position: Array
    reference: int
    ratios: GainRatios
    per_joint: Mapping[str, Array]
    matrices: Mapping[str, Array]
    rest: Array | None
    ungiven: tuple[str, ...]
    cranks: tuple[tuple[CardMotor, str, float], ...]
    remark: str

    @property
    def lost(self) -> dict[str, Array]:
        """Share of each matrix beside its diagonal, shape ``(k,)``; one number each loses it."""
        return {name: compute_lost_gain_share(form) for name, form in self.matrices.items()}

    @property
    def curve(self) -> list[list[float]] | None:
        """The motor's speeds and efforts at a joint that it moves alone, at the reference."""
        if self.ratios.jacobian.shape[1:] != (1, 1) or not self.motors[0].torque_speed_curve:
            return None
        ratio = abs(float(self.ratios.inverse[self.reference, 0, 0]))
        pairs = self.motors[0].torque_speed_curve
        return [[speed / ratio, effort * ratio] for speed, effort in pairs]

    @property
    def has_gains_of_joints(self) -> bool:
        """Whether a gain for each motor loses a part of the wanted gains of the joints."""
        return any(np.any(self.lost[f'actuator_{name}'] > _LEAST_SHARE) for name in GAINS)


def list_card_losses(card: Card) -> Iterator[str]:
    """Yield sentences about what one number for each joint and motor does not have."""
    if card.remark:
        yield card.remark
    if card.ungiven:
        yield f'{" and ".join(card.ungiven)} has no wanted gains: they are 0'
    is_coupled = (np.count_nonzero(card.ratios.jacobian[card.reference], axis=0) > 1).any()
    if is_coupled and np.isfinite(card.per_joint['effort']).all():
        yield 'the effort limits of its joints are for one joint at a time, not simultaneous'
    shares = {name: float(share.max()) for name, share in card.lost.items()}
    if lost := {name: share for name, share in shares.items() if share > _LEAST_SHARE}:
        names = ', '.join(f'{share:.1%} of {name}' for name, share in lost.items())
        yield f'one number for each joint or motor leaves out the coupling terms: {names}'


def make_card(
    robot: RobotTransmissions,
    binding: Binding,
    motors: Mapping[str, CardMotor],
    wanted: JointGains,
) -> Card:
    """
    Return the card of a transmission over the positions that its joints' limits allow.

    :param motors: By actuator.
    :param wanted: Gains of joints.
    :raises TransmissionError: If the transmission does not command its actuators, or maps no
        velocities at any of the positions.
    :raises UsageError: If gains are given on both sides.
    """
    transmission, spec = binding.transmission, binding.spec
    driving = tuple(motors[actuator.name] for actuator in spec.actuators)
    joints = tuple(
        (joint.name, report_joint_unit(robot.description, joint.name)) for joint in spec.joints
    )
    if not all(binding.owned):
        raise TransmissionError('another transmission commands its actuators')
    position, reference, ratios = _sample_positions(robot, binding)
    n, m = ratios.jacobian.shape[1:]
    limits = np.array([(motor.velocity, motor.effort) for motor in driving]).T
    velocity, effort = report_joint_limits(ratios, *limits)
    remark = ''
    if n != m:
        remark = f'{m} motors move {n} joints: inertia and friction stay at the motors'
    at_joints = GainRatios(np.full_like(ratios.jacobian, np.nan)) if remark else ratios
    forms = {
        name: at_joints.map_to_joints(_make_diagonal(driving, number))
        for name, number in (('armature', 'rotor_inertia'), ('damping', 'viscous_friction'))
    }
    at_motors = {}
    for gain in GAINS:
        forms[gain], at_motors[f'actuator_{gain}'] = _map_gains(
            spec, driving, gain, wanted, ratios, at_joints
        )
    frictions = np.array([motor.coulomb_friction for motor in driving])
    per_joint = {
        'velocity': velocity,
        'effort': effort,
        'friction': np.abs(at_joints.inverse).swapaxes(-2, -1) @ frictions,
        **{name: np.einsum('kii->ki', form) for name, form in forms.items()},
    }
    named = [name for name, _ in joints if wanted.get(name)]
    cranks = getattr(transmission, 'driven_joints', ())
    return Card(
        name=spec.name,
        motors=driving,
        joints=joints,
        position=position,
        reference=reference,
        ratios=ratios,
        per_joint=per_joint,
        matrices={**forms, **at_motors},
        rest=transmission.actuator_to_joint('position', np.zeros(m))
        if transmission.is_constant
        else None,
        ungiven=tuple(name for name, _ in joints if named and name not in named),
        cranks=tuple(zip(driving, cranks, transmission.actuator_reduction, strict=False)),
        remark=remark,
    )


def _map_gains(
    spec: TransmissionSpec,
    motors: Sequence[CardMotor],
    gain: str,
    wanted: JointGains,
    ratios: GainRatios,
    at_joints: GainRatios,
) -> tuple[Array, Array]:
    """
    Return a gain as forms at the joints and at the motors, as given on one side.

    :param at_joints: ``ratios``, NaN if the gains of motors do not follow for the joints.
    :raises UsageError: If it is given on both sides.
    """
    k, n, m = ratios.jacobian.shape
    of_motors = _make_diagonal(motors, gain)
    given = [wanted.get(joint.name, {}).get(gain, np.nan) for joint in spec.joints]
    if not np.isfinite(given).any():
        at_motors = np.broadcast_to(of_motors, (k, m, m))
        return at_joints.map_to_joints(at_motors), at_motors
    if np.isfinite(np.diagonal(of_motors)).any():
        raise UsageError(
            f"{gain} of transmission '{spec.name}': expected gains of its motors or of its "
            'joints, found both'
        )
    form = np.diag(np.nan_to_num(given))
    return np.broadcast_to(form, (k, n, n)), ratios.map_to_actuators(form)


def _make_diagonal(motors: Sequence[CardMotor], number: str) -> Array:
    """Return ``diag`` of a number of the motors, NaN if one of them is unknown."""
    values = np.array([getattr(motor, number) for motor in motors])
    return np.diag(values) if np.isfinite(values).all() else np.full((len(motors),) * 2, np.nan)


def _sample_positions(
    robot: RobotTransmissions, binding: Binding
) -> tuple[Array, int, GainRatios]:
    """Return positions of the joints, the index of the reference, and the ratios there."""
    transmission, m = binding.transmission, binding.transmission.n_actuators
    lower, upper = read_reported_limits(robot, binding)[:2]
    zero = np.clip(0.0, lower, np.maximum(lower, upper))[np.newaxis]
    q, a = zero, np.zeros((1, m))
    with np.errstate(all='ignore'):
        if not transmission.is_constant:
            start = transmission.joint_to_actuator('position', zero)
            a = np.vstack([start, sample_mapped_positions(transmission, lower, upper)])
            a = a[np.isfinite(a).all(axis=-1)]
            q = transmission.actuator_to_joint('position', a)[:, : transmission.n_joints]
        jacobian = compute_gain_ratios(transmission, a).jacobian
    is_known = np.isfinite(jacobian).all(axis=(-2, -1)) & np.isfinite(q).all(axis=-1)
    if not is_known.any():
        raise TransmissionError('it maps no velocities within the limits of its joints')
    # Without positions that differ by rounding only.
    _, places = np.unique(q[is_known].round(_DECIMALS), axis=0, return_index=True)
    q, jacobian = q[is_known][places], jacobian[is_known][places]
    return q, int(np.argmin(np.linalg.norm(q - zero, axis=-1))), GainRatios(jacobian)
