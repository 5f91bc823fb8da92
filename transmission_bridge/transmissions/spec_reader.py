# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
How a plugin reads its description: every number asked for becomes a live parameter.

The reader remembers what was asked for. The rest is reported to the user, so that nothing written
in a URDF is ignored in silence. A reduction or an offset that was written where nobody reads it,
while the one that is read is missing, is an error: the robot would run with another ratio. So is a
limit that nobody reads: the robot would run without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math

from transmission_bridge.description.specs import (
    Finding,
    ParameterSpec,
    REDUCTION_TAGS,
    RobotDescription,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.description.values import (
    field_meant,
    INFINITE,
    LIMIT,
    MECHANICAL_REDUCTION,
    OFFSET,
    parse_number,
)
from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.tunable import BY_ROLE, ParameterPath, Tunable
from transmission_bridge.transmissions.units import (
    ActuatorUnits,
    CONSTANTS,
    read_units,
    SMALLEST,
    unit_meant,
    UNITS,
)

__all__ = ['ACTUATOR_LIMITS', 'SpecReader']

#: Names of an actuator's limits, what holds where they are missing, and what they are.
ACTUATOR_LIMITS = {
    'lower': (-math.inf, 'Least position of the actuator, at the motor [rad or m].'),
    'upper': (math.inf, 'Greatest position of the actuator, at the motor [rad or m].'),
    'velocity': (math.inf, 'Greatest speed of the actuator, at the motor [rad/s or m/s].'),
    'effort': (math.inf, 'Greatest effort of the actuator, at the motor [N m or N].'),
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """
    A reduction, an offset or a limit that the plugin or the host asked for.

    :param field: Which of the three.
    :param scope: Where it is read: ``('joints', name)``, ``('actuators', name)``, or ``()``.
    :param tag: The element that it is read from.
    :param of_member: Whether it is the member's own, not a parameter of the plugin with such a
        name.
    :param given: Whether the description has it; a limit may be one of another kind.
    :param value: The number of the description, or the default.
    """

    field: str
    scope: ParameterPath
    tag: str
    of_member: bool
    given: bool
    value: float


class SpecReader:
    """
    Access to one :class:`TransmissionSpec` on behalf of a plugin.

    :param spec: The description, members in role order.
    :param overrides: Values that replace those of the description, by parameter path.
    :param robot: The robot that the transmission is part of, where its joints and links matter.
    :param passive_joints: Which joints are published that the transmission moves and nobody
        commands.
    """

    def __init__(
        self,
        spec: TransmissionSpec,
        overrides: Mapping[ParameterPath, float] | None = None,
        robot: RobotDescription | None = None,
        passive_joints: str = 'none',
    ) -> None:
        self.spec = spec
        self.robot = robot
        self.passive_joints = passive_joints
        self._overrides = dict(overrides or {})
        self._tunables: dict[ParameterPath, Tunable] = {}
        self._used: set[int] = set()
        self._asked: list[_Asked] = []

    # -- members ---------------------------------------------------------------------------------

    def require_members(self, *, joints: int, actuators: int) -> None:
        """
        Check the numbers of joints and actuators.

        :raises TransmissionError: If they differ.
        """
        found = (len(self.spec.joints), len(self.spec.actuators))
        if found != (joints, actuators):
            raise self.error(
                f'{self.spec.type} takes other numbers of joints and actuators',
                expected=f'{_count(joints, "joint")} and {_count(actuators, "actuator")}',
                found=f'{_count(found[0], "joint")} and {_count(found[1], "actuator")}',
            )

    def joint_reductions(self) -> tuple[float, ...]:
        """
        Return the joints' reductions in role order.

        :raises ParameterError: If one is set to zero.
        """
        return tuple(self._reduction('joints', member) for member in self.spec.joints)

    def actuator_reductions(self) -> tuple[float, ...]:
        """
        Return the actuators' reductions in role order.

        :raises ParameterError: If one is set to zero.
        """
        return tuple(self._reduction('actuators', member) for member in self.spec.actuators)

    def joint_offsets(self) -> tuple[float, ...]:
        """
        Return the joints' offsets in role order [rad or m].

        :raises ParameterError: If one is set to a number that is not finite.
        """
        return tuple(
            self._member_number(
                'joints', member, OFFSET, 'Joint position at actuator zero [rad or m].'
            )
            for member in self.spec.joints
        )

    def actuator_offsets(self, description: str) -> tuple[float, ...]:
        """
        Return the actuators' offsets in role order.

        :param description: What the offset means to the type, one sentence with the unit.
        :raises ParameterError: If one is set to a number that is not finite.
        """
        return tuple(
            self._member_number('actuators', member, OFFSET, description)
            for member in self.spec.actuators
        )

    def _reduction(self, side: str, member: TransmissionEnd) -> float:
        return self._member_number(
            side,
            member,
            MECHANICAL_REDUCTION,
            'Reduction, actuator over joint; negative reverses the sense.',
            nonzero=True,
        )

    def _member_number(
        self,
        side: str,
        member: TransmissionEnd,
        field: str,
        description: str,
        nonzero: bool = False,
    ) -> float:
        scope = (side, member.name)
        value: float = getattr(member, field)
        tag = REDUCTION_TAGS[self.spec.dialect] if field == MECHANICAL_REDUCTION else field
        self._asked.append(_Asked(field, scope, f'<{tag}>', True, field in member.given, value))
        return self._tunable((*scope, field), value, description, nonzero=nonzero)

    # -- parameters of the plugin ----------------------------------------------------------------

    def number(
        self,
        name: str,
        *,
        description: str,
        default: float | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
        nonzero: bool = False,
        joint: int | None = None,
        actuator: int | None = None,
    ) -> float:
        """
        Return a number, of the transmission or of one of its members.

        :param name: Name of the ``<param>``, attribute or child element.
        :param description: One sentence with the unit, shown by ``ros2 param describe``.
        :param default: Used where the description has none; ``None`` makes it required.
        :param minimum: Smallest value allowed.
        :param maximum: Largest value allowed.
        :param nonzero: Whether zero is refused.
        :param joint: Index of a joint, to read below that joint.
        :param actuator: Index of an actuator, to read below that actuator.
        :raises TransmissionError: If it is missing, not a number, or given by two elements that
            differ.
        :raises ParameterError: If it is out of range.
        """
        prefix, parameters = self._scope(joint, actuator)
        found = self._find(name, parameters)
        path = (*prefix, name)
        if found is None:
            if default is None:
                raise self.error(f'parameter {".".join(path)} is missing', parameter=name)
            value = default
        else:
            try:
                value = parse_number(found.value)
            except ValueError as error:
                raise self.error(
                    f'parameter {".".join(path)} (line {found.line}) is not a number',
                    parameter=name,
                    expected=str(error),
                    found=repr(found.value),
                ) from None
        if (field := field_meant(name)) is not None:
            tag = f'<param name="{name}">'
            self._asked.append(_Asked(field, prefix, tag, False, found is not None, value))
        return self._tunable(
            path, value, description, minimum=minimum, maximum=maximum, nonzero=nonzero
        )

    def numbers(
        self,
        name: str,
        labels: Sequence[str],
        *,
        description: str,
        default: Sequence[float] | None = None,
        joint: int | None = None,
        actuator: int | None = None,
    ) -> tuple[float, ...]:
        """
        Return several numbers of one parameter, for example a vector ``0.1 0 -0.2``.

        Each is a live parameter of its own, ``name.label``.

        :param labels: One per number, for example ``'xyz'``.
        :param default: Used where the description has none; ``None`` makes it required.
        :raises TransmissionError: If it is missing, given by two elements that differ, not made
            of numbers, or of another length.
        :raises ParameterError: If one is set to a number that is not finite.
        """
        prefix, parameters = self._scope(joint, actuator)
        found = self._find(name, parameters)
        if found is not None:
            values = self.parse_numbers(name, found.value)
        elif default is not None:
            values = tuple(default)
        else:
            raise self.error(f'parameter {".".join((*prefix, name))} is missing', parameter=name)
        if len(values) != len(labels):
            raise self.error(
                f'parameter {".".join((*prefix, name))} has another number of values',
                parameter=name,
                expected=f'{len(labels)} ({" ".join(labels)})',
                found=f'{len(values)}: {" ".join(f"{value:g}" for value in values)}',
            )
        return tuple(
            self.declare((*prefix, name, label), value, description)
            for label, value in zip(labels, values, strict=True)
        )

    def parse_numbers(self, name: str, text: str) -> tuple[float, ...]:
        """
        Return the numbers of a text, separated by white space or commas.

        :param name: The parameter, for the message.
        :raises TransmissionError: If one of them is not a number.
        """
        try:
            return tuple(parse_number(part) for part in text.replace(',', ' ').split())
        except ValueError as error:
            raise self.error(
                f'parameter {name} is not made of numbers',
                parameter=name,
                expected=f'numbers, each {error}',
                found=repr(text),
            ) from None

    def declare(self, path: ParameterPath, value: float, description: str) -> float:
        """
        Make a number that the plugin read in its own way a live parameter.

        :param path: Its name below the transmission, for example ``('matrix', 'joint1')``.
        :returns: The value to use: that of the description, or what was set in its place.
        :raises ParameterError: If it is set to a number that is not finite.
        """
        return self._tunable(path, value, description)

    def text(
        self,
        name: str,
        *,
        default: str | None = None,
        joint: int | None = None,
        actuator: int | None = None,
    ) -> str:
        """
        Return a text, of the transmission or of one of its members.

        :raises TransmissionError: If it is missing and has no default, or given by two
            elements that differ.
        """
        prefix, parameters = self._scope(joint, actuator)
        found = self._find(name, parameters)
        if found is not None:
            return found.value
        if default is None:
            path = '.'.join((*prefix, name))
            raise self.error(f'parameter {path} is missing', parameter=name)
        return default

    def elements(self, name: str) -> tuple[ParameterSpec, ...]:
        """Return every parameter of this name at the transmission, in document order."""
        found = tuple(spec for spec in self.spec.parameters if spec.name == name)
        self._used.update(id(spec) for spec in found)
        return found

    def _scope(
        self, joint: int | None, actuator: int | None
    ) -> tuple[ParameterPath, tuple[ParameterSpec, ...]]:
        if joint is not None:
            member = self.spec.joints[joint]
            return ('joints', member.name), member.parameters
        if actuator is not None:
            member = self.spec.actuators[actuator]
            return ('actuators', member.name), member.parameters
        return (), self.spec.parameters

    def _find(self, name: str, parameters: tuple[ParameterSpec, ...]) -> ParameterSpec | None:
        found = [spec for spec in parameters if spec.name == name]
        self._used.update(id(spec) for spec in found)
        if len({spec.value for spec in found}) > 1:
            raise self.error(
                f'parameter {name} is given more than once',
                parameter=name,
                expected='one value',
                found=', '.join(f'{spec.value!r} in line {spec.line}' for spec in found),
            )
        return found[0] if found else None

    def _tunable(
        self,
        path: ParameterPath,
        default: float,
        description: str,
        *,
        minimum: float | None = None,
        maximum: float | None = None,
        nonzero: bool = False,
        may_be_infinite: bool = False,
    ) -> float:
        value = self._overrides.get(path, default)
        tunable = Tunable(
            path, value, default, description, minimum, maximum, nonzero, may_be_infinite
        )
        self._tunables[path] = tunable
        return tunable.check(value, transmission=self.spec.name)

    # -- what the host asks ----------------------------------------------------------------------

    def actuator_limits(self) -> None:
        """
        Make the limits of actuators live parameters, where the description gives any.

        They stand in ``<limit lower upper velocity effort/>`` of an ``<actuator>``, or in
        ``<param>``s of these names that the plugin did not read. One that is missing is infinite,
        which may be written as well, ``inf``.

        :raises TransmissionError: If a limit is not a number, is given twice, or has another name.
        :raises ParameterError: If a magnitude is negative, or the limits exclude each other.
        """
        for side, tag, members in (
            ('joints', "the URDF's <limit>", self.spec.joints),
            ('actuators', '<limit>', self.spec.actuators),
        ):
            self._asked += [
                _Asked(LIMIT, (side, member.name), tag, True, False, math.inf)
                for member in members
            ]
        for member in self.spec.actuators:
            given = self._limits_of(member)
            if not given:
                continue
            values = {
                name: self._tunable(
                    ('actuators', member.name, 'limit', name),
                    given.get(name, default),
                    description,
                    minimum=None if name in ('lower', 'upper') else 0.0,
                    may_be_infinite=True,
                )
                for name, (default, description) in ACTUATOR_LIMITS.items()
            }
            lower, upper = values['lower'], values['upper']
            if lower > upper or lower == math.inf or upper == -math.inf:
                raise self.error(
                    f"the position limits of actuator '{member.name}' exclude each other",
                    parameter=f'actuators.{member.name}.limit.lower',
                    expected='lower <= upper',
                    found=f'{lower:g} and {upper:g}',
                )

    def _limits_of(self, member: TransmissionEnd) -> dict[str, float]:
        texts: dict[str, str] = {}
        for spec in member.parameters:
            if id(spec) in self._used:
                continue
            found: tuple[tuple[str, str], ...]
            if spec.name in ACTUATOR_LIMITS:
                found = ((spec.name, spec.value),)
            elif spec.name == 'limit' and not spec.value and not spec.children:
                found = spec.attributes
            else:
                continue
            self._used.add(id(spec))
            for name, text in found:
                if name not in ACTUATOR_LIMITS or texts.setdefault(name, text) != text:
                    raise self.error(
                        f"the limit of actuator '{member.name}' (line {spec.line}) cannot be read",
                        parameter=name,
                        expected=f'each of {", ".join(ACTUATOR_LIMITS)} at most once',
                        found=f'{name}={text!r}',
                    )
        values = {}
        for name, text in texts.items():
            try:
                # Infinity is what a limit becomes that is taken away.
                values[name] = float(text) if text in INFINITE else parse_number(text)
            except ValueError as error:
                raise self.error(
                    f"limit {name} of actuator '{member.name}' is not a number",
                    parameter=name,
                    expected=str(error),
                    found=repr(text),
                ) from None
        return values

    def actuator_units(self, *, turn: bool) -> dict[str, ActuatorUnits]:
        """
        Return the units of drivers, by actuator; a torque constant becomes a live parameter.

        They stand in ``<param>``s of an ``<actuator>`` that the plugin did not read: see
        :data:`~transmission_bridge.transmissions.units.UNITS`.

        :param turn: Whether the mechanism itself says that its actuators turn.
        :raises TransmissionError: If a unit cannot be used, is given twice, stands elsewhere or
            under a misspelt name, in place of which SI would be used.
        """
        found = {}
        for member in self.spec.actuators:
            texts: dict[str, str] = {}
            for spec in member.parameters:
                if id(spec) in self._used or spec.name not in (*UNITS, *CONSTANTS):
                    continue
                if texts.setdefault(spec.name, spec.value) != spec.value:
                    raise self._not_a_unit(member, spec, 'is given more than once', 'one value')
            try:
                units = read_units(texts)
                if units is not None and units.slides and turn:
                    raise TransmissionError(
                        'the actuator turns',
                        expected='rad, deg, turn or tick, and N m, mN m, A or percent',
                        found=', '.join(map(repr, texts.values())),
                    )
            except TransmissionError as error:
                raise self.error(
                    f"units of actuator '{member.name}' (line {member.line}): {error.message}",
                    parameter=error.parameter,
                    expected=error.expected,
                    found=error.found,
                ) from None
            if units is None:
                continue
            needed = units.constants
            self._used.update(
                id(spec) for spec in member.parameters if spec.name in (*UNITS, *needed)
            )
            if 'torque_constant' in needed:
                units = units.with_torque_constant(
                    self._tunable(
                        ('actuators', member.name, 'torque_constant'),
                        parse_number(texts['torque_constant']),
                        CONSTANTS['torque_constant'],
                        minimum=SMALLEST,
                    )
                )
            found[member.name] = units
        self._refuse_misplaced_units()
        return found

    def _refuse_misplaced_units(self) -> None:
        """A unit that nobody reads would be SI, and the robot would move by as much more."""
        for member in (*self.spec.joints, *self.spec.actuators):
            for spec in member.parameters:
                if id(spec) not in self._used and (name := unit_meant(spec.name)) is not None:
                    side = 'actuator' if member in self.spec.actuators else 'joint'
                    what = f'is not read at this {side}'
                    raise self._not_a_unit(member, spec, what, f'{name} inside an <actuator>')
        for spec in self.spec.parameters:
            if id(spec) not in self._used and (name := unit_meant(spec.name)) is not None:
                what = 'is not read at the transmission'
                raise self._not_a_unit(None, spec, what, f'{name} inside an <actuator>')

    def _not_a_unit(
        self, member: TransmissionEnd | None, spec: ParameterSpec, what: str, expected: str
    ) -> TransmissionError:
        of = '' if member is None else f" of '{member.name}'"
        return self.error(
            f"'{spec.name}'{of} (line {spec.line}) {what}",
            parameter=spec.name,
            expected=expected,
            found=repr(spec.value),
        )

    def passed_by_role(self) -> frozenset[str]:
        """
        Return the interfaces that pass from actuator to joint by role.

        ROS 1's ``<ignoreTransmissionAbsoluteEncoder>`` in every joint is read before.

        :raises TransmissionError: If one is not true or false, or does not stand at the
            transmission.
        """
        known = {name.replace('_', ''): name for name in BY_ROLE}
        found = set()
        for member in (None, *self.spec.joints, *self.spec.actuators):
            for spec in (member or self.spec).parameters:
                letters = spec.name.replace('_', '').lower().replace('transmission', '')
                if letters not in known or id(spec) in self._used:
                    continue
                name, value = known[letters], spec.value.lower()
                if member or spec.name != name or value not in ('true', 'false'):
                    place = f'<param name="{name}">true</param> inside the <transmission>'
                    if (self.spec.dialect, name) == ('ros_control', 'ignore_absolute_encoder'):
                        place = '<ignoreTransmissionAbsoluteEncoder/> inside every <joint>'
                    raise self.error(
                        f"'{spec.name}' (line {spec.line}) cannot be read here",
                        parameter=name,
                        expected=place,
                        found=repr(spec.value),
                    )
                self._used.add(id(spec))
                if value == 'true':
                    found.add(BY_ROLE[name])
        return frozenset(found)

    def error(
        self, message: str, *, parameter: str = '', expected: str = '', found: str = ''
    ) -> TransmissionError:
        """Return an error that names this transmission, to be raised by the plugin."""
        return TransmissionError(
            message,
            transmission=self.spec.name,
            parameter=parameter,
            expected=expected,
            found=found,
        )

    @property
    def tunables(self) -> tuple[Tunable, ...]:
        """The numbers that the plugin asked for, in the order of asking."""
        return tuple(self._tunables.values())

    def unused(self) -> tuple[Finding, ...]:
        """
        Return a finding for everything in the description that the plugin did not ask for.

        It is an error where the transmission must not be used: a number that is named like a
        reduction, an offset or a limit is not the default that is used in its place. Else a
        warning.
        """
        findings = []
        for side, members in (('joints', self.spec.joints), ('actuators', self.spec.actuators)):
            for member in members:
                scope = (side, member.name)
                for field in (MECHANICAL_REDUCTION, OFFSET):
                    if field in member.given and not self._own(field, scope):
                        value: float = getattr(member, field)
                        what = f"{field} of {side[:-1]} '{member.name}'"
                        read = self._read_instead(field, scope)
                        findings.append(self._not_used(what, member, f'{value:g}', value, read))
                findings.extend(self._unused_parameters(member.parameters, scope))
        findings.extend(self._unused_parameters(self.spec.parameters, ()))
        return tuple(findings)

    def _unused_parameters(
        self, parameters: tuple[ParameterSpec, ...], scope: ParameterPath
    ) -> list[Finding]:
        findings = []
        for spec in parameters:
            if id(spec) in self._used:
                continue
            if _is_reversed(spec):
                findings.append(self._not_reversed(spec, scope))
            else:
                field = field_meant(spec.name)
                try:
                    value = parse_number(spec.value)
                except ValueError:
                    value = None  # what cannot be read is not the default for certain
                findings.append(
                    self._not_used(
                        f"parameter '{spec.name}'",
                        spec,
                        repr(spec.value),
                        value,
                        [] if field is None else self._read_instead(field, scope),
                    )
                )
        return findings

    def _not_reversed(self, spec: ParameterSpec, scope: ParameterPath) -> Finding:
        """
        Return the error for a sense that the type does not read.

        ros2_control drops it without a word, so that one URDF would move opposite ways there and
        here if it counted.
        """
        places = self._places(self._read_instead(MECHANICAL_REDUCTION, scope))
        return Finding(
            'error',
            f"transmission '{self.spec.name}' cannot be used: '{spec.name}' is not used by "
            f'{self.spec.type}' + ('; write a negative mechanical_reduction' if places else ''),
            line=spec.line,
            path=spec.path,
            expected=f'a negative {places}' if places else f"no '{spec.name}'",
            found=repr(spec.value),
            subject=self.spec.name,
            fatal_if_strict=True,
        )

    def _own(self, field: str, scope: ParameterPath) -> list[_Asked]:
        """Return what was asked for of this one member, nothing or one number."""
        return [
            asked
            for asked in self._asked
            if asked.of_member and (asked.field, asked.scope) == (field, scope)
        ]

    def _read_instead(self, field: str, scope: ParameterPath) -> list[_Asked]:
        """
        Return the numbers that one written at ``scope`` may have been meant for.

        The member's own, else those of all members; and the plugin's of that name there, or
        anywhere if it reads none of the members.
        """
        of_field = [asked for asked in self._asked if asked.field == field]
        of_members = self._own(field, scope) or [each for each in of_field if each.of_member]
        of_plugin = [each for each in of_field if not each.of_member and each.scope == scope]
        return of_members + of_plugin or of_field

    def _not_used(
        self,
        what: str,
        spec: TransmissionEnd | ParameterSpec,
        found: str,
        value: float | None,
        read: list[_Asked],
    ) -> Finding:
        message = f'{what} is not used by {self.spec.type}'
        missing = [asked for asked in read if not asked.given]
        wrong = [asked for asked in missing if asked.value != value]
        if wrong:
            instead = ' or '.join(dict.fromkeys(f'{asked.value:g}' for asked in wrong))
            message = (
                f"transmission '{self.spec.name}' cannot be used: {message}, "
                f'which would take {instead} instead'
            )
        expected = self._places(wrong or missing or read)
        return Finding(
            'error' if wrong else 'warning',
            message,
            line=spec.line,
            path=spec.path,
            expected=expected if missing or not expected else f'only {expected}',
            found=found,
            subject=self.spec.name,
            fatal_if_strict=True,
        )

    def _places(self, numbers: list[_Asked]) -> str:
        """Return where numbers are read, as the user would write them."""
        places: dict[str, list[str]] = {}
        for asked in numbers:
            side, name = asked.scope or ('transmissions', self.spec.name)
            places.setdefault(asked.tag, []).append(f'<{side[:-1]} name="{name}">')
        return ', or '.join(
            f'{tag} inside {" or ".join(dict.fromkeys(elements))}'
            for tag, elements in places.items()
        )


def _is_reversed(spec: ParameterSpec) -> bool:
    """Whether a parameter says that something turns the other way; ``false`` says nothing new."""
    return spec.name.lower() in ('reverse', 'reversed') and spec.value.lower() != 'false'


def _count(number: int, noun: str) -> str:
    return f'{number} {noun}' + ('' if number == 1 else 's')
