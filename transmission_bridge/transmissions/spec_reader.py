# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Reads the description of a plugin; every number that it requests becomes a live parameter.

The reader records each request. Everything else is reported to the user, so no part of a URDF is
ignored silently. A reduction or an offset in a place that is not read is an error if the one that
is read is missing: the robot would run with a different ratio. A limit that is not read is also an
error: the robot would run without it.

Plugins of others call the public methods of a reader in their ``from_spec``. Then the builder
calls the requests of the host, which take what the plugin did not read, and ``unused`` at the end.
A reader serves one transmission, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import math
from typing import Any

from transmission_bridge.description import (
    Finding,
    MemberSpec,
    ParameterSpec,
    REDUCTION_TAGS,
    RobotDescription,
    Severity,
    TransmissionSpec,
)
from transmission_bridge.description.document import (
    INFINITE,
    MECHANICAL_REDUCTION,
    OFFSET,
    parse_number,
)
from transmission_bridge.errors import counted, find_closest_names, shown, TransmissionError
from transmission_bridge.transmissions.known_names import find_known_name, LIMIT, REVERSED
from transmission_bridge.transmissions.robot.units import (
    ActuatorUnits,
    CONSTANTS,
    read_actuator_units,
    SMALLEST,
    UNITS,
)
from transmission_bridge.transmissions.tunable import BY_ROLE, LiveNumber, ParameterPath, Tunable

#: Description of every reduction, for users.
REDUCTION = 'Reduction, actuator over joint; negative reverses the direction.'

#: Names of an actuator's limits as users spell them, their defaults, and their descriptions. The
#: reader and the files for ros2_control rely on this order.
ACTUATOR_LIMITS = {
    'lower': (-math.inf, 'Smallest position of the actuator, at the motor [rad or m].'),
    'upper': (math.inf, 'Largest position of the actuator, at the motor [rad or m].'),
    'velocity': (math.inf, 'Largest speed of the actuator, at the motor [rad/s or m/s].'),
    'effort': (math.inf, 'Largest effort of the actuator, at the motor [N m or N].'),
}


@dataclass(frozen=True, slots=True)
class _Request:
    """
    A reduction, an offset or a limit that the plugin or the host requested.

    ``scope`` is ``('joints', name)``, ``('actuators', name)`` or ``()``; ``tag`` the element that
    is read. ``value`` is the number of the description, or the default if it is not ``given``.
    """

    field: str
    scope: ParameterPath
    tag: str
    given: bool
    value: float


