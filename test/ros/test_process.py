# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Spinning, and a node's process from start to exit code."""

from contextlib import suppress
import importlib.metadata
import os
from pathlib import Path
import re
import signal

import pytest

from transmission_bridge.resources import resource
from transmission_bridge.ros.process import available_executors, free_read_messages

URDF = resource('urdf', 'one_joint.urdf')

PRELUDE = """
import sys
from transmission_bridge.errors import DescriptionError
from transmission_bridge.ros.process import run, spin_node

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

executors = pytest.mark.parametrize('executor', available_executors())


@pytest.mark.versions
@executors
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_an_idle_node_at_once(start, executor, number):
    """It stops with its context valid; what comes while it says its last words is nothing."""
    slow = """
def stop(node):
    print('stopping', node.context.ok())
    print('said', sys.stdin.readline())
"""
    child = start('-c', PRELUDE + slow + MAIN, executor)
    child.wait_for('ready')
    child.send_signal(number)
    child.wait_for('stopping True')
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGTERM)
    child.say('goodbye')
    assert child.ended() == 0
    assert 'said goodbye' in child.output
    assert 'Traceback' not in child.output


def test_signal_before_the_node_is_made(start):
    """A signal during the slow start is not lost and ends the process properly."""
    slow = "def setup(node):\n    print('making')\n    sys.stdin.readline()\n"
    child = start('-c', PRELUDE + slow + MAIN, 'auto')
    child.wait_for('making')
    child.send_signal(signal.SIGTERM)
    child.say('go on')
    assert child.ended() == 0
    assert 'Traceback' not in child.output


@pytest.mark.versions
@executors
@pytest.mark.parametrize(
    ('act', 'code', 'words'),
    [
        ("raise RuntimeError('a bug')", 1, ('RuntimeError: a bug', 'stopping True')),
        ('node.context.shutdown()', 0, ('stopping False',)),
    ],
)
def test_what_ends_the_loop_from_inside(start, executor, act, code, words):
    """A bug of a callback ends it with its traceback, a context that goes down with 0."""
    child = start('-c', f'{PRELUDE}{ONCE}\ndef act(node):\n    {act}\n{MAIN}', executor)
    assert child.ended() == code
    assert all(each in child.output for each in words)
    assert ('Traceback' in child.output) == bool(code)


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
def test_events_executor_that_falls_behind_is_relieved(start):
    """While messages come too fast the other executor works, and the first again afterwards."""
    child = start('-c', PRELUDE + OVERLOAD + MAIN, 'auto')
    child.wait_for('called by EventsExecutor')
    child.wait_for('called by SingleThreadedExecutor')
    child.say('end')
    child.wait_for('called by EventsExecutor', times=2)
    child.ends_well(signal.SIGINT)
    assert 'the single-threaded executor takes over' in child.output
    assert 'stopping True' in child.output


#: Callbacks of which every third takes long, as those of a start on a slow machine; others wait
#: meanwhile. Time goes on in these alone, and a check is due after each of them.
SLOW = """
import itertools, time
from types import SimpleNamespace
from transmission_bridge.ros import process
process._CHECK, process._LATE = 0.1, 0.25
clock = [0.0]
process.time = SimpleNamespace(monotonic=lambda: clock[0])
measure = process._Loop._measure_delay

def say_and_measure(loop, again=False):
    if again:
        print('measured again')
    measure(loop, again)

process._Loop._measure_delay = say_and_measure

def setup(node):
    from std_msgs.msg import String
    delays = itertools.cycle([0.8, 0.1, 0.1])

    def step(data=None):
        time.sleep(0.15)
        clock[0] += next(delays)
        publisher.publish(String())

    def begin():
        timer.cancel()
        step()

    publisher = node.create_publisher(String, 'slow', 10)
    node.create_subscription(String, 'slow', step, 10, raw=True)
    timer = node.create_timer(0.05, begin)
