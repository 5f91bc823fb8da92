# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Errors raised by this package.

The root is :class:`TransmissionBridgeError`. Every leaf is also the matching built-in exception,
has its data as attributes, and can be pickled.

All rooms raise and catch them, and users catch them too: classes and attributes are fixed, and so
is each ``MessageError.reason``, a key of ``/diagnostics``. The sentences are free to change.

The functions make parts of sentences. A sentence has names and texts of others only through one of
them, which escapes them, so that they cannot forge lines of a terminal or a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
import copyreg
from dataclasses import dataclass, KW_ONLY
from itertools import islice, pairwise, takewhile
import math
import re
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

#: Maximum length of a name from a message in a sentence.
_NAME_LENGTH = 64

#: Maximum length of a text for a log or for diagnostics.
_TEXT_LENGTH = 4096

#: Maximum length and number of compared names, because senders choose them.
_COMPARED_LETTERS, _COMPARED_NAMES = 256, 1000

#: Minimum likeness of close names, absolute and relative to the closest name.
_ALIKE, _AS_CLOSE = 0.35, 0.75

#: How an option begins; a negative number is a value.
_OPTION = re.compile('--?[A-Za-z]')


# -- Words of sentences --------------------------------------------------------------------------


def printable(text: str) -> str:
    """
    Return a text with escapes instead of unprintable characters.

    Names come from files and messages of others. A line break would break a table, and control or
    direction-changing characters could forge the output.
    """
    return ''.join(
        character
        if character.isprintable()
        else character.encode('unicode_escape', 'surrogatepass').decode('ascii')
        for character in text
    )


def shown(name: str) -> str:
    """
    Return a name from a message for a sentence: in quotes, escaped, without the middle if long.

    The end stays, because the end of a parameter's name identifies its number.
    """
    if len(name) > _NAME_LENGTH:
        name = f'{name[: _NAME_LENGTH // 2]}…{name[-_NAME_LENGTH // 2 :]}'
    return repr(name)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as ``1 joint`` or ``2 joints``."""
    return f'{number} {noun}' + ('' if number == 1 else 's')


def closest(name: str, known: Iterable[str], most: int = 3) -> str:
    """
    Return the known names that are close to an unknown name, for a sentence.

    :param most: Maximum number of names.
    :returns: As `` (closest: 'elbow')``; empty if no name is close.
    """
    return _suggest(find_closest_names(name, known, most))


def describe_unknown_option(words: Iterable[str], parser: argparse.ArgumentParser) -> str:
    """
    Return a sentence about the first unknown option of a command line; empty if there is none.

    argparse names no closest option, and reports a missing option instead of its misspelt name.
    """
    # argparse has no public list of its options.
    known = parser._option_string_actions
    # All options begin with hyphens, which would make them alike.
    names = {option.lstrip('-'): option for option in known}
    for word in takewhile(lambda each: each != '--', words):
        option = word.partition('=')[0]
        if _OPTION.match(option) and ' ' not in word and option not in known:
            found = [names[name] for name in find_closest_names(option.lstrip('-'), names, 3)]
            return f'unknown option {shown(option)}{_suggest(found)}'
    return ''


def _suggest(names: Sequence[str]) -> str:
    return f' (closest: {", ".join(map(shown, names))})' if names else ''


def find_closest_names(name: str, known: Iterable[str], most: int) -> list[str]:
    """
    Return the known names that are close to an unknown name, the closest first.

    The likeness is the share of common pairs of letters, without upper and lower case.

    :param most: Maximum number of names.
    """
    wanted = _letter_pairs(name)
    likeness = {}
    for other in islice(known, _COMPARED_NAMES):
        pairs = _letter_pairs(other)
        likeness[other] = 2.0 * len(wanted & pairs) / (len(wanted) + len(pairs))
    least = max(_ALIKE, _AS_CLOSE * max(likeness.values(), default=0.0))
    close = [other for other, value in likeness.items() if value >= least]
    return sorted(close, key=lambda other: -likeness[other])[:most]


def _letter_pairs(name: str) -> set[tuple[str, str]]:
    return set(pairwise(f'\n{name[:_COMPARED_LETTERS].lower()}\n'))


def in_other_unit(value: float, unit: str) -> str:
    """
    Return a number with the conversion from degrees, ticks or millimetres, for a sentence.

    An integer beyond a turn in degrees is in ticks, for example the middle of a servo.

    :param unit: ``rad``, ``m``, ``rad/s`` or ``m/s``.
    :returns: As ``110 rad; 110 degrees are 1.91986 rad``.
    """
    base, *per = unit.split('/')
    other, factor = ('degrees', math.radians(1.0)) if base == 'rad' else ('mm', 1e-3)
    if unit == 'rad' and abs(value) > 360.0 and float(value).is_integer():
        other, factor = 'ticks of 4096 per turn', math.tau / 4096.0
    there = '/'.join((other, *per))
    return f'{value:g} {unit}; {value:g} {there} are {value * factor:g} {unit}'


def shortened(names: Sequence[str], most: int = 5, *, show: Callable[[str], str] = shown) -> str:
    """
    Return the first names as a list for a sentence, because a message may have thousands.

    :param show: Formats each name; ``str`` for complete phrases.
    """
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(map(show, names[:most])) + more


def indented(text: str) -> str:
    """
    Return a text with all lines after the first indented, and unprintable characters escaped.

    So a traceback keeps its lines, and a line break in a name cannot forge a line of the log.
    """
    first, *rest = map(printable, text.split('\n'))
    return '\n'.join([first, *(line if line.startswith('  ') else f'  {line}' for line in rest)])


def clipped(text: str, most: int = _TEXT_LENGTH) -> str:
    """
    Return a text for a log or for diagnostics; unprintable characters but line breaks are escaped.

    :param most: Maximum length; the middle of a longer text is omitted.
    """
    lines = _without_middle(text, most).split('\n')
    # Escapes make the text longer.
    return _without_middle('\n'.join(map(printable, lines)), most)


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    end = most // 4
    return f'{text[: most - end]} … {len(text) - most} characters … {text[-end:]}'


# -- errors --------------------------------------------------------------------------------------


class TransmissionBridgeError(Exception):
    """
    Root of all errors that this package raises on purpose.

    Leaves accept their data as keyword arguments; ``str()`` is the sentence for the user.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by state, because the constructors of the leaves accept only keywords."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


