# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A peer over real DDS, nodes as processes, nodes in this process, and the reference model."""

import subprocess
from types import SimpleNamespace

import pytest

from transmission_bridge.ros.process import available_executors

_DEFAULT, *_OTHERS = available_executors()
_OTHERS = [pytest.param(each, marks=pytest.mark.campaign) for each in _OTHERS]


def pytest_itemcollected(item):
    """Mark each test of this folder."""
    item.add_marker(pytest.mark.ros)


@pytest.fixture(params=[_DEFAULT, *_OTHERS])
def executor(request):
    """Return the default executor; a campaign runs each available one."""
    return request.param


@pytest.fixture(scope='session')
def context(harness):
    """
    Return the context of all nodes in this process.

    One for all tests: to make a participant costs more than most of the tests.
    """
    context = harness.new_context()
    yield context
    harness.rclpy.shutdown(context=context)


@pytest.fixture
def peer(harness, context):
    """Return a :class:`Peer`."""
    peer = harness.Peer(context)
    peer.bridges = []
    yield peer
    for bridge in peer.bridges:
        bridge.shut_down()
    peer.destroy(*peer.bridges)


@pytest.fixture
def meet(harness):
    """Return a function that makes a :class:`Peer` that has met these nodes of processes."""
    peers = []

    def join(*names):
        peers.append(peer := harness.Peer())
        peer.spin_until(lambda: {*names} <= {*peer.node.get_node_names()}, f'the nodes {names}')
        return peer

    yield join
    for peer in peers:
        peer.destroy()


@pytest.fixture
def start(start_process):
    """Start ``python <args>``, which reads what a test says to it."""
    return lambda *args: start_process(None, *args, stdin=subprocess.PIPE)


@pytest.fixture
def live(harness, reference, start_process, tmp_path, meet):
    """Return a function that starts a bridge of the reference robot; its process, and a peer."""

    def start_it(*args, urdf=reference.URDF, how=None, **values):
        given = {'robot_description': harness.quoted(urdf), 'autostart': 'true', **values}
        path = harness.parameter_file(tmp_path / 'robot.yaml', given, '/**')
        line = (*args, '--ros-args', '--params-file', path)
        process = start_process('transmission_bridge.ros.main bridge_node', *line, **(how or {}))
        peer = meet('transmission_bridge')
        if given['autostart'] != 'false':
            peer.spin_until(lambda: peer.state() == 'active', 'the start')
        return process, peer

    return start_it


@pytest.fixture(autouse=True)
def no_time_to_repeat(harness, monkeypatch):
    """Let a node in this process log lines of one kind once, however slow the machine is."""
    clock = SimpleNamespace(monotonic=lambda: 0.0)
    monkeypatch.setattr('transmission_bridge.ros.throttled_log.time', clock)


@pytest.fixture
def log(capfd):
    """Return a function: how many lines of the log so far have these words."""
    text = ''

    def count(*words):
        nonlocal text
        text += capfd.readouterr().err
        return sum(all(word in line for word in words) for line in text.splitlines())

    return count


@pytest.fixture
def make_bridge(harness, peer):
    """Make a bridge in this process, spun along with the peer, with parameters as given."""
    from transmission_bridge.ros.bridge_node import TransmissionBridge

    def make(parameters=None, **kwargs):
        node = TransmissionBridge(
            context=peer.context,
            parameter_overrides=harness.overrides(parameters or {}),
            use_global_arguments=False,
            **kwargs,
        )
        peer.executor.add_node(node)
        peer.bridges.append(node)
        return node

    return make


@pytest.fixture
def diagnostics(harness, peer):
    """Return the :class:`Diagnostics` of the bridge in the root namespace."""
    return harness.Diagnostics(peer)


@pytest.fixture
def active_bridge(harness, make_bridge, peer, reference):
    """Make a patient bridge of the reference robot that is active, with further parameters."""

    def make(parameters=None, **kwargs):
        given = {'robot_description': reference.URDF, **harness.PATIENT, **(parameters or {})}
        node = make_bridge(given, **kwargs)
        peer.start(node.get_fully_qualified_name())
        return node

    return make
