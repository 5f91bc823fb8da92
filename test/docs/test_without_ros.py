# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The scripts for those who have no ros2cli, against a running bridge."""

from __future__ import annotations

from contextlib import suppress
import csv
import os
from pathlib import Path
import re
import shlex
import signal
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[2]
INTERFACES = ('position', 'velocity', 'effort')
REDUCTION = 'transmissions.hinge_transmission.joints.hinge.mechanical_reduction'
OFFSET = 'transmissions.hinge_transmission.joints.hinge.offset'


def test_every_command_of_ros2_has_a_way_without(documents):
    """The table has each kind of command that README and documents use."""
    table = (ROOT / 'docs' / 'without_ros.md').read_text(encoding='utf-8')
    rows = re.findall(r'^\| (`ros2 .*?) \|', table, re.MULTILINE)
    known = {command for row in rows for command in re.findall(r'`ros2 ([a-z ]+)', row)}
    used = set()
    for path in (ROOT / 'README.md', *documents.DOCUMENTS):
        text = path.read_text(encoding='utf-8')
        used |= set(re.findall(r'\bros2 (launch|run|[a-z]+ [a-z]+)', text))
    assert len(used) > 8
    assert used <= known


@pytest.fixture
def operate(start_script, harness):
    """Return a function that runs ``operate.py``: what it said, and its exit code."""

    def call(*words):
        # Asked again where an answer was lost, or the name of a node is not known yet.
        for _ in range(3):
            script = start_script('operate.py', *words)
            said, errors = script.communicate(timeout=harness.PATIENCE)
            if 'no answer' not in errors and '_NODE_NAME_UNKNOWN_' not in said:
                break
        assert 'Traceback' not in errors, errors
        return said, script.returncode

    return call


def python(*words, cwd):
    """Return what a Python that ended well has said."""
    result = subprocess.run(
        [sys.executable, '-m', *words], cwd=cwd, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.ros
def test_a_bridge_is_operated(driver, start_bridge, operate, peer, folder):
    """Numbers are set, dumped and used again, joints zeroed, states of life and others seen."""
    robot = folder / 'my_robot.urdf'
    actuator = '<actuator name="hinge_motor" role="actuator1"'
    limited = f'{actuator}><limit upper="900"/></actuator>'
    robot.write_text(robot.read_text(encoding='utf-8').replace(f'{actuator}/>', limited))
    bridge = start_bridge()
    joints = peer.listen('joint_states')
    peer.spin_until(lambda: joints, 'a joint')
    assert operate('set', OFFSET, '0.25')[1] == 0
    peer.spin_until(lambda: joints[-1].position[0] == 0.25, 'a joint at its offset')
    dumped, code = operate('dump')
    assert code == 0
    assert dumped.startswith('/**:\n  ros__parameters:\n    transmissions.')
    assert f'    {OFFSET}: 0.25\n' in dumped
    assert '.lower: -.inf\n' in dumped
    said, code = operate('set', REDUCTION, '0.0')
    assert (code, 'other than zero' in said) == (1, True), said
    said, code = operate('zero')
    assert (code, 'hinge' in said) == (0, True)
    peer.spin_until(lambda: joints[-1].position[0] == 0.0, 'a joint at zero')
    said, code = operate('diagnostics')
    assert code == 0
    assert re.search(r'^OK .*transmission_bridge', said, re.MULTILINE), said
    said, code = operate('info', '/joint_commands')
    assert (code, said) == (0, 'SUBSCRIPTION / transmission_bridge RELIABLE\n')
    assert operate('deactivate') == ('done\n', 0)
    assert peer.state() == 'inactive'
    assert operate('deactivate')[1] == 1
    assert bridge.stop() == 0

    # What was dumped is a parameter file, for export and for the next start.
    (folder / 'dumped.yaml').write_text(dumped, encoding='utf-8')
    export = ('export', 'my_robot.urdf', '--params-file', 'dumped.yaml')
    assert '0.25' in python('transmission_bridge', *export, cwd=folder)
    del joints[:]
    start_bridge('--params-file', folder / 'dumped.yaml')
    peer.spin_until(lambda: joints and joints[-1].position[0] == 0.25, 'the number of the file')


@pytest.mark.ros
def test_a_recording_is_made_and_converted(
    driver, start_bridge, start_script, peer, harness, documents, folder
):
    """The recording has what was said, and the commands of the document make tables of it."""
    pytest.importorskip('rosbags', reason='rosbags is not installed (extra bags)')
    start_bridge()
    joints = peer.listen('joint_states')
    _, errors = start_script('command.py', 'hinge=0.5').communicate(timeout=harness.PATIENCE)
    assert errors == ''
    peer.spin_until(lambda: joints and joints[-1].position[0] == 0.5, 'a joint at 0.5')
    record, *convert = [
        shlex.split(line)
        for block in documents.blocks('recordings.md')
        if block.language == 'bash'
        for line in block.text.splitlines()
        if not line.startswith('ros2 ')
    ]
    assert record[:2] == ['python3', 'record.py']
    script = start_script(*record[1:])
    os.set_blocking(script.stdout.fileno(), False)
    said = ''

    def records():
        nonlocal said
        with suppress(BlockingIOError):
            said += os.read(script.stdout.fileno(), 4096).decode()
        return all(f'recording {topic}\n' in said for topic in record[3:])

    assert len(record[3:]) == 2
    peer.spin_until(records, 'a recorder that hears both topics')
    del joints[:]
    peer.spin_until(lambda: len(joints) > 50, 'messages to record')
    script.send_signal(signal.SIGINT)
    _, errors = script.communicate(timeout=harness.PATIENCE)
    assert (script.returncode, errors) == (0, '')
    assert len(convert) == 2
    for command in convert:
        python(*command, cwd=folder)
    with (folder / 'joints.csv').open(encoding='utf-8', newline='') as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == ['time', 'stamp', *(f'hinge.{name}' for name in INTERFACES)]
    assert {line['hinge.position'] for line in lines} == {'0.5'}
    assert len(lines) > 10
    assert (folder / 'again.mcap').stat().st_size > 1000


@pytest.mark.ros
def test_a_recorder_that_hears_nothing_says_so(start_script, peer, harness):
    """Its end names the topics that nobody published."""
    pytest.importorskip('rosbags', reason='rosbags is not installed (extra bags)')
    script = start_script('record.py', 'empty', '/nobody')
    listeners = peer.node.get_subscriptions_info_by_topic
    peer.spin_until(
        lambda: 'record' in [each.node_name for each in listeners('/nobody')], 'a recorder'
    )
    script.send_signal(signal.SIGINT)
    _, errors = script.communicate(timeout=harness.PATIENCE)
    assert (script.returncode, errors) == (1, 'no message on /nobody\n')
