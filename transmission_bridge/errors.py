# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Errors raised by this package.

One root, :class:`TransmissionBridgeError`. Every leaf is also the built-in that a caller would
already catch, carries its data as attributes, and survives pickling.
"""

from __future__ import annotations

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
]


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
    """Return one sentence ``line 12, /robot/joint[2]: message (expected x, found y)``."""
    place = ', '.join(([f'line {line}'] if line is not None else []) + ([path] if path else []))
    parts = ', '.join(
        ([f'expected {expected}'] if expected else []) + ([f'found {found}'] if found else [])
    )
    return (f'{place}: ' if place else '') + message + (f' ({parts})' if parts else '')


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
    """

    def __init__(self, kind: str, name: str, known: tuple[str, ...]) -> None:
        self.kind = kind
        self.name = name
        self.known = known
        super().__init__(f"unknown {kind} '{name}', known: {', '.join(known) or 'none'}")

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
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)
