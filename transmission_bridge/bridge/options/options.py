# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The options of the bridge with their descriptions, and the names of the tunable parameters.

The node declares a parameter for each field, and tools read the same names from files. Names,
defaults, choices and ranges are public; order and descriptions are those of the table in
docs/commands_and_states.md, which a test compares. Nothing here changes after its construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
import math
import re
from typing import Any

from transmission_bridge.description import Finding
from transmission_bridge.errors import make_option_error
from transmission_bridge.transmissions import RobotTransmissions, Tunable

# One table: the node declares its parameters from it, and the documentation is tested against it.


@dataclass(frozen=True, slots=True)
class OptionRange:
    """
    The range of a number.

    :param minimum: Smallest ordinary value; both ends are in the range.
    :param maximum: Largest value.
    :param others: Smaller values with a special meaning, in increasing order.
    """

    minimum: float
    maximum: float
    others: tuple[float, ...] = ()

    def __str__(self) -> str:
        """Return the range in words, for example ``0, or 0.001 to 86400``."""
        others = ''.join(f'{value:g}, ' for value in self.others) + 'or ' * bool(self.others)
        return f'{others}{self.minimum:.15g} to {self.maximum:.15g}'

    def __contains__(self, value: float) -> bool:
        """Return whether a value is in the range; NaN never is."""
        return self.minimum <= value <= self.maximum or value in self.others

    def check_option(self, name: str, value: float) -> None:
        """
        Check a number.

        :param name: Name of the option, for the error.
        :raises ParameterError: If the number is outside the range.
        """
        if value not in self:
            raise make_option_error(name, str(self), value)


#: The value of a timeout that the bridge chooses.
AUTO = -1.0

#: Seconds; 0: never. A timer runs at a quarter of the smallest value; the largest is a day.
_AUTO_TIMEOUT = OptionRange(1e-3, 86_400.0, (AUTO, 0.0))

#: Default command timeout [s], as in diff_drive_controller.
COMMAND_TIMEOUT = 0.5

#: In any unit of position; a 32-bit encoder has more than four thousand million counts.
WRAP_PERIOD = OptionRange(1e-6, 1e10)