@dataclass(eq=False, repr=False)
class DescriptionError(TransmissionBridgeError, ValueError):
    """
    A robot description cannot be used.

    :param message: The problem, in one sentence without the location.
    :param line: Line in the text, counted from 1, or ``None`` if it has no line.
    :param path: Element path, for example ``/robot/transmission[2]``.
    :param expected: Expected value.
    :param found: Found value.
    """

    message: str
    _: KW_ONLY
    line: int | None = None
    path: str = ''
    expected: str = ''
    found: str = ''

    def __post_init__(self) -> None:
        super().__init__(sentence(**vars(self)))


def sentence(
    message: str, *, line: int | None = None, path: str = '', expected: str = '', found: str = ''
) -> str:
    """
    Return one sentence ``line 12, /robot/joint[2]: message (expected x, found y)``.

    Unprintable characters are escaped, because names come from others. Line breaks stay, because
    a message may end with a traceback; further lines are indented.
    """
    place = ', '.join(filter(None, ('' if line is None else f'line {line}', path)))
    parts = ', '.join(
        f'{word} {text}' for word, text in (('expected', expected), ('found', found)) if text
    )
    return indented((f'{place}: ' if place else '') + message + (f' ({parts})' if parts else ''))


@dataclass(eq=False, repr=False)
class TransmissionError(TransmissionBridgeError, ValueError):
    """
    A transmission cannot be built from its specification or its parameters.

    :param message: The problem, in one sentence.
    :param transmission: Name of the transmission, empty if it has no name.
    :param parameter: The invalid parameter, empty if the problem is not a single parameter.
    :param expected: Expected value.
    :param found: Given value.
    :param at: The element, with ``line`` and ``path``; ``None``: the transmission.
    """

    message: str
    _: KW_ONLY
    transmission: str = ''
    parameter: str = ''
    expected: str = ''
    found: str = ''
    at: Any = None

    def __post_init__(self) -> None:
        place = f"transmission '{self.transmission}'" if self.transmission else ''
        text = sentence(self.message, path=place, expected=self.expected, found=self.found)
        super().__init__(text)


class ParameterError(TransmissionError):
    """A parameter of a transmission is unknown or its value cannot be accepted."""


def make_option_error(option: str, expected: str, found: object, why: str = '') -> ParameterError:
    """
    Return the error that the value of an option cannot be accepted.

    :param expected: Expected value.
    :param found: Given value.
    :param why: The reason, empty if the expectation is the reason.
    """
    message = f'{option} cannot be accepted' + (f': {why}' if why else '')
    return ParameterError(message, parameter=option, expected=expected, found=repr(found))


class PluginError(TransmissionBridgeError, LookupError):
    """
    A transmission type is not installed, or its plugin failed to load.

    :param message: The problem, in one sentence.
    :param type_name: The type string.
    :param details: The traceback of the failed import, empty without an import.
    """

    def __init__(self, message: str, *, type_name: str, details: str = '') -> None:
        self.type_name = type_name
        self.details = details
        super().__init__(message)


class ShapeError(TransmissionBridgeError, ValueError):
    """
    An array has the wrong shape.

    :param argument: Name of the argument.
    :param expected: The expected shape, in words.
    :param found: The given shape.
    """

    def __init__(self, argument: str, *, expected: str, found: tuple[int, ...]) -> None:
        self.argument = argument
        self.expected = expected
        self.found = found
        super().__init__(f'{argument}: expected shape {expected}, found {found}')


class UnknownNameError(TransmissionBridgeError, KeyError):
    """
    The robot does not have this name.

    :param kind: Kind of the name: joint, actuator, transmission, link.
    :param name: The unknown name.
    :param known: The known names.
    :param parameter: The parameter with the name, empty if it is not in a parameter.
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
    An interface is not mapped in this direction.

    :param interface: The interface.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param supported: The interfaces that are mapped in this direction.
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
    A message cannot be used.

    :param reason: Key of its counter, for example ``ragged`` or ``duplicate_name``.
    :param message: The problem with the names concerned.
    :param about: These names, if each of them is logged separately; empty: only the reason is.
    """

    def __init__(self, reason: str, message: str, *, about: str = '') -> None:
        self.reason = reason
        self.about = about
        super().__init__(message)
