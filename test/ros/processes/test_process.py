# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Spinning, and a node's process from start to exit code."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import signal
import subprocess
import sys
import time

import pytest

from transmission_bridge.resources import resource
from transmission_bridge.ros import bridge_main
from transmission_bridge.ros.process import available_executors, free_read_messages

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

URDF = resource('urdf', 'one_joint.urdf')

#: Seconds in which a signal must have ended a process.
PROMPT = 3.0

#: Longest wait for anything that is bound to happen [s].
PATIENCE = 30.0

PRELUDE = """
import sys
from transmission_bridge.errors import DescriptionError
from transmission_bridge.ros.process import run, spin_node, StopRequest

def make():
    from rclpy.node import Node
    node = Node('child')
    setup(node)
    return node

def setup(node):
    print('ready')

def stop(node):
    print('stopping', node.context.ok())

EXECUTOR = sys.argv[1]
"""
MAIN = """
sys.exit(run(make, [], executor=EXECUTOR, on_stop=stop))
"""

#: A timer that fires once, when the node spins.
ONCE = """
def setup(node):
    def first():
        timer.cancel()
        act(node)
    timer = node.create_timer(0.01, first)
"""

executors = pytest.mark.parametrize('executor', ['auto', *available_executors()])
signals = pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


@pytest.mark.versions
@executors
@signals
def test_signal_ends_an_idle_node_at_once(start, executor, number):
    """A node without traffic stops with its context still valid and exit code 0."""
    child = start('-c', PRELUDE + MAIN, executor)
    child.wait_for('ready')
    child.signal(number)
    assert child.ended(within=PROMPT) == 0
    assert 'stopping True' in child.output
    assert 'Traceback' not in child.output


@executors
def test_ignored_hangup_stays_ignored(start, executor):
    """Started with SIGHUP ignored, as ``nohup`` does, the node goes on until another signal."""
    code = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)

def setup(node):
    node.create_timer(0.01, lambda: print('tick'))
"""
    child = start('-c', PRELUDE + code + MAIN, executor)
    child.wait_for('tick')
    for _ in range(3):
        child.signal(signal.SIGHUP)
        for _ in range(5):
            child.wait_for('tick')
    assert child.process.poll() is None
    child.signal(signal.SIGTERM)
    assert child.ended(within=PROMPT) == 0
    assert 'stopping True' in child.output


@pytest.mark.versions
@executors
def test_second_signal_while_stopping_changes_nothing(start, executor):
    """A signal that comes while the node says its last words does not interrupt them."""
    slow = "def stop(node):\n    print('stopping')\n    print('said', sys.stdin.readline())\n"
    child = start('-c', PRELUDE + slow + MAIN, executor)
    child.wait_for('ready')
    child.signal(signal.SIGINT)
    child.wait_for('stopping')
    child.signal(signal.SIGINT)
    child.signal(signal.SIGTERM)
    child.say('goodbye')
    assert child.ended(within=PROMPT) == 0
    assert 'said goodbye' in child.output
    assert 'Traceback' not in child.output


@pytest.mark.versions
@executors
def test_last_words_arrive(start, peer, executor):
    """The last messages of a node that stops are received."""
    from std_msgs.msg import String

    speak = """
def setup(node):
    from std_msgs.msg import String
    node.words = node.create_publisher(String, 'words', 10)
    node.create_timer(0.02, lambda: node.words.publish(String(data='hello')))

def stop(node):
    from rclpy.duration import Duration
    from std_msgs.msg import String
    node.words.publish(String(data='goodbye'))
    node.words.wait_for_all_acked(Duration(seconds=2.0))
