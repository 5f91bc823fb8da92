# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A sensor_msgs/JointState as plain data, to and from the typed message.

Typed messages are duck-typed (``header.stamp.sec``, ``header.stamp.nanosec``,
``header.frame_id``, ``name``, ``position``, ``velocity``, ``effort``); no message package is
imported. This is the path for whatever the CDR reader leaves alone, and gives the same values
bit for bit.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ['JointStateData', 'JointStateRecord', 'fill_message', 'record_from_message']


class JointStateData(Protocol):
    """
    What a record, and a view on received bytes, have in common.

    Arrays may be ragged, that is of other lengths than ``names``: to judge that is not the
    codec's business. Units are SI (REP 103).
    """

    @property
    def stamp(self) -> tuple[int, int]:
        """Seconds (int32) and nanoseconds (uint32) of the header; zero means not stamped."""

    @property
    def frame_id(self) -> str:
        """Frame of the header, often empty."""

    @property
    def names(self) -> tuple[str, ...]:
        """Joint names in message order."""

    @property
    def position(self) -> NDArray[np.float64]:
        """Positions [rad or m]."""

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Velocities [rad/s or m/s]."""

    @property
    def effort(self) -> NDArray[np.float64]:
        """Efforts [N m or N]."""

    @property
    def rows(self) -> NDArray[np.float64] | None:
        """The three as one array, shape ``(3, n)``, where they lie so in memory, else ``None``."""


@dataclass(frozen=True, eq=False, init=False)
class JointStateRecord:
    """
    One JointState, see :class:`JointStateData` for the fields.

    :param stamp: Seconds and nanoseconds.
    :param frame_id: Frame of the header.
    :param names: Joint names in message order.
    :param position: Positions [rad or m], one-dimensional.
    :param velocity: Velocities [rad/s or m/s], one-dimensional.
    :param effort: Efforts [N m or N], one-dimensional.
    :param rows: The three as one array, shape ``(3, n)``, where they lie so in memory.
    """

    stamp: tuple[int, int]
    frame_id: str
    names: tuple[str, ...]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    effort: NDArray[np.float64]
    rows: NDArray[np.float64] | None

    def __init__(
        self,
        stamp: tuple[int, int],
        frame_id: str,
        names: tuple[str, ...],
        position: NDArray[np.float64],
        velocity: NDArray[np.float64],
        effort: NDArray[np.float64],
        rows: NDArray[np.float64] | None = None,
    ) -> None:
        # At once: a call of object.__setattr__ for each would cost more than what is done with it.
        vars(self).update(
            stamp=stamp,
            frame_id=frame_id,
            names=names,
            position=position,
            velocity=velocity,
            effort=effort,
            rows=rows,
        )

    @property
    def lengths(self) -> tuple[int, int, int]:
        """Lengths of position, velocity and effort, as a layout counts them."""
        return len(self.position), len(self.velocity), len(self.effort)


def record_from_message(message: Any) -> JointStateRecord:
    """
    Return the record of a typed message.

    The arrays are read-only views of the message's own ``array.array`` data where it has them
    (rclpy does), copies where it holds lists.

    :param message: A sensor_msgs/JointState or anything with its attributes.
    """
    header = message.header
    stamp = header.stamp
    return JointStateRecord(
        (stamp.sec, stamp.nanosec),
        header.frame_id,
        tuple(message.name),
        _read_only(message.position),
        _read_only(message.velocity),
        _read_only(message.effort),
    )


def fill_message(message: Any, data: JointStateData) -> None:
    """
    Write a record or a view into a typed message, every field of it.

    :param message: A sensor_msgs/JointState or anything with its attributes; changed in place.
    :param data: What to write; the message keeps nothing of it.
    """
    header = message.header
    header.stamp.sec, header.stamp.nanosec = data.stamp
    header.frame_id = data.frame_id
    message.name = list(data.names)
    # rclpy takes an array.array as it is, but checks the elements of a list one by one.
    message.position = array('d', data.position.tobytes())
    message.velocity = array('d', data.velocity.tobytes())
    message.effort = array('d', data.effort.tobytes())


def _read_only(values: Any) -> NDArray[np.float64]:
    if isinstance(values, array) and values.typecode == 'd' and values:
        result: NDArray[np.float64] = np.frombuffer(values)
    else:
        result = np.array(values, dtype=np.float64)
    result.flags.writeable = False
    return result
