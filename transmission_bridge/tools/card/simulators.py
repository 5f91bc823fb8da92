# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Cards as a snippet of MJCF for MuJoCo, and as configuration of Isaac Lab."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
import math
import re
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import printable
from transmission_bridge.tools.card.cards import Card, list_losses
from transmission_bridge.tools.card.motors import GAINS, Motor

#: Rows of a lookup table of Isaac Lab, at most.
_LOOKUP = 41


def write_mjcf(robot: RobotDescription, cards: Sequence[Card]) -> Iterator[str]:
    """
    Yield an MJCF file to include; joints take its default class of their name.

    The length of an actuator's transmission is the position of its motor without the offset, so
    gains and limits are those of the motor. Motors that are coupled at constant ratios are fixed
    tendons, whose ``armature``, ``damping`` and ``frictionloss`` lose nothing. If coupled ratios
    vary, actuators are at the joints, with the numbers of the reference. Wanted gains of joints
    that gains of motors do not have are also at the joints.

    Source: MuJoCo's XML reference. Old releases of MuJoCo 3 have no ``armature`` of tendons.
    """
    sections: dict[str, list[str]] = {
        name: [] for name in ('default', 'tendon', 'actuator', 'equality')
    }
    for card in cards:
        sections['actuator'] += _list_comments(card)
        for section, line in _list_elements(card):
            sections[section].append(line)
    driven = {joint.name for spec in robot.transmissions for joint in spec.joints}
    for joint in robot.joints:
        if joint.mimic is not None and joint.name not in driven:
            ends = (joint.name, joint.mimic.joint, joint.mimic.offset, joint.mimic.multiplier)
            sections['equality'].append(_make_equality(*ends))
    yield f'<mujoco model={quoteattr(robot.name)}>'
    for name, lines in sections.items():
        if lines:
            yield from (f'  <{name}>', *(f'    {line}' for line in lines), f'  </{name}>')
    yield '</mujoco>'


def _list_comments(card: Card) -> Iterator[str]:
    """Yield comments about what the elements of a card do not have."""
    texts = list(list_losses(card)) if card.rest is None and not card.cranks else []
    if card.rest is not None and card.has_gains_of_joints:
        efforts = [f'{motor.name} {motor.effort:.6g}' for motor in card.motors]
        texts = [f'gains are at the joints; effort limits of the motors: {", ".join(efforts)}']
        texts += [f'{name} has no wanted gains' for name in card.ungiven]
    if card.remark:
        texts = [card.remark]
    if card.cranks:
        texts = ['armature is at the cranks; the loops need connect or weld']
    elif len(card.position) > 1:
        at = zip(card.joints, card.position[card.reference], strict=True)
        places = ', '.join(f'{name} at {round(value, 9) + 0.0:.6g}' for (name, _), value in at)
        texts.append(f'numbers depend on position, these hold with {places}')
    for text in texts:
        text = f'{card.name}: {text}'.replace('--', '- -')  # two hyphens would end the comment
        yield f'<!-- {text} -->'


def _list_elements(card: Card) -> Iterator[tuple[str, str]]:
    """Yield sections and elements of a card."""
    n, m = card.ratios.jacobian.shape[1:]
    inverse = card.ratios.inverse[card.reference]
    if card.cranks:
        for index, (_, joint, ratio) in enumerate(card.cranks):
            yield from _list_drive(_take_gains(card, index), joint, ratio)
    elif card.rest is not None and m == 1:
        jacobian = card.ratios.jacobian[0, :, 0]
        lead = int(np.abs(jacobian).argmax())
        name = card.joints[lead][0]
        yield from _list_drive(_take_gains(card, 0), name, 1.0 / float(jacobian[lead]))
        for (other, _), ratio, rest in zip(card.joints, jacobian, card.rest, strict=True):
            if other != name:
                factor = float(ratio / jacobian[lead])
                offset = float(rest - factor * card.rest[lead])
                yield 'equality', _make_equality(other, name, offset, factor)
    elif n == m and card.rest is not None:
        for index, row in enumerate(inverse):
            motor = _take_gains(card, index)
            terms = ''.join(
                f'<joint joint={quoteattr(name)} coef="{value:.9g}"/>'
                for (name, _), value in zip(card.joints, row, strict=True)
                if value
            )
            passive = _join(name=motor.name) + _join_passive(motor, 1.0)
            yield 'tendon', f'<fixed{passive}>{terms}</fixed>'
            if not card.has_gains_of_joints:
                yield 'actuator', _make_actuator(motor, tendon=motor.name)
        for index, (name, _) in enumerate(card.joints if card.has_gains_of_joints else ()):
            yield 'actuator', _make_actuator(_take_joint(card, index), joint=name)
    elif n == m:
        for index, (name, _) in enumerate(card.joints):
            yield from _list_drive(_take_joint(card, index), name, 1.0)


#: Numbers of a joint that have another name at a motor.
_AS_OF_MOTOR = {
    'armature': 'rotor_inertia',
    'damping': 'viscous_friction',
    'friction': 'coulomb_friction',
}


def _take_joint(card: Card, index: int) -> Motor:
    """Return a joint as a motor that moves it directly."""
    numbers: dict[str, Any] = {
        _AS_OF_MOTOR.get(key, key): float(x[card.reference, index])
        for key, x in card.per_joint.items()
    }
    return Motor(card.joints[index][0], **numbers)


