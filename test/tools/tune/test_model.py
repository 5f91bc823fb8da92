# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the page works on: previews, proposals, undo, saving."""

from __future__ import annotations

import functools
from pathlib import Path

from hypothesis import given, strategies as st
import numpy as np
import pytest
from zoo.elements import params, transmission, urdf

from transmission_bridge.bridge.options.options import PREFIX, strip_prefixes
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.resources import resource
from transmission_bridge.tools.files import read_parameter_file
from transmission_bridge.tools.tune.model import TuneModel, TuneNotPossible
from transmission_bridge.tools.tune.robots import compute_tune_start_position, TuneFileRobot
from transmission_bridge.transmissions import RobotTransmissions

ARM = Path(resource('urdf', 'arm.urdf')).read_bytes()
ARM1 = Path(resource('urdf', 'arm_ros1.urdf')).read_bytes()
PAN = f'{PREFIX}shoulder_pan_transmission.joints.shoulder_pan'

MATRIX = params(joint1='0.01 0.002', joint2='0 -0.02')
BELT = transmission('belt', 'Coupled', ['one', 'two'], ['m1', 'm2'], MATRIX)
COUPLED = urdf(('one', 'two', 'free'), BELT).encode()


@functools.cache
def robot_of(data: bytes) -> RobotTransmissions:
    """Return the maps of a robot."""
    return RobotTransmissions(load_description(data))


def model_of(data: bytes = ARM) -> TuneModel:
    """Return the numbers of a robot."""
    return TuneModel(data, robot_of(data))


def at(model: TuneModel, position) -> np.ndarray:
    """Return states of actuators at rest."""
    state = np.zeros((3, len(model.robot.actuator_names)))
    state[0] = position
    return state


#: That no joint of the arm is commanded.
NOBODY = np.zeros(6, dtype=bool)
POSITIONS = st.lists(st.floats(-30.0, 30.0), min_size=6, max_size=6)
JOINTS = model_of().robot.joint_names


@given(POSITIONS, st.sampled_from(JOINTS), st.sampled_from([ARM, ARM1]))
def test_turns_wrong_turns_that_joint_and_as_few_others_as_can_be(position, joint, data):
    """In both dialects, for gears, a four-bar linkage and a differential."""
    model = model_of(data)
    # Arrays follow the names, and the dialects have them in another order.
    position = np.array(position)
    values = model.compute_reversal(joint, position)
    preview = model.preview_change(values, position)
    row = model.robot.joint_names.index(joint)
    before, after = (each.jacobian(position) for each in (model.robot, preview.robot))
    np.testing.assert_array_equal(after[row], -before[row])
    others = {each.joint for each in preview.ratios} - {joint}
    # Of the four-bar linkage the lift motor moves both joints: its sense is that of both.
    assert others == ({'elbow'} if joint == 'shoulder_lift' else set())
    assert all(value == -model.find_value(name) for name, value in values.items())


def test_turns_wrong_of_a_matrix_is_its_row_and_of_no_transmission_nothing():
    """There is no reduction of one joint alone."""
    model = model_of(COUPLED)
    values = model.compute_reversal('one', np.zeros(3))
    assert set(values.values()) == {-0.01, -0.002}
    assert {name.split('.')[-2] for name in values} == {'joint1'}
    with pytest.raises(TuneNotPossible, match='free has no transmission'):
        model.compute_reversal('free', np.zeros(3))


def test_undo_sets_what_a_bridge_lost_by_starting_again():
    """A start that loses nothing is no step."""
    model = model_of()
    model.accept_values({f'{PAN}.offset': 0.5, f'{PAN}.mechanical_reduction': -7.0})
    for now in (1.0, 9.0):
        model.accept_restarted_bridge({f'{PAN}.offset': 0.25}, now)
        assert model.find_value(f'{PAN}.offset') == 0.25
    assert model.list_step_values() == {f'{PAN}.offset': 0.5}
    model.finish_step()
    with pytest.raises(TuneNotPossible):
        model.list_step_values()


@given(POSITIONS, st.dictionaries(st.sampled_from(JOINTS), st.floats(-3.0, 3.0), min_size=1))
def test_joints_are_read_where_they_are_said_to_be(position, wanted):
    """Zero here is the same with zeros; joints that are not named stay."""
    model = model_of()
    state = at(model, position)
    values = model.compute_placing_offsets(wanted, state, NOBODY)
    before = model.robot.actuator_to_joint('position', state[0])
    after = model.preview_change(values, state[0]).robot.actuator_to_joint('position', state[0])
    expected = [wanted.get(name, was) for name, was in zip(JOINTS, before, strict=True)]
    np.testing.assert_allclose(after, expected, atol=1e-12)


@pytest.mark.parametrize(('position', 'velocity', 'held', 'words'), [
    (0.0, 0.0, ~NOBODY, 'is holding a position command'),
    (0.0, 10.0, NOBODY, 'is moving'),
    (np.nan, 0.0, NOBODY, 'is unknown'),
])  # fmt: skip
def test_a_joint_that_moves_is_commanded_or_is_unknown_is_not_set(position, velocity, held, words):
    """With the reason, as the bridge's own service has it."""
    state = at(model_of(), position)
    state[1] = velocity
    with pytest.raises(MessageError, match=words):
        model_of().compute_placing_offsets({'elbow': 0.0}, state, held)


