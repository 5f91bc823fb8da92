# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The choices a user has, with the words that explain them, and the names of the parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, Field, field, fields
import math
import re
from typing import Any

from transmission_bridge.description.specs import Finding, RobotDescription
from transmission_bridge.errors import ParameterError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.tunable import Tunable

# One table: the node declares its parameters from it, and the documentation is tested against it.


@dataclass(frozen=True, slots=True)
class Range:
    """
    The range of a number.

    :param minimum: Smallest value, except the others.
    :param maximum: Largest value.
    :param others: Values below it with a meaning of their own, from the smallest.
    """

    minimum: float
    maximum: float
    others: tuple[float, ...] = ()

    def __str__(self) -> str:
        """Return the range in words, for example ``0, or 0.001 to 86400``."""
        others = ''.join(f'{value:g}, ' for value in self.others) + 'or ' * bool(self.others)
        return f'{others}{self.minimum:.15g} to {self.maximum:.15g}'

    @property
    def least(self) -> float:
        """The smallest value that is allowed."""
        return min((self.minimum, *self.others))

    def __contains__(self, value: float) -> bool:
        """Return whether a value is in the range; NaN never is."""
        return self.minimum <= value <= self.maximum or value in self.others

    def check(self, name: str, value: float) -> None:
        """
        Check a number.

        :param name: Name of the option, for the error.
        :raises ParameterError: If it is outside.
        """
        if value not in self:
            raise ParameterError(
                f'{name} cannot be accepted', parameter=name, expected=str(self), found=repr(value)
            )


#: The value of a timeout for which the bridge finds one.
AUTO = -1.0

#: Seconds; zero: never. A timer runs at a quarter of the smallest value; the largest is a day.
_TIMEOUT = Range(1e-3, 86_400.0, (0.0,))
_AUTO_TIMEOUT = Range(1e-3, 86_400.0, (AUTO, 0.0))

#: Seconds after which a command is over, where nobody said otherwise: diff_drive_controller's.
COMMAND_TIMEOUT = 0.5

#: In any unit of position: counts of a 32-bit encoder are more than four thousand million.
WRAP_PERIOD = Range(1e-6, 1e10)


#: Parameters of former versions, with the successor of each.
REMOVED = {
    'tip_frames': 'use transmission_bridge.kinematics.JointDevice for twists and wrenches of '
    'links (docs/kinematics.md)',
}


