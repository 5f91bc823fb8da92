# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What rclpy lacks, and what a later one may lack.

Each fault that ``ros/process.py`` works around is shown in plain rclpy: where such a test fails,
the workaround is needed no more. And without each thing that is not public the bridge does what is
documented. A name is taken away by running rclpy with another name in its place, in all of its
sources.
"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
import re
import subprocess
import sys

import pytest

import transmission_bridge
from transmission_bridge.ros.process import available_executors

rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

ROS = Path(transmission_bridge.__file__).parent / 'ros'
REDUCTION = 'transmissions.hoist.joints.lift.mechanical_reduction'

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

#: Private names of rclpy; the bridge works without each of them.
NAMES = (
    '_parameter_overrides',
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


@pytest.mark.versions
@pytest.mark.parametrize('name', NAMES)
def test_the_bridge_works_without(without, start_bridge, peer, reference, harness, name):
    """States are mapped, parameters of a file hold and can be set, and the process ends well."""
    without(name)
    executor = 'auto' if name == 'EventsExecutor' else 'single_threaded'
    process = start_bridge('--executor', executor, publishh='on_any', **{REDUCTION: '8'})
    peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
    joints, drivers = peer.listen('joint_states'), peer.publisher('actuator_states')
    assert peer.parameters([REDUCTION]) == {REDUCTION: 8.0}
    for reduction in (8.0, 16.0):
        assert peer.set_parameters({REDUCTION: reduction}).successful
        (found,) = peer.exchange(drivers, reference.Message(('winch',), (2.0,)), joints)
        assert found.position[found.names.index('lift')] == 2.0 / reduction + 0.3
    process.ends_well()
    # Only a name that matches no parameter stays unsaid, as nobody knows what was given.
    is_known = name != '_parameter_overrides'
    assert ("'publishh' matches no parameter" in process.output) == is_known
    if not is_known:
        process = start_bridge(publish_rate='fast')
        assert process.ended() == 1
        assert 'parameter publish_rate has the wrong type' in process.output
        assert 'Traceback' not in process.output
    if name == 'EventsExecutor':
        script = 'from transmission_bridge.ros.process import available_executors as names\n'
        assert output_of(f'{script}print(*names())').split() == ['single_threaded']


def output_of(script, **more):
    """Return what a script prints, in the domain of this test run."""
    return subprocess.run(
        [sys.executable, '-c', script],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60.0,
        **more,
    ).stdout


@pytest.mark.versions
def test_service_that_cannot_be_intercepted(without, start_bridge, peer):
    """The bridge warns at its start, and a request that rclpy raises for ends it."""
    from rcl_interfaces.msg import Parameter, ParameterValue
    from rcl_interfaces.srv import SetParameters

    without('send_response')
    process = start_bridge('--executor', 'single_threaded')
    process.wait_for('an invalid request can end the node')
    client = peer.node.create_client(SetParameters, 'transmission_bridge/set_parameters')
    peer.spin_until(client.service_is_ready, 'the service')
    unknown = Parameter(name='publish_rate', value=ParameterValue(type=99))
    client.call_async(SetParameters.Request(parameters=[unknown]))
    peer.spin_until(lambda: process.exit_code is not None, 'the end of the bridge')
    assert process.ended() == 1
    assert 'Traceback' in process.output


# -- Faults of plain rclpy -----------------------------------------------------------------------


VERSION = tuple(map(int, importlib.metadata.version('rclpy').split('.')))

events = pytest.mark.skipif(
    'events' not in available_executors(), reason='there is no events executor'
)

PLAIN = """
import os, signal
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import String

rclpy.init()
node = LifecycleNode('plain')

def executor_of(name):
    if name == 'single_threaded':
        return SingleThreadedExecutor()
    from rclpy.experimental.events_executor import EventsExecutor
    return EventsExecutor()
"""


#: At a signal rclpy shuts the context down before the node hears of it.
SIGNALS = """
executor = executor_of('single_threaded')
executor.add_node(node)
node.create_timer(0.01, lambda: os.kill(os.getpid(), signal.SIGTERM))
try:
    executor.spin()
except Exception:  # of several kinds: it depends on what it was about to do
    pass
print(node.context.ok(), flush=True)
os._exit(0)
"""

#: The events executor cannot call a callback of two arguments: it passes them as one.
TUPLE = """
publisher = node.create_publisher(String, 'told', 10)
node.create_subscription(String, 'told', lambda sample, info: print('two'), 10)
executor = executor_of('events')
executor.add_node(node)
try:
    for _ in range(100):
        publisher.publish(String())
        executor.spin_once(timeout_sec=0.05)
except Exception:
    print('one')
"""

#: A parameter of an unknown type raises, and before rclpy 8 an impossible transition.
REQUEST = """
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters

unknown = SetParameters.Request(parameters=[Parameter(name='a', value=ParameterValue(type=99))])
impossible = ChangeState.Request()
impossible.transition.id = 2
node.declare_parameter('a', 1)
kind, name, request = {
    'unknown': (SetParameters, 'plain/set_parameters', unknown),
    'impossible': (ChangeState, 'plain/change_state', impossible),
}[WHAT]
asking = rclpy.create_node('asking')
client = asking.create_client(kind, name)
executor = executor_of('single_threaded')
executor.add_node(node)
executor.add_node(asking)
while not client.service_is_ready():
    executor.spin_once(timeout_sec=0.05)
try:
    executor.spin_until_future_complete(client.call_async(request), timeout_sec=20.0)
    print('answered')
except Exception:
    print('raised')
"""


@pytest.mark.versions
@pytest.mark.parametrize(
    ('script', 'found'),
    [
        (SIGNALS, 'False'),
        pytest.param(TUPLE, 'one', marks=events),
        (f"WHAT = 'unknown'\n{REQUEST}", 'raised'),
        (f"WHAT = 'impossible'\n{REQUEST}", 'answered' if VERSION >= (8,) else 'raised'),
    ],
    ids=['signals', 'tuple', 'unknown', 'impossible'],
)
def test_faults(harness, script, found):
    """Plain rclpy has this fault."""
    assert output_of(PLAIN + script).splitlines()[0] == found


#: Attributes of others, imports and questions whose names are for rclpy alone.
PRIVATE = re.compile(r"(?<!\bself)\._[a-z]\w*|rclpy[\w.]*\.(?:impl|_)|attr\(\w+, '_")


def test_one_module_uses_what_is_private():
    """No import and no attribute in another module is private to rclpy."""
    users = {
        path.stem for path in ROS.glob('*.py') if PRIVATE.search(path.read_text(encoding='utf-8'))
    }
    assert users == {'process'}


@pytest.mark.versions
def test_no_attribute_of_ours_hides_one_of_rclpy(context):
    """Private attributes of the nodes do not hide attributes of rclpy's nodes."""
    from rclpy.lifecycle import LifecycleNode

    from transmission_bridge.ros.bridge_node import TransmissionBridge
    from transmission_bridge.ros.driver_node import DriverNode

    for kind in (TransmissionBridge, DriverNode):
        base = LifecycleNode('plain', context=context)
        node = kind(context=context, use_global_arguments=False)
        try:
            ours = {*vars(node), *vars(kind)} - {*vars(base)}
            theirs = {name for parent in kind.__mro__[1:] for name in vars(parent)} | {*vars(base)}
            hidden = {
                name for name in ours & theirs if name.startswith('_') and not name.endswith('__')
            }
            assert hidden == set()
        finally:
            node.destroy_node()
            base.destroy_node()
