# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge demo``, as a user runs it: real processes over real DDS."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import transmission_bridge
from transmission_bridge.resources import resource

PROGRAM = [sys.executable, '-m', 'transmission_bridge', 'demo']

PACKAGE = Path(transmission_bridge.__file__).parent


@pytest.fixture(scope='module')
def rclpy() -> None:
    """Skip where rclpy is missing."""
    pytest.importorskip('rclpy', reason='rclpy is not installed')


def _environment(**more: str) -> dict[str, str]:
    # The demo chooses its own domain, unless the user has.
    kept = {name: value for name, value in os.environ.items() if name != 'ROS_DOMAIN_ID'}
    return {**kept, **more}


def _demo(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    settings.setdefault('env', _environment())
    return subprocess.run(
        [*PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **settings,
    )


@pytest.fixture
def sabotaged(tmp_path: Path) -> Callable[[str, str, str], dict[str, object]]:
    """Return how to run a copy of the package in which one text is replaced by another."""

    def make(module: str, old: str, new: str) -> dict[str, object]:
        copy = tmp_path / 'copy'
        shutil.copytree(PACKAGE, copy / PACKAGE.name, ignore=shutil.ignore_patterns('*.pyc'))
        shutil.copy(resource('package.xml'), copy)
        (copy / 'urdf').mkdir()
        shutil.copy(resource('urdf', 'arm.urdf'), copy / 'urdf')
        path = copy / PACKAGE.name / module
        text = path.read_text(encoding='utf-8')
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding='utf-8')
        # The working folder comes first on the path of ``python -m``.
        return {'cwd': copy, 'env': _environment(PYTHONPATH=str(copy))}

    return make


@pytest.mark.ros
@pytest.mark.usefixtures('rclpy')
def test_the_demo_passes_and_says_so_in_its_last_line():
    """A short run exits with 0 after messages in both directions agreed to rounding."""
    result = _demo('--seconds', '3')
    assert result.returncode == 0, result.stderr
    assert result.stderr == ''
    last = result.stdout.splitlines()[-1]
    match = re.fullmatch(
        r'demo passed: (\d+) joint_states at (\d+) Hz, (\d+) actuator_commands at (\d+) Hz, '
        r'largest relative deviation from formulas written out by hand (\S+)',
        last,
    )
    assert match is not None, last
    states, _, commands, _, deviation = map(float, match.groups())
    assert states >= 10
    assert commands >= 10
    assert deviation <= 1e-12
    # Snapshots, as standard output is no terminal.
    assert '\x1b' not in result.stdout
    assert result.stdout.count('ACTUATOR ') == 4


@pytest.mark.ros
@pytest.mark.usefixtures('rclpy')
@pytest.mark.parametrize(
    ('factor', 'wrong', 'right'),
    [
        ('reciprocal(2 * jr2 * ar2)', "joint 'wrist_roll'", "'elbow'"),
        ('jr2 * ar2]]', "actuator 'wrist_right_motor'", "'wrist_left_motor'"),
    ],
    ids=['states', 'commands'],
)
def test_one_wrong_sign_fails_and_names_what_is_wrong(sabotaged, factor, wrong, right):
    """With one sign of the differential flipped, the demo says whose position it spoils."""
    copy = sabotaged('transmissions/differential.py', f'-{factor}', factor)
    result = _demo('--seconds', '2', **copy)
    assert result.returncode == 1
    assert f'position of {wrong} is ' in result.stderr
    assert right not in result.stderr
    assert result.stdout.splitlines()[-1].startswith('demo FAILED: ')


@pytest.mark.ros
@pytest.mark.usefixtures('rclpy')
def test_a_process_that_dies_fails_with_what_it_said(sabotaged):
    """When the bridge dies its output is shown."""
    copy = sabotaged(
        'ros/bridge_main.py',
        '\ndef main(',
        '\nraise RuntimeError("sabotage of the bridge")\ndef main(',
    )
    result = _demo('--seconds', '2', **copy)
    assert result.returncode == 1
    assert 'demo: transmission_bridge ended with exit code 1' in result.stderr
    assert 'RuntimeError: sabotage of the bridge' in result.stderr


@pytest.mark.ros
@pytest.mark.usefixtures('rclpy')
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_leaves_no_process(number):
    """SIGINT, SIGTERM and SIGHUP end the demo and its children, without traceback."""
    process = subprocess.Popen(
        [*PROGRAM, '--seconds', '600'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
    )
    children: set[int] = set()
    deadline = time.monotonic() + 60.0
    while len(children) < 2 and time.monotonic() < deadline:
        children = _children_of(process.pid)
        time.sleep(0.05)
    assert len(children) == 2
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == ''
    assert not any(Path(f'/proc/{child}').exists() for child in children)


def _children_of(pid: int) -> set[int]:
    tasks = Path(f'/proc/{pid}/task').glob('*/children')
    return {int(child) for task in tasks for child in task.read_text().split()}


@pytest.mark.ros
@pytest.mark.usefixtures('rclpy')
def test_on_a_terminal_the_table_stays_in_place():
    """On a terminal the same lines are written over again."""
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, '--seconds', '1'],
        stdout=terminal,
        stderr=subprocess.PIPE,
        env=_environment(LINES='24', COLUMNS='80'),
    )
    os.close(terminal)
    shown = bytearray()
    try:
        while piece := os.read(main, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    _, err = process.communicate(timeout=60)
    os.close(main)
    assert (process.returncode, err) == (0, b'')
    # rich goes up and clears one line after the other.
    assert shown.count(b'\x1b[1A\x1b[2K' * 16) >= 3
    assert b'demo passed' in shown


def test_without_rclpy_the_demo_says_how_to_get_it():
    """A missing rclpy is one sentence with the command to type, and exit code 2."""
    program = (
        'import sys; sys.modules["rclpy"] = None; '
        'from transmission_bridge.tools.main import main; sys.exit(main(["demo"]))'
    )
    result = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stdout) == (2, '')
    assert "pip install '.[kilted]'" in result.stderr
    assert result.stderr.count('\n') == 1


@pytest.mark.parametrize('seconds', ['0', '-1', 'nan', 'inf', 'long', ''])
def test_a_time_that_is_none_is_a_usage_error(run, seconds):
    """Only a finite number of seconds above zero is a time."""
    result = run('demo', '--seconds', seconds)
    assert (result.code, result.out) == (2, '')
    assert '--seconds' in result.err
