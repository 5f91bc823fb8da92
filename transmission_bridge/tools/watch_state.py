# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The data of ``watch``: newest values by topic and name, rates, ages, bridges. No ROS."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from transmission_bridge.bridge.diagnostics import Status, UNITS_OF
from transmission_bridge.tools.bridge_client import ACTIVE, Report, reports_of

__all__ = ['ARRAYS', 'JOINT_STATES', 'STALE', 'Bridge', 'Row', 'WatchState']

ARRAYS = ('position', 'velocity', 'effort')

JOINT_STATES, _JOINT_COMMANDS = 'joint_states', 'joint_commands'

#: Topics of drivers as long as no bridge names others. Those of commands have this name in every
#: namespace.
_ACTUATOR_STATES, _ACTUATOR_COMMANDS = 'actuator_states', 'actuator_commands'

#: Inputs of the bridge that are neither actuator states nor commands.
_SENSORS = ('actuator_absolute_positions', 'actuator_torque_sensors')

#: Seconds without a message after which a row is old.
STALE = 0.5

#: Seconds over which rates are averaged.
_WINDOW = 2.0

#: Parts of the names of statuses; keys in them.
_COMMANDS_OF, _ACTUATORS = 'commands of ', 'actuators'
_RECEIVED, _CLAMPED, _TIMEOUT = 'received', 'clamped ', 'timeout [s]'


@dataclass(frozen=True, slots=True)
class Row:
    """
    One actuator or joint.

    :param kind: ``actuator`` or ``joint``.
    :param state: Position, velocity and effort, ``None`` where there is none.
    :param command: The same for the newest command.
    :param age: Seconds since its newest state, ``None``: never.
    :param clamped: Commands that the bridge has clamped so far.
    :param units: Of position, velocity and effort, empty where they are SI.
    """

    kind: str
    name: str
    state: tuple[float | None, ...]
    command: tuple[float | None, ...]
    age: float | None
    clamped: int
    units: str = ''


class Bridge(Report):
    """The last diagnostics of a bridge, as far as ``watch`` reads them."""

    @property
    def namespace(self) -> str:
        """Its namespace, without outer slashes."""
        return self.name.rpartition('/')[0]

    @property
    def driver_topics(self) -> tuple[str, ...]:
        """Topics of drivers that it subscribes to; none while it is not configured."""
        others = {part.removeprefix(_COMMANDS_OF) for part in self.statuses} | {*_SENSORS}
        commands = {part for part in others if _COMMANDS_OF + part in self.statuses}
        return tuple(
            part
            for part, status in self.statuses.items()
            if _RECEIVED in dict(status.values) and part not in commands | {*_SENSORS}
        )

    @property
    def command_topics(self) -> tuple[str, ...]:
        """Topics on which it commands drivers; none while it is not configured."""
        return tuple(
            part
            for part in self.statuses
            if part == _ACTUATOR_COMMANDS or part.endswith(f'/{_ACTUATOR_COMMANDS}')
        )

    def has_received(self, topic: str) -> bool:
        """Return whether it has received a message on a topic."""
        return dict(self.statuses[topic].values)[_RECEIVED] != '0'

    def timeout(self, topic: str) -> float | None:
        """Return the seconds after which it holds a driver for silent; ``None``: never."""
        try:
            return float(dict(self.statuses[topic].values)[_TIMEOUT])
        except (KeyError, ValueError):
            return None

    def units(self, actuator: str) -> str:
        """Return the units of an actuator by its driver's name, empty where they are SI."""
        status = self.statuses.get(_ACTUATORS)
        return '' if status is None else dict(status.values).get(UNITS_OF + actuator, '')

    def clamped(self, joint: str) -> int:
        """Return how many commands to a joint it has clamped."""
        counts = (
            dict(status.values).get(_CLAMPED + joint, '')
            for part, status in self.statuses.items()
            if part.startswith(_COMMANDS_OF)
        )
        return sum(int(count) for count in counts if count.isdecimal())


