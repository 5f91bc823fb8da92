# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Units of the numbers that drivers exchange with actuators.

A driver's number times a scale is the number at the motor in SI. Position, velocity and effort
have separate scales, because drivers mix units: turns, revolutions per minute, ampere.
Accelerations are in the unit of velocity per second.

Units belong to the table of a robot, a set for each actuator that has any, and maps are in SI. The
bridge, drivers in Python and the ros2_control component of ``compile`` apply the scales where
numbers come in and go out. URDFs and the option ``actuator_units`` spell the names of units,
parameters and constants, so these are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

from transmission_bridge.description.document import parse_number
from transmission_bridge.errors import closest, TransmissionError
from transmission_bridge.interfaces import INTERFACES, Quantity

_TURN = 2.0 * math.pi

_OF_POSITION: dict[str, float | str] = {
    'rad': 1.0,
    'deg': _TURN / 360.0,
    'turn': _TURN,
    'tick': 'ticks_per_turn',
    'm': 1.0,
    'mm': 1e-3,
}

#: Unit parameters of an actuator; for each unit its scale, or the constant that determines it. The
#: order is that of :attr:`ActuatorUnits.all_units`, and a key is a field of :class:`ActuatorUnits`
#: with ``_unit``.
UNITS: dict[str, dict[str, float | str]] = {
    'position_unit': _OF_POSITION,
    'velocity_unit': {
        **{f'{unit}/s': scale for unit, scale in _OF_POSITION.items()},
        'rpm': _TURN / 60.0,
    },
    'effort_unit': {
        'N m': 1.0,
        'mN m': 1e-3,
        'N': 1.0,
        'A': 'torque_constant',
        'percent': 'rated_effort',
    },
}

#: Constants that some of the units need, with their sentences for users.
CONSTANTS = {
    'ticks_per_turn': 'Ticks of the encoder, or steps of the motor, for each turn.',
    'torque_constant': 'Effort for each ampere [N m/A or N/A].',
    'rated_effort': 'Effort at 100 percent [N m or N].',
}

#: Each of these two units can be derived from the other.
_OF_MOTION = ('position_unit', 'velocity_unit')

#: Units of linear actuators, and units that do not distinguish linear from rotary actuators.
_SLIDING = frozenset({'m', 'mm', 'm/s', 'mm/s', 'N'})
_EITHER = frozenset({'A', 'percent'})

#: Range of scales; outside of it, a constant is in a wrong unit.
_SCALES = 1e-12, 1e12

#: Smallest constant.
SMALLEST = 1e-9

#: The row of an interface in a state and in its units.
_ROWS = dict(zip(Quantity, (0, 1, 1, 2), strict=True))


@dataclass(frozen=True, slots=True)
class DriverUnit:
    """
    The unit of an interface.

    ``text`` is empty for SI. ``scale`` times the driver's number is the number at the motor in SI.
    """

    text: str = ''
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class ActuatorUnits:
    """
    Driver units of one actuator, SI by default; the first three fields are those of :data:`UNITS`.

    ``slides`` is whether the actuator is linear, ``None`` if the units leave it open.
    """

    position: DriverUnit = DriverUnit()
    velocity: DriverUnit = DriverUnit()
    effort: DriverUnit = DriverUnit()
    slides: bool | None = None

    @property
    def all_units(self) -> tuple[DriverUnit, DriverUnit, DriverUnit]:
        """Units of position, velocity and effort: the rows of a state, and the order of UNITS."""
        return self.position, self.velocity, self.effort

    @property
    def constant_names(self) -> tuple[str, ...]:
        """Names of the required constants."""
        bases = (unit.text.rpartition(' ')[2] for unit in self.all_units)
        scales_of = (scales.get(base) for scales, base in zip(UNITS.values(), bases, strict=True))
        return tuple(dict.fromkeys(name for name in scales_of if isinstance(name, str)))


