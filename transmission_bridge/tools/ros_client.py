# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A command's own node, beside a running bridge."""

from __future__ import annotations

import importlib
import time
from typing import Any

from transmission_bridge.bridge.diagnostics import Status
from transmission_bridge.tools.cli import UsageError

__all__ = ['RosClient', 'ros_module', 'statuses_of']

#: Seconds to wait for a message at a time.
_STEP = 0.02


def ros_module(name: str) -> Any:
    """
    Import a module of ROS.

    :raises UsageError: If it is not installed, with what to do.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f'{error.name} is not installed: source a ROS 2 installation, or '
            "pip install '.[kilted]' (or '.[jazzy]') in a checkout of transmission_bridge"
        ) from None


def statuses_of(message: Any) -> list[Status]:
    """Return the statuses of a ``diagnostic_msgs/DiagnosticArray``."""
    return [
        Status(
            status.name,
            status.level[0] if isinstance(status.level, bytes) else int(status.level),
            status.message,
            tuple((value.key, value.value) for value in status.values),
        )
        for status in message.status
    ]


class RosClient:
    """
    A node in a context of its own; signals are left to the command.

    :param name: Name of the node.
    :param namespace: Its namespace, empty for none.
    :ivar node: The node.
    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the namespace is invalid.
    """

    def __init__(self, name: str, namespace: str = '') -> None:
        rclpy, executors = ros_module('rclpy'), ros_module('rclpy.executors')
        no_signals = ros_module('rclpy.signals').SignalHandlerOptions.NO
        bad_namespace = ros_module('rclpy.exceptions').InvalidNamespaceException
        self._context = ros_module('rclpy.context').Context()
        try:
            rclpy.init(args=[], context=self._context, signal_handler_options=no_signals)
            self.node: Any = ros_module('rclpy.node').Node(
                name,
                namespace=namespace,
                context=self._context,
                use_global_arguments=False,
                enable_rosout=False,
                start_parameter_services=False,
            )
        except bad_namespace:
            self._context.try_shutdown()
            raise UsageError(f"'{namespace}' is not a valid namespace") from None
        except (RuntimeError, ValueError) as error:  # such as an impossible ROS_DOMAIN_ID
            self._context.try_shutdown()
            raise UsageError(f'ROS cannot be used: {error}') from None
        self._executor = executors.SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)

    def spin_for(self, seconds: float) -> None:
        """Handle callbacks for some time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            # With another timeout the executor starts again with the first topic, and if that is
            # busy, others are never handled. So it is the same except for the last time.
            self._executor.spin_once(timeout_sec=min(_STEP, left))

    def close(self) -> None:
        """Leave the network."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()
