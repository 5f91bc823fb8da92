# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The types and the serialisation of rclpy."""

from __future__ import annotations

from types import SimpleNamespace
import warnings

import pytest


@pytest.fixture(scope='session')
def ros():
    """Return rclpy's JointState as ``Message``, with ``encode`` and ``decode``."""
    reason = 'rclpy is not installed'
    serialization = pytest.importorskip('rclpy.serialization', reason=reason)
    messages = pytest.importorskip('sensor_msgs.msg', reason='sensor_msgs is not installed')
    with warnings.catch_warnings():
        # The first use imports the type support, and with it modules that Python deprecates.
        warnings.simplefilter('ignore', DeprecationWarning)
        serialization.serialize_message(messages.JointState())
    return SimpleNamespace(
        Message=messages.JointState,
        encode=serialization.serialize_message,
        decode=lambda data: serialization.deserialize_message(data, messages.JointState),
    )
