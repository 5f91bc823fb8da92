# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: totals, and the troubles since the last look."""

import itertools
import math
import re

from hypothesis import given, strategies as st
import pytest
from world import World
from zoo.elements import maps, ratio, transmission

from transmission_bridge.bridge.diagnostics import status as diagnostics
from transmission_bridge.bridge.diagnostics.inspection import (
    BridgeInspector,
    inspect_command_source,
    inspect_published_topic,
    inspect_subscribed_topic,
    InspectionTime,
    TopicPeers,
)
from transmission_bridge.bridge.diagnostics.status import (
    DiagnosticHistory,
    ERROR,
    Fact,
    make_diagnostic,
    OK,
    WARN,
)
from transmission_bridge.bridge.inputs import CommandCounts, TopicStatistics
from transmission_bridge.transmissions import MapReport


@pytest.fixture
def time():
    """Return a clock that is set by hand."""

    def clock():
        return clock.now

    clock.now = 100.0
    return clock


def values_of(status):
    """Return the keys and values of a status."""
    return {fact.key: str(fact.value) for fact in status.facts}


def troubles_of(status):
    """Return the levels of the troubles by key."""
    return {fact.key: fact.level for fact in status.facts if fact.level}


@given(st.lists(st.integers(0, 100), max_size=6), st.lists(st.booleans(), min_size=1))
def test_what_has_changed_between_looks(totals, looks):
    """A count that is smaller was set to zero; a fact is confirmed when two looks find it."""
    window, before = DiagnosticHistory(), 0
    for total in totals:
        assert window.count_growth('a', total) == (total - before if total >= before else total)
        assert window.count_growth('b', 2 * total) >= 0
        before = total
    for last, is_so in zip([False, *looks], looks, strict=False):
        assert window.confirm('a', 'words' if is_so else '') == ('words' if last and is_so else '')


def test_what_lasts_without_interruption(time):
    """A fact that has to last some seconds starts anew after each look without it."""
    recent, found = DiagnosticHistory(time), []
    for is_so in (*[True] * 3, False, *[True] * 4):
        found.append(bool(recent.confirm('a', 'words' * is_so, 2.5)))
        time.now += 1.0
    assert found == [*[False] * 7, True]


# -- statuses and the log ------------------------------------------------------------------------

LATE, LOST = Fact('late', 'by 1 s', WARN), Fact('lost', 'for ever', ERROR)
ODD = Fact('odd', 3, WARN)
NONE, COUNT = Fact('none', '', ERROR), Fact('n', 0)


@pytest.mark.parametrize(
    ('facts', 'words', 'level', 'message', 'values'),
    [
        ([LATE, LOST, ODD, COUNT], {'fine': 'fine'}, ERROR,
         'lost: for ever; late: by 1 s; odd: 3',
         {'late': 'by 1 s', 'lost': 'for ever', 'odd': '3', 'n': '0'}),
        ([], {'state': 'active'}, OK, 'active', {}),
        ([NONE, COUNT], {'fine': 'fine'}, OK, 'fine', {'n': '0'}),
        ([ODD], {'state': 'active'}, WARN, 'active; odd: 3', {'odd': '3'}),
    ],
)  # fmt: skip
def test_the_worst_trouble_counts(facts, words, level, message, values):
    """The message has the state, then all troubles, the worst first; an empty value is no fact."""
    status = make_diagnostic('x', facts, **words)
    assert (status.level, status.message, values_of(status)) == (level, message, values)
    assert status['absent'] == ''


def statuses_of(*troubles, names=('x',)):
    """Return statuses with these troubles."""
    return [make_diagnostic(name, troubles) for name in names]