"""
    received = []
    peer.node.create_subscription(
        String, 'words', lambda message: received.append(message.data), 10
    )
    child = start('-c', PRELUDE + speak + MAIN, executor)
    peer.spin_until(lambda: 'hello' in received)
    child.signal(signal.SIGTERM)
    peer.spin_until(lambda: 'goodbye' in received)
    # It may wait for acknowledgements first.
    assert child.ended(within=PROMPT + 2.0) == 0
    assert received[-1] == 'goodbye'


@signals
def test_signal_before_the_node_is_made(start, number):
    """A signal during the slow start is not lost and ends the process properly."""
    slow = "def setup(node):\n    print('making')\n    sys.stdin.readline()\n"
    child = start('-c', PRELUDE + slow + MAIN, 'auto')
    child.wait_for('making')
    child.signal(number)
    child.say('go on')
    assert child.ended(within=PROMPT) == 0
    assert 'Traceback' not in child.output


@pytest.mark.versions
@executors
def test_bug_in_a_callback_is_not_hidden(start, executor):
    """An exception of a callback ends the process with its traceback, after the last words."""
    act = "def act(node):\n    raise RuntimeError('a bug')\n"
    child = start('-c', PRELUDE + ONCE + act + MAIN, executor)
    assert child.ended() == 1
    assert 'RuntimeError: a bug' in child.output
    assert 'stopping True' in child.output


@pytest.mark.versions
@executors
def test_flood_of_messages_keeps_nothing_waiting(start, peer, executor):
    """While there is always a next message, services are answered and timers go on."""
    from std_srvs.srv import Trigger

    flood = """
def setup(node):
    from std_msgs.msg import String
    from std_srvs.srv import Trigger
    counts = {'messages': 0, 'ticks': 0}

    def again(message):
        counts['messages'] += 1
        publisher.publish(message)

    def tick():
        counts['ticks'] += 1

    def answer(request, response):
        response.success = counts['messages'] > 100
        response.message = str(counts['ticks'])
        return response

    publisher = node.create_publisher(String, 'again', 10)
    node.create_subscription(String, 'again', again, 10)
    node.create_service(Trigger, 'ask', answer)
    node.create_timer(0.005, tick)
    for _ in range(5):
        publisher.publish(String())
"""
    client = peer.node.create_client(Trigger, 'ask')
    child = start('-c', PRELUDE + flood + MAIN, executor)
    peer.spin_until(client.service_is_ready)
    ticks, asked = set(), []

    def has_ticked():
        # The first answers may be lost: the client may know the service before it is known.
        if not asked or time.monotonic() > asked[-1][1]:
            asked.append((client.call_async(Trigger.Request()), time.monotonic() + 0.5))
        answers = [future.result() for future, _ in asked if future.done()]
        ticks.update(int(answer.message) for answer in answers if answer.success)
        return len(ticks) >= 3

    peer.spin_until(has_ticked)
    child.signal(signal.SIGINT)
    assert child.ended(within=PROMPT) == 0
    assert 'Traceback' not in child.output


#: Handles a message in two hundredths of a second, of which twice as many come until it is told
#: to end; says which executor calls it whenever that has changed.
OVERLOAD = """
import threading, time
from transmission_bridge.ros import process
process._RELIEF = 1.0

def setup(node):
    import rclpy
    from std_msgs.msg import String
    told, seen = threading.Event(), []

    def hear(data):
        name = type(node.executor).__name__
        if seen[-1:] != [name]:
            seen.append(name)
            print('called by', name)
        if not told.is_set():
            time.sleep(0.02)

    def flood():
        other = rclpy.create_node('other')
        publisher = other.create_publisher(String, 'flood', 10)
        print('ready')
        while node.context.ok():
            publisher.publish(String())
            time.sleep(0.1 if told.is_set() else 0.01)

    def listen():
        sys.stdin.readline()
        told.set()

    node.create_subscription(String, 'flood', hear, 10, raw=True)
    for thread in (flood, listen):
        threading.Thread(target=thread, daemon=True).start()