@dataclass
class WatchState:
    """
    Collects messages and returns what to show.

    Times are seconds of a steady clock.

    :param namespace: Namespace of the topics.
    :param node: Name of the bridge with its namespace, empty: any in the namespace.
    :ivar publishers: Names of the nodes that publish on a topic, by topic.
    :ivar elsewhere: Other topics that somebody publishes joint states on.
    """

    namespace: str = ''
    node: str = ''
    publishers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    elsewhere: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self._values: dict[str, dict[str, dict[str, tuple[float, float]]]] = defaultdict(dict)
        self._times: dict[str, deque[float]] = defaultdict(deque)
        self._heard: dict[str, float] = {}
        self._begun: dict[str, float] = {}
        self._bridges: dict[str, Bridge] = {}

    # -- what arrives ----------------------------------------------------------------------------

    def take(
        self, topic: str, names: Sequence[str], arrays: Mapping[str, Sequence[float]], now: float
    ) -> None:
        """
        Take a message.

        :param arrays: By ``position``, ``velocity`` and ``effort``; empty arrays, and NaN in a
            command, change nothing.
        """
        self._heard[topic] = now
        self._begun.setdefault(topic, now)
        times = self._times[topic]
        times.append(now)
        while times[0] < now - _WINDOW:
            times.popleft()
        is_command = topic.rpartition('/')[2] in (_ACTUATOR_COMMANDS, _JOINT_COMMANDS)
        for interface, values in arrays.items():
            for name, value in zip(names, values, strict=False):
                known = self._values[topic].setdefault(name, {})
                if value == value or not is_command:
                    known[interface] = (value, now)

    def take_diagnostics(self, statuses: Sequence[Status], now: float) -> None:
        """
        Add a message of diagnostics, of any node.

        :param statuses: Statuses whose names begin with those of the nodes.
        """
        self.take_reports(reports_of(statuses, now))

    def take_reports(self, reports: Mapping[str, Report]) -> None:
        """Use the latest diagnostics of bridges, by their names."""
        self._bridges |= {
            name: Bridge(name, report.statuses, report.heard) for name, report in reports.items()
        }

    # -- who is there ----------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether nothing has arrived yet."""
        return not self._heard and not self._bridges

    @property
    def bridges(self) -> tuple[Bridge, ...]:
        """Bridges in the namespace, or the one that is meant."""
        own = self.namespace.strip('/')
        return tuple(
            each
            for each in self._bridges.values()
            if (each.name == self.node if self.node else each.namespace == own)
        )

    @property
    def other_bridges(self) -> tuple[Bridge, ...]:
        """Other bridges."""
        return tuple(each for each in self._bridges.values() if each not in self.bridges)

    def is_gone(self, bridge: Bridge, now: float) -> bool:
        """Return whether a bridge no longer sends diagnostics."""
        return bridge.is_gone(now)

    @property
    def driver_topics(self) -> tuple[str, ...]:
        """Topics of drivers: those of the bridge, or the default one while it names none."""
        named = dict.fromkeys(each for bridge in self.bridges for each in bridge.driver_topics)
        if not named or _ACTUATOR_STATES in self._heard:
            named[_ACTUATOR_STATES] = None
        return tuple(named)

    @property
    def topics(self) -> tuple[str, ...]:
        """States and commands of both sides."""
        commands = dict.fromkeys(each for bridge in self.bridges for each in bridge.command_topics)
        if not commands or _ACTUATOR_COMMANDS in self._heard:
            commands[_ACTUATOR_COMMANDS] = None
        return *self.driver_topics, *commands, JOINT_STATES, _JOINT_COMMANDS

    @property
    def has_driver(self) -> bool:
        """Whether a driver was heard, here or by the bridge, whose topic may be remapped."""
        return any(topic in self._heard for topic in self.driver_topics) or any(
            bridge.has_received(topic) for bridge in self.bridges for topic in bridge.driver_topics
        )

    @property
    def has_joint_states(self) -> bool:
        """Whether joint states have arrived, from any node."""
        return JOINT_STATES in self._heard

    # -- what to show ----------------------------------------------------------------------------

    def rate(self, topic: str, now: float) -> float:
        """Return the recent rate of messages [Hz]."""
        begin = max(self._begun.get(topic, now), now - _WINDOW)
        # Without the first message, and over the whole time, so that a burst is not a rate.
        count = sum(time > begin for time in self._times[topic])
        return count / (now - begin) if now > begin else 0.0

    def age(self, topic: str, now: float) -> float | None:
        """Return the seconds since the newest message, ``None``: never."""
        return now - self._heard[topic] if topic in self._heard else None

    def silent(self, now: float) -> list[tuple[str, float, float]]:
        """Return topic, age and timeout of the drivers that are silent for longer than that."""
        return [
            (topic, age, timeout)
            for bridge in self.bridges
            if bridge.state == ACTIVE
            for topic in bridge.driver_topics
            for age, timeout in [(self.age(topic, now), bridge.timeout(topic))]
            if age is not None and timeout is not None and age > timeout
        ]

    def troubles(self) -> tuple[Status, ...]:
        """
        Return the statuses that are not OK, most severe first.

        Those of others only if the bridge is not there.
        """
        found = [
            status for bridge in self.bridges or self.other_bridges for status in bridge.troubles
        ]
        return tuple(sorted(found, key=lambda each: (-each.level, each.name)))

    def rows(self, now: float) -> tuple[Row, ...]:
        """Return actuators, then joints, each in the order of their first messages."""
        return *self._actuator_rows(now), *self._joint_rows(now)

    def _joint_rows(self, now: float) -> list[Row]:
        states, commands = self._values[JOINT_STATES], self._values[_JOINT_COMMANDS]
        bridges = self.bridges or self.other_bridges
        return [
            _row(
                'joint',
                name,
                states.get(name, {}),
                commands.get(name, {}),
                now,
                sum(bridge.clamped(name) for bridge in bridges),
            )
            for name in dict.fromkeys([*states, *commands])
        ]

    def _actuator_rows(self, now: float) -> list[Row]:
        # Drivers that are commanded on topics of their own may use the same names.
        topics = self.topics
        own = {
            namespace
            for topic in topics
            if topic.endswith(f'/{_ACTUATOR_COMMANDS}')
            for namespace in [topic.removesuffix(_ACTUATOR_COMMANDS)]
        }
        states: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
        commands: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
        for found, chosen in (
            (states, self.driver_topics),
            (commands, [t for t in topics if t.rpartition('/')[2] == _ACTUATOR_COMMANDS]),
        ):
            for topic in chosen:
                namespace = topic[: topic.rfind('/') + 1]
                for name, values in self._values[topic].items():
                    key = namespace if namespace in own else '', name
                    found[key] = _newest(found.get(key, {}), values)
        keys = dict.fromkeys([*states, *commands])
        names = [name for _, name in keys]
        return [
            _row(
                'actuator',
                name if names.count(name) == 1 else namespace + name,
                states.get((namespace, name), {}),
                commands.get((namespace, name), {}),
                now,
                0,
                self._units(namespace + name),
            )
            for namespace, name in keys
        ]

    def _units(self, actuator: str) -> str:
        bridges = self.bridges or self.other_bridges
        return next(filter(None, (bridge.units(actuator) for bridge in bridges)), '')


def _newest(
    one: Mapping[str, tuple[float, float]], other: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Return the newer value of each interface."""
    return {
        interface: max(
            (values[interface] for values in (one, other) if interface in values),
            key=lambda value: value[1],
        )
        for interface in {**one, **other}
    }


def _row(
    kind: str,
    name: str,
    states: Mapping[str, tuple[float, float]],
    commands: Mapping[str, tuple[float, float]],
    now: float,
    clamped: int,
    units: str = '',
) -> Row:
    newest = max((time for _, time in states.values()), default=None)
    return Row(
        kind,
        name,
        tuple(states[i][0] if i in states else None for i in ARRAYS),
        tuple(commands[i][0] if i in commands else None for i in ARRAYS),
        None if newest is None else max(now - newest, 0.0),
        clamped,
        units,
    )
