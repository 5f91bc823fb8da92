# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge calibrate``: what it reads, answers, doubts, and writes."""

from __future__ import annotations

import math
from pathlib import Path
import re
import statistics
import sys

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.resources import resource
from transmission_bridge.tools.calibration.recording import (
    MOST_ROWS,
    pair_sides,
    Recording,
    Series,
)

pytest.importorskip('scipy')

BENCHMARKS = Path(__file__).parents[2] / 'benchmarks'
ARM = resource('urdf', 'arm.urdf')
PAN, WRIST = 'shoulder_pan_transmission', 'wrist_transmission'
PAN_RATIO, PAN_OFFSET = 'joints.shoulder_pan.mechanical_reduction', 'joints.shoulder_pan.offset'
LEFT = 'actuators.wrist_left_motor.mechanical_reduction'

#: Numbers that differ from those of the description, and can be told.
TRUE = {
    PAN: {PAN_RATIO: 103.0, PAN_OFFSET: 0.31},
    WRIST: {
        'actuators.wrist_right_motor.mechanical_reduction': -51.0,
        'joints.wrist_pitch.mechanical_reduction': 1.3,
        'joints.wrist_pitch.offset': 0.05,
        'joints.wrist_roll.mechanical_reduction': -0.82,
        'joints.wrist_roll.offset': -0.25,
    },
}


