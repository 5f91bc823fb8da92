# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The actuators of each driver, and their names in its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.inputs import as_slice
from transmission_bridge.bridge.options import split_topic
from transmission_bridge.errors import closest, ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord, Waypoint
from transmission_bridge.types import EMPTY, Index

# -- The drivers of the actuators, and the drivers' names ----------------------------------------


#: Number of sets of actuators with a cached division among drivers.
_REMEMBERED = 32


class _Share(NamedTuple):
    """The share of one driver in a message: its entries (``None``: all) and their names."""

    namespace: str
    picks: Index | slice | None
    names: tuple[str, ...]


class DriverNames:
    """
    Divides messages to actuators among the drivers, under the drivers' names.

    :class:`~transmission_bridge.bridge.state_plan.NamePlan` translates names in states. An
    entry ``topic:driver_name`` assigns an actuator to the driver that publishes states on that
    topic; the other topics of that driver are in the same namespace. All other actuators have
    their topics in the namespace of the bridge.

    :param actuator_names: ``driver_name`` or ``topic:driver_name`` to URDF name. If an actuator
        has two names, an entry with a topic is used, otherwise the first.
    :param actuators: Actuators of the robot; entries for others are ignored.
    :ivar namespaces: Namespaces of the drivers: ``''`` is the namespace of the bridge, others end
        with a slash.
    :ivar reached: Namespaces with sent commands, and namespaces with sent trajectories.
    :raises ParameterError: If an actuator has two drivers, or two actuators in one namespace
        would have one name.
    """

    def __init__(self, actuator_names: Mapping[str, str], actuators: Sequence[str]) -> None:
        given = [(*split_topic(entry), name) for entry, name in actuator_names.items()]
        # Entries with a topic first, otherwise in the order given.
        self._entries = sorted(
            (entry for entry in given if entry[2] in actuators), key=lambda entry: not entry[0]
        )
        self._check_topics()
        self._places: dict[str, tuple[str, str]] = {}
        for topic, driver_name, name in self._entries:
            self._places.setdefault(name, (_namespace_of(topic), driver_name))
        for name in actuators:
            self._places.setdefault(name, ('', name))
        self._check_driver_names()
        places = [self._places[name] for name in actuators]
        self.namespaces = tuple(dict.fromkeys(namespace for namespace, _ in places)) or ('',)
        self._is_plain = places == [('', name) for name in actuators]
        self.reached: tuple[set[str], set[str]] = (set(), set())
        if self._is_plain:
            self.reached = {''}, {''}
        self._parts = lru_cache(maxsize=_REMEMBERED)(self._divide_names)

    def find_namespace(self, actuator: str) -> str:
        """Return the namespace of the topics of an actuator's driver."""
        return self._places[actuator][0]

    @property
    def driver_names(self) -> dict[str, str]:
        """The drivers' names of the actuators, after the namespace of their topics."""
        return {name: ''.join(place) for name, place in self._places.items()}

    def find_topic_entries(self, name: str) -> dict[str, str]:
        """
        Return the entries for another topic of the drivers.

        :param name: Name of the topic, without a namespace.
        """
        return {
            f'{_namespace_of(topic)}{name}:{driver_name}' if topic else driver_name: actuator
            for topic, driver_name, actuator in self._entries
        }

    def divide_command(self, record: JointStateRecord) -> list[tuple[str, JointStateRecord]]:
        """
        Return the namespace and the command of each driver.

        :param record: Actuators with a command by the URDF's names, NaN: no command.
        :returns: Drivers with a named actuator. The array of an interface is empty if the driver's
            actuators have no command of it.
        """
        if self._is_plain:
            return [('', record)]
        parts = self._parts(record.names, False)
        return [(part.namespace, _take_command_share(record, part)) for part in parts]

    def divide_trajectory(self, record: TrajectoryRecord) -> list[tuple[str, TrajectoryRecord]]:
        """Return the namespace and the trajectory of each driver, as :meth:`divide_command`."""
        if self._is_plain:
            return [('', record)]
        parts = self._parts(record.names, True)
        return [(part.namespace, _take_trajectory_share(record, part)) for part in parts]

    def _divide_names(self, names: tuple[str, ...], are_trajectories: bool) -> tuple[_Share, ...]:
        picks: dict[str, list[int]] = {}
        for pick, name in enumerate(names):
            picks.setdefault(self.find_namespace(name), []).append(pick)
        self.reached[are_trajectories].update(picks)
        return tuple(
            _Share(
                namespace,
                None if len(own) == len(names) else as_slice(own),
                tuple(self._places[names[pick]][1] for pick in own),
            )
            for namespace, own in picks.items()
        )

    def _check_topics(self) -> None:
        topics: dict[str, str] = {}
        for topic, driver_name, name in self._entries:
            if topic and topics.setdefault(name, topic) != topic:
                raise ParameterError(
                    f'actuator_names cannot be accepted: {name} would have two drivers',
                    parameter='actuator_names',
                    expected=f'{name} behind {topics[name]} only',
                    found=repr(f'{topic}:{driver_name}={name}'),
                )

    def _check_driver_names(self) -> None:
        taken: dict[tuple[str, str], str] = {}
        for name, (namespace, driver_name) in self._places.items():
            other = taken.setdefault((namespace, driver_name), name)
            if other != name:
                topic = f'{namespace}actuator_commands'
                raise ParameterError(
                    f'actuator_names cannot be accepted: {other} and {name} would both be '
                    f'{driver_name} on {topic}',
                    parameter='actuator_names',
                    expected='two names, or a namespace for the states of each driver, '
                    "as 'left/actuator_states' and 'right/actuator_states'",
                    found=repr(f'{driver_name}={name}'),
                )