"""


@pytest.mark.versions
@pytest.mark.skipif('events' not in available_executors(), reason='there is no events executor')
@pytest.mark.parametrize('ends_calm', [True, False])
def test_events_executor_that_falls_behind_is_relieved(start, ends_calm):
    """While messages come too fast the other executor works, and the first again afterwards."""
    child = start('-c', PRELUDE + OVERLOAD + MAIN, 'auto')
    child.wait_for('called by EventsExecutor')
    child.wait_for('called by AttentiveExecutor')
    if ends_calm:
        child.say('end')
        child.wait_for('called by EventsExecutor')
    child.signal(signal.SIGINT)
    assert child.ended(within=PROMPT) == 0
    assert 'the single-threaded executor takes over' in child.output
    assert 'stopping True' in child.output
    assert 'Traceback' not in child.output


#: Callbacks of which each takes long, as those of a start on a slow machine; messages and timers
#: wait meanwhile.
SLOW = """
import time

def setup(node):
    from std_msgs.msg import String
    steps = [2.5, 0.4, 0.4, 0.4, 0.4]

    def step():
        if steps:
            end = time.monotonic() + steps.pop(0)
            while time.monotonic() < end:
                sum(range(1000))
            publisher.publish(String())

    publisher = node.create_publisher(String, 'slow', 10)
    node.create_subscription(String, 'slow', lambda data: step(), 10, raw=True)
    node.create_timer(0.1, lambda: print('tick', len(steps)) if not steps else step())
"""


@pytest.mark.skipif('events' not in available_executors(), reason='there is no events executor')
def test_long_callbacks_are_no_flood(start):
    """Callbacks that take long, as when the node starts, neither warn nor change the executor."""
    child = start('-c', PRELUDE + SLOW + MAIN, 'auto')
    for _ in range(8):  # long enough for one more look after the last step
        child.wait_for('tick')
    child.signal(signal.SIGINT)
    assert child.ended(within=PROMPT) == 0
    assert 'takes over' not in child.output
    assert 'Traceback' not in child.output


#: Messages of a full queue, and the size of each [MiB].
QUEUE, LARGE = 10, 8

HOARD = """
from pathlib import Path

def resident():
    status = Path('/proc/self/status').read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith('VmRSS'))

def setup(node):
    from std_msgs.msg import String
    heard = []

    def hear(data):
        heard.append(len(data))
        if len(heard) == QUEUE:
            print('grown by', resident() - before, 'MiB')

    node.create_subscription(String, 'large', hear, QUEUE, raw=True)
    before = resident()
    print('ready')
    sys.stdin.readline()
    print('filled by', resident() - before, 'MiB')
