# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The scenarios of ``scenarios.py`` by a node in this process, and by a process over DDS."""

import json
import re

import numpy as np
import pytest
from scenarios import SCENARIOS
from world import as_words, by_mode, compare, spread

ARRAYS = tuple(f'actuator_{mode}_commands' for mode in ('position', 'velocity', 'effort'))


class Live:
    """
    The peer of an active bridge: its driver, its controller, its operator and its clock.

    Simulated time goes on in waits alone, so that nothing ends however slow the machine is.
    """

    def __init__(self, harness, peer, options):
        from rosgraph_msgs.msg import Clock
        from std_msgs.msg import Float64MultiArray

        self.peer, self._publishers, self._stamp = peer, {}, 0
        self._repeat, self._is_timed = harness.repeat, 'state_timeout' in options
        self._diagnostics = harness.Diagnostics(peer)
        clock, self._time = peer.node.create_publisher(Clock, '/clock', 10), Clock()
        self._time.clock.sec = 100
        peer.node.create_timer(0.05, lambda: clock.publish(self._time))
        self._await_time()
        self._joints, self._sent = peer.listen('joint_states'), peer.listen('actuator_commands')
        self._arrays = []
        for topic in ARRAYS if 'command_actuators' in options else ():

            def hear(message, topic=topic):
                self._arrays.append((topic, np.array(message.data)))

            peer.node.create_subscription(Float64MultiArray, topic, hear, harness.LISTENER)
            peer.spin_until(lambda t=topic: peer.node.count_publishers(t), f'{topic}')

    def _await_time(self):
        known, told = self._diagnostics, self._time.clock
        self.peer.spin_until(lambda: known.stamp and known.stamp.sec == told.sec, 'the time')

    def play(self, scenario):
        """Run the steps of a scenario, and compare what is sent with what is expected."""
        for step in scenario.steps:
            getattr(self, f'_{type(step).__name__.lower()}')(step)

    def _say(self, topic, modes):
        """Return who publishes on a topic, and the message with a stamp of its own."""
        if topic not in self._publishers:
            self._publishers[topic] = self.peer.publisher(topic)
        self._stamp += 1
        return self._publishers[topic], spread(modes, stamp=(self._stamp, 0))

    def _hear(self, expected):
        """Wait for as many messages and numbers as are expected; compare and forget them."""

        def found():
            return as_words([*(('actuator_commands', each) for each in self._sent), *self._arrays])

        self.peer.spin_until(lambda: found().keys() >= expected.keys(), f'{expected}')
        compare(found(), expected)
        del self._sent[:], self._arrays[:]

    def _state(self, step):
        publisher, message = self._say(step.topic, step.actuators)
        (found,) = self.peer.exchange(publisher, message, self._joints)
        if step.joints is not None:
            compare(by_mode(found), step.joints)

    def _command(self, step):
        publisher, message = self._say(step.topic, step.joints)
        if isinstance(step.sent, str):
            send = self._repeat(lambda: self.peer.send(publisher, message))
            words, find = f'rejected {step.sent}', self._diagnostics.values
            self.peer.spin_until(lambda: send() or words in find(step.topic), words)
            assert not self._sent
        elif step.sent:
            self.peer.exchange(publisher, message, self._sent)
            self._hear(step.sent)

    def _wait(self, step):
        clock = self._time.clock
        nanosec = clock.nanosec + round(step.seconds * 1e9)
        clock.sec, clock.nanosec = clock.sec + nanosec // 10**9, nanosec % 10**9
        if step.sent:
            self._hear(step.sent)
        elif self._is_timed:  # what comes next must not be received before
            self._await_time()

    def _tune(self, step):
        values = {f'transmissions.{name}': value for name, value in step.values.items()}
        result = self.peer.set_parameters(values)
        assert result.successful is not bool(step.refused)
        assert re.search(step.refused, result.reason)

    def _deactivate(self, step):
        assert self.peer.change_state('deactivate')
        self._hear(step.sent)
        assert self.peer.change_state('activate')


def parameters(scenario):
    """Return the parameters of a bridge that loses nothing, and forgets nothing meanwhile."""
    reliable = {
        f'qos_overrides./{each.topic}.subscription.reliability': 'reliable'
        for each in scenario.steps
        if hasattr(each, 'topic')
    }
    options = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in scenario.options.items()
    }
    return {'state_timeout': 0.0, 'use_sim_time': True, **reliable, **options}


BY_NODES = [each for each in SCENARIOS if each.runners]
BY_PROCESSES = [each for each in BY_NODES if each.runners == 'processes']


@pytest.mark.parametrize('scenario', BY_NODES, ids=lambda each: each.name)
def test_by_a_node(scenario, make_bridge, peer, harness):
    """Drivers are sent what the scenario says, step by step."""
    make_bridge({'robot_description': scenario.robot, **parameters(scenario)})
    peer.start()
    Live(harness, peer, scenario.options).play(scenario)


@pytest.mark.parametrize('scenario', BY_PROCESSES, ids=lambda each: each.name)
def test_by_a_process(scenario, live, harness):
    """Drivers are sent what the scenario says over DDS, and the process ends well."""
    values = {name: json.dumps(value) for name, value in parameters(scenario).items()}
    process, peer = live(urdf=scenario.robot, **values)
    Live(harness, peer, scenario.options).play(scenario)
    process.ends_well()
