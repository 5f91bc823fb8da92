# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What a command means apart from its numbers, worked out once per pattern of given values.

Controllers command the same joints in the same modes over and over: which coupled joints are left
out, which actuators come out, and as which messages, depends on nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.actuator_messages import is_mixed, message_forms, MessageForm
from transmission_bridge.bridge.coupled import coupled_joints, CoupledJoints
from transmission_bridge.bridge.stamps import Stamp
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['CommandShape', 'CommandShapes']

Mask = npt.NDArray[np.bool_]

#: Patterns remembered; more than the combinations that controllers go through in practice.
PATTERNS = 64


@dataclass(frozen=True, eq=False, slots=True)
class CommandShape:
    """
    The meaning of a pattern.

    :param is_full: Whether everything is given.
    :param is_mixed: Whether joints are commanded in different modes.
    :param partial: Coupled joints of which only some are commanded, or not all in one mode.
    :param given: Places of the joints that the message commands.
    :param joints: Joints that are commanded once the partial ones are completed.
    :param actuators: Actuators that are commanded then.
    :param result: Which numbers of the result, shape ``(3, n_actuators)``, have to be finite, as
        the bytes of a boolean array.
    :param messages: What comes out.
    """

    is_full: bool
    is_mixed: bool
    partial: tuple[CoupledJoints, ...]
    given: npt.NDArray[np.intp]
    joints: Mask
    actuators: Mask
    result: bytes
    messages: tuple[MessageForm, ...]

    def records(self, sent: Array, stamp: Stamp) -> list[JointStateRecord]:
        """Return the messages with the numbers of ``sent``, shape ``(3, n_actuators)``."""
        return [form.record(sent, stamp) for form in self.messages]


class CommandShapes:
    """
    The shapes of a robot, by pattern.

    :param robot: Gives the places of joints and actuators.
    :param merged: Whether mixed modes share one message.
    :ivar groups: The joints that cannot be commanded without others.
    """

    def __init__(self, robot: RobotTransmissions, *, merged: bool) -> None:
        self._robot = robot
        self._merged = merged
        self.groups = coupled_joints(robot)
        self._shapes: OrderedDict[bytes, CommandShape] = OrderedDict()

    def get(self, given: Mask) -> CommandShape:
        """
        Return the shape of a pattern.

        :param given: Which values are given, rows position, velocity, effort, shape
            ``(3, n_joints)``.
        """
        key = given.tobytes()
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = self._make(given)
            if len(self._shapes) > PATTERNS:
                self._shapes.popitem(last=False)
        return shape

    def _make(self, given: Mask) -> CommandShape:
        complete = given.copy()
        partial = []
        for group in self.groups:
            mine: Mask = given[:, group.joints]
            commanded: Mask = np.any(mine, axis=1)
            if not mine[commanded].all():
                partial.append(group)
                complete[:, group.joints] = commanded[:, np.newaxis]
        result = self._result(complete)
        return CommandShape(
            is_full=bool(given.all()),
            is_mixed=is_mixed(given),
            partial=tuple(partial),
            given=np.flatnonzero(given.any(axis=0)),
            joints=np.any(complete, axis=0),
            actuators=np.any(result, axis=0),
            result=result.tobytes(),
            messages=message_forms(self._robot.actuator_names, result, merged=self._merged),
        )

    def _result(self, complete: Mask) -> Mask:
        """Return which actuators follow from completely commanded transmissions, by interface."""
        result: Mask = np.zeros((len(FIELDS), len(self._robot.actuator_names)), dtype=bool)
        through = set(self._robot.pass_through)
        places = {name: place for place, name in enumerate(self._robot.actuator_names)}
        for joint, name in enumerate(self._robot.joint_names):
            if name in through:
                result[:, places[name]] = complete[:, joint]
        for binding in self._robot.bindings:
            actuators = np.array(binding.actuators)[np.array(binding.owned)]
            result[:, actuators] |= complete[:, list(binding.joints)].any(axis=1, keepdims=True)
        return result
