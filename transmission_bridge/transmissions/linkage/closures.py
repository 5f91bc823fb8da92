# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The equations of loops, in CasADi.

There are two equivalent sets of rows. Without rods, they are the rows of the loops as described:
they close the linkage from a distant position and measure its residual. With rods, they are the
rows that are solved. A link between two balls contributes one equation of distance, which contains
no angles of the balls, and five equations that are solved afterwards for these angles only. The
gimbal lock of a ball therefore affects only its own joints.

``structure`` makes the rows, for its search and for the mechanism. Expressions become C code, so
the order of rows and operations decides last bits; names are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
import math
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.compiled import Expression
from transmission_bridge.transmissions.linkage.tree import (
    Element,
    LinkageJointMotion,
    LinkageLoopPath,
    list_motions,
    Loop,
    reverse_linkage_path,
)
from transmission_bridge.types import Array

#: Largest distance of the axes of a ball [m].
CONCURRENT = 1e-9


class BallJoint(NamedTuple):
    """
    Two or three consecutive revolute joints of a path with axes that meet in a point.

    ``first`` is the index of the first joint on the path. ``size`` is the number of joints, zero
    for the junction of a ``point`` loop, which is also a ball. ``before`` and ``after`` are the
    point in the frames before the first and after the last joint.
    """

    first: int
    size: int
    before: Array
    after: Array

    @property
    def stop_index(self) -> int:
        """Index after the last joint."""
        return self.first + max(2 * self.size - 1, 0)


@dataclass(frozen=True)
class Rod:
    """
    A link between two balls of a loop.

    ``path`` has the elements from the common ancestor once around the loop, as seen from the ball
    ``one``, which determines the link's direction; ``other`` is the far ball. ``balls`` are the
    indices of the joints of both balls in the linkage.
    """

    path: tuple[Element, ...]
    one: BallJoint
    other: BallJoint
    balls: tuple[int, ...]


def find_rod(path: LinkageLoopPath, movable: frozenset[int]) -> Rod | None:
    """
    Return the link between two balls in a loop, ``None`` if there is none.

    ``movable`` are the indices of joints that are not given and affect no other loop.
    """
    if path.loop.type not in ('weld', 'point'):
        return None
    rods: list[tuple[int, int, Rod]] = []
    sides = path.to_frame1, path.to_frame2
    for first, second in (sides, sides[::-1]):
        back = reverse_linkage_path(second)
        whole = (*first, *back)
        if path.loop.type == 'weld':  # both frames are one
            whole = (*first[:-1], np.asarray(first[-1]) @ np.asarray(back[0]), *back[1:])
        balls = list(_iterate_balls(whole, movable))
        zero = np.zeros(3)
        is_point = path.loop.type == 'point'
        ends = [BallJoint(len(first), 0, zero, zero)] if is_point else balls
        for one in balls:
            for other in ends:
                if other.size not in (0, 3) or other.first < one.stop_index:
                    continue
                parts = whole[one.first : one.stop_index], whole[other.first : other.stop_index]
                joints = tuple(motion.variable for x in parts for motion in list_motions(x))
                if len({*joints}) == len(joints):
                    between = other.first - one.stop_index
                    rods.append((-one.size, between, Rod(whole, one, other, joints)))
    return min(rods, key=lambda rod: rod[:2])[2] if rods else None


def _iterate_balls(path: Sequence[Element], movable: frozenset[int]) -> Iterator[BallJoint]:
    for size in (3, 2):
        for first in range(len(path) - 2 * size + 2):
            # Joints in a row are two elements apart, except across the junction of a point loop.
            motions = [
                motion
                for motion in list_motions(path[first : first + 2 * size : 2])
                if not motion.slides and motion.variable in movable
            ]
            if len(motions) != size:
                continue
            constants = map(np.asarray, path[first + 1 : first + 2 * size - 2 : 2])
            points = []  # on each axis, as a multiple of the axis vector
            for (one, other), constant in zip(pairwise(motions), constants, strict=True):
                lines = np.stack([one.axis, -constant[:3, :3] @ np.array(other.axis)], axis=1)
                shares, _, rank, _ = np.linalg.lstsq(lines, constant[:3, 3], rcond=1e-6)
                if rank < 2 or np.abs(lines @ shares - constant[:3, 3]).max() > CONCURRENT:
                    break
                points.append(shares)
            else:
                if all(abs(a[1] - b[0]) <= CONCURRENT for a, b in pairwise(points)):
                    before = points[0][0] * np.array(motions[0].axis)
                    yield BallJoint(
                        first, size, before, points[-1][1] * np.array(motions[-1].axis)
                    )


