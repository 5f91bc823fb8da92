# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What follows for joints from the numbers of their motors, through ``J = ∂q/∂a``.

With a motion ``ȧ = J^-1 q̇`` the kinetic energy of the rotors is ``½ q̇ᵀ M q̇`` with
``M = J^-T I J^-1`` and ``I`` the diagonal of rotor inertias: the reflected inertia, as in
Featherstone, *Rigid Body Dynamics Algorithms* (2008), chapter 9. Viscous friction and gains follow
by the same equation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transmission_bridge.description import TransmissionSpec
from transmission_bridge.errors import TransmissionError
from transmission_bridge.kinematics import compute_lost_share, compute_ratios, Ratios
from transmission_bridge.tools.card.motors import GAINS, JointGains, Motor
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.limit_report import compute_joint_limits, read_joint_limits
from transmission_bridge.tools.robot import joint_unit
from transmission_bridge.transmissions import Binding, RobotTransmissions
from transmission_bridge.transmissions.robot import allowed_positions
from transmission_bridge.types import Array

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
    motors: tuple[Motor, ...]
    joints: tuple[tuple[str, str], ...]
    position: Array
    reference: int
    ratios: Ratios
    per_joint: Mapping[str, Array]
    matrices: Mapping[str, Array]
    rest: Array | None
    ungiven: tuple[str, ...]
    cranks: tuple[tuple[Motor, str, float], ...]
    remark: str

    @property
    def lost(self) -> dict[str, Array]:
        """Share of each matrix beside its diagonal, shape ``(k,)``; one number each loses it."""
        return {name: compute_lost_share(form) for name, form in self.matrices.items()}

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


def list_losses(card: Card) -> Iterator[str]:
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
    robot: RobotTransmissions, binding: Binding, motors: Mapping[str, Motor], wanted: JointGains
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
        (joint.name, joint_unit(robot.description, joint.name)) for joint in spec.joints
    )
    if not all(binding.owned):
        raise TransmissionError('another transmission commands its actuators')
    position, reference, ratios = _sample_positions(robot, binding)
    n, m = ratios.jacobian.shape[1:]
    limits = np.array([(motor.velocity, motor.effort) for motor in driving]).T
    velocity, effort = compute_joint_limits(ratios, *limits)
    remark = ''
    if n != m:
        remark = f'{m} motors move {n} joints: inertia and friction stay at the motors'
    at_joints = Ratios(np.full_like(ratios.jacobian, np.nan)) if remark else ratios
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
    motors: Sequence[Motor],
    gain: str,
    wanted: JointGains,
    ratios: Ratios,
    at_joints: Ratios,
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


def _make_diagonal(motors: Sequence[Motor], number: str) -> Array:
    """Return ``diag`` of a number of the motors, NaN if one of them is unknown."""
    values = np.array([getattr(motor, number) for motor in motors])
    return np.diag(values) if np.isfinite(values).all() else np.full((len(motors),) * 2, np.nan)


def _sample_positions(robot: RobotTransmissions, binding: Binding) -> tuple[Array, int, Ratios]:
    """Return positions of the joints, the index of the reference, and the ratios there."""
    transmission, m = binding.transmission, binding.transmission.n_actuators
    lower, upper = read_joint_limits(robot, binding)[:2]
    zero = np.clip(0.0, lower, np.maximum(lower, upper))[np.newaxis]
    q, a = zero, np.zeros((1, m))
    with np.errstate(all='ignore'):
        if not transmission.is_constant:
            start = transmission.joint_to_actuator('position', zero)
            a = np.vstack([start, allowed_positions(transmission, lower, upper)])
            a = a[np.isfinite(a).all(axis=-1)]
            q = transmission.actuator_to_joint('position', a)[:, : transmission.n_joints]
        jacobian = compute_ratios(transmission, a).jacobian
    is_known = np.isfinite(jacobian).all(axis=(-2, -1)) & np.isfinite(q).all(axis=-1)
    if not is_known.any():
        raise TransmissionError('it maps no velocities within the limits of its joints')
    # Without positions that differ by rounding only.
    _, places = np.unique(q[is_known].round(_DECIMALS), axis=0, return_index=True)
    q, jacobian = q[is_known][places], jacobian[is_known][places]
    return q, int(np.argmin(np.linalg.norm(q - zero, axis=-1))), Ratios(jacobian)
