# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Mistakes of users, with real processes.

Each is said within three seconds, in the log once and in diagnostics as long as it lasts; and
nothing is said where there is none.
"""

from __future__ import annotations

import itertools
import signal
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

BRIDGE = 'transmission_bridge.ros.bridge_main'
DRIVER = 'transmission_bridge.ros.simulated_driver_main'
NODE = 'transmission_bridge'

OK, WARN, ERROR = b'\x00', b'\x01', b'\x02'

#: Seconds until a mistake is reported, and the margin for a loaded machine.
SOON = 3.0 + 1.5

#: Seconds between messages of drivers in this process.
PERIOD = 0.02

#: Seconds after which a driver's rate is known.
KNOWN = 10.0

#: Halves of the robot, as two drivers may have them.
LEFT, RIGHT = ('winch', 'left', 'right'), ('hip', 'crank', 'finger')


class Stand:
    """
    A bridge as a process, what it says, and drivers.

    :param meet: As the fixture.
    :param start: Starts a node of the package as a process.
    """

    def __init__(self, meet, start, harness, reference):
        self._meet, self.start_process = meet, start
        self._harness, self._reference = harness, reference
        self._messages = itertools.count()
        self.sources = []
        self.nodes = []
        self.said = []
        self.statuses = {}

    def start(self, **parameters):
        """
        Start a bridge that activates itself; return when it is active, with its first words.

        Without ``state_timeout``, which makes an error of what is warned of at the same time.
        """
        from diagnostic_msgs.msg import DiagnosticArray

        parameters = {'autostart': 'true', 'state_timeout': 0.0, **parameters}
        self.process = self.start_process(BRIDGE, **parameters)
        self.peer = self._meet(NODE)
        self.peer.node.create_subscription(DiagnosticArray, '/diagnostics', self._take, 100)
        self.wait(lambda: self.peer.state(NODE) == 'active', 'active')
        self.since = time.monotonic()

    def _take(self, message):
        found = {
            each.name.removeprefix(f'{NODE}: '): each
            for each in message.status
            if each.name.startswith(f'{NODE}: ')
        }
        if found:
            self.statuses = found
            self.said += [(time.monotonic(), name, each) for name, each in found.items()]

    def node(self, name):
        """Return another node."""
        rclpy = self._harness.rclpy
        node = rclpy.create_node(name, context=self.peer.context, use_global_arguments=False)
        self.nodes.append(node)
        return node

    def source(self, name, topic='actuator_states', actuators=None, value=lambda: 0.5):
        """Have a node send states from now on, all actuators or these; return what ends it."""
        from sensor_msgs.msg import JointState

        node = self.node(name)
        publisher = node.create_publisher(JointState, topic, 10)
        actuators = actuators or self._reference.ACTUATORS

        def send():
            message = self._reference.Message(
                actuators,
                position=(value(),) * len(actuators),
                stamp=(1, 1 + next(self._messages)),
            )
            self.peer.send(publisher, message)

        def end():
            self.sources.remove(send)
            node.destroy_node()

        self.sources.append(send)
        return end

    def wait(self, condition, what, seconds=None):
        """Have the sources send until a condition holds."""
        deadline = time.monotonic() + (seconds or self._harness.PATIENCE)
        while not (found := condition()):
            assert time.monotonic() < deadline, f'{what} did not happen: {self.messages()}'
            for send in self.sources:
                send()
            self.peer.executor.spin_once(timeout_sec=0.0)
            again = time.monotonic() + PERIOD
            while time.monotonic() < again:
                self.peer.executor.spin_once(timeout_sec=max(again - time.monotonic(), 0.0))
        return found

    def pause(self, seconds):
        """Have the sources send for so many seconds."""
        end = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() >= end, 'time')

    def mistake(self):
        """Take note that a mistake is made now."""
        self.since = time.monotonic()

    def is_said(self, name, *words, level=WARN, seconds=SOON):
        """Assert that this is reported in time after the mistake; return the status."""

        def find():
            for when, found, status in self.said:
                if (
                    when > self.since
                    and found == name
                    and status.level == level
                    and all(word in status.message for word in words)
                ):
                    return when - self.since, status.message
            return None

        took, message = self.wait(find, f'{name}: {words}: {self.messages()}')
        print(f'said after {took:.2f} s: {name}: {message}')
        assert took < seconds
        return message

    def settle(self):
        """Return when every actuator is known and nothing warns."""
        self.wait(
            lambda: (
                self.statuses
                and self.statuses['actuators'].message == 'all known'
                and not self.messages()
            ),
            'a fine bridge',
        )

    def is_over(self, name):
        """Return when a status is fine again."""
        del self.said[:]
        self.wait(lambda: self.said and self.statuses[name].level == OK, f'{name} is fine')

    def messages(self):
        """Return the messages of the latest statuses that are not OK."""
        return [
            f'{name}: {each.message}' for name, each in self.statuses.items() if each.level != OK
        ]

    def is_fine(self, seconds, but=()):
        """Assert that no status warns for these seconds, except these."""
        del self.said[:]
        self.pause(seconds)
        assert self.said
        assert not [
            (name, each.message)
            for _, name, each in self.said
            if each.level != OK and name not in but
        ]

    def in_log(self, *words):
        """Return how many lines of the log have all these words."""
        return sum(
            all(word in line for word in words) for line in self.process.output.splitlines()
        )


@pytest.fixture
def stand(meet, start_process, harness, reference, tmp_path):
    """Return a :class:`Stand` of the reference robot."""
    numbers = itertools.count()

    def start(module, *args, remap=(), **parameters):
        path = harness.parameter_file(
            tmp_path / f'{next(numbers)}.yaml',
            {'robot_description': harness.quoted(reference.URDF), **parameters},
            '/**',
        )
        remaps = [each for rule in remap for each in ('-r', rule)]
        return start_process(module, *args, '--ros-args', '--params-file', path, *remaps)

    stand = Stand(meet, start, harness, reference)
    yield stand
    for node in stand.nodes:
        node.destroy_node()


# -- no driver -----------------------------------------------------------------------------------


@pytest.mark.parametrize(('timeout', 'level'), [(0.0, WARN), (0.5, ERROR), (-1.0, ERROR)])
def test_no_driver(stand, timeout, level):
    """A missing driver is reported with the remedy, once in the log, until it comes."""
    stand.start(state_timeout=timeout)
    words = 'no actuator state yet: /actuator_states has 0 publishers'
    stand.is_said('actuator_states', words, 'start the driver', level=level)
    stand.pause(3.0)
    assert stand.in_log(words) == 1
    unused = {
        stand.statuses[name].message
        for name in ('joint_commands', 'joint_trajectory', 'actuator_torque_sensors')
    }
    assert unused == {'not used'}
    stand.source('driver')
    stand.settle()
    stand.wait(lambda: stand.in_log('over after', words), 'the end in the log')
    assert stand.in_log(words) == 2


def test_driver_in_another_namespace(stand):
    """Topics that drivers publish instead are named, and how to join; the bridge's own are not."""
    stand.start_process(DRIVER, remap=['__ns:=/left'])
    stand.start()
    message = stand.is_said('actuator_states', 'no actuator state yet', "'/left/actuator_states'")
    assert "the bridge in the driver's namespace (-r __ns:='/left')" in message
    assert "'/joint_states'" not in message
    assert "'/actuator_torque_sensors'" not in message


