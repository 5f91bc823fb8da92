# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A number of a transmission that can be changed while it is in use."""

from __future__ import annotations

from dataclasses import dataclass
import math
import re

from transmission_bridge.errors import ParameterError

#: ``('joints', 'roll', 'offset')``, or ``('rod_length',)`` for a parameter of the plugin.
ParameterPath = tuple[str, ...]

#: Parameters of every transmission that are true or false: whether its sensors are at the joints,
#: so that the values of an interface pass from actuator to joint by role, unmapped.
BY_ROLE = {'ignore_absolute_encoder': 'absolute_position', 'ignore_torque_sensor': 'torque'}


@dataclass(frozen=True, slots=True)
class Tunable:
    """
    A number of a transmission that can be changed while it is in use, or one of :data:`BY_ROLE`.

    :param path: Where it stands below the transmission.
    :param value: The value in use; true or false of a flag.
    :param default: The value of the description.
    :param minimum: Smallest value allowed, ``None``: open.
    :param maximum: Largest value allowed, ``None``: open.
    :param nonzero: Whether zero is refused.
    :param may_be_infinite: Whether infinity is accepted: no limit.
    :param transmission: Name of the transmission.
    """

    path: ParameterPath
    value: float
    default: float
    description: str
    minimum: float | None = None
    maximum: float | None = None
    nonzero: bool = False
    may_be_infinite: bool = False
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
        """The unit in brackets at the end of its description, empty if there is none."""
        found = re.search(r'\[([^]]*)\]\W*$', self.description)
        return found[1] if found else ''

    @property
    def shapes_map(self) -> bool:
        """Whether positions depend on it: limits, ``max_gain`` and torque constants do not."""
        return not (
            self.is_actuator_limit or self.is_torque_constant or self.path == ('max_gain',)
        )

    @property
    def is_torque_constant(self) -> bool:
        """Whether it is ``actuators.<name>.torque_constant``, of the unit of effort."""
        return len(self.path) == 3 and self.path[::2] == ('actuators', 'torque_constant')

    @property
    def is_actuator_limit(self) -> bool:
        """Whether it is one of ``actuators.<name>.limit``; a type may read a ``limit`` itself."""
        return len(self.path) == 4 and self.path[::2] == ('actuators', 'limit')

    def check(self, value: float, *, transmission: str = '') -> float:
        """
        Return ``value`` if it can be accepted.

        :raises ParameterError: If it is not finite, zero where that is refused, or out of range.
        """
        expected = ''
        least = -math.inf if self.minimum is None else self.minimum
        greatest = math.inf if self.maximum is None else self.maximum
        if math.isnan(value) or (math.isinf(value) and not self.may_be_infinite):
            expected = 'a number' if self.may_be_infinite else 'a finite number'
        elif self.nonzero and value == 0.0:
            expected = 'a number other than zero'
        elif not least <= value <= greatest:
            expected = f'a number in [{least:g}, {greatest:g}]'
        if expected:
            name = '.'.join(self.path)
            raise ParameterError(
                f'{name} cannot be accepted',
                transmission=transmission,
                parameter=name,
                expected=expected,
                found=repr(value),
            )
        return value
