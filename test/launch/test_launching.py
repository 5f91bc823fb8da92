# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The helper for launch files and the arguments of ours, without starting a process."""

from __future__ import annotations

from pathlib import Path

from launch_files import list_arguments
import pytest

from transmission_bridge.errors import DescriptionError
from transmission_bridge.resources import resource

# Not launch: in a checkout our own folder of that name would be found as an empty package.
pytest.importorskip('launch_ros', reason='launch_ros is not installed (ROS has it, no wheel)')

from launch import LaunchContext, LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, SubstitutionFailure
from launch_ros.actions import Node
from launch_ros.utilities import evaluate_parameters

from transmission_bridge.ros.launching import bridge_node, DescriptionFromFile

pytestmark = pytest.mark.ros

BRIDGE = resource('launch', 'bridge.launch.py')
URDF = resource('urdf', 'one_joint.urdf')


def find_nodes(entity, context):
    """Yield the nodes that an entity would start."""
    if isinstance(entity, Node):
        entity._perform_substitutions(context)
        yield entity
        return
    for sub in entity.visit(context) or ():
        yield from find_nodes(sub, context)


def include(file, **arguments):
    """Return the only node of a launch file, and the context in which it would start."""
    context = LaunchContext()
    source = AnyLaunchDescriptionSource(str(file))
    included = IncludeLaunchDescription(source, launch_arguments=arguments.items())
    (node,) = find_nodes(LaunchDescription([included]), context)
    return node, context


def read_parameters(node, context):
    """Return the parameter files of a node, and its parameters by name."""
    values, files = {}, []
    for each in evaluate_parameters(context, node._Node__parameters):
        if isinstance(each, Path):
            files.append(each)
        else:
            values.update(each)
    return files, values


@pytest.mark.parametrize('name', ['bridge', 'demo', 'topic_based'])
def test_each_argument_has_a_default_and_a_description(name):
    """Without launch the same arguments are found."""
    file = resource('launch', f'{name}.launch.py')
    description = AnyLaunchDescriptionSource(str(file)).get_launch_description(LaunchContext())
    arguments = description.get_launch_arguments()
    assert {argument.name for argument in arguments} == list_arguments(file.name)
    for argument in arguments:
        assert argument.default_value is not None
        assert argument.description.endswith('.')


def test_arguments_reach_the_node():
    """Each argument reaches the node, and overrides the parameter file."""
    given = {'namespace': 'cell', 'autostart': 'false', 'use_sim_time': 'true', 'respawn': 'true'}
    node, context = include(BRIDGE, robot_description_file=str(URDF), log_level='debug', **given)
    assert (node.node_name, node.expanded_remapping_rules) == ('/cell/transmission_bridge', None)
    words = [''.join(part.perform(context) for part in word) for word in node.cmd[1:4]]
    assert words == ['--ros-args', '--log-level', 'debug']
    files, values = read_parameters(node, context)
    assert files == [resource('config', 'bridge.yaml')]
    urdf = URDF.read_text(encoding='utf-8')
    assert values == {'autostart': False, 'use_sim_time': True, 'robot_description': urdf}


def test_without_files():
    """No parameter file is given, and no description, which would override that of a file."""
    found = read_parameters(*include(BRIDGE, params_file=''))
    assert found == ([], {'autostart': True, 'use_sim_time': False})


XML = (
    '<launch><group><set_remap from="joint_states" to="/all/joint_states"/>'
    f'<include file="{BRIDGE}"><arg name="namespace" value="left"/></include></group></launch>'
)

YAML = f"""
launch:
  - group:
    - set_remap: {{from: joint_states, to: /all/joint_states}}
    - include:
        file: {BRIDGE}
        arg: [{{name: namespace, value: left}}]
"""


@pytest.mark.parametrize(('kind', 'text'), [('xml', XML), ('yaml', YAML)])
def test_a_launch_file_in_another_format(tmp_path, kind, text):
    """It includes bridge.launch.py, and remaps its topics."""
    pytest.importorskip(f'launch_{kind}', reason=f'launch_{kind} is not installed (ROS has it)')
    (tmp_path / f'left.launch.{kind}').write_text(text, encoding='utf-8')
    node, _ = include(tmp_path / f'left.launch.{kind}')
    assert node.node_name == '/left/transmission_bridge'
    assert node.expanded_remapping_rules == [('joint_states', '/all/joint_states')]


def test_a_launch_file_in_python():
    """bridge_node takes paths and substitutions, and arguments as launch_ros has them."""
    context = LaunchContext()
    context.launch_configurations.update(side='left', states='/joint_states', start='false')
    action = bridge_node(
        robot_description_file=URDF,
        params_file=resource('config', 'topic_based.yaml'),
        namespace=LaunchConfiguration('side'),
        autostart=LaunchConfiguration('start'),
        remappings=[('joint_states', LaunchConfiguration('states'))],
        parameters=[{'state_timeout': 0.5, 'use_sim_time': True}],
    )
    (node,) = find_nodes(action, context)
    assert node.node_name == '/left/transmission_bridge'
    assert node.expanded_remapping_rules == [('joint_states', '/joint_states')]
    files, values = read_parameters(node, context)
    assert files == [resource('config', 'topic_based.yaml')]
    expected = {'autostart': False, 'use_sim_time': True, 'state_timeout': 0.5}
    assert values == expected | {'robot_description': URDF.read_text(encoding='utf-8')}


@pytest.mark.parametrize(('name', 'path', 'error', 'said'), [
    *((name, path, FileNotFoundError, f"{said}.*'/no_such'")
      for path in ('/no_such', LaunchConfiguration('missing'))
      for name, said in (('params_file', 'parameter file: expected a file'),
                         ('robot_description_file', 'No such'))),
    ('params_file', 'damaged.yaml', ValueError, r'parameter file .* it is not YAML'),
    # A launch checks a file as ``--urdf`` does.
    ('robot_description_file', '/dev/zero', DescriptionError, 'too long'),
])  # fmt: skip
def test_a_file_that_cannot_be_used_is_an_error(name, path, error, said, tmp_path, monkeypatch):
    """launch_ros would only warn of a missing parameter file, rcl say where its own parser is."""
    monkeypatch.chdir(tmp_path)
    Path('damaged.yaml').write_text('/transmission_bridge:\n  ros__parameters:\n    a: [1\n')
    context = LaunchContext()
    context.launch_configurations['missing'] = '/no_such'
    with pytest.raises(error, match=said):
        read_parameters(bridge_node(**{name: path}), context)


def test_a_xacro_file_is_expanded(tmp_path, monkeypatch):
    """
    The program xacro receives file and arguments; its warnings are no error.

    The error names the missing program.
    """
    # Only programs of the test are on the PATH.
    monkeypatch.setenv('PATH', str(tmp_path))
    xacro_file = tmp_path / 'my robot.urdf.xacro'
    xacro_file.write_text('<robot/>', encoding='utf-8')
    with pytest.raises(SubstitutionFailure, match='xacro: xacro is not installed'):
        DescriptionFromFile(xacro_file).evaluate(LaunchContext())
    program = xacro_file.with_name('xacro')
    lines = ['#!/bin/sh', 'echo careful >&2', 'printf "<%s>" "$@"']
    program.write_text('\n'.join(lines), encoding='utf-8')
    program.chmod(0o755)
    value = DescriptionFromFile(xacro_file, ['title:="a robot" side:=', LaunchConfiguration('s')])
    context = LaunchContext()
    context.launch_configurations['s'] = 'left'
    assert value.evaluate(context) == f'<{xacro_file}><title:=a robot><side:=left>'
