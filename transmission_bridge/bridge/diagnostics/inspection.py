# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Diagnostics of a configured bridge: a function for each kind of part returns its status.

Memory is in :class:`~.diagnostics.Recent`, :class:`~.driver_watch.DriverWatch` and
:class:`Coverage`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
import math

import numpy as np

from transmission_bridge.bridge.bridge import Bridge
from transmission_bridge.bridge.contradictions import (
    compute_measured_limits,
    describe_joints_beyond,
)
from transmission_bridge.bridge.diagnostics.driver_watch import DriverWatch, GRACE, Look, Peers
from transmission_bridge.bridge.diagnostics.status import (
    ERROR,
    make_status,
    Recent,
    SHOWN,
    Status,
    Trouble,
    UNITS_OF,
    WARN,
)
from transmission_bridge.bridge.inputs import CommandCounts, TopicStatistics
from transmission_bridge.bridge.states.states import States
from transmission_bridge.bridge.states.turns import TurnPlan
from transmission_bridge.description import RejectedTransmission, TransmissionSpec
from transmission_bridge.errors import shortened
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.types import Array, Mask

#: Reasons of rejection in words.
REASONS = {
    'too_large': 'too large for a message of this robot',
    'undecodable': 'the bytes are not a message of this type',
    'ragged': 'not as many values as names',
    'duplicate_name': 'a name is repeated',
    'other_interface': 'interface_name does not match the topic',
    'size': 'the wrong number of values',
    'not_finite': 'a value is NaN or infinite',
    'infinite': 'a value is infinite',
    'no_names': 'no joint names',
    'no_points': 'the trajectory is empty',
    'empty_point': 'a waypoint has no values',
    'times': 'the times of the waypoints do not increase',
    'bad_stamp': 'the stamp is not a time',
    'future_stamp': 'the stamp is ahead of the clock',
    'foreign': 'they name no actuator of this robot, see actuator_names',
    'unknown_joint': 'a name is not a joint of this robot',
    'not_commandable': 'a joint follows another joint or has no usable transmission',
    'mixed_coupled': 'coupled joints in different modes',
    'partial': 'a coupled joint is missing and cannot hold, see partial_commands',
    'limit': 'outside the joint limits, see limits',
    'actuator_limit': 'outside the limits of an actuator, see its <limit>',
    'jumped': 'a position is too far away, see max_step',
    'several_interfaces': 'a joint is commanded by several interfaces, see several_interfaces',
    'stalled': 'received just after this node stood still',
    'too_old': 'every waypoint is in the past',
    'too_many_points': 'too many waypoints',
    'unmapped': 'the transmission has no solution for it',
    'unknown_turn': 'an actuator is in an unknown turn, see actuators',
    'no_position': 'a rate without the position that its ratio depends on',
    'no_velocity': 'an acceleration without the velocity that it depends on',
    'bug': 'an error in the bridge, see its log',
}

#: Reasons why a mechanism has no solution; also shown if the count is zero.
_UNMAPPED = {
    'domain': 'outside the positions that the mechanism can reach',
    'singular': 'near a dead centre, beyond max_gain',
    'no_convergence': 'no solution was found',
    'branch': 'the solution is on another assembly branch',
}

#: Keys of the counts of NaN.
_NAN = tuple(f'NaN {each}' for each in FIELDS)

#: Reasons that concern the form of a message, not its content.
_MALFORMED = (
    *('too_large', 'undecodable', 'ragged', 'duplicate_name', 'size', 'not_finite', 'infinite'),
    *('no_names', 'no_points', 'empty_point', 'times', 'bad_stamp', 'other_interface'),
)

