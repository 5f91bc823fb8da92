# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The scripts and files that documents tell to save, run with a bridge as the documents say."""

from __future__ import annotations

from contextlib import suppress
import os
import re
import shlex
import signal

from documents import DOCUMENTS, python
import numpy as np
import pytest

from transmission_bridge import load_description, RobotTransmissions

OFFSET = 'transmissions.hinge_transmission.joints.hinge.offset'
FIRST = DOCUMENTS['first_robot.md']


def command(*words, cwd):
    """Return what a command of the package, with the arguments of a document, has said."""
    result = python('-m', *words, cwd=cwd)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def newest(heard, *names):
    """Return the newest positions of names, NaN where one is missing."""
    found = dict(zip(heard[-1].names, heard[-1].position, strict=True)) if heard else {}
    return [found.get(name, np.nan) for name in names]


def at(heard, position):
    """Return whether the newest position, of the one joint or motor, is this one."""
    return heard and np.allclose(heard[-1].position, [position], rtol=0.0, atol=1e-12)


# -- the first robot -----------------------------------------------------------------------------


def test_the_first_robot_without_a_bridge(folder):
    """Bare, its joint passes through; check finds nothing wrong, and the maps print their text."""
    urdf = FIRST.files['my_robot.urdf']
    bare = re.sub('<ros2_control.*</ros2_control>', '', urdf, flags=re.DOTALL)
    robot = RobotTransmissions(load_description(bare))
    assert (robot.actuator_names, robot.transmissions) == (('hinge',), {})
    lines = FIRST.section('Check before anything moves').splitlines()
    commands = [line for line in lines if line.startswith('transmission_bridge ')]
    for line, words in zip(commands, ('0 errors, 0 warnings', '0.5', '-0.2'), strict=True):
        assert words in command(*shlex.split(line), cwd=folder)


@pytest.mark.ros
def test_the_command_says_what_is_wrong(start_script, peer, message):
    """A word that is no goal, and a joint whose position is unknown, each end it with 1."""
    states = peer.publisher('joint_states', readers=0)
    peer.node.create_timer(0.1, lambda: peer.send(states, message({'hinge': 0.0})))
    script = start_script('command.py', 'hinge=0.5', 'elbow=0.5')
    code, _, errors = start_script('command.py', 'hinge', '0.5').ended()
    assert (code, errors.splitlines()[-1]) == (1, 'expected joint=number, found hinge 0.5')
    peer.spin_until(lambda: script.poll() is not None, 'the end of the script')
    words = 'no position of elbow: unknown to the bridge, or in an unknown turn\n'
    assert script.ended() == (1, '', words)


@pytest.mark.ros
def test_the_command_waits_for_the_bridge_itself(start_script, start_bridge, peer):
    """It moves the joint; a recorder that listens is no bridge, without one it gives up."""
    peer.listen('joint_commands')
    joints, motors = peer.listen('joint_states'), peer.listen('actuator_states')
    command = 'command.py', 'hinge=0.5'
    errors = "not at {'hinge': 0.5}, clamped to the limits or not moved: no joint_states\n"
    assert start_script(*command).ended() == (1, '', errors)
    script = start_script(*command)
    publishers = peer.node.get_publishers_info_by_topic
    peer.spin_until(
        lambda: 'command' in [each.node_name for each in publishers('joint_commands')],
        'a script that is there',
    )
    start_bridge('-p', f'{OFFSET}:=0.1')
    moved = 0, "{'hinge': 0.5}\n", ''
    # A busy machine may start the bridge after the command gave up: then it is given again.
    peer.spin_until(
        lambda: script.ended() == moved or start_script(*command).ended() == moved,
        'a joint that was moved',
    )
    # In the numbers of the document: 50 turns of the motor the other way, from the offset.
    peer.spin_until(
        lambda: at(joints, 0.5) and at(motors, -20.0), 'a joint at 0.5, a motor at -20'
    )
    assert joints[-1].names == ('hinge',)
    assert len(joints[-1].velocity) == 0


# -- several drivers -----------------------------------------------------------------------------


@pytest.mark.ros
def test_two_drivers_with_the_same_names(start_script, start_bridge, peer, folder, message):
    """Each M1 is its own: states go up to its joint, commands down to its driver."""
    ratios = {'left': 50.0, 'right': -50.0}  # motor turns per turn of the joint
    for arm in ratios:
        start_script('arm_driver.py', '--ros-args', '-r', f'__ns:=/{arm}')
    start_bridge('--params-file', folder / 'two_arms.yaml', urdf='two_arms.urdf')
    joints = peer.listen('joint_states')
    motors = {arm: peer.listen(f'{arm}/actuator_states') for arm in ratios}
    commands = {arm: peer.listen(f'{arm}/actuator_commands') for arm in ratios}
    publisher = peer.publisher('joint_commands')
    wanted = {'left_shoulder': 0.5, 'right_shoulder': -0.75}
    peer.spin_until(lambda: newest(joints, *wanted) == [0.0, 0.0], 'two joints at zero')

    for arm, ratio in ratios.items():
        goal = wanted[f'{arm}_shoulder'] * ratio

        def command_arm():
            (sent,) = peer.exchange(publisher, message(wanted, stamp=3), commands[arm])
            assert sent.names == ('M1',)
            np.testing.assert_allclose(sent.position, [goal])

        command_arm()
        # Repeated, because the driver may discover the bridge later than this test does.
        peer.spin_until(lambda: at(motors[arm], goal) or command_arm(), 'its motor there')
    peer.spin_until(
        lambda: np.allclose(newest(joints, *wanted), [*wanted.values()]), 'joints there'
    )


# -- recording without ROS -----------------------------------------------------------------------


@pytest.mark.ros
def test_a_recording_is_made_and_converted(start_script, start_bridge, peer, folder):
    """The recording has what was published, and the command of the document converts it."""
    pytest.importorskip('rosbags', reason='rosbags is not installed (extra bags)')
    start_bridge()
    joints = peer.listen('joint_states')
    assert start_script('command.py', 'hinge=0.5').ended() == (0, "{'hinge': 0.5}\n", '')
    peer.spin_until(lambda: joints and joints[-1].position[0] == 0.5, 'a joint at 0.5')
    lines = DOCUMENTS['operation.md'].section('Recordings').splitlines()
    programs = ('python3 record.py', 'transmission_bridge convert')
    record, convert = [shlex.split(line) for line in lines if line.startswith(programs)]
    script = start_script(*record[1:])
    os.set_blocking(script.stdout.fileno(), False)
    said = ''

    def records():
        nonlocal said
        with suppress(BlockingIOError):
            said += os.read(script.stdout.fileno(), 4096).decode()
        return all(f'recording {topic}\n' in said for topic in record[3:])

    assert len(record[3:]) == 2
    peer.spin_until(records, 'a recorder that has messages of both topics')
    code, _, errors = script.ended(signal.SIGINT)
    assert (code, errors) == (0, '')
    command(*convert, cwd=folder)
    assert (folder / 'again.mcap').stat().st_size > 1000


@pytest.mark.ros
def test_a_recorder_that_hears_nothing_says_so(start_script, peer):
    """Its end names the topics that nobody published."""
    pytest.importorskip('rosbags', reason='rosbags is not installed (extra bags)')
    script = start_script('record.py', 'empty', '/nobody')
    listeners = peer.node.get_subscriptions_info_by_topic
    peer.spin_until(
        lambda: 'record' in [each.node_name for each in listeners('/nobody')], 'a recorder'
    )
    code, _, errors = script.ended(signal.SIGINT)
    assert (code, errors) == (1, 'no message on /nobody\n')
