# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the simulated driver, declared from the table of its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

from transmission_bridge.ros.declaring import declare
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
        declare(node, name, setting.default, descriptor)
        values[setting.name] = node.get_parameter(name).value
    return DriverSettings(**values)


def declare_actuators(node: Node) -> tuple[str, ...]:
    """
    Declare ``actuators`` and return its value, empty: all.

    :raises ParameterError: If a value that was given is no list of texts.
    """
    descriptor = ParameterDescriptor(
        description='Actuators of the robot that this driver drives, all if empty: the others may '
        'have drivers of their own.',
        read_only=True,
    )
    declare(node, 'actuators', [], descriptor)
    return tuple(node.get_parameter('actuators').value)


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