""".replace('QUEUE', str(QUEUE))


@pytest.mark.versions
def test_messages_that_were_read_keep_no_memory(start, peer):
    """A queue that was full of large messages is as small as before once they were read."""
    from rclpy.duration import Duration
    from std_msgs.msg import String

    child = start('-c', PRELUDE + HOARD + MAIN, 'auto')
    child.wait_for('ready')
    publisher = peer.node.create_publisher(String, 'large', QUEUE)
    peer.spin_until(publisher.get_subscription_count)
    for _ in range(QUEUE):
        publisher.publish(String(data='x' * (LARGE << 20)))
    assert publisher.wait_for_all_acked(Duration(seconds=30.0))
    child.say('go on')
    child.wait_for('grown by')
    sizes = {}
    for line in child.output.splitlines():
        what, _, size = line.partition(' by ')
        sizes[what] = float(size.split()[0]) if size else None
    assert sizes['filled'] > 0.9 * QUEUE * LARGE
    # A message under way takes two, its buffer and its bytes.
    assert sizes['grown'] < 4 * LARGE
    child.signal(signal.SIGTERM)
    assert child.ended(within=PROMPT) == 0


#: Variables that configure Fast DDS.
FAST_DDS = [
    'FASTDDS_DEFAULT_PROFILES_FILE',
    'FASTRTPS_DEFAULT_PROFILES_FILE',
    'RMW_FASTRTPS_USE_QOS_FROM_XML',
    'RMW_FASTRTPS_PUBLICATION_MODE',
]


@pytest.mark.parametrize('name', FAST_DDS)
def test_configuration_of_fast_dds_is_left_alone(monkeypatch, name):
    """A configuration of Fast DDS by the environment is kept completely."""
    monkeypatch.setenv(name, '0')
    before = dict(os.environ)
    free_read_messages()
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ('version', 'name'),
    [
        ('7.1.5', 'FASTRTPS_DEFAULT_PROFILES_FILE'),
        ('7.1.11', 'FASTRTPS_DEFAULT_PROFILES_FILE'),
        ('9.1.7', 'FASTDDS_DEFAULT_PROFILES_FILE'),
        ('10.0.11', 'FASTDDS_DEFAULT_PROFILES_FILE'),
    ],
)
def test_the_profile_is_where_the_fast_dds_of_the_distribution_looks(monkeypatch, version, name):
    """Fast DDS 2 of Jazzy does not know the variable of Fast DDS 3, which warns of the other."""
    for variable in FAST_DDS:
        monkeypatch.delenv(variable, raising=False)
    # So that what is set is taken away again.
    monkeypatch.setattr(os, 'environ', os.environ.copy())
    monkeypatch.setattr(importlib.metadata, 'version', lambda _: version)
    free_read_messages()
    assert [each for each in FAST_DDS if each in os.environ] == [name, FAST_DDS[2]]


@pytest.mark.parametrize('name', ['DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml'])
def test_profiles_in_the_working_directory_are_left_alone(monkeypatch, tmp_path, name):
    """A file of profiles where Fast DDS looks for one is not mixed with ours."""
    monkeypatch.chdir(tmp_path)
    for variable in FAST_DDS:
        monkeypatch.delenv(variable, raising=False)
    before = dict(os.environ)
    (tmp_path / name).touch()
    free_read_messages()
    assert dict(os.environ) == before


@pytest.mark.versions
@executors
def test_context_that_goes_down_ends_the_loop(start, executor):
    """If another thread shuts the context down, the process ends with exit code 0."""
    act = 'def act(node):\n    node.context.shutdown()\n'
    child = start('-c', PRELUDE + ONCE + act + MAIN, executor)
    assert child.ended() == 0
    assert 'stopping False' in child.output
    assert 'Traceback' not in child.output


@pytest.mark.versions
@executors
def test_loop_ends_on_a_request_of_a_callback(start, executor):
    """A callback can ask the loop to stop, and node and context remain usable."""
    code = """
import rclpy
rclpy.init()
node = rclpy.create_node('child')
calls, stop = [], StopRequest()

def call():
    calls.append(True)
    if len(calls) == 3:
        stop.request_stop()

node.create_timer(0.01, call)
spin_node(node, executor=EXECUTOR, stop=stop)
assert len(calls) == 3 and node.context.ok()
node.destroy_node()
rclpy.shutdown()
print('returned')
"""
    child = start('-c', PRELUDE + code, executor)
    assert child.ended() == 0, child.output
    assert 'returned' in child.output


def test_unknown_executor_is_named(start):
    """A name that is no executor is refused with the names that are."""
    child = start('-c', PRELUDE + MAIN, 'fastest')
    assert child.ended() == 1
    known = ', '.join(['auto', *available_executors()])
    assert f"unknown executor 'fastest', known: {known}" in child.output


def test_mistake_of_the_user_is_a_sentence(start):
    """A node that cannot be made for the user's own reason gives that reason and exit code 1."""
    code = "def setup(node):\n    raise DescriptionError('no robot in it', line=7)\n"
    child = start('-c', PRELUDE + code + MAIN, 'auto')
    assert child.ended() == 1
    assert 'line 7: no robot in it' in child.output
    assert 'Traceback' not in child.output


