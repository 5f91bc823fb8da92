# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What ``transmission_bridge calibrate`` reads: tables, recordings of topics, rows that miss."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.resources import resource
from transmission_bridge.tools.bags.files import create_sink, open_source
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
    return Series((name,), np.array(values, dtype=float)[:, np.newaxis], np.array(time, float))


delays = st.one_of(st.just(0.0), st.floats(1e-6, 0.0099))


@given(delays, st.floats(-5.0, 5.0), st.floats(-2.0, 2.0))
def test_actuators_are_interpolated_at_the_times_of_the_joints(delay, speed, start):
    """A line is met exactly, whatever the delay; outside the recording nothing is invented."""
    time = np.arange(100) * 0.01
    later = time + delay
    recording = Recording(
        series('m', time, start + speed * time), series('q', later, later), in_rows=False
    )
    pairs = pair_sides(recording, ['m'], ['q'])
    assert len(pairs.time) == (100 if delay == 0.0 else 99)
    expected = start + speed * pairs.joints[:, 0]
    np.testing.assert_allclose(pairs.actuators[:, 0], expected, atol=1e-12)


def test_nothing_is_interpolated_over_a_gap():
    """Where the driver was silent for long, its position is not known."""
    time = np.concatenate([np.arange(50) * 0.01, 3.0 + np.arange(50) * 0.01])
    joints = np.arange(0.005, 3.4, 0.01)
    recording = Recording(series('m', time, time), series('q', joints, joints), in_rows=False)
    kept = pair_sides(recording, ['m'], ['q']).time
    assert ((kept < 0.5) | (kept >= 3.0)).all()
    assert len(kept) > 80


@given(st.integers(MOST_ROWS + 1, 60_000), st.sampled_from([0.001, 0.01, 0.1]), st.booleans())
def test_a_long_recording_is_thinned_from_end_to_end(rows, step, timed):
    """Rows stay whole and in order; where there are times most have a near neighbour."""
    time = np.arange(rows) * step
    recording = Recording(
        Series(('m',), time[:, np.newaxis], time if timed else None),
        Series(('q',), -time[:, np.newaxis], time if timed else None),
        in_rows=True,
    )
    pairs = pair_sides(recording, ['m'], ['q'])
    kept = pairs.actuators[:, 0]
    assert len(kept) <= MOST_ROWS
    np.testing.assert_array_equal(pairs.joints[:, 0], -kept)
    assert np.all(np.diff(kept) > 0.0)
    assert kept[0] == 0.0
    assert kept[-1] > time[-1] - 0.02 - step
    if timed:
        near = np.diff(kept) <= max(0.02, step) * 1.001
        assert np.mean(near) > 0.9


def test_rows_of_a_table_are_taken_as_they_are():
    """Measured at once means at once, whatever the column of times says."""
    values = np.array([3.0, 1.0, 2.0, np.nan])
    recording = Recording(
        series('m', [0, 0, 0, 0], values), series('q', [0, 0, 0, 0], -values), in_rows=True
    )
    pairs = pair_sides(recording, ['m'], ['q'])
    assert pairs.actuators[:, 0].tolist() == [3.0, 1.0, 2.0]
    assert pairs.joints[:, 0].tolist() == [-3.0, -1.0, -2.0]


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


def found(result) -> dict[str, float]:
    """Return what was found about the first joint."""
    (gear,) = result.json['transmissions']
    return {p['name'].rpartition('.')[2]: p['value'] for p in gear['parameters']}


def test_topics_are_paired_by_time(run, messages):
    """The chosen topics are used, not the joint states that the bridge made of the actuators."""
    result = run('calibrate', ARM, messages, '--joints', 'encoders', '--json')
    assert result.code == 0
    assert found(result) == pytest.approx(
        {'mechanical_reduction': 103.0, 'offset': 0.31}, rel=2e-4
    )
    computed = run('calibrate', ARM, messages, '--joints', 'joint_states', '--json')
    assert found(computed)['mechanical_reduction'] == pytest.approx(101.0, rel=2e-3)


