# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What ``transmission_bridge calibrate`` reads: tables, recordings of topics, rows that miss."""

from __future__ import annotations

import math
from pathlib import Path

from hypothesis import given, strategies as st
import numpy as np
import pytest

from transmission_bridge.resources import resource
from transmission_bridge.tools.calibration.recording import (
    MOST_ROWS,
    pair_sides,
    Recording,
    Series,
)

pytest.importorskip('scipy')

ARM = resource('urdf', 'arm.urdf')


def series(name: str, time, values) -> Series:
    """Return a series of one column."""
    times = None if time is None else np.array(time, float)
    return Series((name,), np.array(values, dtype=float)[:, np.newaxis], times)


@given(st.just(0.0) | st.floats(1e-6, 0.0099), st.floats(-5.0, 5.0), st.floats(-2.0, 2.0))
def test_actuators_are_interpolated_at_the_times_of_the_joints(delay, speed, start):
    """A line is met exactly, whatever the delay; outside the recording nothing is invented."""
    time = np.arange(100) * 0.01
    later = time + delay
    sides = (series('m', time, start + speed * time), series('q', later, later))
    pairs = pair_sides(Recording(*sides, in_rows=False), ['m'], ['q'])
    assert len(pairs.time) == (100 if delay == 0.0 else 99)
    expected = start + speed * pairs.joints[:, 0]
    np.testing.assert_allclose(pairs.actuators[:, 0], expected, atol=1e-12)


def test_nothing_is_interpolated_over_a_gap_and_rows_of_a_table_are_as_they_are():
    """Where the driver was silent for long, its position is not known; a row is one time."""
    time = np.concatenate([np.arange(50) * 0.01, 3.0 + np.arange(50) * 0.01])
    joints = np.arange(0.005, 3.4, 0.01)
    recording = Recording(series('m', time, time), series('q', joints, joints), in_rows=False)
    kept = pair_sides(recording, ['m'], ['q']).time
    assert len(kept) > 80
    assert ((kept < 0.5) | (kept >= 3.0)).all()
    values = np.array([3.0, 1.0, 2.0, np.nan])
    sides = (series('m', [0] * 4, values), series('q', [0] * 4, -values))
    pairs = pair_sides(Recording(*sides, in_rows=True), ['m'], ['q'])
    assert np.hstack([pairs.actuators, pairs.joints]).tolist() == [[3, -3], [1, -1], [2, -2]]


@given(st.integers(MOST_ROWS + 1, 60_000), st.sampled_from([0.001, 0.01, 0.1]), st.booleans())
def test_a_long_recording_is_thinned_from_end_to_end(rows, step, timed):
    """Rows stay whole and in order, at even distances."""
    time = np.arange(rows) * step
    sides = (series(n, time if timed else None, s * time) for n, s in (('m', 1), ('q', -1)))
    pairs = pair_sides(Recording(*sides, in_rows=True), ['m'], ['q'])
    kept = pairs.actuators[:, 0]
    assert len(kept) <= MOST_ROWS
    np.testing.assert_array_equal(pairs.joints[:, 0], -kept)
    assert np.all(np.diff(kept) > 0.0)
    assert kept[0] == 0.0
    assert kept[-1] == time[-1]
    assert np.diff(kept).max() <= (rows / MOST_ROWS + 1) * step * 1.001


@pytest.fixture
def messages(tmp_path) -> Path:
    """Return a recording of messages: driver and encoder at different times, and another topic."""
    lines = ['time,topic,shoulder_pan_motor.position,shoulder_pan.position']
    for row in range(200):
        time = 100.0 + 0.01 * row
        motor = 90.0 * math.sin(3.0 * 0.01 * row)
        lines.append(f'{time:.6f},/actuator_states,{motor!r},')
        later = 90.0 * math.sin(3.0 * (0.01 * row + 0.004))
        lines.append(f'{time + 0.004:.6f},/encoders,,{later / 103.0 + 0.31!r}')
        lines.append(f'{time + 0.005:.6f},/joint_states,,{motor / 101.0 + 0.25!r}')
    path = tmp_path / 'messages.csv'
    path.write_text('\n'.join(lines) + '\n')
    return path


@pytest.fixture
def parameter_file(tmp_path):
    """Return a function that writes a parameter of the bridge, and gives the options for it."""

    def write(entry: str):
        (tmp_path / 'bridge.yaml').write_text(f'/**: {{ros__parameters: {{{entry}}}}}')
        return '--params-file', tmp_path / 'bridge.yaml'

    return write


ENCODERS = ('--joints', 'encoders', '--json')
TRUE = {'mechanical_reduction': 103.0, 'offset': 0.31}


def found(result, code: int = 0) -> dict[str, float]:
    """Return what was found about the first joint."""
    assert result.code == code, result.err
    (gear,) = result.json['transmissions']
    return {p['name'].rpartition('.')[2]: p['value'] for p in gear['parameters']}


