# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The launch files, where launch_ros is installed (it is part of ROS, there are no wheels)."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

# Not launch: in a checkout our own folder of that name would be found as an empty package.
pytest.importorskip('launch_ros', reason='launch_ros is not installed (ROS has it, no wheel)')

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.events.process import ProcessExited
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.utilities import evaluate_parameters

from transmission_bridge.errors import DescriptionError, ParameterError, UnknownNameError
from transmission_bridge.resources import resource
from transmission_bridge.ros import launch_plan, launching
from transmission_bridge.ros.launching import bridge_node, load_description_text

pytestmark = pytest.mark.ros

NAMES = ('bridge', 'demo', 'topic_based')
KINDS = ('py', 'xml', 'yaml')
URDF = resource('urdf', 'one_joint.urdf')

COMMON = {argument.name for argument in launch_plan.list_arguments(params_file='')}
MORE = {'bridge': set(), 'demo': {'move', 'rviz'}, 'topic_based': {'controllers_file'}}
STARTED = {
    'bridge': ['bridge_node'],
    'demo': ['simulated_driver', 'bridge_node'],
    'topic_based': ['simulated_driver', 'bridge_node'],
}


def included(name, kind):
    """Return a launch description that includes one of our files."""
    source = AnyLaunchDescriptionSource(str(resource('launch', f'{name}.launch.{kind}')))
    return LaunchDescription([IncludeLaunchDescription(source)])


def nodes_of(entity, context):
    """Yield the nodes that an entity comes to, without starting them."""
    if isinstance(entity, Node):
        entity._perform_substitutions(context)
        yield entity
        return
    for sub in entity.visit(context) or ():
        yield from nodes_of(sub, context)


def started(name, kind='py', **arguments):
    """Return our nodes that a launch file starts, and the context in which it does."""
    context = LaunchContext()
    context.launch_configurations.update({'rviz': 'false', **arguments})
    nodes = list(nodes_of(included(name, kind), context))
    return [node for node in nodes if node.node_package == 'transmission_bridge'], context


def parameters_of(node, context):
    """Return the parameters of a node in their order, files as paths."""
    return evaluate_parameters(context, node._Node__parameters)


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('name', NAMES)
def test_arguments_and_nodes(name, kind):
    """All arguments exist in each format with default and description, and our nodes start."""
    arguments = included(name, kind).get_launch_arguments()
    assert {argument.name for argument in arguments} == COMMON | MORE[name]
    for argument in arguments:
        assert isinstance(argument, DeclareLaunchArgument)
        assert argument.default_value is not None
        assert argument.description.rstrip(')').endswith(('.', "'"))
    nodes, _ = started(name, kind)
    assert [node.node_executable for node in nodes] == STARTED[name]


@pytest.mark.parametrize('kind', KINDS)
def test_demo_is_moved_on_request(kind):
    """The driver moves the arm, on the topics and in the namespace of the bridge."""
    given = {'namespace': 'cell', 'remappings': 'joint_commands:=wishes'}
    for move, is_moved in ((None, True), ('true', True), ('false', False)):
        (driver, _), context = started('demo', kind, **given, **({'move': move} if move else {}))
        assert driver.node_name == '/cell/simulated_driver'
        wishes = ('joint_commands', 'wishes')
        assert (wishes in (driver.expanded_remapping_rules or ())) == is_moved
        parameters = parameters_of(driver, context)
        switches = [each['move_demo'] for each in parameters if 'move_demo' in each]
        assert switches == ([True] if is_moved else [])


def test_arguments_reach_the_node():
    """Namespace, names and switches of the command line reach the node; they override the file."""
    (node,), context = started(
        'bridge',
        robot_description_file=str(URDF),
        namespace='cell',
        remappings='joint_states:=/all/joint_states',
        autostart='false',
        use_sim_time='true',
        log_level='debug',
    )
    assert node.node_name == '/cell/transmission_bridge'
    assert node.expanded_remapping_rules == [('joint_states', '/all/joint_states')]
    file, *others = parameters_of(node, context)
    assert file == resource('config', 'bridge.yaml')
    # Later ones override.
    values = {name: value for each in others for name, value in each.items()}
    assert (values['autostart'], values['use_sim_time']) == (False, True)
    assert values['robot_description'] == URDF.read_text(encoding='utf-8')


