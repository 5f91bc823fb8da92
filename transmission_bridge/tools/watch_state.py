# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The data of ``watch``: latest values by topic and name, ages, bridges, missing nodes.

Only ``WatchClient`` writes it, in the thread that draws; the screen of ``watch`` reads it. The
diagnostics of a bridge define the names of statuses and keys. ``watch`` repeats the names of
columns; sentences are free to change.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import math
import os

from transmission_bridge.bridge.diagnostics import UNITS_OF, UNKNOWN
from transmission_bridge.description import load_description
from transmission_bridge.errors import find_closest_names, shortened, TransmissionBridgeError
from transmission_bridge.tools.bridge_client import ACTIVE, BridgeDiagnostics, COMMANDS
from transmission_bridge.tools.units import list_position_limits

#: Columns of a state by interface, and the prefix of the columns of a command.
COLUMNS = {'position': 'POS', 'velocity': 'VEL', 'effort': 'EFF'}
_COMMAND = 'CMD '

#: Columns of an actuator in the row of its joint.
MOTOR_COLUMNS = {'POS': 'MOTOR', 'VEL': 'MOTOR VEL', 'EFF': 'MOTOR EFF'}

AGE, CLAMPED = 'AGE s', 'CLAMPED'

#: Default topic of a driver's states, used if bridges list no others.
_DRIVER = 'actuator_states'

_JOINT, _JOINT_COMMANDS = 'joint_states', 'joint_commands'

#: The statuses of all actuators and of all joints, and the kinds of their rows.
_KINDS = {'actuators': 'actuator', 'joints': 'joint'}

#: Parts of keys before a name: of a joint whose commands were clamped, and of one that is not
#: where it can be; and all of them.
_CLAMPED, _ODD = 'clamped ', ('position of ', 'lost turn of ')
_BEGINS = (UNITS_OF, UNKNOWN, _CLAMPED, *_ODD)

#: Begin of the names of the statuses of drivers, whose keys are a quantity and an actuator.
_HOSTED = 'driver '

#: The key of ``state_timeout`` [s] in the status of the topic of a driver, which others lack.
_TIMEOUT = 'timeout [s]'

#: Seconds over which rates are averaged.
_WINDOW = 2.0

#: How to activate a bridge, by its lifecycle state.
_REMEDIES = {
    'unconfigured': "'ros2 lifecycle set /{0} configure', then '... activate' start it; with "
    'the parameter autostart it starts automatically',
    'inactive': "'ros2 lifecycle set /{0} activate' starts it",
    'finalized': 'it has been shut down; start it again',
}


@dataclass(slots=True)
class WatchRow:
    """
    One actuator or joint.

    :param kind: ``actuator`` or ``joint``.
    :param name: Its name, with the namespace of its driver if that has its own command topic.
    :param numbers: By column: latest state and command, age of the state [s], and number of
        commands that the bridge has clamped; absent if unknown or zero. A joint that alone has an
        actuator has the state of this actuator too.
    :param units: Units of position, velocity and effort, empty for SI.
    :param driver_units: Those of the actuator, also in the row of a joint.
    :param unknown: The reason why the bridge does not know it, empty if it does.
    :param more: Values that its driver reports, such as a temperature.
    :param limits: Lower and upper limit of a joint, NaN if they are not known.
    :param is_odd: Whether a joint is where it cannot be.
    """

    kind: str
    name: str
    numbers: dict[str, float] = field(default_factory=dict)
    units: str = ''
    driver_units: str = ''
    unknown: str = ''
    more: dict[str, str] = field(default_factory=dict)
    limits: tuple[float, float] = (math.nan, math.nan)
    is_odd: bool = False


