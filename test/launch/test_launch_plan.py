# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The plans of the launch files, without launch."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError, UnknownNameError
from transmission_bridge.resources import resource
from transmission_bridge.ros import launch_plan
from transmission_bridge.ros.topics import TOPICS

DECLARED = launch_plan.list_arguments(params_file='bridge.yaml')


def values(**given):
    """Return the values of all arguments, some of them given."""
    return {**launch_plan.collect_defaults(DECLARED), **given}


def test_every_argument_says_what_it_means():
    """Each has a sentence, and a default that is one of its choices."""
    assert len({argument.name for argument in DECLARED}) == len(DECLARED)
    for argument in DECLARED:
        assert argument.description.endswith('.')
        assert argument.default in argument.choices or not argument.choices


def test_defaults_change_no_name(command_line):
    """Without arguments the bridge starts with its file and autostart."""
    assert command_line(launch_plan.plan_bridge(values())) == [
        '--ros-args', '-r', '__node:=transmission_bridge', '--log-level', 'info',
        '--params-file', 'bridge.yaml', '-p', 'autostart:=true', '-p', 'use_sim_time:=false',
    ]  # fmt: skip


@pytest.mark.parametrize('topic', TOPICS)
def test_one_topic_is_renamed(topic):
    """A remapping renames this topic of the bridge, and the driver's if it has it."""
    shared = topic in {'actuator_states', 'actuator_commands', 'robot_description'}
    for given in (f'{topic}:=elsewhere', {topic: 'elsewhere'}, [(topic, 'elsewhere')]):
        chosen = values(remappings=given)
        rename = ((topic, 'elsewhere'),)
        assert launch_plan.plan_bridge(chosen).remappings == rename
        assert launch_plan.plan_driver(chosen).remappings == (rename if shared else ())


def test_remappings_in_words():
    """They are split as a shell does, the order stays; unknown topics would be ignored by ROS."""
    chosen = values(remappings='joint_states:=/a  left/actuator_states:=b')
    assert launch_plan.plan_bridge(chosen).remappings == (
        ('joint_states', '/a'),
        ('left/actuator_states', 'b'),
    )
    with pytest.raises(UnknownNameError, match="unknown topic 'joint_state'"):
        launch_plan.parse_remappings('joint_state:=/a')
    with pytest.raises(ValueError, match="remappings: expected 'name:=value', found '/a'"):
        launch_plan.parse_remappings('joint_states:=/b /a')


@pytest.mark.parametrize('topic', TOPICS)
def test_arguments_for_each_topic_are_refused(topic):
    """They were removed; the error has the replacement."""
    name = f'{topic.lstrip("/")}_topic'
    with pytest.raises(ParameterError, match=re.escape(f"remappings:='{topic}:=NAME'")):
        launch_plan.reject_removed_arguments(['namespace', name])
    launch_plan.reject_removed_arguments(argument.name for argument in DECLARED)


def test_command_line(command_line):
    """A path becomes --urdf, a namespace has one slash, and booleans are spelled as in launch."""
    for given, text in ((True, 'true'), (False, 'false'), ('true', 'true')):
        chosen = values(
            robot_description_file=Path('arm.urdf'), namespace='/cell/', autostart=given
        )
        plan = launch_plan.plan_bridge(chosen)
        line = command_line(plan)
        assert line[:2] == ['--urdf', 'arm.urdf']
        assert '__ns:=/cell' in line
        assert plan.switches['autostart'] == text
        # The wildcard of the bridge's file would give the driver what is not its own.
        assert launch_plan.plan_driver(chosen).params_file == ''


def test_topic_based_hardware_stays_in_its_namespace():
    """The launch files meet the example's component by names that are relative on both sides."""
    (block,) = load_description(resource('urdf', 'topic_based.urdf')).blocks
    names = {each.name: each.value for each in block.parameters}
    topics = launch_plan.TOPIC_BASED
    for topic in ('joint_states', 'joint_commands'):
        assert topics[topic] == names[f'{topic}_topic']
    # JointCommandTopicSystem appends the interface.
    for interface in ('position', 'velocity', 'effort'):
        topic = f'joint_commands/{interface}'
        assert topics[topic] == f'{names["joint_commands_topic"]}/{interface}'
    assert not any(name.startswith('/') for name in topics.values())


def test_xacro_arguments():
    """They are split as in a shell; an invalid one is an error with its name."""
    mappings = launch_plan.parse_xacro_arguments("prefix:=left_ title:='a robot' empty:=")
    assert mappings == {'prefix': 'left_', 'title': 'a robot', 'empty': ''}
    assert launch_plan.parse_xacro_arguments('') == {}
    for wrong in ('prefix=left_', ':=3'):
        with pytest.raises(ValueError, match=f"expected 'name:=value', found '{wrong}'"):
            launch_plan.parse_xacro_arguments(wrong)