class SpecReader:
    """
    Access to one :class:`TransmissionSpec` for a plugin.

    :param spec: The description, members in role order.
    :param overrides: Values that replace described values, by parameter path.
    :param robot: The robot that contains the transmission; some types need its joints and links.
    :param passive_joints: Which passive joints of the transmission are published.
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
        members = {'joints': spec.joints, 'actuators': spec.actuators}
        self._members: list[tuple[ParameterPath, MemberSpec]] = [
            ((side, member.name), member) for side, ends in members.items() for member in ends
        ]
        self._overrides = dict(overrides or {})
        self._tunables: dict[ParameterPath, Tunable] = {}
        self._tags = {
            MECHANICAL_REDUCTION: f'<{REDUCTION_TAGS[spec.dialect]}>',
            OFFSET: '<offset>',
        }
        #: Requests fill these three and ``_tunables``: identities of the parameters that are read,
        #: the requested names, and the requests of reductions, offsets and limits.
        self._used: set[int] = set()
        self._names: list[str] = []
        self._asked: list[_Request] = []

    # -- members ---------------------------------------------------------------------------------

    def require_members(self, *, joints: int, actuators: int) -> None:
        """
        Check the numbers of joints and actuators.

        :param joints: Number of joints of the type.
        :param actuators: Number of actuators of the type.
        :raises TransmissionError: If the description has other numbers.
        """
        expected, found = (
            f'{counted(n, "joint")} and {counted(m, "actuator")}'
            for n, m in ((joints, actuators), (len(self.spec.joints), len(self.spec.actuators)))
        )
        if found != expected:
            message = f'{self.spec.type} requires other numbers of joints and actuators'
            raise self.error(message, expected=expected, found=found)

    def joint_reductions(self) -> tuple[float, ...]:
        """
        Return the joints' reductions in role order.

        :raises ParameterError: If one is set to zero.
        """
        return self._member_numbers('joints', MECHANICAL_REDUCTION, REDUCTION)

    def actuator_reductions(self) -> tuple[float, ...]:
        """
        Return the actuators' reductions in role order.

        :raises ParameterError: If one is set to zero.
        """
        return self._member_numbers('actuators', MECHANICAL_REDUCTION, REDUCTION)

    def joint_offsets(self) -> tuple[float, ...]:
        """
        Return the joints' offsets in role order [rad or m].

        :raises ParameterError: If one is set to a number that is not finite.
        """
        description = 'Joint position at actuator zero [rad or m].'
        return self._member_numbers('joints', OFFSET, description)

    def actuator_offsets(self, description: str) -> tuple[float, ...]:
        """
        Return the actuators' offsets in role order.

        :param description: Meaning of the offset for the type, one sentence with the unit.
        :returns: The offsets; zero if not given.
        :raises ParameterError: If one is set to a number that is not finite.
        """
        return self._member_numbers('actuators', OFFSET, description)

    def _member_numbers(self, side: str, field: str, description: str) -> tuple[float, ...]:
        nonzero, numbers = field == MECHANICAL_REDUCTION, []
        for scope, member in self._members:
            if scope[0] == side:
                value: float = getattr(member, field)
                given = field in member.given
                self._asked.append(_Request(field, scope, self._tags[field], given, value))
                live = self.declare((*scope, field), value, description, nonzero=nonzero)
                numbers.append(live)
        return tuple(numbers)

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
        :param default: Value if the description has none; ``None`` makes it required.
        :param minimum: Smallest allowed value.
        :param maximum: Largest allowed value.
        :param nonzero: Whether zero is invalid.
        :param joint: Index of a joint, to read a parameter of that joint.
        :param actuator: Index of an actuator, to read a parameter of that actuator.
        :returns: The current value.
        :raises TransmissionError: If it is missing, not a number, or given by two different
            elements.
        :raises ParameterError: If it is out of range.
        """
        path, parameter = self._find_parameter(name, joint, actuator, default)
        value = default or 0.0
        if parameter is not None:
            what = f'parameter {".".join(path)} (line {parameter.line})'
            value = self._parse_number(what, name, parameter.value)
        if meaning := find_known_name(name):
            tag, given = f'<param name="{name}">', parameter is not None
            self._asked.append(_Request(meaning, path[:-1], tag, given, value))
        return self.declare(
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

        Each is a separate live parameter, ``name.label``.

        :param name: Name of the ``<param>``, attribute or child element.
        :param labels: One per number, for example ``'xyz'``.
        :param description: One sentence with the unit.
        :param default: Values if the description has none; ``None`` makes it required.
        :param joint: Index of a joint, to read a parameter of that joint.
        :param actuator: Index of an actuator, to read a parameter of that actuator.
        :returns: The current values.
        :raises TransmissionError: If it is missing, given by two different elements, not made of
            numbers, or has a wrong length.
        :raises ParameterError: If one is set to a number that is not finite.
        """
        path, parameter = self._find_parameter(name, joint, actuator, default)
        values = self.parse_numbers(name, parameter.value) if parameter else tuple(default or ())
        if len(values) != len(labels):
            raise self.error(
                f'parameter {".".join(path)} has a wrong number of values',
                parameter=name,
                expected=f'{len(labels)} ({" ".join(labels)})',
                found=f'{len(values)}: {" ".join(f"{value:g}" for value in values)}',
            )
        return tuple(
            self.declare((*path, label), value, description)
            for label, value in zip(labels, values, strict=True)
        )

    def parse_numbers(self, name: str, text: str) -> tuple[float, ...]:
        """
        Return the numbers of a text, separated by white space or commas.

        :param name: The parameter, for the message.
        :param text: The text.
        :returns: The numbers.
        :raises TransmissionError: If one of them is not a number.
        """
        parts = text.replace(',', ' ').split()
        return tuple(self._parse_number(f'parameter {name}', name, part) for part in parts)

    def declare(self, path: ParameterPath, value: float, description: str, **bounds: Any) -> float:
        """
        Make a number that the plugin read in its own way a live parameter.

        :param path: Its name below the transmission, for example ``('matrix', 'joint1')``.
        :param value: The value of the description.
        :param description: One sentence with the unit.
        :param bounds: ``minimum``, ``maximum`` and ``nonzero``, as in :meth:`number`.
        :returns: The current value: the described value, or its replacement.
        :raises ParameterError: If it is out of range or not finite.
        """
        now = self._overrides.get(path, value)
        tunable = Tunable(path, now, value, description, transmission=self.spec.name, **bounds)
        self._tunables[path] = tunable
        return LiveNumber(tunable.check_value(now), path)

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

        :param name: Name of the ``<param>``, attribute or child element.
        :param default: Text if the description has none; ``None`` makes it required.
        :param joint: Index of a joint, to read a parameter of that joint.
        :param actuator: Index of an actuator, to read a parameter of that actuator.
        :returns: The text.
        :raises TransmissionError: If it is missing and required, or given by two different
            elements.
        """
        _, parameter = self._find_parameter(name, joint, actuator, default)
        return parameter.value if parameter else default or ''

    def elements(self, name: str) -> tuple[ParameterSpec, ...]:
        """Return every parameter of the transmission with this name, in document order."""
        return self._mark_used(spec for spec in self.spec.parameters if spec.name == name)

    def _find_parameter(
        self, name: str, joint: int | None, actuator: int | None, default: object
    ) -> tuple[ParameterPath, ParameterSpec | None]:
        """Return the path of a parameter, and the parameter if it is given or required."""
        scope: ParameterPath = ()
        parameters = self.spec.parameters
        for side, index in (('joints', joint), ('actuators', actuator)):
            if index is not None:
                member = getattr(self.spec, side)[index]
                scope, parameters = (side, member.name), member.parameters
        path = (*scope, name)
        self._names.append(name)
        named = self._mark_used(spec for spec in parameters if spec.name == name)
        parameter = self._pick(name, named)
        if parameter is None and default is None:
            raise self.error(f'parameter {".".join(path)} is missing', parameter=name)
        return path, parameter

    def _pick(self, name: str, named: Sequence[ParameterSpec]) -> ParameterSpec | None:
        """Return the parameter; several are accepted if their values are equal."""
        if len({spec.value for spec in named}) > 1:
            raise self.error(
                f'parameter {name} is given more than once',
                parameter=name,
                expected='one value',
                found=', '.join(f'{spec.value!r} in line {spec.line}' for spec in named),
            )
        return named[0] if named else None

    def _mark_used(self, specs: Iterable[ParameterSpec]) -> tuple[ParameterSpec, ...]:
        """Mark these parameters as used."""
        marked = tuple(specs)
        self._used.update(map(id, marked))
        return marked

    def _list_unused(self, parameters: Iterable[ParameterSpec]) -> list[ParameterSpec]:
        """Return the unused parameters."""
        return [spec for spec in parameters if id(spec) not in self._used]

    def _parse_number(self, what: str, name: str, text: str) -> float:
        try:
            return parse_number(text)
        except ValueError as error:
            raise self.error(
                f'{what} is not a number', parameter=name, expected=str(error), found=repr(text)
            ) from None

    # -- requests of the host --------------------------------------------------------------------

    def actuator_limits(self) -> None:
        """
        Make the limits of actuators live parameters, if the description has any.

        They are attributes of ``<limit lower upper velocity effort/>`` of an ``<actuator>``, or
        ``<param>`` elements of these names that the plugin did not read. A missing limit is
        infinite; ``inf`` may also be written.

        :raises TransmissionError: If a limit is not a number, is given twice, or has an unknown
            name.
        :raises ParameterError: If a magnitude is negative, or the limits exclude each other.
        """
        for scope, _ in self._members:
            tag = "the URDF's <limit>" if scope[0] == 'joints' else '<limit>'
            self._asked.append(_Request(LIMIT, scope, tag, False, math.inf))
        for member in self.spec.actuators:
            texts: dict[str, str] = {}
            for spec in self._list_unused(member.parameters):
                is_element = spec.name == 'limit' and not spec.value and not spec.children
                if not is_element and spec.name not in ACTUATOR_LIMITS:
                    continue
                self._mark_used([spec])
                for name, text in spec.attributes if is_element else [(spec.name, spec.value)]:
                    if name not in ACTUATOR_LIMITS or texts.setdefault(name, text) != text:
                        raise self.error(
                            f"the limit of actuator '{member.name}' (line {spec.line}) is invalid",
                            parameter=name,
                            expected=f'each of {", ".join(ACTUATOR_LIMITS)} at most once',
                            found=f'{name}={text!r}',
                        )
            if not texts:
                continue
            # A limit that is removed becomes infinite.
            given = {
                name: float(text)
                if text in INFINITE
                else self._parse_number(f"limit {name} of actuator '{member.name}'", name, text)
                for name, text in texts.items()
            }
            lower, upper, *_ = (
                self.declare(
                    ('actuators', member.name, 'limit', name),
                    given.get(name, default),
                    description,
                    minimum=None if name in ('lower', 'upper') else 0.0,
                )
                for name, (default, description) in ACTUATOR_LIMITS.items()
            )
            if lower > upper or lower == math.inf or upper == -math.inf:
                raise self.error(
                    f"the position limits of actuator '{member.name}' exclude each other",
                    parameter=f'actuators.{member.name}.limit.lower',
                    expected='lower <= upper',
                    found=f'{lower:g} and {upper:g}',
                )

    def actuator_units(self, *, turn: bool) -> dict[str, ActuatorUnits]:
        """
        Return the driver units by actuator; a torque constant becomes a live parameter.

        They are ``<param>`` elements of an ``<actuator>`` that the plugin did not read, see
        :data:`~transmission_bridge.transmissions.robot.units.UNITS`.

        :param turn: Whether the type requires rotary actuators.
        :returns: The units of the actuators that have any.
        :raises TransmissionError: If a unit is invalid or given twice.
        """
        units_of = {}
        for member in self.spec.actuators:
            left = self._list_unused(member.parameters)
            given = {
                name: self._pick(name, [spec for spec in left if spec.name == name])
                for name in (*UNITS, *CONSTANTS)
            }
            texts = {name: spec.value for name, spec in given.items() if spec is not None}
            if texts.keys().isdisjoint(UNITS):
                continue
            try:
                units = read_actuator_units(texts)
                if units.slides and turn:
                    raise TransmissionError(
                        'the actuator is rotary',
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
            self._mark_used(spec for spec in left if spec.name in (*UNITS, *units.constant_names))
            if 'torque_constant' in units.constant_names:
                value = self.declare(
                    ('actuators', member.name, 'torque_constant'),
                    parse_number(texts['torque_constant']),
                    CONSTANTS['torque_constant'],
                    minimum=SMALLEST,
                )
                units = read_actuator_units({**texts, 'torque_constant': repr(float(value))})
            units_of[member.name] = units
        return units_of

    def passed_by_role(self) -> frozenset[str]:
        """
        Return the interfaces that pass from actuator to joint by role.

        Flags are ``<param>`` elements, or ROS 1's ``<ignoreTransmissionAbsoluteEncoder>`` in every
        joint.

        :returns: Names of interfaces.
        """
        given = [spec for spec in self.spec.parameters if spec.name in BY_ROLE]
        read = self._mark_used(x for x in given if x.value.lower() in ('true', 'false'))
        names = {spec.name for spec in read if spec.value.lower() == 'true'}
        if self.spec.ignore_absolute_encoder:
            names.add('ignore_absolute_encoder')
        return frozenset(BY_ROLE[name] for name in names)

    def error(
        self, message: str, *, parameter: str = '', expected: str = '', found: str = ''
    ) -> TransmissionError:
        """Return an error that names this transmission, for the plugin to raise."""
        return TransmissionError(
            message,
            transmission=self.spec.name,
            parameter=parameter,
            expected=expected,
            found=found,
        )

    @property
    def tunables(self) -> tuple[Tunable, ...]:
        """The numbers that the plugin requested, in the order of requests."""
        return tuple(self._tunables.values())

    def unused(self) -> tuple[Finding, ...]:
        """
        Return a finding for everything in the description that the plugin did not request.

        The finding is an error if the transmission must not be used: if the closest known name is
        that of a unit or a flag, or of a reduction, an offset or a limit that differs from the
        default in use. A parameter of an actuator without a known name, such as ``id``, is the
        driver's: an information. All others are warnings.

        :returns: The findings.
        """
        owners = [(scope, end.parameters) for scope, end in self._members]
        owners.append(((), self.spec.parameters))
        left = [(scope, x) for scope, own in owners for x in self._list_unused(own)]
        read = {(asked.scope, asked.tag) for asked in self._asked}
        for scope, member in self._members:
            for field in member.given & self._tags.keys():
                text = f'{getattr(member, field):.15g}'
                ours = self.spec.dialect, scope[0], field, text
                # ROS 1 requires this number of every actuator.
                is_required = ours == ('ros_control', 'actuators', MECHANICAL_REDUCTION, '1')
                if (scope, self._tags[field]) not in read and not is_required:
                    left.append((scope, ParameterSpec(field, text, member.line, member.path)))
        left.sort(key=lambda each: (each[1].line or 0, each[1].path, each[1].name))
        return tuple(self._report_unused(*unread) for unread in left)

    def _report_unused(self, scope: ParameterPath, spec: ParameterSpec) -> Finding:
        meaning = find_known_name(spec.name)
        # ros2_control ignores it silently. If it counted here, one URDF would move the robot
        # in opposite directions there and here.
        is_reversed = meaning == REVERSED and spec.value.lower() != 'false'
        field = MECHANICAL_REDUCTION if is_reversed else meaning
        # The numbers here if one is the own of a member, otherwise all.
        read = [asked for asked in self._asked if asked.field == field]
        here = [asked for asked in read if scope and asked.scope == scope]
        if any(not asked.tag.startswith('<param') for asked in here):
            read = here
        wrong = [x for x in read if not (x.given or _is_number(spec.value, x.value))]
        is_error = bool(wrong) or is_reversed or meaning in (*UNITS, *BY_ROLE)
        places = [f'{x.tag} in {self._describe_scope(x.scope)}' for x in wrong or read]
        expected = ' or '.join(dict.fromkeys(places))
        if is_reversed:
            expected = f'a negative {expected}' if expected else f"no '{spec.name}'"
        elif read and all(x.given for x in read):
            expected = f'only {expected}'
        elif meaning in (*UNITS, *BY_ROLE):
            place = 'an <actuator>' if meaning in UNITS else 'the <transmission>'
            expected = f'<param name="{meaning}"> in {place}'
        elif not read:
            expected = ''.join(map(shown, find_closest_names(spec.name, self._names, 1)))
        is_of_driver = scope[:1] == ('actuators',) and not (meaning or expected)
        is_of_driver &= spec.path.rpartition('/')[2].partition('[')[0] == 'param'
        message = f'unread <{spec.name}> in {self._describe_scope(scope)}'
        if is_error:
            message = f"transmission '{self.spec.name}' cannot be used: {message}"
        elif is_of_driver:
            message += ': it is left to the driver'
        severity: Severity = 'error' if is_error else 'info' if is_of_driver else 'warning'
        about = spec, severity, message, expected, repr(spec.value), self.spec.name
        return Finding.about(*about, fatal_if_strict=not is_of_driver)

    def _describe_scope(self, scope: ParameterPath) -> str:
        return f"{scope[0][:-1]} '{scope[1]}'" if scope else f"transmission '{self.spec.name}'"


def _is_number(text: str, value: float) -> bool:
    try:
        return parse_number(text) == value
    except ValueError:  # an unreadable text may differ from the default
        return False