def test_the_log_says_begin_and_end(time):
    """A trouble is logged at its start, when it gets worse and at its end, not between."""
    log = diagnostics.DiagnosticLog(time)
    for trouble, said in (
        (Fact('late', 'by 1 s', WARN), [(WARN, 'x: late: by 1 s')]),
        (Fact('late', 'by 2 s', WARN), []),
        (Fact('late', 'lost', ERROR), [(ERROR, 'x: late: lost')]),
        (Fact('late', 'again', WARN), []),
        (None, [(OK, 'x: ended after 30.0 s: late: lost')]),
        (None, []),
        # It is logged elsewhere.
        (Fact('refused', 'why', ERROR, False), []),
    ):
        time.now += 10.0
        assert log.list_log_lines(statuses_of(*[trouble] * bool(trouble))) == said


@given(st.lists(st.booleans(), min_size=30, max_size=120))
def test_what_comes_and_goes_floods_no_log(looks):
    """A trouble that comes and goes is at most one line per 5 s; a lasting one is logged."""
    looks = [*looks, *[looks[-1]] * 11]
    log, times = diagnostics.DiagnosticLog(lambda: second), []
    for second, is_there in enumerate(looks):
        lines = log.list_log_lines(statuses_of(*[ODD] * is_there))
        times += [(second, level) for level, _ in lines]
    assert all(b - a >= 5.0 for (a, _), (b, _) in itertools.pairwise(times))
    assert [level for _, level in times] == ([WARN, OK] * len(times))[: len(times)]
    assert looks[-1] == (len(times) % 2 == 1)


def test_the_same_trouble_of_a_hundred_parts_is_one_line(time):
    """The first five are named."""
    statuses = statuses_of(ODD, names=[f'part {number}' for number in range(100)])
    lines = diagnostics.DiagnosticLog(time).list_log_lines(statuses)
    assert lines == [(WARN, 'part 0, part 1, part 2, part 3, part 4 and 95 more: odd: 3')]


# -- topics --------------------------------------------------------------------------------------


def look(statistics, window, now=10.0, incompatible=()):
    """Return the status of an input at a look 2 s after the last."""
    peers = TopicPeers('/left/t', (), incompatible)
    return inspect_subscribed_topic(statistics, peers, window, InspectionTime(now, 2.0))


def test_an_input(time):
    """Rate and warnings are of the last period, counts of the whole time."""
    statistics, window = TopicStatistics('actuator_states'), DiagnosticHistory(time)
    status = look(statistics, window)
    assert (status.name, status.level, status['age [s]']) == ('actuator_states', OK, 'never heard')
    statistics.received, statistics.heard, statistics.refusal = 10, 9.5, 'two values for one name'
    statistics.rejected.update({'ragged': 2, 'bug': 1})
    counts = {'received': '10', 'accepted': '7', 'rejected': '3', 'rejected ragged': '2'}
    for rate in ('5.0', '0.0'):
        status = look(statistics, window)
        assert troubles_of(status) == {'rejected now': WARN}
        assert status['rejected now'] == 'ragged, bug: two values for one name'
        assert counts.items() <= values_of(status).items()
        assert (status['rate [Hz]'], status['age [s]']) == (rate, '0.500')
    time.now += 5.0
    assert look(statistics, window).level == OK
    statistics.rejected['ragged'] += 1
    status = look(statistics, window)
    assert (status['rejected ragged'], status['rejected now'][:6]) == ('3', 'ragged')
    assert look(statistics, window, now=0.0)['age [s]'] == '0.000'  # of a clock that jumped back


def test_messages_of_others_are_no_trouble():
    """A message without an actuator is counted as rejected; it is a warning if all are such."""
    statistics = TopicStatistics('actuator_states')
    statistics.received, statistics.heard, statistics.rejected['foreign'] = 3, 9.5, 2
    assert troubles_of(look(statistics, DiagnosticHistory())) == {'rejected now': WARN}
    statistics.used = 9.0
    status = look(statistics, DiagnosticHistory())
    assert (status.level, status['accepted'], status['rejected foreign']) == (OK, '1', '2')


