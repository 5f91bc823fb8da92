# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge convert``: convert recordings between actuator and joint space."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
import os
import sqlite3

from transmission_bridge.bridge import OfflineBridge
from transmission_bridge.errors import counted, shown
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR
from transmission_bridge.signals import clean_end
from transmission_bridge.tools.bags.files import is_folder, METADATA, open_source, read_unusual
from transmission_bridge.tools.bags.model import UnusableFileError
from transmission_bridge.tools.cli import Console, Exit, printable, progress, UsageError
from transmission_bridge.tools.convert.run import (
    Conversion,
    DESCRIPTION_TOPIC,
    find_description,
    NothingWrittenError,
    plan_topics,
    topic_pairs,
)
from transmission_bridge.tools.files import check_output, safe_output
from transmission_bridge.tools.robot import bridge_setup, NAMES_HINT, read_robot_file
from transmission_bridge.transmissions import RobotTransmissions


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    path, output, to = options.input, options.output, options.to
    sides = [text.split(':') for text in options.topic]
    setup = bridge_setup(options, [side[0 if to == 'joint' else -1] for side in sides])
    pairs = topic_pairs(options.topic, to, setup.options.actuator_state_topics)
    if os.path.exists(path) and os.path.exists(output) and os.path.samefile(path, output):
        raise UsageError('OUT and IN are the same file: name another OUT')
    marker = METADATA if is_folder(output) else ''
    check_output(output, force=options.force, marker=marker)
    try:
        with _raise_usage_errors(f"read '{path}'", OSError, ValueError):
            opened = open_source(path, next(iter(pairs)))
        with closing(opened) as source:
            own = None if options.file else find_description(path, source)
            data = read_robot_file(options.file) if own is None else own
            robot, notes = setup.robot(data, is_recorded=True)
            file = f"'{options.file or path}'"
            if not robot.joint_names:
                raise UsageError(f'{file} has no joint that can be converted')
            for note in notes:
                _print_note(console, note)
            if count := sum(finding.severity == 'error' for finding in robot.findings):
                note = f"{file} has errors ({count}), joints are missing: see 'check'"
                _print_note(console, note)
            direction = ACTUATOR_TO_JOINT if to == 'joint' else JOINT_TO_ACTUATOR
            bridges = {
                target: OfflineBridge(robot, direction, read_unusual, setup.options, target)
                for target in dict.fromkeys(pairs.values())
            }
            for bridge in bridges.values() if to == 'joint' else ():
                bridge.plan.names_hint = NAMES_HINT
            plan = plan_topics(path, source.topics, pairs, keep=options.keep)
            done = Conversion(bridges, plan, own, options.keep, options.keep_readable)
            with (
                suppress(NothingWrittenError),
                clean_end(),
                progress(console.err, 'converting') as show,
                _raise_usage_errors(f"write '{output}'", OSError, OverflowError, sqlite3.Error),
                safe_output(output, force=options.force, marker=marker) as made,
            ):
                done.write(source, made, options.storage, show)
    except UnusableFileError as error:
        _complain(console, f"'{path}' cannot be used: {error}")
        return Exit.ERRORS
    if done.is_good:
        targets = ', '.join(f'{source} to {target}' for source, target in pairs.items())
        console.out.line(
            printable(f'{counted(done.converted, "message")} converted ({targets}) in {output}')
        )
    if done.is_good or not done.damage:
        _print_notes(done, console)
    if done.damage:
        _complain(console, f"'{path}' could be read only in part, {done.damage_in_full}")
        if not options.keep_readable:
            _complain(console, 'nothing was written; --keep-readable writes the readable part')
    elif not done.is_good:
        _complain(console, _explain_nothing(done, pairs, robot, to))
    return Exit.OK if done.is_good and not done.damage else Exit.ERRORS


@contextmanager
def _raise_usage_errors(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """Raise errors of these kinds as :class:`UsageError`."""
    try:
        yield
    except kinds as error:
        raise UsageError(f'cannot {what}: {getattr(error, "strerror", None) or error}') from None


def _print_notes(done: Conversion, console: Console) -> None:
    for bridge in done.bridges.values():
        for (source, reason), count in bridge.refused.items():
            sentence = bridge.sentences[source, reason]
            _print_note(
                console, f'{counted(count, "message")} of {source} rejected ({reason}): {sentence}'
            )
        if bridge.states.unknown_names:
            names = ', '.join(bridge.states.unknown_names)
            _print_note(console, f'unknown names were left out: {names}')
        for (name, reason), count in bridge.states.report.counts.items():
            _print_note(console, f'{counted(count, "value")} of {name} unknown: {reason}')
    if done.has_others:
        _print_note(
            console,
            f'{DESCRIPTION_TOPIC} changes in the recording; the first one was used throughout',
        )


def _explain_nothing(
    done: Conversion, topics: Iterable[str], robot: RobotTransmissions, to: str
) -> str:
    """Return why nothing could be converted."""
    bridges = done.bridges.values()
    others = robot.joint_names if to == 'joint' else robot.actuator_names
    unknown = {name for bridge in bridges for name in bridge.states.unknown_names}
    if any(bridge.refused for bridge in bridges):
        reason = 'no message could be used'
        if not unknown.isdisjoint(map(shown, others)):
            other = {'joint': '--to actuator', 'actuator': '--to joint'}[to]
            reason += f'; they already name {to}s: {other} converts those'
    elif any(any(bridge.states.list_givers()) for bridge in bridges):
        reason = f'the numbers in the messages determine no {to}'
    else:
        reason = f'there is no message with numbers on {", ".join(topics)}'
    return f'nothing was converted and no file was written: {reason}'


def _print_note(console: Console, sentence: str) -> None:
    console.err.line(printable(sentence))


def _complain(console: Console, sentence: str) -> None:
    console.err.line(printable(f'transmission_bridge: {sentence}'))