def _option(
    default: Any,
    description: str,
    choices: tuple[str, ...] = (),
    *,
    span: OptionRange | None = None,
) -> Any:
    return field(
        default=default,
        metadata={'description': description, 'choices': choices, 'span': span},
    )


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """
    The options of the bridge; the metadata of each field have a description, choices and a span.

    :raises ParameterError: If a value is not among its choices or outside its range, or a pair is
        not ``left=right``.
    """

    actuator_state_topics: tuple[str, ...] = _option(
        ('actuator_states',),
        'Topics on which drivers publish actuator states, each any subset of the actuators.',
    )
    actuator_names: tuple[str, ...] = _option(
        (),
        "Names that a driver uses instead of the URDF's, in states and commands, each as "
        "'driver_name=urdf_name'. Two actuators must not get the same name. An entry with a topic "
        "('left/actuator_states:driver_name=urdf_name') applies to the driver on that topic only; "
        "list all of that driver's actuators. Commands to them go to the same namespace "
        "('left/actuator_commands').",
    )
    hardware_plugins: tuple[str, ...] = _option(
        (),
        'Drivers in Python to use instead of the hardware plugins in the URDF, each as '
        "'block=plugin'; '*=plugin' is for all other blocks.",
    )
    pass_through: bool = _option(
        True, 'Whether joints without a transmission pass through to an actuator of their name.'
    )
    passive_joints: str = _option(
        'all',
        'Passive joints of linkages to publish.',
        ('all', 'none'),
    )
    wrap_period: tuple[str, ...] = _option(
        (),
        "Periods of single-turn encoders in the unit of the driver's positions [rad or m], "
        "unwrapped before the reduction, each as 'actuator=period'.",
        span=WRAP_PERIOD,
    )
    actuator_units: tuple[str, ...] = _option(
        (),
        'Units of the drivers of joints without a transmission, each as '
        "'actuator=position_unit:turn, velocity_unit:rpm'; for other joints use the <actuator>.",
    )
    tuned_file: str = _option(
        '',
        'File for numbers of transmissions: ~/zero, ~/zero_from_absolute and ~/store_numbers '
        'write it, and the node reads it when it is configured; empty: no file.',
    )
    command_joints: tuple[str, ...] = _option(
        (),
        'Order of the joints in position_commands, velocity_commands and effort_commands; the '
        'node has these topics if it is not empty.',
    )
    command_actuators: tuple[str, ...] = _option(
        (),
        'Order of the actuators in actuator_position_commands, actuator_velocity_commands and '
        'actuator_effort_commands, for drivers that receive plain arrays; the node has these '
        'topics if it is not empty.',
    )
    state_timeout: float = _option(
        AUTO,
        'Seconds after which an actuator state that is not repeated becomes unknown, together '
        'with its joints; -1: five periods of its driver, from 1 s to 5 s; 0: never, for drivers '
        'that publish on change.',
        span=_AUTO_TIMEOUT,
    )
    command_timeout: float = _option(
        AUTO,
        'Seconds after which the command of a joint expires: velocity (and effort, see '
        'zero_effort) is set to zero once, a position is still held; -1: 0.5 s, and never for '
        'joints of a topic-based component that is silent at its target; 0: never.',
        span=_AUTO_TIMEOUT,
    )
    tuning_guard: bool = _option(
        True,
        'Whether to reject a change of a commanded transmission if, at the present position, it '
        'reverses a motion, changes a ratio by more than a factor of two, or shifts a position by '
        'more than 0.1 rad or 0.05 m.',
    )
    publish_rate: float = _option(
        0.0,
        'Rate of joint_states [Hz]; 0: after every message of a driver.',
        span=OptionRange(1e-2, 1e4, (0.0,)),
    )
    limits: str = _option(
        'clamp',
        'How to handle a command outside the limits of joints (URDF, narrowed by ros2_control) or '
        'actuators (<limit>): clamp or scale it, reject its message, or ignore the limits.',
        ('clamp', 'reject', 'off'),
    )
    unknown_rates: str = _option(
        'nan',
        'How to publish an unknown velocity or effort of a known joint: NaN (an empty array if '
        'all are unknown), or zero, for subscribers that need full finite arrays.',
        ('nan', 'zero'),
    )
    unknown_joints: str = _option(
        'omit',
        'How to publish a joint with an unknown position: omit it, or NaN.',
        ('omit', 'nan'),
    )
    mixed_commands: str = _option(
        'split',
        'How to handle a command with several modes: send one message per interface, or one '
        'message with NaN for absent commands.',
        ('split', 'nan'),
    )
    partial_commands: str = _option(
        'hold',
        'How to handle a command to some joints of a coupled transmission: the others hold their '
        'last command, or their measured position; or the message is rejected.',
        ('hold', 'reject'),
    )
    max_step: str = _option(
        'warn',
        'How to handle a position that is further from the last one than the velocity limit of '
        'the joint allows: warn, ignore it, or reject it.',
        ('warn', 'off', 'reject'),
    )
    several_interfaces: str = _option(
        'together',
        'How to handle commands to several interfaces of a joint: use all; ignore positions '
        'and velocities that are not the interface that changed last; or reject them.',
        ('together', 'latest', 'reject'),
    )
    on_stop: str = _option(
        'zero_rates',
        'Messages when the bridge stops: velocity zero to the actuators with a velocity command '
        '(and effort zero, see zero_effort), or nothing.',
        ('zero_rates', 'nothing'),
    )
    zero_effort: bool = _option(
        False,
        'Whether to send also effort zero, when the bridge stops and after command_timeout, to '
        'the actuators with an effort command. A load that they carry would fall; if false, the '
        'last effort stays active.',
    )

    zero_max_velocity: float = _option(
        0.01,
        'Speed [rad/s or m/s] above which a joint, or a joint coupled to it, is moving: ~/zero '
        'and ~/store_numbers are rejected, and outward effort beyond a position limit ends.',
        span=OptionRange(0.0, 1e6),
    )

    def __post_init__(self) -> None:
        """Check every value against its choices or its range."""
        for option in fields(self):
            value = getattr(self, option.name)
            allowed, span = option.metadata['choices'], option.metadata['span']
            if allowed and value not in allowed:
                raise make_option_error(option.name, ' or '.join(map(repr, allowed)), value)
            # Periods of wrap_period are checked with the robot, see list_wrap_periods.
            if span is not None and isinstance(option.default, float | int):
                span.check_option(option.name, value)
        if not self.actuator_state_topics or not all(self.actuator_state_topics):
            expected, found = 'at least one topic, and no empty names', self.actuator_state_topics
            raise make_option_error('actuator_state_topics', expected, list(found))
        for name in ('wrap_period', 'actuator_units', 'hardware_plugins'):
            split_option_pairs(name, getattr(self, name))
        for driver_name in split_option_pairs('actuator_names', self.actuator_names):
            topic, name = split_driver_topic(driver_name)
            if ':' in driver_name and not (topic in self.actuator_state_topics and name):
                expected = (
                    "'topic:driver_name=urdf_name' with a topic of actuator_state_topics "
                    f'({", ".join(self.actuator_state_topics)}); a name with a colon in it stands '
                    'behind its topic'
                )
                raise make_option_error('actuator_names', expected, driver_name)