def _namespace_of(topic: str) -> str:
    return topic[: topic.rfind('/') + 1]


def _take_command_share(record: JointStateRecord, part: _Share) -> JointStateRecord:
    if part.picks is None:
        return replace(record, names=part.names)
    rows = [EMPTY, EMPTY, EMPTY]
    for row, values in enumerate((record.position, record.velocity, record.effort)):
        if len(values):
            own = values[part.picks]
            # Only other drivers may have a command of this interface.
            if not np.isnan(own).all():
                rows[row] = own
    return JointStateRecord(record.stamp, record.frame_id, part.names, *rows)


def _take_trajectory_share(record: TrajectoryRecord, part: _Share) -> TrajectoryRecord:
    if part.picks is None:
        return replace(record, names=part.names)
    points = []
    for point in record.points:
        rows = (getattr(point, field) for field in POINT_FIELDS)
        points.append(
            Waypoint(point.time, *(row[part.picks] if len(row) else row for row in rows))
        )
    return replace(record, names=part.names, points=tuple(points))


def check_array_order(
    option: str,
    names: Sequence[str],
    known: Sequence[str],
    kind: str,
    lost: Mapping[str, str] | None = None,
) -> None:
    """
    Check the names that define the order of an array.

    :param option: Name of the option.
    :param known: The names allowed.
    :param kind: The kind of the names, with its article, for the error.
    :param lost: Names of rejected transmissions, with the reason; an array cannot omit them.
    :raises ParameterError: If a name is not allowed or repeated.
    """
    for number, name in enumerate(names):
        if name not in known:
            raise ParameterError(
                f"{option} cannot be accepted: '{name}' is not {kind}"
                + (f', {lost[name]}' if lost and name in lost else closest(name, known)),
                parameter=option,
                expected=f'names out of {", ".join(known)}',
                found=repr(name),
            )
        if name in names[:number]:
            raise ParameterError(
                f"{option} cannot be accepted: '{name}' is repeated",
                parameter=option,
                expected='each name once',
                found=repr(list(names)),
            )