def read_actuator_units(texts: Mapping[str, str]) -> ActuatorUnits:
    """
    Return the units set by parameters of an actuator.

    A unit may have a number before it: ``0.229 rpm``. If only one of position and velocity has a
    unit, the other one is derived from it: ``turn`` and ``turn/s``. ``texts`` are the given values
    of :data:`UNITS` and :data:`CONSTANTS`.

    :raises TransmissionError: If a unit is unknown, a required constant is missing or not a
        positive number, units of rotary and linear actuators are mixed, or the unit of position or
        velocity cannot be derived from the other one. Its ``parameter`` is the one at fault.
    """
    position, velocity = (texts.get(name, '').strip() for name in _OF_MOTION)
    inherited = dict(zip(_OF_MOTION, (velocity.removesuffix('/s'), f'{position}/s'), strict=True))
    texts = {name: text for name, text in inherited.items() if text in UNITS[name]} | dict(texts)
    constants = {name: _read_positive(name, texts[name]) for name in CONSTANTS if name in texts}
    units_of, slides, first = {}, None, ''
    for name in UNITS:
        if name not in texts:
            continue
        unit, base = _read_unit(name, texts[name], constants)
        units_of[name.removesuffix('_unit')] = unit
        if base in _EITHER:
            continue
        if slides is not None and slides != (base in _SLIDING):
            message = f"'{first}' and '{base}' do not belong to one actuator"
            given = ', '.join(repr(texts[unit]) for unit in UNITS if unit in texts)
            raise _unit_error(name, message, 'units of what turns, or units of what slides', given)
        slides, first = base in _SLIDING, base
    for name, missing in zip(_OF_MOTION, _OF_MOTION[::-1], strict=True):
        if name in texts and missing not in texts:
            units = [unit for unit in UNITS[missing] if (unit in _SLIDING) == slides]
            message = f'{missing} is missing and cannot be derived from {name} {texts[name]!r}'
            expected = f'{missing}: one of {", ".join(units)}, with an optional number before it'
            raise _unit_error(missing, message, expected)
    return ActuatorUnits(**units_of, slides=slides)


def parse_driver_units(text: str) -> ActuatorUnits:
    """
    Return the units of one text, ``position_unit:turn, velocity_unit:rpm``.

    :raises TransmissionError: As :func:`read_actuator_units`; also if a part is not
        ``name:value``, has an unknown name or is repeated, or there is no unit.
    """
    texts: dict[str, str] = {}
    names = (*UNITS, *CONSTANTS)
    for part in text.split(','):
        name, colon, value = (word.strip() for word in part.partition(':'))
        if not colon or name not in names or texts.setdefault(name, value) != value:
            message = f'{part.strip()!r} is invalid{closest(name, names)}'
            expected = f"'name:value' with each of {', '.join(names)} at most once"
            raise _unit_error('', message, expected, repr(text))
    if texts.keys().isdisjoint(UNITS):
        raise _unit_error('', 'no unit is given', f'one of {", ".join(UNITS)}', repr(text))
    return read_actuator_units(texts)


def _read_unit(name: str, text: str, constants: Mapping[str, float]) -> tuple[DriverUnit, str]:
    """Return a unit, and its name without the leading number."""
    words = text.split()
    number = 1.0
    if len(words) > 1 and words[0][0] in '+-.0123456789':
        number = _read_positive(name, words.pop(0))
    base = ' '.join(words)
    scales = UNITS[name]
    if base not in scales:
        message = f'{name} is not a unit of this interface{closest(base, scales)}'
        expected = f'one of {", ".join(scales)}, with an optional number before it'
        raise _unit_error(name, message, expected, repr(text))
    scale = scales[base]
    if isinstance(scale, str):
        if scale not in constants:
            message = f"{name} '{base}' needs {scale}"
            raise _unit_error(scale, message, f'{scale}: {CONSTANTS[scale]}')
        constant = constants[scale]
        scale = {
            'ticks_per_turn': _TURN / constant,
            'torque_constant': constant,
            'rated_effort': constant / 100.0,
        }[scale]
    scale *= number
    if not _SCALES[0] <= scale <= _SCALES[1]:
        expected = f'{_SCALES[0]:g} to {_SCALES[1]:g} in SI for each {base}'
        raise _unit_error(name, f'{name} is invalid', expected, f'{scale:g}')
    return DriverUnit(' '.join(text.split()), scale), base


def _read_positive(name: str, text: str) -> float:
    try:
        value = parse_number(text)
    except ValueError as error:
        raise _unit_error(name, f'{name} is not a number', str(error), repr(text)) from None
    if value < SMALLEST:
        expected = f'{SMALLEST:g} or more; a negative reduction reverses the direction'
        raise _unit_error(name, f'{name} is invalid', expected, repr(text))
    return value


def _unit_error(name: str, message: str, expected: str, found: str = 'none') -> TransmissionError:
    return TransmissionError(message, parameter=name, expected=expected, found=found)


def interface_row(interface: str) -> int:
    """Return the row of an interface in a state, 0: position, 1: velocity, 2: effort."""
    return _ROWS[INTERFACES[interface]]
