# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge calibrate`` with a recording: what it fits, doubts and writes."""

from __future__ import annotations

import math
from pathlib import Path
import re
import statistics
import sys

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.resources import resource
from transmission_bridge.tools.calibration.recorded import calibrate_recording
from transmission_bridge.tools.calibration.recording import Recording, Series
from transmission_bridge.tools.calibration.report import list_recorded_lines, round_to_interval

pytest.importorskip('scipy')

ROOT = Path(__file__).parents[2]
ARM = resource('urdf', 'arm.urdf')
DESCRIBED = tb.RobotTransmissions(tb.load_description(ARM))
PAN, WRIST = 'shoulder_pan_transmission', 'wrist_transmission'
RATIO = 'joints.shoulder_pan.mechanical_reduction'
LEFT = 'actuators.wrist_left_motor.mechanical_reduction'
NAMES = [name for name in (*DESCRIBED.actuator_names, *DESCRIBED.joint_names)
         if re.match('shoulder_pan|wrist', name)]  # fmt: skip
TIME = np.arange(400) * 0.02

#: Numbers that differ from those of the description, and can be told.
TRUE = {
    PAN: {RATIO: 103.0, 'joints.shoulder_pan.offset': 0.31},
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
        patch.syspath_prepend(str(ROOT / 'benchmarks'))
        yield load('calibrate_study', ROOT / 'benchmarks' / 'calibrate.py')
    del sys.modules['calibrate_study'], sys.modules['calibrate_data']


@pytest.fixture
def recording(tmp_path):
    """Return a function that writes a recording of the true arm, with other columns by name."""

    def make(changes=(), noise: float = 1e-3) -> Path:
        k = np.arange(len(DESCRIBED.joint_names))
        waves = np.multiply.outer(TIME, 1.0 + 0.3 * k) + k
        q = 0.6 * np.sin(waves) + 0.3 * np.sin(2.3 * waves)
        real = DESCRIBED.with_parameters(
            {f'{n}.{p}': x for n, own in TRUE.items() for p, x in own.items()}
        )
        a = real.joint_to_actuator('position', q)
        q += np.random.default_rng(7).normal(0.0, noise, q.shape)
        names = (*DESCRIBED.actuator_names, *DESCRIBED.joint_names)
        columns = dict(zip(names, np.column_stack([a, q]).T, strict=True))
        for name, change in dict(changes).items():
            columns[name] = change(columns[name]) if callable(change) else change + 0.0 * TIME
        rows = np.column_stack([TIME, *(columns[name] for name in NAMES)]).tolist()
        lines = [','.join(['time', *NAMES]), *(','.join(map(repr, row)) for row in rows)]
        (tmp_path / 'recording.csv').write_text('\n'.join(lines), encoding='utf-8')
        return tmp_path / 'recording.csv'

    return make


def parameters(result, transmission: str) -> dict:
    """Return what was found about the numbers of a transmission, by name."""
    (found,) = (t for t in result.json['transmissions'] if t['name'] == transmission)
    return {parameter['name']: parameter for parameter in found['parameters']}


# -- numbers, intervals and doubts ---------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(st.floats(-300.0, 300.0).filter(lambda n: abs(n) > 0.5), st.floats(-3.0, 3.0),
       st.integers(0, 10**6))  # fmt: skip
def test_numbers_are_within_their_intervals_and_large_changes_in_doubt(reduction, offset, seed):
    """For a gear of any reduction; another sign or size than described is told."""
    shaft = 1.2 * np.sin(0.9 * TIME + seed)
    joints = shaft + offset + np.random.default_rng(seed).normal(0.0, 1e-3, shaft.shape)
    columns = zip(('shoulder_pan_motor', 'shoulder_pan'), (reduction * shaft, joints), strict=True)
    sides = [Series((name,), column[:, np.newaxis], TIME) for name, column in columns]
    (result,) = calibrate_recording(DESCRIBED, Recording(*sides, in_rows=True), [PAN])
    ratio, zero = result.numbers
    assert abs(ratio.value - reduction) < 3.0 * ratio.half_width < 0.1 * abs(reduction)
    assert abs(zero.value - offset) < 3.0 * zero.half_width < 0.03
    doubts = ' '.join(result.doubts)
    assert ('opposite sign' in doubts) == (reduction < 0.0)
    assert ('times that of' in doubts) == (reduction > 0.0 and not 50.5 < reduction < 202.0)