def test_no_file():
    """A robot_description in a parameter file is not cleared, and no file is no argument."""
    (node,), context = started('bridge', params_file='')
    for each in parameters_of(node, context):
        assert not isinstance(each, Path)
        assert 'robot_description' not in each


def test_a_launch_file_of_somebody_else():
    """bridge_node takes texts, booleans, paths and substitutions, and parameters on top."""
    context = LaunchContext()
    context.launch_configurations.update(side='left', states='/joint_states')
    (node,) = nodes_of(
        bridge_node(
            robot_description_file=URDF,
            namespace=LaunchConfiguration('side'),
            autostart=False,
            remappings={'joint_states': LaunchConfiguration('states')},
            parameters=[{'state_timeout': 0.5}],
        ),
        context,
    )
    assert node.node_name == '/left/transmission_bridge'
    assert node.expanded_remapping_rules == [('joint_states', '/joint_states')]
    first, *_, last = (each for each in parameters_of(node, context) if isinstance(each, dict))
    assert (first['autostart'], last) == (False, {'state_timeout': 0.5})


@pytest.mark.parametrize('kind', KINDS)
def test_controllers_start_after_the_first_states(monkeypatch, kind):
    """The spawner starts when the process that waits for states ends with 0, and only then."""
    monkeypatch.setattr(launching, '_is_installed', lambda package: True)
    context = LaunchContext()
    context.launch_configurations['namespace'] = 'cell'
    nodes = list(nodes_of(included('topic_based', kind), context))
    assert 'spawner' not in [node.node_executable for node in nodes]
    waiter = nodes[-1]
    assert waiter.node_name == '/cell/states_waiter'
    assert waiter.expanded_remapping_rules == [('joint_states', 'robot_joint_states')]
    (handler,) = context._event_handlers

    def spawned(action, code):
        event = ProcessExited(
            action=action, returncode=code, name='', cmd=[], cwd=None, env=None, pid=1
        )
        if not handler.matches(event):
            return []
        return [entity.node_executable for entity in handler.handle(event, context)]

    assert spawned(nodes[0], 0) == []
    assert spawned(waiter, 1) == []
    assert spawned(waiter, 0) == ['spawner']


def test_arguments_that_are_none_are_refused():
    """Launch ignores what it does not know: a mistyped or removed argument is an error."""
    with pytest.raises(UnknownNameError, match='name_space'):
        bridge_node(name_space='left')
    for use in (bridge_node, partial(started, 'bridge')):
        with pytest.raises(ParameterError, match='remappings'):
            use(joint_states_topic='/a')
    for name in ('autostart', 'use_sim_time', 'respawn'):
        with pytest.raises(RuntimeError, match=f'"{name}" provided value "loud" is not valid'):
            started('bridge', **{name: 'loud'})


@pytest.mark.parametrize(
    'files',
    [
        {'robot_description_file': '/no_such.urdf'},
        {'params_file': '/no_such.yaml'},
        {'params_file': LaunchConfiguration('missing')},
    ],
    ids=str,
)
def test_a_missing_file_stops_the_launch(files):
    """The bridge neither waits for ever nor starts with other numbers than the written ones."""
    context = LaunchContext()
    context.launch_configurations['missing'] = '/no_such.yaml'
    with pytest.raises(FileNotFoundError, match='no_such'):
        parameters_of(bridge_node(**files), context)


def test_description_text(tmp_path):
    """A URDF is used as it is; a xacro file is expanded, or the error has the missing package."""
    plain = tmp_path / 'plain.urdf'
    plain.write_text('<robot name="plain"/>', encoding='utf-8')
    assert load_description_text(str(plain)) == '<robot name="plain"/>'
    macro = tmp_path / 'macro.urdf.xacro'
    macro.write_text(
        '<robot name="macro" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="n" default="3"/><link name="link_$(arg n)"/></robot>',
        encoding='utf-8',
    )
    if find_spec('xacro') is None:
        with pytest.raises(RuntimeError, match='needs xacro'):
            load_description_text(str(macro))
    else:
        assert 'link_3' in load_description_text(str(macro))
        assert 'link_8' in load_description_text(str(macro), 'n:=8')


@pytest.mark.parametrize(
    ('file', 'reason'),
    [('/dev/zero', 'too long'), ('/dev/null', "file '/dev/null' is empty: .*xacro")],
)
def test_a_description_that_is_none(file, reason):
    """A launch reads as much as ``--urdf`` does."""
    with pytest.raises(DescriptionError, match=reason):
        load_description_text(file)
