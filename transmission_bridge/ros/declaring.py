# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Declaring parameters so that a value of the wrong type is a sentence, not a traceback."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

from transmission_bridge.errors import ParameterError

__all__ = ['checked_type', 'declare']

_EXPECTED = {
    bool: 'true or false',
    float: 'a number with a decimal point',
    str: "text, in quotes where YAML would take it for something else: '1'",
    list: 'a list of texts',
}


def declare(
    node: Node,
    name: str,
    default: bool | float | str | Sequence[str],
    descriptor: ParameterDescriptor,
    choices: Sequence[str] = (),
) -> None:
    """
    Declare a parameter whose type is that of its default.

    :param choices: Words that the value is one of; those that YAML reads as something else when
        they are not in quotes are understood all the same.
    :raises ParameterError: If the value given to the node has another type.
    """
    default = default if isinstance(default, bool | float | str) else list(default)
    given = node._parameter_overrides.get(name)  # rclpy has no public access to them
    value: Any = default
    if given is not None and given.value is not None:  # an empty list arrives as no value
        value = checked_type(name, _unquoted(given.value, choices), default)
    if value == []:
        _declare_empty(node, name, descriptor)
    else:
        node.declare_parameter(name, value, descriptor, ignore_override=True)


def _declare_empty(node: Node, name: str, descriptor: ParameterDescriptor) -> None:
    """
    Declare an empty list of texts.

    rclpy takes an empty list for bytes, and one parameter without a value would cost the answer
    to every request for several, with which ``ros2 param dump`` begins.
    """
    kind = Parameter.Type.STRING_ARRAY
    node.declare_parameter(name, kind, ignore_override=True)
    node.set_parameters([Parameter(name, kind, [])])
    descriptor.type = kind.value
    node.set_descriptor(name, descriptor)


def checked_type(name: str, value: Any, default: bool | float | str | list[str]) -> Any:
    """
    Return a value if it has the type of the parameter.

    :raises ParameterError: If it has not.
    """
    if isinstance(default, list):
        if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            return list(value)
    elif type(value) is type(default):
        return value
    hint = f', write {value}.0' if type(value) is int and isinstance(default, float) else ''
    raise ParameterError(
        f'parameter {name} has the wrong type{hint}',
        parameter=name,
        expected=_EXPECTED[type(default)],
        found=repr(value),
    )


def _unquoted(value: Any, choices: Sequence[str]) -> Any:
    """Undo YAML's reading of two words that are choices: ``nan`` is a number, ``off`` is false."""
    if 'nan' in choices and isinstance(value, float) and math.isnan(value):
        return 'nan'
    if 'off' in choices and value is False:
        return 'off'
    return value