@pytest.mark.parametrize('name', ['bag.mcap', 'bag.db3'])
def test_bags_give_the_same_as_the_table(run, messages, tmp_path, name):
    """MCAP and SQLite hold the same messages, and so the same numbers come out."""
    pytest.importorskip('rosbags')
    target = tmp_path / name
    with (
        contextlib.closing(open_source(str(messages), 'topic')) as source,
        create_sink(str(target), source, None, (), ()) as sink,
    ):
        for topic in source.topics:
            sink.add(topic)
        for message in source.messages(pytest.fail):
            sink.write(message)
    options = ('--joints', '/encoders', '--json')
    there, here = (run('calibrate', ARM, each, *options) for each in (target, messages))
    assert there.json == here.json


@pytest.fixture
def renamed(messages) -> Path:
    """Return the same recording by a driver that has a name of its own for the motor."""
    path = messages.with_name('renamed.csv')
    path.write_text(messages.read_text().replace('shoulder_pan_motor', 'M1'))
    return path


@pytest.mark.parametrize('where', ['option', 'file'])
def test_a_driver_may_have_names_of_its_own(run, messages, renamed, tmp_path, where):
    """The option and the parameter file give the same numbers as a driver with the URDF's."""
    options = ('--joints', 'encoders', '--json')
    entry = 'M1=shoulder_pan_motor'
    (tmp_path / 'bridge.yaml').write_text(
        f'bridge: {{ros__parameters: {{actuator_names: ["{entry}"], publish_rate: x}}}}'
    )
    given = {
        'option': ('--actuator-names', entry),
        'file': ('--params-file', tmp_path / 'bridge.yaml'),
    }[where]
    result = run('calibrate', ARM, renamed, *options, *given)
    assert (result.code, result.err) == (0, '')
    assert result.json == run('calibrate', ARM, messages, *options).json


def test_a_table_may_have_the_names_of_the_driver(run, tmp_path):
    """A column by the driver's name is the actuator's; by the other one it is not used."""
    rows = [(a, a / 103.0 + 0.31) for a in np.linspace(-90.0, 90.0, 60).tolist()]
    text = '\n'.join(f'{a!r},{q!r},0.0' for a, q in rows)
    path = tmp_path / 'poses.csv'
    path.write_text('M1,shoulder_pan,shoulder_pan_motor\n' + text + '\n')
    names = ('--actuator-names', 'M1=shoulder_pan_motor')
    result = run('calibrate', ARM, path, '--json', *names)
    assert result.code == 0
    assert 'columns not used: shoulder_pan_motor' in result.err
    assert found(result) == pytest.approx({'mechanical_reduction': 103.0, 'offset': 0.31})
    path.write_text(path.read_text().replace(',shoulder_pan_motor', ',x', 1))
    result = run('calibrate', ARM, path)
    assert result.code == 2
    assert 'has no column of actuators' in result.err
    assert '--actuator-names DRIVER=URDF' in result.err


def test_names_of_another_driver_are_told_with_what_to_do(run, renamed):
    """What was expected, what was found, and the option that is there."""
    result = run('calibrate', ARM, renamed, '--joints', 'encoders')
    assert (result.code, result.out) == (2, '')
    assert "the topic 'actuator_states' has only unknown names: expected some of" in result.err
    assert "(give the driver's names with --actuator-names DRIVER=URDF), found 'M1'" in result.err


def test_numbers_of_the_parameter_file_are_where_calibration_begins(run, messages, tmp_path):
    """What is kept has the value of the file, and what is found is told against it."""
    (tmp_path / 'bridge.yaml').write_text(
        '/**: {ros__parameters: {transmissions: '
        '{shoulder_pan_transmission: {joints: {shoulder_pan: {offset: 0.31}}}}}}'
    )
    options = ('--joints', 'encoders', '--json', '--fix', '*.offset')
    result = run('calibrate', ARM, messages, *options, '--params-file', tmp_path / 'bridge.yaml')
    assert result.code == 0
    (gear,) = result.json['transmissions']
    offset = next(p for p in gear['parameters'] if p['name'].endswith('offset'))
    assert offset['value'] == 0.31


