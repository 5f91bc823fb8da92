# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Missing drivers are reported soon, and present drivers are not."""

from __future__ import annotations

import math
import re

from hypothesis import given, strategies as st
import numpy as np
import pytest
from transmission_bridge.bridge.diagnostics.driver_watch import DriverWatch, Look, Peers

from transmission_bridge.bridge.diagnostics.status import ERROR, WARN
from transmission_bridge.bridge.inputs import TopicStatistics


def still(time):
    """Return numbers that do not change."""
    return np.zeros(3)


def moving(time):
    """Return numbers that never come again."""
    return np.array([time, 2.0 * time, math.nan])


class _Driver:
    """A driver, and the troubles found once a second, the first after a phase."""

    def __init__(self, timeout=0.0, phase=0.5, topic='/a', publishers=("'/driver'",), others=()):
        self.statistics = TopicStatistics('a')
        self.publishers, self.others = dict(enumerate(publishers, 1)), others
        self.bridges, self.refuses, self.is_paused = '', '', False
        self._topic, self._timeout = topic, timeout or math.inf
        self._watch = DriverWatch(self.statistics)
        self.now, self._numbers = phase, np.zeros(3)

    def look(self):
        """Have a second pass in which nothing comes; return the trouble, or ``None``."""
        self.now += not self.is_paused
        more = {'publishers': self.publishers, 'elsewhere': self.others, 'rivals': self.bridges}
        look = Look(self.now, elapsed=float(not self.is_paused), open_for=self.now)
        peers = Peers(self._topic, **more)
        troubles = self._watch.collect_troubles(peers, self._numbers, self._timeout, look)
        found = [trouble for trouble in troubles if trouble.sentence]
        assert len(found) < 2
        return found[0] if found else None

    def run(self, times, numbers=still):
        """Have messages come at these times; return the troubles of the looks until then."""
        found = []
        for time in times:
            while self.now + 1.0 < time:
                found.append(self.look())
            self.statistics.received += 1
            self.statistics.heard = time
            if self.refuses:
                self.statistics.rejected[self.refuses] += 1
                self.statistics.refusal = f'why {self.refuses}'
            else:
                self.statistics.used = time
            self._numbers = numbers(time)
        return found

    def wait(self, seconds):
        """Have nothing come for so many looks; return their troubles."""
        return [self.look() for _ in range(seconds)]


def every(period, seconds, begin=0.0):
    """Return the times of messages at a rate."""
    return begin + np.arange(1, int(seconds / period) + 1) * period


rates = st.sampled_from([0.2, 0.7, 1.0, 1.3, 3.0, 10.0, 100.0])
phases = st.floats(0.0, 1.0, exclude_max=True)
motions = st.sampled_from([still, moving])
chance = st.randoms(use_true_random=False)


@given(rates, phases, motions, st.sampled_from([0.0, 0.4]), chance)
def test_a_regular_driver_is_missed_when_it_falls_silent_and_only_then(
    rate, phase, numbers, jitter, random
):
    """A warning comes within 3 s after five periods (at least 1 s), and goes when it is back."""
    driver, limit = _Driver(phase=phase), max(1.0, 5.0 / rate)
    times = every(1.0 / rate, max(15.0, 12.0 / rate))
    times = sorted(time + random.uniform(0.0, jitter) / rate for time in times)
    driver.run(times[:1])
    assert not any(driver.run(times[1:], numbers))
    if jitter:
        return
    found = driver.wait(math.ceil(limit) + 3)
    silent = [time for time, trouble in enumerate(found) if trouble]
    # The look of this number comes up to a second later than this many seconds.
    assert limit - 1.0 <= silent[0] + 1 <= limit + 2.0
    assert found[-1].level == WARN
    assert re.fullmatch(
        r"no message for \d+ s, /a has 1 publisher \('/driver'\): check whether the driver "
        'publishes',
        found[-1].sentence,
    )
    driver.run(driver.now + every(1.0 / rate, 10.0 / rate)[:1])
    assert driver.look() is None


@given(st.sampled_from([3.0, 10.0, 100.0]), phases)
def test_a_driver_that_stands_still_and_dies_young(rate, phase):
    """A driver that repeats its numbers is regular after three looks."""
    driver = _Driver(phase=phase)
    driver.run(every(1.0 / rate, 3.5))
    assert any(driver.wait(math.ceil(max(1.0, 5.0 / rate)) + 2))


