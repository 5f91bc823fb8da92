# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
JointState and JointTrajectory as plain data: layouts and rows, to and from the typed messages.

Other rooms use the records, :class:`MessageLayoutTable` and the functions at the end. Typed
messages are duck-typed; no message package is imported. The bridge keeps what it computes by
layout object, so equal names and lengths stay one object while it is cached. A table has no lock:
one thread calls it.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
import sys
from typing import Any

import numpy as np

from transmission_bridge.errors import counted, MessageError, shortened, shown
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.types import Array, EMPTY

# -- Layouts: names and array lengths ------------------------------------------------------------
#
# Names are looked up once per :class:`Layout`, not once per message.


#: Size of a layout without its names, and of each name without its text: its entry in the tuple,
#: and its part of compiled plans (four numbers for each of three arrays), in bytes.
_FRAME, _NAME = 4096, 8 + 4 * 3 * 8

#: Largest number of cached layouts of a table.
MOST_LAYOUTS = 64

#: Largest size of all layouts of a table, and of one layout, in bytes.
_MOST, _MOST_EACH = 3 << 19, 1 << 19


@dataclass(frozen=True, eq=False)
class Layout:
    """
    Names and array lengths of a JointState; compared and hashed by identity.

    Layouts can be weakly referenced: a ``WeakKeyDictionary`` by layout stays as small as the table
    of the layouts.

    :param names: Joint names in message order; may be empty, may repeat.
    :param lengths: Lengths of position, velocity and effort.
    :param weight: Largest size including compiled plans, in bytes.
    """

    names: tuple[str, ...]
    lengths: tuple[int, int, int]
    weight: int = 0

    @property
    def is_kept(self) -> bool:
        """Whether it is small enough to be cached."""
        return self.weight <= _MOST_EACH

    @property
    def is_ragged(self) -> bool:
        """Whether an array is neither empty nor as long as ``names``."""
        return any(length not in (0, len(self.names)) for length in self.lengths)


def make_ragged_error(
    names: Sequence[str], lengths: Mapping[str, int], *, otherwise: str = ''
) -> MessageError:
    """
    Return the error for an array that is neither empty nor as long as the names.

    :param lengths: By ``position``, ``velocity`` and ``effort``.
    :param otherwise: Other accepted lengths, as text.
    """
    wrong = [
        counted(length, f'{field} value')
        for field, length in lengths.items()
        if length not in (0, len(names))
    ]
    of = f' ({shortened(names)})' if names else ''
    return MessageError(
        'ragged',
        f'{" and ".join(wrong)} for {counted(len(names), "name")}{of}: '
        f'give one per name, or none{otherwise}',
    )


class MessageLayoutTable:
    """
    A least-recently-used cache with one :class:`Layout` object per names and lengths.

    Number and size are limited, because senders choose the names. Several readers, and the typed
    path, may share a table: equal messages then have the same layout object. A layout that is too
    large to be cached is a new object each time.
    """

    def __init__(self) -> None:
        self._weight = 0
        self._layouts: OrderedDict[tuple[tuple[str, ...], tuple[int, int, int]], Layout] = (
            OrderedDict()
        )

    def find_layout(self, names: Iterable[str], lengths: tuple[int, int, int]) -> Layout:
        """
        Return the cached or a new layout of these names and lengths.

        :param names: Joint names in message order.
        :param lengths: Lengths of position, velocity and effort.
        """
        key = (tuple(names), lengths)
        layout = self._layouts.get(key)
        if layout is not None:
            self._layouts.move_to_end(key)
            return layout
        weight = _FRAME + _NAME * len(key[0]) + sum(map(sys.getsizeof, key[0]))
        layout = Layout(*key, weight)
        if layout.is_kept:
            self._layouts[key] = layout
            self._weight += weight
            while len(self._layouts) > MOST_LAYOUTS or self._weight > _MOST:
                self._weight -= self._layouts.popitem(last=False)[1].weight
        return layout


# -- The three arrays of a JointState as one -----------------------------------------------------


def view_message_rows(doubles: Array, lengths: tuple[int, ...]) -> Array | None:
    """
    Return a view of position, velocity and effort in a serialised message.

    Non-empty arrays are separated by four bytes of length and four of padding: one word.

    :param doubles: The words of the message from the first position to one after the last effort.
    :param lengths: Lengths of position, velocity and effort.
    :returns: Shape ``(3, n)``; ``None`` if an array is empty or has another length.
    """
    length = lengths[0]
    if length == 0 or lengths != (length,) * len(FIELDS):
        return None
    rows = doubles[: len(FIELDS) * (length + 1)].reshape(-1, length + 1)
    return rows[:, :length]


# -- Records and typed messages ------------------------------------------------------------------
#
# The typed path is for messages that the CDR reader cannot read; values are identical. Values of
# trajectories are not checked, and times stay integers.


