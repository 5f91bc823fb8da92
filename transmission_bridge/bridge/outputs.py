# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which driver gets which actuators, and under which names."""

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

# -- Which driver has an actuator, and what it calls it ------------------------------------------


#: Sets of actuators commanded together whose division among drivers is kept.
_REMEMBERED = 32


class _Part(NamedTuple):
    """What one driver gets of a message: its entries (``None``: all) and their names there."""

    namespace: str
    picks: Index | slice | None
    names: tuple[str, ...]


class DriverNames:
    """
    Divides messages to actuators among the drivers, under the drivers' names.

    :class:`~transmission_bridge.bridge.state_buffer.StateBuffer` translates names in states. An
    entry ``topic:driver_name`` assigns an actuator to the driver that publishes states on that
    topic; the other topics of that driver are in the same namespace. All other actuators have
    their topics in the namespace of the bridge.

    :param actuator_names: ``driver_name`` or ``topic:driver_name`` to URDF name. Of two names for
        one actuator the first is used, one with a topic before one without.
    :param actuators: The robot's; entries for others are ignored.
    :ivar namespaces: Namespaces of the drivers: ``''`` for that of the bridge, others end with a
        slash.
    :ivar reached: Namespaces to which commands were sent, and to which trajectories were.
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
            self._places.setdefault(name, (_namespace(topic), driver_name))
        for name in actuators:
            self._places.setdefault(name, ('', name))
        self._check_names()
        places = [self._places[name] for name in actuators]
        self.namespaces = tuple(dict.fromkeys(namespace for namespace, _ in places)) or ('',)
        self._is_plain = places == [('', name) for name in actuators]
        self.reached: tuple[set[str], set[str]] = (set(), set())
        if self._is_plain:
            self.reached = {''}, {''}
        self._parts = lru_cache(maxsize=_REMEMBERED)(self._divide)

    def namespace(self, actuator: str) -> str:
        """Return the namespace of the topics of an actuator's driver."""
        return self._places[actuator][0]

    @property
    def names(self) -> dict[str, str]:
        """What the drivers call the actuators, behind the namespace of their topics."""
        return {name: ''.join(place) for name, place in self._places.items()}

    def on_topic(self, name: str) -> dict[str, str]:
        """
        Return the entries for topics of another name in the namespaces of the state topics.

        :param name: Name of the topic, without a namespace.
        """
        return {
            f'{_namespace(topic)}{name}:{driver_name}' if topic else driver_name: actuator
            for topic, driver_name, actuator in self._entries
        }

    def commands(self, record: JointStateRecord) -> list[tuple[str, JointStateRecord]]:
        """
        Return the namespace and the command of each driver.

        :param record: Actuators with a command by the URDF's names, NaN: no command.
        :returns: Drivers of which an actuator is named. An interface in which none of a driver's
            actuators is commanded is an empty array.
        """
        if self._is_plain:
            return [('', record)]
        parts = self._parts(record.names, False)
        return [(part.namespace, _command_part(record, part)) for part in parts]

    def trajectories(self, record: TrajectoryRecord) -> list[tuple[str, TrajectoryRecord]]:
        """Return the namespace and the trajectory of each driver, as :meth:`commands`."""
        if self._is_plain:
            return [('', record)]
        parts = self._parts(record.names, True)
        return [(part.namespace, _trajectory_part(record, part)) for part in parts]

    def _divide(self, names: tuple[str, ...], are_trajectories: bool) -> tuple[_Part, ...]:
        picks: dict[str, list[int]] = {}
        for pick, name in enumerate(names):
            picks.setdefault(self.namespace(name), []).append(pick)
        self.reached[are_trajectories].update(picks)
        return tuple(
            _Part(
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

    def _check_names(self) -> None:
        taken: dict[tuple[str, str], str] = {}
        for name, (namespace, driver_name) in self._places.items():
            other = taken.setdefault((namespace, driver_name), name)
            if other != name:
                topic = f'{namespace}actuator_commands'
                raise ParameterError(
                    f'actuator_names cannot be accepted: {other} and {name} would both be '
                    f'{driver_name} on {topic}',
                    parameter='actuator_names',
                    expected='two names, or the states of each driver in a namespace of its own, '
                    "as 'left/actuator_states' and 'right/actuator_states'",
                    found=repr(f'{driver_name}={name}'),
                )


def _namespace(topic: str) -> str:
    return topic[: topic.rfind('/') + 1]


def _command_part(record: JointStateRecord, part: _Part) -> JointStateRecord:
    if part.picks is None:
        return replace(record, names=part.names)
    rows = [EMPTY, EMPTY, EMPTY]
    for row, values in enumerate((record.position, record.velocity, record.effort)):
        if len(values):
            own = values[part.picks]
            # This interface may be commanded of other drivers only.
            if not np.isnan(own).all():
                rows[row] = own
    return JointStateRecord(record.stamp, record.frame_id, part.names, *rows)


def _trajectory_part(record: TrajectoryRecord, part: _Part) -> TrajectoryRecord:
    if part.picks is None:
        return replace(record, names=part.names)
    points = []
    for point in record.points:
        rows = (getattr(point, field) for field in POINT_FIELDS)
        points.append(
            Waypoint(point.time, *(row[part.picks] if len(row) else row for row in rows))
        )
    return replace(record, names=part.names, points=tuple(points))


def check_order(
    option: str,
    names: Sequence[str],
    known: Sequence[str],
    kind: str,
    lost: Mapping[str, str] | None = None,
) -> None:
    """
    Check the names that give an array its order.

    :param option: Name of the option.
    :param known: The names allowed.
    :param kind: What they name, with its article, for the error.
    :param lost: Names of refused transmissions, with the reason; an array cannot leave them out.
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
