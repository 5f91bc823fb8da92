# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The launch files, where launch_ros is installed (it is part of ROS, there are no wheels)."""

from __future__ import annotations

import runpy

import pytest

from transmission_bridge.tools.resources import resource

# Not launch: in a checkout our own folder of that name would be found as an empty package.
pytest.importorskip('launch_ros', reason='launch_ros is not installed')
actions = pytest.importorskip('launch.actions')
pytestmark = pytest.mark.ros

COMMON = {
    'robot_description_file', 'params_file', 'namespace', 'autostart', 'log_level', 'use_sim_time',
}  # fmt: skip


def described(name):
    """Return what a launch file of ours describes."""
    path = resource('launch', f'{name}.launch.py')
    return runpy.run_path(str(path))['generate_launch_description']()


def executables(name, **arguments):
    """Return the executables of our package that a launch file starts."""
    from launch import LaunchContext

    context = LaunchContext()
    context.launch_configurations.update(arguments)
    nodes = []
    for entity in described(name).entities:
        started = entity.visit(context) or []
        if isinstance(entity, actions.OpaqueFunction):
            nodes += [node for node in started if hasattr(node, 'node_executable')]
    return [n.node_executable for n in nodes if n.node_package == 'transmission_bridge']


@pytest.mark.parametrize(
    ('name', 'names'), [('bridge', COMMON), ('demo', COMMON | {'rviz'})], ids=['bridge', 'demo']
)
def test_every_choice_is_an_argument_with_a_description(name, names):
    """All arguments are there, have defaults, and tell what they mean."""
    entities = described(name).entities
    arguments = [e for e in entities if isinstance(e, actions.DeclareLaunchArgument)]
    assert {argument.name for argument in arguments} == names
    for argument in arguments:
        assert argument.default_value is not None
        assert argument.description.partition(' Valid choices')[0].endswith('.')


def test_what_is_started():
    """The bridge comes alone, or in the demo after a driver."""
    assert executables('bridge') == ['bridge_node']
    assert executables('demo', rviz='false') == ['simulated_driver', 'bridge_node']


def test_missing_description_file_stops_the_launch():
    """A file that is not there is an error of the launch and not a bridge that waits for ever."""
    with pytest.raises(FileNotFoundError, match='no_such'):
        executables('bridge', robot_description_file='/no_such.urdf')


def test_description_text(tmp_path):
    """A URDF is taken as it is; a xacro file is expanded, or says what it needs."""
    from transmission_bridge.ros.launching import description_text

    plain = tmp_path / 'plain.urdf'
    plain.write_text('<robot name="plain"/>', encoding='utf-8')
    assert description_text(str(plain)) == '<robot name="plain"/>'
    macro = tmp_path / 'macro.urdf.xacro'
    macro.write_text(
        '<robot name="macro" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:property name="n" value="3"/><link name="link_${n + 1}"/></robot>',
        encoding='utf-8',
    )
    try:
        import xacro  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(RuntimeError, match='needs xacro'):
            description_text(str(macro))
    else:
        assert 'link_4' in description_text(str(macro))