def test_driver_of_other_names(stand):
    """If every message is rejected, the status has the reason until one is accepted."""
    stand.start()
    stand.source('driver', actuators=('m1', 'm2'))
    stand.is_said('actuator_states', 'foreign (they name no actuator of this robot')
    stand.mistake()
    words = 'no usable actuator state yet: every message is rejected: no name is known'
    stand.is_said('actuator_states', words)


def test_driver_started_again_with_other_names(stand):
    """The status has received names, expected names and the remedy, until it is corrected."""
    stand.start()
    end = stand.source('driver')
    stand.settle()
    end()
    end = stand.source('other', actuators=('m1', 'm2'))
    stand.mistake()
    words = ("found 'm1', 'm2'", "actuator_names: ['m1=?', 'm2=?']", "from '/other'")
    stand.is_said('actuator_states', 'has been rejected', 'expected some of', *words)
    assert stand.in_log('WARN', *words)
    end()
    stand.source('driver')
    stand.is_over('actuator_states')


def test_an_actuator_that_no_driver_gives(stand):
    """An actuator that no driver gives, and the unknown name that it may have, are named."""
    stand.start()
    stand.source('driver', actuators=('wynch', 'left', 'right', 'hip', 'crank', 'finger'))
    stand.mistake()
    stand.is_said('actuators', 'no state of winch yet', "'wynch'", 'actuator_names')
    stand.pause(2.0)
    assert stand.in_log('no state of winch yet') == 1


