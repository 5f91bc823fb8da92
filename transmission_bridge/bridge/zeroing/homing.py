# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Offsets of joints from absolute encoders."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transmission_bridge.bridge.zeroing.zeroing import list_zeroable_joints
from transmission_bridge.errors import MessageError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array


def compute_absolute_targets(
    robot: RobotTransmissions, names: tuple[str, ...], absolute: Array
) -> dict[str, float]:
    """
    Return the positions of joints measured by their absolute encoders.

    The encoder has to measure the joint. A mapped absolute position contains the same offset, so
    no offset can remove the difference.

    :param names: The joints, empty: all with an offset, an encoder that measures the joint, and a
        reading.
    :param absolute: Absolute positions of the joints [rad or m], shape ``(n_joints,)``, NaN:
        unknown.
    :raises MessageError: If a joint, or every joint, has no absolute position (``no_absolute``),
        or if the absolute position is mapped (``mapped_absolute``).
    """
    measured: Mapping[str, float] = {
        name: float(value)
        for name, value in zip(robot.joint_names, absolute, strict=True)
        if np.isfinite(value)
    }
    with_offset = list_zeroable_joints(robot)
    owners = {
        member.name: binding.spec.name
        for binding in robot.bindings
        for member in binding.spec.joints
        if member.name in with_offset
    }
    of_joints = {name for name, owner in owners.items() if owner in robot.ignore_absolute_encoder}
    for name in names:
        if name in owners and name not in of_joints:
            raise MessageError(
                'mapped_absolute',
                f'the absolute position of {name} is mapped with the same offset as its position, '
                'so no offset can make them equal: let the driver count from its absolute '
                'encoder, or, if the encoder measures the joint, set ignore_absolute_encoder of '
                f"transmission '{owners[name]}'",
            )
        if name in of_joints and name not in measured:
            raise MessageError('no_absolute', f'no fresh absolute position of {name}')
    chosen = names or tuple(
        name for name in robot.joint_names if name in of_joints and name in measured
    )
    if not chosen:
        raise MessageError(
            'no_absolute',
            'no joint with an offset has a fresh absolute position of its own '
            '(ignore_absolute_encoder)',
        )
    # Joints without an offset are rejected by name when the offsets are computed.
    return {name: measured.get(name, 0.0) for name in chosen}
