# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A live number of a transmission, which can be changed during use.

:class:`~.spec_reader.SpecReader` makes them when a transmission is built; tuning, ROS parameters,
files and the C export find them by name. Users spell these names, so paths are fixed; sentences
are free, except that the unit is in brackets at the end of a description.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import math
import re

from transmission_bridge.errors import ParameterError

#: ``('joints', 'roll', 'offset')``, or ``('rod_length',)`` for a parameter of the plugin.
ParameterPath = tuple[str, ...]

#: Flags of every transmission, as users spell them in URDFs and parameters, and their interfaces:
#: whether its sensors are at the joints. The values of the interface then pass from actuator to
#: joint by role, unmapped.
BY_ROLE = {'ignore_absolute_encoder': 'absolute_position', 'ignore_torque_sensor': 'torque'}


class LiveNumber(float):
    """
    The value of a live number, with its path. Results of arithmetic are plain numbers.

    A transmission that passes it on unchanged declares so which of its numbers is which live one.
    """

    __slots__ = ('path',)

    path: ParameterPath

    def __new__(cls, value: float, path: ParameterPath) -> LiveNumber:
        """Return a number with a path."""
        number = super().__new__(cls, value)
        number.path = path
        return number

    def __getnewargs__(self) -> tuple[float, ParameterPath]:  # type: ignore[override]
        """Return the arguments, for copies."""
        return float(self), self.path


def as_floats(values: Iterable[float]) -> tuple[float, ...]:
    """Return numbers as floats; live numbers keep their paths."""
    return tuple(value if isinstance(value, LiveNumber) else float(value) for value in values)


def list_paths(values: Iterable[float]) -> dict[int, ParameterPath]:
    """Return the paths of the live numbers among ``values``, by index."""
    return {k: value.path for k, value in enumerate(values) if isinstance(value, LiveNumber)}


@dataclass(frozen=True, slots=True)
class Tunable:
    """
    A live number of a transmission, or one of the flags :data:`BY_ROLE`; immutable.

    :param path: Its path below the transmission.
    :param value: The current value; true or false for a flag.
    :param default: The value of the description.
    :param description: One sentence with the unit.
    :param minimum: Smallest allowed value, ``None`` if unlimited.
    :param maximum: Largest allowed value, ``None`` if unlimited.
    :param nonzero: Whether zero is invalid.
    :param transmission: Name of the transmission.
    """

    path: ParameterPath
    value: float
    default: float
    description: str
    minimum: float | None = None
    maximum: float | None = None
    nonzero: bool = False
    transmission: str = ''

    @property
    def name(self) -> str:
        """Its full name, ``wrist.joints.roll.offset``."""
        return '.'.join((self.transmission, *self.path))

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false: one of :data:`BY_ROLE`."""
        return self.path[0] in BY_ROLE

    @property
    def unit(self) -> str:
        """The unit in brackets at the end of its description, or an empty string."""
        bracket = re.search(r'\[([^]]*)\]\W*$', self.description)
        return bracket[1] if bracket else ''

    @property
    def shapes_map(self) -> bool:
        """Whether positions in SI depend on it."""
        return self.is_of_map and self.path != ('max_gain',)

    @property
    def is_of_map(self) -> bool:
        """Whether the maps in SI depend on it: limits, torque constants and flags are outside."""
        is_torque = len(self.path) == 3 and self.path[::2] == ('actuators', 'torque_constant')
        return not (self.is_flag or self.is_actuator_limit or is_torque)

    @property
    def is_actuator_limit(self) -> bool:
        """Whether it is in ``actuators.<name>.limit``, and infinity means no limit."""
        return len(self.path) == 4 and self.path[::2] == ('actuators', 'limit')

    def check_value(self, value: float) -> float:
        """
        Return ``value`` if it is valid.

        :raises ParameterError: If it is not finite, zero if zero is invalid, or out of range.
        """
        expected = ''
        least = -math.inf if self.minimum is None else self.minimum
        greatest = math.inf if self.maximum is None else self.maximum
        if math.isnan(value) or (math.isinf(value) and not self.is_actuator_limit):
            expected = 'a number' if self.is_actuator_limit else 'a finite number'
        elif self.nonzero and value == 0.0:
            expected = 'a number other than zero'
        elif not least <= value <= greatest:
            expected = f'a number in [{least:g}, {greatest:g}]'
        if expected:
            raise self.make_error(expected, value)
        return value

    def make_error(
        self, expected: str, value: object, problem: str = 'is invalid'
    ) -> ParameterError:
        """Return the error for a value."""
        name = '.'.join(self.path)
        return ParameterError(
            f'{name} {problem}',
            transmission=self.transmission,
            parameter=name,
            expected=expected,
            found=repr(value),
        )
