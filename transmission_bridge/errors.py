# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Errors raised by this package.

One root, :class:`TransmissionBridgeError`. Every leaf is also the built-in that a caller would
already catch, carries its data as attributes, and survives pickling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice, pairwise
import math
from typing import Any

__all__ = [
    'DescriptionError',
    'MessageError',
    'ParameterError',
    'PluginError',
    'ShapeError',
    'TransmissionBridgeError',
    'TransmissionError',
    'UnknownNameError',
    'UnsupportedInterfaceError',
    'clipped',
    'closest',
    'in_other_unit',
    'indented',
    'printable',
    'sentence',
    'shortened',
    'shown',
]

#: Characters of a name that came in a message which are shown.
_NAME_LENGTH = 64

#: Characters of a text that goes to a log or to diagnostics.
_TEXT_LENGTH = 4096

#: Letters of a name, and names, that are compared to find the closest: senders choose them.
_COMPARED_LETTERS, _COMPARED_NAMES = 256, 1000

#: Likeness from which two names are alike, and share of the best from which another is as close.
_ALIKE, _AS_CLOSE = 0.35, 0.75


# -- words ---------------------------------------------------------------------------------------


def printable(text: str) -> str:
    """
    Return ``text`` with everything that a terminal would not simply show written as an escape.

    Names come from files and messages of others: a line break would spoil a table, and control
    and direction-changing characters could show something else than what is there.
    """
    if text.isprintable():
        return text
    return ''.join(
        character
        if character.isprintable()
        else character.encode('unicode_escape', 'surrogatepass').decode('ascii')
        for character in text
    )


def shown(name: str) -> str:
    """
    Return a name that came in a message, for a sentence: in quotes, escaped, without its middle.

    The end of a parameter's name says which number it is.
    """
    if len(name) > _NAME_LENGTH:
        name = f'{name[: _NAME_LENGTH // 2]}…{name[-_NAME_LENGTH // 2 :]}'
    return repr(name)


def closest(name: str, known: Iterable[str], most: int = 3) -> str:
    """
    Return the names that one which is not known may stand for, for a sentence.

    By the pairs of letters that two names share; upper and lower case are the same.

    :param most: How many are named.
    :returns: As `` (closest: 'elbow')``, empty where none is alike.
    """
    wanted = _letter_pairs(name)
    likeness = {}
    for other in islice(known, _COMPARED_NAMES):
        pairs = _letter_pairs(other)
        likeness[other] = 2.0 * len(wanted & pairs) / (len(wanted) + len(pairs))
    least = max(_ALIKE, _AS_CLOSE * max(likeness.values(), default=0.0))
    found = [other for other, value in likeness.items() if value >= least]
    found.sort(key=lambda other: -likeness[other])
    return f' (closest: {", ".join(map(shown, found[:most]))})' if found else ''


def _letter_pairs(name: str) -> set[tuple[str, str]]:
    return set(pairwise(f'\n{name[:_COMPARED_LETTERS].lower()}\n'))


def in_other_unit(value: float, unit: str) -> str:
    """
    Return a number, and what it is if degrees or millimetres are meant, for a sentence.

    :param unit: ``rad``, ``m``, ``rad/s`` or ``m/s``.
    :returns: As ``110 rad; 110 degrees are 1.91986 rad``.
    """
    base, *per = unit.split('/')
    other, factor = ('degrees', math.radians(1.0)) if base == 'rad' else ('mm', 1e-3)
    there = '/'.join((other, *per))
    return f'{value:g} {unit}; {value:g} {there} are {value * factor:g} {unit}'


def shortened(names: Sequence[str], most: int = 5, *, show: Callable[[str], str] = shown) -> str:
    """
    Return the first names as a list for a sentence; a message may hold thousands.

    :param show: How each is written; ``str`` for what is a sentence already.
    """
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(map(show, names[:most])) + more


def indented(text: str) -> str:
    """
    Return a text with its lines behind the first indented, what else is not printable escaped.

    A traceback stays one, and no line break in a name can begin a line of the log.
    """
    first, *rest = map(printable, text.split('\n'))
    return '\n'.join([first, *(line if line.startswith('  ') else f'  {line}' for line in rest)])


def clipped(text: str, most: int = _TEXT_LENGTH) -> str:
    """
    Return a text for a log or for diagnostics: what is not printable escaped but for line breaks.

    :param most: Characters of it that are shown; its middle is left out where it has more.
    """
    if len(text) <= most and text.isprintable():
        return text
    lines = _without_middle(text, most).split('\n')
    # Escapes make it longer.
    return _without_middle('\n'.join(map(printable, lines)), most)


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    end = most // 4
    return f'{text[: most - end]} … {len(text) - most} characters … {text[-end:]}'


# -- errors --------------------------------------------------------------------------------------


class TransmissionBridgeError(Exception):
    """
    Root of every error that this package raises on purpose.

    Leaves take their data as keyword arguments; ``str()`` is the sentence for the user.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by state, because the constructors of the leaves take keywords only."""
        return _restore, (type(self), self.args, self.__dict__)


