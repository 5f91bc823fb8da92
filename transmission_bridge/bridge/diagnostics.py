# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""REP 107 diagnostics as plain data: topics, sources of commands, transmissions, actuators."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
import math
import time
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.gate import Gate
from transmission_bridge.bridge.inputs import CommandCounts, TopicStatistics
from transmission_bridge.bridge.state_buffer import StateBuffer
from transmission_bridge.description.specs import Finding
from transmission_bridge.errors import clipped, shortened
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Mask

# Counts are totals since the node was configured. Levels describe the present: an event, such as a
# refused message, is shown for a few seconds.

OK, WARN, ERROR = 0, 1, 2

#: Characters of the name of a status, and of a key: names from outside may be of any length.
NAME_LENGTH = 256

#: Seconds for which an event is shown.
_SHOWN = 5.0

#: Seconds between two log lines of the same trouble.
_LOG_PERIOD = 5.0

#: Reasons of refusal in words.
REASONS = {
    'too_large': 'much larger than a message of this robot can be',
    'undecodable': 'the bytes are not a message of this type',
    'ragged': 'not as many values as names',
    'duplicate_name': 'a name is given twice',
    'other_interface': 'interface_name is not that of the topic',
    'size': 'the wrong number of values',
    'not_finite': 'a value is NaN or infinite',
    'infinite': 'a value is infinite',
    'no_names': 'no joint is named',
    'no_points': 'the trajectory is empty',
    'empty_point': 'a waypoint has no values',
    'times': 'the times of the waypoints do not increase',
    'bad_stamp': 'the stamp is not a time',
    'future_stamp': 'the stamp is ahead of the clock',
    'foreign': 'they name no actuator of this robot, see actuator_names',
    'unknown_joint': 'a name is not a joint of this robot',
    'not_commandable': 'a joint follows another one or has no usable transmission',
    'mixed': 'joints in different modes, see mixed_commands',
    'mixed_coupled': 'coupled joints in different modes',
    'partial': 'a coupled joint is missing and cannot hold, see partial_commands',
    'limit': 'outside the joint limits, see limits',
    'actuator_limit': 'outside the limits of an actuator, see its <limit>',
    'jumped': 'a position is too far away, see max_step',
    'several_interfaces': 'a joint is commanded by several interfaces, see several_interfaces',
    'stalled': 'sent before the node itself stood still',
    'too_old': 'the stamp is older than max_command_age',
    'too_many_points': 'more waypoints than max_waypoints',
    'unmapped': 'the transmission has no solution there',
    'unknown_turn': 'in which turn an actuator is is not known, see actuators',
    'no_position': 'a rate without the position that its ratio depends on',
    'no_velocity': 'an acceleration without the velocity that it depends on',
    'bug': 'an error in the bridge, see its log',
}

#: Those that concern the form of a message, not its content.
_MALFORMED = (
    *('too_large', 'undecodable', 'ragged', 'duplicate_name', 'size', 'not_finite', 'infinite'),
    *('no_names', 'no_points', 'empty_point', 'times', 'bad_stamp', 'other_interface'),
)


class Trouble(NamedTuple):
    """
    Something wrong with a part.

    :param level: ``WARN`` or ``ERROR``.
    :param words: What is wrong, what was found, what to do.
    :param kind: Identifies it in the log while its words change; empty where it is logged
        elsewhere.
    """

    level: int
    words: str
    kind: str = ''


@dataclass(frozen=True, slots=True)
class Status:
    """
    One diagnostic_msgs/DiagnosticStatus.

    :param name: Name of the part, without the node's.
    :param level: ``OK``, ``WARN`` or ``ERROR``.
    :param message: The level in words.
    :param values: Key and value.
    :param troubles: The causes of level and message.
    """

    name: str
    level: int
    message: str
    values: tuple[tuple[str, str], ...]
    troubles: tuple[Trouble, ...] = ()

    def __getitem__(self, key: str) -> str:
        """Return the value of a key."""
        return dict(self.values)[key]

    def troubled(self, troubles: Sequence[Trouble]) -> Status:
        """Return a copy with troubles added."""
        return replace(
            self,
            level=max(self.level, *(each.level for each in troubles), OK),
            message=clipped('; '.join([self.message, *(each.words for each in troubles)])),
            troubles=(*self.troubles, *troubles),
        )


