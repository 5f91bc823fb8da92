# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The joints of a robot as a tree of links, and paths through it for batches.

Devices and the tuning tool call it, users :func:`joints_from_description`. A tree is immutable,
and lists links in document order. Devices return the arrays of paths unchanged, so shapes and axes
are fixed. The size of chunks is free: it decides the speed, and no number beyond rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.description import JointSpec, RobotDescription
from transmission_bridge.errors import DescriptionError, UnknownNameError
from transmission_bridge.kinematics.joint import (
    Joint,
    JointDynamics,
    JointDynamicsType,
    JointError,
    LARGEST,
    LinkId,
    MotionLimits,
)
from transmission_bridge.spatial import chain_poses, invert_pose, transform_from_pose
from transmission_bridge.types import Array


def joint_from_spec(spec: JointSpec) -> Joint:
    """
    Return the joint of a ``<joint>`` element, with the parent as ``link1``.

    As in urdfdom, the axis, in the joint frame, is normalised; velocity and effort limits count by
    magnitude if they are given. A missing position bound is the largest finite number. A
    continuous joint has no position limits, even with a ``<limit>``. The dynamics type is ``URDF``
    if there is a ``<dynamics>``, as in iDynTree. Limits and dynamics of joints with several
    degrees of freedom are not read: URDF does not assign them to a degree of freedom.

    :param spec: The joint; its lengths are in m, angles in rad.
    :returns: A joint between the parent and the child link, with offsets zero.
    :raises DescriptionError: If its type has no joint model, its axis has no direction, or a link
        is joined to itself.
    """
    rest = transform_from_pose(spec.origin)
    try:
        motion_limits, dynamics = MotionLimits(), JointDynamics()
        if spec.is_scalar and (limits := spec.limits) is not None:
            is_bounded = spec.type != 'continuous'
            lower, upper = (limits.lower, limits.upper) if is_bounded else (None, None)
            motion_limits = MotionLimits(
                (-LARGEST if lower is None else lower,),
                (LARGEST if upper is None else upper,),
                (abs(limits.velocity or 0.0),),
                (abs(limits.effort or 0.0),),
                has_position=lower is not None or upper is not None,
                has_velocity=limits.velocity is not None,
                has_effort=limits.effort is not None,
            )
        if spec.is_scalar and (given := spec.dynamics) is not None:
            dynamics = JointDynamics(JointDynamicsType.URDF, (given.damping,), (given.friction,))
        return Joint(
            spec.parent,
            spec.child,
            spec.type,
            rest,
            axis=rest[:3, :3] @ spec.axis,
            origin=rest[:3, 3],
            name=spec.name,
            limits=motion_limits,
            dynamics=dynamics,
            mimic=spec.mimic,
        )
    except JointError as error:
        raise DescriptionError(str(error), line=spec.line, path=spec.path) from error


def joints_from_description(robot: RobotDescription) -> tuple[Joint, ...]:
    """
    Return every joint of the robot, numbered in document order.

    :param robot: The robot; its lengths are in m, angles in rad.
    :returns: One joint per ``<joint>``, with the ``index``, ``position_offset`` and ``dof_offset``
        that it has in vectors of the whole robot. Fixed joints have no entries.
    :raises DescriptionError: As :func:`joint_from_spec`.
    """
    return number_joints(joint_from_spec(spec) for spec in robot.joints)


def number_joints(joints: Iterable[Joint]) -> tuple[Joint, ...]:
    """
    Return joints with the indices and offsets of consecutive joints in a vector.

    :param joints: The joints, in the order of the vector.
    """
    placed: list[Joint] = []
    positions = dofs = 0
    for index, joint in enumerate(joints):
        placed.append(replace(joint, index=index, position_offset=positions, dof_offset=dofs))
        positions += joint.n_positions
        dofs += joint.n_dofs
    return tuple(placed)


class KinematicCrossing(NamedTuple):
    """A joint on a route through the tree, as the tree got it; ``downward`` if parent to child."""

    joint: JointSpec | Joint
    downward: bool


class JointSource(NamedTuple):
    """
    The coordinates of a joint in a device, ``q_joint = multiplier * q[position] + offset``.

    ``dof`` is the column in Jacobians. Multiplier and offset come from ``<mimic>``.
    """

    position: int
    dof: int
    multiplier: float = 1.0
    offset: float = 0.0


