# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Diagnostics of a configured bridge: topics, actuators, joints, transmissions and commands.

The node looks once a second, in the thread of the bridge, and only reads it, except that turns
forget the joints that they report. ``watch`` and other subscribers rely on the names of statuses
and keys, and on values that are numbers, states or units; sentences may change. Functions are
parts of :class:`BridgeInspector`, public for their tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.bridge import Bridge
from transmission_bridge.bridge.diagnostics.status import (
    Diagnostic,
    DiagnosticHistory,
    ERROR,
    Fact,
    make_diagnostic,
    UNITS_OF,
    UNKNOWN,
    WARN,
)
from transmission_bridge.bridge.inputs import CommandCounts, TopicStatistics
from transmission_bridge.bridge.states.turns import OpenTurn
from transmission_bridge.errors import counted, shortened, shown
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.types import Array

#: Counts of commands by joint.
_COUNTS = tuple(field.name for field in fields(CommandCounts) if field.name != 'shares')

#: Seconds after activation until a driver should have sent a message.
GRACE = 2.0

#: Reasons why the position of an actuator is unknown, without reasons of turns.
_NEVER, _STALE, _UNSENT, _NAN = 'never received', 'stale', 'no position sent', 'not finite'


class InspectionTime(NamedTuple):
    """
    The time of a look, once a second.

    :param now: Time by the clock of the times of receipt [s].
    :param period: Seconds since the last look.
    :param open_for: Seconds since activation, by the clock of the times of receipt; ``None`` while
        the node is not active.
    """

    now: float
    period: float = 0.0
    open_for: float | None = None


class TopicPeers(NamedTuple):
    """
    Other nodes on a topic, as texts.

    :param place: Full name of the topic after remapping.
    :param names: Publishers of an input, or subscribers of an output.
    :param incompatible: Nodes with another message type or incompatible quality of service.
    :param rivals: Other publishers of an output.
    """

    place: str
    names: Sequence[str] = ()
    incompatible: Sequence[str] = ()
    rivals: Sequence[str] = ()


def _list_counts(kind: str, counts: Mapping[str, int]) -> list[Fact]:
    """Return the total, then each count under its own key."""
    return [
        Fact(kind, sum(counts.values())),
        *(Fact(f'{kind} {key}', counts[key]) for key in sorted(counts)),
    ]


def _list_peers(kind: str, peers: TopicPeers) -> list[Fact]:
    return [
        Fact('topic', peers.place),
        Fact(kind, _join(peers.names)),
        Fact('incompatible', _join(peers.incompatible), WARN),
    ]


def _join(texts: Iterable[str]) -> str:
    return shortened(tuple(texts), show=str)


# -- Topics and commands -------------------------------------------------------------------------


def inspect_subscribed_topic(
    statistics: TopicStatistics,
    peers: TopicPeers,
    events: DiagnosticHistory,
    moment: InspectionTime,
    timeout: float | None = None,
) -> Diagnostic:
    """
    Return the status of a subscribed topic.

    :param timeout: Timeout of the driver [s]; ``None``: not a topic of a driver.
    """
    topic, age = statistics.topic, max(moment.now - statistics.heard, 0.0)
    received = events.count_growth(('received', topic), statistics.received)
    rate = received / moment.period if moment.period else 0.0
    lately = events.list_grown(('rejected', topic), statistics.rejected)
    reasons = _join(filter(statistics.needs_attention, lately))
    stamps = _join(events.list_grown(('stamps', topic), statistics.replaced_stamps))
    facts = [
        *_list_peers('publishers', peers),
        Fact('rate [Hz]', f'{rate:.1f}'),
        Fact('age [s]', f'{age:.3f}' if math.isfinite(age) else 'never heard'),
        Fact('received', statistics.received),
        Fact('accepted', statistics.accepted),
        *_list_counts('rejected', statistics.rejected),
        # Each rejection and each replaced stamp is logged.
        Fact('rejected now', reasons and f'{reasons}: {statistics.refusal}', WARN, False),
        *_list_counts('replaced stamps', statistics.replaced_stamps),
        Fact('stamps replaced now', stamps, WARN, False),
    ]
    if timeout is not None:
        limit = 'never' if timeout == math.inf else f'{timeout:.3g}'
        trouble = _find_driver_trouble(statistics, peers, events, moment, timeout)
        facts += [Fact('timeout [s]', limit), trouble]
    return make_diagnostic(topic, facts, 'receiving' if received else 'no new message')


