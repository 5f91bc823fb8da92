# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge watch``."""

from __future__ import annotations

import builtins
import io
import math
import os
import threading

from hypothesis import given
from hypothesis import strategies as st
import pytest

from transmission_bridge.tools.console import Console, Stream
from transmission_bridge.tools.watch_screen import live_screen, plain_lines
from transmission_bridge.tools.watch_state import TOPICS, WatchState


def arrays(*position: float, velocity=(), effort=()) -> dict:
    """Return the arrays of a message."""
    return {'position': position, 'velocity': velocity, 'effort': effort}


def test_the_newest_value_of_each_interface_is_kept():
    """Messages with some names and some interfaces add up; NaN commands nothing."""
    state = WatchState()
    state.take('joint_states', ['a', 'b'], arrays(1.0, 2.0, velocity=(3.0, 4.0)), 10.0)
    state.take('joint_states', ['b'], arrays(5.0), 11.0)
    state.take('joint_commands', ['b'], arrays(6.0), 11.0)
    state.take('joint_commands', ['b'], arrays(math.nan, velocity=(7.0,)), 11.5)
    first, second = state.rows(12.0)
    assert (first.kind, first.name, first.state) == ('joint', 'a', (1.0, 3.0, None))
    assert (first.command, first.age) == ((None, None, None), 2.0)
    assert (second.state, second.age) == ((5.0, 4.0, None), 1.0)
    assert second.command == (6.0, 7.0, None)


@given(st.integers(1, 200), st.floats(0.5, 10.0))
def test_the_rate_of_a_regular_topic_is_its_rate(hertz, seconds):
    """Whatever the rate and however long, to within one message over two seconds."""
    state = WatchState()
    count = int(hertz * seconds)
    for number in range(count + 1):
        state.take('actuator_states', ['m'], arrays(0.0), 100.0 + number / hertz)
    now = 100.0 + seconds
    assert abs(state.rate('actuator_states', now) - hertz) <= 1.0 / min(seconds, 2.0) + 1e-6
    assert state.rate('joint_states', now) == 0.0
    assert state.rate('actuator_states', now + 3.0) == 0.0


def test_a_burst_is_no_rate():
    """Many messages at once count over the time since the topic was first heard."""
    state = WatchState()
    state.take('joint_states', ['a'], arrays(0.0), 10.0)
    for number in range(20):
        state.take('joint_states', ['a'], arrays(0.0), 11.0 + number * 1e-6)
    assert state.rate('joint_states', 12.0) == pytest.approx(10.0)


def test_clamps_are_summed_over_the_sources_of_commands():
    """Counts come from the diagnostics of each source, the newest of each."""
    state = WatchState()
    state.take('joint_states', ['elbow', 'wrist'], arrays(0.0, 0.0), 1.0)
    for count in ('2', '3'):
        values = [('clamped', count), ('clamped elbow', count), ('accepted', '9')]
        state.take_diagnostics('bridge: commands of joint_commands', 1, 'inside', values)
    values = [('clamped elbow', '4'), ('clamped wrist', 'x')]
    state.take_diagnostics('bridge: commands of position_commands', 0, 'OK', values)
    assert [row.clamped for row in state.rows(1.0)] == [7, 0]
    assert state.troubles() == (('bridge: commands of joint_commands', 'inside'),)
    state.take_diagnostics('bridge: commands of joint_commands', 0, 'OK', [])
    assert state.troubles() == ()


def test_plain_lines_show_every_row_and_topic():
    """Without a terminal the table is aligned text, with what was never heard."""
    state = WatchState()
    state.take('actuator_states', ['motor'], arrays(100.0), 1.0)
    state.take('joint_states', ['elbow\n'], arrays(math.nan), 1.0)
    lines = plain_lines(state, 1.5)
    assert any(line.startswith('motor') and '100.0000' in line for line in lines)
    assert any(line.startswith('elbow\\n') and 'nan' in line for line in lines)
    assert 'joint_commands: never heard' in lines
    assert [line.split(':')[0] for line in lines[-len(TOPICS) :]] == list(TOPICS)


class _Terminal(io.StringIO):
    encoding = 'utf-8'

    def isatty(self) -> bool:
        return True


def test_without_rich_a_terminal_gets_plain_lines_and_a_hint(hide):
    """The extra that installs it is named, and the command goes on."""
    hide('rich')
    out, err = _Terminal(), io.StringIO()
    with live_screen(Console(Stream(out), Stream(err))) as show:
        assert show is None
    assert "pip install 'transmission_bridge[cli]'" in err.getvalue()


def test_a_live_table_shows_names_as_they_are(monkeypatch):
    """Brackets in names and units are text, not styles."""
    pytest.importorskip('rich')
    out, err = _Terminal(), io.StringIO()
    monkeypatch.setattr('sys.stdout', out)
    monkeypatch.setenv('COLUMNS', '160')
    monkeypatch.setenv('TERM', 'xterm')
    state = WatchState()
    state.take('joint_states', ['[bold]elbow[/]'], arrays(1.25), 1.0)
    with live_screen(Console(Stream(out), Stream(err))) as show:
        assert show is not None
        show(state, 1.5)
    assert '[bold]elbow[/]' in out.getvalue()
    assert 'AGE [s]' in out.getvalue()
    assert '1.2500' in out.getvalue()


def test_without_ros_the_user_is_told_in_one_sentence(run, monkeypatch):
    """Exit code 2, and how to get it."""
    real = builtins.__import__

    def without(name: str, *rest: object, **more: object):
        if name.split('.')[0] in ('rclpy', 'diagnostic_msgs', 'sensor_msgs'):
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
        return real(name, *rest, **more)

    monkeypatch.setattr('builtins.__import__', without)
    result = run('watch', '--once')
    assert (result.code, result.out) == (2, '')
    assert 'is not installed' in result.err
    assert result.err.count('\n') == 1


@pytest.mark.ros
def test_once_shows_what_is_published(run, monkeypatch):
    """States of both sides in another context are heard, and the snapshot ends the command."""
    rclpy = pytest.importorskip('rclpy')
    from rclpy.context import Context
    from sensor_msgs.msg import JointState

    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    monkeypatch.setenv('ROS_DOMAIN_ID', str(60 + os.getpid() % 40))
    context = Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node('publishers', context=context, namespace='left')
    publishers = {
        topic: node.create_publisher(JointState, topic, 10)
        for topic in ('actuator_states', 'joint_states')
    }
    stop = threading.Event()

    def publish() -> None:
        while not stop.wait(0.02):
            for topic, publisher in publishers.items():
                publisher.publish(JointState(name=[f'{topic}_name'], position=[0.125]))

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        result = run('watch', '--once', '--namespace', 'left', '--seconds', '30')
    finally:
        stop.set()
        thread.join()
        node.destroy_node()
        context.try_shutdown()
    assert (result.code, result.err) == (0, '')
    for topic in publishers:
        assert f'{topic}_name' in result.out
    assert result.out.count('0.1250') == 2


@pytest.mark.ros
def test_silence_is_exit_code_one(run, monkeypatch):
    """Where nothing is published the user is told what was listened to."""
    pytest.importorskip('rclpy')
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    result = run('watch', '--seconds', '0.3', '--namespace', 'nobody_is_here')
    assert (result.code, result.out) == (1, '')
    assert 'no states have arrived' in result.err
    assert run('watch', '--seconds', '0.3', '--namespace', 'no name').code == 2