# fmt: off
#: Counts of commands by joint: key, and words if the count is a trouble.
_COUNTS = {
    'clamped': ('clamped', 'clamped to the limits'),
    'limited': ('outside limits', ''),
    'contested': ('contested', 'also commanded by another source'),
    'stopped': ('stopped beyond limits', 'beyond a position limit and commanded further out, '
                'velocity or effort set to zero'),
    'outward': ('outward effort passed', 'beyond a position limit, an outward effort passes, '
                'because it may hold a load'),
    'scaled': ('scaled', 'scaled down to the limits of actuators'),
    'jumped': ('jumped', 'positions too far away for the velocity limit, see max_step'),
    'rejected': ('rejected joints', 'rejected while the others were sent'),
}


def _list_counts(kind: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the total, then each count under its own key."""
    return {kind: sum(counts.values())} | {f'{kind} {key}': counts[key] for key in sorted(counts)}


def _describe(reasons: Iterable[str], words: Mapping[str, str] = REASONS) -> str:
    return ', '.join(f'{each} ({words[each]})' if each in words else each for each in reasons)


def _join_names(names: Sequence[str], are: Mask) -> str:
    return ', '.join(name for name, is_one in zip(names, are.tolist(), strict=True) if is_one)


# -- Topics --------------------------------------------------------------------------------------


def _describe_incompatible(peers: Peers) -> Trouble:
    return Trouble('incompatible', WARN, peers.incompatible and
                   f'incompatible nodes on {peers.place}: {peers.incompatible}')


def _describe_rejected(statistics: TopicStatistics, recent: Recent, view: str) -> Trouble:
    lately = recent.list_grown((view, statistics.topic), statistics.rejected)
    words = _describe(reason for reason in lately if statistics.needs_attention(reason))
    # Each rejection is logged.
    return Trouble('', WARN, words and f'messages rejected: {words}')


def inspect_input(
    statistics: TopicStatistics,
    peers: Peers,
    recent: Recent,
    look: Look,
    timeout: float | None = None,
    troubles: Iterable[Trouble] = (),
) -> Status:
    """
    Return the status of a subscribed topic.

    :param timeout: Timeout of the driver [s]; ``None``: not a topic of a driver.
    :param troubles: Those of the driver.
    """
    topic, age = statistics.topic, max(look.now - statistics.heard, 0.0)
    received = recent.count_growth(('received', topic), statistics.received)
    stamps = _describe(recent.list_grown(('stamp', topic), statistics.replaced_stamps))
    is_driver, is_heard = timeout is not None, math.isfinite(age)
    fine = (
        'receiving' if received and look.period
        else 'no new message' if is_heard
        else 'no subscription while the node is inactive' if not look.is_open
        else 'waiting for the driver' if is_driver else 'not used'
    )
    return make_status(topic, [
        _describe_incompatible(peers),
        *troubles,
        _describe_rejected(statistics, recent, 'input'),
        Trouble('', WARN, stamps and f'stamps replaced by the time of receipt: {stamps}'),
    ], {
        'topic': peers.place,
        'publishers': peers.senders,
        'rate [Hz]': f'{received / look.period if look.period else 0.0:.1f}',
        'age [s]': f'{age:.3f}' if is_heard else 'never heard',
        **({'timeout [s]': 'never' if timeout == math.inf else f'{timeout:.3g}'}
           if is_driver else {}),
        'received': statistics.received,
        'accepted': statistics.accepted,
        'malformed': sum(statistics.rejected[reason] for reason in _MALFORMED),
        **_list_counts('rejected', statistics.rejected),
        **_list_counts('replaced stamps', statistics.replaced_stamps),
        'incompatible': peers.incompatible,
    }, fine)


def inspect_output(topic: str, peers: Peers, recent: Recent) -> Status:
    """Return the status of a published topic."""
    rivals = peers.rivals and (f'{peers.place} has other publishers: {peers.rivals}; subscribers '
                               'receive both in turn: remap one of them')
    return make_status(topic, [
        _describe_incompatible(peers),
        Trouble('published by others', WARN, recent.confirm(topic, rivals)),
    ], {'topic': peers.place, 'incompatible': peers.incompatible})


# -- Actuators and transmissions -----------------------------------------------------------------


class Coverage:
    """
    The actuators in the messages of the drivers.

    Actuators of transmissions are expected; a joint that passes through may have no motor.
    """

    def __init__(self, robot: RobotTransmissions) -> None:
        self._names = robot.actuator_names
        self._needed = np.zeros(len(self._names), dtype=bool)
        for binding in robot.bindings:
            self._needed[list(binding.actuators)] = not binding.is_identity
        self._newest = np.full(len(self._names), -np.inf)
        self._quiet = np.zeros(len(self._names), dtype=int)
        self._counts = self._publishers = np.zeros(len(self._names), dtype=int)

    def collect_troubles(
        self, states: States, recent: Recent, topics: Mapping[str, Peers], open_for: float
    ) -> list[Trouble]:
        """
        Return the troubles; called once a second.

        :param topics: The topics of the drivers.
        :param open_for: Seconds since the node was activated.
        """
        newest = states.find_receipt_times()
        never = np.isneginf(newest)
        is_due = open_for > GRACE and not never.all()
        missing = _join_names(self._names, never & self._needed & is_due)
        lost = _join_names(self._names, self._mask_lost(states, newest, topics))
        is_contested = recent.has_grown('contests', states.contests)
        rivals = states.list_rivals(self._names) if is_contested else {}
        contested = '; '.join(
            f'{shortened(names)} on '
            + ' and '.join(f'{topics[each].place} ({topics[each].senders})' for each in both)
            for both, names in rivals.items()
        )
        unknown = shortened(tuple(states.unknown_names), show=str)
        names = f' or uses other names (unknown: {unknown}), see actuator_names' if unknown else ''
        return [
            Trouble('never heard', WARN, missing and
                    f'no state of {missing} yet: check whether a driver is missing{names}'),
            Trouble('gone', WARN, lost and f'no more states of {lost}; the topic has lost a '
                    'publisher: start that driver again'),
            Trouble('contested', WARN, contested and 'published on two topics, the latest number '
                    f'is used: {contested}; let one driver publish each actuator'),
        ]

    def _mask_lost(self, states: States, newest: Array, topics: Mapping[str, Peers]) -> Mask:
        """Return actuators absent for two looks, while others of their topic were present."""
        is_new = newest != self._newest
        self._newest = newest
        self._quiet = np.where(is_new, 0, self._quiet + 1)
        givers = states.list_givers()
        counts = np.array([len(topics[giver].publishers) if giver else 0 for giver in givers])
        # A publisher that left may have sent messages since the last look.
        most = np.maximum(counts, self._counts)
        self._publishers = np.where(is_new, most, self._publishers)
        self._counts = counts
        heard = {giver for giver, quiet in zip(givers, self._quiet, strict=True) if quiet < 2}
        goes_on = np.array([giver in heard for giver in givers])
        is_known, has_lost = np.isfinite(newest), counts < self._publishers
        lost: Mask = (self._quiet >= 2) & is_known & goes_on & has_lost
        return lost


def inspect_actuators(
    robot: RobotTransmissions,
    states: States,
    now: float,
    stale: Mask,
    driver_names: Mapping[str, str],
    troubles: Iterable[Trouble] = (),
    is_told: bool = False,
    plan: TurnPlan | None = None,
) -> Status:
    """
    Return the status of all actuators.

    :param stale: Mask of the actuators that timed out.
    :param driver_names: Names that drivers use, with their namespace, if they differ.
    :param troubles: Those of their messages and measurements.
    :param is_told: Whether a trouble of a driver explains stale actuators.
    :param plan: Single-turn encoders, if there are any.
    """
    names, counted, unknown = robot.actuator_names, states.turns, states.unknown_names
    known, late = np.isfinite(states.read_values(now)[0]), _join_names(names, stale)
    turns = counted.list_open_turns(plan) if counted and plan else []
    beyond = counted.take_joints_beyond(plan) if counted and plan else {}
    refused = shortened([spec.name for spec in _list_unused_transmissions(robot)], show=str)
    fine = 'all known' if known.all() else 'not all known'
    return make_status('actuators', [
        *troubles,
        Trouble('' if is_told else 'stale', ERROR, late and f'no fresh state of {late}'),
        *(Trouble(f'turn of {turn.actuators}',
                  ERROR if turn.reason in ('none', 'wrong', 'fast') else WARN, str(turn))
          for turn in turns),
        *(Trouble(f'beyond {joint}', ERROR, words) for joint, words in beyond.items()),
    ], {
        'known': int(known.sum()),
        'position unknown': _join_names(names, ~known),
        'stale': late,
        **{UNITS_OF + driver_names.get(name, name):
           ', '.join(unit.text or 'SI' for unit in units.all_units)
           for name, units in robot.units.items()},
        **{f'not finite {names[place]} {FIELDS[row]}': int(states.not_finite[row, place])
           for row, place in np.argwhere(states.not_finite)},
        **{f'unknown name {name}': unknown[name] for name in sorted(unknown)},
        **{f'turn unknown {shortened(turn.actuators, show=str)}': turn.reason for turn in turns},
    }, fine + (refused and f' of the transmissions in use; rejected: {refused}'))


def _list_unused_transmissions(
    robot: RobotTransmissions,
) -> list[TransmissionSpec | RejectedTransmission]:
    used, described = robot.transmissions, robot.description
    specs = (spec for spec in described.transmissions if spec.name not in used)
    return [*specs, *described.rejected]


def inspect_transmissions(
    robot: RobotTransmissions,
    states: States,
    reports: Iterable[MapReport],
    recent: Recent,
    stale: Mask,
) -> Iterator[Status]:
    """
    Yield the statuses of used, then of unused transmissions.

    :param reports: Counts of NaN in the maps, by reason.
    :param stale: Mask of the actuators that timed out.
    """
    counts = Counter[tuple[str, str]]()
    for report in reports:
        counts.update(report.counts)
    names, is_stale, rows = robot.actuator_names, stale.tolist(), states.not_finite.tolist()
    for binding in robot.bindings:
        name, actuators = binding.spec.name, binding.actuators
        if binding.is_identity:
            continue
        late = ', '.join([names[place] for place in actuators if is_stale[place]])
        not_finite = [sum([row[place] for place in actuators]) for row in rows]
        # NaN positions make joints unknown; drivers without rates publish NaN rates.
        is_nan = recent.has_grown(('NaN', name), not_finite[0])
        unmapped = {reason: counts.get((name, reason), 0) for reason in _UNMAPPED}
        counted = {reason: count for reason, count in unmapped.items() if count}
        lately = recent.list_grown(('map', name), counted)
        yield make_status(f'transmission {name}', [
            # Logged with the drivers.
            Trouble('', ERROR, late and f'no fresh state of {late}'),
            Trouble('NaN', WARN, 'positions of actuators were NaN or infinite' if is_nan else ''),
            Trouble('map', WARN,
                    f'could not be mapped: {_describe(lately, _UNMAPPED)}' if lately else ''),
        ], {
            'loaded': True,
            'type': binding.spec.type,
            'NaN': sum(not_finite),
            **dict(zip(_NAN, not_finite, strict=True)),
            **unmapped,
        }, 'loaded')
    for spec in _list_unused_transmissions(robot):
        reasons = '; '.join(str(finding) for finding in robot.findings
                            if finding.severity == 'error' and finding.subject == spec.name)
        # Logged at configure.
        trouble = Trouble('', ERROR, reasons or 'failed to load')
        values = {'loaded': False, 'type': spec.type}
        yield make_status(f'transmission {spec.name}', [trouble], values)


# -- Commands ------------------------------------------------------------------------------------


def inspect_commands(
    statistics: TopicStatistics, counts: CommandCounts, peers: Peers, recent: Recent, unheard: str
) -> Status:
    """
    Return the status of the commands of one source.

    :param counts: Counts by joint.
    :param unheard: Topics to the drivers without subscribers, as text.
    """
    topic = statistics.topic
    bridges = peers.rivals and (
        f'another bridge ({peers.rivals}) also subscribes to {peers.place}; each command moves '
        'both robots: give each bridge its own topic by a namespace and relative names, or remap '
        + topic
    )
    # Commands that had a subscriber are no trouble.
    is_new = recent.count_growth(('accepted', topic), statistics.accepted) > 0
    was_unheard = recent.was_true(('unheard', topic), is_new and bool(unheard))
    troubles = [
        Trouble('other bridges', ERROR, recent.confirm(('bridges', topic), bridges)),
        _describe_rejected(statistics, recent, 'commands'),
        Trouble('unheard', WARN, f'{unheard} has 0 subscribers: start the driver, or remap this '
                'topic to the topic of the driver' if unheard and was_unheard else ''),
    ]
    values = {'accepted': statistics.accepted, **_list_counts('rejected', statistics.rejected)}
    for kind, (key, words) in _COUNTS.items():
        totals, shares = getattr(counts, kind), counts.shares if kind == 'scaled' else {}
        values |= _list_counts(key, totals)
        joints = ', '.join(f'{joint} (effort {shares[joint]:.0%})' if joint in shares else joint
                           for joint in recent.list_grown((kind, topic), totals))
        troubles.append(Trouble(kind, WARN, words and joints and f'{words}: {joints}'))
    return make_status(f'commands of {topic}', troubles, values)


def inspect_active_commands(
    kept: Sequence[str],
    endless: Sequence[str],
    missing: Mapping[str, Sequence[str]],
    unsent: Mapping[str, int],
) -> Status:
    """
    Return the status of the commands that are active.

    :param kept: Joints that keep their last effort without a command.
    :param endless: Joints without a timeout.
    :param missing: Actuators without a command in the last unsent array, by topic.
    :param unsent: Number of arrays that were not sent, by topic.
    """
    names = shortened(kept)
    return make_status('commands in force', [
        Trouble('kept effort', ERROR, names and f'the last effort of {names} stays active without '
                'a command: command these joints, or set zero_effort if no load can fall'),
        *(Trouble(f'unsent {topic}', WARN, f'the last array was not sent on {topic}: '
                  f'{shortened(names)} had no active command of that mode, was silent, beyond a '
                  'limit or in an unknown turn') for topic, names in missing.items()),
    ], {
        'kept efforts': len(kept),
        **_list_counts('arrays not sent', unsent),
        'joints without a timeout': shortened(endless) or 'none',
    })
# fmt: on


# -- All of them ---------------------------------------------------------------------------------


class BridgeWatch:
    """
    Inspects a configured bridge once a second.

    :param statistics: Counts of the subscribed topics.
    :param state_topics: Topics of the drivers.
    """

    def __init__(
        self,
        bridge: Bridge,
        statistics: Mapping[str, TopicStatistics],
        state_topics: Sequence[str],
    ) -> None:
        self._bridge, self._statistics, self._state_topics = bridge, statistics, state_topics
        self._recent = Recent()
        self.restart()

    def restart(self) -> None:
        """Forget the drivers, because the node was activated."""
        self._active = Recent()
        self._open_for = 0.0
        self._drivers = {each: DriverWatch(self._statistics[each]) for each in self._state_topics}
        self._coverage = Coverage(self._bridge.plan.robot)
        self._limits = compute_measured_limits(self._bridge.plan.robot)
        self._beyond: deque[Mapping[str, str]] = deque(maxlen=round(SHOWN))

    def inspect_bridge(
        self,
        look: Look,
        inputs: Mapping[str, Peers],
        outputs: Mapping[str, Peers],
        reports: Iterable[MapReport],
        commands: Mapping[str, bool],
    ) -> Iterator[Status]:
        """
        Yield the statuses of subscribed and published topics, actuators, transmissions, commands.

        :param look: The time; ``open_for`` is counted here.
        :param inputs: The subscribed topics.
        :param outputs: The published topics.
        :param reports: See :func:`inspect_transmissions`.
        :param commands: Topics of joint commands; true for trajectories.
        """
        plan, states, gate = self._bridge.plan, self._bridge.states, self._bridge.gate
        robot, ledger, recent, now = plan.robot, gate.ledger, self._recent, look.now
        stale = states.mask_stale_actuators(now) & look.is_open
        timeouts = {topic: states.find_driver_timeout(topic) for topic in self._drivers}
        drivers: dict[str, list[Trouble]] = {}
        troubles: list[Trouble] = []
        if look.is_open:
            self._open_for += look.elapsed
            look = look._replace(open_for=self._open_for)
            for topic, driver in self._drivers.items():
                numbers, timeout = states.read_given_numbers(topic), timeouts[topic]
                drivers[topic] = driver.collect_troubles(inputs[topic], numbers, timeout, look)
            troubles = self._coverage.collect_troubles(
                states, self._active, inputs, self._open_for
            )
            troubles += self._list_contradictions(now)
            if self._open_for <= GRACE:
                stale &= np.isfinite(states.find_receipt_times())
        for topic, each in self._statistics.items():
            found, limit = drivers.get(topic, ()), timeouts.get(topic)
            yield inspect_input(each, inputs[topic], recent, look, limit, found)
        for topic, peers in outputs.items():
            yield inspect_output(topic, peers, self._active)
        names = plan.drivers.driver_names
        is_told = any(not self._drivers[topic].is_fine for topic in drivers)
        turns = plan.states.turns
        yield inspect_actuators(robot, states, now, stale, names, troubles, is_told, turns)
        yield from inspect_transmissions(robot, states, reports, recent, stale)
        unheard = self._list_unheard_topics(outputs)
        for topic, are_trajectories in commands.items():
            places, counts = unheard[are_trajectories], ledger.counts[topic]
            yield inspect_commands(self._statistics[topic], counts, inputs[topic], recent, places)
        kept, endless = ledger.kept_efforts, ledger.endless_joints
        yield inspect_active_commands(kept, endless, gate.arrays.missing, gate.arrays.unsent)

    def _list_contradictions(self, now: float) -> list[Trouble]:
        robot, states = self._bridge.plan.robot, self._bridge.states
        positions = states.compute_joint_motion(self._bridge.plan.states, now)[0]
        beyond = describe_joints_beyond(robot.joint_names, positions, self._limits)
        # Confirmed by a second look, because one reading may be wrong.
        before = {key for each in self._beyond for key in each}
        self._beyond.append(beyond)
        found = {key: words for key, words in beyond.items() if key in before}
        return [Trouble(key, WARN, words) for key, words in found.items()]

    def _list_unheard_topics(self, outputs: Mapping[str, Peers]) -> list[str]:
        """Return topics of commands and of trajectories without subscribers, each as one text."""
        arrays = [f'actuator_{each}_commands' for each in FIELDS]
        kinds = ['actuator_commands', *arrays], ['actuator_trajectory']
        found = []
        for reached, names in zip(self._bridge.gate.reached, kinds, strict=True):
            unheard = []
            for namespace in sorted(reached):
                topics = [outputs[each] for name in names if (each := namespace + name) in outputs]
                place, elsewhere = topics[0].place, shortened(topics[0].elsewhere)
                words = f'{place} (the driver subscribes to {elsewhere})' if elsewhere else place
                is_heard = any(peers.is_heard for peers in topics)
                unheard.append(self._recent.confirm(place, '' if is_heard else words))
            found.append(', '.join(filter(None, unheard)))
        return found
