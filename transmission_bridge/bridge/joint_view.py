# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What is said of the joints: those that follow another one are added, what may not be is left out.

A follower (URDF ``<mimic>``) is computed, never commanded: ``q = multiplier * q_followed +
offset``, its velocity without the offset. Its effort is unknown, because the description does not
say how the load is shared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transmission_bridge.description.specs import JointSpec, RobotDescription
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['JointView']

Mask = npt.NDArray[np.bool_]


class JointView:
    """
    States of the robot's joints as they are published, one instant or many.

    :param robot: The maps.
    :param unknown_rates: ``nan`` or ``zero``: what stands for an unknown velocity or effort.
    :param undeclared: ``publish``: everything is published; ``hide``: of a joint in a
        ``<ros2_control>`` block only the state interfaces that it declares there, or in another
        block; ``auto``: as ``hide`` for joints of blocks whose hardware plugin is topic-based,
        which fails when it is given another one, else as ``publish``.
    :ivar names: The joints, then their followers.
    :ivar hidden: What is never published, shape ``(3, n)``; ``None`` where everything is.
    """

    def __init__(self, robot: RobotTransmissions, unknown_rates: str, undeclared: str) -> None:
        self._followers = _followers(robot)
        self._fills = unknown_rates == 'zero'
        followers = self._followers.names if self._followers is not None else ()
        self.names = (*robot.joint_names, *followers)
        self.hidden = _undeclared(robot.robot, self.names, undeclared)

    @property
    def is_plain(self) -> bool:
        """Whether states that are all known are published as they are."""
        return self._followers is None and self.hidden is None

    def __call__(self, joints: Array) -> tuple[Array, Mask]:
        """
        Return what is published, NaN where nothing is, and what is known, published or not.

        :param joints: Rows position, velocity, effort of the robot's joints, ``(..., 3, n)``.
        :returns: Two arrays ``(..., 3, len(names))``.
        """
        if self._followers is not None:
            joints = self._followers.extend(joints)
        # What is too large for a number is not known either.
        known: Mask = np.isfinite(joints)
        shown = np.where(known, joints, np.nan)
        if self._fills:
            np.copyto(shown[..., 1:, :], 0.0, where=~known[..., 1:, :])
        if self.hidden is not None:
            shown[..., self.hidden] = np.nan
        return shown, known


@dataclass(frozen=True, slots=True)
class _Followers:
    """
    The followers of a robot, chains resolved to the joint that is really there.

    :param names: Names of the followers.
    :param followed: Place of the joint that each follows in the robot's joints.
    :param multiplier: Of the whole chain.
    :param offset: Of the whole chain [rad or m].
    """

    names: tuple[str, ...]
    followed: npt.NDArray[np.intp]
    multiplier: Array
    offset: Array

    def extend(self, joints: Array) -> Array:
        """Append the followers to ``(..., 3, n)``."""
        followed = joints[..., self.followed]
        added = np.full(followed.shape, np.nan)
        added[..., 0, :] = self.multiplier * followed[..., 0, :] + self.offset
        added[..., 1, :] = self.multiplier * followed[..., 1, :]
        return np.concatenate([joints, added], axis=-1)


def _followers(robot: RobotTransmissions) -> _Followers | None:
    """
    Return the followers of bridged joints, or ``None`` where there are none.

    A follower with a transmission of its own is measured, not computed. One that follows, over
    whatever chain, a joint that is not bridged cannot be known and is left out, as is a loop.
    """
    index = {name: place for place, name in enumerate(robot.joint_names)}
    joints = {joint.name: joint for joint in robot.robot.joints}
    found: list[tuple[str, int, float, float]] = []
    for joint in robot.robot.joints:
        if joint.mimic is None or not joint.is_scalar or joint.name in index:
            continue
        chain = _resolve(joint, joints, index)
        if chain is not None:
            found.append((joint.name, *chain))
    if not found:
        return None
    names, followed, multiplier, offset = zip(*found, strict=True)
    return _Followers(
        names, np.array(followed, dtype=np.intp), np.array(multiplier), np.array(offset)
    )


def _resolve(
    joint: JointSpec, joints: dict[str, JointSpec], index: dict[str, int]
) -> tuple[int, float, float] | None:
    multiplier, offset = 1.0, 0.0
    seen = set()
    while joint.name not in index:
        if joint.mimic is None or joint.name in seen or joint.mimic.joint not in joints:
            return None
        seen.add(joint.name)
        offset += multiplier * joint.mimic.offset
        multiplier *= joint.mimic.multiplier
        joint = joints[joint.mimic.joint]
    return index[joint.name], multiplier, offset


def _undeclared(
    robot: RobotDescription, names: tuple[str, ...], choice: str
) -> npt.NDArray[np.bool_] | None:
    """
    Return which values are not to be published, or ``None`` if all are.

    ros2_control's topic-based hardware fails when it is given a finite value for a state
    interface that the joint does not declare.

    :param names: The joints published.
    :param choice: ``publish``: all are published; ``hide``: of a joint in a ``<ros2_control>``
        block only the state interfaces that it declares there, or in another block; ``auto``: as
        ``hide`` for joints of blocks whose hardware plugin is topic-based, else as ``publish``.
    :returns: Shape ``(3, n)``, true where the value must stay unknown.
    """
    if choice == 'publish':
        return None
    declared: dict[str, set[str]] = {}
    for block in robot.blocks:
        if choice == 'auto' and not block.takes_joint_states:
            continue
        for component in block.components:
            if component.kind == 'joint':
                interfaces = declared.setdefault(component.name, set())
                interfaces.update(interface.name for interface in component.state_interfaces)
    hidden = np.array(
        [[field not in declared.get(name, FIELDS) for name in names] for field in FIELDS]
    ).reshape(len(FIELDS), len(names))
    return hidden if hidden.any() else None