class KinematicTree:
    """
    The links that joints connect, and the joints that follow others by ``<mimic>``.

    Links are frames; a joint's frame is that of its child link, as in URDF, ``link2`` of a
    :class:`Joint`. Loops and links with two parents affect only the paths through them. A
    ``<joint>`` without a joint model affects only the paths in which it has to move.
    """

    def __init__(self, joints: Iterable[JointSpec | Joint], links: Iterable[LinkId] = ()) -> None:
        #: By name; of joints with one name, the first.
        self._joints: dict[str, JointSpec | Joint] = {}
        #: The first joint above each link, and the last one if it has several.
        self._above: dict[LinkId, JointSpec | Joint] = {}
        self._doubled: dict[LinkId, JointSpec | Joint] = {}
        names = dict.fromkeys(links)
        for joint in joints:
            self._joints.setdefault(joint.name, joint)
            parent, child = _joint_links(joint)
            names.update(dict.fromkeys((parent, child)))
            if self._above.setdefault(child, joint) is not joint:
                self._doubled[child] = joint
        #: Names of all links, also of those without a joint, in document order.
        self.links: tuple[LinkId, ...] = tuple(names)

    @classmethod
    def from_description(cls, robot: RobotDescription) -> KinematicTree:
        """
        Return the tree of all links and joints of a robot.

        :param robot: The description.
        """
        return cls(robot.joints, (link.name for link in robot.links))

    def find_joint(self, name: str) -> Joint:
        """
        Return a joint by name, built from its spec if necessary.

        :param name: The joint.
        :raises UnknownNameError: If there is no such joint.
        """
        if name not in self._joints:
            raise UnknownNameError('joint', name, tuple(self._joints))
        joint = self._joints[name]
        return joint if isinstance(joint, Joint) else joint_from_spec(joint)

    def find_root(self, link: LinkId) -> LinkId:
        """
        Return the root link above a link; the link itself if it has no parent.

        :param link: The link.
        """
        above = self._joints_above(link)
        return _joint_links(above[-1])[0] if above else link

    def find_route(self, start: LinkId, goal: LinkId) -> tuple[KinematicCrossing, ...]:
        """
        Return the joints from one link to another, up to the nearest common link, then down.

        :param start: The first link.
        :param goal: The last link.
        :raises DescriptionError: If they are in different trees.
        """
        if self.find_root(start) != self.find_root(goal):
            raise DescriptionError(f"no joints lead from link '{start}' to link '{goal}'")
        up, down = self._joints_above(start), self._joints_above(goal)
        while up and down and up[-1] is down[-1]:
            up.pop()
            down.pop()
        return (
            *(KinematicCrossing(joint, downward=False) for joint in up),
            *(KinematicCrossing(joint, downward=True) for joint in reversed(down)),
        )

    def find_leader(self, name: str) -> str:
        """
        Return the joint at the end of a chain of ``<mimic>``; the joint itself without one.

        :param name: The joint.
        :raises UnknownNameError: If there is no such joint.
        """
        joint = self._joints.get(name)
        if joint is None:
            raise UnknownNameError('joint', name, tuple(self._joints))
        *_, (joint, _, _) = self._iterate_leaders(joint)
        return joint.name if joint.mimic is None else self.find_leader(joint.mimic.joint)

    def list_sources(self, joints: Sequence[Joint]) -> dict[str, JointSource]:
        """
        Return the coordinates of every joint that moves with the numbered joints of a device.

        A joint of the device has its own coordinates, even if it has a ``<mimic>``. Every other
        joint with one coordinate follows a joint of the device if it has a ``<mimic>`` of that
        joint, directly or through further mimics.

        :param joints: Joints of the device, with their offsets (:func:`number_joints`).
        """
        sources = {
            joint.name: JointSource(joint.position_offset, joint.dof_offset) for joint in joints
        }
        scalar = {joint.name for joint in joints if joint.is_scalar}
        result: dict[str, JointSource] = {}
        for name, joint in self._joints.items():
            for leader, multiplier, offset in self._iterate_leaders(joint):
                if leader.name in sources:
                    if leader is joint or (joint.is_scalar and leader.name in scalar):
                        position, dof, _, _ = sources[leader.name]
                        result[name] = JointSource(position, dof, multiplier, offset)
                    break
        return result

    def _iterate_leaders(
        self, joint: JointSpec | Joint
    ) -> Iterator[tuple[JointSpec | Joint, float, float]]:
        """Yield the joint and its leaders: ``q = multiplier * q_yielded + offset``."""
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
        raise _joint_error(joint, f"joint '{joint.name}' mimics itself through other joints")

    def _joints_above(self, link: LinkId) -> list[JointSpec | Joint]:
        """Return the joints from a link up to the root, in this order."""
        if link not in self.links:
            raise UnknownNameError('link', str(link), tuple(map(str, self.links)))
        joints: list[JointSpec | Joint] = []
        while link in self._above:
            joint = self._doubled.get(link, self._above[link])
            if link in self._doubled or len(joints) >= len(self._above):
                problem = 'has two parent links' if link in self._doubled else 'is in a loop'
                raise _joint_error(joint, f"link '{link}' {problem}, so its position is undefined")
            joints.append(joint)
            link = _joint_links(joint)[0]
        return joints


