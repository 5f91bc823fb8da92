# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the demo is made of: formulas, motions, comparison, table, processes."""

from __future__ import annotations

import ast
import math
import os
from pathlib import Path
import signal
import time

from command_paths import Commands
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.description import load_description
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.messages.joint_state import JointStateRecord, LayoutTable
from transmission_bridge.resources import resource
from transmission_bridge.sim.demo_motion import command_at, MOTIONS
from transmission_bridge.sim.driver import Driver, DriverSettings
from transmission_bridge.tools.demo import formulas
from transmission_bridge.tools.demo.comparison import Comparison, JointSample
from transmission_bridge.tools.demo.formulas import ACTUATORS, JOINTS
from transmission_bridge.tools.demo.processes import Child, end_processes, ros_environment

INTERFACES = ('position', 'velocity', 'effort')

values = st.floats(-1e3, 1e3)
six = st.tuples(*[values] * 6)


@pytest.fixture(scope='module', params=['arm.urdf', 'arm_ros1.urdf'])
def arm(request) -> tb.RobotTransmissions:
    """Return the example robot as the core understands it, from either dialect."""
    return tb.RobotTransmissions(load_description(resource('urdf', request.param)))


# -- formulas ------------------------------------------------------------------------------------


def test_the_formulas_use_nothing_of_what_they_check():
    """The module imports nothing but typing, so that it is an independent derivation."""
    tree = ast.parse(Path(formulas.__file__).read_text(encoding='utf-8'))
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported == {'__future__', 'collections.abc'}


def test_the_formulas_know_every_joint_and_actuator(arm):
    """The names typed in are those of the robot."""
    assert sorted(JOINTS) == sorted(arm.joint_names)
    assert sorted(ACTUATORS) == sorted(arm.actuator_names)


@given(numbers=six, interface=st.sampled_from(INTERFACES))
def test_the_core_agrees_with_the_formulas_both_ways(arm, numbers, interface):
    """Every interface in both directions, to rounding of the terms."""
    for names, others, terms_of, function in (
        (ACTUATORS, JOINTS, formulas.joints_from_actuators, 'actuator_to_joint'),
        (JOINTS, ACTUATORS, formulas.actuators_from_joints, 'joint_to_actuator'),
    ):
        given_values = dict(zip(names, numbers, strict=True))
        inputs = arm.actuator_names if names is ACTUATORS else arm.joint_names
        outputs = arm.joint_names if names is ACTUATORS else arm.actuator_names
        result = getattr(arm, function)(interface, [given_values[name] for name in inputs])
        expected = terms_of(interface, given_values)
        assert set(expected) == set(others)
        for name, value in zip(outputs, result, strict=True):
            scale = math.fsum(map(abs, expected[name]))
            assert abs(value - math.fsum(expected[name])) <= 1e-15 * 4 * scale + 1e-300


# -- motions -------------------------------------------------------------------------------------


def test_the_motions_begin_where_the_joints_are():
    """The first command changes nothing."""
    start = dict(zip(JOINTS, (0.3, -0.2, 0.9, 0.1, -0.1, 0.4), strict=True))
    command = command_at(0.0, start)
    assert command['position'] == start
    assert set(command['velocity'].values()) == {0.0}


@given(t=st.floats(0.0, 100.0))
def test_the_motions_stay_within_the_limits_of_the_robot(t):
    """No command would be clamped, from where the joints stand with the motors at zero."""
    description = load_description(resource('urdf', 'arm.urdf'))
    robot = tb.RobotTransmissions(description)
    zero = robot.actuator_to_joint('position', np.zeros(6)).tolist()
    command = command_at(t, dict(zip(robot.joint_names, zero, strict=True)))
    assert set(command['position']) == set(JOINTS) == set(MOTIONS)
    for name in JOINTS:
        limits = effective_limits(description, name)
        assert limits.lower <= command['position'][name] <= limits.upper
        assert abs(command['velocity'][name]) <= limits.velocity


def test_the_efforts_of_the_simulated_driver_are_those_of_an_arm():
    """While the demo moves, no joint has an effort beyond its limit, nor none at all."""
    description = load_description(resource('urdf', 'arm.urdf'))
    robot = tb.RobotTransmissions(description)
    driver = Driver(robot.actuator_names, DriverSettings(), now=0.0)
    bridge, layouts = Commands(robot), LayoutTable()
    start = dict(zip(JOINTS, robot.actuator_to_joint('position', np.zeros(6)), strict=True))
    efforts = []
    for step in range(24 * 50):  # two seconds of entry, and all sines from their start again
        command = command_at(0.02 * step, start)
        fields = [[command[field][name] for name in JOINTS] for field in ('position', 'velocity')]
        wish = JointStateRecord((0, 0), '', JOINTS, *map(np.array, fields), np.empty(0))
        position = robot.actuator_to_joint('position', driver.sample(now=0.02 * step).position)
        layout = layouts.find_layout(wish.names, wish.lengths)
        for message in bridge.command(layout, wish, position, (0, 0)):
            driver.command(message, now=0.02 * step)
        for late in (0.0, 0.01, 0.019):
            sample = driver.sample(now=0.02 * step + late)
            efforts.append(robot.actuator_to_joint('effort', sample.effort))
    limits = np.array([effective_limits(description, name).effort for name in JOINTS])
    greatest = np.abs(efforts).max(axis=0)
    assert np.all(greatest < limits)
    assert np.all(greatest > 0.01 * limits)