@pytest.fixture(scope='module')
def study(load):
    """Return the benchmark's module: its situations, and what the tool says of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield load('calibrate_study', BENCHMARKS / 'calibrate.py')
    del sys.modules['calibrate_study'], sys.modules['calibrate_data']


def motion(rows: int, columns: int) -> np.ndarray:
    """Return a smooth motion of joints."""
    time = np.arange(rows)[:, np.newaxis] * 0.02
    k = np.arange(columns)
    slow, fast = np.sin(time * (1.0 + 0.3 * k) + k), np.sin(time * 2.3 * (1.0 + 0.1 * k))
    return 0.6 * slow + 0.3 * fast


@pytest.fixture
def recording(tmp_path):
    """Return a function that writes a recording of the true arm, with some columns changed."""

    def make(changes=(), *, rows: int = 400, noise: float = 1e-3) -> Path:
        robot = tb.RobotTransmissions(tb.load_description(ARM))
        true: dict = {}
        for transmission, numbers in TRUE.items():
            for name, value in numbers.items():
                side, part, number = name.split('.')
                group = true.setdefault(transmission, {}).setdefault(side, {})
                group.setdefault(part, {})[number] = value
        q = motion(rows, len(robot.joint_names))
        a = robot.with_parameters(true).joint_to_actuator('position', q)
        q = q + np.random.default_rng(7).normal(0.0, noise, q.shape)
        columns = {'time': np.arange(rows) * 0.02}
        columns |= dict(
            zip((*robot.actuator_names, *robot.joint_names), [*a.T, *q.T], strict=True)
        )
        # What takes no part in them costs time only.
        columns = {k: v for k, v in columns.items() if re.match('time|shoulder_pan|wrist', k)}
        for name, change in dict(changes).items():
            column = change(columns[name]) if callable(change) else change
            columns[name] = np.broadcast_to(column, rows)
        path = tmp_path / 'recording.csv'
        table = np.column_stack(list(columns.values()))
        np.savetxt(path, table, '%.17g', ',', header=','.join(columns), comments='')
        return path

    return make


def parameters(result, transmission: str) -> dict:
    """Return what was found about the numbers of a transmission, by name."""
    (found,) = (t for t in result.json['transmissions'] if t['name'] == transmission)
    return {parameter['name']: parameter for parameter in found['parameters']}


# -- situations of the benchmark -----------------------------------------------------------------


@pytest.mark.parametrize(('situation', 'name', 'size'), [
    ('backlash 10 mrad', "a backlash of 'pan'", 0.01),
    ('time offset 5 to 50 ms', 'a delay of the joints', None),
    ('eccentric joint encoder 10 mrad', "an error once per turn of 'pan'", 0.01),
    ('eccentric motor encoder 0.3 rad', "an error once per turn of 'pan_motor'", 0.3),
    ('strain wave 0.4 mrad', "an error twice per turn of 'pan_motor' (a strain-wave", 0.04),
    ('rest for 80 % of the time', '', None),
])  # fmt: skip
def test_a_physical_effect_is_found_with_its_size_and_costs_no_number(
    study, situation, name, size
):
    """It is named, its interval holds its size, and the numbers are right beside it."""
    sample = study.SITUATIONS[situation].make(1)
    (result,) = study.calibrated(sample)
    assert not result.doubts
    assert [effect.name[: len(name)] for effect in result.effects] == [name] * bool(name)
    for effect in result.effects:
        assert 0.0 < effect.half_width < 0.5 * abs(effect.size)
        assert size is None or abs(effect.size - size) < 1.5 * effect.half_width
    assert {p.path[-1] for p in result.estimated_numbers} == {'mechanical_reduction', 'offset'}
    for found in result.estimated_numbers:
        assert abs(found.value - sample.truth[f'gear.{found.name}']) < 1.5 * found.half_width
    # Rows of a rest count as one.
    assert name or len(result.channels[0].time) < 0.3 * study.ROWS


@pytest.mark.parametrize(('situation', 'causes'), [
    # A wrong sign, exchanged columns, or an encoder that starts again.
    ('motor counts backwards: differential', ()),
    ('motors of two gears exchanged', ()),
    ('motors of a differential exchanged', ()),
    ('motor encoder of one turn', ()),
    ('joint encoder of one turn', ()),
    # What is not in the model: the likeliest cause.
    ('random walk 10 mrad', ('drifts with time', 'jumps by')),
    ('40 % of rows shifted', ('two groups', 'do not fit')),
    ('wind-up 10 mrad sqrt(q)', ('a loaded elastic part', 'position')),
])  # fmt: skip
def test_what_is_wrong_is_a_doubt_with_its_cause(study, situation, causes):
    """Said, not just fitted."""
    row = study.SITUATIONS[situation]
    for result in study.calibrated(row.make(0)):
        assert any(words in each for words in causes or [row.words] for each in result.doubts)


def test_intervals_cover_and_are_narrow(study):
    """On ten fixed seeds coverage and width are near those that 300 seeds are held to."""
    outcomes = [study.outcome('white noise: gear', seed) for seed in range(10)]
    covered = [c for outcome in outcomes if outcome.answered for c in outcome.covered]
    assert len(covered) >= 16
    # The numbers of a seed depend on each other: that is three standard deviations.
    assert statistics.fmean(covered) > 0.8
    assert not any(outcome.answered and outcome.far for outcome in outcomes)
    assert statistics.median(width for each in outcomes for width in each.widths) <= 1.3


# -- the command ---------------------------------------------------------------------------------


def test_true_numbers_are_found_where_outliers_disturb_and_products_told(run, recording):
    """Each true number is within twice its interval, which is as narrow as the noise allows."""
    disturbed = recording({'wrist_pitch': lambda q: q + 3.0 * (np.arange(len(q)) % 23 == 0)})
    result = run('calibrate', ARM, disturbed, '--json')
    assert result.code == 0
    for transmission, numbers in TRUE.items():
        found = parameters(result, transmission)
        for name, true in numbers.items():
            low, high = found[name]['interval']
            assert abs(found[name]['value'] - true) < high - low < 1e-2 * max(abs(true), 0.1)
    # Of a differential one actuator keeps its reduction.
    kept = parameters(result, WRIST)[LEFT]
    assert (kept['estimated'], kept['value'], kept['interval']) == (False, 48.0, None)
    assert f'joints.wrist_pitch.mechanical_reduction * {LEFT}' in kept['kept']
    assert f'actuators.wrist_right_motor.mechanical_reduction / {LEFT}' in kept['kept']


def test_a_slip_is_told_and_nothing_is_written(run, refuse, recording, tmp_path):
    """A change of the offset for good is a doubt: its time, exit code 1, a file only by force."""
    pytest.importorskip('matplotlib')
    output, report = tmp_path / 'tuned.yaml', tmp_path / 'residuals.svg'
    slip = recording({'shoulder_pan': lambda q: q + 0.02 * (np.arange(len(q)) >= 250)})
    command = ('calibrate', ARM, slip, '--output', output)
    result = run(*command, '--report', report)
    assert (result.code, output.exists(), report.exists()) == (1, False, True)
    assert "doubt: 'shoulder_pan': it jumps by +0.0" in result.out
    assert 'near t = 5 s: a coupling or an encoder slipped. Cut the recording there' in result.out
    assert 'in doubt: shoulder_pan_transmission; no file is written' in result.err
    assert run(*command, '--transmission', WRIST).code == 0
    assert 'shoulder_pan' not in output.read_text()
    # What is there stays byte for byte without --force.
    command, before = (*command, '--transmission', PAN), output.read_bytes()
    refuse('--force', *command)
    assert (run(*command, '--force').code, output.read_bytes()) == (1, before)
    assert run(*command, '--force', '--doubtful').code == 1
    assert 'shoulder_pan' in output.read_text()


#: Motor positions of the first joint.
TRUE_A = 103.0 * (motion(400, 1)[:, 0] - 0.31)


@pytest.mark.parametrize(('changes', 'ratio', 'words'), [
    # Where neither motor nor joint moved, the offset is what is left to be found.
    ({'shoulder_pan_motor': 10.3, 'shoulder_pan': 10.3 / 101.0 + 0.31}, 101.0,
     'did not move: its ratios are not identifiable'),
    # A driver that hung: the median of the joint's motion would be a wrong offset.
    ({'shoulder_pan_motor': 10.3}, 101.0, "'shoulder_pan'"),
    # The description's ratio is a start, and a large change is likely a mistake.
    ({'shoulder_pan': TRUE_A / -101.0 + 0.4}, -101.0, 'has the opposite sign'),
    ({'shoulder_pan': TRUE_A / 3.0 + 0.4}, 3.0, 'times that of the description'),
    ({'shoulder_pan': motion(400, 9)[:, 8]}, None, 'as large as its motion'),
])  # fmt: skip
def test_ratios_and_doubts_of_a_gear(run, recording, tmp_path, changes, ratio, words):
    """A doubt or a warning says what is wrong, and nothing doubtful is written."""
    output = tmp_path / 'tuned.yaml'
    options = ('--json', '--transmission', PAN, '--output', output)
    result = run('calibrate', ARM, recording(changes, noise=0.0), *options)
    is_parked = 'identifiable' in words
    assert (result.code, output.exists()) == (int(not is_parked), is_parked)
    (gear,) = result.json['transmissions']
    assert any(words in each for each in gear['warnings' if is_parked else 'doubts'])
    if ratio is not None:
        found = parameters(result, PAN)[PAN_RATIO]
        assert found['value'] == pytest.approx(ratio)
        assert found['estimated'] == (ratio != 101.0)


def test_a_stuck_joint_is_named_and_its_partner_found(run, recording, tmp_path):
    """The joint that stands still is not identifiable; the other one of the differential is."""
    output, data = tmp_path / 'tuned.yaml', recording({'wrist_roll': 0.1, 'shoulder_pan': 0.2})
    nothing = run('calibrate', ARM, data, '--transmission', PAN, '--output', output)
    assert (nothing.code, output.exists()) == (1, False)
    assert 'nothing is identifiable' in nothing.err
    found = parameters(run('calibrate', ARM, data, '--json'), WRIST)
    assert not found['joints.wrist_roll.mechanical_reduction']['estimated']
    assert not found['joints.wrist_roll.offset']['estimated']
    assert found['joints.wrist_roll.offset']['value'] == -0.2
    assert found['joints.wrist_pitch.offset']['value'] == pytest.approx(0.05, abs=1e-3)


def test_fix_keeps_numbers_and_a_pattern_that_matches_nothing_is_an_error(run, refuse, recording):
    """The reason is in the table; a slip of the pen in --fix would fit what the user knows."""
    words = ('calibrate', ARM, recording(), '--transmission', WRIST, '--fix')
    found = parameters(run(*words, 'wrist*.wrist_roll.offset', '--json'), WRIST)
    assert found['joints.wrist_pitch.offset']['estimated']
    assert found['joints.wrist_roll.offset']['kept'] == 'fixed by --fix'
    refuse("--fix 'wrist_transmission.offset' matches no number", *words, f'{WRIST}.offset')
    refuse('wrist_transmission.joints.wrist_', *words, f'{WRIST}.offset')


# -- recordings ----------------------------------------------------------------------------------


def paired(motor_times, motor, joint_times, joint, *, in_rows=False):
    """Return what is paired of a motor and a joint with times, or with None, and values."""
    sides = (
        Series((name,), np.array(values, float)[:, np.newaxis], times)
        for name, times, values in (('m', motor_times, motor), ('q', joint_times, joint))
    )
    return pair_sides(Recording(*sides, in_rows=in_rows), ['m'], ['q'])


@given(st.just(0.0) | st.floats(1e-6, 0.0099), st.floats(-5.0, 5.0), st.floats(-2.0, 2.0))
def test_actuators_are_interpolated_at_the_times_of_the_joints(delay, speed, start):
    """A line is met exactly; outside the recording and over a gap nothing is invented."""
    time = np.concatenate([np.arange(50) * 0.01, 3.0 + np.arange(50) * 0.01])
    pairs = paired(time, start + speed * time, time + delay, time + delay)
    assert len(pairs.time) == (100 if delay == 0.0 else 98)
    expected = start + speed * pairs.joints[:, 0]
    np.testing.assert_allclose(pairs.actuators[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize('timed', [True, False])
def test_a_long_recording_is_thinned_from_end_to_end(timed):
    """Rows stay whole and in order; where there are times most have a near neighbour."""
    time = np.arange(MOST_ROWS + 9000) * 0.01
    times = time if timed else None
    pairs = paired(times, time, times, -time, in_rows=True)
    kept = pairs.actuators[:, 0]
    assert len(kept) <= MOST_ROWS
    np.testing.assert_array_equal(pairs.joints[:, 0], -kept)
    assert np.all(np.diff(kept) > 0.0)
    assert (kept[0], kept[-1] > time[-1] - 0.03) == (0.0, True)
    assert not timed or np.mean(np.diff(kept) <= 0.02 * 1.001) > 0.9


@pytest.fixture
def messages(tmp_path) -> Path:
    """Return a recording of messages: driver and encoder at different times, and another topic."""
    lines = ['time,topic,shoulder_pan_motor.position,shoulder_pan.position']
    for row in range(200):
        time = 100.0 + 0.01 * row
        motor, later = (90.0 * math.sin(3.0 * (0.01 * row + delay)) for delay in (0.0, 0.004))
        lines.append(f'{time:.6f},/actuator_states,{motor!r},')
        lines.append(f'{time + 0.004:.6f},/encoders,,{later / 103.0 + 0.31!r}')
        lines.append(f'{time + 0.005:.6f},/joint_states,,{motor / 101.0 + 0.25!r}')
    path = tmp_path / 'messages.csv'
    path.write_text('\n'.join(lines) + '\n')
    return path


ENCODERS, NAMES = ('--joints', 'encoders', '--json'), 'M1=shoulder_pan_motor'
FOUND = pytest.approx([103.0, 0.31], rel=2e-4)


def ratio_and_offset(result) -> list[float]:
    """Return what was found about the first joint."""
    assert result.code == 0, result.err
    found = parameters(result, PAN)
    return [found[name]['value'] for name in (PAN_RATIO, PAN_OFFSET)]


def test_topics_are_paired_by_time(run, messages, refuse, tmp_path):
    """The chosen topics are used, and of a bag the same numbers come out as of the table."""
    table = run('calibrate', ARM, messages, *ENCODERS)
    assert ratio_and_offset(table) == FOUND
    # The default topic of joints may be missing.
    refuse("no joint states on the topic 'joint_absolute_positions'", 'calibrate', ARM, messages)
    refuse('/actuator_states, /encoders, /joint_states', 'calibrate', ARM, messages)
    pytest.importorskip('rosbags')
    topics = ('--keep', '--topic', 'actuator_states:computed')
    assert run('convert', ARM, messages, tmp_path / 'bag.mcap', *topics).code == 0
    assert run('calibrate', ARM, tmp_path / 'bag.mcap', *ENCODERS).json == table.json
    # What can be read of a cut off recording counts, and the user is told.
    data = messages.read_bytes()
    messages.write_bytes(data[: len(data) * 2 // 3])
    damaged = run('calibrate', ARM, messages, *ENCODERS)
    assert 'is damaged' in damaged.err
    assert ratio_and_offset(damaged) == FOUND


def test_a_driver_may_have_names_of_its_own(run, refuse, messages, tmp_path):
    """In messages by the option or the parameter file, and as columns of a table."""
    messages.write_text(messages.read_text().replace('shoulder_pan_motor', 'M1'))
    file, poses = tmp_path / 'bridge.yaml', tmp_path / 'poses.csv'
    file.write_text(f'bridge: {{ros__parameters: {{actuator_names: ["{NAMES}"]}}}}')
    command = ('calibrate', ARM, messages, *ENCODERS)
    for options in (('--actuator-names', NAMES), ('--params-file', file)):
        assert ratio_and_offset(run(*command, *options)) == FOUND
    refuse("driver's names with --actuator-names DRIVER=URDF), found 'M1'", *command)
    rows = [f'{a!r},{a / 103.0 + 0.31!r},0.0' for a in np.linspace(-90.0, 90.0, 6).tolist()]
    poses.write_text('\n'.join(['M1,shoulder_pan,shoulder_pan_motor', *rows]))
    result = run('calibrate', ARM, poses, '--json', '--actuator-names', NAMES)
    assert 'columns not used: shoulder_pan_motor' in result.err
    assert ratio_and_offset(result) == FOUND


@pytest.mark.parametrize('timed', [True, False])
def test_numbers_and_wrap_periods_of_the_parameter_file_are_used(run, tmp_path, timed):
    """Encoders of one turn are unwrapped if times tell the turns; a kept number is the file's."""
    path, file = tmp_path / 'turns.csv', tmp_path / 'bridge.yaml'
    lines = ['time,' * timed + 'shoulder_pan_motor,shoulder_pan']
    for n in range(900):
        a = 90.0 * math.sin(0.005 * n)
        measured = math.remainder(a, math.tau) if timed else a
        lines.append(f'{0.01 * n!r},' * timed + f'{measured!r},{a / 103.0 + 0.31!r}')
    path.write_text('\n'.join(lines))
    file.write_text(
        f'/**: {{ros__parameters: {{wrap_period: [shoulder_pan_motor={math.tau!r}], '
        f'transmissions.{PAN}.{PAN_OFFSET}: 0.31}}}}'
    )
    result = run('calibrate', ARM, path, '--json', '--params-file', file, '--fix', '*.offset')
    words = 'wrap_period is not used: poses without times do not determine turns'
    assert (words in result.err) == (not timed)
    assert ratio_and_offset(result) == FOUND
    assert ratio_and_offset(result)[1] == 0.31