@dataclass
class WatchState:
    """
    Stores messages and returns the data to show. Times are seconds of a steady clock.

    :param node: Name of the bridge with its namespace, empty for any bridge without a namespace.
    :ivar reports: The latest diagnostics of each bridge by name.
    :ivar others: Topics of joint states that are not used; empty if a driver is present.
    """

    node: str = ''
    reports: Mapping[str, BridgeDiagnostics] = field(default_factory=dict)
    others: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Start without data."""
        # By topic, name and column: time of receipt and value.
        self._values: dict[str, dict[str, dict[str, tuple[float, float]]]] = defaultdict(dict)
        # Times of the messages within the window, and of the first message.
        self._times: dict[str, deque[float]] = {}
        self._begun: dict[str, float] = {}
        # By joint: the only actuator of its transmission; lower and upper limit, and unit.
        self._motors: dict[str, str] = {}
        self._limits: dict[str, tuple[float, float, str]] = {}

    def set_description(self, text: str) -> None:
        """Use a robot description; one that cannot be read is ignored."""
        try:
            robot = load_description(text)
        except TransmissionBridgeError:
            return
        pairs = [(spec.joints, spec.actuators) for spec in robot.transmissions]
        ones = [(q[0].name, a[0].name) for q, a in pairs if len(q) == len(a) == 1]
        # An actuator of several joints is in no row of a joint.
        counts = Counter(end.name for _, actuators in pairs for end in actuators)
        self._motors = {joint: motor for joint, motor in ones if counts[motor] == 1}
        self._limits |= list_position_limits(robot, [joint.name for joint in robot.joints])

    def store_message(
        self, topic: str, names: Sequence[str], arrays: Mapping[str, Sequence[float]], now: float
    ) -> None:
        """
        Store a message.

        :param arrays: By ``position``, ``velocity`` and ``effort``; empty arrays, and NaN in a
            command, change nothing.
        """
        self._begun.setdefault(topic, now)
        times = self._times.setdefault(topic, deque())
        times.append(now)
        while times[0] < now - _WINDOW:
            times.popleft()
        is_command = topic.rpartition('/')[2] in (COMMANDS, _JOINT_COMMANDS)
        for interface, values in arrays.items():
            column = (_COMMAND if is_command else '') + COLUMNS[interface]
            for name, value in zip(names, values, strict=False):
                newest = self._values[topic].setdefault(name, {})
                if value == value or not is_command:
                    newest[column] = now, value

    # -- nodes -----------------------------------------------------------------------------------

    @property
    def bridges(self) -> list[BridgeDiagnostics]:
        """The bridge of this name, or all bridges without a namespace."""
        return [
            report
            for name, report in self.reports.items()
            if (name == self.node if self.node else '/' not in name)
        ]

    @property
    def is_empty(self) -> bool:
        """Whether no message has arrived yet."""
        return not self._times and not self.reports

    @property
    def is_idle(self) -> bool:
        """Whether there are bridges, and none of them is active."""
        return bool(self.bridges) and all(bridge.state != ACTIVE for bridge in self.bridges)

    @property
    def topics(self) -> list[str]:
        """State and command topics of drivers from the bridges' diagnostics, and of joints."""
        return [*self._driver_topics, *self._command_topics, _JOINT, _JOINT_COMMANDS]

    @property
    def _driver_topics(self) -> list[str]:
        parts = [(bridge, part) for bridge in self.bridges for part in bridge.statuses]
        named = [part for bridge, part in parts if _find_fact(bridge, part, _TIMEOUT)]
        return self._add_default(named, _DRIVER)

    @property
    def _command_topics(self) -> list[str]:
        parts = [part for bridge in self.bridges for part in bridge.statuses]
        named = [part for part in parts if part.rpartition('/')[2] == COMMANDS]
        return self._add_default(named, COMMANDS)

    def _add_default(self, named: list[str], default: str) -> list[str]:
        is_used = not named or default in self._times
        return list(dict.fromkeys([*named, default] if is_used else named))

    @property
    def has_driver(self) -> bool:
        """Whether a driver's message has arrived here, or at a bridge with a remapped topic."""
        return any(
            topic in self._times
            or any(_find_fact(each, topic, 'received') not in ('', '0') for each in self.bridges)
            for topic in self._driver_topics
        )

    @property
    def has_joint_states(self) -> bool:
        """Whether joint states have arrived, from any node."""
        return _JOINT in self._times

    # -- data to show ----------------------------------------------------------------------------

    def compute_rate(self, topic: str, now: float) -> float:
        """Return the recent rate of messages [Hz]."""
        begin = max(self._begun.get(topic, now), now - _WINDOW)
        # The number of messages after the first, over the whole window, so that a burst is
        # averaged.
        count = sum(time > begin for time in self._times.get(topic, ()))
        return count / (now - begin) if now > begin else 0.0

    def compute_age(self, topic: str, now: float) -> float | None:
        """Return the seconds since the latest message, ``None`` without a message."""
        return now - self._times[topic][-1] if topic in self._times else None

    @property
    def _shown_bridges(self) -> list[BridgeDiagnostics]:
        """The bridges, or all others if they are missing."""
        return self.bridges or list(self.reports.values())

    def list_findings(self) -> list[tuple[int, str]]:
        """
        Return level and text of each status that is not OK, most severe first.

        If the bridge is missing, the statuses of other bridges are returned.
        """
        findings = [
            (trouble.level, f'{trouble.name}: {trouble.message}')
            for bridge in self._shown_bridges
            for trouble in bridge.troubles
        ]
        return sorted(findings, key=lambda finding: -finding[0])

    def make_rows(self, now: float) -> list[WatchRow]:
        """Return joints, then actuators that are beside none, in the order of their messages."""
        # Drivers with their own command topics may use the same names.
        namespaces = {topic.rpartition('/')[0] for topic in self._command_topics} - {''}
        cells: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
        for topic in self.topics:
            kind = 'joint' if topic in (_JOINT, _JOINT_COMMANDS) else 'actuator'
            namespace = topic.rpartition('/')[0]
            for name, values in self._values[topic].items():
                key = kind, f'{namespace}/{name}' if namespace in namespaces else name
                newest = cells.setdefault(key, {})
                for column, value in values.items():
                    newest[column] = max(value, newest.get(column, value))
        rows = {key: WatchRow(*key) for key in cells}
        for key, row in rows.items():
            row.numbers = {column: value for column, (_, value) in cells[key].items()}
            times = [cells[key][column][0] for column in COLUMNS.values() if column in cells[key]]
            if times:
                row.numbers[AGE] = max(now - max(times), 0.0)
            if row.kind == 'joint':
                *limits, row.units = self._limits.get(row.name, (math.nan, math.nan, ''))
                row.limits = limits[0], limits[1]
        self._add_facts(rows)
        for joint, motor in self._motors.items():
            if ('joint', joint) in rows and ('actuator', motor) in rows:
                driver, row = rows.pop(('actuator', motor)), rows['joint', joint]
                row.driver_units, row.more = driver.units, driver.more
                row.numbers |= {
                    MOTOR_COLUMNS[column]: driver.numbers[column]
                    for column in MOTOR_COLUMNS
                    if column in driver.numbers
                }
        return sorted(rows.values(), key=lambda row: row.kind == 'actuator')

    def _add_facts(self, rows: dict[tuple[str, str], WatchRow]) -> None:
        """Add what diagnostics say of actuators and joints, also of those without a message."""
        statuses = [item for bridge in self._shown_bridges for item in bridge.statuses.items()]
        for part, fact in ((part, fact) for part, status in statuses for fact in status.facts):
            text = str(fact.value)
            begin = next((text for text in _BEGINS if fact.key.startswith(text)), '')
            quantity, _, name = fact.key.rpartition(' ')
            name = fact.key.removeprefix(begin) if begin else name
            joint, actuator = rows.get(('joint', name)), rows.get(('actuator', name))
            if part in _KINDS and begin == UNKNOWN:
                row = WatchRow(_KINDS[part], name)
                rows.setdefault((row.kind, name), row).unknown = text
            elif part in _KINDS and begin == UNITS_OF and actuator:
                actuator.units = actuator.driver_units = text
            elif part.startswith(_HOSTED) and actuator:
                actuator.more[quantity] = text
            elif part.startswith('commands of ') and begin == _CLAMPED and joint:
                if text.isdecimal() and int(text):
                    joint.numbers[CLAMPED] = joint.numbers.get(CLAMPED, 0) + int(text)
            elif begin in _ODD and joint:
                joint.is_odd = True


