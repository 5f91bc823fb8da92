# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What ``watch`` knows: newest values by topic and name, rates, ages, clamps. No ROS."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ['ARRAYS', 'TOPICS', 'Row', 'WatchState']

ARRAYS = ('position', 'velocity', 'effort')

#: States and commands of both sides.
TOPICS = ('actuator_states', 'actuator_commands', 'joint_states', 'joint_commands')

#: Seconds over which rates are averaged.
_WINDOW = 2.0

#: Names of diagnostics end with this text and a topic where they count commands.
_COMMANDS = 'commands of '
_CLAMPED = 'clamped '


@dataclass(frozen=True, slots=True)
class Row:
    """
    One actuator or joint.

    :param kind: ``actuator`` or ``joint``.
    :param state: Position, velocity and effort, ``None`` where there is none.
    :param command: The same of the newest command.
    :param age: Seconds since its newest state, ``None``: never.
    :param clamped: Commands that the bridge brought inside the limits so far.
    """

    kind: str
    name: str
    state: tuple[float | None, ...]
    command: tuple[float | None, ...]
    age: float | None
    clamped: int


class WatchState:
    """
    Takes what arrives and tells what to show.

    Times are seconds of any one clock that does not jump.
    """

    def __init__(self) -> None:
        self._values: dict[str, dict[str, dict[str, tuple[float, float]]]] = {
            topic: {} for topic in TOPICS
        }
        self._times: dict[str, deque[float]] = {topic: deque() for topic in TOPICS}
        self._heard: dict[str, float] = {}
        self._begun: dict[str, float] = {}
        self._clamped: dict[str, dict[str, int]] = {}
        self._troubles: dict[str, str] = {}

    @property
    def has_states(self) -> bool:
        """Whether any states have arrived."""
        return any(topic in self._heard for topic in TOPICS if topic.endswith('states'))

    @property
    def has_both_states(self) -> bool:
        """Whether states of both sides have arrived: driver and bridge run."""
        return all(topic in self._heard for topic in TOPICS if topic.endswith('states'))

    def take(
        self, topic: str, names: Sequence[str], arrays: Mapping[str, Sequence[float]], now: float
    ) -> None:
        """
        Take a message.

        :param arrays: By ``position``, ``velocity`` and ``effort``; an empty one is no news, and
            so is NaN in a command.
        """
        self._heard[topic] = now
        self._begun.setdefault(topic, now)
        times = self._times[topic]
        times.append(now)
        while times[0] < now - _WINDOW:
            times.popleft()
        for interface, values in arrays.items():
            for name, value in zip(names, values, strict=False):
                known = self._values[topic].setdefault(name, {})
                if value == value or topic.endswith('states'):
                    known[interface] = (value, now)

    def take_diagnostics(
        self, name: str, level: int, message: str, values: Iterable[tuple[str, str]]
    ) -> None:
        """Take one status of the bridge."""
        if level:
            self._troubles[name] = message
        else:
            self._troubles.pop(name, None)
        if _COMMANDS not in name:
            return
        counts = self._clamped.setdefault(name, {})
        for key, value in values:
            if key.startswith(_CLAMPED) and value.isdecimal():
                counts[key.removeprefix(_CLAMPED)] = int(value)

    def rate(self, topic: str, now: float) -> float:
        """Return the messages per second of late [Hz]."""
        begin = max(self._begun.get(topic, now), now - _WINDOW)
        # Without the message that the time begins with, and over all of it: a burst is no rate.
        count = sum(time > begin for time in self._times[topic])
        return count / (now - begin) if now > begin else 0.0

    def age(self, topic: str, now: float) -> float | None:
        """Return the seconds since the newest message, ``None``: never."""
        return now - self._heard[topic] if topic in self._heard else None

    def troubles(self) -> tuple[tuple[str, str], ...]:
        """Return what the bridge warns about: name and words."""
        return tuple(sorted(self._troubles.items()))

    def rows(self, now: float) -> tuple[Row, ...]:
        """Return actuators, then joints, each in the order in which they were first heard of."""
        return tuple(
            self._row(kind, name, now)
            for kind in ('actuator', 'joint')
            for name in dict.fromkeys(
                [*self._values[f'{kind}_states'], *self._values[f'{kind}_commands']]
            )
        )

    def _row(self, kind: str, name: str, now: float) -> Row:
        states = self._values[f'{kind}_states'].get(name, {})
        commands = self._values[f'{kind}_commands'].get(name, {})
        newest = max((time for _, time in states.values()), default=None)
        clamped = 0
        if kind == 'joint':
            clamped = sum(counts.get(name, 0) for counts in self._clamped.values())
        return Row(
            kind,
            name,
            tuple(states[i][0] if i in states else None for i in ARRAYS),
            tuple(commands[i][0] if i in commands else None for i in ARRAYS),
            None if newest is None else max(now - newest, 0.0),
            clamped,
        )