"""


@pytest.mark.versions
@pytest.mark.skipif('events' not in available_executors(), reason='there is no events executor')
def test_long_callbacks_are_no_flood(start):
    """A check that one long callback delays is repeated; no executor takes over."""
    child = start('-c', PRELUDE + SLOW + MAIN, 'auto')
    child.wait_for('measured again', times=3)
    child.ends_well(signal.SIGINT)
    assert 'takes over' not in child.output


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
    publisher = peer.publisher('large', QUEUE, kind=String)
    for _ in range(QUEUE):
        publisher.publish(String(data='x' * (LARGE << 20)))
    assert publisher.wait_for_all_acked(Duration(seconds=60.0))
    child.say('go on')
    child.wait_for('grown by')
    filled, grown = (float(size) for size in re.findall(r' by ([-+.\de]+) MiB', child.output))
    assert filled > 0.9 * QUEUE * LARGE
    # A message under way takes two, its buffer and its bytes.
    assert grown < 4 * LARGE
    child.ends_well(signal.SIGTERM)


#: Variables that configure Fast DDS.
FAST_DDS = [
    'FASTDDS_DEFAULT_PROFILES_FILE',
    'FASTRTPS_DEFAULT_PROFILES_FILE',
    'RMW_FASTRTPS_USE_QOS_FROM_XML',
    'RMW_FASTRTPS_PUBLICATION_MODE',
]


FILES = ['DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml']


@pytest.mark.parametrize(
    ('given', 'version', 'added'),
    [
        *((name, '9.1.7', []) for name in (*FAST_DDS, *FILES)),
        ('', '7.1.5', ['FASTRTPS_DEFAULT_PROFILES_FILE']),
        ('', '7.1.11', ['FASTRTPS_DEFAULT_PROFILES_FILE']),
        ('', '9.1.7', ['FASTDDS_DEFAULT_PROFILES_FILE']),
        ('', '10.0.11', ['FASTDDS_DEFAULT_PROFILES_FILE']),
    ],
)
def test_configuration_of_fast_dds(monkeypatch, tmp_path, given, version, added):
    """One by the environment or a file is kept; else the profile is where its version looks."""
    monkeypatch.chdir(tmp_path)
    before = {name: each for name, each in os.environ.items() if name not in FAST_DDS}
    if given in FAST_DDS:
        before[given] = '0'
    elif given:
        (tmp_path / given).touch()
    monkeypatch.setattr(os, 'environ', before.copy())
    monkeypatch.setattr(importlib.metadata, 'version', lambda _: version)
    free_read_messages()
    new = os.environ.keys() - before.keys()
    assert new == {*added, FAST_DDS[2]} if added else os.environ == before


PROGRAMS, BRIDGE, DRIVER = 'transmission_bridge.ros.main', 'bridge_node', 'driver_node'
SCRIPTED = Path(__file__).parents[1] / 'support' / 'scripted_driver.py'
EMPTY = "file '/dev/null' is empty: the program that writes it (xacro?) has failed"
TIMEOUT = 'command_timeout cannot be accepted (expected -1, 0, or 0.001 to 86400'
POSITIONS = 'zero_positions cannot be accepted (expected -1000000 to 1000000, found'
WRONG = "state_timeout has the wrong type (expected a number, found '10')"
CHOICE = "limits cannot be accepted (expected 'clamp' or 'reject' or 'off', found 'clip')"
PLUGINS = "['*=scripted_driver/Scripted']"
NO_BLOCK = "block 'arm': expected a block with a driver in Python, found none"


@pytest.mark.versions
@pytest.mark.parametrize(
    ('module', 'words', 'code', 'sentence'),
    [
        (
            BRIDGE,
            '--urdf no/such.urdf',
            2,
            'error: argument --urdf: no/such.urdf: No such file or',
        ),
        (DRIVER, '--urdf /dev/null', 2, f'error: argument --urdf: /dev/null: {EMPTY}\n'),
        (BRIDGE, '--exeutor=auto', 2, "unknown option '--exeutor' (closest: '--executor')\n"),
        (DRIVER, f'--urdf {URDF} --ros-args -p block:=arm', 1, NO_BLOCK),
        (BRIDGE, f'--driver {__file__}', 2, 'has no subclass of transmission_bridge.Driver'),
        (BRIDGE, f'--urdf {URDF} --driver {SCRIPTED}', 2, 'no <plugin> of the description is scr'),
        (DRIVER, '--ros-args -p robot_description:=<robot', 1, 'line 1'),
        (
            DRIVER,
            '--ros-args -p command_timeout:=fast',
            1,
            'has the wrong type (expected a number',
        ),
        (DRIVER, '--ros-args --log-level loud', 1, 'loud'),
        (DRIVER, '--ros-args --unknown', 1, '--unknown'),
        (BRIDGE, '--ros-args --params-file no/such.yaml', 1, 'no/such.yaml'),
        (BRIDGE, f'--ros-args --params-file {__file__}', 2, 'it is not YAML'),
        (BRIDGE, '--ros-args -p command_timeout:=1e300', 1, TIMEOUT),
        (BRIDGE, '--ros-args -p zero_positions:=[.nan]', 1, POSITIONS),
        (BRIDGE, "--ros-args -p state_timeout:='10'", 1, WRONG),
        (BRIDGE, '--ros-args -p limits:=clip', 1, CHOICE),
        (
            BRIDGE,
            '--ros-args -p actuator_state_topics:=[1x]',
            1,
            "expected names of topics, found '1x'",
        ),
    ],
)
def test_mistake_of_the_user_is_a_sentence(start, module, words, code, sentence):
    """It ends the process with the reason and an exit code, without a traceback."""
    child = start('-m', PROGRAMS, module, *words.split())
    assert child.ended() == code
    assert sentence in child.output
    assert 'Traceback' not in child.output


def test_a_driver_of_a_file_is_named_by_hardware_plugins(start):
    """As the error about a description without its name advises: the class is made."""
    words = ('--urdf', URDF, '--driver', SCRIPTED, '--ros-args', '-p')
    child = start('-m', PROGRAMS, BRIDGE, *words, f'hardware_plugins:={PLUGINS}')
    child.wait_for('<param name="script">')


BAD = "def setup(node):\n    raise DescriptionError('no robot in it', line=7)\n"


@pytest.mark.parametrize(
    ('script', 'executor', 'words'),
    [
        (PRELUDE + BAD, 'auto', 'line 7: no robot in it'),
        (PRELUDE, 'fastest', "unknown executor 'fastest', known: auto, "),
        ("import sys; sys.modules['rclpy'] = None\n" + PRELUDE, 'auto', 'pip install'),
    ],
)
def test_node_that_cannot_be_made(start, script, executor, words):
    """It gives the reason in a sentence, also if rclpy does not have the executor."""
    child = start('-c', script + MAIN, executor)
    assert child.ended() == 1
    assert words in child.output
    assert 'Traceback' not in child.output


#: Starts a Python of the arguments after the first without the streams that the first names.
WITHOUT_STREAMS = """
import os, sys
for descriptor in map(int, sys.argv[1]):
    os.close(descriptor)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


