# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The joints of a robot as a tree of links: ways between links, and joints that follow others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from transmission_bridge.description.specs import JointSpec, RobotDescription
from transmission_bridge.errors import DescriptionError, UnknownNameError
from transmission_bridge.kinematics.joint import (
    Joint,
    JointDynamics,
    JointDynamicsType,
    JointError,
    LARGEST,
    LinkId,
    MotionLimits,
    TWISTS,
)
from transmission_bridge.kinematics.spatial import transform_from_pose
from transmission_bridge.types import Array

__all__ = [
    'Crossing',
    'JointSource',
    'KinematicTree',
    'joint_from_spec',
    'joints_from_description',
    'numbered',
    'rest_of',
]


def joint_from_spec(spec: JointSpec) -> Joint:
    """
    Return the joint that a ``<joint>`` describes, with the parent as ``link1``.

    As urdfdom reads it: the axis, in the joint frame, is normalised; velocity and effort limits
    count by magnitude where they are given. A position bound that is left open is the largest
    finite number; a continuous joint has no position limits, whatever ``<limit>`` says. The
    dynamics type is ``URDF`` where there is a ``<dynamics>``, as in iDynTree. Limits and dynamics
    of joints with several degrees of freedom are not read: URDF does not say of which they are.

    :param spec: The joint; its lengths are in m, angles in rad.
    :returns: A joint between the parent and the child link, with offsets zero.
    :raises DescriptionError: If its type has no joint model, its axis has no direction, or a link
        is joined to itself.
    """
    if spec.type not in TWISTS:
        raise DescriptionError(
            f"joint '{spec.name}' is of a type that has no joint model",
            line=spec.line,
            path=spec.path,
            expected=', '.join(TWISTS),
            found=spec.type,
        )
    rest = transform_from_pose(spec.origin)
    try:
        return Joint(
            spec.parent,
            spec.child,
            spec.type,
            rest,
            axis=rest[:3, :3] @ spec.axis,
            origin=rest[:3, 3],
            name=spec.name,
            limits=_limits(spec),
            dynamics=_dynamics(spec),
            mimic=spec.mimic,
        )
    except JointError as error:
        raise DescriptionError(str(error), line=spec.line, path=spec.path) from error


def joints_from_description(robot: RobotDescription) -> tuple[Joint, ...]:
    """
    Return every joint of the robot, numbered in document order.

    :param robot: The robot; its lengths are in m, angles in rad.
    :returns: One joint per ``<joint>``, as :func:`numbered` places them.
    :raises DescriptionError: As :func:`joint_from_spec`.
    """
    return numbered(joint_from_spec(spec) for spec in robot.joints)


def numbered(joints: Iterable[Joint]) -> tuple[Joint, ...]:
    """
    Return joints that follow each other in the vectors of a model or device.

    :param joints: The joints in order.
    :returns: The same with other ``index``, ``position_offset`` and ``dof_offset``; fixed joints
        take no room.
    """
    placed: list[Joint] = []
    positions = dofs = 0
    for index, joint in enumerate(joints):
        placed.append(replace(joint, index=index, position_offset=positions, dof_offset=dofs))
        positions += joint.n_positions
        dofs += joint.n_dofs
    return tuple(placed)


class Crossing(NamedTuple):
    """
    One joint on a way through the tree.

    :param joint: The joint, as the tree was given it.
    :param downward: Whether the way goes from the parent link to the child link.
    """

    joint: JointSpec | Joint
    downward: bool


class JointSource(NamedTuple):
    """
    Where a device's vectors hold a joint, ``q_joint = multiplier * q[position] + offset``.

    :param position: Place of its first coordinate in ``q``.
    :param dof: Place of its first degree of freedom in ``dq``, its column in Jacobians.
    :param multiplier: Motion of a joint that follows per motion of the joint that it follows.
    :param offset: Position of a joint that follows at zero [rad or m].
    """

    position: int
    dof: int
    multiplier: float = 1.0
    offset: float = 0.0


