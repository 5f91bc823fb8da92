# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Facts about the parts of a bridge, collected once a second for :mod:`.diagnostics`.

Facts that need memory are computed here: growth of counts, events of the last seconds, results
confirmed by two snapshots, the rhythm of a driver. Parts refer to counters that continue, so use
them at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
import math
import time
from typing import Any, Literal, NamedTuple

import numpy as np

from transmission_bridge.bridge.bridge import Bridge
from transmission_bridge.bridge.contradictions import find_joints_beyond, find_measured_limits
from transmission_bridge.bridge.inputs import CommandCounts, TopicStatistics
from transmission_bridge.bridge.states import States
from transmission_bridge.description.specs import RejectedTransmission, TransmissionSpec
from transmission_bridge.errors import shortened
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Mask

#: Seconds after activation until a driver should have sent a message.
GRACE = 2.0

#: Seconds for which an event is shown.
_SHOWN = 5.0

#: Longest silence of a regular driver: number of periods, and smallest value [s].
_PERIODS, _LEAST = 5.0, 1.0

#: Number of snapshots with the same period after which a driver is regular: if its numbers stay
#: the same, if they sometimes repeat, and if they change with each message, as for a driver that
#: publishes on change.
_LOOKS_STANDING, _LOOKS, _LOOKS_CHANGING = 2, 5, 8

#: Largest ratio of the longest to the shortest period of a regular driver.
_RATIO = 2.0

#: State of a driver. ``gone``: its topic has lost all publishers; ``hanging``: silent after
#: regular messages; ``refused``: messages are no longer usable; ``late``: no usable message within
#: the timeout; ``useless``: no message was ever usable; ``unheard``: no message was received.
DriverState = Literal['fine', 'gone', 'hanging', 'refused', 'late', 'useless', 'unheard']


class Moment(NamedTuple):
    """
    The time of a snapshot.

    :param now: Time by the clock of the times of receipt [s].
    :param period: Seconds since the last snapshot.
    :param elapsed: Seconds since the last snapshot, without pauses of the clock.
    :param open_for: Seconds since activation, without pauses of the clock.
    :param is_open: Whether the node is active.
    """

    now: float
    period: float = 0.0
    elapsed: float = 0.0
    open_for: float = 0.0
    is_open: bool = True


# -- Memory --------------------------------------------------------------------------------------


class Changes:
    """
    Changes since the last snapshot.

    :param time: Returns the time [s] of a steady clock.
    """

    def __init__(self, time: Callable[[], float] = time.monotonic) -> None:
        self._time = time
        self._totals: dict[Hashable, int] = {}
        self._seen: dict[Hashable, float] = {}
        self._settled: dict[Hashable, tuple[bool, bool]] = {}

    def count_growth(self, key: Hashable, total: int) -> int:
        """
        Return the growth of a count, and store the count.

        :param total: The count; if it is smaller than before, it was reset.
        """
        before = self._totals.get(key, 0)
        self._totals[key] = total
        return total - before if total >= before else total

    def has_grown(self, key: Hashable, total: int) -> bool:
        """Return whether a count has grown in the last 5 s."""
        return self.was_true_lately(key, self.count_growth(key, total) > 0)

    def find_grown_keys(self, kind: tuple[str, str], counts: Mapping[str, int]) -> list[str]:
        """Return the keys of counts of one kind that have grown in the last 5 s."""
        return [key for key, count in counts.items() if self.has_grown((*kind, key), count)]

    def was_true_lately(self, key: Hashable, is_so: bool) -> bool:
        """Return whether a fact is true at this snapshot, or was true in the last 5 s."""
        now = self._time()
        if is_so:
            self._seen[key] = now
        return now - self._seen.get(key, -math.inf) < _SHOWN

    def find_settled(self, key: Hashable, is_so: bool) -> bool:
        """
        Return a fact confirmed by two snapshots in a row; false at first.

        The graph of nodes is incomplete during discovery.
        """
        before, settled = self._settled.get(key, (False, False))
        settled = is_so if is_so == before else settled
        self._settled[key] = is_so, settled
        return settled

    def find_confirmed(self, key: Hashable, found: str) -> str:
        """Return a text if the last snapshot also had one, else an empty text."""
        return found if self.find_settled(key, bool(found)) else ''


