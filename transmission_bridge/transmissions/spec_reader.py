# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
How a plugin reads its description: every number asked for becomes a live parameter.

The reader remembers what was asked for. The rest is reported to the user, so that nothing written
in a URDF is ignored in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transmission_bridge.description.control_specs import (
    MemberSpec,
    ParameterSpec,
    TransmissionSpec,
)
from transmission_bridge.description.numbers import parse_number
from transmission_bridge.description.specs import Finding
from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.tunable import ParameterPath, Tunable

__all__ = ['SpecReader']


class SpecReader:
    """
    Access to one :class:`TransmissionSpec` on behalf of a plugin.

    :param spec: The description, members in role order.
    :param overrides: Values that replace those of the description, by parameter path.
    """

    def __init__(
        self, spec: TransmissionSpec, overrides: Mapping[ParameterPath, float] | None = None
    ) -> None:
        self.spec = spec
        self._overrides = dict(overrides or {})
        self._tunables: dict[ParameterPath, Tunable] = {}
        self._used: set[int] = set()
        self._used_fields: set[tuple[str, str, str]] = set()

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
        """Return the joints' reductions in role order."""
        return tuple(self._reduction('joints', member) for member in self.spec.joints)

    def actuator_reductions(self) -> tuple[float, ...]:
        """Return the actuators' reductions in role order."""
        return tuple(self._reduction('actuators', member) for member in self.spec.actuators)

    def joint_offsets(self) -> tuple[float, ...]:
        """Return the joints' offsets in role order [rad or m]."""
        return tuple(
            self._member_number(
                'joints', member, 'offset', 'Joint position at actuator zero [rad or m].'
            )
            for member in self.spec.joints
        )

    def _reduction(self, side: str, member: MemberSpec) -> float:
        return self._member_number(
            side,
            member,
            'mechanical_reduction',
            'Reduction, actuator over joint; negative reverses the sense.',
            nonzero=True,
        )

    def _member_number(
        self, side: str, member: MemberSpec, field: str, description: str, nonzero: bool = False
    ) -> float:
        self._used_fields.add((side, member.name, field))
        return self._tunable(
            (side, member.name, field), getattr(member, field), description, nonzero=nonzero
        )

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
        :raises TransmissionError: If it is missing or not a number.
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
        :raises TransmissionError: If it is missing, not made of numbers, or of another length.
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

        :raises TransmissionError: If it is missing and has no default.
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
    ) -> float:
        value = self._overrides.get(path, default)
        tunable = Tunable(path, value, default, description, minimum, maximum, nonzero)
        self._tunables[path] = tunable
        return tunable.check(value, transmission=self.spec.name)

    # -- what the host asks ----------------------------------------------------------------------

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
        """Return a warning for everything in the description that the plugin did not ask for."""
        findings = []
        for side, members in (('joints', self.spec.joints), ('actuators', self.spec.actuators)):
            for member in members:
                for field in ('mechanical_reduction', 'offset'):
                    used = (side, member.name, field) in self._used_fields
                    if field in member.given and not used:
                        findings.append(
                            self._ignored(
                                f"{field} of {side[:-1]} '{member.name}'",
                                member.line,
                                member.path,
                                f'{getattr(member, field):g}',
                            )
                        )
                findings.extend(self._unused_parameters(member.parameters))
        findings.extend(self._unused_parameters(self.spec.parameters))
        return tuple(findings)

    def _unused_parameters(self, parameters: tuple[ParameterSpec, ...]) -> list[Finding]:
        return [
            self._ignored(f"parameter '{spec.name}'", spec.line, spec.path, repr(spec.value))
            for spec in parameters
            if id(spec) not in self._used
        ]

    def _ignored(self, what: str, line: int | None, path: str, found: str) -> Finding:
        return Finding(
            'warning',
            f'{what} is not used by {self.spec.type}',
            line=line,
            path=path,
            found=found,
            subject=self.spec.name,
            fatal_if_strict=True,
        )


def _count(number: int, noun: str) -> str:
    return f'{number} {noun}' + ('' if number == 1 else 's')
