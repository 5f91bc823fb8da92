# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A later rclpy may lack each thing that is not public; the bridge then does what is documented.

A name is taken away by running rclpy with another name in its place, in all of its sources.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

import transmission_bridge
from transmission_bridge.resources import resource

rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

ROS = Path(transmission_bridge.__file__).parent / 'ros'
BRIDGE = 'transmission_bridge.ros.bridge_main'
URDF = resource('urdf', 'one_joint.urdf')
REDUCTION = 'transmissions.hinge_transmission.joints.hinge.mechanical_reduction'

#: Imported by every Python process before anything else.
SITE = """
import importlib.machinery
import re

name = {name!r}
get_code = importlib.machinery.SourceFileLoader.get_code

def renamed(loader, module):
    if module.partition('.')[0] != 'rclpy':
        return get_code(loader, module)
    source = re.sub(rf'\\b{{name}}\\b', f'{{name}}_of_old', loader.get_source(module))
    return compile(source, loader.path, 'exec')

importlib.machinery.SourceFileLoader.get_code = renamed
"""

#: The names that rclpy does not promise, of which the bridge can do without each.
NAMES = (
    '_parameter_overrides',
    '_guard',
    '_wait_for_ready_callbacks',
    'rclpy_implementation',
    'send_response',
    'EventsExecutor',
)


@pytest.fixture
def without(tmp_path, monkeypatch):
    """Return a function that has the processes of a test run with an rclpy that lacks a name."""

    def take_away(name):
        folder = tmp_path / 'site'
        folder.mkdir(exist_ok=True)
        (folder / 'sitecustomize.py').write_text(SITE.format(name=name), encoding='utf-8')
        package = Path(transmission_bridge.__file__).parents[1]
        paths = [str(folder), str(package), os.environ.get('PYTHONPATH', '')]
        monkeypatch.setenv('PYTHONPATH', os.pathsep.join(filter(None, paths)))

    return take_away


@pytest.fixture
def start_bridge(harness, start_process, tmp_path):
    """Start a bridge of one joint with the single-threaded executor, and parameters as given."""

    def start(values=(), executor='single_threaded'):
        file = harness.parameter_file(
            tmp_path / 'parameters.yaml', {'autostart': 'true', **dict(values)}
        )
        return start_process(
            BRIDGE, '--executor', executor, '--urdf', URDF, '--ros-args', '--params-file', file
        )

    return start


@pytest.mark.versions
@pytest.mark.parametrize('name', NAMES)
def test_the_bridge_works_without(without, start_bridge, peer, name):
    """States are mapped, parameters can be set, and the process ends in order."""
    from transmission_bridge.messages.joint_state import JointStateRecord

    without(name)
    process = start_bridge(executor='auto' if name == 'EventsExecutor' else 'single_threaded')
    peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
    joints = peer.listen('joint_states')
    drivers = peer.publisher('actuator_states')
    nothing = np.zeros(0)
    message = JointStateRecord((7, 0), '', ('hinge_motor',), np.ones(1), nothing, nothing)
    before = peer.exchange(drivers, message, joints)[0].position[0]
    twice = 2.0 * peer.parameters([REDUCTION])[REDUCTION]
    assert peer.set_parameters({REDUCTION: twice}).successful
    after = peer.exchange(drivers, message, joints)[0].position[0]
    assert after == pytest.approx(before / 2.0)
    assert process.stop() == 0
    assert 'Traceback' not in process.output