def _take_gains(card: Card, index: int) -> Motor:
    """Return a motor with the gains that follow for it."""
    gains = {key: card.matrices[f'actuator_{key}'][card.reference] for key in GAINS}
    own = {key: float(gain[index, index]) for key, gain in gains.items()}
    return replace(card.motors[index], **own)


def _list_drive(motor: Motor, joint: str, ratio: float) -> Iterator[tuple[str, str]]:
    """Yield the default class of a joint that a motor turns directly, and the actuator."""
    if passive := _join_passive(motor, ratio):
        yield 'default', f'<default class={quoteattr(joint)}><joint{passive}/></default>'
    yield 'actuator', _make_actuator(motor, joint=joint, gear=ratio)


def _join_passive(motor: Motor, ratio: float) -> str:
    at = motor.reflect(ratio)
    return _join(armature=at['armature'], damping=at['damping'], frictionloss=at['friction'])


def _make_actuator(motor: Motor, **place: str | float) -> str:
    """Return an actuator: of the position if it has ``kp``, of the velocity with ``kd`` alone."""
    kp, kv = _join(kp=motor.kp or math.nan), _join(kv=motor.kd or math.nan)
    tag = 'position' if kp else 'velocity' if kv else 'motor'
    effort = ''
    if math.isfinite(motor.effort):
        effort = f' forcerange="{-motor.effort:.9g} {motor.effort:.9g}"'
    return f'<{tag}{_join(name=motor.name, **place)}{kp}{kv}{effort}/>'


def _make_equality(joint: str, leader: str, offset: float, ratio: float) -> str:
    names = _join(joint1=joint, joint2=leader)
    return f'<joint{names} polycoef="{offset:.9g} {ratio:.9g} 0 0 0"/>'


def _join(**attributes: str | float) -> str:
    """Return attributes, without numbers that are unknown or unlimited."""
    return ''.join(
        f' {name}={quoteattr(value if isinstance(value, str) else f"{value:.9g}")}'
        for name, value in attributes.items()
        if isinstance(value, str) or math.isfinite(value)
    )


def write_isaac_lab(cards: Sequence[Card]) -> Iterator[str]:
    """
    Yield Python with the configuration of actuators by transmission.

    A joint with a motor of its own whose ratio varies becomes ``RemotizedPDActuatorCfg`` with a
    table of angle, ratio (motor per joint) and largest effort, and one with a
    ``torque_speed_curve`` ``DCMotorCfg``. All others become
    ``ImplicitActuatorCfg`` with the numbers of the reference.

    Source: ``isaaclab.actuators.actuator_cfg``, version 2.
    """
    yield 'from isaaclab.actuators import DCMotorCfg, ImplicitActuatorCfg, RemotizedPDActuatorCfg'
    yield ''
    yield 'ACTUATORS = {'
    for card in cards:
        effort, varies = card.per_joint['effort'], len(card.position) > 1
        curve = None if varies else card.curve
        is_alone = card.ratios.jacobian.shape[1:] == (1, 1)
        is_table = is_alone and varies and bool(np.isfinite(effort).all())
        kind = 'RemotizedPDActuatorCfg' if is_table else 'ImplicitActuatorCfg'
        kind = 'DCMotorCfg' if curve else kind
        yield f'    {card.name!r}: {kind}('
        yield f'        joint_names_expr={[re.escape(name) for name, _ in card.joints]!r},'
        for option, number in _OPTIONS.items():
            values = _select_numbers(card, number)
            # Without a limit of its own: the table limits the effort.
            if (values or number in GAINS) and not (is_table and number == 'effort'):
                name = option.removesuffix('_sim') if curve else option
                yield f'        {name}={values or None!r},'
        if curve:
            # The line through the two fastest points, which the class continues to zero speed.
            (slow, high), (fast, low) = ([0.0, curve[0][1]], *curve)[-2:]
            yield f'        saturation_effort={high + slow * (high - low) / (fast - slow):.9g},'
        for number in ('friction', 'damping'):
            if values := _select_numbers(card, number):
                yield f'        # {number} of the motors at the joints: {values!r}'
        if is_table:
            yield '        joint_parameter_lookup=['
            rows = np.stack([card.position[:, 0], card.ratios.inverse[:, 0, 0], effort[:, 0]])
            chosen = np.linspace(0, len(card.position) - 1, min(_LOOKUP, len(card.position)))
            for row in rows.T[chosen.round().astype(int)].tolist():
                yield f'            [{", ".join(f"{value:.9g}" for value in row)}],'
            yield '        ],'
        yield '    ),'
        # A line break in a name must not end the comment.
        yield from (f'    # {printable(sentence)}' for sentence in list_losses(card))
    yield '}'


#: Options of Isaac Lab and numbers of a card; without gains those of the USD are used.
_OPTIONS = {
    'effort_limit_sim': 'effort',
    'velocity_limit_sim': 'velocity',
    'stiffness': 'kp',
    'damping': 'kd',
    'armature': 'armature',
}


def _select_numbers(card: Card, number: str) -> Mapping[str, float]:
    """Return a number of each joint at the reference, if it is known and finite."""
    values = card.per_joint[number][card.reference].tolist()
    pairs = zip(card.joints, values, strict=True)
    return {
        re.escape(name): float(f'{value:.9g}')
        for (name, _), value in pairs
        if math.isfinite(value)
    }