def rest_transform_of(joint: JointSpec | Joint) -> Array:
    """
    Return ``parent_H_child`` of a joint at rest, also for a type without a joint model.

    :param joint: A joint, or its spec in a description.
    :returns: Homogeneous transform [m], shape ``(4, 4)``.
    """
    return joint.rest if isinstance(joint, Joint) else transform_from_pose(joint.origin)


def _joint_links(joint: JointSpec | Joint) -> tuple[LinkId, LinkId]:
    if isinstance(joint, Joint):
        return joint.link1, joint.link2
    return joint.parent, joint.child


def _joint_error(joint: JointSpec | Joint, message: str) -> DescriptionError:
    line, path = (None, '') if isinstance(joint, Joint) else (joint.line, joint.path)
    return DescriptionError(message, line=line, path=path)


# -- Paths for batches of configurations ---------------------------------------------------------
#
# ``base_H_frame(q) = K_0 M_0(q) K_1 M_1(q) … K_m``: ``M_i`` is the motion of a joint in its motion
# frame, or its inverse if the path crosses the joint upward, towards the root. The base may be
# anywhere in the tree. The constants contain fixed joints, joints at rest and directions of axes.
#
# Configurations are processed together, joint by joint, in chunks that fit the cache. Frames are
# columns ``frame[column, row, configuration]``: x, y, z and the origin. Each joint is then a few
# long vector operations and each constant transform one small matrix product.


#: Degrees of freedom times configurations per chunk: long enough to hide the overhead of numpy
#: calls, short enough for the second-level cache. Seven joints: 2048 configurations.
CHUNK_SIZE = 14336
MIN_CHUNK = 256


@dataclass(frozen=True, slots=True)
class KinematicSegment:
    """A moving joint of a path, after a constant transform from the last motion frame."""

    before: Array
    joint: Joint
    source: JointSource
    downward: bool


#: One degree of freedom for a chunk of configurations: its column, whether it is linear, its axis
#: per unit of velocity and its origin [m], each of shape (3, chunk).
_Twist = tuple[int, bool, Array, Array]