def test_incompatible_peers_and_other_publishers_are_named(time):
    """Peers of an input and of an output at once, other publishers from the second look."""
    peer = "'/driver' (Best effort publisher and reliable subscription)"
    recent = DiagnosticHistory(time)
    peers = TopicPeers('/left/t', ["'/a'"], [peer], ["'/b'"])
    for _ in range(2):
        last = inspect_published_topic('t', peers, recent)
    for status in (look(TopicStatistics('t'), DiagnosticHistory(), incompatible=[peer]), last):
        assert (status['topic'], status['incompatible']) == ('/left/t', peer)
        assert troubles_of(status)['incompatible'] == WARN
    assert (last['subscribers'], last['other publishers'][:4]) == ("'/a'", "'/b'")
    assert troubles_of(last)['other publishers'] == WARN
    for rivals in (["'/b'"], []):
        peers = TopicPeers('/t', rivals=rivals)
        assert inspect_published_topic('t', peers, DiagnosticHistory()).level == OK


class Driver:
    """
    A driver, and the troubles found once a second.

    :param timeout: Its ``state_timeout`` [s].
    """

    def __init__(self, timeout, publishers=("'/driver'",)):
        self.statistics, self.publishers = TopicStatistics('a'), publishers
        self._recent, self._timeout, self.now = DiagnosticHistory(), timeout, 0.0

    def look(self, *, used=False, refused=False):
        """Let a second pass with or without messages at its end; return the trouble."""
        self.now += 1.0
        if used or refused:
            self.statistics.heard = self.now
        if used:
            self.statistics.used = self.now
        if refused:
            self.statistics.refusal = 'why'
        peers = TopicPeers('/a', self.publishers)
        look = InspectionTime(self.now, 1.0, self.now)
        status = inspect_subscribed_topic(
            self.statistics, peers, self._recent, look, self._timeout
        )
        assert len(troubles_of(status)) < 2
        return next(iter(troubles_of(status).items()), None), status

    def run(self, seconds, **what):
        """Return the troubles of so many looks."""
        return [self.look(**what)[0] for _ in range(seconds)]


@pytest.mark.parametrize(
    ('timeout', 'levels'),
    [(math.inf, [WARN] * 4), (1.0, [ERROR] * 4), (4.0, [WARN] * 2 + [ERROR] * 2)],
)
def test_a_driver_that_was_never_heard(timeout, levels):
    """After 2 s its topic and publishers are named; it is an error beyond the timeout."""
    driver = Driver(timeout, ())
    assert driver.run(6) == [None] * 2 + [('silent', level) for level in levels]
    assert driver.look()[1]['silent'] == 'no message yet, /a has 0 publishers'
    driver.publishers = ("'/driver'",)
    assert driver.look()[1]['silent'] == "no message yet, /a has 1 publisher ('/driver')"


@pytest.mark.parametrize('timeout', [1.5, math.inf])
def test_a_driver_that_falls_silent(timeout):
    """Beyond its timeout it is an error; without a timeout it is none while it has a publisher."""
    driver = Driver(timeout)
    assert not any(driver.run(4, used=True))
    assert driver.run(4) == [None] + [('silent', ERROR) if timeout < 9.0 else None] * 3
    driver.publishers = ()
    assert driver.run(2)[-1] == ('silent', ERROR if timeout < 9.0 else WARN)
    assert 'no message for 7 s, /a has 0 publishers' in driver.look()[1]['silent']
    assert driver.run(1, used=True) == [None]


@pytest.mark.parametrize('timeout', [1.5, math.inf])
def test_a_driver_whose_messages_are_all_rejected(timeout):
    """The reason is reported; messages of others beside those of a driver are no trouble."""
    level = WARN if timeout == math.inf else ERROR
    driver = Driver(timeout)
    assert driver.run(4, refused=True) == [None] * 2 + [('refused', level)] * 2
    assert driver.look(refused=True)[1]['refused'] == 'every message for 5 s: why'
    assert driver.run(2, used=True, refused=True) == [None] * 2
    later = [('refused', ERROR) if timeout < 9.0 else None] * 3
    assert driver.run(4, refused=True) == [None, *later]