def _option(
    default: Any, description: str, choices: tuple[str, ...] = (), *, span: Range | None = None
) -> Any:
    return field(
        default=default,
        metadata={'description': description, 'choices': choices, 'span': span},
    )


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """
    How the bridge behaves where the description leaves a choice.

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
        "'driver_name=urdf_name'. No two actuators may come to have one name. With a topic in "
        "front, as 'left/actuator_states:driver_name=urdf_name', it is of the driver on that "
        'topic only, which has no actuators but those of its entries; commands to them go to the '
        "same namespace ('left/actuator_commands').",
    )
    plugin_aliases: tuple[str, ...] = _option(
        (),
        'Transmission types of the robot that an installed plugin of the same mechanism serves, '
        "each as 'type_in_urdf=installed_type'.",
    )
    pass_through: bool = _option(
        True, 'Whether joints without a transmission pass through to an actuator of their name.'
    )
    passive_joints: str = _option(
        'all',
        'Joints of linkages that are published though nobody commands them: all, all but the '
        'angles of balls, or none.',
        ('all', 'no_balls', 'none'),
    )
    wrap_period: tuple[str, ...] = _option(
        (),
        "Periods of single-turn encoders in the unit of the driver's positions [rad or m], "
        "unwrapped before the reduction, each as 'actuator=period'.",
        span=WRAP_PERIOD,
    )
    unknown_turn: str = _option(
        'resolve',
        'What becomes of an encoder with a wrap_period when it is not known in which turn it is: '
        'its joints are unknown until limits, absolute positions or ~/zero tell, or the first '
        'reading counts as it is.',
        ('resolve', 'first'),
    )
    actuator_units: tuple[str, ...] = _option(
        (),
        'Units of the drivers of joints without a transmission, each as '
        "'actuator=position_unit:turn, velocity_unit:rpm'; others stand in the <actuator>.",
    )
    calibration_offsets: bool = _option(
        False,
        'Whether <calibration rising> of a joint in the URDF is its offset, where its '
        'transmission gives none.',
    )
    tuned_file: str = _option(
        '',
        'File to which ~/zero and ~/zero_from_absolute write the offsets that they set, and from '
        'which they are read when the node is configured; empty: none.',
    )
    command_joints: tuple[str, ...] = _option(
        (),
        'Order of the joints in position_commands, velocity_commands and effort_commands; these '
        'topics are there if it is not empty.',
    )
    command_actuators: tuple[str, ...] = _option(
        (),
        'Order of the actuators in actuator_position_commands, actuator_velocity_commands and '
        'actuator_effort_commands, for drivers that want plain arrays; these topics are there if '
        'it is not empty.',
    )
    state_timeout: float = _option(
        AUTO,
        'Seconds after which a number of an actuator that did not come again is unknown, and with '
        'it its joints; -1: the larger of 1 s and five periods of its driver; 0: never, for '
        'drivers that publish on change.',
        span=_AUTO_TIMEOUT,
    )
    command_timeout: float = _option(
        AUTO,
        'Seconds after which the command of a joint is over: velocity (and effort, see '
        'zero_effort) is set to zero once, a position is still held; -1: 0.5 s, and never for '
        'joints of a topic-based component that is silent at its target; 0: never.',
        span=_AUTO_TIMEOUT,
    )
    max_command_age: float = _option(
        0.0,
        'Seconds since its stamp after which a command is refused, for synchronised clocks; never '
        'a trajectory or a stamp of zero; 0: never.',
        span=_TIMEOUT,
    )
    max_waypoints: int = _option(
        2000, 'Waypoints that a trajectory may have.', span=Range(1, 1_000_000)
    )
    tuning_guard: bool = _option(
        True,
        'Whether to refuse a change of a transmission that is commanded if, where it is, the '
        'change turns the sense of a motion, changes a ratio by more than a factor of two, or '
        'shifts a position by more than 0.1 rad or 0.05 m.',
    )
    publish: str = _option(
        'on_any',
        'When joint_states is published: on every message of a driver, when every driver (but '
        'those that timed out) has sent one since, or at publish_rate.',
        ('on_any', 'on_all', 'rate'),
    )
    publish_rate: float = _option(
        100.0, 'Rate of joint_states [Hz] where publish is rate.', span=Range(1e-2, 1e4)
    )
    limits: str = _option(
        'clamp',
        'What becomes of a command outside the limits of joints (URDF, narrowed by ros2_control) '
        'and actuators (<limit>): it is clamped or scaled, its message is rejected, or it passes.',
        ('clamp', 'reject', 'off'),
    )
    undeclared_interfaces: str = _option(
        'auto',
        'What to publish of state interfaces that a joint does not declare in its ros2_control '
        'block: everything; nothing (NaN); or nothing where the hardware plugin is topic-based, '
        'because that fails on them.',
        ('auto', 'publish', 'hide'),
    )
    unknown_rates: str = _option(
        'nan',
        'What to publish for an unknown velocity or effort of a known joint: NaN (an empty array '
        'where all are unknown), or zero, for consumers that need full finite arrays.',
        ('nan', 'zero'),
    )
    unknown_joints: str = _option(
        'omit',
        'What to publish of a joint whose position is unknown: nothing, or NaN.',
        ('omit', 'nan'),
    )
    mixed_commands: str = _option(
        'split',
        'What becomes of a command with several modes: one message per interface, one message '
        'with NaN where an actuator has no command, or its rejection.',
        ('split', 'nan', 'reject'),
    )
    partial_commands: str = _option(
        'hold',
        'What becomes of a command to some joints of a coupled transmission: the others hold '
        'their last command (for position, else where they are), they hold a position but have '
        'velocity and effort zero, or the message is rejected.',
        ('hold', 'zero', 'reject'),
    )
    max_step: str = _option(
        'warn',
        'What becomes of a position further from the last one than the velocity limit of its '
        'joint allows in the time between (0.1 s at most) and 0.05 s; after activation, silence '
        'of the driver or a rejection further from the measured one. It is warned of, passes, or '
        'is rejected.',
        ('warn', 'off', 'reject'),
    )
    several_interfaces: str = _option(
        'together',
        'What becomes of a joint with several command interfaces: all count; one that has not '
        'changed for 0.5 s while another one did is left out (never an effort); or its rejection.',
        ('together', 'latest', 'reject'),
    )
    rejects: str = _option(
        'auto',
        'What is rejected for an unknown joint, one that cannot be commanded, coupled joints that '
        'are missing or in different modes, an unknown turn, max_step or several_interfaces: the '
        'message, or the joints of the transmission, whose velocities end; auto: the latter where '
        'the hardware plugin is topic-based, because it sends one message for the whole robot.',
        ('auto', 'message', 'transmission'),
    )
    on_stop: str = _option(
        'zero_rates',
        'What to send before falling silent: velocity zero to the actuators that were commanded '
        'a velocity (and effort zero, see zero_effort), or nothing.',
        ('zero_rates', 'nothing'),
    )
    zero_effort: bool = _option(
        False,
        'Whether effort zero is sent as well on stopping and by command_timeout, to the actuators '
        'that were commanded an effort. A load that they carry would fall; without it the last '
        'effort stays.',
    )

    zero_max_velocity: float = _option(
        0.01,
        'Speed [rad/s or m/s] above which a joint, or one coupled to it, is moving: ~/zero is '
        'refused, and beyond a position limit outward effort ends.',
        span=Range(0.0, 1e6),
    )
    zero_max_age: float = _option(
        5.0,
        'Seconds after which a driver that was heard before is too silent for ~/zero; 0: '
        'state_timeout alone decides.',
        span=_TIMEOUT,
    )

    def __post_init__(self) -> None:
        """Check every value against its choices or its range."""
        for option in fields(self):
            value = getattr(self, option.name)
            allowed = choices_of(option)
            if allowed and value not in allowed:
                raise ParameterError(
                    f'{option.name} cannot be accepted',
                    parameter=option.name,
                    expected=' or '.join(repr(choice) for choice in allowed),
                    found=repr(value),
                )
            span = range_of(option)
            if span is not None and isinstance(option.default, float | int):
                span.check(option.name, value)
        if not self.actuator_state_topics or not all(self.actuator_state_topics):
            raise ParameterError(
                'actuator_state_topics cannot be accepted',
                parameter='actuator_state_topics',
                expected='at least one topic, none of them empty',
                found=repr(list(self.actuator_state_topics)),
            )
        for name in ('plugin_aliases', 'wrap_period', 'actuator_units'):
            pairs(name, getattr(self, name))
        for driver_name in pairs('actuator_names', self.actuator_names):
            topic, name = split_topic(driver_name)
            if ':' in driver_name and not (topic in self.actuator_state_topics and name):
                raise ParameterError(
                    'actuator_names cannot be accepted',
                    parameter='actuator_names',
                    expected="'topic:driver_name=urdf_name' with a topic of actuator_state_topics "
                    f'({", ".join(self.actuator_state_topics)}); a name with a colon in it stands '
                    'behind its topic',
                    found=repr(driver_name),
                )


def description_of(option: Field[Any]) -> str:
    """Return the meaning of an option, in one or two sentences."""
    return str(option.metadata['description'])


def choices_of(option: Field[Any]) -> tuple[str, ...]:
    """Return the allowed values, empty where they are not listed."""
    return tuple(option.metadata['choices'])


def range_of(option: Field[Any]) -> Range | None:
    """Return the range of the numbers of an option, ``None`` where it has none."""
    span: Range | None = option.metadata['span']
    return span


def split_topic(driver_name: str) -> tuple[str, str]:
    """
    Return topic, empty where none is given, and name of ``topic:driver_name``.

    :param driver_name: Left side of an entry of ``actuator_names``.
    """
    topic, separator, name = driver_name.partition(':')
    return (topic, name) if separator else ('', driver_name)


def pairs(name: str, entries: Iterable[str]) -> dict[str, str]:
    """
    Return ``left=right`` entries as a dictionary.

    :param name: Name of the option, for the error.
    :raises ParameterError: If an entry has no ``=`` or an empty side, or a left side repeats.
    """
    result: dict[str, str] = {}
    for entry in entries:
        left, separator, right = entry.partition('=')
        if not (separator and left and right) or left in result:
            raise ParameterError(
                f'{name} cannot be accepted',
                parameter=name,
                expected="entries 'left=right', no left side twice",
                found=repr(entry),
            )
        result[left] = right
    return result


#: Of recordings, in which no time passes.
RECORDED = BridgeOptions(state_timeout=0.0)


# -- Entries that do not fit the robot -----------------------------------------------------------


def unused_aliases(robot: RobotDescription, types: Iterable[str]) -> tuple[Finding, ...]:
    """
    Return a warning for each alias that no transmission uses.

    :param types: The types in the description that the aliases replace.
    """
    found = {spec.type for spec in robot.transmissions}
    found |= {spec.type for spec in robot.rejected}
    return tuple(
        Finding(
            'warning',
            f"no transmission uses the alias for '{theirs}'; correct or remove it",
            expected=f'one of {", ".join(sorted(found)) or "no types at all"}',
        )
        for theirs in types
        if theirs not in found
    )


def names_of_lost(
    option: str, names: Iterable[str], lost: Mapping[str, str]
) -> tuple[Finding, ...]:
    """
    Return a warning for each actuator of an option that belongs to a refused transmission.

    :param option: Name of the option.
    :param names: The actuators that it names.
    :param lost: Actuators of refused transmissions, with the reason.
    """
    return tuple(
        Finding('warning', f"{option}: '{name}' is left out, {lost[name]}", subject=name)
        for name in dict.fromkeys(names)
        if name in lost
    )


# -- Names of the parameters that hold the numbers of transmissions ------------------------------


PREFIX = 'transmissions.'

#: Names that a parameter file and the command line can contain.
_NAME = re.compile(r'[\w./-]+')


@dataclass(frozen=True, slots=True)
class ParameterNames:
    """
    The parameters of a robot.

    :param tunables: Each by its name, that of the library behind :data:`PREFIX`.
    :param findings: A warning for each number whose name cannot be a parameter.
    """

    tunables: Mapping[str, Tunable]
    findings: tuple[Finding, ...]


def by_number(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of parameters as :meth:`RobotTransmissions.with_parameters` takes them."""
    return {name.removeprefix(PREFIX): value for name, value in values.items()}


