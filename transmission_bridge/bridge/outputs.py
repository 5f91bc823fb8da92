# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What is sent to the drivers: who gets which actuators under which names, and plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.commands import Arrivals
from transmission_bridge.bridge.inputs import as_slice
from transmission_bridge.bridge.options import split_topic
from transmission_bridge.errors import closest, ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord, Waypoint
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, EMPTY, Index

__all__ = ['ActuatorArrays', 'DriverNames', 'check_order']


# -- Which driver has an actuator, and what it calls it ------------------------------------------


#: Sets of actuators, commanded together, of which it is remembered how they are divided.
_REMEMBERED = 32


class _Part(NamedTuple):
    """What one driver gets of a message: its entries (``None``: all) and their names there."""

    namespace: str
    picks: Index | slice | None
    names: tuple[str, ...]


class DriverNames:
    """
    Divides messages to actuators among the drivers, under the drivers' names.

    The way back is taken where states are merged. An actuator of an entry ``topic:driver_name``
    has the driver that publishes its states on that topic, and the topics of that driver are in
    the namespace of that one. All others have their topics in the namespace of the bridge.

    :param actuator_names: ``driver_name`` or ``topic:driver_name`` to URDF name. Of two names for
        one actuator the first counts, one with a topic before one without.
    :param actuators: Those of the robot; entries of others mean nothing.
    :ivar namespaces: Where there are drivers: ``''`` for that of the bridge, else with the slash
        at its end.
    :ivar reached: Namespaces to which commands were sent, and those to which trajectories were.
    :raises ParameterError: If an actuator has two drivers, or two actuators in one namespace
        would have one name.
    """

    def __init__(self, actuator_names: Mapping[str, str], actuators: Sequence[str]) -> None:
        given = [(*split_topic(entry), name) for entry, name in actuator_names.items()]
        # Stable: those with a topic first, else as they are given.
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

    def on_topic(self, name: str) -> dict[str, str]:
        """
        Return the entries as they are on topics of another name beside those of the states.

        :param name: Of the topic, without a namespace.
        """
        return {
            f'{_namespace(topic)}{name}:{driver_name}' if topic else driver_name: actuator
            for topic, driver_name, actuator in self._entries
        }

    def commands(self, record: JointStateRecord) -> list[tuple[str, JointStateRecord]]:
        """
        Return what each driver is sent of a command, with the namespace of its topics.

        :param record: Actuators with a command by the URDF's names, NaN: no command.
        :returns: Only drivers of which an actuator is named. An interface that is not commanded
            of any actuator of a driver is an empty array.
        """
        if self._is_plain:
            return [('', record)]
        parts = self._parts(record.names, False)
        return [(part.namespace, _command_part(record, part)) for part in parts]

    def trajectories(self, record: TrajectoryRecord) -> list[tuple[str, TrajectoryRecord]]:
        """Return what each driver is sent of a trajectory, as :meth:`commands`."""
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
            # Of an interface may be commands to other drivers only.
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


# -- Plain arrays in a fixed order ---------------------------------------------------------------


