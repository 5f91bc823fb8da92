# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The tree of links, and the way from one link to another."""

from __future__ import annotations

from typing import NamedTuple

from transmission_bridge.description.specs import JointSpec, RobotDescription
from transmission_bridge.errors import DescriptionError, UnknownNameError

__all__ = ['KinematicTree', 'Step']


class Step(NamedTuple):
    """
    One joint on a way through the tree.

    :param joint: The joint.
    :param downward: Whether the way goes from the parent link to the child link.
    """

    joint: JointSpec
    downward: bool


class KinematicTree:
    """
    Which joint carries which link.

    Links are frames; a joint's frame is that of its child link, as URDF has it. A part of the
    description that is not a tree costs only the ways that lead through it.

    :param robot: The robot.
    """

    def __init__(self, robot: RobotDescription) -> None:
        self.robot = robot
        self._above: dict[str, JointSpec] = {}
        self._doubled: dict[str, JointSpec] = {}
        links = dict.fromkeys(link.name for link in robot.links)
        for joint in robot.joints:
            links.update(dict.fromkeys((joint.parent, joint.child)))
            if self._above.setdefault(joint.child, joint) is not joint:
                self._doubled[joint.child] = joint
        #: Names of the links, in document order.
        self.links: tuple[str, ...] = tuple(links)

    def root(self, link: str) -> str:
        """
        Return the link that carries all links above and including this one.

        :param link: Name of a link.
        :returns: Name of the root; the link itself if no joint carries it.
        :raises UnknownNameError: If the robot has no such link.
        :raises DescriptionError: If two joints carry one link, or the joints form a loop.
        """
        above = self._joints_above(link)
        return above[-1].parent if above else link

    def way(self, start: str, goal: str) -> tuple[Step, ...]:
        """
        Return the joints from one link to another, up to the nearest common link, then down.

        :param start: Name of the link where the way begins.
        :param goal: Name of the link where it ends.
        :returns: Steps in order; none if both are the same.
        :raises UnknownNameError: If the robot has no such link.
        :raises DescriptionError: If the links are in different trees, two joints carry one link,
            or the joints form a loop.
        """
        up, down = self._joints_above(start), self._joints_above(goal)
        while up and down and up[-1] is down[-1]:
            up.pop()
            down.pop()
        top_of_start = up[-1].parent if up else start
        top_of_goal = down[-1].parent if down else goal
        if top_of_start != top_of_goal:
            raise DescriptionError(f"no joints lead from link '{start}' to link '{goal}'")
        return (
            *(Step(joint, downward=False) for joint in up),
            *(Step(joint, downward=True) for joint in reversed(down)),
        )

    def _joints_above(self, link: str) -> list[JointSpec]:
        """Return the joints from a link up to the root, in this order."""
        if link not in self.links:
            raise UnknownNameError('link', link, self.links)
        joints: list[JointSpec] = []
        while link in self._above:
            joint = self._doubled.get(link, self._above[link])
            if link in self._doubled or len(joints) >= len(self._above):
                problem = 'has two parent links' if link in self._doubled else 'is in a loop'
                raise DescriptionError(
                    f"link '{link}' {problem}, so its place is not defined",
                    line=joint.line,
                    path=joint.path,
                )
            joints.append(joint)
            link = joint.parent
        return joints