def split_driver_topic(driver_name: str) -> tuple[str, str]:
    """
    Return topic and name of ``topic:driver_name``; the topic is empty if there is no colon.

    :param driver_name: Left side of an entry of ``actuator_names``.
    """
    topic, separator, name = driver_name.partition(':')
    return (topic, name) if separator else ('', driver_name)


def split_option_pairs(name: str, entries: Iterable[str]) -> dict[str, str]:
    """
    Return ``left=right`` entries as a dictionary.

    :param name: Name of the option, for the error.
    :raises ParameterError: If an entry has no ``=`` or an empty side, or a left side repeats.
    """
    result: dict[str, str] = {}
    for entry in entries:
        left, separator, right = entry.partition('=')
        if not (separator and left and right) or left in result:
            raise make_option_error(name, "entries 'left=right', no left side twice", entry)
        result[left] = right
    return result


#: Options for recordings, in which no time passes.
RECORDED = BridgeOptions(state_timeout=0.0)


# -- Entries that do not fit the robot -----------------------------------------------------------


def warn_of_unbridged_options(
    options: BridgeOptions, lost: Mapping[str, str]
) -> Iterator[Finding]:
    """
    Yield a warning for each actuator in an option that belongs to a rejected transmission.

    :param lost: Actuators of rejected transmissions, with the reason.
    """
    for option in ('actuator_names', 'wrap_period', 'actuator_units'):
        pairs = split_option_pairs(option, getattr(options, option))
        for name in dict.fromkeys(pairs.values() if option == 'actuator_names' else pairs):
            if name in lost:
                text = f"{option}: '{name}' is left out, {lost[name]}"
                yield Finding('warning', text, subject=name)


# -- Names of the parameters that hold the numbers of transmissions ------------------------------


#: Prefix of the parameters with the numbers of transmissions.
PREFIX = 'transmissions.'

#: Prefix of the parameters with the options that follow from drivers in the node.
HOSTED = 'hosted.'

#: Names that a parameter file and the command line can contain.
_NAME = re.compile(r'[\w./-]+')


@dataclass(frozen=True, slots=True)
class ParameterNames:
    """
    The parameters of a robot.

    :param tunables: By name of the parameter: :data:`PREFIX` and the name of the tunable.
    :param findings: A warning for each number with a name that cannot be a parameter.
    """

    tunables: Mapping[str, Tunable]
    findings: tuple[Finding, ...]


def strip_prefixes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the names of :meth:`RobotTransmissions.with_parameters`."""
    return {name.removeprefix(PREFIX): value for name, value in values.items()}


def format_yaml_number(value: float) -> str:
    """
    Return the shortest text that YAML 1.1 reads as this floating-point number.

    A node rejects an integer for a double, and YAML 1.1 reads ``1e-05`` as text.

    :raises ValueError: If the value is NaN.
    """
    if math.isnan(value):
        raise ValueError(f'not a number: {value}')
    if math.isinf(value):
        return '.inf' if value > 0.0 else '-.inf'
    mantissa, exponent, power = repr(float(value)).partition('e')
    return (mantissa if '.' in mantissa else mantissa + '.0') + exponent + power


def list_parameter_names(robot: RobotTransmissions) -> ParameterNames:
    """
    Return the parameters of a robot.

    A name is left out if a parameter file cannot contain it, or if two numbers would share it.
    """
    has_flags = {name: t.n_joints == t.n_actuators for name, t in robot.transmissions.items()}
    tunables, findings = {}, []
    for name, named in robot.named_tunables.items():
        numbers = [one for one in named if not one.is_flag or has_flags[one.transmission]]
        if len(numbers) == 1 and _NAME.fullmatch(name):
            tunables[PREFIX + name] = numbers[0]
        elif numbers:
            reason = 'parameter files allow letters, digits, _, -, . and / only'
            if len(numbers) > 1:
                reason = 'two numbers would share it; rename members with dots in their names'
            spec = robot.description.transmission(numbers[-1].transmission)
            text = f"'{PREFIX}{name}' cannot be a parameter: {reason}"
            findings.append(Finding.about(spec, 'warning', text))
    return ParameterNames(tunables, tuple(sorted(findings, key=lambda finding: finding.message)))