class Window:
    """
    What has changed since the last look.

    :param time: Returns the time [s] of a steady clock.
    """

    def __init__(self, time: Callable[[], float] = time.monotonic) -> None:
        self._time = time
        self._totals: dict[Hashable, int] = {}
        self._seen: dict[Hashable, float] = {}
        self._settled: dict[Hashable, tuple[bool, bool]] = {}
        self._made: dict[Hashable, tuple[Hashable, Status]] = {}

    def grown(self, key: Hashable, total: int) -> int:
        """
        Return the growth of a count, and store it.

        :param key: Which count.
        :param total: Its value; if that is smaller than before, the count was reset.
        """
        before = self._totals.get(key, 0)
        self._totals[key] = total
        return total - before if total >= before else total

    def lately(self, key: Hashable, total: int) -> bool:
        """Return whether a count has grown in the last 5 s."""
        return self.was_so(key, self.grown(key, total) > 0)

    def grown_lately(self, kind: tuple[str, str], counts: Mapping[str, int]) -> list[str]:
        """Return the keys of counts of one kind that have grown in the last 5 s."""
        return [key for key, count in counts.items() if self.lately((*kind, key), count)]

    def was_so(self, key: Hashable, is_so: bool) -> bool:
        """Return whether something is so at this look, or was in the last 5 s."""
        now = self._time()
        if is_so:
            self._seen[key] = now
        return now - self._seen.get(key, -math.inf) < _SHOWN

    def settled(self, key: Hashable, is_so: bool) -> bool:
        """
        Return what was found at two looks in a row; false at first.

        The graph of nodes is incomplete while they discover each other.
        """
        before, settled = self._settled.get(key, (False, False))
        settled = is_so if is_so == before else settled
        self._settled[key] = is_so, settled
        return settled

    def unchanged(self, key: Hashable, facts: Hashable, make: Callable[[], Status]) -> Status:
        """
        Return the status that was last made from the same facts, else make it.

        Most of a robot's transmissions do not change between looks.
        """
        before = self._made.get(key)
        if before is None or before[0] != facts:
            before = self._made[key] = facts, make()
        return before[1]


class TroubleLog:
    """
    Log lines for statuses: each trouble when it begins, and when it is over.

    A trouble that comes and goes is logged once per 5 s at most. The same words about several
    parts are one line.

    :param time: Returns the time [s] of a steady clock.
    """

    def __init__(self, time: Callable[[], float] = time.monotonic) -> None:
        self._time = time
        self._said: dict[tuple[str, str], float] = {}
        # Troubles that were logged, when they began, and when they were last present.
        self._lasting: dict[tuple[str, str], tuple[Trouble, float, float]] = {}

    def look(self, statuses: Iterable[Status]) -> list[tuple[int, str]]:
        """Return level and text of the lines to log; ``OK`` is information."""
        now = self._time()
        present = {
            (status.name, trouble.kind): trouble
            for status in statuses
            # The worst of a kind is kept.
            for trouble in sorted(status.troubles, key=lambda each: each.level)
            if trouble.kind
        }
        lines: dict[tuple[int, str], list[str]] = {}
        for key, trouble in present.items():
            lasting, since, _ = self._lasting.get(key, (None, now, now))
            if lasting is None and not self._is_due(key, now):
                continue
            if lasting is None or trouble.level > lasting.level:
                lasting = trouble
                self._said[key] = now
                lines.setdefault((trouble.level, trouble.words), []).append(key[0])
            self._lasting[key] = lasting, since, now
        for key in [key for key in self._lasting if key not in present]:
            if self._is_due(key, now):
                trouble, since, until = self._lasting.pop(key)
                self._said[key] = now
                words = f'over after {until - since:.0f} s: {trouble.words}'
                lines.setdefault((OK, words), []).append(key[0])
        return [
            (level, f'{shortened(names, show=str)}: {words}')
            for (level, words), names in lines.items()
        ]

    def _is_due(self, key: tuple[str, str], now: float) -> bool:
        return now - self._said.get(key, -math.inf) >= _LOG_PERIOD


def judged(
    name: str,
    troubles: Iterable[tuple[int, str] | Trouble],
    values: Mapping[str, object],
    fine: str = 'OK',
) -> Status:
    """
    Return a status with the level of the worst trouble and texts of limited length.

    :param troubles: Level and words of each, and its kind where it is to be logged.
    :param fine: The message if there is none.
    """
    found = sorted((Trouble(*each) for each in troubles), key=lambda trouble: -trouble.level)
    return Status(
        clipped(name, NAME_LENGTH),
        max((trouble.level for trouble in found), default=OK),
        clipped('; '.join(trouble.words for trouble in found) or fine),
        tuple((clipped(key, NAME_LENGTH), clipped(str(value))) for key, value in values.items()),
        tuple(found),
    )