def _restore(
    cls: type[TransmissionBridgeError], args: tuple[Any, ...], state: dict[str, Any]
) -> TransmissionBridgeError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


class DescriptionError(TransmissionBridgeError, ValueError):
    """
    A robot description cannot be used: where, what was expected, what was found.

    :param message: What is wrong, in one sentence without the place.
    :param line: Line in the text, counted from 1, or ``None`` where there is no line.
    :param path: Element path, for example ``/robot/transmission[2]``.
    :param expected: What would have been right.
    :param found: What stood there.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        path: str = '',
        expected: str = '',
        found: str = '',
    ) -> None:
        self.message = message
        self.line = line
        self.path = path
        self.expected = expected
        self.found = found
        super().__init__(sentence(message, line=line, path=path, expected=expected, found=found))


def sentence(
    message: str, *, line: int | None = None, path: str = '', expected: str = '', found: str = ''
) -> str:
    """
    Return one sentence ``line 12, /robot/joint[2]: message (expected x, found y)``.

    What cannot be printed is escaped, for it holds names of others. A line break stays one, as a
    message may end with a traceback; what follows it is indented.
    """
    place = ', '.join(([f'line {line}'] if line is not None else []) + ([path] if path else []))
    parts = ', '.join(
        ([f'expected {expected}'] if expected else []) + ([f'found {found}'] if found else [])
    )
    return indented((f'{place}: ' if place else '') + message + (f' ({parts})' if parts else ''))


class TransmissionError(TransmissionBridgeError, ValueError):
    """
    A transmission cannot be built from what it was given.

    :param message: What is wrong.
    :param transmission: Name of the transmission, empty where it has none.
    :param parameter: The parameter at fault, empty where no single one is.
    :param expected: What would have been right.
    :param found: What was given.
    """

    def __init__(
        self,
        message: str,
        *,
        transmission: str = '',
        parameter: str = '',
        expected: str = '',
        found: str = '',
    ) -> None:
        self.message = message
        self.transmission = transmission
        self.parameter = parameter
        self.expected = expected
        self.found = found
        place = f"transmission '{transmission}'" if transmission else ''
        super().__init__(sentence(message, path=place, expected=expected, found=found))


class ParameterError(TransmissionError):
    """A parameter of a transmission is unknown or its value cannot be accepted."""


class PluginError(TransmissionBridgeError, LookupError):
    """
    A transmission type is not installed, or its plugin failed to load.

    :param message: What is wrong.
    :param type_name: The type string asked for.
    :param details: The traceback of the failed import, empty where nothing was imported.
    """

    def __init__(self, message: str, *, type_name: str, details: str = '') -> None:
        self.type_name = type_name
        self.details = details
        super().__init__(message)


class ShapeError(TransmissionBridgeError, ValueError):
    """
    An array has another shape than the one asked for.

    :param argument: Name of the argument.
    :param expected: The shape asked for, in words.
    :param found: The shape given.
    """

    def __init__(self, argument: str, *, expected: str, found: tuple[int, ...]) -> None:
        self.argument = argument
        self.expected = expected
        self.found = found
        super().__init__(f'{argument}: expected shape {expected}, found {found}')


class UnknownNameError(TransmissionBridgeError, KeyError):
    """
    A name that the robot does not have.

    :param kind: What was looked for: joint, actuator, transmission, link.
    :param name: The name given.
    :param known: The names there are.
    :param parameter: The parameter that holds the name, empty where none does.
    """

    def __init__(
        self, kind: str, name: str, known: tuple[str, ...], *, parameter: str = ''
    ) -> None:
        self.kind = kind
        self.name = name
        self.known = known
        self.parameter = parameter
        super().__init__(
            f'{f"{parameter}: " if parameter else ""}unknown {kind} {shown(name)}'
            f'{closest(name, known)}, known: {printable(", ".join(known)) or "none"}'
        )

    def __str__(self) -> str:
        """Return the sentence; KeyError would print its representation."""
        return str(self.args[0])


class UnsupportedInterfaceError(TransmissionBridgeError, ValueError):
    """
    An interface that is not mapped in the direction asked for.

    :param interface: The interface given.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param supported: The interfaces that are.
    """

    def __init__(self, interface: str, direction: str, supported: tuple[str, ...]) -> None:
        self.interface = interface
        self.direction = direction
        self.supported = supported
        super().__init__(
            f"interface '{interface}' is not mapped {direction.replace('_', ' ')}, "
            f'supported: {", ".join(supported)}'
        )


class MessageError(TransmissionBridgeError, ValueError):
    """
    A message cannot be used; ``reason`` is the short key under which it is counted.

    :param reason: Key for counters, for example ``ragged`` or ``duplicate_name``.
    :param message: What is wrong, with the names concerned.
    :param about: These names, where each is reported for itself; empty: the reason is reported.
    """

    def __init__(self, reason: str, message: str, *, about: str = '') -> None:
        self.reason = reason
        self.about = about
        super().__init__(message)