@given(t=st.floats(0.01, 30.0))
def test_the_commanded_velocity_is_the_derivative_of_the_position(t):
    """Central differences of the position give the velocity."""
    start = dict.fromkeys(JOINTS, 0.2)
    h = 1e-5
    before, now, after = (command_at(t + step, start) for step in (-h, 0.0, h))
    for name in JOINTS:
        slope = (after['position'][name] - before['position'][name]) / (2 * h)
        assert now['velocity'][name] == pytest.approx(slope, abs=1e-4)


# -- comparison ----------------------------------------------------------------------------------


def _double(interface: str, given_values: dict[str, float]) -> dict[str, tuple[float, ...]]:
    return {'out': (given_values['in'], given_values['in'])}


def _compared(published: dict[str, dict[str, float]], stamp: int = 1) -> Comparison:
    comparison = Comparison('joint_states', 'joint', _double)
    comparison.add_input(JointSample((1, 0), {'position': {'in': 1.5}}))
    comparison.add_output(JointSample((stamp, 0), published))
    return comparison


def test_an_equal_value_is_no_fault():
    """What agrees is counted and nothing is said."""
    comparison = _compared({'position': {'out': 3.0}})
    assert (comparison.compared, comparison.faults, comparison.worst) == (1, [], 0.0)


@pytest.mark.parametrize(
    ('published', 'words'),
    [
        ({'position': {'out': -3.0}}, "position of joint 'out' is -3.0, the formulas give 3.0"),
        ({'position': {'out': 3.0 * (1 + 2e-12)}}, "position of joint 'out' is 3.0"),
        ({'position': {'out': math.nan}}, "position of joint 'out' is nan"),
        ({'position': {'out': math.inf}}, "position of joint 'out' is inf"),
        ({'position': {}}, "position of joint 'out' is missing"),
        ({}, "position of joint 'out' is missing"),
        ({'position': {'out': 3.0, 'more': 0.0}}, "joint 'more' is published"),
        ({'position': {'out': 3.0}, 'effort': {'out': 0.0}}, "effort of joint 'out' is published"),
    ],
)
def test_whatever_differs_is_a_fault_with_its_name(published, words):
    """A wrong, missing, unknown or surplus value is a sentence that names it."""
    (fault,) = _compared(published).faults
    assert fault.startswith('joint_states: ')
    assert words in fault


def test_the_order_of_arrival_does_not_matter():
    """An answer that arrives before its question is compared all the same."""
    comparison = Comparison('joint_states', 'joint', _double)
    comparison.add_output(JointSample((1, 0), {'position': {'out': 0.0}}))
    assert comparison.compared == 0
    comparison.add_input(JointSample((1, 0), {'position': {'in': 1.5}}))
    assert comparison.compared == 1
    assert len(comparison.faults) == 1


def test_nothing_to_compare_is_a_fault():
    """Silence, and stamps that never match, are no agreement."""
    assert 'no message could be compared' in Comparison('joint_states', 'joint', _double).faults[0]
    assert (
        'no message could be compared' in _compared({'position': {'out': 3.0}}, stamp=2).faults[0]
    )


def test_stamps_that_no_input_had_are_a_fault():
    """Outputs with stamps of their own between those of inputs cannot be right."""
    comparison = Comparison('joint_states', 'joint', _double)
    for second in range(1, 11):
        comparison.add_input(JointSample((second, 0), {'position': {'in': 1.0}}))
        comparison.add_output(JointSample((second, 0), {'position': {'out': 2.0}}))
    comparison.add_output(JointSample((5, 1), {'position': {'out': 2.0}}))
    (fault,) = comparison.faults
    assert '1 messages with stamps of no input' in fault


# -- processes -----------------------------------------------------------------------------------

STUBBORN = """
import signal
for number in {ignored!r}:
    signal.signal(number, signal.SIG_IGN)
print('ready', flush=True)
while True:
    signal.pause()
"""


@pytest.mark.parametrize(
    ('ignored', 'code'),
    [
        ([signal.SIGINT.value], -signal.SIGTERM),
        ([signal.SIGINT.value, signal.SIGTERM.value], -signal.SIGKILL),
    ],
)
def test_processes_end_however_stubborn_they_are(tmp_path, monkeypatch, ignored, code):
    """A process that ignores signals is ended by the next firmer one, and waited for."""
    monkeypatch.setattr('transmission_bridge.tools.demo.processes._PATIENCE', 0.3)
    (tmp_path / 'stubborn.py').write_text(STUBBORN.format(ignored=ignored))
    log = tmp_path / 'log'
    child = Child('stubborn', ['stubborn'], {**os.environ, 'PYTHONPATH': str(tmp_path)}, log)
    while 'ready' not in log.read_text():
        assert child.poll() is None, child.last_words
        time.sleep(0.01)
    end_processes([child])
    assert child.returncode == code


def test_a_process_that_died_is_found_with_its_last_words(tmp_path):
    """The end of what it printed is kept, its error output included."""
    (tmp_path / 'dying.py').write_text(
        'print("x\\n" * 100)\nraise SystemExit("these words are its last")\n'
    )
    environment = {**os.environ, 'PYTHONPATH': str(tmp_path)}
    child = Child('dying', ['dying'], environment, tmp_path / 'log')
    assert child.wait(30.0) == 1
    assert child.last_words[-1] == 'these words are its last'
    assert len(child.last_words) == 20


def test_the_network_is_our_own_unless_the_user_chose():
    """A domain and the local range are added where the user has set neither."""
    added = ros_environment({})
    assert 1 <= int(added['ROS_DOMAIN_ID']) <= 101
    assert added['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    chosen = {'ROS_DOMAIN_ID': '7', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}
    assert ros_environment(chosen) == {}
