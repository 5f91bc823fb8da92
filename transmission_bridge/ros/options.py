# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The structural parameters of the bridge node, declared from the table of options."""

from __future__ import annotations

from dataclasses import fields

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.exceptions import InvalidTopicNameException, ParameterUninitializedException
from rclpy.node import Node
from rclpy.validate_topic_name import validate_topic_name

from transmission_bridge.bridge.options import (
    BridgeOptions,
    choices_of,
    description_of,
    range_of,
)
from transmission_bridge.errors import ParameterError
from transmission_bridge.ros.declaring import declare

__all__ = ['declare_options', 'read_options']


def declare_options(node: Node) -> None:
    """
    Declare a read-only parameter for every field of :class:`BridgeOptions`.

    :raises ParameterError: If a value given to the node has the wrong type or is out of range.
    """
    for option in fields(BridgeOptions):
        choices, span = choices_of(option), range_of(option)
        descriptor = ParameterDescriptor(description=description_of(option), read_only=True)
        if choices:
            descriptor.additional_constraints = f'One of: {", ".join(choices)}'
        if span is not None:
            # A range in the descriptor has no place for a zero beside it, and none for texts.
            descriptor.additional_constraints = f'Range: {span}'
        if not isinstance(option.default, float):
            span = None
        elif span is not None:
            descriptor.floating_point_range = [
                FloatingPointRange(
                    from_value=0.0 if span.or_zero else span.minimum, to_value=span.maximum
                )
            ]
        declare(node, option.name, option.default, descriptor, choices, span)


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
    options = BridgeOptions(**values)
    for topic in options.actuator_state_topics:
        try:
            validate_topic_name(topic)
        except InvalidTopicNameException as error:
            raise ParameterError(
                'actuator_state_topics cannot be accepted',
                parameter='actuator_state_topics',
                expected='names of topics',
                found=f'{topic!r}: {str(error).splitlines()[0]}',
            ) from error
    return options