@pytest.mark.parametrize(('used', 'level'), [(8.9, ERROR), (9.1, OK), (10.1, ERROR)])
def test_a_topic_without_a_usable_message_within_the_timeout_is_an_error(used, level):
    """Also one of a time to come."""
    statistics = TopicStatistics('a')
    statistics.heard, statistics.used, statistics.received = 10.0, used, 1
    peers, look = TopicPeers('/a', ['x']), InspectionTime(10.0, 1.0, 9.0)
    status = inspect_subscribed_topic(statistics, peers, DiagnosticHistory(), look, 1.0)
    assert status.level == level


def test_commands(time):
    """Clamps, partial refusals and contests are counted by joint and warned of for 5 s."""
    statistics, counts = TopicStatistics('joint_commands'), CommandCounts()
    window = DiagnosticHistory(time)
    statistics.received, statistics.rejected['limit'], counts.rejected['yaw'] = 5, 2, 1
    counts.clamped['lift'], counts.limited['roll'], counts.contested['pitch'] = 3, 2, 1
    counts.shares['lift'] = 0.4
    for _ in range(2):
        status = inspect_command_source(statistics, counts, window, '')
        assert status.name == 'commands of joint_commands'
        assert set(troubles_of(status).values()) == {WARN}
    expected = {
        'accepted': '3', 'rejected': '1', 'rejected yaw': '1',
        'limited roll': '2', 'clamped': '3', 'clamped lift': '3', 'clamped now': 'lift',
        'contested': '1', 'contested pitch': '1', 'effort share lift': '40%',
    }  # fmt: skip
    assert expected.items() <= values_of(status).items()
    time.now += 5.0
    assert inspect_command_source(statistics, counts, window, '').level == OK
    counts.contested['pitch'] += 1
    status = inspect_command_source(statistics, counts, window, '')
    assert (status.level, status.message) == (WARN, 'contested now: pitch')


def test_commands_that_nobody_hears(time):
    """A topic without subscribers is a warning while commands are accepted."""
    statistics, window = TopicStatistics('joint_commands'), DiagnosticHistory(time)
    for received, unheard, level in (
        (0, '/actuator_commands', OK),
        (1, '', OK),
        # The subscriber of the command has left since.
        (1, '/actuator_commands', OK),
        (2, '/actuator_commands', WARN),
    ):
        statistics.received = received
        status = inspect_command_source(statistics, CommandCounts(), window, unheard)
        assert status.level == level
    assert status['no subscriber'].startswith('/actuator_commands: ')
    time.now += 5.0
    status = inspect_command_source(statistics, CommandCounts(), window, '/actuator_commands')
    assert status.level == OK


# -- the robot -----------------------------------------------------------------------------------


class Watched(World):
    """A bridge with drivers ``a`` and ``b``, inspected once a second."""

    def __init__(self, robot, **options):
        super().__init__(robot, **options)
        inputs = {'a': TopicStatistics('a'), 'b': TopicStatistics('b')}
        self._watch = BridgeInspector(self.bridge, inputs, ['a', 'b'], {}, [])
        self._begun, self._inputs = self.now, inputs

    def second(self, *messages):
        """Let a second pass, then have (driver, names) send; return the statuses by name."""
        self.now += 1.0
        for driver, names, *values in messages:
            self.state(names, driver, position=values[0] if values else [1.0] * len(names))
            self._inputs[driver].heard = self._inputs[driver].used = self.now
        inputs = {name: TopicPeers(f'/{name}', ["'/driver'"]) for name in self._inputs}
        return self.inspect(self._watch, open_for=self.now - self._begun, inputs=inputs)


