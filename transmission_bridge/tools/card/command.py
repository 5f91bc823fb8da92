# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge card``: cards as tables, JSON, a snippet of MJCF, and for Isaac Lab.

Programs of users read the keys of the JSON, and simulators the elements of MJCF and the options of
Isaac Lab, with their names and order. Sentences, comments and tables are free. Functions keep no
state.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
import math
import re
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import TransmissionError
from transmission_bridge.tools.card.cards import (
    Card,
    CardMotor,
    GAINS,
    list_card_losses,
    make_card,
    read_card_motors,
)
from transmission_bridge.tools.cli import (
    align_rows,
    Console,
    Exit,
    printable,
    ToolResult,
    UsageError,
)
from transmission_bridge.tools.limit_report import describe_range, format_range
from transmission_bridge.tools.robot import robot_of_command
from transmission_bridge.types import Array


def _find_range(values: Array) -> Any:
    """Return the ends of values over all positions, for JSON; ``None`` if they are unknown."""
    ends = (float(values.min()), float(values.max()))
    return None if np.isnan(ends[0]) else describe_range(ends)


def describe_card(card: Card) -> dict[str, Any]:
    """
    Return the JSON of a card.

    A number is ``[least, greatest]`` if it depends on position, ``null`` if it does not follow or
    is unlimited. Matrices and ``position`` are those of the reference.
    """
    at = card.reference
    joints, actuators, cranks = [], [], []
    inverse = card.ratios.per_joint
    for index, (name, unit) in enumerate(card.joints):
        numbers = {key: _find_range(x[:, index]) for key, x in card.per_joint.items()}
        position = float(card.position[at, index])
        joints.append({'name': name, 'unit': unit, 'position': position, **numbers})
    for index, motor in enumerate(card.motors):
        ratios = zip(card.joints, inverse[:, index].T, strict=True)
        actuators.append(
            {
                'name': motor.name,
                'ratio': {name: _find_range(ratio) for (name, _), ratio in ratios},
                **{
                    gain: _find_range(card.matrices[f'actuator_{gain}'][:, index, index])
                    for gain in GAINS
                },
                'current': _find_range(np.array(motor.effort / motor.torque_constant)),
            }
        )
    for motor, joint, ratio in card.cranks:
        crank = {'ratio': ratio, **motor.reflect(ratio)}
        numbers = {key: _find_range(np.array(x)) for key, x in crank.items()}
        cranks.append({'actuator': motor.name, 'joint': joint, **numbers})
    return {
        'name': card.name,
        'joints': joints,
        'actuators': actuators,
        'jacobian': card.ratios.jacobian[at].tolist(),
        'matrices': {
            key: form[at].tolist() if np.isfinite(form[at]).all() else None
            for key, form in card.matrices.items()
        },
        'lost': {key: _find_range(share) for key, share in card.lost.items()},
        'torque_speed_curve': card.curve,
        'cranks': cranks,
        'remark': card.remark,
    }


def list_card_lines(cards: Sequence[Card], left_out: Mapping[str, str]) -> Iterator[str]:
    """Yield the tables: joints, motors, cranks, and sentences about what is lost."""
    documents = [describe_card(card) for card in cards]
    yield 'joints, over the positions that their limits allow [SI: kg m², N m, rad or kg, N, m]'
    yield from _make_table(member for document in documents for member in document['joints'])
    if all(
        np.isnan(x).all() or np.isinf(x).all() for card in cards for x in card.per_joint.values()
    ):
        yield 'no numbers: give numbers of motors by --motors, or as <param>s of <actuator>s'
    yield ''
    yield 'their actuators, at the motor; RATIO is motor per joint'
    yield from _make_table(
        {**member, 'joint': joint, 'ratio': ratio}
        for document in documents
        for member in document['actuators']
        for joint, ratio in member['ratio'].items()
    )
    if cranks := [member for document in documents for member in document['cranks']]:
        yield ''
        yield 'cranks: a model with its cranks has armature and friction at these joints only'
        yield from _make_table({'name': crank['joint'], **crank} for crank in cranks)
    sentences = [
        f"transmission '{card.name}': {sentence}"
        for card in cards
        for sentence in list_card_losses(card)
    ]
    sentences += [f"transmission '{name}' has no card: {why}" for name, why in left_out.items()]
    yield from ['', *map(printable, sentences)] if sentences else []