def test_topics_are_paired_by_time(run, messages, refuse):
    """The chosen topics are used, not the joint states that the bridge made of the actuators."""
    assert found(run('calibrate', ARM, messages, *ENCODERS)) == pytest.approx(TRUE, rel=2e-4)
    computed = run('calibrate', ARM, messages, '--joints', 'joint_states', '--json')
    assert found(computed, 1)['mechanical_reduction'] == pytest.approx(101.0, rel=2e-3)
    # The default topic of joints may be missing.
    refuse("no joint states on the topic 'joint_absolute_positions'", 'calibrate', ARM, messages)
    refuse('/actuator_states, /encoders, /joint_states', 'calibrate', ARM, messages)
    messages.write_text(messages.read_text().replace('/encoders', '/joint_absolute_positions'))
    assert found(run('calibrate', ARM, messages, '--json')) == pytest.approx(TRUE, rel=2e-4)


@pytest.mark.parametrize('name', ['bag.mcap', 'bag.db3'])
def test_bags_give_the_same_as_the_table(run, messages, tmp_path, name):
    """MCAP and SQLite hold the same messages, and so the same numbers come out."""
    pytest.importorskip('rosbags')
    target = tmp_path / name
    topics = ('--topic', 'actuator_states:computed')
    assert run('convert', ARM, messages, target, '--keep', *topics).code == 0
    there, here = (run('calibrate', ARM, each, *ENCODERS) for each in (target, messages))
    assert there.json == here.json


NAMES = 'M1=shoulder_pan_motor'


def test_a_driver_may_have_names_of_its_own(run, refuse, messages, parameter_file):
    """The option and the parameter file give the same numbers as a driver with the URDF's."""
    expected = run('calibrate', ARM, messages, *ENCODERS).json
    messages.write_text(messages.read_text().replace('shoulder_pan_motor', 'M1'))
    file = parameter_file(f'actuator_names: ["{NAMES}"], publish_rate: x')
    for given_ in (('--actuator-names', NAMES), file):
        result = run('calibrate', ARM, messages, *ENCODERS, *given_)
        assert (result.code, result.err, result.json) == (0, '', expected)
    words = ('calibrate', ARM, messages, *ENCODERS)
    refuse("topic 'actuator_states' has only unknown names: expected some of", *words)
    refuse("(give the driver's names with --actuator-names DRIVER=URDF), found 'M1'", *words)


def test_a_table_may_have_the_names_of_the_driver(run, refuse, tmp_path):
    """A column by the driver's name is the actuator's; by the other one it is not used."""
    rows = [f'{a!r},{a / 103.0 + 0.31!r},0.0' for a in np.linspace(-90.0, 90.0, 60).tolist()]
    path = tmp_path / 'poses.csv'
    path.write_text('\n'.join(['M1,shoulder_pan,shoulder_pan_motor', *rows]))
    result = run('calibrate', ARM, path, '--json', '--actuator-names', NAMES)
    assert 'columns not used: shoulder_pan_motor' in result.err
    assert found(result) == pytest.approx(TRUE)
    path.write_text(path.read_text().replace(',shoulder_pan_motor', ',x', 1))
    refuse('has no column of actuators', 'calibrate', ARM, path)


def test_numbers_of_the_parameter_file_are_where_calibration_begins(run, messages, parameter_file):
    """What is kept has the value of the file, and what is found is told against it."""
    numbers = 'transmissions.shoulder_pan_transmission.joints.shoulder_pan.offset: 0.31'
    options = (*ENCODERS, '--fix', '*.offset', *parameter_file(numbers))
    assert found(run('calibrate', ARM, messages, *options))['offset'] == 0.31


@pytest.mark.parametrize('timed', [True, False])
def test_encoders_of_one_turn_are_unwrapped(run, parameter_file, tmp_path, timed):
    """
    In the units of the driver (turns), and reductions stay ratios of radians.

    Times tell the turns; for poses without times it is said that they do not.
    """
    text, element = ARM.read_text(), '<actuator name="shoulder_pan_motor" role="actuator1"'
    assert f'{element}/>' in text
    robot, path = tmp_path / 'arm.urdf', tmp_path / 'turns.csv'
    within = '><param name="position_unit">turn</param></actuator>'
    robot.write_text(text.replace(f'{element}/>', element + within))
    lines = ['time,' * timed + 'shoulder_pan_motor,shoulder_pan']
    for n in range(900):
        a = 90.0 * math.sin(0.005 * n)
        turns = math.remainder(a / math.tau, 1.0) if timed else a / math.tau
        lines.append(f'{0.01 * n!r},' * timed + f'{turns!r},{a / 103.0 + 0.31!r}')
    path.write_text('\n'.join(lines))
    options = ('--json', *parameter_file('wrap_period: [shoulder_pan_motor=1.0]'))
    result = run('calibrate', robot, path, *options)
    words = 'wrap_period is not used: poses without times do not determine turns'
    assert (words in result.err) == (not timed)
    assert found(result) == pytest.approx(TRUE, rel=2e-4)


def test_a_cut_off_recording_is_used_as_far_as_it_goes(run, messages):
    """What can be read counts, and the user is told."""
    data = messages.read_bytes()
    messages.write_bytes(data[: len(data) * 2 // 3])
    result = run('calibrate', ARM, messages, *ENCODERS)
    assert 'is damaged' in result.err
    assert found(result)['mechanical_reduction'] == pytest.approx(103.0, rel=2e-4)