class ActuatorArrays:
    """
    Fills arrays from the messages that are sent.

    A plain array cannot leave out an actuator. So it is there only when each has a command of its
    mode: in these messages, or as its newest before them. A command of another mode, and a
    trajectory, takes an actuator's old command away. Where a trajectory ends counts as a command
    once it is over: before that it would have the actuator jump there. Time going backwards ends
    positions; rates are ended by messages.

    Messages that end rates, being zero, end those of the last array as well, though others of its
    actuators have another mode by now: in it their velocity is zero, and their effort as it was,
    because without it a load might fall.

    :param actuators: The order, each actuator once.
    """

    def __init__(self, actuators: Sequence[str]) -> None:
        self._index = {name: place for place, name in enumerate(actuators)}
        self.reset()

    def reset(self) -> None:
        """Forget every command."""
        self._values: Array = np.full((len(FIELDS), len(self._index)), np.nan)
        self._arrivals = Arrivals(len(self._index))
        self._latest = -np.inf
        self._last: Array = np.full(self._values.shape, np.nan)

    def update(
        self, messages: Sequence[JointStateRecord], now: float = 0.0
    ) -> list[tuple[str, Array]]:
        """
        Take note of what is sent for one command.

        :param messages: The messages of one command, each actuator by interface at most once.
        :param now: Time of receipt [s].
        :returns: Interface and values of every array that is to be sent with them.
        """
        self._notice(now)
        names = {name for each in messages for name in each.names}
        self._forget([self._index[name] for name in names & self._index.keys()])
        sent: set[int] = set()
        moving: set[int] = set()
        for message in messages:
            picks = [pick for pick, name in enumerate(message.names) if name in self._index]
            places = [self._index[message.names[pick]] for pick in picks]
            rows = (message.position, message.velocity, message.effort)
            for row, values in enumerate(rows):
                if len(values) and not np.isnan(values[picks]).all():
                    self._values[row, places] = values[picks]
                    sent.add(row)
                    if np.nan_to_num(values[picks]).any():
                        moving.add(row)
        if self._arrivals.under_way(now).any():
            sent.discard(0)
        arrays = []
        for row in sorted(sent):
            values = self._values[row].copy()
            if row not in moving:
                self._complete_end(row, values)
            if not np.isnan(values).any():
                self._last[row] = values
                arrays.append((FIELDS[row], values))
        return arrays

    def _complete_end(self, row: int, values: Array) -> None:
        """Fill in, in place, the actuators that are not in the messages that end rates."""
        interface, last = FIELDS[row], self._last[row]
        if interface == 'position' or np.isnan(last).any():
            return
        missing = np.isnan(values)
        values[missing] = 0.0 if interface == 'velocity' else last[missing]

    def end_at(
        self, names: Sequence[str], position: Array, *, now: float = 0.0, until: float = 0.0
    ) -> None:
        """
        Take note of where a trajectory ends.

        :param names: Its actuators.
        :param position: Their last positions, empty where it does not tell.
        :param now: Time of receipt [s].
        :param until: When it ends [s].
        """
        self._notice(now)
        picks = [pick for pick, name in enumerate(names) if name in self._index]
        places = [self._index[names[pick]] for pick in picks]
        self._forget(places)
        if len(position):
            self._values[0, places] = position[picks]
            self._arrivals.expect(places, until)

    def _forget(self, places: Sequence[int]) -> None:
        """Forget the commands of these actuators."""
        self._values[:, places] = np.nan
        self._arrivals.cancel(places)

    def _notice(self, now: float) -> None:
        """Look whether time went backwards."""
        if now < self._latest:
            self._values[0] = np.nan
            self._arrivals.cancel_all()
        self._latest = now


def check_order(
    option: str,
    names: Sequence[str],
    known: Sequence[str],
    kind: str,
    lost: Mapping[str, str] | None = None,
) -> None:
    """
    Check the names that give an array its order.

    :param option: Name of the option that they come from.
    :param known: The names allowed.
    :param kind: What they are, for the sentence.
    :param lost: Names that would be allowed if a transmission were not refused, with the reason:
        an array cannot leave them out.
    :raises ParameterError: If one is not among them or stands there twice.
    """
    for number, name in enumerate(names):
        if name not in known:
            raise ParameterError(
                f"{option} cannot be accepted: '{name}' is no {kind}"
                + (f', {lost[name]}' if lost and name in lost else closest(name, known)),
                parameter=option,
                expected=f'names out of {", ".join(known)}',
                found=repr(name),
            )
        if name in names[:number]:
            raise ParameterError(
                f"{option} cannot be accepted: '{name}' stands there twice",
                parameter=option,
                expected='each name once',
                found=repr(list(names)),
            )
