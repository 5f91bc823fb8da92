# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Offsets from what a robot knows of its zero: calibration marks and absolute encoders."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transmission_bridge.bridge.zeroing import joints_with_offset, offsets_of
from transmission_bridge.description.specs import Finding, JointSpec
from transmission_bridge.errors import MessageError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

# -- <calibration rising> ------------------------------------------------------------------------
#
# The position of the joint at which its reference switch gives a rising edge
# (http://wiki.ros.org/urdf/XML/joint). Where the driver counts from that edge, it is the offset.


def calibration_offsets(
    robot: RobotTransmissions,
) -> tuple[dict[str, float], tuple[Finding, ...]]:
    """
    Return the offsets that the calibration marks of the URDF give.

    :param robot: With the numbers of its URDF.
    :returns: Offsets as :meth:`RobotTransmissions.with_parameters` takes them, of the joints whose
        transmission gives none, and a warning for each mark that is not used.
    """
    offsets = {offset.path[1]: offset for offset in offsets_of(robot, 'joints')}
    values = {}
    findings = list(counted_twice(robot))
    for joint, rising in _marks(robot):
        if joint.name not in offsets:
            text = (
                f"calibration_offsets: the <calibration> of '{joint.name}' is not used, because "
                'no transmission reads an offset of it'
            )
            findings.append(_finding(joint, text))
            continue
        if not offsets[joint.name].value:
            values[offsets[joint.name].name] = rising
    return values, tuple(findings)


def counted_twice(robot: RobotTransmissions) -> tuple[Finding, ...]:
    """Return a warning for each joint with a calibration mark and an offset of its own."""
    values = {offset.path[1]: offset.value for offset in offsets_of(robot, 'joints')}
    return tuple(
        _finding(
            joint,
            f'joint \'{joint.name}\' has <calibration rising="{rising:g}"> and its transmission '
            f'the offset {values[joint.name]:g}: the same zero would count twice; the offset '
            'counts, with calibration_offsets too',
        )
        for joint, rising in _marks(robot)
        if rising and values.get(joint.name)
    )


def _marks(robot: RobotTransmissions) -> list[tuple[JointSpec, float]]:
    return [
        (joint, joint.calibration.rising)
        for joint in robot.robot.joints
        if joint.calibration is not None and joint.calibration.rising is not None
    ]


def _finding(joint: JointSpec, text: str) -> Finding:
    return Finding('warning', text, line=joint.line, path=joint.path, subject=joint.name)


# -- Absolute encoders ---------------------------------------------------------------------------


def absolute_targets(
    robot: RobotTransmissions, names: tuple[str, ...], absolute: Array
) -> dict[str, float]:
    """
    Return the positions that joints have by their absolute encoders.

    An offset can make them agree only where the encoder measures the joint itself. Elsewhere the
    absolute position is mapped with the same offset, so that the difference would stay.

    :param names: The joints, empty: all that have an offset, an encoder that measures the joint,
        and a reading.
    :param absolute: Absolute positions of the joints [rad or m], shape ``(n_joints,)``, NaN where
        unknown.
    :raises MessageError: If a joint has no absolute position (``no_absolute``), or one that is
        mapped (``mapped_absolute``); if there is none at all (``no_absolute``).
    """
    known: Mapping[str, float] = {
        name: float(value)
        for name, value in zip(robot.joint_names, absolute, strict=True)
        if np.isfinite(value)
    }
    with_offset = joints_with_offset(robot)
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
                'so that no offset makes them agree: let the driver count from its absolute '
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
    # Others are refused by name where the offsets are computed.
    return {name: known.get(name, 0.0) for name in found}
