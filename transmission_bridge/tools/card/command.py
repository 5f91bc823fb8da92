# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge card``: numbers of joints from those of motors, in tables and JSON."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.tools.card.cards import Card, list_losses, make_card
from transmission_bridge.tools.card.motors import GAINS, read_motors
from transmission_bridge.tools.card.simulators import write_isaac_lab, write_mjcf
from transmission_bridge.tools.cli import aligned, Console, Exit, printable, Result, UsageError
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


def list_lines(cards: Sequence[Card], left_out: Mapping[str, str]) -> Iterator[str]:
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
        for sentence in list_losses(card)
    ]
    sentences += [f"transmission '{name}' has no card: {why}" for name, why in left_out.items()]
    yield from ['', *map(printable, sentences)] if sentences else []


#: Columns of tables, those with text first.
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
    return aligned([titles, *cells], right=range(len(texts), len(titles)))


def run(options: argparse.Namespace, console: Console) -> Result:
    """
    Run the command.

    :raises UsageError: If a number of a motor cannot be used, or two formats are wanted.
    """
    formats = ('json', 'mjcf', 'isaaclab')
    if len(wanted := [f'--{name}' for name in formats if getattr(options, name)]) > 1:
        raise UsageError(f'expected one format, found {" and ".join(wanted)}')
    robot = robot_of_command(options, console)
    motors, gains = read_motors(robot, options.file, options.motors)
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
        lines = list_lines(cards, left_out)
    document = {'transmissions': [describe_card(card) for card in cards], 'left_out': left_out}
    return Result(lines, document, Exit.ERRORS if left_out else Exit.OK)
