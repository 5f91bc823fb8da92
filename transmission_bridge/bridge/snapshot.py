# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Facts about the parts of a bridge, taken once a second for :mod:`.diagnostics`.

Facts that need memory are computed here: growth of counts, events of the last seconds, what two
looks agree on, the rhythm of a driver. Parts refer to counters that go on, so they are judged at
once.
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
from transmission_bridge.bridge.inputs import CommandCounts, TopicStatistics
from transmission_bridge.bridge.state_buffer import StateBuffer
from transmission_bridge.description.specs import RejectedTransmission, TransmissionSpec
from transmission_bridge.errors import shortened
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Mask

#: Seconds from activation until a driver should have been heard.
GRACE = 2.0

#: Seconds for which an event is shown.
_SHOWN = 5.0

#: Periods of a regular driver that may pass in silence, and the least of them [s].
_PERIODS, _LEAST = 5.0, 1.0

#: Looks with one period after which a driver counts as regular: if its numbers stay the same, if
#: they repeat now and then, and if they change with each message, as those of a driver that
#: publishes on change do.
_LOOKS_STANDING, _LOOKS, _LOOKS_CHANGING = 2, 5, 8

#: Ratio of the longest to the shortest period of an even driver, at most.
_RATIO = 2.0

#: State of a driver. ``gone``: its topic has no publisher any more; ``hanging``: regular before,
#: and silent; ``refused``: no message is usable any more; ``late``: no usable message within the
#: timeout; ``useless``: no message was ever usable; ``unheard``: no message ever came.
DriverState = Literal['fine', 'gone', 'hanging', 'refused', 'late', 'useless', 'unheard']


class Look(NamedTuple):
    """
    When a look happens.

    :param now: Time of the clock that gave the times of receipt [s].
    :param period: Seconds since the last look.
    :param elapsed: Likewise, without pauses of the clock.
    :param open_for: Seconds since the node was activated, likewise.
    :param is_open: Whether the node is active.
    """

    now: float
    period: float = 0.0
    elapsed: float = 0.0
    open_for: float = 0.0
    is_open: bool = True


# -- Memory --------------------------------------------------------------------------------------


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

    def confirmed(self, key: Hashable, found: str) -> str:
        """Return what was found if the last look found something too, else nothing."""
        return found if self.settled(key, bool(found)) else ''


class Rhythm:
    """
    Detects that a driver that publishes regularly has fallen silent.

    Its period is the mean between two looks. A driver that publishes on change seems regular while
    the robot moves and is silent when it stands. So a driver whose numbers never repeat is judged
    only until its first pause.

    :ivar silence: Seconds since the look that found the newest message.
    """

    def __init__(self) -> None:
        self._received = 0
        self._numbers: Array = np.empty(0)
        self.restart()

    def restart(self) -> None:
        """Forget the driver, because another one has come or may come."""
        self._heard = -math.inf
        self.silence = 0.0
        self._looks = 0
        self._periods: deque[float] = deque(maxlen=_LOOKS_CHANGING)
        self._repeats: deque[bool] = deque(maxlen=_LOOKS)
        self._longest = 0.0

    def look(self, received: int, heard: float, elapsed: float, numbers: Array) -> None:
        """
        Record what was received.

        :param received: Number of messages so far.
        :param heard: Time of receipt of the newest [s].
        :param elapsed: Seconds since the last look, without pauses of the clock.
        :param numbers: The newest numbers of the driver.
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
        """Seconds between messages, ``None`` while the driver does not count as regular."""
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
        # A driver whose numbers repeat may have pauses, because it was kept from running.
        no_pause = self._longest <= _limit(period)
        return period if no_pause and (repeats or is_even) else None

    @property
    def is_silent(self) -> bool:
        """Whether a regular driver has sent nothing for five periods, at least one second."""
        period = self.period
        # Two looks: messages wait while this process is kept from running.
        return self._looks >= 2 and period is not None and self.silence > _limit(period)


def _limit(period: float) -> float:
    return max(_LEAST, _PERIODS * period)


# -- Node and topics -----------------------------------------------------------------------------


@dataclass(frozen=True)
class LifeCycle:
    """
    The node; texts are empty if there is nothing to say.

    :param state: Its state.
    :param description: Where its description comes from.
    :param failure: Why the last transition failed.
    :param absence: What a bridge that was never active waits for.
    :param clock: Topic of the simulated time, if nobody publishes it.
    :param namesake: Name of the node, if another node has it too.
    :param robot: The robot, ``None`` while unconfigured.
    :param refused: What was refused of the tuned file.
    :param missing: What to install to read all commands.
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
    def findings(self) -> Counter[str]:
        """Number of findings about the description by severity."""
        return Counter(each.severity for each in self.robot.findings) if self.robot else Counter()