class _PathFrame(NamedTuple):
    """
    The last frame of a path in the first one.

    ``rotation`` are its axes ``R``, shape ``(3, 3)``. ``turning`` is its angular velocity by joint
    velocities, ``R' = (W z')x R``, shape ``(3, n)``. ``point`` is its origin ``p``, ``moving`` the
    derivatives of ``p``, shape ``(3, n)``.
    """

    rotation: Expression
    turning: Expression
    point: Expression
    moving: Expression


class LinkageClosures:
    """
    The rows of a linkage; complete after construction, except for caches of symbols.

    ``rods`` are the links between two balls, by index of the loop. ``start`` are positions of the
    joints, closed if there are rods: the reference of their rows.
    """

    def __init__(
        self, paths: Sequence[LinkageLoopPath], rods: Mapping[int, Rod], start: Array
    ) -> None:
        self._paths = paths
        #: Positions of the joints.
        self.z = ca.SX.sym('z', len(start))
        #: Lengths of the loops; only rods use them.
        self.lengths = ca.SX.sym('length', len(paths))
        self._turns: dict[tuple[int, float, float], tuple[Expression, Expression]] = {}
        cayley, slopes, upright = [], [], []
        rows: list[Expression] = []
        #: The loop of each row.
        self.owners: list[int] = []
        #: The rows to keep first, because they contain the fewest joints.
        self.distances: list[int] = []
        for number, path in enumerate(paths):
            of_loop, slope, steep, sense = self._build_stated_rows(path, self.lengths[number])
            cayley.append(steep)
            self.owners += [number] * int(of_loop.numel())
            if number in rods or path.loop.type == 'rod':
                self.distances.append(sum(row.numel() for row in rows))
            if number in rods:
                of_loop, slope, sense = self._build_rod_rows(path, rods[number], start)
            rows.append(of_loop)
            slopes.append(slope)
            upright.append(sense)
        #: Rows that do not vanish half a turn away, to close the linkage from a distant position.
        self.cayley = ca.vertcat(*cayley)
        self.rows = ca.vertcat(*rows)
        given, slope = [self.z, self.lengths], ca.sparsify(ca.vertcat(*slopes))
        #: From positions and lengths to ``rows`` and their derivatives, shape ``(n_rows, n)``.
        self.function = ca.Function('rows', given, [self.rows, slope])
        #: From positions and lengths to numbers that are positive near the start. Rows that vanish
        #: half a turn away have a negative one there.
        self.signs = ca.Function('signs', given, [ca.vertcat(*upright)])

    @cached_property
    def bend_function(self) -> Any:
        """The function from positions, velocities and lengths to the second derivative of rows."""
        rate = ca.SX.sym('rate', self.z.numel())
        bent = ca.jtimes(ca.jtimes(self.rows, self.z, rate), self.z, rate)
        return ca.Function('bend', [self.z, rate, self.lengths], [bent])

    def hinge_axes(self, z: Array) -> dict[Loop, str]:
        """Return a description of the axis of each hinge at a position."""
        texts = {}
        for path in self._paths:
            if path.loop.type != 'hinge':
                continue
            one, other = self._build_frame(path.to_frame1), self._build_frame(path.to_frame2)
            axis = np.array(path.loop.axis)
            here, there = (ca.mtimes(frame.rotation, ca.SX(ca.DM(axis))) for frame in (one, other))
            cos = ca.dot(here, there)
            turning = ca.mtimes(one.rotation.T, other.turning - one.turning)
            cosine, turns = ca.Function('hinge', [self.z], [cos, turning])(z)
            angle = math.degrees(math.acos(min(max(float(cosine), -1.0), 1.0)))
            texts[path.loop] = (
                f'axis {_format_vector(axis)} of {path.loop}, with {angle:.3g} degrees between '
                'the axes of both frames at the start'
            )
            vectors = np.asarray(turns.full()).T
            vectors = vectors[np.linalg.norm(vectors, axis=1) > 1e-9]
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            if len(vectors) and np.linalg.norm(np.cross(vectors, vectors[0]), axis=1).max() < 1e-6:
                common = vectors[0] * np.sign(vectors[0][np.argmax(np.abs(vectors[0]))])
                if np.linalg.norm(np.cross(common, axis)) > 1e-3:
                    texts[path.loop] += f', but its joints turn about {_format_vector(common)}'
        return texts

    # -- along a path ----------------------------------------------------------------------------

    def _move_point(self, elements: Sequence[Element], point: Expression) -> Expression:
        """Return a point of the last frame in the first one."""
        for element in reversed(elements):
            if not isinstance(element, LinkageJointMotion):
                point = _multiply_nonzero(element[:3, :3], point) + element[:3, 3]
            elif element.slides:
                way = self.z[element.variable] * element.scale + element.offset
                point = point + ca.SX(ca.DM(element.axis)) * way
            else:
                point = self._rotate_vector(element, point)
        return point

    def _rotate_vector(self, motion: LinkageJointMotion, vector: Expression) -> Expression:
        # Both directions of a motion share one expression.
        sign = -1.0 if motion.scale < 0.0 else 1.0
        key = (motion.variable, sign * motion.scale, sign * motion.offset)
        if key not in self._turns:
            angle = self.z[motion.variable] * key[1] + key[2]
            self._turns[key] = ca.cos(angle), ca.sin(angle)
        cos, sin = self._turns[key][0], sign * self._turns[key][1]
        across = _multiply_nonzero(np.cross(motion.axis, np.eye(3)).T, vector)
        if sum(component != 0.0 for component in motion.axis) == 1:
            # The component along the axis is unchanged to the last bit.
            mask = ca.DM([0.0 if component else 1.0 for component in motion.axis])
            return vector * (1.0 - mask) + mask * (vector * cos) + across * sin
        along = _multiply_nonzero(np.outer(motion.axis, motion.axis), vector)
        return along + (vector - along) * cos + across * sin

    def _build_frame(self, elements: Sequence[Element]) -> _PathFrame:
        """Return the last frame of a path in the first one."""
        n = self.z.numel()
        rotation, point = ca.SX(ca.DM.eye(3)), ca.SX(ca.DM.zeros(3, 1))
        turning, moving = ca.SX(3, n), ca.SX(3, n)
        joints = []
        unit = [ca.SX(ca.DM(column)) for column in np.eye(3)]
        for element in elements:
            if not isinstance(element, LinkageJointMotion):
                point = point + ca.mtimes(rotation, ca.SX(ca.DM(element[:3, 3])))
                rotation = ca.mtimes(rotation, ca.SX(ca.DM(element[:3, :3])))
                continue
            axis = ca.mtimes(rotation, ca.SX(ca.DM(element.axis)))
            if element.slides:
                point = point + axis * (self.z[element.variable] * element.scale + element.offset)
                moving[:, element.variable] += element.scale * axis
            else:
                joints.append((element, axis, point))
                turning[:, element.variable] += element.scale * axis
                turn = ca.horzcat(*(self._rotate_vector(element, column) for column in unit))
                rotation = ca.mtimes(rotation, turn)
        for element, axis, centre in joints:
            moving[:, element.variable] += element.scale * ca.cross(axis, point - centre)
        return _PathFrame(rotation, turning, point, moving)

    # -- rows ------------------------------------------------------------------------------------

    def _build_stated_rows(
        self, path: LinkageLoopPath, length: Expression
    ) -> tuple[Expression, Expression, Expression, Expression]:
        """Return rows, their derivatives, rows for a distant start, and the side."""
        one, other = self._build_frame(path.to_frame1), self._build_frame(path.to_frame2)
        way = other.point - one.point
        aside = other.moving - one.moving
        if path.loop.type == 'rod':
            miss = (ca.dot(way, way) - length * length) / (2.0 * length)
            return miss, ca.mtimes(way.T, aside) / length, miss, ca.SX(0, 1)
        if path.loop.type == 'point':
            return way, aside, way, ca.SX(0, 1)
        if path.loop.type == 'hinge':
            axis = np.array(path.loop.axis)
            here, there = (ca.mtimes(frame.rotation, ca.SX(ca.DM(axis))) for frame in (one, other))
            sides = ca.mtimes(one.rotation, ca.SX(ca.DM(_perpendicular_pair(axis).T)))
            across = ca.mtimes(sides.T, there)
            # The sides turn with one frame and the axis with the other.
            arms = ca.horzcat(*(ca.cross(there, sides[:, k]) for k in range(2)))
            turning = ca.mtimes(arms.T, other.turning - one.turning)
            sense = ca.dot(here, there)
            steep = 2.0 * across / (1.0 + sense)
        else:
            turned = ca.mtimes(one.rotation.T, other.rotation)
            across, trace = 0.5 * _skew_vector(turned), ca.trace(turned)
            turning = ca.mtimes(one.rotation.T, other.turning - one.turning)
            turning = _skew_vector_slope(turned, turning)
            sense, steep = trace - 1.0, 4.0 * across / (1.0 + trace)
        return ca.vertcat(way, across), ca.vertcat(aside, turning), ca.vertcat(way, steep), sense

    def _build_rod_rows(
        self, path: LinkageLoopPath, rod: Rod, start: Array
    ) -> tuple[Expression, Expression, Expression]:
        """
        Return the rows of a link between two balls, their derivatives, and its side.

        The rows are distance, direction and, for a weld, orientation.
        """
        one, other = rod.one, rod.other
        whole = rod.path
        base = self._move_point(whole[: one.first], ca.SX(ca.DM(one.before)))
        around = reverse_linkage_path(whole[other.stop_index :])
        tip = self._move_point(around, ca.SX(ca.DM(other.after)))
        between, at_start = self._build_far_end(rod), self.evaluate_link(rod, start)
        link, length = between - one.after, float(np.linalg.norm(at_start))
        way = tip - base
        distance = (ca.dot(way, way) - ca.dot(link, link)) / (2.0 * length)
        # The tip, as seen from the link, coincides with the end of the link.
        seen = self._move_point(reverse_linkage_path(whole[: one.stop_index]), tip)
        ahead = at_start / length
        aside = ca.vertcat(
            *(ca.dot(ca.SX(ca.DM(side)), seen - between) for side in _perpendicular_pair(ahead))
        )
        senses: list[Expression] = [ca.dot(ca.SX(ca.DM(ahead)), seen - one.after)]
        rows: list[Expression] = [distance, aside]
        slopes: list[Expression] = [ca.jacobian(row, self.z) for row in rows]
        if path.loop.type == 'weld':
            # Once around from the far ball: the other parts do not contain its angles.
            far = self._build_frame((*whole[other.first :], *whole[: other.first]))
            rows.append(0.5 * _skew_vector(far.rotation))
            slopes.append(_skew_vector_slope(far.rotation, far.turning))
            senses.append(ca.trace(far.rotation) - 1.0)
        return ca.vertcat(*rows), ca.vertcat(*slopes), ca.vertcat(*senses)

    def _build_far_end(self, rod: Rod) -> Expression:
        """Return the far ball of a link, as seen from the near one."""
        elements = rod.path[rod.one.stop_index : rod.other.first]
        return self._move_point(elements, ca.SX(ca.DM(rod.other.before)))

    def evaluate_link(self, rod: Rod, z: Array) -> Array:
        """Return the vector from the near ball of a link to the far one at a position."""
        link = self._build_far_end(rod) - rod.one.after
        return np.asarray(ca.Function('link', [self.z], [link])(z)).ravel()


