# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Offsets of joints from calibration marks and absolute encoders."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transmission_bridge.bridge.zeroing.zeroing import list_offsets, list_zeroable_joints
from transmission_bridge.description import Finding, JointSpec
from transmission_bridge.errors import MessageError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

# -- <calibration rising> ------------------------------------------------------------------------
#
# The position of the joint at the rising edge of its reference switch
# (http://wiki.ros.org/urdf/XML/joint). If the driver counts from that edge, it is the offset.


def compute_calibration_offsets(
    robot: RobotTransmissions,
) -> tuple[dict[str, float], tuple[Finding, ...]]:
    """
    Return offsets of joints from the calibration marks of the URDF.

    :param robot: With the numbers of its URDF.
    :returns: Offsets for :meth:`RobotTransmissions.with_parameters`, for joints with an offset of
        zero in their transmission, and a warning for each mark that is not used.
    """
    offsets = {offset.path[1]: offset for offset in list_offsets(robot, 'joints')}
    values = {}
    findings = list(warn_of_double_offsets(robot))
    for joint, rising in _list_marks(robot):
        if joint.name not in offsets:
            text = (
                f"calibration_offsets: the <calibration> of '{joint.name}' is not used, because "
                'no transmission reads an offset of this joint'
            )
            findings.append(_make_mark_finding(joint, text))
            continue
        if not offsets[joint.name].value:
            values[offsets[joint.name].name] = rising
    return values, tuple(findings)


def warn_of_double_offsets(robot: RobotTransmissions) -> tuple[Finding, ...]:
    """Return a warning for each joint with a calibration mark and an offset."""
    values = {offset.path[1]: offset.value for offset in list_offsets(robot, 'joints')}
    return tuple(
        _make_mark_finding(
            joint,
            f'joint \'{joint.name}\' has <calibration rising="{rising:g}">, and its transmission '
            f'has the offset {values[joint.name]:g}: two values for the same zero; the offset is '
            'used, also with calibration_offsets',
        )
        for joint, rising in _list_marks(robot)
        if rising and values.get(joint.name)
    )


def _list_marks(robot: RobotTransmissions) -> list[tuple[JointSpec, float]]:
    return [
        (joint, joint.calibration.rising)
        for joint in robot.description.joints
        if joint.calibration is not None and joint.calibration.rising is not None
    ]


def _make_mark_finding(joint: JointSpec, text: str) -> Finding:
    return Finding('warning', text, line=joint.line, path=joint.path, subject=joint.name)


# -- Absolute encoders ---------------------------------------------------------------------------


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
    known: Mapping[str, float] = {
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
    own = {name for name, owner in owners.items() if owner in robot.ignore_absolute_encoder}
    for name in names:
        if name in owners and name not in own:
            raise MessageError(
                'mapped_absolute',
                f'the absolute position of {name} is mapped with the same offset as its position, '
                'so no offset can make them equal: let the driver count from its absolute '
                'encoder, or, if the encoder measures the joint, set ignore_absolute_encoder of '
                f"transmission '{owners[name]}'",
            )
        if name in own and name not in known:
            raise MessageError('no_absolute', f'no fresh absolute position of {name}')
    found = names or tuple(name for name in robot.joint_names if name in own and name in known)
    if not found:
        raise MessageError(
            'no_absolute',
            'no joint with an offset has a fresh absolute position of its own '
            '(ignore_absolute_encoder)',
        )
    # Joints without an offset are rejected by name when the offsets are computed.
    return {name: known.get(name, 0.0) for name in found}