def input_status(
    statistics: TopicStatistics,
    window: Window,
    *,
    place: str,
    now: float,
    period: float,
    incompatible: Sequence[str],
    troubles: Sequence[Trouble] = (),
    fine: str = 'not used',
    timeout: float | None = None,
) -> Status:
    """
    Return the status of a subscribed topic.

    :param place: Full name of the topic after remapping.
    :param now: Time of the clock that gave the times of receipt [s].
    :param period: Seconds since the last look.
    :param incompatible: Publishers with incompatible QoS, in words.
    :param troubles: Other troubles, as of a driver.
    :param fine: The message if there is no trouble and no message was received.
    :param timeout: Seconds after which its numbers are unknown, infinite: never; ``None`` where
        that is not so.
    """
    topic = statistics.topic
    age = max(now - statistics.heard, 0.0)
    found = [
        *_incompatibilities(place, incompatible),
        *troubles,
        *_rejections(statistics, window, 'input'),
    ]
    replaced = window.grown_lately(('stamp', topic), statistics.replaced_stamps)
    if replaced:
        words = f'stamps replaced by the time of receipt: {_explained(replaced)}'
        found.append(Trouble(WARN, words))
    rate = window.grown(('received', topic), statistics.received) / period if period else 0.0
    if rate:
        fine = 'receiving'
    elif math.isfinite(age):
        fine = 'no new message'
    return judged(
        topic,
        found,
        {
            'topic': place,
            'rate [Hz]': f'{rate:.1f}',
            'age [s]': f'{age:.3f}' if math.isfinite(age) else 'never heard',
            **({} if timeout is None else {'timeout [s]': _seconds(timeout)}),
            'received': statistics.received,
            'accepted': statistics.accepted,
            'malformed': sum(
                count for reason, count in statistics.rejected.items() if reason in _MALFORMED
            ),
            **_by('rejected', statistics.rejected),
            **_by('replaced stamps', statistics.replaced_stamps),
            'incompatible': shortened(incompatible, show=str),
        },
        fine,
    )


def _seconds(timeout: float) -> str:
    return f'{timeout:.3g}' if math.isfinite(timeout) else 'never'


def output_status(
    topic: str, place: str, incompatible: Sequence[str], troubles: Sequence[Trouble] = ()
) -> Status:
    """
    Return the status of a published topic.

    :param place: Full name of the topic after remapping.
    :param incompatible: Subscribers with incompatible QoS, in words.
    :param troubles: Other troubles.
    """
    return judged(
        topic,
        [*_incompatibilities(place, incompatible), *troubles],
        {'topic': place, 'incompatible': shortened(incompatible, show=str)},
    )


def _incompatibilities(place: str, peers: Sequence[str]) -> list[Trouble]:
    if not peers:
        return []
    words = f'incompatible quality of service on {place}: {shortened(peers, show=str)}'
    return [Trouble(WARN, words, 'quality of service')]


#: Counts of commands by joint: name in diagnostics, and words if they are a trouble of their own.
_COMMAND_COUNTS = {
    'clamped': ('clamped', 'clamped to the limits'),
    'limited': ('outside limits', ''),
    'contested': ('contested', 'commanded by another source too'),
    'stopped': (
        'stopped beyond limits',
        'beyond a position limit and commanded further out, velocity or effort set to zero',
    ),
    'outward': (
        'outward effort passed',
        'beyond a position limit, an effort that leads further out passes as it may hold a load',
    ),
    'scaled': ('scaled', 'scaled down to the limits of actuators'),
    'jumped': ('jumped', 'positions too far away for the velocity limit, see max_step'),
    'rejected': ('rejected joints', 'rejected while the others were sent, see rejects'),
}


def command_status(
    statistics: TopicStatistics,
    counts: CommandCounts,
    window: Window,
    unheard: str = '',
    shared: Sequence[Trouble] = (),
) -> Status:
    """
    Return the status of the commands of one source.

    :param unheard: Topic without subscribers to which they are published; empty if there is none.
    :param shared: The trouble that another bridge receives them.
    """
    topic = statistics.topic
    troubles = [*shared, *_rejections(statistics, window, 'commands')]
    is_commanded = window.grown(('accepted', topic), statistics.accepted) > 0
    # Commands that were sent while there was a subscriber are no trouble.
    if window.was_so(('unheard', topic), is_commanded and bool(unheard)) and unheard:
        words = (
            f'nobody listens to {unheard}: start the driver, or remap this topic to the one that '
            'it listens to'
        )
        troubles.append(Trouble(WARN, words, 'unheard'))
    values = {'accepted': statistics.accepted, **_by('rejected', statistics.rejected)}
    for kind, (key, words) in _COMMAND_COUNTS.items():
        by_joint: Counter[str] = getattr(counts, kind)
        values |= _by(key, by_joint)
        grown = window.grown_lately((kind, topic), by_joint) if words else []
        if kind == 'scaled':
            grown = [
                f'{joint} (effort {counts.shares[joint]:.0%})' if joint in counts.shares else joint
                for joint in grown
            ]
        if grown:
            troubles.append(Trouble(WARN, f'{words}: {", ".join(grown)}', kind))
    return judged(f'commands of {topic}', troubles, values)


