# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The robot of a command, with the numbers and options in the parameter file of its bridge.

Commands with a FILE or a parameter file use it. Users rely on the name ``-`` of standard input,
which can be read once. The caller prints the notes; :func:`robot_of_command` does that for it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
import sys
from typing import Any

from transmission_bridge.bridge import load_untuned_maps
from transmission_bridge.bridge.options import (
    BridgeOptions,
    list_parameter_names,
    PREFIX,
    split_option_pairs,
    strip_prefixes,
    warn_of_unbridged_options,
)
from transmission_bridge.bridge.states import DriverStateIndex, list_wrap_periods
from transmission_bridge.description import load_description
from transmission_bridge.description.document import MAX_BYTES, read_urdf_file
from transmission_bridge.drivers import find_block_drivers, list_encoder_periods
from transmission_bridge.errors import (
    ParameterError,
    shortened,
    TransmissionBridgeError,
    UnknownNameError,
)
from transmission_bridge.tools.cli import Console, printable, UsageError
from transmission_bridge.tools.files import find_parameter_line, read_parameter_file
from transmission_bridge.transmissions import RobotTransmissions

#: The file name for standard input.
STANDARD_INPUT = '-'


def read_robot_file(name: str) -> bytes:
    """
    Return the content of a file or a pipe.

    :returns: At most one byte more than a description may have, so that its size is refused.
    :raises UsageError: If it cannot be read.
    """
    try:
        if name == STANDARD_INPUT and sys.stdin is not None:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        return read_urdf_file(name)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise UsageError(f"cannot read '{name}': {reason}") from None


#: Options that affect the content of states, or their source; others are ignored in a file. Names
#: are those of the fields of :class:`BridgeOptions`.
_USED = (
    'actuator_state_topics',
    'actuator_names',
    'pass_through',
    'passive_joints',
    'wrap_period',
    'actuator_units',
    'unknown_rates',
    'unknown_joints',
)

#: The option with a file that is itself a parameter file.
_TUNED = 'tuned_file'


@dataclass(frozen=True)
class BridgeSetup:
    """
    The parameters that a command line and its parameter file give a bridge.

    :param options: Its options.
    :param numbers: Numbers of the transmissions by their full parameter names.
    :param file: Name of the parameter file, empty without one.
    :param data: Its content.
    """

    options: BridgeOptions
    numbers: Mapping[str, float | bool]
    file: str
    data: bytes

    def periods(self, robot: RobotTransmissions) -> dict[str, float]:
        """
        Return the period of each single-turn encoder, in its driver's unit, by actuator.

        Drivers in Python give theirs, the option ``wrap_period`` overrides them.

        :raises TransmissionBridgeError: If one does not fit the robot.
        """
        of_drivers = list_encoder_periods(find_block_drivers(robot, {}))
        return of_drivers | list_wrap_periods(robot, self.options)

    def names_of_driver(self, robot: RobotTransmissions, topic: str) -> dict[str, str]:
        """
        Return the URDF name of each name that a driver may use.

        :param topic: The topic of its states.
        :raises TransmissionBridgeError: If the options do not fit the robot.
        """
        renamed = split_option_pairs('actuator_names', self.options.actuator_names)
        plan = DriverStateIndex(robot.actuator_names, renamed, robot.lost_actuators)
        topics = {topic.strip('/'): topic for topic in self.options.actuator_state_topics}
        return plan.map_driver_names(topics.get(topic.strip('/'), topic))

    def robot(self, description: bytes) -> tuple[RobotTransmissions, list[str]]:
        """
        Return the maps with the numbers of the parameter file.

        :param description: The robot.
        :returns: The maps, and notes about unused parameters.
        :raises DescriptionError: If the description cannot be read.
        :raises UsageError: If a number or an option does not fit the robot.
        """
        with _name_line(self.file, self.data, ParameterError, UnknownNameError):
            robot = load_untuned_maps(load_description(description), self.options)
            self.periods(robot)
        lost = warn_of_unbridged_options(self.options, robot.lost_actuators)
        notes = [finding.text for finding in lost]
        tunables, unused = list_parameter_names(robot).tunables, f"'{self.file}': not used"
        if unknown := [name for name in self.numbers if name not in tunables]:
            notes.append(f'{unused}, this robot has no such number: {shortened(unknown)}')
        if self.options.tuned_file:
            notes.append(
                f'{unused}: {_TUNED}; to use its numbers, save those of the running bridge by '
                '"param dump"'
            )
        used = {name: value for name, value in self.numbers.items() if name in tunables}
        with _name_line(self.file, self.data, TransmissionBridgeError):
            return robot.with_parameters(strip_prefixes(used)) if used else robot, notes


@contextmanager
def _name_line(name: str, data: bytes, *errors: type[TransmissionBridgeError]) -> Iterator[None]:
    """Raise errors as :class:`UsageError` with the line in a parameter file."""
    try:
        yield
    except errors as error:
        parameter = getattr(error, 'parameter', '')
        if transmission := getattr(error, 'transmission', ''):
            parameter = f'{PREFIX}{transmission}.{parameter}'
        where = (
            f'{find_parameter_line(data, name, parameter)}: ' if name else ''
        )  # else a command line
        raise UsageError(f'{where}{error}') from None


def robot_of_command(arguments: argparse.Namespace, console: Console) -> RobotTransmissions:
    """
    Return the maps of a command's description and parameter file, and print the notes.

    :raises DescriptionError: If the description cannot be read.
    :raises UsageError: If a file cannot be used.
    """
    robot, notes = read_bridge_setup(arguments).robot(read_robot_file(arguments.file))
    for note in notes:
        console.err.line(printable(note))
    return robot


def note_errors(robot: RobotTransmissions, file: str) -> Iterator[str]:
    """Yield a sentence if the description has errors, because joints are missing then."""
    if count := sum(finding.severity == 'error' for finding in robot.findings):
        yield (
            f"'{file}' has errors ({count}), joints are missing: see 'transmission_bridge check'"
        )


def read_bridge_setup(arguments: argparse.Namespace, drivers: Sequence[str] = ()) -> BridgeSetup:
    """
    Return the parameters from ``--params-file`` and ``--actuator-names``.

    The command line overrides the file.

    :param drivers: Topics of drivers on the command line.
    :raises UsageError: If the file cannot be used, or a value cannot be accepted.
    """
    file, data, values = arguments.params_file or '', b'', dict[str, Any]()
    if file:
        data = read_robot_file(file)
        values = read_parameter_file(data, file, (*_USED, _TUNED))
    numbers = {name: values.pop(name) for name in [*values] if name.startswith(PREFIX)}
    with _name_line(file, data, ParameterError):
        options = BridgeOptions(**values)
    given: dict[str, Any] = {}
    if names := getattr(arguments, 'actuator_names', ()):
        # Entries may name one of these drivers by its topic.
        topics = drivers or options.actuator_state_topics
        given['actuator_state_topics'] = tuple(dict.fromkeys(t.lstrip('/') for t in topics))
        given['actuator_names'] = tuple(  # without the leading slash of a topic
            name.lstrip('/') if ':' in name.partition('=')[0] else name for name in names
        )
    try:
        options = replace(options, **given)
    except ParameterError as error:
        what = f'expected {error.expected}, found {error.found}'
        raise UsageError(f'--actuator-names: {what}') from None
    return BridgeSetup(options, numbers, file, data)
