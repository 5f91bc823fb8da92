# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge demo``: what it is made of, and as a user runs it, over real DDS."""

from __future__ import annotations

import ast
import math
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys

import pytest
from waiting import wait

import transmission_bridge
from transmission_bridge.resources import resource
from transmission_bridge.tools import demo_formulas as formulas
from transmission_bridge.tools.demo import Comparison

# -- formulas ------------------------------------------------------------------------------------


def test_the_formulas_use_nothing_of_what_they_check():
    """The module imports nothing but typing, so that it is an independent derivation."""
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(Path(formulas.__file__).read_text(encoding='utf-8')))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported == {'__future__', 'collections.abc'}


# -- comparison ----------------------------------------------------------------------------------


def _double(interface: str, given_values: dict[str, float]) -> dict[str, tuple[float, ...]]:
    return {'out': (given_values['in'], given_values['in'])}


def _compared(*messages: tuple[int, dict[str, dict[str, float]]]) -> Comparison:
    """Return what was compared of outputs: second of the stamp, arrays by interface."""
    comparison = Comparison('actuator_states', 'joint_states', _double)
    for stamp, published in messages:
        topic = 'actuator_states' if 'in' in published.get('position', ()) else 'joint_states'
        comparison.add_message(topic, (stamp, 0), published)
    return comparison


ASKED = (1, {'position': {'in': 1.5}})


@pytest.mark.parametrize(('published', 'words'), [
    ({'position': {'out': -3.0}}, "position of 'out' is -3.0, the formulas give 3.0"),
    ({'position': {'out': 3.0 * (1 + 2e-12)}}, "position of 'out' is 3.0"),
    ({'position': {'out': math.nan}}, "position of 'out' is nan"),
    ({'position': {}}, "position of 'out' is nan, the formulas give 3.0"),
    ({'position': {'out': 3.0, 'more': 0.0}}, "position of 'more' is 0.0, the formulas give nan"),
    ({'position': {'out': 3.0}, 'effort': {'out': 0.0}}, "effort of 'out' is 0.0"),
    ({'position': {'out': 3.0}}, ''),
])  # fmt: skip
def test_whatever_differs_is_a_fault_with_its_name(published, words):
    """A wrong, missing or surplus value, whichever message arrives first; else none."""
    for messages in ((ASKED, (1, published)), ((1, published), ASKED)):
        comparison = _compared(*messages)
        assert (comparison.compared, len(comparison.faults)) == (1, bool(words))
        assert bool(words) or comparison.worst == 0.0
        for fault in comparison.faults.values():
            assert fault.startswith('joint_states: ')
            assert words in fault


# -- as a user runs it ---------------------------------------------------------------------------

PROGRAM = [sys.executable, '-m', 'transmission_bridge', 'demo']
PACKAGE = Path(transmission_bridge.__file__).parent


@pytest.fixture
def demo(request, harness):
    """Return a function that starts the demo in the domain of this test run."""

    def start_demo(seconds, folder=None):
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(harness.DOMAIN)}
        environment |= {'PYTHONPATH': str(folder)} if folder else {}
        program = [*PROGRAM, '--seconds', str(seconds)]
        how = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True}
        process = subprocess.Popen(program, env=environment, cwd=folder, **how)
        request.addfinalizer(process.kill)
        return process

    return start_demo


@pytest.mark.ros
def test_the_demo_passes_and_says_so_in_its_last_line(demo):
    """A short run exits with 0 after messages agreed to rounding."""
    process = demo(1)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, '')
    last = out.splitlines()[-1]
    match = re.fullmatch(
        r'demo passed: (\d+) joint_states, (\d+) actuator_commands, '
        r'largest relative deviation from formulas written out by hand (\S+)',
        last,
    )
    assert match is not None, last
    states, commands, deviation = map(float, match.groups())
    assert states > 0
    assert commands > 0
    assert deviation <= 1e-12
    assert f'namespace /demo_{process.pid}' in out  # no command of it moves another robot
    # Snapshots, as standard output is no terminal.
    assert '\x1b' not in out
    assert out.count('ACTUATOR ') >= 1


@pytest.mark.ros
def test_one_wrong_sign_fails_and_names_what_is_wrong(demo, tmp_path):
    """With one sign of the differential flipped, the demo says whose position it spoils."""
    copy = tmp_path / 'copy'
    shutil.copytree(PACKAGE, copy / PACKAGE.name, ignore=shutil.ignore_patterns('*.pyc'))
    shutil.copy(resource('package.xml'), copy)
    (copy / 'urdf').mkdir()
    shutil.copy(resource('urdf', 'arm.urdf'), copy / 'urdf')
    path = copy / PACKAGE.name / 'transmissions' / 'linear.py'
    text = path.read_text(encoding='utf-8')
    assert text.count('[1.0, -1.0]]') == 1
    path.write_text(text.replace('[1.0, -1.0]]', '[1.0, 1.0]]'), encoding='utf-8')
    # The working folder comes first on the path of ``python -m``.
    process = demo(2, copy)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "actuator_commands: position of 'wrist_right_motor' is " in err
    assert "position of 'wrist_left_motor'" not in err
    assert out.splitlines()[-1].startswith('demo FAILED: ')


@pytest.mark.ros
def test_an_interrupted_demo_leaves_no_process(demo):
    """A signal ends the demo and its bridge, without traceback."""
    process = demo(600)

    def find_bridge():
        tasks = Path(f'/proc/{process.pid}/task').glob('*/children')
        children = {child for task in tasks for child in task.read_text().split()}
        return len(children) == 1 and children

    children = wait(find_bridge, 'the bridge of the demo')
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, '')
    assert not any(Path('/proc', child).exists() for child in children)