def test_encoders_of_one_turn_are_unwrapped(run, messages, tmp_path):
    """Where times tell the turns; for poses without times it is said that they do not."""
    lines = messages.read_text().splitlines()
    for number, line in enumerate(lines):
        cells = line.split(',')
        if cells[1] == '/actuator_states':
            cells[2] = repr(math.remainder(float(cells[2]), math.tau))
            lines[number] = ','.join(cells)
    path = tmp_path / 'wrapped.csv'
    path.write_text('\n'.join(lines) + '\n')
    file = tmp_path / 'bridge.yaml'
    file.write_text(
        f'/**: {{ros__parameters: {{wrap_period: [shoulder_pan_motor={math.tau!r}]}}}}'
    )
    options = ('--joints', 'encoders', '--json', '--params-file', file)
    result = run('calibrate', ARM, path, *options)
    assert (result.code, result.err) == (0, '')
    expected = {'mechanical_reduction': 103.0, 'offset': 0.31}
    assert found(result) == pytest.approx(expected, rel=2e-4)
    poses = tmp_path / 'poses.csv'
    rows = ''.join(f'{a},{a / 103.0 + 0.31!r}\n' for a in range(-90, 90, 3))
    poses.write_text('shoulder_pan_motor,shoulder_pan\n' + rows)
    result = run('calibrate', ARM, poses, *options)
    assert 'wrap_period is not used: poses without times do not determine turns' in result.err
    assert found(result) == pytest.approx(expected)


def test_a_topic_that_is_not_there_is_named_with_those_that_are(run, messages):
    """The default topic of joints may be missing."""
    result = run('calibrate', ARM, messages)
    assert (result.code, result.out) == (2, '')
    assert "no joint states on the topic 'joint_absolute_positions'" in result.err
    assert '/actuator_states, /encoders, /joint_states' in result.err


def test_a_cut_off_recording_is_used_as_far_as_it_goes(run, messages):
    """What can be read counts, and the user is told."""
    data = messages.read_bytes()
    messages.write_bytes(data[: len(data) * 2 // 3])
    result = run('calibrate', ARM, messages, '--joints', 'encoders', '--json')
    assert result.code == 0
    assert 'is damaged' in result.err
    assert found(result)['mechanical_reduction'] == pytest.approx(103.0, rel=2e-4)


def test_a_recording_in_the_units_of_its_driver_gives_the_same_numbers(run, tmp_path):
    """Turns that start again are counted in turns, and reductions stay ratios of radians."""
    rows = ''.join(
        f'{0.01 * n!r},{math.remainder(a / math.tau, 1.0)!r},{a / 103.0 + 0.31!r}\n'
        for n in range(900)
        for a in [90.0 * math.sin(0.005 * n)]
    )
    path = tmp_path / 'turns.csv'
    path.write_text('time,shoulder_pan_motor,shoulder_pan\n' + rows)
    text = Path(ARM).read_text(encoding='utf-8')
    element = '<actuator name="shoulder_pan_motor" role="actuator1"'
    start = text.index(element)
    end = text.index('>', start)
    assert text[end - 1] == '/', text[start : end + 1]
    unit = '<param name="position_unit">turn</param>'
    robot = tmp_path / 'arm.urdf'
    robot.write_text(f'{text[: end - 1]}>{unit}</actuator>{text[end + 1 :]}')
    file = tmp_path / 'bridge.yaml'
    file.write_text('/**: {ros__parameters: {wrap_period: [shoulder_pan_motor=1.0]}}')
    options = ('--json', '--params-file', file)
    result = run('calibrate', robot, path, *options)
    expected = {'mechanical_reduction': 103.0, 'offset': 0.31}
    assert found(result) == pytest.approx(expected, rel=2e-4), result.err