@pytest.mark.parametrize(('situation', 'words'), [
    ('backlash 10 mrad', 'of it repeats with direction'),
    ('time offset 5 to 50 ms', 'of it repeats with speed'),
    # Within a part of a turn, once and twice look alike.
    ('eccentric joint encoder 10 mrad', "per turn of 'pan' "),
    ('eccentric motor encoder 0.3 rad', "of it repeats once per turn of 'pan_motor'"),
    ('strain wave 0.4 mrad', "twice per turn of 'pan_motor'"),
    ('joint encoder 4 mrad twice per turn', "per turn of 'pan' "),
    ('wind-up 10 mrad sqrt(q)', 'of it repeats with position'),
    ('random walk 10 mrad', 'of it repeats with time'),
    ('slip', 'of it repeats with time'),
    ('40 % of rows shifted', 'encoders: in some of the rows'),
    ('joint encoder of one turn', 'as large as the motion'),
    ('motors of a differential exchanged', 'as large as the motion'),
    ('motor encoder of one turn', 'as large as the motion'),
    ('motor counts backwards: differential', 'opposite sign'),
])  # fmt: skip
def test_what_is_more_than_noise_is_in_doubt_with_its_pattern(study, situation, words):
    """The dominant pattern is named; other columns, turns and signs are told by their effect."""
    for seed in (4, 5):
        (result,) = study.calibrated(study.SITUATIONS[situation](seed))
        assert any(words in sentence for sentence in result.doubts), result.doubts


@pytest.mark.parametrize('situation', [
    'white noise: gear', 'white noise: differential', 'joint encoder of 8 to 16 bits',
    '3 to 8 poses',
])  # fmt: skip
def test_noise_and_resolution_are_no_doubt_and_intervals_hold_the_truth(study, situation):
    """On ten fixed seeds, near the bounds that the benchmark holds hundreds to."""
    outcomes = [study.outcome(situation, seed) for seed in range(10)]
    assert sum(outcome.answered for outcome in outcomes) >= 9
    assert statistics.fmean(c for outcome in outcomes for c in outcome.covered) > 0.8
    assert not any(outcome.answered and outcome.far for outcome in outcomes)


def test_intervals_allow_for_what_a_short_motion_hides(study):
    """An error once per turn that cannot be seen is within the interval, and the cost is told."""
    sample = study.data.white_noise(1)
    time = np.arange(study.ROWS) * study.STEP
    shaft = 0.3 * np.sin(1.3 * time) + 0.2 * np.sin(0.7 * time + 1.0)
    sample.actuators['pan_motor'][:] = 100.0 * shaft
    noise = np.random.default_rng(1).normal(0.0, 1e-3, len(time))
    sample.joints['pan'][:] = shaft + 0.01 * np.sin(shaft) + noise
    (result,) = study.calibrated(sample)
    ratio, _ = result.numbers
    assert not result.doubts
    assert 0.5 < abs(ratio.value - 100.0) < ratio.half_width < 5.0
    (note,) = result.notes
    assert "once per turn of 'pan" in note
    lines = '\n'.join(list_recorded_lines(result, 80)).splitlines()
    assert max(map(len, lines)) <= 80
    assert any('note: the intervals allow for' in line for line in lines)


# -- the command ---------------------------------------------------------------------------------


def test_the_numbers_of_an_arm_are_found_and_written(run, recording, tmp_path, numbers_of):
    """As a parameter file, or in the description; of a differential one reduction is kept."""
    tuned, robot = tmp_path / 'tuned.yaml', tmp_path / 'tuned.urdf'
    data = recording()
    result = run('calibrate', ARM, data, '--json', '--output', tuned)
    assert (result.code, result.err) == (0, f'written to {tuned}: 7 numbers\n')
    for transmission, numbers in TRUE.items():
        found = parameters(result, transmission)
        for name, true in numbers.items():
            low, high = found[name]['interval']
            assert low < true < high
            assert high - low < 0.02 * max(abs(true), 0.2)
    kept = parameters(result, WRIST)[LEFT]
    assert (kept['estimated'], kept['value'], kept['interval']) == (False, 48.0, None)
    assert kept['kept'] == 'not determined by this recording'
    assert run('calibrate', ARM, data, '--output', robot).code == 0
    assert run('export', ARM, '--params-file', tuned).out == robot.read_text(encoding='utf-8')
    written = numbers_of(robot.read_bytes())
    assert written[f'{PAN}.{RATIO}'] == parameters(result, PAN)[RATIO]['value']
    # Each option of a file keeps what is there without --force.
    before = tuned.read_bytes()
    refused = run('calibrate', ARM, data, '--output', tuned)
    assert (refused.code, '--force' in refused.err, tuned.read_bytes()) == (2, True, before)


