# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge convert``: recordings from actuator space to joint space and back."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import os

from transmission_bridge.bridge.turns import TurnCounter
from transmission_bridge.errors import shown
from transmission_bridge.tools.bags.files import is_folder, METADATA_FILE, open_source
from transmission_bridge.tools.bags.model import DamageError, Source, UnusableFileError
from transmission_bridge.tools.cli import clean_end, Console, Exit, printable, progress, UsageError
from transmission_bridge.tools.convert.run import (
    convert_recording,
    Converted,
    DamagedInputError,
    DESCRIPTION_TOPIC,
    find_description,
    MessageConverter,
    NothingConvertedError,
    Output,
    topic_pairs,
    TopicPlan,
)
from transmission_bridge.tools.files import check_output
from transmission_bridge.tools.robot import bridge_setup, NAMES_HINT, read_robot_file
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    JOINT_TO_ACTUATOR,
)

__all__ = ['run']

_DIRECTIONS: dict[str, Direction] = {'joint': ACTUATOR_TO_JOINT, 'actuator': JOINT_TO_ACTUATOR}


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    path, output = options.input, Output(
        options.output, options.storage, options.force, options.keep_readable
    )  # fmt: skip
    sides = [text.split(':') for text in options.topic]
    setup = bridge_setup(options, [side[0 if options.to == 'joint' else -1] for side in sides])
    pairs = topic_pairs(options.topic, options.to, setup.options.actuator_state_topics)
    plan = TopicPlan(path, pairs, keep=options.keep)
    _check_paths(path, output)
    try:
        own = None if options.file else _own_description(path, plan)
        data = read_robot_file(options.file) if own is None else own
        robot, notes = setup.robot(data, is_recorded=True)
        for note in notes:
            _note(console, note)
        _note_description(robot, options.file or path, console)
        converter = MessageConverter(
            robot, _DIRECTIONS[options.to], plan, setup.options, NAMES_HINT
        )
        source = _open(path, plan)
        try:
            with clean_end(), progress(console.err, 'converting') as show:
                done = convert_recording(
                    source, output, converter, plan, description=own, show=show
                )
        finally:
            source.close()
    except (DamagedInputError, DamageError, UnusableFileError) as error:
        _complain(console, f"'{path}' cannot be used: {error}")
        if isinstance(error, DamagedInputError) and not output.keep_readable:
            _complain(console, 'nothing was written; --keep-readable writes what can be read')
        return Exit.ERRORS
    except NothingConvertedError as nothing:
        _tell_notes(nothing.done, console)
        _complain(console, _why_nothing(nothing.done, plan, robot, options.to))
        return Exit.ERRORS
    _tell(done, plan, output, console)
    if done.damage:
        _complain(console, f"'{path}' could be read only in part, {done.damage_in_full}")
        return Exit.ERRORS
    return Exit.OK


def _check_paths(path: str, output: Output) -> None:
    marker = METADATA_FILE if is_folder(output.path) else ''
    both = os.path.exists(path) and os.path.exists(output.path)
    if both and os.path.samefile(path, output.path):
        raise UsageError('OUT is IN; a recording is not converted in place')
    check_output(output.path, force=output.force, marker=marker)


def _open(path: str, plan: TopicPlan) -> Source:
    """
    Open the recording.

    :raises UsageError: If it cannot be read.
    :raises UnusableFileError: If it is not a recording.
    """
    try:
        return open_source(path, next(iter(plan.pairs)))
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise UsageError(f"cannot read '{path}': {reason}") from None


def _own_description(path: str, plan: TopicPlan) -> bytes:
    """
    Return the description in the recording.

    :raises UsageError: If there is none.
    """
    source = _open(path, plan)
    try:
        found = find_description(source)
    finally:
        source.close()
    if found is None:
        raise UsageError(
            f"'{path}' has no {DESCRIPTION_TOPIC}: give the robot as well, convert FILE IN OUT"
        )
    return found


def _note_description(robot: RobotTransmissions, file: str, console: Console) -> None:
    if not robot.joint_names:
        raise UsageError(f"'{file}' has no joint that can be converted")
    count = sum(finding.severity == 'error' for finding in robot.findings)
    if count:
        _note(
            console,
            f"'{file}' has errors ({count}), joints are missing: see 'transmission_bridge check'",
        )


def _tell(done: Converted, plan: TopicPlan, output: Output, console: Console) -> None:
    pairs = ', '.join(f'{source} to {target}' for source, target in plan.pairs.items())
    console.out.line(printable(f'{done.converted} messages converted ({pairs}) in {output.path}'))
    _tell_notes(done, console)


def _tell_notes(done: Converted, console: Console) -> None:
    for bridge in done.bridges.values():
        for (source, reason), count in bridge.refused.items():
            sentence = bridge.sentences[source, reason]
            _note(console, f'{count} messages of {source} refused ({reason}): {sentence}')
        if bridge.path.merged.unknown_names:
            names = ', '.join(bridge.path.merged.unknown_names)
            _note(console, f'names that the robot does not have were left out: {names}')
        for sentence in _open_turns(bridge.path.merged.turns):
            _note(console, sentence)
        for (name, reason), count in bridge.path.report.counts.items():
            _note(console, f'{count} values of {name} are unknown: {reason}')
    if done.other_descriptions:
        _note(
            console,
            f'{DESCRIPTION_TOPIC} changes in the recording; the first one was used throughout',
        )


def _open_turns(turns: TurnCounter | None) -> Iterator[str]:
    """Yield a sentence for each encoder of which it was not known in which turn it was."""
    if turns is None:
        return
    still = {name: str(each) for each in turns.open_turns() for name in each.actuators}
    for name, count in turns.waited.items():
        if count:
            why = still.get(name, 'later ones left one turn within the limits')
            yield (
                f'{count} positions of {name} are unknown, because its turn was ({why}); '
                'unknown_turn: first in a parameter file takes the first reading as it is'
            )


def _why_nothing(done: Converted, plan: TopicPlan, robot: RobotTransmissions, to: str) -> str:
    """Return why nothing could be converted."""
    bridges = done.bridges.values()
    others = robot.joint_names if to == 'joint' else robot.actuator_names
    unknown = {name for bridge in bridges for name in bridge.path.merged.unknown_names}
    if any(bridge.refused for bridge in bridges):
        reason = 'no message could be used'
        if not unknown.isdisjoint(map(shown, others)):
            other = {'joint': '--to actuator', 'actuator': '--to joint'}[to]
            reason += f'; they name {to}s already: {other} converts those'
    elif any(any(bridge.path.merged.given) for bridge in bridges):
        reason = f'no {to} is known from the numbers in the messages'
    else:
        reason = f'there is no message with numbers on {", ".join(plan.pairs)}'
    return f'nothing was converted, and nothing is written: {reason}'


def _note(console: Console, sentence: str) -> None:
    console.err.line(printable(sentence))


def _complain(console: Console, sentence: str) -> None:
    console.err.line(printable(f'transmission_bridge: {sentence}'))
