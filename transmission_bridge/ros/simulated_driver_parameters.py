# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the simulated driver, declared from the table of its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from transmission_bridge.errors import ParameterError
from transmission_bridge.sim import DriverSettings
from transmission_bridge.sim.settings import parameter_name_of, range_of

__all__ = ['changed_settings', 'declare_actuators', 'declare_settings']

_FIELDS = {parameter_name_of(setting): setting for setting in fields(DriverSettings)}


def declare_settings(node: Node) -> DriverSettings:
    """
    Declare a parameter for every setting and return the values in force.

    :raises ParameterError: If a value that was given cannot be accepted.
    """
    values = {}
    for name, setting in _FIELDS.items():
        descriptor = ParameterDescriptor(description=setting.metadata['description'])
        span = range_of(setting)
        if span is not None and isinstance(setting.default, float):
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=span[0], to_value=span[1])
            ]
        elif span is not None:
            descriptor.integer_range = [IntegerRange(from_value=span[0], to_value=span[1], step=1)]
        values[setting.name] = _declare(node, name, setting.default, descriptor)
    return DriverSettings(**values)


def declare_actuators(node: Node) -> tuple[str, ...]:
    """Declare ``actuators`` and return its value, empty: all."""
    try:
        # rclpy takes an empty list for bytes, so the type is declared and left without value.
        value = _declare(
            node,
            'actuators',
            Parameter.Type.STRING_ARRAY,
            ParameterDescriptor(
                description='Actuators of the robot that this driver drives, all if empty: the '
                'others may have drivers of their own.',
                read_only=True,
            ),
        )
    except ParameterUninitializedException:
        return ()
    return tuple(value or ())


def changed_settings(settings: DriverSettings, parameters: Sequence[Parameter]) -> DriverSettings:
    """
    Return the settings with the values of those parameters that are settings.

    :raises ParameterError: If a value cannot be accepted.
    """
    return replace(
        settings,
        **{
            _FIELDS[parameter.name].name: parameter.value
            for parameter in parameters
            if parameter.name in _FIELDS
        },
    )


def _declare(node: Node, name: str, default: Any, descriptor: ParameterDescriptor) -> Any:
    try:
        return node.declare_parameter(name, default, descriptor).value
    except (InvalidParameterTypeException, InvalidParameterValueException) as error:
        hint = ' (write 10.0 where a number is meant, not 10)' if _is_number(default) else ''
        raise ParameterError(f'parameter {name}: {error}{hint}', parameter=name) from error


def _is_number(default: Any) -> bool:
    return isinstance(default, float)
