# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Faults of plain rclpy, each of which ``ros/process.py`` works around.

Where such a test fails, the workaround is needed no more.
"""

import importlib.metadata
from pathlib import Path
import re
import subprocess
import sys

import pytest

import transmission_bridge
from transmission_bridge.ros.process import available_executors

rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed')

ROS = Path(transmission_bridge.__file__).parent / 'ros'


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
"""


#: At a signal rclpy shuts the context down before the node hears of it.
SIGNALS = """
executor = SingleThreadedExecutor()
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
from rclpy.experimental.events_executor import EventsExecutor
publisher = node.create_publisher(String, 'told', 10)
node.create_subscription(String, 'told', lambda sample, info: print('two'), 10)
executor = EventsExecutor()
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
kind, name, request = SetParameters, 'plain/set_parameters', unknown
if WHAT == 'impossible':
    kind, name, request = ChangeState, 'plain/change_state', impossible
asking = rclpy.create_node('asking')
client = asking.create_client(kind, name)
executor = SingleThreadedExecutor()
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
    command = [sys.executable, '-c', PLAIN + script]
    assert subprocess.check_output(command, text=True, timeout=60.0).splitlines()[0] == found


#: Attributes of others, imports and questions whose names are for rclpy alone.
PRIVATE = re.compile(r"(?<!\bself)\._[a-z]\w*|rclpy[\w.]*\.(?:impl|_)|attr\(\w+, '_")


def test_one_module_uses_what_is_private():
    """No import and no attribute in another module is private to rclpy."""
    texts = {path.stem: path.read_text(encoding='utf-8') for path in ROS.glob('*.py')}
    assert {name for name, text in texts.items() if PRIVATE.search(text)} == {'process'}


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
            hidden = {name for name in ours & theirs if name.startswith('_')}
            assert {name for name in hidden if not name.endswith('__')} == set()
        finally:
            node.destroy_node()
            base.destroy_node()