@dataclass(frozen=True)
class Peers:
    """
    Other nodes on a topic, in words.

    :param place: Full name of the topic after remapping.
    :param incompatible: Nodes with incompatible quality of service.
    :param publishers: Publishers by an identifier.
    :param elsewhere: Other JointState topics, that may be those of a driver never heard.
    :param shared: Actuators that several publishers give in turn.
    :param rivals: Other publishers of an output, or other bridges that receive a command.
    :param is_heard: Whether anybody subscribes.
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


class Driver:
    """
    The driver of a topic.

    :param statistics: Counts of the topic.
    :ivar state: Which of its exclusive states it is in.
    :ivar is_late: Whether no usable message came within the timeout.
    :ivar age: Seconds since the newest usable message.
    :ivar timeout: Seconds after which it is stale; infinite: never.
    :ivar rhythm: When it publishes.
    :ivar peers: The nodes on its topic.
    """

    def __init__(self, statistics: TopicStatistics) -> None:
        self.statistics = statistics
        self.rhythm = Rhythm()
        self._window = Window()
        # When each publisher was first seen.
        self._publishers: dict[Hashable, float] = {}
        self._appeared = 0.0

    def look(self, peers: Peers, numbers: Array, timeout: float, look: Look) -> None:
        """
        Find its state.

        :param numbers: Its newest numbers.
        """
        rhythm, statistics = self.rhythm, self.statistics
        before, publishers = self._publishers, peers.publishers
        heard, used = statistics.heard, statistics.used
        if not publishers.keys() <= before.keys():
            rhythm.restart()
            self._appeared = look.open_for
        self._publishers = {each: before.get(each, look.now) for each in publishers}
        rhythm.look(statistics.received, heard, look.elapsed, numbers)
        is_quiet = rhythm.silence > 0.0
        is_gone = self._window.settled('gone', is_quiet and not publishers) and is_quiet
        age = look.now - used
        # A negative age is from before time went backwards.
        is_late = timeout != math.inf and not 0.0 <= age <= timeout
        # Robots and grippers may share a topic: what is refused is the driver's own only if none
        # of the publishers was there when a message was used.
        since = min(self._publishers.values(), default=math.inf)
        is_other = used < since <= look.now - GRACE
        self.state: DriverState = 'late' if is_late else 'fine'
        if used == -math.inf:
            is_late = timeout < look.open_for
            # A publisher that has just been discovered is not connected yet.
            is_new = look.open_for - (self._appeared if publishers else 0.0) <= GRACE
            self.state = 'fine' if is_new else 'unheard' if heard == -math.inf else 'useless'
        elif is_gone:
            self.state = 'gone'
        elif rhythm.is_silent:
            self.state = 'hanging'
        elif heard > used and (is_late or is_other):
            self.state = 'refused'
        self.is_late, self.age, self.timeout, self.peers = is_late, age, timeout, peers

    @property
    def is_fine(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.state == 'fine' and not self.peers.shared


class Input:
    """
    A subscribed topic.

    :param statistics: Its counts.
    :param peers: The other nodes on it.
    :param timeout: Of a topic of a driver: seconds after which its numbers are unknown.
    :param drivers: The driver, if it is the topic of one, and the node is active.
    :ivar is_open: Whether the node listens.
    :ivar age: Seconds since the newest message, infinite: none came.
    :ivar rate: Messages per second since the last look.
    :ivar rejected: Reasons of the last seconds that need attention.
    :ivar replaced: Reasons for which stamps were replaced in the last seconds.
    """

    def __init__(
        self,
        statistics: TopicStatistics,
        peers: Peers,
        window: Window,
        look: Look,
        timeout: float | None = None,
        drivers: Sequence[Driver] = (),
    ) -> None:
        self.statistics, self.peers = statistics, peers
        self.timeout, self.drivers = timeout, drivers
        self.is_open = look.is_open
        self.age = max(look.now - statistics.heard, 0.0)
        received = window.grown(('received', statistics.topic), statistics.received)
        self.rate = received / look.period if look.period else 0.0
        self.rejected = _rejected(statistics, window, 'input')
        self.replaced = window.grown_lately(
            ('stamp', statistics.topic), statistics.replaced_stamps
        )


def _rejected(statistics: TopicStatistics, window: Window, view: str) -> list[str]:
    lately = window.grown_lately((view, statistics.topic), statistics.rejected)
    return [reason for reason in lately if statistics.is_trouble(reason)]


@dataclass(frozen=True)
class Output:
    """A published topic, and other nodes that publish it, in words."""

    topic: str
    peers: Peers
    rivals: str = ''


class Commands:
    """
    The commands of one source.

    :param statistics: Counts of its topic.
    :param counts: Counts by joint.
    :param peers: The other nodes on it.
    :param unheard: Topics that it is published to, and that nobody listens to, in words.
    :ivar rejected: Reasons of the last seconds that need attention.
    :ivar lately: Joints that were counted in the last seconds, by kind of count.
    :ivar unheard: These topics, if there were commands in the last seconds.
    :ivar bridges: Other bridges that receive them.
    """

    def __init__(
        self,
        statistics: TopicStatistics,
        counts: CommandCounts,
        peers: Peers,
        window: Window,
        unheard: str = '',
    ) -> None:
        topic = statistics.topic
        self.statistics, self.counts, self.peers = statistics, counts, peers
        self.rejected = _rejected(statistics, window, 'commands')
        kinds = [each.name for each in fields(counts) if each.name != 'shares']
        self.lately = {
            kind: window.grown_lately((kind, topic), getattr(counts, kind)) for kind in kinds
        }
        # Commands that were sent while there was a subscriber are no trouble.
        is_new = window.grown(('accepted', topic), statistics.accepted) > 0
        was_unheard = window.was_so(('unheard', topic), is_new and bool(unheard))
        self.unheard = unheard if was_unheard else ''
        self.bridges = window.confirmed(('bridges', topic), peers.rivals)


@dataclass(frozen=True)
class Active:
    """
    The commands that are active.

    :param kept: Joints that keep their last effort without a command.
    :param endless: Joints without a timeout.
    :param lacking: Actuators that the last array lacked a command for, by topic.
    :param unsent: Number of arrays that were not sent, by topic.
    """

    kept: Sequence[str]
    endless: Sequence[str]
    lacking: Mapping[str, Sequence[str]]
    unsent: Mapping[str, int]


# -- Actuators and transmissions -----------------------------------------------------------------


class Coverage:
    """
    Which actuators the drivers give.

    :param robot: Its actuators of transmissions have to be given; a joint that passes through may
        have no motor.
    :ivar missing: Actuators that were never given, while others were.
    :ivar unknown_names: Names that came and are not actuators.
    :ivar lost: Actuators that are not given any more since their topic lost a publisher.
    :ivar contested: Actuators that are given on several topics, and these topics.
    """

    def __init__(self, robot: RobotTransmissions) -> None:
        self._names = robot.actuator_names
        self._needed = np.zeros(len(self._names), dtype=bool)
        for binding in robot.bindings:
            self._needed[list(binding.actuators)] = not binding.is_identity
        self._newest = np.full(len(self._names), -np.inf)
        self._quiet = np.zeros(len(self._names), dtype=int)
        self._counts = self._publishers = np.zeros(len(self._names), dtype=int)

    def look(
        self, merged: StateBuffer, window: Window, topics: Mapping[str, Peers], open_for: float
    ) -> None:
        """
        Find what the drivers give.

        :param topics: Their topics.
        :param open_for: Seconds since the node was activated.
        """
        newest = merged.newest()
        never = np.isneginf(newest)
        is_due = open_for > GRACE and not never.all()
        self.missing = _listed(self._names, never & self._needed & is_due)
        self.unknown_names = shortened(tuple(merged.unknown_names), show=str)
        self.lost = _listed(self._names, self._gone(merged, newest, topics))
        rivals = merged.rivals() if window.lately('contests', merged.contests) else {}
        self.contested = [(names, [topics[one] for one in both]) for both, names in rivals.items()]

    def _gone(self, merged: StateBuffer, newest: Array, topics: Mapping[str, Peers]) -> Mask:
        """Return which were not given in two looks, while others of their topic were."""
        is_new = newest != self._newest
        self._newest = newest
        self._quiet = np.where(is_new, 0, self._quiet + 1)
        givers = merged.givers()
        counts = np.array([len(topics[giver].publishers) if giver else 0 for giver in givers])
        # A publisher that left may have given what was received since the last look.
        most = np.maximum(counts, self._counts)
        self._publishers = np.where(is_new, most, self._publishers)
        self._counts = counts
        heard = {giver for giver, quiet in zip(givers, self._quiet, strict=True) if quiet < 2}
        goes_on = np.array([giver in heard for giver in givers])
        is_known, has_lost = np.isfinite(newest), counts < self._publishers
        gone: Mask = (self._quiet >= 2) & is_known & goes_on & has_lost
        return gone


def _listed(names: Sequence[str], are: Mask) -> str:
    return ', '.join(name for name, is_one in zip(names, are.tolist(), strict=True) if is_one)


class Actuators:
    """
    All actuators.

    :param robot: The robot.
    :param merged: The newest numbers.
    :param stale: Which timed out.
    :param driver_names: What drivers call actuators, with their namespace, where that differs.
    :param drivers: The drivers, and what they give, if the node is active.
    :param coverage: What the drivers give, likewise.
    :ivar known: Whether each position is known.
    :ivar is_told: Whether a trouble of a driver explains what is stale.
    :ivar turns: Turns that are not known.
    :ivar beyond: Joints that were measured beyond their limits, and a sentence about each.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        merged: StateBuffer,
        now: float,
        stale: Mask,
        driver_names: Mapping[str, str] | None = None,
        drivers: Iterable[Driver] = (),
        coverage: Sequence[Coverage] = (),
    ) -> None:
        self.robot, self.merged = robot, merged
        self.driver_names, self.coverage = driver_names or {}, coverage
        self.known = np.isfinite(merged.values(now)[0])
        self.stale = _listed(robot.actuator_names, stale)
        self.is_told = not all(driver.is_fine for driver in drivers)
        turns = merged.turns
        self.turns = [] if turns is None else turns.open_turns()
        self.beyond = {} if turns is None else turns.take_beyond()