@dataclass(frozen=True, eq=False)
class KinematicPath:
    """
    The path from a base to a frame.

    :param segments: The moving joints, in path order.
    :param last: The constant transform after the last of them [m], shape ``(4, 4)``.
    :param n_columns: Degrees of freedom of the device, also of joints beside the path.
    """

    segments: tuple[KinematicSegment, ...]
    last: Array
    n_columns: int

    def compute_transform(self, q: Array) -> Array:
        """Return ``base_H_frame`` ``(..., 4, 4)`` at coordinates ``(..., n)`` of the device."""
        result = np.zeros((*q.shape[:-1], 4, 4))
        result[..., 3, 3] = 1.0
        flat = result.reshape(-1, 4, 4)
        for part, frame, _ in self._sweep_chunks(q):
            flat[part, :3] = frame.T
        return result

    def jacobian(self, q: Array) -> Array:
        """
        Return the Jacobian ``(..., 6, m)`` of the frame's motion relative to the base.

        Rows are the linear velocity of the frame's origin, then the angular velocity, in the axes
        of the base.
        """
        result = np.empty((*q.shape[:-1], 6, self.n_columns))
        flat = result.reshape(math.prod(q.shape[:-1]), 6, self.n_columns)
        for part, frame, twists in self._sweep_chunks(q):
            jacobian = np.zeros((6, self.n_columns, frame.shape[-1]))
            # Several joints may share a column: a joint with a <mimic> adds to the column of its
            # leader.
            for column, is_linear, axis, origin in twists:
                if is_linear:
                    jacobian[:3, column] += axis
                else:
                    lever = frame[3] - origin
                    for row, ahead, behind in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
                        jacobian[row, column] += axis[ahead] * lever[behind]
                        jacobian[row, column] -= axis[behind] * lever[ahead]
                    jacobian[3:, column] += axis
            flat[part] = jacobian.transpose(2, 0, 1)
        return result

    def _sweep_chunks(self, q: Array) -> Iterator[tuple[slice, Array, list[_Twist]]]:
        """Yield for each chunk its slice, the last frame and the free twists in path order."""
        rows = q.reshape(math.prod(q.shape[:-1]), q.shape[-1])
        n_twists = sum(segment.joint.n_dofs for segment in self.segments)
        step = max(MIN_CHUNK, CHUNK_SIZE // max(1, n_twists))
        with np.errstate(invalid='ignore'):  # an infinite position is unknown: no warning
            for start in range(0, len(rows), step):
                part = slice(start, start + step)
                yield part, *self._sweep_chunk(rows[part])

    def _sweep_chunk(self, rows: Array) -> tuple[Array, list[_Twist]]:
        given = rows.T.copy()
        is_known = bool(np.isfinite(given).all())
        frame = np.zeros((4, 3, len(rows)))
        frame[:3] = np.eye(3)[..., np.newaxis]
        twists: list[_Twist] = []
        for segment in self.segments:
            joint, (position, dof, multiplier, offset) = segment.joint, segment.source
            sign = 1.0 if segment.downward else -1.0
            own = multiplier * given[position : position + joint.n_positions] + offset
            start = frame = _multiply_frames(frame, segment.before, is_known)
            if joint.twists == (5,):
                # The common case, with less work. numpy vectorises float64 tangent, but not sine
                # and cosine: sin = 2 t / (1 + t²), cos = (1 - t²) / (1 + t²).
                tangent = np.tan(0.5 * sign * own[0])
                scale = 2.0 / (1.0 + tangent * tangent)
                sine, cosine = tangent * scale, scale - 1.0
                x, y, _, _ = frame
                frame[0], frame[1] = cosine * x + sine * y, cosine * y - sine * x
            else:
                motion = joint.motion(own.T)
                motion = motion if segment.downward else invert_pose(motion)
                frame = _multiply_frames(start, np.moveaxis(motion, 0, -1), is_known)
            # The free twists are fixed in the motion frame on the side of the child link.
            fixed = frame if segment.downward else start
            for column, twist in enumerate(joint.twists, start=dof):
                gain = sign * multiplier
                axis = fixed[twist % 3] if gain == 1.0 else gain * fixed[twist % 3]
                twists.append((column, twist < 3, axis, fixed[3]))
        return _multiply_frames(frame, self.last, is_known), twists


def compile_kinematic_path(
    tree: KinematicTree, start: LinkId, goal: LinkId, joints: Sequence[Joint]
) -> KinematicPath:
    """
    Return the path through the tree with its constants.

    Joints that do not follow ``joints``, the numbered joints of the device, stay at rest.
    """
    sources = tree.list_sources(joints)
    segments: list[KinematicSegment] = []
    constant = np.eye(4)
    for crossing in tree.find_route(start, goal):
        source = sources.get(crossing.joint.name)
        joint = None if source is None else tree.find_joint(crossing.joint.name)
        if source is None or joint is None or not joint.n_dofs:
            rest = rest_transform_of(crossing.joint)
            constant = chain_poses(constant, rest if crossing.downward else invert_pose(rest))
            continue
        before, after = joint.motion_frames
        if not crossing.downward:
            before, after = invert_pose(after), invert_pose(before)
        segments.append(
            KinematicSegment(chain_poses(constant, before), joint, source, crossing.downward)
        )
        constant = after
    return KinematicPath(tuple(segments), constant, sum(joint.n_dofs for joint in joints))


def _multiply_frames(frame: Array, motion: Array, is_known: bool) -> Array:
    """
    Return frames ``(4, 3, chunk)`` times transforms, ``(4, 4)`` or ``(4, 4, chunk)``.

    If a value is unknown, terms with a factor of zero are left out: a dense product computes
    ``0 * NaN``, and an unknown joint would make independent directions unknown.
    """
    if is_known and motion.ndim == 2:
        return (motion.T @ frame.reshape(4, -1)).reshape(frame.shape)
    if is_known:
        return np.asarray(np.einsum('irc,ijc->jrc', frame, motion))
    factors = motion.reshape(4, 4, 1, -1)
    products = frame[:, np.newaxis] * factors
    products[(frame[:, np.newaxis] == 0.0) | (factors == 0.0)] = 0.0
    return products.sum(axis=0)