@given(POSITIONS, st.floats(-1.0, 1.0), st.floats(0.3, 3.0))
def test_a_preview_is_what_happens(position, offset, factor):
    """Positions of joints as they are read before and after, and nothing has changed yet."""
    model = model_of()
    position = np.array(position)
    values = {f'{PAN}.offset': offset, f'{PAN}.mechanical_reduction': 101.0 * factor}
    preview = model.preview_change(values, position)
    before = model.robot.actuator_to_joint('position', position)
    model.accept_values(values)
    after = model.robot.actuator_to_joint('position', position)
    moved = {shift.joint: (shift.before, shift.after) for shift in preview.shifts}
    for name, was, will in zip(model.robot.joint_names, before, after, strict=True):
        assert moved.get(name, (was, was)) == (was, will)
    assert not any(each.before * each.after < 0.0 for each in preview.ratios)
    # Of what cannot be accepted, why, in the words of the bridge.
    refused = model.preview_change({f'{PAN}.mechanical_reduction': 0.0}, position)
    assert refused.robot is None
    assert 'a number other than zero' in refused.reason


@given(st.lists(st.tuples(st.floats(-3.0, 3.0), st.sampled_from([0.5, 2.0])), min_size=1))
def test_undo_goes_back_all_the_way(steps):
    """What is done within a second on the same number is one step: a slider that is dragged."""
    model = model_of()
    name, now = f'{PAN}.offset', 0.0
    reached = [model.find_value(name)]
    for value, pause in steps:
        before = {name: model.find_value(name)}
        model.accept_values({name: value})
        model.record_step(before, now := now + pause)
        if pause < 1.0 and len(reached) > 1:
            reached[-1] = value
        else:
            reached.append(value)
    for expected in reached[-2::-1]:
        model.accept_values(model.list_step_values())
        model.finish_step()
        assert model.find_value(name) == expected
    with pytest.raises(TuneNotPossible, match='nothing to undo'):
        model.list_step_values()


def test_as_in_the_urdf_takes_back_everything():
    """Of one transmission."""
    model = model_of()
    model.accept_values({f'{PAN}.offset': 1.0, f'{PAN}.mechanical_reduction': -7.0})
    assert model.list_changes() == {
        f'{PAN}.mechanical_reduction': (101.0, -7.0),
        f'{PAN}.offset': (0.25, 1.0),
    }
    model.accept_values(model.list_reset_values('shoulder_pan_transmission'))
    assert (model.list_changes(), model.render_file('x.urdf').lines) == ({}, ())
    with pytest.raises(TuneNotPossible):
        model.list_reset_values('shoulder_pan_transmission')


@pytest.mark.parametrize('suffix', ['urdf', 'yaml'])
def test_what_is_saved_gives_the_numbers_back(suffix):
    """The description with two lines changed, or a parameter file with two numbers."""
    model, path = model_of(), f'tuned.{suffix}'
    values = {f'{PAN}.offset': 0.55, f'{PAN}.mechanical_reduction': -101.0}
    model.accept_values(values)
    saved = model.render_file(path)
    if suffix == 'urdf':
        tuned = robot_of(saved.data)
        assert [line[1:].strip() for line in saved.lines[2:] if line[0] == '+'] == [
            '<mechanical_reduction>-101.0</mechanical_reduction>',
            '<offset>0.55</offset>',
        ]
        assert len(saved.data.splitlines()) == len(ARM.splitlines())
    else:
        read = read_parameter_file(saved.data, path)
        assert read == values
        tuned = model.original.with_parameters(strip_prefixes(read))
        assert tuned.tunables == model.robot.tunables
    for name, value in values.items():
        assert TuneModel(ARM, tuned).find_value(name) == value


def test_a_robot_of_a_file_begins_inside_its_limits_and_moves_by_its_motors():
    """All joints at zero where they may be."""
    robot = TuneFileRobot(ARM, robot_of(ARM), {})
    np.testing.assert_allclose(robot.read_state().joints[0], 0.0, atol=1e-12)
    robot.move_actuator(0, 101.0)
    moved = dict(zip(robot.model.robot.joint_names, robot.read_state().joints[0], strict=True))
    assert moved['shoulder_pan'] == pytest.approx(1.25)
    place = robot.model.robot.joint_names.index('wrist_roll')
    before = robot.read_state().joints[0]
    robot.move_joint(place, 0.5)
    after = robot.read_state().joints[0]
    np.testing.assert_allclose(after - before, np.eye(6)[place] * 0.5, atol=1e-12)
    with pytest.raises(TuneNotPossible, match='reaches this position of wrist_roll'):
        robot.move_joint(place, np.nan)
    robot.move_actuator(0, np.nan)
    np.testing.assert_array_equal(robot.read_state().joints[0], after)
    with pytest.raises(ParameterError, match='other than zero'):
        robot.model.accept_values({f'{PAN}.mechanical_reduction': 0.0})
    shifted = robot_of(ARM.replace(b'lower="-0.4" upper="2.4"', b'lower="0.5" upper="2.4"'))
    joints = shifted.actuator_to_joint('position', compute_tune_start_position(shifted))
    assert joints[shifted.joint_names.index('elbow')] == pytest.approx(0.5)
