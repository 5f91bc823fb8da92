# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The joints of the URDF by name, for those who refer to one."""

from __future__ import annotations

from collections.abc import Sequence

from transmission_bridge.description.specs import JointSpec
from transmission_bridge.description.xml import Element

__all__ = ['RobotJoints']


class RobotJoints:
    """
    Joints that can be used, and those that an error finding cost.

    :param root: The robot element.
    :param joints: Its usable joints.
    """

    def __init__(self, root: Element, joints: Sequence[JointSpec]) -> None:
        elements = root.all('joint')
        self._by_name = {joint.name: joint for joint in joints}
        self._lines = {element.get('name'): element.line for element in reversed(elements)}
        self._elements = {element.path: element for element in elements}
        #: The usable joints, in document order.
        self.usable = tuple(joints)

    def get(self, name: str) -> JointSpec | None:
        """Return the usable joint of this name, or ``None``."""
        return self._by_name.get(name)

    def __contains__(self, name: str) -> bool:
        """Whether there is a joint of this name, usable or not."""
        return name in self._lines

    def element(self, joint: JointSpec) -> Element:
        """Return where a usable joint stands."""
        return self._elements[joint.path]

    def complaint(self, name: str) -> str:
        """Return why there is no usable joint of this name."""
        if name in self._lines:
            return f"joint '{name}' of line {self._lines[name]} could not be read"
        return f"the robot has no joint '{name}'"
