# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The joints of a robot as a tree of links, and paths through it for batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
import math
from typing import NamedTuple

import numpy as np

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
from transmission_bridge.kinematics.spatial import compose, inverse, transform_from_pose
from transmission_bridge.types import Array, Index

__all__ = [
    'CompiledPath',
    'Crossing',
    'JointSource',
    'KinematicTree',
    'Segment',
    'compile_path',
    'joint_from_spec',
    'joints_from_description',
    'numbered',
    'path_jacobian',
    'path_transform',
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
    The coordinates of a joint in a device, ``q_joint = multiplier * q[position] + offset``.

    :param position: Index of its first coordinate in ``q``.
    :param dof: Index of its first degree of freedom in ``dq``, its column in Jacobians.
    :param multiplier: Of a joint with ``<mimic>``, else 1.
    :param offset: Of a joint with ``<mimic>`` [rad or m], else 0.
    """

    position: int
    dof: int
    multiplier: float = 1.0
    offset: float = 0.0


class KinematicTree:
    """
    The links that joints connect, and the joints that follow others.

    Links are frames; a joint's frame is that of its child link, as in URDF, ``link2`` of a
    :class:`Joint`. A part that is not a tree affects only the paths through it, and a ``<joint>``
    without a joint model only the paths in which it has to move.

    :param joints: The joints of the robot, as specs or joints.
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
        :returns: The joint, made from its spec if necessary.
        :raises UnknownNameError: If there is none of this name.
        :raises DescriptionError: As :func:`joint_from_spec`.
        """
        if name not in self._joints:
            raise UnknownNameError('joint', name, tuple(self._joints))
        joint = self._joints[name]
        return joint if isinstance(joint, Joint) else joint_from_spec(joint)

    def root(self, link: LinkId) -> LinkId:
        """
        Return the root link above a link.

        :param link: Name of a link.
        :returns: Name of the root; the link itself if it has no parent.
        :raises UnknownNameError: If the robot has no such link.
        :raises DescriptionError: If a link has two parents, or the joints form a loop.
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
        :raises DescriptionError: If the links are in different trees, a link has two parents, or
            the joints form a loop.
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
        Return the joint at the end of a chain of ``<mimic>``; the joint itself without one.

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
        Return the coordinates of every joint that a device moves.

        A joint of the device has its own coordinates, even if it has a ``<mimic>``. Every other
        joint with one coordinate and a ``<mimic>``, directly or through further mimics, of such a
        joint of the device follows it.

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
    Return ``parent_H_child`` of a joint at rest, also of a type without joint model.

    :param joint: The joint or its spec.
    :returns: Shape ``(4, 4)`` [translation in m].
    """
    return joint.rest if isinstance(joint, Joint) else transform_from_pose(joint.origin)


def _ends(joint: JointSpec | Joint) -> tuple[LinkId, LinkId]:
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


# -- Paths for batches of configurations ---------------------------------------------------------
#
# ``base_H_frame(q) = K_0 M_0(q) K_1 M_1(q) … K_m``, where ``M_i`` is the motion of a joint in its
# motion frame. Fixed joints, joints at rest, directions of axes and mimic offsets are in the
# constants. A joint that the path passes upward, towards the root, is inverted, so that the base
# may be anywhere in the tree.
#
# Configurations are processed together, joint by joint, in chunks that fit the cache: frames are
# columns ``axes[column, row, configuration]``, so that each joint is a few long vector operations
# and each constant transform one small matrix product.


#: Degrees of freedom times configurations per chunk: long enough to hide the cost of a call, short
#: enough for the second-level cache. Seven joints: 2048 configurations.
CHUNK_SIZE = 14336
MIN_CHUNK = 256


@dataclass(frozen=True, slots=True)
class Segment:
    """
    One moving joint of a path.

    :param before: Constant transform from the previous motion frame to this one's, shape
        ``(4, 4)`` [translation in m].
    :param joint: The joint.
    :param position: Index of its first coordinate in the device's positions.
    :param dof: Its first column in the device's Jacobians.
    :param gain: Its motion along the path per unit of its coordinate; -1 for a joint with several
        degrees of freedom on the way up.
    """

    before: Array
    joint: Joint
    position: int
    dof: int
    gain: float


@dataclass(frozen=True, eq=False)
class CompiledPath:
    """
    Constants of the path from a base to a frame.

    :param segments: The moving joints in path order.
    :param last: Constant transform after the last one, shape ``(4, 4)`` [translation in m].
    :param n_columns: Number of degrees of freedom of the device.
    """

    segments: tuple[Segment, ...]
    last: Array
    n_columns: int

    @cached_property
    def places(self) -> Index:
        """Indices of the joints with one coordinate in the device's positions."""
        scalars = [each.position for each in self.segments if each.joint.is_scalar]
        return np.array(scalars, dtype=np.intp)

    @cached_property
    def gains(self) -> Array:
        """Their motion along the path per unit of the coordinate, shape ``(n, 1)``."""
        scalars = [each.gain for each in self.segments if each.joint.is_scalar]
        return np.array(scalars, dtype=np.float64)[:, np.newaxis]

    @cached_property
    def free(self) -> tuple[tuple[int, bool], ...]:
        """Column, and whether it is linear, of every free twist in path order."""
        return tuple(
            (column, twist < 3)
            for each in self.segments
            for column, twist in enumerate(each.joint.twists, start=each.dof)
        )

    @cached_property
    def free_gains(self) -> Array:
        """Their motion along the path per unit of velocity, shape ``(n, 1, 1)``."""
        gains = [each.gain for each in self.segments for _ in each.joint.twists]
        return np.array(gains, dtype=np.float64)[:, np.newaxis, np.newaxis]


def compile_path(
    way: Sequence[Crossing],
    sources: Mapping[str, JointSource],
    joint_of: Callable[[str], Joint],
    n_columns: int,
) -> CompiledPath:
    """
    Return the constants of a path through the tree.

    :param way: The joints of the path.
    :param sources: Coordinates of the joints that move; the others stay at rest.
    :param joint_of: Returns the joint of a name.
    :param n_columns: Number of degrees of freedom of the device.
    :returns: The constants.
    :raises DescriptionError: If the description of a moving joint makes no joint.
    """
    segments: list[Segment] = []
    constant = np.eye(4)
    for crossing in way:
        source = sources.get(crossing.joint.name)
        joint = None if source is None else joint_of(crossing.joint.name)
        if source is None or joint is None or not joint.n_dofs:
            rest = rest_of(crossing.joint)
            constant = compose(constant, rest if crossing.downward else inverse(rest))
            continue
        before, after = joint.motion_frames
        sign = 1.0 if crossing.downward else -1.0
        if not crossing.downward:
            before, after = inverse(after), inverse(before)
        if source.offset:
            before = compose(before, joint.motion(np.array([sign * source.offset])))
        gain = sign * source.multiplier
        before = compose(constant, before)
        segments.append(Segment(before, joint, source.position, source.dof, gain))
        constant = after
    return CompiledPath(tuple(segments), constant, n_columns)


class _Frame(NamedTuple):
    """A frame in the base for a chunk of configurations."""

    axes: Array  # (3, 3, chunk): column of the rotation, row, configuration
    origin: Array  # (3, chunk) [m]


class _Sweep(NamedTuple):
    """What one pass along a path finds: the axes of the free twists, and the last frame."""

    axes: Array  # (free twists, 3, chunk)
    origins: Array  # (free twists, 3, chunk) [m]
    end: _Frame


def path_transform(path: CompiledPath, q: Array) -> Array:
    """
    Return ``base_H_frame``.

    :param path: The way from the base to the frame.
    :param q: Coordinates of the device, shape ``(..., n)`` [rad or m], float64.
    :returns: Shape ``(..., 4, 4)`` [translation in m].
    """
    result = np.zeros((*q.shape[:-1], 4, 4))
    result[..., 3, 3] = 1.0
    rows, flat = _rows(q), result.reshape(-1, 4, 4)
    with np.errstate(invalid='ignore'):  # an infinite position is unknown, not worth a warning
        for part in _chunks(path, len(rows)):
            frame = _sweep(path, rows[part]).end
            flat[part, :3, :3] = frame.axes.transpose(2, 1, 0)
            flat[part, :3, 3] = frame.origin.T
    return result


def path_jacobian(path: CompiledPath, q: Array) -> Array:
    """
    Return the Jacobian of the frame's motion seen from the base.

    :param path: The way from the base to the frame.
    :param q: Coordinates of the device, shape ``(..., n)`` [rad or m], float64.
    :returns: Shape ``(..., 6, m)`` for ``m`` degrees of freedom: rows 0–2 linear velocity of the
        frame's origin, rows 3–5 angular velocity, both in the base's axes [m/rad or 1; rad/rad or
        0].
    """
    result = np.empty((*q.shape[:-1], 6, path.n_columns))
    rows = _rows(q)
    flat = result.reshape(len(rows), 6, path.n_columns)
    with np.errstate(invalid='ignore'):
        for part in _chunks(path, len(rows)):
            flat[part] = _chunk_jacobian(path, rows[part]).transpose(2, 0, 1)
    return result


def _rows(q: Array) -> Array:
    return q.reshape(math.prod(q.shape[:-1]), q.shape[-1])


def _chunks(path: CompiledPath, count: int) -> Iterator[slice]:
    step = max(MIN_CHUNK, CHUNK_SIZE // max(1, len(path.free)))
    return (slice(start, start + step) for start in range(0, count, step))


def _sweep(path: CompiledPath, rows: Array) -> _Sweep:
    count = len(rows)
    amounts = path.gains * rows.T[path.places]
    sines, cosines = _sines_and_cosines(amounts)
    is_known = bool(np.isfinite(amounts).all())
    if len(amounts) < len(path.segments):
        is_known = is_known and all(np.isfinite(_own(each, rows)).all() for each in path.segments)
    combined = _dense_sum if is_known else _sparse_sum
    frame = _Frame(np.repeat(np.eye(3)[:, :, np.newaxis], count, axis=2), np.zeros((3, count)))
    axes, origins = np.empty((2, len(path.free), 3, count))
    scalar = free = 0
    for segment in path.segments:
        frame = moved = _times_constant(frame, segment.before, is_known)
        twists = segment.joint.twists
        if twists == (5,):
            x, y, _ = frame.axes
            sine, cosine = sines[scalar], cosines[scalar]
            frame.axes[0], frame.axes[1] = cosine * x + sine * y, cosine * y - sine * x
        elif twists == (2,):
            travel = combined(frame.axes[2:], amounts[scalar : scalar + 1])
            frame = moved = _Frame(frame.axes, frame.origin + travel)
        else:
            motion = np.moveaxis(segment.joint.motion(_own(segment, rows)), 0, -1)
            position, rotation = motion[:3, 3], motion[:3, :3]
            if segment.gain > 0.0:
                frame = _Frame(frame.axes, frame.origin + combined(frame.axes, position))
                frame = moved = _turned(frame, rotation, combined)
            else:
                # The free twists are fixed in the end of the joint from which the way comes.
                frame = _turned(frame, rotation.swapaxes(0, 1), combined)
                frame = _Frame(frame.axes, frame.origin - combined(frame.axes, position))
        scalar += len(twists) == 1
        for twist in twists:
            axes[free], origins[free] = moved.axes[twist % 3], moved.origin
            free += 1
    return _Sweep(axes, origins, _times_constant(frame, path.last, is_known))


def _own(segment: Segment, rows: Array) -> Array:
    return rows[:, segment.position : segment.position + segment.joint.n_positions]


def _sines_and_cosines(angles: Array) -> tuple[Array, Array]:
    """
    Return both from the tangent of the half angle, to a few units in the last place of one.

    ``sin = 2 t / (1 + t²)``, ``cos = (1 - t²) / (1 + t²)``. numpy's tangent is vectorised where
    its float64 sine and cosine are not, and it is one call for two; even at a half turn, where
    ``t`` is about 1e16, its square is far from the end of the range.
    """
    tangent = np.tan(0.5 * angles)
    square = tangent * tangent
    scale = 1.0 / (1.0 + square)
    return 2.0 * tangent * scale, (1.0 - square) * scale


def _times_constant(frame: _Frame, constant: Array, is_known: bool) -> _Frame:
    """
    Return the frame times a constant transform.

    Where something is unknown, terms with coefficient zero are left out: a dense product computes
    ``0 * NaN``, and an unknown joint would spoil directions that do not depend on it.
    """
    if is_known:
        columns = (constant[:3].T @ frame.axes.reshape(3, -1)).reshape(4, *frame.origin.shape)
    else:
        columns = np.zeros((4, *frame.origin.shape))
        for source, row in zip(frame.axes, constant[:3], strict=True):
            for target, factor in zip(columns, row, strict=True):
                if factor != 0.0:
                    target += factor * source
    columns[3] += frame.origin
    return _Frame(columns[:3], columns[3])


_Sum = Callable[[Array, Array], Array]


def _turned(frame: _Frame, rotation: Array, combined: _Sum) -> _Frame:
    """Return the frame turned by rotations (3, 3, chunk)."""
    columns = [combined(frame.axes, rotation[:, column]) for column in range(3)]
    return _Frame(np.array(columns), frame.origin)


def _dense_sum(vectors: Array, factors: Array) -> Array:
    """Return the sum (3, chunk) of vectors (n, 3, chunk) times factors (n, chunk)."""
    total: Array = np.einsum('nrc,nc->rc', vectors, factors)
    return total


def _sparse_sum(vectors: Array, factors: Array) -> Array:
    """Return the same where zero times unknown is zero."""
    products = vectors * factors[:, np.newaxis]
    products[(vectors == 0.0) | (factors[:, np.newaxis] == 0.0)] = 0.0
    total: Array = products.sum(axis=0)
    return total


def _chunk_jacobian(path: CompiledPath, rows: Array) -> Array:
    """Return the Jacobian of a chunk, shape ``(6, n, chunk)``."""
    sweep = _sweep(path, rows)
    z = path.free_gains * sweep.axes
    lever = sweep.end.origin - sweep.origins
    turning = np.empty(z.shape)
    for row, (after, before) in enumerate(((1, 2), (2, 0), (0, 1))):
        turning[:, row] = z[:, after] * lever[:, before] - z[:, before] * lever[:, after]
    jacobian = np.zeros((6, path.n_columns, len(rows)))
    # Several joints may share a column: those that follow another add to its own.
    for index, (column, is_linear) in enumerate(path.free):
        if is_linear:
            jacobian[:3, column] += z[index]
        else:
            jacobian[:3, column] += turning[index]
            jacobian[3:, column] += z[index]
    return jacobian
