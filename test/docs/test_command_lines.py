# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Every command of ours in README and documents has the name and the arguments that it takes."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
from pathlib import Path
import re
import shlex

import pytest

from transmission_bridge.ros import launch_plan
from transmission_bridge.tools.commands import COMMANDS

ROOT = Path(__file__).parents[2]
PACKAGE = 'transmission_bridge'
ARGUMENTS = {argument.name for argument in launch_plan.list_arguments(params_file='')}


def commands_of(path):
    """Return the simple commands in a document's shell blocks, as lists of words."""
    text = path.read_text(encoding='utf-8').replace('\\\n', '')
    shell = re.findall(r'^```(?:bash)?\n(.*?)^```$', text, re.DOTALL | re.MULTILINE)
    found = []
    for line in '\n'.join(shell).splitlines():
        if re.match(r'(transmission_bridge|bridge_node|ros2|make|source) ', line):
            parts = re.split(r'[|&()]|(?<=\s)[<>] *\S+', line)
            found += filter(None, (shlex.split(part, comments=True) for part in parts))
    return found


LINES = [
    pytest.param(words, id=f'{path.name}: {" ".join(words)}')
    for path in (ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md')))
    for words in commands_of(path)
]


def test_there_are_commands_of_each_kind():
    """The documents are read as they are written."""
    starts = {tuple(each.values[0][:2]) for each in LINES}
    assert {('transmission_bridge', name) for name in COMMANDS} - starts <= {
        ('transmission_bridge', 'plugins'),
        ('transmission_bridge', 'demo'),
    }
    assert {('ros2', 'launch'), ('ros2', 'run'), ('ros2', 'param'), ('make', 'test')} <= starts
    assert any(each.values[0][0] == 'bridge_node' for each in LINES)


@pytest.mark.parametrize('words', LINES)
def test_a_command(words):
    """It is there, and its arguments are known."""
    program, *rest = words
    if program == PACKAGE:
        check_tool(*rest)
    elif program == 'bridge_node':
        check_node(rest)
    elif program == 'make':
        makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
        assert re.search(rf'^{re.escape(rest[0])}:', makefile, re.MULTILINE)
    elif rest[:2] == ['run', PACKAGE]:
        scripts = importlib.metadata.entry_points(group='console_scripts')
        assert rest[2] in {script.name for script in scripts if PACKAGE in script.value}
        if rest[2] == 'bridge_node':
            check_node(rest[3:])
    elif rest[:2] == ['launch', PACKAGE]:
        assert (ROOT / 'launch' / rest[2]).is_file()
        assert {each.partition(':=')[0] for each in rest[3:]} <= ARGUMENTS


class Strict(argparse.ArgumentParser):
    """A parser that fails the test instead of ending the process."""

    def error(self, message):
        """Refuse."""
        raise AssertionError(message)


def check_tool(name, *arguments):
    """Parse as the command does."""
    parser = Strict(prog=name, allow_abbrev=False)
    COMMANDS[name].add_arguments(parser)
    # Help is printed and ends.
    with contextlib.suppress(SystemExit):
        parser.parse_intermixed_args(list(arguments))


def check_node(arguments):
    """Only options of the node stand before those of ROS."""
    own = arguments[: arguments.index('--ros-args')] if '--ros-args' in arguments else arguments
    assert [each for each in own if each.startswith('--')] in ([], ['--urdf'])