def output_of(script, harness):
    """Return what a script prints, in the domain of this test run."""
    return subprocess.run(
        [sys.executable, '-c', script],
        env={**os.environ, 'ROS_DOMAIN_ID': str(harness.DOMAIN)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60.0,
    ).stdout


@pytest.mark.versions
@pytest.mark.parametrize('is_there', [True, False])
def test_parameter_overrides(without, start_bridge, peer, is_there):
    """Values of the file count all the same; only names that match no parameter stay unsaid."""
    if not is_there:
        without('_parameter_overrides')
    values = {'publish': 'on_all', REDUCTION: '7', 'publishh': 'on_any'}
    process = start_bridge(values)
    peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
    assert peer.parameters(['publish', REDUCTION]) == {'publish': 'on_all', REDUCTION: 7.0}
    assert process.stop() == 0
    assert ("'publishh' matches no parameter" in process.output) == is_there


@pytest.mark.versions
def test_wrong_values_without_parameter_overrides(without, start_bridge):
    """A value of the wrong type still ends the start with a sentence."""
    without('_parameter_overrides')
    process = start_bridge({'publish_rate': 'fast'})
    assert process.ended() == 1
    assert 'parameter publish_rate has the wrong type' in process.output
    assert 'Traceback' not in process.output


@pytest.mark.versions
def test_service_that_cannot_be_intercepted(without, start_bridge, peer):
    """The bridge warns at its start, and a request that rclpy raises for ends it."""
    from rcl_interfaces.msg import Parameter, ParameterValue
    from rcl_interfaces.srv import SetParameters

    without('send_response')
    process = start_bridge()
    process.wait_for('one that it raises for ends the node')
    client = peer.node.create_client(SetParameters, 'transmission_bridge/set_parameters')
    peer.spin_until(client.service_is_ready, 'the service')
    unknown = Parameter(name='publish', value=ParameterValue(type=99))
    request = SetParameters.Request(parameters=[unknown])
    client.call_async(request)
    peer.spin_until(lambda: process.exit_code is not None, 'the end of the bridge')
    assert process.ended() == 1
    assert 'Traceback' in process.output


CALL_BACK = """
import rclpy
from transmission_bridge.ros.attentive_executor import AttentiveExecutor

class Counting(AttentiveExecutor):
    rounds = waits = 0

    def can_execute(self, entity):
        self.rounds += entity is timer
        return super().can_execute(entity)

    def wait_once(self, *args):
        self.waits += 1
        return super().wait_once(*args)

rclpy.init()
node = rclpy.create_node('counting')
called = []
timer = node.create_timer(0.002, lambda: called.append(True))
executor = Counting()
executor.add_node(node)
while len(called) < 200:
    executor.spin_once()
print(executor.rounds, executor.waits)
executor.shutdown()
node.destroy_node()
rclpy.shutdown()
"""


@pytest.mark.versions
def test_guard_of_the_executor(without, harness):
    """Without it the executor wakes once more for each callback."""
    rounds, _ = map(int, output_of(CALL_BACK, harness).split())
    without('_guard')
    more_rounds, _ = map(int, output_of(CALL_BACK, harness).split())
    assert rounds < 250
    assert more_rounds > 350


@pytest.mark.versions
def test_wait_of_the_executor(without, harness):
    """Without it the executor is rclpy's own, which calls back as well."""
    _, waits = map(int, output_of(CALL_BACK, harness).split())
    without('_wait_for_ready_callbacks')
    _, no_waits = map(int, output_of(CALL_BACK, harness).split())
    assert waits >= 200
    assert no_waits == 0


LISTEN = """
import rclpy
from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import String
from transmission_bridge.ros.rclpy_internals import is_rcl_error, Probe

rclpy.init()
node = LifecycleNode('listening')
heard = []
node.create_subscription(String, 'heard', heard.append, 10)
publisher = node.create_publisher(String, 'heard', 10)
probe = Probe(node, String, 'heard', 5)
while len(heard) < 20:
    publisher.publish(String())
    rclpy.spin_once(node)
print(len(probe.take()))
probe.close()
node.trigger_shutdown()
try:
    node.trigger_shutdown()
except RuntimeError as error:
    print(is_rcl_error(error))
node.destroy_node()
rclpy.shutdown()
"""


@pytest.mark.versions
def test_the_half_of_rclpy_in_c(without, harness):
    """Without it a probe hears nothing, and no error is known to be that of rcl."""
    assert output_of(LISTEN, harness).split() == ['5', 'True']
    without('rclpy_implementation')
    assert output_of(LISTEN, harness).split() == ['0', 'False']


@pytest.mark.versions
def test_no_events_executor(without, harness):
    """Without it the single-threaded executor is the one that there is."""
    script = 'from transmission_bridge.ros.executors import available_executors as names\n'
    without('EventsExecutor')
    assert output_of(f'{script}print(*names())', harness).split() == ['single_threaded']


@pytest.mark.versions
@pytest.mark.parametrize('is_publisher', [True, False])
def test_publishing_unchecked(monkeypatch, context, is_publisher):
    """It publishes whatever the state; where life-cycle publishers are no publishers, it asks."""
    from rclpy.lifecycle import LifecycleNode
    from rclpy.serialization import serialize_message
    from std_msgs.msg import String

    from transmission_bridge.ros import rclpy_internals

    if not is_publisher:
        monkeypatch.setattr(rclpy_internals, 'Publisher', str)
    node = LifecycleNode('publishing', context=context)
    try:
        publisher = node.create_lifecycle_publisher(String, 'unchecked', 10)
        sent = []
        monkeypatch.setattr('rclpy.publisher.Publisher.publish', lambda *args: sent.append(args))
        data = serialize_message(String())
        rclpy_internals.publish_unchecked(publisher)(data)
        assert sent == ([(publisher, data)] if is_publisher else [])
    finally:
        node.destroy_node()


# -- Information on samples ----------------------------------------------------------------------


INFO = {'source_timestamp': 3_500_000_000, 'publisher_gid': {'data': b'gid'}}


@pytest.mark.parametrize(
    ('info', 'origin'),
    [
        (INFO, (b'gid', 3.5)),
        ({'source_timestamp': 3_500_000_000}, (None, 3.5)),
        ({'source_timestamp': 3_500_000_000, 'publisher_gid': None}, (None, 3.5)),
        ({**INFO, 'source_timestamp': 0}, (None, 0.0)),
        ({**INFO, 'publisher_gid': b'gid'}, (None, 0.0)),
        ({}, (None, 0.0)),
        (None, (None, 0.0)),
        (object(), (None, 0.0)),
    ],
)
def test_origin_of_a_sample(info, origin):
    """Writer and source time are unknown where rclpy does not give them, in whatever form."""
    from transmission_bridge.ros.rclpy_internals import origin_of, with_info

    assert origin_of(info) == origin
    assert with_info(b'data', info) == (b'data', info)
    assert with_info((b'data', info), None) == (b'data', info)


@pytest.mark.parametrize('has_gid', [True, False])
def test_writers_of_commands(peer, active_bridge, reference, monkeypatch, has_gid):
    """Each publisher is a writer; without identities only a single publisher of a topic is."""
    from transmission_bridge.ros import channels

    checked = []
    node = active_bridge()
    monkeypatch.setattr(node._session.inputs, '_check', lambda *args: checked.append(args))
    if not has_gid:
        origin_of = channels.origin_of
        monkeypatch.setattr(channels, 'origin_of', lambda info: (None, origin_of(info)[1]))
    message = reference.Message(('lift',), velocity=(1.0,))
    states, first = peer.publisher('actuator_states'), peer.publisher('joint_commands')
    peer.send(first, message)
    peer.spin_until(lambda: checked, 'a command')
    second = peer.publisher('joint_commands')
    subscription = node._session.inputs.subscriptions['joint_commands']
    peer.spin_until(lambda: subscription.get_publisher_count() == 2, 'the other publisher')
    for publisher in (second, first):
        peer.send(publisher, message)
        count = len(checked) + 1
        peer.spin_until(lambda: len(checked) == count, 'a command')
    peer.send(states, reference.Message(('winch',), position=(1.0,)))
    statistics = node._session.inputs.statistics['actuator_states']
    peer.spin_until(lambda: statistics.received, 'a state')
    writers = [writer for writer, _, _ in checked]
    if not has_gid:
        assert writers == ['joint_commands', None, None]
    elif writers[0] != 'joint_commands':  # this rclpy has identities
        assert writers == [writers[0], writers[1], writers[0]]
        assert len(set(writers)) == 2
    for _, sent, received in checked:
        assert 0.0 <= received - sent < 5.0


# -- Nothing private anywhere else ---------------------------------------------------------------


ASKING = ('getattr', 'hasattr', 'setattr')


def is_private(name):
    """Tell whether a name is for its own module or class only."""
    return name.startswith('_') and not name.endswith('__')


def private_uses(text):
    """Return the private names of others that a module imports or asks of an object."""
    tree = ast.parse(text)
    own = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    } | {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.partition('.')[0] == 'rclpy':
            parts = {*node.module.split('.'), *(alias.name for alias in node.names)}
            found |= {part for part in parts if is_private(part) or part == 'impl'}
        elif isinstance(node, ast.Import):
            parts = {part for alias in node.names for part in alias.name.split('.')}
            found |= {part for part in parts if is_private(part)}
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            of_self = isinstance(node.value, ast.Name) and node.value.id == 'self'
            if not (of_self and node.attr in own):
                found.add(node.attr)
        elif isinstance(node, ast.Call) and getattr(node.func, 'id', '') in ASKING:
            name = getattr(node.args[1], 'value', '')
            found |= {name} if is_private(str(name)) else set()
    return found


@pytest.mark.parametrize(
    'path',
    sorted(set(ROS.glob('*.py')) - {ROS / 'rclpy_internals.py'}),
    ids=lambda path: path.stem,
)
def test_no_other_module_uses_what_is_private(path):
    """No import and no attribute in it is private to rclpy."""
    assert private_uses(path.read_text(encoding='utf-8')) == set()


def test_private_uses_are_found():
    """The search finds each way in which this package has used them."""
    text = (ROS / 'rclpy_internals.py').read_text(encoding='utf-8')
    assert private_uses(text) >= {
        'impl', '_parameter_overrides', '_guard', '_wait_for_ready_callbacks'
    }  # fmt: skip


@pytest.mark.versions
def test_no_attribute_of_ours_hides_one_of_rclpy(context):
    """What the nodes here keep for themselves has no name that rclpy's nodes have."""
    from rclpy.lifecycle import LifecycleNode

    from transmission_bridge.ros.bridge_node import TransmissionBridge
    from transmission_bridge.ros.simulated_driver import SimulatedDriver

    for kind in (TransmissionBridge, SimulatedDriver):
        base = LifecycleNode('plain', context=context)
        node = kind(context=context, use_global_arguments=False)
        try:
            ours = {*vars(node), *vars(kind)} - {*vars(base)}
            theirs = {name for parent in kind.__mro__[1:] for name in vars(parent)} | {*vars(base)}
            hidden = {name for name in ours & theirs if is_private(name)}
            assert hidden == set()
        finally:
            node.destroy_node()
            base.destroy_node()