class DriverRhythm:
    """
    Detects silence of a driver that published regularly.

    Its period is the mean between two snapshots. A driver that publishes on change seems regular
    while the robot moves, and is silent while the robot stands. Therefore a driver with numbers
    that never repeat is checked only until its first pause.

    :ivar silence: Seconds since the snapshot that found the latest message.
    """

    def __init__(self) -> None:
        self._received = 0
        self._numbers: Array = np.empty(0)
        self.restart()

    def restart(self) -> None:
        """Forget the driver, because another one may have replaced it."""
        self._heard = -math.inf
        self.silence = 0.0
        self._looks = 0
        self._periods: deque[float] = deque(maxlen=_LOOKS_CHANGING)
        self._repeats: deque[bool] = deque(maxlen=_LOOKS)
        self._longest = 0.0

    def record_messages(self, received: int, heard: float, elapsed: float, numbers: Array) -> None:
        """
        Record the messages since the last snapshot.

        :param received: Number of messages so far.
        :param heard: Time of receipt of the latest message [s].
        :param elapsed: Seconds since the last snapshot, without pauses of the clock.
        :param numbers: The latest numbers of the driver.
        """
        count, self._received = received - self._received, received
        if count <= 0:
            self.silence += elapsed
            self._looks += 1
            return
        self._longest = max(self._longest, self.silence)
        self.silence, self._looks = 0.0, 0
        if math.isfinite(self._heard) and heard > self._heard:
            self._periods.append((heard - self._heard) / count)
            self._repeats.append(np.array_equal(numbers, self._numbers, equal_nan=True))
        else:
            self._periods.clear()
            self._repeats.clear()
        self._heard, self._numbers = heard, numbers

    @property
    def period(self) -> float | None:
        """Seconds between messages, ``None`` while the driver is not regular."""
        repeats = any(self._repeats)
        stands = all(list(self._repeats)[-_LOOKS_STANDING:])
        looks = _LOOKS_STANDING if stands else _LOOKS if repeats else _LOOKS_CHANGING
        recent = list(self._periods)[-looks:]
        if len(recent) < looks:
            return None
        period = max(recent)
        is_even = period <= _RATIO * min(recent)
        if repeats and is_even:
            return period
        # A driver with repeating numbers may have pauses, because its process had to wait.
        no_pause = self._longest <= _find_silence_limit(period)
        return period if no_pause and (repeats or is_even) else None

    @property
    def is_silent(self) -> bool:
        """Whether a regular driver has been silent for five periods and at least one second."""
        period = self.period
        # Two snapshots, because messages wait while this process has to wait.
        return (
            self._looks >= 2 and period is not None and self.silence > _find_silence_limit(period)
        )


def _find_silence_limit(period: float) -> float:
    return max(_LEAST, _PERIODS * period)


# -- Node and topics -----------------------------------------------------------------------------


@dataclass(frozen=True)
class LifeCycle:
    """
    The node; texts are empty if they do not apply.

    :param description: Source of the description.
    :param failure: Reason for the failure of the last transition.
    :param absence: Missing input of a bridge that was never active.
    :param clock: Topic of the simulated time, if it has no publisher.
    :param namesake: Name of the node, if another node has the same name.
    :param robot: The robot, ``None`` while unconfigured.
    :param refused: Rejected entries of the tuned file.
    :param missing: Package to install to read all commands.
    :param is_clocked: Whether states are published at a rate.
    """

    state: str
    description: str
    failure: str
    absence: str
    clock: str
    namesake: str
    robot: RobotTransmissions | None = None
    refused: str = ''
    missing: str = ''
    is_clocked: bool = False

    @property
    def finding_counts(self) -> Counter[str]:
        """Number of findings about the description by severity."""
        return Counter(each.severity for each in self.robot.findings) if self.robot else Counter()


@dataclass(frozen=True)
class Peers:
    """
    Other nodes on a topic, as text.

    :param place: Full name of the topic after remapping.
    :param incompatible: Nodes with another message type or incompatible quality of service.
    :param publishers: Publishers by an identifier.
    :param elsewhere: Other JointState topics, on which a missing driver may publish, or to which
        the drivers subscribe.
    :param shared: Actuators that several publishers publish in turn.
    :param rivals: Other publishers of an output, or other bridges that receive a command or the
        states of a driver.
    :param is_heard: Whether the topic has a subscriber.
    """

    place: str
    incompatible: str = ''
    publishers: Mapping[Hashable, str] = field(default_factory=dict)
    elsewhere: Sequence[str] = ()
    shared: str = ''
    rivals: str = ''
    is_heard: bool = False

    @property
    def senders(self) -> str:
        """The publishers in one text."""
        return shortened(tuple(self.publishers.values()), show=str)


