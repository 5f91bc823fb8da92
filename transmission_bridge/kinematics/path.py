# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A way through the tree, compiled to constants, and its pose and Jacobian for batches.

``base_H_frame(q) = K_0 M_0(q) K_1 M_1(q) … K_m``, where ``M_i`` is the motion of a joint in its
motion frame. Fixed joints, joints at rest, directions of axes and mimic offsets are in the
constants. A joint that the way passes upward, towards the root, is inverted, so a base anywhere in
the tree needs no special case.

The work runs along the configurations, one joint after the other, in chunks that stay in the
cache: frames are held as columns ``axes[column, row, configuration]``, so that each joint is a few
long vector operations and each constant transform one small matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.kinematics.joint import Joint
from transmission_bridge.kinematics.spatial import compose, inverse
from transmission_bridge.kinematics.tree import Crossing, JointSource, rest_of
from transmission_bridge.types import Array, Index

__all__ = ['CompiledPath', 'Segment', 'compile_path', 'path_jacobian', 'path_transform']

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
    :param position: Place of its first coordinate in the device's positions.
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
    Constants of the way from a base to a frame.

    :param segments: The moving joints in path order.
    :param last: Constant transform after the last one, shape ``(4, 4)`` [translation in m].
    :param n_columns: Number of degrees of freedom of the device.
    """

    segments: tuple[Segment, ...]
    last: Array
    n_columns: int

    @cached_property
    def places(self) -> Index:
        """Where the device's positions hold the joints with one coordinate."""
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
    Return the constants of a way through the tree.

    :param way: The way.
    :param sources: Where the device's vectors hold the joints that move; the others stay at rest.
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
