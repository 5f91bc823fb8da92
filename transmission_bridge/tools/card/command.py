# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge card``: numbers of joints from numbers of motors."""

from __future__ import annotations

import argparse

from transmission_bridge.errors import TransmissionError
from transmission_bridge.tools.card.cards import Card, make_card
from transmission_bridge.tools.card.motors import read_motors
from transmission_bridge.tools.card.simulators import write_isaac_lab, write_mjcf
from transmission_bridge.tools.card.tables import describe_card, list_lines
from transmission_bridge.tools.cli import Console, Exit, printable, Result, UsageError
from transmission_bridge.tools.robot import robot_of_command


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