@pytest.mark.parametrize('closed', ['0', '012'])
def test_bridge_runs_without_standard_streams(start, peer, executor, closed):
    """The bridge works and ends properly whichever of its standard streams are closed."""
    from sensor_msgs.msg import JointState

    heard = []
    peer.node.create_subscription(JointState, 'joint_states', heard.append, 10)
    driver = peer.node.create_publisher(JointState, 'actuator_states', 10)
    state = JointState(name=['hinge_motor'], position=[25.0])
    peer.node.create_timer(0.05, lambda: driver.publish(state))
    words = ('--executor', executor, '--urdf', URDF, '--ros-args', '-p', 'autostart:=true')
    child = start('-c', WITHOUT_STREAMS, closed, '-m', PROGRAMS, BRIDGE, *words)
    peer.spin_until(lambda: heard)
    assert (list(heard[0].name), list(heard[0].position)) == (['hinge'], [0.5])
    child.ends_well(signal.SIGINT)


@pytest.mark.parametrize('module', ['bridge_node', 'driver_node'])
def test_interrupt_while_a_pipe_is_waited_for(start, tmp_path, module):
    """Ctrl-C while ``--urdf`` waits for a pipe ends as that of a command: 130, without a word."""
    pipe = tmp_path / 'robot.urdf'
    os.mkfifo(pipe)
    child = start('-m', PROGRAMS, module, '--urdf', pipe)
    writers = []

    def is_read():
        if not writers:
            with suppress(OSError):  # it has no reader yet
                writers.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        # A signal just before the system call of the read would be seen after it.
        state = Path(f'/proc/{child.pid}/stat').read_text().rpartition(')')[2].split()[0]
        return writers and state == 'S'

    child.wait(is_read, 'a reader of the pipe')
    try:
        child.send_signal(signal.SIGINT)
        assert child.ended() == 130
    finally:
        os.close(writers[0])
    assert child.output == ''