#: Columns of tables, which are keys of the JSON, those with text first.
_TEXTS = ('name', 'joint')
_COLUMNS = (
    'ratio', 'velocity', 'effort', 'armature', 'damping', 'friction', 'kp', 'kd', 'current'
)  # fmt: skip


def _make_table(members: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a table of the columns that have a number; the first one has no title."""
    rows = list(members)
    texts = [key for key in _TEXTS if any(key in row for row in rows)]
    columns = [key for key in _COLUMNS if any(row.get(key) is not None for row in rows)]
    titles = ('', *map(str.upper, [*texts[1:], *columns]))
    cells = [
        (*(row[key] for key in texts), *(format_range(row.get(key)) for key in columns))
        for row in rows
    ]
    return align_rows([titles, *cells], right=range(len(texts), len(titles)))


# -- simulators ----------------------------------------------------------------------------------

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
    texts = list(list_card_losses(card)) if card.rest is None and not card.cranks else []
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


#: Numbers of a joint that have another name at a motor; others are fields of ``CardMotor``.
_AS_OF_MOTOR = {
    'armature': 'rotor_inertia',
    'damping': 'viscous_friction',
    'friction': 'coulomb_friction',
}


def _take_joint(card: Card, index: int) -> CardMotor:
    """Return a joint as a motor that moves it directly."""
    numbers: dict[str, Any] = {
        _AS_OF_MOTOR.get(key, key): float(x[card.reference, index])
        for key, x in card.per_joint.items()
    }
    return CardMotor(card.joints[index][0], **numbers)


def _take_gains(card: Card, index: int) -> CardMotor:
    """Return a motor with the gains that follow for it."""
    gains = (card.matrices[f'actuator_{key}'][card.reference] for key in GAINS)
    kp, kd = (float(gain[index, index]) for gain in gains)
    return replace(card.motors[index], kp=kp, kd=kd)


def _list_drive(motor: CardMotor, joint: str, ratio: float) -> Iterator[tuple[str, str]]:
    """Yield the default class of a joint that a motor turns directly, and the actuator."""
    if passive := _join_passive(motor, ratio):
        yield 'default', f'<default class={quoteattr(joint)}><joint{passive}/></default>'
    yield 'actuator', _make_actuator(motor, joint=joint, gear=ratio)


def _join_passive(motor: CardMotor, ratio: float) -> str:
    at = motor.reflect(ratio)
    return _join(armature=at['armature'], damping=at['damping'], frictionloss=at['friction'])


def _make_actuator(motor: CardMotor, **place: str | float) -> str:
    """
    Return an actuator: of the position if it has ``kp``, of the velocity with ``kd`` alone.

    :param place: What it moves, as attributes of MJCF.
    """
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
        yield from (f'    # {printable(sentence)}' for sentence in list_card_losses(card))
    yield '}'


#: Options of Isaac Lab and numbers of a card, keys of ``Card.per_joint``; without gains those of
#: the USD are used.
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


# -- command -------------------------------------------------------------------------------------


def run(options: argparse.Namespace, console: Console) -> ToolResult:
    """
    Run the command.

    :raises UsageError: If a number of a motor cannot be used, or two formats are wanted.
    """
    formats = ('json', 'mjcf', 'isaaclab')
    if len(wanted := [f'--{name}' for name in formats if getattr(options, name)]) > 1:
        raise UsageError(f'expected one format, found {" and ".join(wanted)}')
    robot = robot_of_command(options, console)
    motors, gains = read_card_motors(robot, options.file, options.motors)
    cards: list[Card] = []
    left_out = dict.fromkeys((each.name for each in robot.refused), "it is rejected, see 'check'")
    for binding in robot.bindings:
        try:
            cards.append(make_card(robot, binding, motors, gains))
        except TransmissionError as error:
            left_out[binding.spec.name] = error.message
    if wanted not in ([], ['--json']):
        for name, why in left_out.items():
            console.err.line(f"transmission '{printable(name)}' has no card: {printable(why)}")
    if options.mjcf:
        lines = write_mjcf(robot.description, cards)
    elif options.isaaclab:
        lines = write_isaac_lab(cards)
    else:
        lines = list_card_lines(cards, left_out)
    document = {'transmissions': [describe_card(card) for card in cards], 'left_out': left_out}
    return ToolResult(lines, document, Exit.ERRORS if left_out else Exit.OK)