def test_nothing_is_written_in_doubt_and_the_residuals_are_drawn(run, recording, tmp_path):
    """A slip of one joint: exit code 1, a picture, and the others on their own."""
    pytest.importorskip('matplotlib')
    output, report = tmp_path / 'tuned.yaml', tmp_path / 'residuals.svg'
    slipped = recording({'shoulder_pan': lambda q: q + 0.02 * (TIME > 5.0)})
    result = run('calibrate', ARM, slipped, '--output', output, '--report', report)
    assert (result.code, output.exists(), report.read_text()[:5]) == (1, False, '<?xml')
    assert "doubt: 'shoulder_pan': the residual (0.0" in result.out
    assert f'in doubt: {PAN}; no file is written' in result.err
    assert f'--transmission {WRIST}' in result.err
    others = run('calibrate', ARM, slipped, '--output', output, '--transmission', WRIST)
    assert (others.code, output.exists()) == (0, True)


@pytest.mark.parametrize(('changes', 'doubt'), [
    ({'shoulder_pan': 0.2}, 'did the joint follow'),
    ({'shoulder_pan_motor': 10.3}, 'as large as the motion'),
    ({'shoulder_pan': lambda q: q + 0.2 * (np.arange(len(q)) % 40 == 0)}, 'in some of the rows'),
    ({'shoulder_pan_motor': 10.3, 'shoulder_pan': 0.41}, None),
])  # fmt: skip
def test_a_side_that_stands_still_gives_no_reduction(run, recording, changes, doubt):
    """A stuck joint, a driver that hung and outliers are doubts; both at rest give the offset."""
    result = run('calibrate', ARM, recording(changes), '--json', '--transmission', PAN)
    assert result.code == (doubt is not None)
    (gear,) = result.json['transmissions']
    assert any(doubt in sentence for sentence in gear['doubts']) if doubt else not gear['doubts']
    if doubt is None:
        found = parameters(result, PAN)
        assert not found[RATIO]['estimated']
        assert found['joints.shoulder_pan.offset']['value'] == pytest.approx(0.41 - 10.3 / 101.0)


def test_numbers_can_be_kept_and_wrong_names_are_refused(run, refuse, recording):
    """A pattern that matches nothing, or an unknown transmission, names the closest."""
    data = recording()
    arguments = ('calibrate', ARM, data, '--transmission', PAN)
    rows = run(*arguments, '--fix', '*.shoulder_pan.offset').out.splitlines()
    (row,) = (line for line in rows if 'shoulder_pan.offset' in line)
    assert row.endswith('kept  fixed by --fix')
    nothing = run(*arguments, '--fix', '*', '--json')
    assert nothing.code == 1
    assert not any(each['estimated'] for each in parameters(nothing, PAN).values())
    refuse(f"'{WRIST}.joints.wrist_", *arguments, '--fix', 'wrist_transmission.offset')
    refuse(f"(closest: '{PAN}')", 'calibrate', ARM, data, '--transmission', 'shoulder_pan')


@pytest.mark.parametrize('reduction', ['1e-300', '-1e150'])
def test_a_reduction_of_absurd_size_costs_no_other(run, recording, tmp_path, reduction):
    """What overflows on the way makes no noise, and other transmissions are calibrated."""
    absurd = tmp_path / 'absurd.urdf'
    absurd.write_text(ARM.read_text(encoding='utf-8').replace('>101.0<', f'>{reduction}<'))
    result = run('calibrate', absurd, recording(), '--json')
    assert (result.code, result.err.count('\n')) == (1, 1)
    assert result.err.startswith(f'in doubt: {PAN}; ')
    offset = parameters(result, WRIST)['joints.wrist_pitch.offset']
    assert offset['value'] == pytest.approx(0.05, abs=1e-2)


def test_a_number_has_the_digits_that_its_interval_lets_it_have():
    """Two digits of the interval, all of a number that is known exactly or not at all."""
    texts = [round_to_interval(103.01234567, half) for half in (0.0234, 200.0, None, math.inf)]
    assert texts == ['103.012', '103', '103.012346', '103.012346']
