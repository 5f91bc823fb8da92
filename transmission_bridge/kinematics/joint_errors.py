# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a joint or a device, beyond a wrong shape or an unknown name."""

from __future__ import annotations

from transmission_bridge.errors import TransmissionBridgeError

__all__ = ['JointError', 'JointIndexError']


class JointError(TransmissionBridgeError, ValueError):
    """
    A joint or a device cannot do what was asked.

    :param joint: Name of the joint or device, empty where it has none.
    :param message: What is wrong, in one sentence without the name.
    """

    def __init__(self, joint: str, message: str) -> None:
        self.joint = joint
        super().__init__(f"'{joint}': {message}" if joint else message)


class JointIndexError(TransmissionBridgeError, IndexError):
    """
    The index of a coordinate or of a degree of freedom is out of range.

    iDynTree leaves the result undefined there; this package raises.

    :param joint: Name of the joint.
    :param kind: ``position coordinate`` or ``degree of freedom``.
    :param index: The index given.
    :param size: How many there are.
    """

    def __init__(self, joint: str, *, kind: str, index: int, size: int) -> None:
        self.joint = joint
        self.kind = kind
        self.index = index
        self.size = size
        super().__init__(f"joint '{joint}': {kind} {index} is not in [0, {size})")
