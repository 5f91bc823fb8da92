# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Declaring and setting parameters so that a wrong value is a sentence, not a traceback.

An integer is taken where a number is meant: ``10`` for ``10.0``.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from transmission_bridge.bridge.options import Range
from transmission_bridge.errors import ParameterError

__all__ = ['checked_type', 'declare', 'exact_number', 'take_integers']

_EXPECTED = {
    bool: 'true or false',
    float: 'a number',
    int: 'an integer',
    str: "text, in quotes where YAML would take it for something else: '1'",
    list: 'a list of texts',
}

#: Doubles hold every integer up to this.
_LARGEST_EXACT = 2**53

_LISTS = (
    Parameter.Type.BYTE_ARRAY,
    Parameter.Type.BOOL_ARRAY,
    Parameter.Type.INTEGER_ARRAY,
    Parameter.Type.DOUBLE_ARRAY,
    Parameter.Type.STRING_ARRAY,
)


def declare(
    node: Node,
    name: str,
    default: bool | int | float | str | Sequence[str],
    descriptor: ParameterDescriptor,
    choices: Sequence[str] = (),
    span: Range | None = None,
) -> None:
    """
    Declare a parameter whose type is that of its default.

    :param choices: Words that the value is one of; those that YAML reads as something else when
        they are not in quotes are understood all the same.
    :param span: The range of a number.
    :raises ParameterError: If the value given to the node has another type or is out of range.
    """
    default = default if isinstance(default, bool | int | float | str) else list(default)
    given = node._parameter_overrides.get(name)  # rclpy has no public access to them
    value: Any = default
    if given is not None and given.value is not None:  # an empty list arrives as no value
        value = checked_type(name, _unquoted(given.value, choices), default)
    if span is not None:
        span.check(name, value)
    if value == []:
        _declare_empty(node, name, descriptor)
        return
    try:
        node.declare_parameter(name, value, descriptor, ignore_override=True)
    except InvalidParameterValueException as error:
        raise ParameterError(f'parameter {name}: {error}', parameter=name) from error


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


def checked_type(name: str, value: Any, default: bool | int | float | str | list[str]) -> Any:
    """
    Return a value if it has the type of the parameter, an integer as the number that is meant.

    :raises ParameterError: If it has not, or if it is an integer that no double is.
    """
    if isinstance(default, list):
        if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            return list(value)
    elif isinstance(default, float) and type(value) in (int, float):
        return exact_number(name, value)
    elif type(value) is type(default):
        return value
    raise ParameterError(
        f'parameter {name} has the wrong type',
        parameter=name,
        expected=_EXPECTED[type(default)],
        found=repr(value),
    )


def exact_number(name: str, value: float) -> float:
    """
    Return a number of a parameter, which may be an integer, as a float.

    :raises ParameterError: If it is an integer so large that it could be rounded.
    """
    if isinstance(value, int) and abs(value) > _LARGEST_EXACT:
        raise ParameterError(
            f'parameter {name} would be rounded',
            parameter=name,
            expected='an integer up to 2**53, or a number with a decimal point',
            found=repr(value),
        )
    return float(value)


def take_integers(node: Node) -> None:
    """
    Have ``ros2 param set NAME 1`` set a parameter that is a double, from now on.

    rclpy would refuse it for its type. So would it refuse an empty list, which has no type of its
    own, where the parameter is a list.
    """
    node.add_pre_set_parameters_callback(
        lambda parameters: [_of_declared_type(node, parameter) for parameter in parameters]
    )


def _of_declared_type(node: Node, parameter: Parameter[Any]) -> Parameter[Any]:
    name, value = parameter.name, parameter.value
    given, wanted = parameter.type_, node.get_parameter_or(name).type_
    if wanted is Parameter.Type.DOUBLE and given is Parameter.Type.INTEGER:
        return Parameter(name, wanted, exact_number(name, value))
    if wanted is Parameter.Type.DOUBLE_ARRAY and given is Parameter.Type.INTEGER_ARRAY:
        return Parameter(name, wanted, [exact_number(name, each) for each in value])
    if wanted in _LISTS and given in _LISTS and len(value) == 0:
        return Parameter(name, wanted, [])
    return parameter


def _unquoted(value: Any, choices: Sequence[str]) -> Any:
    """Undo YAML's reading of two words that are choices: ``nan`` is a number, ``off`` is false."""
    if 'nan' in choices and isinstance(value, float) and math.isnan(value):
        return 'nan'
    if 'off' in choices and value is False:
        return 'off'
    return value