def gate_status(gate: Gate) -> Status:
    """Return the status of what is sent to the drivers, and of how it ends."""
    troubles = []
    if kept := gate.ledger.kept_efforts:
        words = (
            f'the last effort of {shortened(kept)} stays active, though nobody commands it: '
            'command it, or set zero_effort if no load can fall'
        )
        troubles.append(Trouble(ERROR, words, 'kept effort'))
    for topic, actuators in gate.missing.items():
        words = (
            f'the last array was not sent on {topic}: {shortened(actuators)} had no active '
            'command of that mode, or is silent, beyond a limit, or in an unknown turn'
        )
        troubles.append(Trouble(WARN, words, f'unsent {topic}'))
    endless = gate.ledger.endless
    values = {
        'kept efforts': len(kept),
        **_by('arrays not sent', gate.unsent_arrays),
        'joints without a timeout': shortened(endless) if endless else 'none',
    }
    return judged('commands in force', troubles, values)


def _rejections(statistics: TopicStatistics, window: Window, view: str) -> list[Trouble]:
    lately = window.grown_lately((view, statistics.topic), statistics.rejected)
    grown = [reason for reason in lately if statistics.is_trouble(reason)]
    return [Trouble(WARN, f'messages rejected: {_explained(grown)}')] if grown else []


def _explained(reasons: Iterable[str]) -> str:
    return ', '.join(
        f'{reason} ({REASONS[reason]})' if reason in REASONS else reason for reason in reasons
    )