@given(phases, chance)
def test_an_uneven_driver_that_falls_silent(phase, random):
    """One that is kept from running now and then is still one that sends again and again."""
    driver, times = _Driver(phase=phase), [0.01]
    while times[-1] < 20.0:
        times.append(times[-1] + random.choice([0.01, 0.1, 0.4, 0.8]))
    assert not any(driver.run(times))
    assert any(driver.wait(7))


@given(st.lists(st.tuples(st.floats(0.02, 6.0), st.floats(3.0, 30.0)), max_size=8), phases)
def test_a_driver_that_sends_on_change(bursts, phase):
    """A driver that is silent while it stands is no trouble."""
    driver, now = _Driver(phase=phase), 0.1
    driver.run([now], moving)
    for length, pause in bursts:
        now += pause
        times = every(0.01, length, now)
        assert not any(driver.run(times, moving))
        now = times[-1]
    assert not any(driver.wait(20))


def test_a_driver_that_sends_on_change_is_met_in_motion():
    """At most the first pause of a long motion is taken for silence."""
    driver = _Driver()
    for is_first in (True, False):
        driver.run(every(0.01, 20.0, 0.0 if is_first else driver.now), moving)
        assert any(driver.wait(20)) == is_first
    # Another publisher is another driver without a history.
    driver.publishers = {2: "'/driver'"}
    driver.run(every(0.01, 20.0, driver.now), moving)
    assert any(driver.wait(4))


def test_a_driver_that_is_gone():
    """A driver without a publisher is gone, regular or not, unless it sends messages."""
    driver = _Driver()
    assert not any(driver.run([0.2, 0.9, 7.0], moving))
    assert not any(driver.wait(10))
    driver.publishers = {}
    found = driver.wait(4)
    assert found[0] is None
    assert {trouble.level for trouble in found[1:]} == {WARN}
    assert found[1].sentence.startswith('the driver is gone, /a has 0 publishers: start it again')
    assert not any(driver.run(every(0.1, 20.0, driver.now)))


def test_a_driver_that_was_never_heard():
    """After 2 s: how many publishers there are, where else there are any, and what to do."""
    driver = _Driver(phase=-1.0, publishers=(), others=('/left/a', '/b'))
    found = driver.wait(4)
    assert found[:3] == [None] * 3
    assert found[3].level == WARN
    assert found[3].sentence == (
        "no actuator state yet: /a has 0 publishers; other JointState topics: '/left/a', '/b'; "
        "start the driver with the ROS_DOMAIN_ID of the bridge, or the bridge in the driver's "
        "namespace (-r __ns:='/left'), or name its topic, with its namespace, in the parameter "
        'actuator_state_topics'
    )
    driver.publishers = {1: "'/driver' of 'std_msgs/msg/String'"}
    # It is only being found.
    assert not any(driver.wait(3))
    assert driver.look().sentence == (
        "no actuator state yet: /a has 1 publisher ('/driver' of 'std_msgs/msg/String'), but "
        'no message was received: check whether the driver publishes; with use_sim_time it waits '
        'for /clock'
    )


@pytest.mark.parametrize(
    ('change', 'name', 'words'),
    [
        ({'bridges': "'/left/bridge'"}, 'other bridges',
         ("another bridge ('/left/bridge') also uses the states on /a: ", 'state_topics')),
        ({'publishers': {1: "'/driver'", 2: "'/driver'"}}, 'shared',
         ("/a has 2 publishers ('/driver', '/driver'): stop one of them if both publish the same ",
          'same actuator')),
    ],
)  # fmt: skip
def test_a_topic_of_two(change, name, words):
    """Two bridges or publishers are a warning from the second look, until one has left."""
    driver = _Driver()
    assert not any(driver.run(every(0.1, 4.0)))
    before = {each: getattr(driver, each) for each in change}
    vars(driver).update(change)
    first, *found = driver.run(driver.now + every(0.1, 4.0))
    assert first is None
    assert {(trouble.name, trouble.level) for trouble in found} == {(name, WARN)}
    assert all(each in found[0].sentence for each in words)
    vars(driver).update(before)
    assert not any(driver.run(driver.now + every(0.1, 4.0)))


