# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the launch files start, where there is no launch."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

from transmission_bridge.ros import launch_plan
from transmission_bridge.ros.launch_plan import TOPICS

ROOT = Path(__file__).parents[2]
DECLARED = launch_plan.arguments(params_file='bridge.yaml')


def values(**given):
    """Return the values of all arguments, some of them given."""
    return {**launch_plan.defaults(DECLARED), **given}


def test_every_topic_of_the_readme_has_an_argument():
    """The topics that can be renamed are those of the README's table."""
    text = (ROOT / 'README.md').read_text(encoding='utf-8')
    table = text.split('## Topics and services')[1].split('\n## ')[0]
    rows = [row.split('|') for row in re.findall(r'^\| `.*$', table, re.MULTILINE)]
    topics = {
        name
        for row in rows
        if 'service' not in row[3]
        for name in re.findall(r'`([^`]+)`', row[1])
    }
    assert set(TOPICS.values()) == topics
    assert {f'{stem}_topic' for stem in TOPICS} <= {argument.name for argument in DECLARED}


def test_every_argument_says_what_it_means():
    """Each has a sentence, and a default that is one of its choices."""
    assert len({argument.name for argument in DECLARED}) == len(DECLARED)
    for argument in DECLARED:
        assert argument.description.endswith('.')
        assert argument.default in argument.choices or not argument.choices


def test_defaults_change_no_name():
    """Without arguments there is the bridge with its file, started by itself."""
    assert launch_plan.command_line(launch_plan.bridge_plan(values())) == [
        '--ros-args', '-r', '__node:=transmission_bridge', '--log-level', 'info',
        '--params-file', 'bridge.yaml', '-p', 'autostart:=true', '-p', 'use_sim_time:=false',
    ]  # fmt: skip


@pytest.mark.parametrize('stem', TOPICS)
def test_one_topic_is_renamed(stem):
    """A topic's argument renames this topic of the bridge, and the driver's if it has it."""
    chosen = values(**{f'{stem}_topic': 'elsewhere'})
    rename = ((TOPICS[stem], 'elsewhere'),)
    assert launch_plan.bridge_plan(chosen).remappings == rename
    shared = stem in {'actuator_states', 'actuator_commands', 'robot_description'}
    assert launch_plan.driver_plan(chosen).remappings == (rename if shared else ())


def test_the_driver_does_not_read_the_file_of_the_bridge():
    """Its wildcard would give the driver parameters that are not its own."""
    assert launch_plan.driver_plan(values()).params_file == ''


@pytest.mark.parametrize(
    ('given', 'text'), [(True, 'true'), (False, 'false'), ('true', 'true')], ids=str
)
def test_booleans_are_spelled_as_in_launch(given, text):
    """Python's booleans do as well."""
    assert launch_plan.bridge_plan(values(autostart=given)).switches['autostart'] == text


def test_description_and_namespace_reach_the_command_line():
    """A path becomes --urdf, and a namespace has one slash whoever wrote it."""
    plan = launch_plan.bridge_plan(
        values(robot_description_file=Path('arm.urdf'), namespace='/cell/')
    )
    line = launch_plan.command_line(plan)
    assert line[:2] == ['--urdf', 'arm.urdf']
    assert '__ns:=/cell' in line


def test_xacro_arguments():
    """They are split as a shell does; what is none is refused by name."""
    mappings = launch_plan.xacro_mappings("prefix:=left_ title:='a robot' empty:=")
    assert mappings == {'prefix': 'left_', 'title': 'a robot', 'empty': ''}
    assert launch_plan.xacro_mappings('') == {}
    for wrong in ('prefix=left_', ':=3'):
        with pytest.raises(ValueError, match=f"expected 'name:=value', found '{wrong}'"):
            launch_plan.xacro_mappings(wrong)