# -- a driver that ends --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('number', 'timeout', 'level'),
    [(signal.SIGKILL, 0.0, WARN), (signal.SIGINT, 0.0, WARN), (signal.SIGKILL, 0.5, ERROR)],
)
def test_driver_ends(stand, number, timeout, level):
    """A killed or ended driver is reported, once in the log, until it is back."""
    driver = stand.start_process(DRIVER)
    stand.start(state_timeout=timeout)
    stand.settle()
    stand.is_fine(KNOWN)
    # A busy machine may have kept the driver from running for longer than its timeout.
    before = stand.in_log('] [transmission_bridge]: actuator_states: ')
    driver.stop(number)
    stand.mistake()
    stand.is_said('actuator_states', level=level)
    # One that was killed is in the graph still.
    silent = 'check the driver'
    said = 'stale' if timeout else silent if number == signal.SIGKILL else 'is gone'
    stand.wait(lambda: stand.in_log('actuator_states: ', said), 'the log')
    stand.pause(3.0)
    assert stand.in_log('] [transmission_bridge]: actuator_states: ') == before + 1
    assert stand.statuses['actuator_states'].level == level
    stand.start_process(DRIVER)
    stand.is_over('actuator_states')
    stand.wait(lambda: stand.in_log('actuator_states: over after'), 'the end in the log')
    # The one that was killed is in the graph for a while.
    stand.is_fine(5.0)


def test_one_of_two_drivers_ends(stand):
    """If one of two disjoint drivers on a topic ends, it is reported with its motors."""
    stand.start()
    stand.source('left', actuators=LEFT)
    end = stand.source('right', actuators=RIGHT)
    stand.settle()
    stand.is_fine(8.0)
    end()
    stand.mistake()
    stand.is_said('actuators', 'no more states of hip, crank, finger')


def test_a_slow_driver(stand):
    """A driver of 1 Hz is no trouble, and neither is one that sends when something changes."""
    stand.start_process(DRIVER, **{'rate': 1.0})
    stand.start()
    stand.settle()
    stand.is_fine(15.0)


def test_a_driver_that_sends_on_change(stand):
    """A driver that sends when something changes is no trouble while it stands still."""
    stand.start()
    position = itertools.count()
    stand.source('driver', value=lambda: float(next(position)))
    stand.settle()
    (send,) = stand.sources
    for seconds in (5.0, 2.0, 3.0):
        stand.sources[:] = [send]
        stand.is_fine(seconds)
        del stand.sources[:]
        stand.is_fine(5.0)


def test_a_simulator_that_pauses(stand):
    """A simulator that stands still, and its driver with it, is no trouble."""
    from rosgraph_msgs.msg import Clock

    stand.start(use_sim_time='true')
    publisher = stand.peer.node.create_publisher(Clock, '/clock', 10)
    begin = time.monotonic()

    def tick():
        message = Clock()
        nanoseconds = 1_000_000_000 + round(1e9 * (time.monotonic() - begin))
        message.clock.sec, message.clock.nanosec = divmod(nanoseconds, 1_000_000_000)
        publisher.publish(message)

    stand.sources.append(tick)
    stand.source('driver')
    stand.settle()
    stand.is_fine(KNOWN)
    del stand.sources[:]
    stand.is_fine(8.0)


# -- two of a kind -------------------------------------------------------------------------------


def test_two_drivers_on_two_topics(stand):
    """Two topics with one actuator are reported with their drivers."""
    stand.start(actuator_state_topics='[a, b]')
    stand.source('first', 'a')
    stand.source('second', 'b', actuators=('winch', 'hip'))
    stand.mistake()
    stand.is_said('actuators', "'winch', 'hip' on /a ('/first') and /b ('/second')")
    stand.pause(3.0)
    assert stand.in_log("'winch', 'hip' on /a") == 1


