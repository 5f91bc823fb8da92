# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The node of a command beside a bridge that runs, is killed, and is started again."""

from __future__ import annotations

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


@pytest.mark.ros
def test_joint_states_arrive_as_they_were_sent_until_they_are_no_longer_followed(harness, peer):
    """Names, numbers and layout of each message; then the topic is one of the others."""
    from rclpy.serialization import serialize_message

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
