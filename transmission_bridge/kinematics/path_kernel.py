# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Evaluation of a compiled path: transforms and Jacobians of many configurations at once.

The work runs along the configurations, one joint after the other, in chunks that stay in the
cache: frames are held as columns ``axes[column, row, configuration]``, so that each step is a few
long vector operations and each constant transform one small matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.kinematics.compiled_path import CompiledPath
from transmission_bridge.kinematics.spatial import Array

__all__ = ['path_jacobian', 'path_transform']

#: Joints times configurations per step: long enough to hide the cost of a call, short enough for
#: the second-level cache. Seven joints: 2048 configurations.
CHUNK_SIZE = 14336
MIN_CHUNK = 256


class _Frame(NamedTuple):
    """A frame in the base for a chunk of configurations."""

    axes: Array  # (3, 3, chunk): column of the rotation, row, configuration
    origin: Array  # (3, chunk) [m]


class _Sweep(NamedTuple):
    """What one pass along a path finds: the screws' z axes and origins, and the last frame."""

    axes: Array  # (screws, 3, chunk)
    origins: Array  # (screws, 3, chunk) [m]
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
    :returns: Shape ``(..., 6, n)``: rows 0–2 linear velocity of the frame's origin, rows 3–5
        angular velocity, both in the base's axes [m/rad or 1; rad/rad or 0].
    """
    result = np.empty((*q.shape[:-1], 6, path.n_columns))
    rows = _rows(q)
    flat = result.reshape(len(rows), 6, path.n_columns)
    with np.errstate(invalid='ignore'):
        for part in _chunks(path, len(rows)):
            flat[part] = _chunk_jacobian(path, _sweep(path, rows[part])).transpose(2, 0, 1)
    return result


def _rows(q: Array) -> Array:
    return q.reshape(math.prod(q.shape[:-1]), q.shape[-1])


def _chunks(path: CompiledPath, count: int) -> Iterator[slice]:
    step = max(MIN_CHUNK, CHUNK_SIZE // max(1, len(path.screws)))
    return (slice(start, start + step) for start in range(0, count, step))


def _sweep(path: CompiledPath, rows: Array) -> _Sweep:
    count, shape = len(rows), (len(path.screws), 3, len(rows))
    columns = np.array([screw.column for screw in path.screws], dtype=np.intp)
    gains = np.array([screw.gain for screw in path.screws], dtype=np.float64)
    amounts = gains[:, np.newaxis] * rows.T[columns]
    sines, cosines = _sines_and_cosines(amounts)
    is_known = bool(np.isfinite(amounts).all())
    multiply = _dense_product if is_known else _sparse_product
    frame = _Frame(np.repeat(np.eye(3)[:, :, np.newaxis], count, axis=2), np.zeros((3, count)))
    axes, origins = np.empty(shape), np.empty(shape)
    for index, screw in enumerate(path.screws):
        frame = multiply(frame, screw.before)
        x, y, z = frame.axes
        if screw.is_prismatic:
            travel = amounts[index] * z
            if not is_known:
                travel[z == 0.0] = 0.0
            frame = _Frame(frame.axes, frame.origin + travel)
        else:
            sine, cosine = sines[index], cosines[index]
            frame.axes[0], frame.axes[1] = cosine * x + sine * y, cosine * y - sine * x
        axes[index], origins[index] = z, frame.origin
    return _Sweep(axes, origins, multiply(frame, path.last))


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


def _dense_product(frame: _Frame, constant: Array) -> _Frame:
    """Return the frame times a constant transform."""
    columns = (constant[:3].T @ frame.axes.reshape(3, -1)).reshape(4, *frame.origin.shape)
    columns[3] += frame.origin
    return _Frame(columns[:3], columns[3])


def _sparse_product(frame: _Frame, constant: Array) -> _Frame:
    """
    Return the frame times a constant transform, leaving out the terms with coefficient zero.

    A dense product computes ``0 * NaN``: an unknown joint would spoil directions that do not
    depend on it.
    """
    axes = np.zeros(frame.axes.shape)
    origin = frame.origin.copy()
    for source, row in zip(frame.axes, constant[:3], strict=True):
        for target, factor in zip((*axes, origin), row, strict=True):
            if factor != 0.0:
                target += factor * source
    return _Frame(axes, origin)


def _chunk_jacobian(path: CompiledPath, sweep: _Sweep) -> Array:
    """Return the Jacobian of a chunk, shape ``(6, n, chunk)``."""
    gains = np.array([screw.gain for screw in path.screws], dtype=np.float64)
    z = gains[:, np.newaxis, np.newaxis] * sweep.axes
    lever = sweep.end.origin - sweep.origins
    turning = np.empty(z.shape)
    for row, (after, before) in enumerate(((1, 2), (2, 0), (0, 1))):
        turning[:, row] = z[:, after] * lever[:, before] - z[:, before] * lever[:, after]
    jacobian = np.zeros((6, path.n_columns, z.shape[2]))
    # Several screws may share a column: mimic joints add to their owner's.
    for index, screw in enumerate(path.screws):
        column = jacobian[:, screw.column]
        if screw.is_prismatic:
            column[:3] += z[index]
        else:
            column[:3] += turning[index]
            column[3:] += z[index]
    return jacobian