@dataclass(frozen=True)
class Transmission:
    """
    A transmission.

    :param name: Its name.
    :param type: Its type.
    :param refusal: Why it is not used; then nothing else is known.
    :param stale: Its actuators that timed out.
    :param not_finite: Numbers of its actuators that were NaN or infinite, by field.
    :param is_nan: Whether positions were, in the last seconds.
    :param unmapped: Samples that could not be mapped, by reason.
    :param lately: Reasons of the last seconds.
    :param error: Traceback of its newest exception.
    :param misplaced: That its absolute encoder is probably at the joint.
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


def transmission_parts(
    robot: RobotTransmissions,
    merged: StateBuffer,
    reports: Iterable[MapReport],
    window: Window,
    stale: Mask,
    misplaced: Mapping[str, str],
) -> Iterator[Transmission]:
    """Yield each transmission, those in use first; see :meth:`Watch.look`."""
    counts: defaultdict[str, dict[str, int]] = defaultdict(Counter)
    errors: dict[str, str] = {}
    for report in reports:
        for (name, reason), count in report.counts.items():
            counts[name][reason] += count
        errors |= report.errors
    names, is_stale, rows = robot.actuator_names, stale.tolist(), merged.not_finite.tolist()
    used = robot.transmissions
    for binding in robot.bindings:
        name, actuators = binding.spec.name, binding.actuators
        if name not in used:
            continue
        unmapped = counts.get(name, {})
        not_finite = [sum(row[place] for place in actuators) for row in rows]
        yield Transmission(
            name,
            binding.spec.type,
            '',
            ', '.join(names[place] for place in actuators if is_stale[place]),
            not_finite,
            # NaN positions make joints unknown; NaN rates are how drivers say that they have none.
            window.lately(('NaN', name), not_finite[0]),
            unmapped,
            window.grown_lately(('map', name), unmapped),
            errors.get(name, ''),
            misplaced.get(name, ''),
        )
    for spec in refused_transmissions(robot):
        reasons = (
            str(finding)
            for finding in robot.findings
            if finding.severity == 'error' and finding.subject == spec.name
        )
        yield Transmission(spec.name, spec.type, '; '.join(reasons) or 'failed to load')


def refused_transmissions(
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


class Watch:
    """
    Looks at a configured bridge.

    :param bridge: The bridge.
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
        self._window = Window()
        self.restart()

    def restart(self) -> None:
        """Forget the drivers, because the node was activated."""
        self._active = Window()
        self._open_for = 0.0
        self._drivers = {topic: Driver(self._statistics[topic]) for topic in self._state_topics}
        self._coverage = Coverage(self._bridge.robot)

    def look(
        self,
        look: Look,
        inputs: Mapping[str, Peers],
        outputs: Mapping[str, Peers],
        reports: Iterable[MapReport],
        misplaced: Mapping[str, str],
        commands: Mapping[str, bool],
    ) -> Iterator[Any]:
        """
        Yield topics in, topics out, actuators, transmissions, commands, active commands.

        :param look: When; ``open_for`` is counted here.
        :param inputs: The subscribed topics.
        :param outputs: The published topics.
        :param reports: What became NaN in the maps, and why.
        :param misplaced: By transmission, that its absolute encoder is probably at the joint.
        :param commands: Topics that command joints, and whether they carry trajectories.
        """
        robot, merged, gate = self._bridge.robot, self._bridge.states.merged, self._bridge.gate
        stale = merged.stale(look.now) & look.is_open
        drivers: dict[str, Driver] = {}
        coverage = []
        if look.is_open:
            self._open_for += look.elapsed
            look = look._replace(open_for=self._open_for)
            drivers, coverage = self._drivers, [self._coverage]
            for topic, driver in drivers.items():
                numbers, timeout = merged.given_by(topic), merged.timeout_of(topic)
                driver.look(inputs[topic], numbers, timeout, look)
            self._coverage.look(merged, self._active, inputs, self._open_for)
            if self._open_for <= GRACE:
                stale &= np.isfinite(merged.newest())
        for topic, statistics in self._statistics.items():
            limit = merged.timeout_of(topic) if topic in self._state_topics else None
            own = [drivers[topic]] if topic in drivers else []
            yield Input(statistics, inputs[topic], self._window, look, limit, own)
        for topic, peers in outputs.items():
            yield Output(topic, peers, self._active.confirmed(topic, peers.rivals))
        names = gate.drivers.names
        yield Actuators(robot, merged, look.now, stale, names, drivers.values(), coverage)
        yield from transmission_parts(robot, merged, reports, self._window, stale, misplaced)
        unheard = self._unheard(outputs)
        for topic, are_trajectories in commands.items():
            statistics, counts = self._statistics[topic], gate.ledger.counts[topic]
            places = unheard[are_trajectories]
            yield Commands(statistics, counts, inputs[topic], self._window, places)
        ledger, lacking, unsent = gate.ledger, dict(gate.missing), dict(gate.unsent_arrays)
        yield Active(ledger.kept_efforts, ledger.endless, lacking, unsent)

    def _unheard(self, outputs: Mapping[str, Peers]) -> list[str]:
        """Return topics of commands and of trajectories without listeners, each as one text."""
        arrays = [f'actuator_{each}_commands' for each in FIELDS]
        kinds = ['actuator_commands', *arrays], ['actuator_trajectory']
        found = []
        for reached, names in zip(self._bridge.gate.drivers.reached, kinds, strict=True):
            unheard = []
            for namespace in sorted(reached):
                topics = [outputs[each] for name in names if (each := namespace + name) in outputs]
                place = topics[0].place
                is_heard = any(peers.is_heard for peers in topics)
                unheard.append(self._window.confirmed(place, '' if is_heard else place))
            found.append(', '.join(filter(None, unheard)))
        return found