def _by(kind: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the total, then each count under its own key."""
    return {kind: sum(counts.values())} | {f'{kind} {key}': counts[key] for key in sorted(counts)}


# -- Transmissions and actuators -----------------------------------------------------------------


#: Why a mechanism has no solution; always shown, also at zero.
_REASONS = {
    'domain': 'outside the positions that the mechanism can reach',
    'singular': 'near a dead centre, beyond max_gain',
    'no_convergence': 'no position of the mechanism was found',
    'branch': 'the mechanism is assembled the other way round',
    'exception': 'the transmission raised an error, see the log',
}


def transmission_statuses(
    robot: RobotTransmissions,
    merged: StateBuffer,
    reports: Iterable[MapReport],
    window: Window,
    *,
    stale: Mask,
    misplaced: Mapping[str, str],
) -> list[Status]:
    """
    Return one status per transmission, including those that were refused.

    :param reports: What became NaN in the maps, and why.
    :param stale: Actuators that timed out, shape ``(n_actuators,)``.
    :param misplaced: By transmission, that its absolute encoder is probably at the joint.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    errors: defaultdict[str, str] = defaultdict(str)
    for report in reports:
        for (name, reason), count in report.counts.items():
            counts[name][reason] += count
        errors.update(report.errors)
    loaded = []
    for binding in robot.bindings:
        name = binding.spec.name
        if name not in robot.transmissions:
            continue
        loaded.append(
            _loaded(
                robot,
                binding,
                merged,
                counts[name],
                errors[name],
                window,
                stale,
                misplaced.get(name, ''),
            )
        )
    refused = (_failed(*each, robot.findings) for each in _refused(robot))
    return [*loaded, *refused]


def _refused(robot: RobotTransmissions) -> list[tuple[str, str]]:
    """Return name and type of the refused transmissions."""
    described = robot.robot
    loaded = robot.transmissions
    failed = [
        (spec.name, spec.type) for spec in described.transmissions if spec.name not in loaded
    ]
    return [*failed, *((each.name, each.type) for each in described.rejected)]


def _loaded(
    robot: RobotTransmissions,
    binding: Binding,
    merged: StateBuffer,
    counts: Mapping[str, int],
    error: str,
    window: Window,
    stale: Mask,
    misplaced: str,
) -> Status:
    name = binding.spec.name
    actuators = list(binding.actuators)
    not_finite = tuple(merged.not_finite[:, actuators].sum(axis=1).tolist())
    reasons = tuple(counts.get(reason, 0) for reason in _REASONS)
    silent = tuple(robot.actuator_names[place] for place in actuators if stale[place])
    # NaN positions make joints unknown; NaN rates are how drivers say that they have none.
    is_nan = window.lately(('NaN', name), not_finite[0])
    grown = tuple(window.grown_lately(('map', name), counts))

    def make() -> Status:
        troubles = []
        if silent:
            # Logged with the drivers.
            troubles.append(Trouble(ERROR, f'no fresh state of {", ".join(silent)}'))
        if is_nan:
            troubles.append(Trouble(WARN, 'positions of actuators were NaN or infinite', 'NaN'))
        if grown:
            # Exceptions are logged with their traceback.
            kind = '' if grown == ('exception',) else 'map'
            words = ', '.join(f'{reason} ({_REASONS[reason]})' for reason in sorted(grown))
            troubles.append(Trouble(WARN, f'could not be mapped: {words}', kind))
        if misplaced:
            troubles.append(Trouble(WARN, misplaced, 'encoder'))
        values: dict[str, object] = {
            'loaded': True,
            'type': binding.spec.type,
            'NaN': sum(not_finite),
            **{f'NaN {field}': count for field, count in zip(FIELDS, not_finite, strict=True)},
            **dict(zip(_REASONS, reasons, strict=True)),
        }
        if error:
            values['last exception'] = error.strip().splitlines()[-1]
            values['traceback'] = error.strip()
        return judged(f'transmission {name}', troubles, values, 'loaded')

    facts = (binding.spec.type, not_finite, reasons, silent, is_nan, grown, error, misplaced)
    return window.unchanged(('transmission', name), facts, make)


def _failed(name: str, type_name: str, findings: Iterable[Finding]) -> Status:
    reasons = [
        str(finding)
        for finding in findings
        if finding.severity == 'error' and finding.subject == name
    ]
    return judged(
        f'transmission {name}',
        [(ERROR, '; '.join(reasons) or 'failed to load')],
        {'loaded': False, 'type': type_name},
    )


#: Of the status of actuators: key of the units of one, by the name that its driver uses.
UNITS_OF = 'units '


def actuator_status(
    robot: RobotTransmissions,
    merged: StateBuffer,
    *,
    stale: Mask,
    now: float,
    troubles: Sequence[Trouble] = (),
    is_told: bool = False,
    driver_names: Mapping[str, str] | None = None,
) -> Status:
    """
    Return the status of all actuators: which are known, their units, and unknown names.

    :param stale: Actuators that timed out, shape ``(n_actuators,)``.
    :param now: Time of the clock that gave the times of receipt [s].
    :param troubles: Those that
        :class:`~transmission_bridge.bridge.driver_watch.ActuatorWatch` found.
    :param is_told: Whether a silent driver is already logged.
    :param driver_names: What drivers call actuators, with their namespace, where that differs.
    """
    names = robot.actuator_names
    known = np.isfinite(merged.values(now)[0])
    unknown = ', '.join(name for name, is_known in zip(names, known, strict=True) if not is_known)
    silent = ', '.join(name for name, is_stale in zip(names, stale, strict=True) if is_stale)
    values: dict[str, object] = {
        'known': int(known.sum()),
        'position unknown': unknown,
        'stale': silent,
        **{
            UNITS_OF + (driver_names or {}).get(name, name): ', '.join(
                unit.text or 'SI' for unit in units.units
            )
            for name, units in robot.units.items()
        },
        **{
            f'not finite {names[place]} {FIELDS[row]}': int(merged.not_finite[row, place])
            for row, place in np.argwhere(merged.not_finite)
        },
        **{f'unknown name {name}': count for name, count in sorted(merged.unknown_names.items())},
    }
    found = list(troubles)
    if silent:
        found.append(Trouble(ERROR, f'no fresh state of {silent}', '' if is_told else 'stale'))
    if merged.turns is not None:
        for turn in merged.turns.open_turns():
            level = ERROR if turn.reason in ('none', 'wrong', 'fast') else WARN
            found.append(Trouble(level, str(turn), f'turn of {turn.actuators}'))
            values[f'turn unknown {shortened(turn.actuators, show=str)}'] = turn.reason
        beyond = merged.turns.take_beyond().items()
        found += [Trouble(ERROR, words, f'beyond {joint}') for joint, words in beyond]
    fine = 'not all known' if unknown else 'all known'
    refused = [name for name, _ in _refused(robot)]
    if refused:
        fine += f' of the transmissions in use; refused: {shortened(refused, show=str)}'
    return judged('actuators', found, values, fine)
