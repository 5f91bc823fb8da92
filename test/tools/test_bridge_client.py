# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The node of a command beside a bridge that runs, is killed, and is started again."""

from __future__ import annotations

import signal
import time

import pytest

from transmission_bridge.bridge.diagnostics import ERROR, OK, Status, WARN
from transmission_bridge.resources import resource
from transmission_bridge.tools.bridge_client import BridgeClient, find_bridge_reports

ARM = resource('urdf', 'arm.urdf')
PREFIX = 'transmissions.shoulder_pan_transmission.joints.shoulder_pan'


def test_reports_are_those_of_bridges_with_the_worst_trouble_first():
    """Other nodes, and other nodes with life cycles, are no bridges."""
    reports = find_bridge_reports(
        [
            Status('motors: left', ERROR, 'hot', (('state', 'x'),)),
            Status('lonely', ERROR, 'no part', ()),
            Status('arm/b: life cycle', OK, 'active', (('state', 'active'),)),
            Status('arm/b: actuators', WARN, 'pale', ()),
            Status('arm/b: transmission wrist', ERROR, 'failed', ()),
        ],
        10.0,
    )
    (report,) = reports.values()
    assert (report.name, report.state, report.received) == ('arm/b', 'active', 10.0)
    assert [each.message for each in report.troubles] == ['failed', 'pale']
    assert [report.is_gone(now) for now in (13.5, 13.6)] == [False, True]


def run_until(client, condition, seconds=30.0):
    """Let the client run until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        client.spin_for(0.05)


@pytest.fixture
def start(harness):
    """Start a bridge of the example arm in a namespace; what is left of it ends with the test."""
    processes = []

    def start_bridge():
        words = ['--urdf', ARM, '--ros-args', '-r', '__ns:=/arm', '-p', 'autostart:=true']
        processes.append(harness.Process('transmission_bridge.ros.bridge_main', words))
        processes[-1].wait_for('active')
        return processes[-1]

    yield start_bridge
    for process in processes:
        process.clean_up()


@pytest.mark.ros
def test_a_bridge_is_there_answers_and_is_gone_soon_after_it_was_killed(
    harness, monkeypatch, start
):
    """Within seconds, and when it runs again the client knows that it is another process."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(harness.DOMAIN))
    client = BridgeClient('client', 'arm/transmission_bridge')
    answers, changes = [], []

    def spin_until(condition, seconds=30.0):
        run_until(client, condition, seconds)

    try:
        client.follow_parameters(lambda *change: changes.append(change))
        client.set_parameters({f'{PREFIX}.offset': 0.5}, answers.append)
        assert (answers, client.report) == (['the bridge has gone'], None)
        process = start()
        spin_until(lambda: client.is_present and client.report.state == 'active')
        assert client.bridge == '/arm/transmission_bridge'
        first = client.report.start

        # One request after the other: services of their own may answer in any order.
        client.set_parameters({f'{PREFIX}.offset': 0.5}, answers.append)
        spin_until(lambda: len(answers) == 2)
        client.set_parameters({f'{PREFIX}.mechanical_reduction': 0.0}, answers.append)
        spin_until(lambda: len(answers) == 3)
        client.get_parameters(
            ['autostart', 'unheard_of'], lambda *answer: answers.append(answer), prefix=PREFIX
        )
        spin_until(lambda: len(answers) == 4)
        assert answers[1] == ''
        assert 'expected a number other than zero, found 0.0' in answers[2]
        values = {f'{PREFIX}.mechanical_reduction': 101.0, f'{PREFIX}.offset': 0.5}
        assert answers[3] == ({'autostart': True, **values}, '')
        spin_until(lambda: ({f'{PREFIX}.offset': 0.5}, []) in changes)

        process.send_signal(signal.SIGSTOP)
        client.set_parameters({f'{PREFIX}.offset': 0.25}, answers.append)
        process.stop(signal.SIGKILL)
        spin_until(lambda: len(answers) == 5, 5.0)
        assert answers[4] in ('the bridge does not answer', 'the bridge has gone')
        spin_until(lambda: not client.is_present, 5.0)

        start()
        spin_until(lambda: client.is_present)
        assert client.report.start > first
    finally:
        client.close()


@pytest.mark.ros
def test_joint_states_arrive_as_they_were_sent_until_they_are_no_longer_followed(
    harness, monkeypatch, peer
):
    """Names, numbers and layout of each message; then the topic is one of the others."""
    from rclpy.serialization import serialize_message

    monkeypatch.setenv('ROS_DOMAIN_ID', str(harness.DOMAIN))
    client = BridgeClient('client', 'arm/b')
    received = []
    try:
        client.follow_topics(
            {'states': lambda message, layout, _: received.append((layout, message.position[0]))}
        )
        publisher = peer.publisher('/arm/states')
        message = harness.JointState(name=['m1'], position=[1.25])
        run_until(client, lambda: publisher.publish(message) or received)
        assert {(layout.names, position) for layout, position in received} == {(('m1',), 1.25)}
        assert '/arm/states' not in client.list_other_topics()
        late = client._make_decoder('states')
        client.follow_topics({})
        before = len(received)
        late(serialize_message(message))  # one that was on its way
        assert len(received) == before
        assert '/arm/states' in client.list_other_topics()
        peer.spin_until(lambda: not publisher.get_subscription_count(), 'the end')
    finally:
        client.close()