class DriverFacts:
    """
    The driver of a topic.

    :param statistics: Counts of the topic.
    :ivar is_late: Whether there is no usable message within the timeout.
    :ivar age: Seconds since the latest usable message.
    :ivar timeout: Seconds after which it is stale; infinite: never.
    :ivar rhythm: Its period and silence.
    :ivar peers: The nodes on its topic.
    :ivar bridges: Other bridges that use its states.
    """

    def __init__(self, statistics: TopicStatistics) -> None:
        self.statistics = statistics
        self.rhythm = DriverRhythm()
        self._window = Changes()
        # Time of discovery of each publisher.
        self._publishers: dict[Hashable, float] = {}
        self._appeared = 0.0

    def update_state(self, peers: Peers, numbers: Array, timeout: float, look: Moment) -> None:
        """
        Update the state.

        :param numbers: The latest numbers of the driver.
        """
        rhythm, statistics = self.rhythm, self.statistics
        before, publishers = self._publishers, peers.publishers
        heard, used = statistics.heard, statistics.used
        if not publishers.keys() <= before.keys():
            rhythm.restart()
            self._appeared = look.open_for
        self._publishers = {each: before.get(each, look.now) for each in publishers}
        rhythm.record_messages(statistics.received, heard, look.elapsed, numbers)
        is_quiet = rhythm.silence > 0.0
        is_gone = self._window.find_settled('gone', is_quiet and not publishers) and is_quiet
        age = look.now - used
        # The age is negative after time went backwards.
        is_late = timeout != math.inf and not 0.0 <= age <= timeout
        # Robots and grippers may share a topic: rejected messages are the driver's own only if all
        # publishers appeared after the last usable message.
        since = min(self._publishers.values(), default=math.inf)
        is_other = used < since <= look.now - GRACE
        self.state: DriverState = 'late' if is_late else 'fine'
        if used == -math.inf:
            is_late = timeout < look.open_for
            # A newly discovered publisher is not connected yet.
            is_new = look.open_for - (self._appeared if publishers else 0.0) <= GRACE
            self.state = 'fine' if is_new else 'unheard' if heard == -math.inf else 'useless'
        elif is_gone:
            self.state = 'gone'
        elif rhythm.is_silent:
            self.state = 'hanging'
        elif heard > used and (is_late or is_other):
            self.state = 'refused'
        self.is_late, self.age, self.timeout, self.peers = is_late, age, timeout, peers
        self.bridges = self._window.find_confirmed('bridges', peers.rivals)

    @property
    def is_fine(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.state == 'fine' and not self.peers.shared


class InputTopic:
    """
    A subscribed topic.

    :param timeout: Timeout of the driver [s]; ``None``: not a topic of a driver.
    :param drivers: The driver, if the node is active.
    :ivar is_open: Whether the node is active.
    :ivar age: Seconds since the latest message, infinite: no message.
    :ivar rate: Messages per second since the last snapshot.
    :ivar rejected: Reasons of recent rejections that need attention.
    :ivar replaced: Reasons of recent replacements of stamps.
    """

    def __init__(
        self,
        statistics: TopicStatistics,
        peers: Peers,
        window: Changes,
        look: Moment,
        timeout: float | None = None,
        drivers: Sequence[DriverFacts] = (),
    ) -> None:
        self.statistics, self.peers = statistics, peers
        self.timeout, self.drivers = timeout, drivers
        self.is_open = look.is_open
        self.age = max(look.now - statistics.heard, 0.0)
        received = window.count_growth(('received', statistics.topic), statistics.received)
        self.rate = received / look.period if look.period else 0.0
        self.rejected = _list_rejections(statistics, window, 'input')
        self.replaced = window.find_grown_keys(
            ('stamp', statistics.topic), statistics.replaced_stamps
        )


def _list_rejections(statistics: TopicStatistics, window: Changes, view: str) -> list[str]:
    lately = window.find_grown_keys((view, statistics.topic), statistics.rejected)
    return [reason for reason in lately if statistics.needs_attention(reason)]


@dataclass(frozen=True)
class OutputTopic:
    """A published topic, and other nodes that publish it, as text."""

    topic: str
    peers: Peers
    rivals: str = ''


class CommandTopic:
    """
    The commands of one source.

    :param counts: Counts by joint.
    :param unheard: Topics to the drivers without subscribers, as text.
    :ivar rejected: Reasons of recent rejections that need attention.
    :ivar lately: Joints with recent counts, by kind of count.
    :ivar unheard: These topics, if there were recent commands.
    :ivar bridges: Other bridges that receive the commands.
    """

    def __init__(
        self,
        statistics: TopicStatistics,
        counts: CommandCounts,
        peers: Peers,
        window: Changes,
        unheard: str = '',
    ) -> None:
        topic = statistics.topic
        self.statistics, self.counts, self.peers = statistics, counts, peers
        self.rejected = _list_rejections(statistics, window, 'commands')
        kinds = [each.name for each in fields(counts) if each.name != 'shares']
        self.lately = {
            kind: window.find_grown_keys((kind, topic), getattr(counts, kind)) for kind in kinds
        }
        # Commands that had a subscriber are no trouble.
        is_new = window.count_growth(('accepted', topic), statistics.accepted) > 0
        was_unheard = window.was_true_lately(('unheard', topic), is_new and bool(unheard))
        self.unheard = unheard if was_unheard else ''
        self.bridges = window.find_confirmed(('bridges', topic), peers.rivals)


@dataclass(frozen=True)
class ActiveCommands:
    """
    The commands that are active.

    :param kept: Joints that keep their last effort without a command.
    :param endless: Joints without a timeout.
    :param lacking: Actuators without a command in the last unsent array, by topic.
    :param unsent: Number of arrays that were not sent, by topic.
    """

    kept: Sequence[str]
    endless: Sequence[str]
    lacking: Mapping[str, Sequence[str]]
    unsent: Mapping[str, int]


# -- Actuators and transmissions -----------------------------------------------------------------


class Coverage:
    """
    The actuators in the messages of the drivers.

    Actuators of transmissions are expected; a joint that passes through may have no motor.

    :ivar missing: Actuators that were never received, while others were.
    :ivar unknown_names: Received names that are not actuators.
    :ivar lost: Actuators that are no longer received since their topic lost a publisher.
    :ivar contested: Actuators that several topics contain, and these topics.
    """

    def __init__(self, robot: RobotTransmissions) -> None:
        self._names = robot.actuator_names
        self._needed = np.zeros(len(self._names), dtype=bool)
        for binding in robot.bindings:
            self._needed[list(binding.actuators)] = not binding.is_identity
        self._newest = np.full(len(self._names), -np.inf)
        self._quiet = np.zeros(len(self._names), dtype=int)
        self._counts = self._publishers = np.zeros(len(self._names), dtype=int)

    def update_coverage(
        self, states: States, window: Changes, topics: Mapping[str, Peers], open_for: float
    ) -> None:
        """
        Update the facts.

        :param topics: The topics of the drivers.
        :param open_for: Seconds since the node was activated.
        """
        newest = states.find_receipt_times()
        never = np.isneginf(newest)
        is_due = open_for > GRACE and not never.all()
        self.missing = _join_names(self._names, never & self._needed & is_due)
        self.unknown_names = shortened(tuple(states.unknown_names), show=str)
        self.lost = _join_names(self._names, self._find_gone(states, newest, topics))
        rivals = (
            states.list_rivals(self._names)
            if window.has_grown('contests', states.contests)
            else {}
        )
        self.contested = [(names, [topics[one] for one in both]) for both, names in rivals.items()]

    def _find_gone(self, states: States, newest: Array, topics: Mapping[str, Peers]) -> Mask:
        """Return actuators absent for two snapshots, while others of their topic were present."""
        is_new = newest != self._newest
        self._newest = newest
        self._quiet = np.where(is_new, 0, self._quiet + 1)
        givers = states.list_givers()
        counts = np.array([len(topics[giver].publishers) if giver else 0 for giver in givers])
        # A publisher that left may have sent messages since the last snapshot.
        most = np.maximum(counts, self._counts)
        self._publishers = np.where(is_new, most, self._publishers)
        self._counts = counts
        heard = {giver for giver, quiet in zip(givers, self._quiet, strict=True) if quiet < 2}
        goes_on = np.array([giver in heard for giver in givers])
        is_known, has_lost = np.isfinite(newest), counts < self._publishers
        gone: Mask = (self._quiet >= 2) & is_known & goes_on & has_lost
        return gone


def _join_names(names: Sequence[str], are: Mask) -> str:
    return ', '.join(name for name, is_one in zip(names, are.tolist(), strict=True) if is_one)


class Actuators:
    """
    All actuators.

    :param stale: Mask of the actuators that timed out.
    :param driver_names: Names that drivers use, with their namespace, if they differ.
    :param drivers: The drivers, if the node is active.
    :param coverage: The actuators in their messages, if the node is active.
    :param contradictions: A sentence for each pair of numbers that contradict each other.
    :ivar known: Whether each position is known.
    :ivar is_told: Whether a trouble of a driver explains stale actuators.
    :ivar turns: Unknown turns.
    :ivar beyond: A sentence for each joint measured beyond its limits.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        states: States,
        now: float,
        stale: Mask,
        driver_names: Mapping[str, str] | None = None,
        drivers: Iterable[DriverFacts] = (),
        coverage: Sequence[Coverage] = (),
        contradictions: Mapping[str, str] | None = None,
    ) -> None:
        self.contradictions = contradictions or {}
        self.robot, self.states = robot, states
        self.driver_names, self.coverage = driver_names or {}, coverage
        self.known = np.isfinite(states.read_values(now)[0])
        self.stale = _join_names(robot.actuator_names, stale)
        self.is_told = not all(driver.is_fine for driver in drivers)
        turns = states.turns
        self.turns = [] if turns is None else turns.list_open_turns()
        self.beyond = {} if turns is None else turns.take_joints_beyond()


@dataclass(frozen=True)
class TransmissionFacts:
    """
    A transmission.

    :param refusal: Reason why it is not used; other facts are then absent.
    :param stale: Its actuators that timed out.
    :param not_finite: Counts of NaN and infinite numbers of its actuators, by field.
    :param is_nan: Whether positions were recently NaN or infinite.
    :param unmapped: Counts of samples that could not be mapped, by reason.
    :param lately: Reasons of recent samples that could not be mapped.
    :param error: Traceback of its latest exception.
    :param misplaced: Sentence about an absolute encoder that is probably at the joint.
    """

    name: str
    type: str
    refusal: str = ''
    stale: str = ''
    not_finite: Sequence[int] = ()
    is_nan: bool = False
    unmapped: Mapping[str, int] = field(default_factory=dict)
    lately: Sequence[str] = ()
    error: str = ''
    misplaced: str = ''


def list_transmission_facts(
    robot: RobotTransmissions,
    states: States,
    reports: Iterable[MapReport],
    window: Changes,
    stale: Mask,
    misplaced: Mapping[str, str],
) -> Iterator[TransmissionFacts]:
    """Yield the facts of used, then of unused transmissions; see :class:`BridgeWatch`."""
    counts: defaultdict[str, dict[str, int]] = defaultdict(Counter)
    errors: dict[str, str] = {}
    for report in reports:
        for (name, reason), count in report.counts.items():
            counts[name][reason] += count
        errors |= report.errors
    names, is_stale, rows = robot.actuator_names, stale.tolist(), states.not_finite.tolist()
    used = robot.transmissions
    for binding in robot.bindings:
        name, actuators = binding.spec.name, binding.actuators
        if name not in used:
            continue
        unmapped = counts.get(name, {})
        not_finite = [sum(row[place] for place in actuators) for row in rows]
        yield TransmissionFacts(
            name,
            binding.spec.type,
            '',
            ', '.join(names[place] for place in actuators if is_stale[place]),
            not_finite,
            # NaN positions make joints unknown; drivers without rates publish NaN rates.
            window.has_grown(('NaN', name), not_finite[0]),
            unmapped,
            window.find_grown_keys(('map', name), unmapped),
            errors.get(name, ''),
            misplaced.get(name, ''),
        )
    for spec in list_unused_transmissions(robot):
        reasons = (
            str(finding)
            for finding in robot.findings
            if finding.severity == 'error' and finding.subject == spec.name
        )
        yield TransmissionFacts(spec.name, spec.type, '; '.join(reasons) or 'failed to load')


def list_unused_transmissions(
    robot: RobotTransmissions,
) -> list[TransmissionSpec | RejectedTransmission]:
    """Return the transmissions that are not used."""
    described = robot.robot
    used = robot.transmissions
    return [
        *(spec for spec in described.transmissions if spec.name not in used),
        *described.rejected,
    ]


# -- All of them ---------------------------------------------------------------------------------


class BridgeWatch:
    """
    Takes snapshots of a configured bridge.

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
        self._window = Changes()
        self.restart()

    def restart(self) -> None:
        """Forget the drivers, because the node was activated."""
        self._active = Changes()
        self._open_for = 0.0
        self._drivers = {each: DriverFacts(self._statistics[each]) for each in self._state_topics}
        self._coverage = Coverage(self._bridge.robot)
        self._limits = find_measured_limits(self._bridge.robot)
        self._beyond: deque[Mapping[str, str]] = deque(maxlen=round(_SHOWN))

    def take_snapshot(
        self,
        look: Moment,
        inputs: Mapping[str, Peers],
        outputs: Mapping[str, Peers],
        reports: Iterable[MapReport],
        misplaced: Mapping[str, str],
        commands: Mapping[str, bool],
    ) -> Iterator[Any]:
        """
        Yield subscribed topics, published topics, actuators, transmissions, commands.

        :param look: The time; ``open_for`` is counted here.
        :param inputs: The subscribed topics.
        :param outputs: The published topics.
        :param reports: Counts of NaN in the maps, by reason.
        :param misplaced: See :class:`TransmissionFacts`, by transmission.
        :param commands: Topics of joint commands; true for trajectories.
        """
        robot, states, gate = self._bridge.robot, self._bridge.states, self._bridge.gate
        stale = states.find_stale_actuators(look.now) & look.is_open
        drivers: dict[str, DriverFacts] = {}
        coverage, contradictions = [], {}
        if look.is_open:
            self._open_for += look.elapsed
            look = look._replace(open_for=self._open_for)
            drivers, coverage = self._drivers, [self._coverage]
            for topic, driver in drivers.items():
                numbers = states.find_given_values(topic)
                timeout = states.find_driver_timeout(topic)
                driver.update_state(inputs[topic], numbers, timeout, look)
            self._coverage.update_coverage(states, self._active, inputs, self._open_for)
            contradictions = self._find_contradictions(look.now)
            if self._open_for <= GRACE:
                stale &= np.isfinite(states.find_receipt_times())
        for topic, statistics in self._statistics.items():
            limit = states.find_driver_timeout(topic) if topic in self._state_topics else None
            own = [drivers[topic]] if topic in drivers else []
            yield InputTopic(statistics, inputs[topic], self._window, look, limit, own)
        for topic, peers in outputs.items():
            yield OutputTopic(topic, peers, self._active.find_confirmed(topic, peers.rivals))
        names = gate.drivers.driver_names
        facts = (stale, names, drivers.values(), coverage, contradictions)
        yield Actuators(robot, states, look.now, *facts)
        yield from list_transmission_facts(robot, states, reports, self._window, stale, misplaced)
        unheard = self._find_unheard_topics(outputs)
        for topic, are_trajectories in commands.items():
            statistics, counts = self._statistics[topic], gate.ledger.counts[topic]
            places = unheard[are_trajectories]
            yield CommandTopic(statistics, counts, inputs[topic], self._window, places)
        ledger, lacking, unsent = gate.ledger, dict(gate.missing), dict(gate.unsent_arrays)
        yield ActiveCommands(ledger.kept_efforts, ledger.endless_joints, lacking, unsent)

    def _find_contradictions(self, now: float) -> dict[str, str]:
        robot, states = self._bridge.robot, self._bridge.states
        assert states.motion is not None
        states.motion.judge_motion()
        positions = states.find_joint_motion(self._bridge.plan.states, now)[0]
        beyond = find_joints_beyond(robot.joint_names, positions, self._limits)
        # Confirmed by a second snapshot, because one reading may be wrong.
        before = {key for each in self._beyond for key in each}
        self._beyond.append(beyond)
        return {key: beyond[key] for key in beyond.keys() & before} | states.motion.found

    def _find_unheard_topics(self, outputs: Mapping[str, Peers]) -> list[str]:
        """Return topics of commands and of trajectories without subscribers, each as one text."""
        arrays = [f'actuator_{each}_commands' for each in FIELDS]
        kinds = ['actuator_commands', *arrays], ['actuator_trajectory']
        found = []
        for reached, names in zip(self._bridge.gate.drivers.reached, kinds, strict=True):
            unheard = []
            for namespace in sorted(reached):
                topics = [outputs[each] for name in names if (each := namespace + name) in outputs]
                place, elsewhere = topics[0].place, shortened(topics[0].elsewhere)
                is_heard = any(peers.is_heard for peers in topics)
                words = f'{place} (the driver subscribes to {elsewhere})' if elsewhere else place
                unheard.append(self._window.find_confirmed(place, '' if is_heard else words))
            found.append(', '.join(filter(None, unheard)))
        return found