#: Starts a Python of the arguments after the first without the streams that the first names.
WITHOUT_STREAMS = """
import os, sys
for descriptor in map(int, sys.argv[1]):
    os.close(descriptor)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


@pytest.mark.parametrize('closed', ['0', '1', '2', '12', '012'])
def test_bridge_runs_without_standard_streams(start, peer, executor, closed):
    """The bridge works and ends properly whichever of its standard streams are closed."""
    from sensor_msgs.msg import JointState

    heard = []
    peer.node.create_subscription(JointState, 'joint_states', heard.append, 10)
    driver = peer.node.create_publisher(JointState, 'actuator_states', 10)
    state = JointState(name=['hinge_motor'], position=[25.0])
    peer.node.create_timer(0.05, lambda: driver.publish(state))
    child = start(
        *('-c', WITHOUT_STREAMS, closed, '-m', 'transmission_bridge.ros.bridge_main'),
        *('--executor', executor, '--urdf', URDF, '--ros-args', '-p', 'autostart:=true'),
    )
    peer.spin_until(lambda: heard)
    assert (list(heard[0].name), list(heard[0].position)) == (['hinge'], [0.5])
    child.signal(signal.SIGINT)
    assert child.ended(within=PROMPT) == 0
    assert 'Traceback' not in child.output


@pytest.mark.parametrize('module', ['bridge_main', 'simulated_driver_main'])
@pytest.mark.parametrize(
    ('file', 'reason'),
    [
        ('/dev/zero', 'the robot description is too long (expected at most 16777216 bytes)'),
        ('no/such/file.urdf', 'No such file or directory'),
        (
            '/dev/null',
            "file '/dev/null' is empty: the program that writes it (xacro?) has failed",
        ),
    ],
)
def test_description_that_cannot_be_read_is_a_sentence(start, module, file, reason):
    """``--urdf`` of an endless, missing or empty file ends with exit code 2 and the reason."""
    child = start('-m', f'transmission_bridge.ros.{module}', '--urdf', file)
    assert child.ended() == 2
    assert f'error: --urdf {file}: {reason}\n' in child.output
    assert 'Traceback' not in child.output


def test_pipe_that_nobody_writes_to_is_given_up(monkeypatch, capsys, tmp_path):
    """``--urdf`` of a pipe without a writer ends with exit code 2 and a sentence."""
    monkeypatch.setattr('transmission_bridge.description.source.PIPE_TIMEOUT', 0.1)
    pipe = tmp_path / 'robot.urdf'
    os.mkfifo(pipe)
    with pytest.raises(SystemExit) as end:
        bridge_main.main(['--urdf', str(pipe)])
    assert end.value.code == 2
    sentence = f'error: --urdf {pipe}: no data came from this pipe after 0.1 s\n'
    assert capsys.readouterr().err.endswith(sentence)


@pytest.mark.parametrize('module', ['bridge_main', 'simulated_driver_main'])
def test_interrupt_while_a_pipe_is_waited_for(start, tmp_path, module):
    """Ctrl-C while ``--urdf`` waits for a pipe ends as that of a command: 130, without a word."""
    pipe = tmp_path / 'robot.urdf'
    os.mkfifo(pipe)
    child = start('-m', f'transmission_bridge.ros.{module}', '--urdf', pipe)
    writer = writing_end(pipe)
    try:
        child.signal(signal.SIGINT)
        assert child.ended(within=PROMPT) == 130
    finally:
        os.close(writer)
    assert child.output == ''


def writing_end(pipe):
    """Open a pipe for writing once it has a reader; nothing is written."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def test_without_rclpy_the_reader_learns_what_to_install():
    """Without rclpy the process explains how to install it and ends with exit code 1."""
    code = (
        "import sys; sys.modules['rclpy'] = None\n"
        'from transmission_bridge.ros.process import run\n'
        'sys.exit(run(lambda: None))\n'
    )
    result = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=30, check=False
    )
    assert result.returncode == 1
    assert 'pip install' in result.stderr
    assert 'Traceback' not in result.stderr
