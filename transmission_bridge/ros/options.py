# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The structural parameters of the bridge node, declared from the table of options."""

from __future__ import annotations

from dataclasses import fields

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.exceptions import ParameterUninitializedException
from rclpy.node import Node
from rclpy.parameter import Parameter

from transmission_bridge.bridge.options import BridgeOptions, choices_of, description_of

__all__ = ['declare_options', 'read_options']


def declare_options(node: Node) -> None:
    """Declare a read-only parameter for every field of :class:`BridgeOptions`."""
    for option in fields(BridgeOptions):
        choices = choices_of(option)
        descriptor = ParameterDescriptor(
            description=description_of(option),
            additional_constraints=f'One of: {", ".join(choices)}' if choices else '',
            read_only=True,
        )
        default = option.default
        if default == ():
            # rclpy takes an empty list for bytes, so the type is declared and left without value.
            default = Parameter.Type.STRING_ARRAY
        elif isinstance(default, tuple):
            default = list(default)
        node.declare_parameter(option.name, default, descriptor)


def read_options(node: Node) -> BridgeOptions:
    """
    Return the options as they were given.

    :raises ParameterError: If a value cannot be accepted.
    """
    values = {}
    for option in fields(BridgeOptions):
        try:
            value = node.get_parameter(option.name).value
        except ParameterUninitializedException:
            continue
        values[option.name] = value if isinstance(value, str | bool | float) else tuple(value)
    return BridgeOptions(**values)