class KinematicTree:
    """
    Which joint carries which link, and which joint follows which.

    Links are frames; a joint's frame is that of its child link, as URDF has it, ``link2`` of a
    :class:`Joint`. A part that is not a tree costs only the ways that lead through it, and a
    ``<joint>`` that makes no joint only those that need it to move.

    :param joints: The joints of the robot, as described or made.
    :param links: Names of links, also of those without a joint.
    """

    def __init__(self, joints: Iterable[JointSpec | Joint], links: Iterable[LinkId] = ()) -> None:
        self._joints: dict[str, JointSpec | Joint] = {}
        self._above: dict[LinkId, JointSpec | Joint] = {}
        self._doubled: dict[LinkId, JointSpec | Joint] = {}
        names = dict.fromkeys(links)
        for joint in joints:
            self._joints.setdefault(joint.name, joint)
            parent, child = _ends(joint)
            names.update(dict.fromkeys((parent, child)))
            if self._above.setdefault(child, joint) is not joint:
                self._doubled[child] = joint
        #: Names of the links, in document order.
        self.links: tuple[LinkId, ...] = tuple(names)

    @classmethod
    def from_description(cls, robot: RobotDescription) -> KinematicTree:
        """
        Return the tree of a robot.

        :param robot: The robot.
        :returns: The tree of all its links and joints.
        """
        return cls(robot.joints, (link.name for link in robot.links))

    def joint(self, name: str) -> Joint:
        """
        Return a joint by name.

        :param name: Name of a joint.
        :returns: The joint, made from its description where that is what the tree has.
        :raises UnknownNameError: If there is none of this name.
        :raises DescriptionError: As :func:`joint_from_spec`.
        """
        if name not in self._joints:
            raise UnknownNameError('joint', name, tuple(self._joints))
        joint = self._joints[name]
        return joint if isinstance(joint, Joint) else joint_from_spec(joint)

    def root(self, link: LinkId) -> LinkId:
        """
        Return the link that carries all links above and including this one.

        :param link: Name of a link.
        :returns: Name of the root; the link itself if no joint carries it.
        :raises UnknownNameError: If the robot has no such link.
        :raises DescriptionError: If two joints carry one link, or the joints form a loop.
        """
        above = self._joints_above(link)
        return _ends(above[-1])[0] if above else link

    def way(self, start: LinkId, goal: LinkId) -> tuple[Crossing, ...]:
        """
        Return the joints from one link to another, up to the nearest common link, then down.

        :param start: Name of the link where the way begins.
        :param goal: Name of the link where it ends.
        :returns: The joints in order; none if both are the same.
        :raises UnknownNameError: If the robot has no such link.
        :raises DescriptionError: If the links are in different trees, two joints carry one link,
            or the joints form a loop.
        """
        if self.root(start) != self.root(goal):
            raise DescriptionError(f"no joints lead from link '{start}' to link '{goal}'")
        up, down = self._joints_above(start), self._joints_above(goal)
        while up and down and up[-1] is down[-1]:
            up.pop()
            down.pop()
        return (
            *(Crossing(joint, downward=False) for joint in up),
            *(Crossing(joint, downward=True) for joint in reversed(down)),
        )

    def owner(self, name: str) -> str:
        """
        Return the joint that a joint follows in the end; itself if it has no ``<mimic>``.

        :param name: Name of a joint.
        :returns: Name of the joint that moves it.
        :raises UnknownNameError: If the joint, or one that it follows, does not exist.
        :raises DescriptionError: If mimics form a loop.
        """
        joint = self._joints.get(name)
        if joint is None:
            raise UnknownNameError('joint', name, tuple(self._joints))
        *_, (joint, _, _) = self._followed(joint)
        return joint.name if joint.mimic is None else self.owner(joint.mimic.joint)

    def sources(self, joints: Sequence[Joint]) -> dict[str, JointSource]:
        """
        Return how every joint that a device moves follows its coordinates.

        A joint that the device has uses its own coordinates, even if it has a ``<mimic>``: what a
        device is told to command is independent. Every other joint with one coordinate and a
        ``<mimic>``, directly or through further mimics, of such a joint of the device follows it.

        :param joints: The joints of the device, numbered.
        :returns: The source of each joint that moves; joints that do not move are absent.
        :raises DescriptionError: If mimics form a loop.
        """
        own = {each.name: JointSource(each.position_offset, each.dof_offset) for each in joints}
        scalar = {each.name for each in joints if each.is_scalar}
        found: dict[str, JointSource] = {}
        for name, joint in self._joints.items():
            for leader, multiplier, offset in self._followed(joint):
                if leader.name in own:
                    if leader is joint or (joint.is_scalar and leader.name in scalar):
                        position, dof, _, _ = own[leader.name]
                        found[name] = JointSource(position, dof, multiplier, offset)
                    break
        return found

    def _followed(
        self, joint: JointSpec | Joint
    ) -> Iterator[tuple[JointSpec | Joint, float, float]]:
        """Yield the joint and those that it follows: ``q = multiplier * q_yielded + offset``."""
        multiplier, offset = 1.0, 0.0
        current: JointSpec | Joint | None = joint
        for _ in range(len(self._joints) + 1):
            if current is None:
                return
            yield current, multiplier, offset
            if current.mimic is None:
                return
            # q = m (m' q' + o') + o
            offset += multiplier * current.mimic.offset
            multiplier *= current.mimic.multiplier
            current = self._joints.get(current.mimic.joint)
        raise _error(joint, f"joint '{joint.name}' mimics itself through other joints")

    def _joints_above(self, link: LinkId) -> list[JointSpec | Joint]:
        """Return the joints from a link up to the root, in this order."""
        if link not in self.links:
            raise UnknownNameError('link', str(link), tuple(map(str, self.links)))
        joints: list[JointSpec | Joint] = []
        while link in self._above:
            joint = self._doubled.get(link, self._above[link])
            if link in self._doubled or len(joints) >= len(self._above):
                problem = 'has two parent links' if link in self._doubled else 'is in a loop'
                raise _error(joint, f"link '{link}' {problem}, so its place is not defined")
            joints.append(joint)
            link = _ends(joint)[0]
        return joints