@dataclass(eq=False)
class JointStateRecord:
    """
    One JointState, possibly a view of received bytes; do not change a record after making it.

    Arrays may be ragged, that is, have other lengths than ``names``; the codec does not check it.
    Units are SI (REP 103).

    :param stamp: Seconds (int32) and nanoseconds (uint32) of the header; zero: no stamp.
    :param frame_id: Frame of the header, often empty.
    :param names: Joint names in message order.
    :param position: Positions [rad or m], one-dimensional.
    :param velocity: Velocities [rad/s or m/s], one-dimensional.
    :param effort: Efforts [N m or N], one-dimensional.
    :param rows: All three, shape ``(3, n)``, if they are one array in memory, else ``None``.
    """

    stamp: tuple[int, int]
    frame_id: str
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    rows: Array | None = None

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Position, velocity and effort."""
        return self.position, self.velocity, self.effort

    @property
    def lengths(self) -> tuple[int, int, int]:
        """Lengths of position, velocity and effort."""
        return len(self.position), len(self.velocity), len(self.effort)


#: The arrays of a waypoint.
POINT_FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


@dataclass(frozen=True, eq=False)
class Waypoint:
    """
    One point of a trajectory; an omitted array is empty. Arrays are one-dimensional.

    :param time: Time from the start: seconds and nanoseconds.
    :param positions: Positions [rad or m].
    :param velocities: Velocities [rad/s or m/s].
    :param accelerations: Accelerations [rad/s^2 or m/s^2].
    :param effort: Efforts [N m or N].
    """

    time: tuple[int, int]
    positions: Array
    velocities: Array
    accelerations: Array
    effort: Array


@dataclass(frozen=True, eq=False)
class TrajectoryRecord:
    """
    One JointTrajectory.

    :param stamp: Seconds and nanoseconds of the header; zero: start now.
    :param frame_id: Frame of the header.
    :param names: Names of joints or actuators.
    :param points: The waypoints.
    """

    stamp: tuple[int, int]
    frame_id: str
    names: tuple[str, ...]
    points: tuple[Waypoint, ...]

    @property
    def duration(self) -> float:
        """Time from the start to the last waypoint [s]; a waypoint is required."""
        seconds, nanoseconds = self.points[-1].time
        return seconds + nanoseconds * 1e-9


def record_from_joint_state(message: Any) -> JointStateRecord:
    """
    Return the record of a typed message.

    The arrays are read-only views of the message's ``array.array`` data (as in rclpy), or copies
    of its lists.

    :param message: A sensor_msgs/JointState or anything with its attributes.
    """
    arrays = (_make_read_only(getattr(message, field)) for field in FIELDS)
    return JointStateRecord(*_read_header(message), tuple(message.name), *arrays)


def record_from_joint_command(message: Any, interface: str) -> JointStateRecord:
    """
    Return the record of a control_msgs/JointCommand; the arrays of other interfaces are empty.

    :param message: Anything with its attributes: ``header``, ``joint_names``, ``interface_name``
        and ``values``.
    :param interface: The interface of its topic: ``position``, ``velocity`` or ``effort``.
    :raises MessageError: If the message is for another interface (``other_interface``), or has
        more or fewer values than names (``ragged``).
    """
    if message.interface_name != interface:
        raise MessageError(
            'other_interface',
            f"interface_name: expected '{interface}', found {shown(message.interface_name)}",
        )
    # A layout would accept it: an empty or shorter array of a JointState may be valid.
    if len(message.values) != len(message.joint_names):
        raise MessageError(
            'ragged',
            f'expected as many values as joint_names ({len(message.joint_names)}), '
            f'found {len(message.values)}',
        )
    arrays = dict.fromkeys(FIELDS, EMPTY) | {interface: _make_read_only(message.values)}
    return JointStateRecord(*_read_header(message), tuple(message.joint_names), *arrays.values())


def fill_joint_state_message(message: Any, data: JointStateRecord) -> None:
    """
    Write every field of a record or a view into a typed message.

    :param message: A sensor_msgs/JointState or anything with its attributes; changed in place.
    :param data: The record or view; its arrays are copied.
    """
    _fill_header(message, data)
    message.name = list(data.names)
    _fill_arrays(message, data, FIELDS)


def trajectory_from_message(message: Any) -> TrajectoryRecord:
    """
    Return the record of a typed message; the arrays are copies.

    :param message: A trajectory_msgs/JointTrajectory or anything with its attributes.
    """
    points = tuple(
        Waypoint(
            (point.time_from_start.sec, point.time_from_start.nanosec),
            *(np.array(getattr(point, field), dtype=np.float64) for field in POINT_FIELDS),
        )
        for point in message.points
    )
    return TrajectoryRecord(*_read_header(message), tuple(message.joint_names), points)


def fill_trajectory_message(
    message: Any, record: TrajectoryRecord, make_point: Callable[[], Any]
) -> None:
    """
    Write every field of a record into a typed message.

    :param message: A trajectory_msgs/JointTrajectory or anything with its attributes; changed in
        place.
    :param record: The record; its arrays are copied.
    :param make_point: Makes an empty trajectory_msgs/JointTrajectoryPoint.
    """
    _fill_header(message, record)
    message.joint_names = list(record.names)
    points = []
    for waypoint in record.points:
        point = make_point()
        point.time_from_start.sec, point.time_from_start.nanosec = waypoint.time
        _fill_arrays(point, waypoint, POINT_FIELDS)
        points.append(point)
    message.points = points


def _read_header(message: Any) -> tuple[tuple[int, int], str]:
    header = message.header
    return (header.stamp.sec, header.stamp.nanosec), header.frame_id


def _fill_header(message: Any, record: JointStateRecord | TrajectoryRecord) -> None:
    header = message.header
    header.stamp.sec, header.stamp.nanosec = record.stamp
    header.frame_id = record.frame_id


def _fill_arrays(message: Any, record: object, fields: Iterable[str]) -> None:
    # rclpy accepts an array.array unchanged, but checks every element of a list.
    for field in fields:
        setattr(message, field, array('d', getattr(record, field).tobytes()))


def _make_read_only(values: Any) -> Array:
    if isinstance(values, array) and values.typecode == 'd' and values:
        result: Array = np.frombuffer(values)
    else:
        result = np.array(values, dtype=np.float64)
    result.flags.writeable = False
    return result