def _find_driver_trouble(
    statistics: TopicStatistics,
    peers: TopicPeers,
    events: DiagnosticHistory,
    moment: InspectionTime,
    timeout: float,
) -> Fact:
    """Return the trouble of a driver without usable messages."""
    names = f' ({_join(peers.names)})' * bool(peers.names)
    publishers = f'{peers.place} has {counted(len(peers.names), "publisher")}{names}'
    has_left = events.confirm(('left', peers.place), publishers * (not peers.names))
    is_new = statistics.used == -math.inf
    age = (moment.open_for or 0.0) if is_new else moment.now - statistics.used
    # The age is negative after time went backwards.
    is_late = timeout != math.inf and not 0.0 <= age <= timeout
    level = ERROR if is_late else WARN
    if moment.open_for is None or (is_new and 0.0 <= age <= GRACE):
        return Fact('silent', '')
    if statistics.heard > statistics.used:
        words = f'every message for {age:.0f} s: {statistics.refusal}'
        return Fact('refused', words * (is_new or is_late), level, not is_new)
    if is_new:
        return Fact('silent', f'no message yet, {publishers}', level)
    is_silent = is_late or (bool(has_left) and age > GRACE)
    return Fact('silent', f'no message for {max(age, 0.0):.0f} s, {publishers}' * is_silent, level)


def inspect_published_topic(
    topic: str, peers: TopicPeers, events: DiagnosticHistory
) -> Diagnostic:
    """Return the status of a published topic."""
    rivals = events.confirm(topic, _join(peers.rivals))
    rival = Fact('other publishers', rivals and f'{rivals}: end one or remap it', WARN)
    return make_diagnostic(topic, [*_list_peers('subscribers', peers), rival])


def inspect_command_source(
    statistics: TopicStatistics, counts: CommandCounts, events: DiagnosticHistory, unheard: str
) -> Diagnostic:
    """
    Return the status of the accepted commands of one source.

    :param counts: Counts by joint.
    :param unheard: Topics to the drivers without subscribers, as text.
    """
    topic = statistics.topic
    # Commands that had a subscriber are no trouble.
    is_new = events.count_growth(('accepted', topic), statistics.accepted) > 0
    was_unheard = events.was_true(('unheard', topic), is_new and bool(unheard))
    facts = [
        Fact('accepted', statistics.accepted),
        Fact('no subscriber', (unheard and f'{unheard}: start the driver') * was_unheard, WARN),
    ]
    for kind in _COUNTS:
        totals = getattr(counts, kind)
        grown = _join(events.list_grown((kind, topic), totals))
        facts += [*_list_counts(kind, totals), Fact(f'{kind} now', grown, WARN)]
    facts += [Fact(f'effort share {key}', f'{x:.0%}') for key, x in counts.shares.items()]
    return make_diagnostic(f'commands of {topic}', facts)


# -- Joints beyond their limits ------------------------------------------------------------------


#: Tolerance of a measured position: share of the joint's range, and smallest value [rad or m].
_SHARE, _LEAST = 0.01, 1e-3


def compute_measured_limits(robot: RobotTransmissions) -> Array:
    """
    Return lower and upper limits of measured positions, shape ``(2, n_joints)``.

    A command interface may narrow the limits for commands only, or disable them.
    """
    (lower, upper), (low, high) = robot.joint_limits[:, 0], robot.urdf_limits[:, 0]
    return np.array([np.minimum(lower, low), np.maximum(upper, high)])