def test_two_drivers_in_turn_on_one_topic(stand):
    """Two drivers that publish one actuator on one topic are reported until one ends."""
    stand.start()
    stand.source('first')
    stand.settle()
    end = stand.source('second', actuators=('winch', 'hip'))
    stand.mistake()
    message = stand.is_said('actuator_states', "publish 'winch', 'hip' in turn", "'/first'")
    assert "'/second'" in message
    stand.pause(3.0)
    assert stand.in_log("publish 'winch', 'hip' in turn") == 1
    end()
    stand.is_over('actuator_states')


def test_two_drivers_of_one_topic(stand):
    """Two drivers of one topic that have motors of their own, and an idle third, are fine."""
    from sensor_msgs.msg import JointState

    stand.start()
    stand.source('left', actuators=LEFT)
    stand.source('right', actuators=RIGHT)
    idle = stand.node('idle').create_publisher(JointState, 'actuator_states', 10)
    stand.settle()
    stand.is_fine(8.0)
    assert idle.get_subscription_count() >= 1


@pytest.mark.parametrize('topic', ['joint_states', 'actuator_commands'])
def test_another_publisher(stand, topic):
    """Another publisher of what the bridge publishes is named, until it ends."""
    from sensor_msgs.msg import JointState

    stand.start()
    stand.source('driver')
    stand.settle()
    other = stand.node('other_publisher')
    other.create_publisher(JointState, topic, 10)
    stand.mistake()
    stand.is_said(topic, "has other publishers: '/other_publisher'")
    stand.pause(2.0)
    assert stand.in_log(f'{topic}: /{topic} has other publishers') == 1
    other.destroy_node()
    stand.is_over(topic)


def test_two_bridges_of_one_name(stand):
    """Another bridge with the same name is reported until it ends; a killed one is not."""
    stand.start()
    stand.source('driver')
    stand.settle()
    second = stand.start_process(BRIDGE, autostart='false')
    stand.wait(lambda: stand.peer.node.get_node_names().count(NODE) > 1, 'the other bridge')
    stand.mistake()
    words = f"another node has the same name '/{NODE}'"
    stand.is_said('life cycle', words, 'another namespace')
    stand.wait(lambda: stand.in_log(words), 'the log')
    second.stop(signal.SIGKILL)
    stand.process.stop(signal.SIGKILL)
    del stand.said[:]
    stand.start()
    stand.is_fine(6.0, but=('actuator_states',))


# -- clock and listeners -------------------------------------------------------------------------


def test_no_clock(stand):
    """A clock without a publisher is reported until it has one."""
    from rosgraph_msgs.msg import Clock

    stand.start(use_sim_time='true', publish='rate')
    words = 'use_sim_time is set and /clock has 0 publishers'
    stand.is_said('life cycle', words, 'start the simulator', 'nothing is published')
    stand.is_said('actuator_states', 'no actuator state yet')
    assert stand.in_log(words) == 1
    stand.peer.node.create_publisher(Clock, '/clock', 10)
    stand.is_over('life cycle')


def test_nobody_listens_to_commands(stand):
    """A missing subscriber is reported when a command is accepted."""
    from sensor_msgs.msg import JointState

    stand.start()
    stand.source('driver')
    stand.settle()
    stand.is_fine(3.0)
    stand.source('controller', 'joint_commands', actuators=('lift',))
    name = 'commands of joint_commands'
    stand.mistake()
    stand.is_said(name, '/actuator_commands has 0 subscribers: start the driver')
    stand.pause(2.0)
    assert stand.in_log('/actuator_commands has 0 subscribers') == 1
    stand.peer.node.create_subscription(JointState, 'actuator_commands', lambda _: None, 10)
    stand.is_over(name)


def test_a_refused_command_is_seen(stand):
    """One refused command is shown for five seconds, with what its reason means."""
    stand.start()
    stand.source('driver')
    stand.settle()
    stand.source('controller', 'joint_commands', actuators=('ghost',))
    stand.mistake()
    words = 'unknown_joint (a name is not a joint of this robot)'
    stand.is_said('joint_commands', words)
    stand.sources.pop()
    begin = time.monotonic()
    stand.is_over('joint_commands')
    assert 3.0 < time.monotonic() - begin < 8.0