def _find_fact(bridge: BridgeDiagnostics, part: str, key: str) -> str:
    """Return a value of a status, empty without such a value."""
    return bridge.statuses[part][key] if part in bridge.statuses else ''


def describe_missing_nodes(state: WatchState, now: float) -> list[str]:
    """
    Return a sentence for each node that is missing or does not work.

    The diagnostics of a bridge have the reason for a missing or silent driver, and the remedy.
    """
    where = f'in namespace /{state.node.rpartition("/")[0]}'
    where += f', ROS domain {os.environ.get("ROS_DOMAIN_ID") or "0"}'
    present = [bridge for bridge in state.bridges if not bridge.is_gone(now)]
    missing = []
    if not present and state.bridges:
        last = max(state.bridges, key=lambda bridge: bridge.received)
        return [
            f'the bridge {last.name} has gone: its last diagnostics arrived '
            f'{now - last.received:.0f} s ago; start it again'
        ]
    if not present:
        if state.has_driver and state.has_joint_states:
            return []
        of, others = f'of {state.node} ' * bool(state.node), list(state.reports)
        close = [*find_closest_names(state.node, others, 1), *others][:1]
        missing.append(
            f'the bridge is missing: no diagnostics {of}{where}'
            + (
                f', but of other bridges: {", ".join(others)}; --node {close[0]} shows that one'
                if others
                else "; 'ros2 launch transmission_bridge bridge.launch.py' starts one"
            )
        )
    elif state.is_idle:
        missing += [
            f'the bridge {bridge.name} is {bridge.state}, not active: '
            + _REMEDIES.get(bridge.state, 'a transition is in progress').format(bridge.name)
            for bridge in present
        ]
    if not state.has_driver:
        topics = ', '.join(state._driver_topics)
        missing.append(f'the driver is missing: no message has arrived on {topics} {where}')
        if state.others and not present:  # the diagnostics of a bridge list them
            missing[-1] += f'; other topics of joint states: {shortened(state.others, show=str)}'
    elif not missing and not state.has_joint_states:
        missing.append(
            f'{present[0].name} is active, but no {_JOINT} arrive {where}: see its diagnostics, '
            'or the topic is remapped'
        )
    return missing or [
        f'the driver on {topic} is silent: no message for {age:.1f} s, and its values are unknown '
        f'after {timeout} s'
        for bridge in present
        for topic in bridge.statuses
        for timeout, age in [(_find_fact(bridge, topic, _TIMEOUT), state.compute_age(topic, now))]
        if timeout not in ('', 'never') and age is not None and age > float(timeout)
    ]