def test_an_unknown_actuator_and_its_joints_have_the_reason(robot):
    """Each reason is a value of the actuator, and of the joints that depend on it."""
    world = Watched(robot, state_timeout=1.5)
    world.second(('a', ('left', 'right', 'winch', 'hip')))
    world.second(('a', ('left', 'right', 'hip', 'ghost'), [1.0, math.nan, 2.0, 0.0]))
    world.state(('crank',), 'b', velocity=[1.0])
    found = world.second(('a', ('left', 'right', 'hip'), [1.0, math.inf, 2.0]))
    reasons = {
        'right': 'not finite', 'winch': 'stale', 'crank': 'no position sent',
        'finger': 'never received',
    }  # fmt: skip
    actuators, joints = found['actuators'], found['joints']
    given = {f'unknown {name}': reason for name, reason in reasons.items()}
    assert given.items() <= values_of(actuators).items()
    assert (actuators['known'], actuators["unknown name 'ghost'"]) == ('2', '1')
    assert actuators['not finite right position'] == '2'
    # A joint that passes through may have no motor.
    assert troubles_of(actuators) == {'stale': ERROR, 'not finite': WARN}
    assert joints['unknown lift'] == 'winch stale'
    assert joints['unknown finger'] == 'finger never received'
    assert joints['unknown pitch'] == joints['unknown roll'] == 'right not finite'
    assert 'unknown left' not in values_of(actuators)


def test_actuators_that_no_driver_gives(robot):
    """Actuators that are missing while others are received are named, with unknown names."""
    world = Watched(robot)
    names = ('left', 'right', 'hip', 'ghost')
    looks = [world.second(('a', names))['actuators'] for _ in range(3)]
    assert [each.level for each in looks] == [OK, OK, WARN]
    assert "'winch', 'crank'" in looks[2]['never received']
    assert "'ghost'" in looks[2]['never received']
    assert 'finger' not in looks[2]['never received']
    assert world.second(('a', robot.actuator_names))['actuators'].level == OK


def test_actuators_given_on_two_topics(robot):
    """Two drivers that give one number in turn are named with it; one that takes over is not."""
    world = Watched(robot)
    every, shared = ('a', robot.actuator_names), ('b', ('hip',))
    assert world.second(every, every)['actuators'].level == OK
    assert world.second(shared)['actuators'].level == OK
    assert world.second(every, shared)['actuators']['two drivers'] == "'hip' on 'a', 'b'"


def test_a_transmission_that_cannot_be_used():
    """It is an error with the reason, as long as it lasts."""
    strange = transmission('nowhere', 'nowhere/NoTransmission', ('one',), ('m1',))
    zero = transmission('zero', 'Simple', {'two': ratio(0.0)}, ('m2',))
    world = Watched(maps(('one', 'two'), strange + zero))
    for _ in range(2):
        found = world.second()
        statuses = {name: found[f'transmission {name}'] for name in ('nowhere', 'zero')}
        assert {each.level for each in statuses.values()} == {ERROR}
        assert 'nowhere/NoTransmission' in statuses['nowhere']['rejected']
        assert re.search('line .* other than zero', statuses['zero']['rejected'])
        assert statuses['zero']['loaded'] == 'False'


def test_map_troubles(robot, time):
    """Samples that a mechanism could not map are counted by reason, for states and commands."""
    first, second = MapReport(), MapReport()
    first.counts['wrist', 'domain'] = 2
    second.counts.update({('wrist', 'domain'): 1, ('wrist', 'branch'): 1})
    world = Watched(robot)
    states, commands = world.states.report, world.gate.ledger.report
    states.counts.update(first.counts)
    commands.counts.update(second.counts)
    world._watch._events = DiagnosticHistory(time)
    looks = []
    for _ in range(2):
        looks.append(world.second()['transmission wrist'])
        time.now += 5.0
    assert [troubles_of(each) for each in looks] == [{'not mapped now': WARN}, {}]
    assert looks[0]['not mapped now'] == 'domain, branch'
    expected = {
        'loaded': 'True', 'type': 'transmission_interface/DifferentialTransmission',
        'not mapped': '4', 'not mapped domain': '3', 'not mapped branch': '1',
    }  # fmt: skip
    assert expected.items() <= values_of(looks[1]).items()