def _format_vector(vector: Array) -> str:
    return ' '.join(f'{number:.3g}' for number in np.round(vector, 6) + 0.0)


def _skew_vector(matrix: Expression) -> Expression:
    return ca.vertcat(
        matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]
    )


def _skew_vector_slope(rotation: Expression, turning: Expression) -> Expression:
    """
    Return the derivatives of ``vee(R) / 2``.

    For ``A' = [w]x A`` they are ``vee(A') = (tr(A) - A) w``, much smaller than derivatives of
    ``R``.
    """
    slope = 0.5 * (ca.trace(rotation) * ca.SX(ca.DM.eye(3)) - rotation)
    return ca.mtimes(slope, turning)


def _multiply_nonzero(matrix: Array, vector: Expression) -> Expression:
    """Return ``M v`` from the nonzero entries."""
    rows, components = [], ca.vertsplit(vector)
    for row in matrix.tolist():
        total = ca.SX(0.0)
        for entry, component in zip(row, components, strict=True):
            if entry == 1.0:
                total = total + component
            elif entry != 0.0:
                total = total + entry * component
        rows.append(total)
    return ca.vertcat(*rows)


def _perpendicular_pair(axis: Array) -> Array:
    """Return two unit vectors ``(2, 3)`` across an axis; unit vectors for a coordinate axis."""
    one = np.zeros(3)
    one[int(np.argmin(np.abs(axis)))] = 1.0
    one = one - axis * (axis @ one)
    one /= np.linalg.norm(one)
    return np.array([one, np.cross(axis, one)])