def yaml_number(value: float) -> str:
    """
    Return the shortest text that is read as this floating-point number.

    A node refuses an integer for a double, and YAML 1.1 reads ``1e-05`` as text.

    :raises ValueError: If it is not a number.
    """
    if math.isnan(value):
        raise ValueError(f'not a number: {value}')
    if math.isinf(value):
        return '.inf' if value > 0.0 else '-.inf'
    mantissa, exponent, power = repr(float(value)).partition('e')
    return (mantissa if '.' in mantissa else mantissa + '.0') + exponent + power


def parameter_names(robot: RobotTransmissions) -> ParameterNames:
    """
    Return the parameters of a robot.

    A name that a parameter file cannot contain is left out, and so is one that two numbers would
    share, because a value for it could be meant for either.
    """
    has_flags = {name: t.n_joints == t.n_actuators for name, t in robot.transmissions.items()}
    tunables, findings = {}, []
    for name, found in robot.named_tunables.items():
        found = [each for each in found if not each.is_flag or has_flags[each.transmission]]
        if not found:
            continue
        reason = ''
        if len(found) > 1:
            reason = 'two numbers would have it; rename what has dots in its name'
        elif _NAME.fullmatch(name) is None:
            reason = 'parameter files allow letters, digits, _, -, . and / only'
        else:
            tunables[PREFIX + name] = found[0]
            continue
        spec = robot.robot.transmission(found[-1].transmission)
        findings.append(
            Finding(
                'warning',
                f"'{PREFIX}{name}' cannot be a parameter: {reason}",
                line=spec.line,
                path=spec.path,
                subject=spec.name,
            )
        )
    return ParameterNames(tunables, tuple(sorted(findings, key=lambda each: each.message)))