def describe_joints_beyond(
    names: Sequence[str], positions: Array, limits: Array
) -> Mapping[str, str]:
    """Return a sentence for each joint that is measured beyond its limits, ``(2, n_joints)``."""
    lower, upper = limits
    extent = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    margin = np.maximum(_SHARE * extent, _LEAST)
    beyond = (positions < lower - margin) | (positions > upper + margin)
    return {
        f'position of {names[k]}': f'{shown(names[k])} is measured at {positions[k]:.4g}, beyond '
        f'its limits {lower[k]:.4g} to {upper[k]:.4g}: check position_unit, wrap_period, '
        'mechanical_reduction, offset and <limit>'
        for k in np.flatnonzero(beyond).tolist()
    }


# -- The whole bridge ----------------------------------------------------------------------------


class BridgeInspector:
    """
    Inspects a configured bridge once a second; a session makes one.

    Numbers since the last look are the difference of two looks, so :meth:`inspect_bridge` has one
    caller, the publisher of diagnostics.

    :param statistics: Counts of the subscribed topics.
    :param state_topics: Topics of the drivers.
    :param commands: Topics of joint commands; true for trajectories.
    :param sensors: Counts of NaN in the maps of sensors, by reason.
    """

    def __init__(
        self,
        bridge: Bridge,
        statistics: Mapping[str, TopicStatistics],
        state_topics: Sequence[str],
        commands: Mapping[str, bool],
        sensors: Iterable[MapReport],
    ) -> None:
        self._bridge, self._statistics, self._state_topics = bridge, statistics, state_topics
        self._commands = commands
        self._reports = [bridge.states.report, bridge.gate.ledger.report, *sensors]
        self._limits = compute_measured_limits(bridge.plan.robot)
        self._events = DiagnosticHistory()
        # Joints beyond their limits at the last look.
        self._beyond: Mapping[str, str] = {}

    def inspect_bridge(
        self,
        moment: InspectionTime,
        inputs: Mapping[str, TopicPeers],
        outputs: Mapping[str, TopicPeers],
    ) -> Iterator[Diagnostic]:
        """
        Yield the statuses of topics, actuators, joints, transmissions and commands.

        The caller takes all of them once per look, because each changes the history.

        :param moment: The time of the look.
        :param inputs: The subscribed topics.
        :param outputs: The published topics.
        """
        events, counts, is_told = self._events, self._bridge.gate.ledger.counts, False
        for topic, statistics in self._statistics.items():
            is_driver = topic in self._state_topics
            timeout = self._bridge.states.find_driver_timeout(topic) if is_driver else None
            status = inspect_subscribed_topic(statistics, inputs[topic], events, moment, timeout)
            is_told |= is_driver and status.level == ERROR
            yield status
        for topic, peers in outputs.items():
            yield inspect_published_topic(topic, peers, events)
        reasons = self._find_unknown_actuators(moment.now)
        bindings = self._bridge.plan.robot.bindings
        # Counts of NaN by transmission and reason.
        unmapped = {binding.spec.name: Counter[str]() for binding in bindings}
        for report in self._reports:
            for (name, reason), count in report.counts.items():
                unmapped[name][reason] += count
        yield self._inspect_actuators(moment, reasons, is_told)
        yield self._inspect_joints(moment, reasons, unmapped)
        yield from self._inspect_transmissions(unmapped)
        unheard = self._list_unheard_topics(outputs)
        for topic, are_trajectories in self._commands.items():
            places = unheard[are_trajectories]
            yield inspect_command_source(self._statistics[topic], counts[topic], events, places)
        yield self._inspect_active_commands()

    # -- actuators, joints and transmissions -----------------------------------------------------

    def _list_open_turns(self) -> list[OpenTurn]:
        turns = self._bridge.states.turns
        return [] if turns is None else turns.list_open_turns()

    def _find_unknown_actuators(self, now: float) -> dict[str, str]:
        """Return the reason for each actuator with an unknown position or a stale number."""
        states, names = self._bridge.states, self._bridge.plan.robot.actuator_names
        ages, stale = states.compute_ages(now), states.mask_stale_actuators(now)
        turns = {name: turn.reason for turn in self._list_open_turns() for name in turn.actuators}
        reasons = {}
        for actuator in np.flatnonzero(~np.isfinite(states.read_values(now)[0]) | stale).tolist():
            name = names[actuator]
            if np.isinf(ages[:, actuator]).all():
                reasons[name] = _NEVER
            elif stale[actuator]:
                reasons[name] = _STALE
            elif name in turns:
                reasons[name] = f'turn: {turns[name]}'
            else:
                reasons[name] = _UNSENT if np.isinf(ages[0, actuator]) else _NAN
        return reasons

    def _inspect_actuators(
        self, moment: InspectionTime, reasons: Mapping[str, str], is_told: bool
    ) -> Diagnostic:
        """
        Return the status of all actuators.

        :param is_told: Whether the trouble of a driver explains stale actuators.
        """
        states, plan = self._bridge.states, self._bridge.plan
        names, aliases = plan.robot.actuator_names, plan.drivers.driver_names
        facts = [Fact('known', len(names) - len(reasons))]
        facts += [Fact(UNKNOWN + aliases[name], reason) for name, reason in reasons.items()]
        for name, units in plan.robot.units.items():
            text = ', '.join(unit.text or 'SI' for unit in units.all_units)
            facts.append(Fact(UNITS_OF + aliases[name], text))
        for row, actuator in np.argwhere(states.not_finite).tolist():
            count = int(states.not_finite[row, actuator])
            facts.append(Fact(f'not finite {names[actuator]} {FIELDS[row]}', count))
        unknown = states.unknown_names
        facts += [Fact(f'unknown name {name}', unknown[name]) for name in sorted(unknown)]
        if moment.open_for is not None:
            facts += self._list_actuator_troubles(moment.open_for, reasons, is_told)
        return make_diagnostic('actuators', facts, 'not all known' if reasons else 'all known')

    def _list_actuator_troubles(
        self, open_for: float, reasons: Mapping[str, str], is_told: bool
    ) -> Iterator[Fact]:
        states, robot = self._bridge.states, self._bridge.plan.robot
        stale, not_finite, never = (
            [name for name, reason in reasons.items() if reason == kind]
            for kind in (_STALE, _NAN, _NEVER)
        )
        yield Fact('stale', shortened(stale), ERROR, not is_told)
        yield Fact('not finite', shortened(not_finite), WARN)
        names = robot.actuator_names
        # A joint that passes through may have no motor.
        bindings = (binding for binding in robot.bindings if not binding.is_identity)
        needed = {names[actuator] for binding in bindings for actuator in binding.actuators}
        is_due = open_for > GRACE and len(never) < len(names)
        if (missing := shortened([name for name in never if name in needed])) and is_due:
            others = _join(states.unknown_names)
            hint = f'; actuator_names does not name the received {others}' * bool(others)
            yield Fact('never received', missing + hint, WARN)
        both = self._events.list_grown('contests', {'contests': states.contests})
        for topics, actuators in (states.list_rivals(names) if both else {}).items():
            yield Fact('two drivers', f'{shortened(actuators)} on {shortened(topics)}', WARN)
        turns: dict[str, list[OpenTurn]] = {}
        for turn in self._list_open_turns():
            turns.setdefault(turn.reason, []).append(turn)
        for reason, (first, *more) in turns.items():
            level = ERROR if reason in ('none', 'wrong', 'fast') else WARN
            also = shortened([name for turn in more for name in turn.actuators])
            yield Fact(f'turn {reason}', f'{first}' + (also and f'; also {also}'), level)
        if states.turns is not None:
            for joint, words in states.turns.take_joints_beyond().items():
                yield Fact(f'lost turn of {joint}', words, ERROR)

    def _inspect_joints(
        self,
        moment: InspectionTime,
        reasons: Mapping[str, str],
        unmapped: Mapping[str, Counter[str]],
    ) -> Diagnostic:
        """Return the status of all joints; an unknown joint has the reasons of its actuators."""
        robot, plan = self._bridge.plan.robot, self._bridge.plan.state_map
        positions = self._bridge.states.compute_joint_motion(plan, moment.now)[0]
        facts = [Fact('known', int(np.isfinite(positions).sum()))]
        for binding in robot.bindings:
            motors = [robot.actuator_names[actuator] for actuator in binding.actuators]
            causes = [f'{name} {reasons[name]}' for name in motors if name in reasons]
            causes = causes or list(unmapped[binding.spec.name]) or ['no solution']
            for joint in binding.joints:
                if not np.isfinite(positions[joint]):
                    facts.append(Fact(UNKNOWN + robot.joint_names[joint], ', '.join(causes)))
        fine = 'not all known' if len(facts) > 1 else 'all known'
        beyond = describe_joints_beyond(robot.joint_names, positions, self._limits)
        # Confirmed by a second look, because one reading may be wrong.
        before, self._beyond = self._beyond, beyond
        facts += [Fact(key, words, WARN) for key, words in beyond.items() if key in before]
        return make_diagnostic('joints', facts, fine)

    def _inspect_transmissions(self, unmapped: Mapping[str, Counter[str]]) -> Iterator[Diagnostic]:
        """Yield the statuses of used, then of rejected transmissions."""
        robot = self._bridge.plan.robot
        for binding in robot.bindings:
            if binding.is_identity:
                continue
            name, counts = binding.spec.name, unmapped[binding.spec.name]
            lately = _join(self._events.list_grown(('map', name), counts))
            facts = [Fact('loaded', True), Fact('type', binding.spec.type)]
            facts += [*_list_counts('not mapped', counts), Fact('not mapped now', lately, WARN)]
            yield make_diagnostic(f'transmission {name}', facts)
        description = robot.description
        kinds = {spec.name: spec.type for spec in description.transmissions}
        kinds |= {spec.name: spec.type for spec in description.rejected}
        for name in [kind for kind in kinds if kind not in robot.transmissions]:
            errors = (finding for finding in robot.findings if finding.severity == 'error')
            words = '; '.join(str(error) for error in errors if error.subject == name)
            facts = [Fact('loaded', False), Fact('type', kinds[name])]
            # Logged at configure.
            facts.append(Fact('rejected', words or 'failed to load', ERROR, False))
            yield make_diagnostic(f'transmission {name}', facts)

    # -- commands --------------------------------------------------------------------------------

    def _list_unheard_topics(self, outputs: Mapping[str, TopicPeers]) -> list[str]:
        """Return topics of commands and of trajectories without subscribers, each as one text."""
        arrays = [f'actuator_{interface}_commands' for interface in FIELDS]
        kinds = ['actuator_commands', *arrays], ['actuator_trajectory']
        lists = []
        for reached, names in zip(self._bridge.gate.reached, kinds, strict=True):
            unheard = []
            for namespace in sorted(reached):
                peers = [
                    outputs[topic] for name in names if (topic := namespace + name) in outputs
                ]
                topic, is_heard = peers[0].place, any(one.names for one in peers)
                unheard.append(self._events.confirm(topic, '' if is_heard else topic))
            lists.append(', '.join(filter(None, unheard)))
        return lists

    def _inspect_active_commands(self) -> Diagnostic:
        """Return the status of kept efforts, endless joints and arrays that were not sent."""
        ledger, arrays = self._bridge.gate.ledger, self._bridge.gate.arrays
        kept = shortened(ledger.kept_efforts)
        facts = [
            Fact('kept effort', kept and f'{kept}: command, or set zero_effort', ERROR),
            Fact('joints without a timeout', shortened(ledger.endless_joints) or 'none'),
            *_list_counts('arrays not sent', arrays.unsent),
        ]
        for topic, names in arrays.missing.items():
            words = f'{shortened(names)} had no active command of that mode'
            facts.append(Fact(f'array not sent on {topic}', words, WARN))
        return make_diagnostic('commands in force', facts)
