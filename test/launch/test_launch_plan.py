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
from transmission_bridge.ros.launch_plan import parse_remappings, parse_xacro_arguments
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


def test_defaults_change_no_name():
    """Without arguments the bridge starts with its file and autostart."""
    assert launch_plan.plan_bridge(values()) == launch_plan.NodePlan(
        executable='bridge_node',
        name='transmission_bridge',
        namespace='',
        description_file='',
        xacro_arguments='',
        params_file='bridge.yaml',
        switches={'autostart': 'true', 'use_sim_time': 'false'},
        remappings=(),
        log_level='info',
        respawn='false',
    )


@pytest.mark.parametrize('autostart', [True, False, 'true', 'false'])
def test_values_are_spelled_as_in_launch(autostart):
    """Booleans and paths become text; the driver gets no parameter file."""
    chosen = values(robot_description_file=Path('arm.urdf'), autostart=autostart)
    plan = launch_plan.plan_bridge(chosen)
    assert plan.description_file == 'arm.urdf'
    assert plan.switches['autostart'] == str(autostart).lower()
    # The wildcard of the bridge's file would give the driver what is not its own.
    assert launch_plan.plan_driver(chosen).params_file == ''


@pytest.mark.parametrize('topic', TOPICS)
def test_a_topic_is_renamed(topic):
    """A remapping renames this topic of the bridge, and the driver's if it has it."""
    shared = topic in {'actuator_states', 'actuator_commands', 'robot_description'}
    for given in (f'{topic}:=elsewhere', {topic: 'elsewhere'}, [(topic, 'elsewhere')]):
        chosen = values(remappings=given)
        rename = ((topic, 'elsewhere'),)
        assert launch_plan.plan_bridge(chosen).remappings == rename
        assert launch_plan.plan_driver(chosen).remappings == (rename if shared else ())


@pytest.mark.parametrize('topic', TOPICS)
def test_the_former_argument_of_a_topic_is_refused(topic):
    """The error has the replacement."""
    name = f'{topic.lstrip("/")}_topic'
    with pytest.raises(ParameterError, match=re.escape(f"remappings:='{topic}:=NAME'")):
        launch_plan.reject_removed_arguments(['namespace', name])
    launch_plan.reject_removed_arguments(argument.name for argument in DECLARED)


@pytest.mark.parametrize(
    ('parse', 'text', 'pairs'),
    [
        (
            parse_remappings,
            'joint_states:=/a  left/actuator_states:=b',
            [('joint_states', '/a'), ('left/actuator_states', 'b')],
        ),
        (
            parse_xacro_arguments,
            "prefix:=left_ title:='a robot' empty:=",
            [('prefix', 'left_'), ('title', 'a robot'), ('empty', '')],
        ),
        (parse_xacro_arguments, '', []),
    ],
)
def test_pairs_are_split_as_in_a_shell(parse, text, pairs):
    """The order stays."""
    assert list(parse(text).items()) == pairs


@pytest.mark.parametrize(
    ('parse', 'text', 'error', 'words'),
    [
        # ROS would ignore an unknown topic.
        (parse_remappings, 'joint_state:=/a', UnknownNameError, "unknown topic 'joint_state'"),
        (parse_remappings, 'joint_states:=/b /a', ValueError, "remappings: expected .* '/a'"),
        (parse_xacro_arguments, 'prefix=left_', ValueError, "xacro_arguments: .* 'prefix=left_'"),
        (parse_xacro_arguments, ':=3', ValueError, "expected 'name:=value', found ':=3'"),
    ],
)
def test_what_is_no_pair_is_refused(parse, text, error, words):
    """The error has the argument, the form and the part."""
    with pytest.raises(error, match=words):
        parse(text)


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