def rest_of(joint: JointSpec | Joint) -> Array:
    """
    Return ``parent_H_child`` of a joint at rest, also of one that could not move.

    :param joint: The joint, as described or made.
    :returns: Shape ``(4, 4)`` [translation in m].
    """
    return joint.rest if isinstance(joint, Joint) else transform_from_pose(joint.origin)


def _ends(joint: JointSpec | Joint) -> tuple[LinkId, LinkId]:
    """Return parent and child."""
    if isinstance(joint, Joint):
        return joint.link1, joint.link2
    return joint.parent, joint.child


def _error(joint: JointSpec | Joint, message: str) -> DescriptionError:
    if isinstance(joint, Joint):
        return DescriptionError(message)
    return DescriptionError(message, line=joint.line, path=joint.path)


def _limits(spec: JointSpec) -> MotionLimits:
    limits = spec.limits
    if limits is None or not spec.is_scalar:
        return MotionLimits()
    is_bounded = spec.type != 'continuous'
    lower = limits.lower if is_bounded else None
    upper = limits.upper if is_bounded else None
    return MotionLimits(
        (-LARGEST if lower is None else lower,),
        (LARGEST if upper is None else upper,),
        (abs(limits.velocity or 0.0),),
        (abs(limits.effort or 0.0),),
        has_position=lower is not None or upper is not None,
        has_velocity=limits.velocity is not None,
        has_effort=limits.effort is not None,
    )


def _dynamics(spec: JointSpec) -> JointDynamics:
    given = spec.dynamics
    if given is None or not spec.is_scalar:
        return JointDynamics()
    return JointDynamics(JointDynamicsType.URDF, (given.damping,), (given.friction,))