@pytest.mark.parametrize(
    ('others', 'namespace'),
    [
        (('/b', '/left/b'), None),
        (('/a',), "'/'"),
        (('/cell/left/a',), "'/cell/left'"),
        (('/left/a', '/right/a'), None),
        # The bridge is in this namespace.
        (('/here/a',), None),
    ],
)
def test_the_namespace_of_a_driver(others, namespace):
    """A topic that differs by its namespace only is named: the commands use it too."""
    driver = _Driver(phase=-1.0, topic='/here/here/a', publishers=(), others=others)
    driver.statistics.topic = 'here/a'
    words = driver.wait(4)[3].sentence
    assert ('__ns' in words) == (namespace is not None)
    assert namespace is None or f'(-r __ns:={namespace})' in words


def test_never_heard_is_an_error_once_the_timeout_has_passed_too():
    """Before, it is a warning."""
    driver = _Driver(timeout=5.0, phase=-1.0, publishers=())
    levels = [trouble and trouble.level for trouble in driver.wait(9)]
    assert levels == [None] * 3 + [WARN] * 3 + [ERROR] * 3


@pytest.mark.parametrize(('timeout', 'level'), [(0.0, WARN), (1.0, ERROR)])
def test_every_message_is_refused(timeout, level):
    """The reason is reported, not a missing message; the log has it already."""
    driver = _Driver(timeout)
    driver.refuses = 'foreign'
    found = driver.run(every(0.1, 10.0))[-1]
    assert found.level == level
    assert found.sentence.endswith('every message is rejected: why foreign')
    assert timeout or not found.name


@pytest.mark.parametrize(('timeout', 'level'), [(0.0, WARN), (1.0, ERROR)])
def test_a_driver_that_was_started_again_with_other_names(timeout, level):
    """The reason of the rejections is reported, also without a timeout, and logged."""
    driver = _Driver(timeout)
    driver.run(every(0.1, 5.0))
    driver.publishers, driver.refuses = {2: "'/driver'"}, 'foreign'
    found = driver.run(every(0.1, 5.0, 5.0))[-1]
    assert found.level == level
    words = "every message (from '/driver') has been rejected for 4 s: why foreign"
    assert found.sentence.endswith(words)
    assert found.name == 'refused'  # 'silent' may be in the log already
    driver.refuses = ''
    assert driver.run(every(0.1, 2.5, 10.0))[-1] is None


def test_a_gripper_on_the_topic_of_a_driver():
    """Messages about others are no trouble while a driver of the robot may have no news."""
    driver = _Driver()
    driver.run(every(0.01, 5.0), moving)
    driver.publishers = {1: "'/driver'", 2: "'/gripper'"}
    driver.refuses = 'foreign'
    first, *found = driver.run(every(0.1, 20.0, 5.0), moving)
    assert first is None
    assert {trouble.name for trouble in found} == {'shared'}


@pytest.mark.parametrize(('used', 'level'), [(8.9, ERROR), (9.1, None), (10.1, ERROR)])
def test_a_topic_without_a_usable_message_within_the_timeout_is_an_error(used, level):
    """Also one of a time to come."""
    driver = _Driver(timeout=1.0, phase=9.0)
    driver.statistics.heard, driver.statistics.used = 10.0, used
    driver.statistics.received = 1
    trouble = driver.look()
    assert (trouble and trouble.level) == level


def test_silence_beyond_the_timeout_says_why():
    """With the words that it has without one."""
    driver = _Driver(timeout=0.5)
    driver.run(every(0.1, 20.0))
    driver.publishers = {}
    driver.look()
    found = driver.wait(3)
    assert [trouble.level for trouble in found] == [ERROR] * 3
    assert found[2].sentence.startswith(
        'stale: no usable message within 0.5 s; the driver is gone, /a has 0 publishers'
    )


def test_time_that_stands_still():
    """While the simulator pauses, nothing is late; a driver that does not resume is late."""
    driver = _Driver()
    driver.run(every(0.1, 20.0))
    driver.is_paused = True
    assert not any(driver.wait(20))
    driver.is_paused = False
    assert any(driver.wait(3))
