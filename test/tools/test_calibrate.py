# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge calibrate``: what it answers, what it doubts, and what it writes."""

from __future__ import annotations

import csv
from pathlib import Path
import re
import statistics
import sys

import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.resources import resource
from transmission_bridge.tools.calibration.calibrate import calibrate_transmission
from transmission_bridge.tools.calibration.command import list_calibration_lines, round_to_interval
from transmission_bridge.tools.calibration.recording import Pairs

pytest.importorskip('scipy')

ROOT = Path(__file__).parents[2]
ARM = resource('urdf', 'arm.urdf')
DESCRIBED = tb.RobotTransmissions(tb.load_description(ARM))
PAN, WRIST = 'shoulder_pan_transmission', 'wrist_transmission'
RATIO = 'joints.shoulder_pan.mechanical_reduction'
LEFT = 'actuators.wrist_left_motor.mechanical_reduction'

#: Numbers that differ from those of the description, and can be told.
TRUE = {
    PAN: {'joints': {'shoulder_pan': {'mechanical_reduction': 103.0, 'offset': 0.31}}},
    WRIST: {
        'actuators': {'wrist_right_motor': {'mechanical_reduction': -51.0}},
        'joints': {
            'wrist_pitch': {'mechanical_reduction': 1.3, 'offset': 0.05},
            'wrist_roll': {'mechanical_reduction': -0.82, 'offset': -0.25},
        },
    },
}


#: Columns of recordings: what takes no part in them costs time only.
USED = re.compile('time|shoulder_pan|wrist')


@pytest.fixture(scope='module')
def study(load):
    """Return the benchmark's module: its situations, and what the tool says of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / 'benchmarks'))
        yield load('calibrate_study', ROOT / 'benchmarks' / 'calibrate.py')
    del sys.modules['calibrate_study'], sys.modules['calibrate_data']


def motion(rows: int, columns: int) -> np.ndarray:
    """Return a smooth motion of joints."""
    time = np.arange(rows)[:, np.newaxis] * 0.02
    k = np.arange(columns)
    slow, fast = np.sin(time * (1.0 + 0.3 * k) + k), np.sin(time * 2.3 * (1.0 + 0.1 * k))
    return 0.6 * slow + 0.3 * fast


def write(path: Path, names: list[str], columns: np.ndarray) -> Path:
    """Write a table."""
    with open(path, 'w', newline='', encoding='utf-8') as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows([map(repr, row) for row in columns.tolist()])
    return path


@pytest.fixture
def recording(tmp_path):
    """
    Return a function that writes a recording of the true arm.

    Joints and actuators may be replaced by name, by a column or a function of theirs.
    """

    def make(changes=(), *, rows: int = 400, noise: float = 1e-3) -> Path:
        q = motion(rows, len(DESCRIBED.joint_names))
        a = DESCRIBED.with_parameters(TRUE).joint_to_actuator('position', q)
        q = q + np.random.default_rng(7).normal(0.0, noise, q.shape)
        names = ['time', *DESCRIBED.actuator_names, *DESCRIBED.joint_names]
        used = [place for place, name in enumerate(names) if USED.match(name)]
        columns = np.column_stack([np.arange(rows) * 0.02, a, q])[:, used]
        names = [names[place] for place in used]
        for name, change in dict(changes).items():
            column = columns[:, names.index(name)]
            column[:] = change(column) if callable(change) else change
        return write(tmp_path / 'recording.csv', names, columns)

    return make


def parameters(result, transmission: str) -> dict:
    """Return what was found about the numbers of a transmission, by name."""
    (found,) = (t for t in result.json['transmissions'] if t['name'] == transmission)
    return {parameter['name']: parameter for parameter in found['parameters']}


def flat(nested: dict, prefix: str = '') -> dict[str, float]:
    """Return nested numbers by dotted name."""
    found: dict[str, float] = {}
    for key, value in nested.items():
        name = f'{prefix}{key}'
        found.update(flat(value, f'{name}.') if isinstance(value, dict) else {name: value})
    return found


def since(row: int, step: float):
    """Return the change of a column that is other by a step from a row on."""
    return lambda column: column + step * (np.arange(len(column)) >= row)


# -- situations of the benchmark -----------------------------------------------------------------


@pytest.mark.parametrize(('situation', 'name', 'size'), [
    ('backlash 10 mrad', "a backlash of 'pan'", 0.01),
    ('time offset 5 to 50 ms', 'a delay of the joints', None),
    ('eccentric joint encoder 10 mrad', "an error once per turn of 'pan'", 0.01),
    ('eccentric motor encoder 0.3 rad', "an error once per turn of 'pan_motor'", 0.3),
    ('strain wave 0.4 mrad', "an error twice per turn of 'pan_motor' (a strain-wave", 0.04),
    ('joint encoder 4 mrad twice per turn', "an error twice per turn of 'pan' (", 0.004),
    ('rest for 80 % of the time', '', None),
])  # fmt: skip
def test_a_physical_effect_is_found_with_its_size_and_costs_no_number(
    study, situation, name, size
):
    """It is named, its interval holds its size, and the numbers are right beside it."""
    # Of the smallest one least is known.
    most = 1.0 if size == 0.004 else 0.5
    for seed in (1, 2)[: 2 if size in (None, 0.004) else 1]:
        sample = study.SITUATIONS[situation].make(seed)
        (result,) = study.calibrated(sample)
        assert not result.doubts
        assert [effect.name[: len(name)] for effect in result.effects] == [name] * bool(name)
        for effect in result.effects:
            assert 0.0 < effect.half_width < most * abs(effect.size)
            if size is not None:
                assert effect.size == pytest.approx(size, abs=1.5 * effect.half_width)
        assert {p.path[-1] for p in result.estimated_numbers} == {'mechanical_reduction', 'offset'}
        for found in result.estimated_numbers:
            true = sample.truth[f'gear.{found.name}']
            assert found.value == pytest.approx(true, abs=1.5 * found.half_width)
        # Rows of a rest count as one.
        assert name or len(result.channels[0].time) < 0.3 * study.ROWS


@pytest.mark.parametrize(('situation', 'causes'), [
    # A wrong sign, exchanged columns, or an encoder that starts again.
    ('motor counts backwards: gear', ()),
    ('motor counts backwards: differential', ()),
    ('motors of two gears exchanged', ()),
    ('motors of a differential exchanged', ()),
    ('joints of a differential exchanged', ()),
    ('motor encoder of one turn', ()),
    ('joint encoder of one turn', ()),
    # What is not in the model: the likeliest cause.
    ('random walk 10 mrad', ('drifts with time', 'jumps by')),
    ('slip', ('jumps by', 'or slips')),
    ('40 % of rows shifted', ('two groups', 'do not fit')),
    ('wind-up 10 mrad sqrt(q)', ('a loaded elastic part', 'position')),
])  # fmt: skip
def test_what_is_wrong_is_a_doubt_with_its_cause(study, situation, causes):
    """Said, not just fitted."""
    row = study.SITUATIONS[situation]
    for seed in range(2 if causes else 1):
        for result in study.calibrated(row.make(seed)):
            words = causes or [row.words]
            assert any(each in sentence for each in words for sentence in result.doubts)


@pytest.mark.parametrize(
    'situation', ['white noise: gear', 'joint encoder of 8 to 16 bits', 'pink noise']
)
def test_intervals_cover_and_are_narrow(study, situation):
    """On ten fixed seeds coverage and width are near those that 300 seeds are held to."""
    outcomes = [study.outcome(situation, seed) for seed in range(10)]
    covered = [c for outcome in outcomes if outcome.answered for c in outcome.covered]
    assert len(covered) >= 16
    # The numbers of a seed depend on each other: that is three standard deviations.
    assert statistics.fmean(covered) > 0.8
    assert not any(outcome.answered and outcome.far for outcome in outcomes)
    widths = [width for outcome in outcomes for width in outcome.widths]
    assert not widths or statistics.median(widths) <= 1.3


def moved(study, shaft, error=0.0, seed: int = 1):
    """Return what is said of a gear whose shaft moves so, and is read with noise and an error."""
    sample = study.data.white_noise(seed)
    noise = np.random.default_rng(seed).normal(0.0, 1e-3, len(shaft))
    sample.actuators['pan_motor'][:] = 100.0 * shaft
    sample.joints['pan'][:] = shaft + error + noise
    return study.calibrated(sample)[0]


TIME = np.arange(600) * 0.02
SHORT = 0.3 * np.sin(1.3 * TIME) + 0.2 * np.sin(0.7 * TIME + 1.0)


@pytest.mark.parametrize('size', [0.0, 0.01])
@pytest.mark.parametrize('seed', [0, 1])
def test_what_a_short_motion_hides_is_in_the_intervals(study, size, seed):
    """Wind-up that cannot be seen or ruled out is allowed for, and the cost is said."""
    result = moved(study, SHORT, size * np.sin(SHORT), seed)
    (ratio,) = (p for p in result.estimated_numbers if p.path[-1] == 'mechanical_reduction')
    assert not result.doubts
    assert abs(ratio.value - 100.0) < ratio.half_width < 10.0
    (note,) = result.notes
    assert "does not exclude an error once per turn of 'pan'" in note
    assert 'without it: joints.pan.mechanical_reduction ± 0.0' in note


def test_a_long_motion_rules_out_what_is_not_there(study):
    """Half a turn there and back leaves no doubt, and intervals are those of the noise."""
    result = moved(study, 1.6 * np.sin(1.5 * TIME))
    assert (result.doubts, result.warnings, result.notes) == ((), (), ())
    assert all(p.half_width < 1e-3 * max(abs(p.value), 0.2) for p in result.estimated_numbers)


def test_what_one_speed_cannot_tell_apart_is_named_together(study):
    """Backlash and delay are the same where the joint moves at one speed to and fro."""
    shaft = np.abs((0.2 * TIME + 0.5) % 2.0 - 1.0) - 0.5
    result = moved(study, shaft, -0.0004 * np.sign(np.gradient(shaft)), 5)
    (effect,) = result.effects
    assert {"a backlash of 'pan'", 'a delay of the joints'} <= {effect.name, *effect.alike}
    text = '\n'.join(list_calibration_lines(result, None))
    assert f'  included in the model: {effect.name}: ' in text
    assert f'; this motion cannot separate it from {effect.alike[0]}' in text
    wrapped = '\n'.join(list_calibration_lines(result, 80)).splitlines()
    assert max(map(len, wrapped)) <= 80


def test_other_columns_than_the_transmissions_are_refused(study):
    """Where residual and motion are of one size nothing is explained."""
    sample = study.data.white_noise(2)
    sample.joints['pan'][:] = study.data.white_noise(3).joints['pan']
    (result,) = study.calibrated(sample)
    assert any('as large as its motion' in sentence for sentence in result.doubts)


def test_a_rival_minimum_is_said_and_the_described_one_kept(study):
    """Crank radius and pivot distance of a hinged cylinder can be exchanged."""
    (result,) = study.calibrated(study.SITUATIONS['hinged cylinder, four numbers unknown'].make(1))
    found = {p.name: p.value for p in result.estimated_numbers}
    assert found['crank_radius'] == pytest.approx(0.06, rel=0.1)
    assert found['pivot_distance'] == pytest.approx(0.3, rel=0.3)
    assert any('crank_radius = 0.3' in sentence for sentence in result.warnings)


def test_a_number_of_the_second_order_widens_the_intervals_of_others(study):
    """The offset of a hinged cylinder enters as its square: not "no effect" where it is zero."""
    sample = study.SITUATIONS['white noise: hinged cylinder, two numbers'].make(1)
    (exact,) = study.calibrated(sample)
    free = study.replace(sample, fixed=tuple(p for p in sample.fixed if p != 'crank.offset'))
    (doubtful,) = study.calibrated(free)
    (offset,) = (p for p in doubtful.parameters if p.name == 'offset')
    assert offset.half_width is None
    assert 'a small change of it has no effect' in offset.kept
    for before, after in zip(exact.estimated_numbers, doubtful.estimated_numbers, strict=True):
        assert after.half_width > 1.5 * before.half_width


def test_dimensions_of_a_mechanism_are_found_and_what_is_outside_of_it_costs_nothing(study):
    """Base and stroke of a hinged cylinder; an actuator further out than it goes is named."""
    robot = tb.RobotTransmissions(tb.load_description(study.KNEE))
    true = {'pivot_distance': 0.31, 'stroke_at_zero': 0.01}
    q = 0.8 * motion(300, 1)
    real = robot.with_parameters({'crank': true}).transmissions['crank']
    a = real.joint_to_actuator('position', q)
    a[100:110, 0] = np.linspace(5.0, 6.0, 10)
    free = (*true, 'joints.knee.offset')
    result = calibrate_transmission(
        robot.bindings[0],
        Pairs(a, q, np.arange(300.0), False),
        is_fixed=lambda name: name not in free,
    )
    found = {parameter.name: parameter.value for parameter in result.estimated_numbers}
    assert found == pytest.approx({**true, 'joints.knee.offset': 0.0}, abs=1e-6)
    assert result.channels[0].unpredicted.tolist() == list(range(100, 110))
    assert any(
        '10 measurements (rows 100 to 109) are outside the domain of the transmission' in sentence
        for sentence in result.warnings
    )


# -- the command ---------------------------------------------------------------------------------


def test_true_numbers_are_found_where_outliers_disturb_and_products_told(run, recording, tmp_path):
    """
    Each true number is within twice its interval, which is as narrow as the noise allows.

    What bounds an actuator is no number of its mechanism, open limits neither.
    """
    mark = '<actuator name="shoulder_pan_motor" role="actuator1"'
    text, limit = ARM.read_text(encoding='utf-8'), '<limit upper="900" effort="2"/></actuator>'
    assert f'{mark}/>' in text
    (tmp_path / 'limited.urdf').write_text(text.replace(f'{mark}/>', f'{mark}>{limit}'))
    disturbed = {'wrist_pitch': lambda q: q + 3.0 * (np.arange(len(q)) % 23 == 0)}
    words = (tmp_path / 'limited.urdf', recording(disturbed), '--output', tmp_path / 'found.yaml')
    result = run('calibrate', *words, '--json')
    assert (result.code, 'limit' in result.out) == (0, False)
    assert 'limit' not in (tmp_path / 'found.yaml').read_text()
    for transmission, numbers in TRUE.items():
        found = parameters(result, transmission)
        for name, true in flat(numbers).items():
            low, high = found[name]['interval']
            assert abs(found[name]['value'] - true) < high - low
            assert high - low < 1e-2 * max(abs(true), 0.1)
    # Of a differential one actuator keeps its reduction.
    kept = parameters(result, WRIST)[LEFT]
    assert (kept['estimated'], kept['value'], kept['interval']) == (False, 48.0, None)
    for joint in ('wrist_pitch', 'wrist_roll'):
        assert f'joints.{joint}.mechanical_reduction * {LEFT}' in kept['kept']
    assert f'actuators.wrist_right_motor.mechanical_reduction / {LEFT}' in kept['kept']


def test_a_slip_is_told_and_nothing_is_written(run, refuse, recording, tmp_path):
    """A change of the offset for good is a doubt: its time, exit code 1, a file only by force."""
    output, report = tmp_path / 'tuned.yaml', tmp_path / 'residuals.svg'
    options = ('calibrate', ARM, recording({'shoulder_pan': since(250, 0.02)}), '--output', output)
    pytest.importorskip('matplotlib')
    result = run(*options, '--report', report)
    assert (result.code, output.exists(), report.exists()) == (1, False, True)
    assert "doubt: 'shoulder_pan': it jumps by +0.0" in result.out
    assert 'near t = 5 s: a coupling or an encoder slipped. Cut the recording there' in result.out
    assert 'in doubt: shoulder_pan_transmission; no file is written' in result.err
    assert '--transmission wrist_transmission' in result.err
    others = run(*options, '--transmission', WRIST)
    assert (others.code, output.exists()) == (0, True)
    options = (*options, '--transmission', PAN, '--force')
    forced = run(*options)
    assert (forced.code, 'written to' in forced.err) == (1, False)
    doubtful = run(*options, '--doubtful')
    assert (doubtful.code, f'written to {output}: ' in doubtful.err) == (1, True)
    assert 'shoulder_pan' in output.read_text(encoding='utf-8')
    # What is there stays byte for byte without --force.
    for option, target in (('--output', output), ('--report', report)):
        before = target.read_bytes()
        words = ('calibrate', ARM, recording(rows=60), option, target, '--transmission', PAN)
        refuse('--force', *words)
        assert target.read_bytes() == before
        assert (run(*words, '--force').code, target.read_bytes() != before) == (0, True)


@pytest.mark.parametrize(('changes', 'options', 'value', 'words'), [
    # Where neither motor nor joint moved, the offset is what is left to be found.
    ({'shoulder_pan_motor': 10.3, 'shoulder_pan': 10.3 / 101.0 + 0.31}, '', 101.0,
     'did not move: its ratios are not identifiable'),
    # A driver that hung: the median of the joint's motion would be a wrong offset.
    ({'shoulder_pan_motor': 10.3}, '', 101.0, "'shoulder_pan'"),
    # The description's ratio is a start, and a large change is likely a mistake.
    *(({'shoulder_pan': lambda q, r=r: (TRUE_A[: len(q)] / r + 0.4)}, '', r, words)
      for r, words in ((-101.0, 'has the opposite sign'), (-0.5, 'has the opposite sign'),
                       (3.0, 'times that of the description'),
                       (4000.0, 'times that of the description'))),
    # With noisy actuators the regression the other way round fits, and the usual one does not.
    ({'shoulder_pan_motor': lambda a: a + NOISE[: len(a)]}, '', None, ''),
    ({'shoulder_pan_motor': lambda a: a + NOISE[: len(a)]}, '--noise actuator', 103.0, None),
])  # fmt: skip
def test_ratios_and_doubts_of_a_gear(run, recording, tmp_path, changes, options, value, words):
    """A doubt or a warning says what is wrong, and nothing doubtful is written."""
    output = tmp_path / 'tuned.yaml'
    data = recording(changes, rows=1500 if value in (None, 103.0) else 400, noise=0.0)
    names = ('--json', '--transmission', PAN, '--output', output, *options.split())
    result = run('calibrate', ARM, data, *names)
    (gear,) = result.json['transmissions']
    ratio = parameters(result, PAN)[RATIO]
    is_parked = words is not None and 'identifiable' in words
    assert result.code == int(words is not None and not is_parked)
    assert output.exists() == (result.code == 0)
    if words is None:
        low, high = ratio['interval']
        assert low < value < high
        return
    sentences = gear['warnings'] if is_parked else gear['doubts']
    assert any(words in sentence for sentence in sentences)
    if value is not None:
        assert ratio['value'] == pytest.approx(value)
        assert ratio['estimated'] == (value != 101.0)


#: Motor positions of the first joint, and a noise of them.
TRUE_A = 103.0 * (motion(400, 1)[:, 0] - 0.31)
NOISE = np.random.default_rng(3).normal(0.0, 10.0, 1500)


def test_a_stuck_joint_is_named_and_its_partner_found(run, recording, tmp_path):
    """
    The joint that stands still is not identifiable; the other one of the differential is.

    Where nothing is left to be found, the exit code is 1 and no file is written.
    """
    output = tmp_path / 'tuned.yaml'
    data = recording({'wrist_roll': 0.1, 'shoulder_pan': 0.2})
    text = run('calibrate', ARM, data)
    assert "joint 'wrist_roll' did not move, although its actuators did" in text.out
    # With noise of the actuators both motors of the differential turn the stuck joint.
    for options in (('--noise', 'actuator', '--transmission', WRIST), ('--transmission', PAN)):
        nothing = run('calibrate', ARM, data, *options, '--output', output)
        assert (nothing.code, output.exists()) == (1, False)
        assert 'nothing is identifiable' in nothing.err
    found = parameters(run('calibrate', ARM, data, '--json'), WRIST)
    assert not found['joints.wrist_roll.mechanical_reduction']['estimated']
    assert not found['joints.wrist_roll.offset']['estimated']
    assert found['joints.wrist_roll.offset']['value'] == -0.2
    assert found['joints.wrist_pitch.offset']['value'] == pytest.approx(0.05, abs=1e-3)


@pytest.mark.parametrize(('a', 'known'), [
    (np.linspace(-100.0, 120.0, 2), False),
    (np.linspace(-100.0, 120.0, 6), True),
    (np.full(10, 10.0), None),
])  # fmt: skip
def test_a_few_poses_are_enough(run, tmp_path, a, known):
    """Exact poses give exact numbers; an interval needs more rows than unknowns, and others."""
    columns = np.stack([a, a / 103.0 + 0.31], axis=1)
    data = write(tmp_path / 'poses.csv', ['shoulder_pan_motor', 'shoulder_pan'], columns)
    found = parameters(run('calibrate', ARM, data, '--json'), PAN)
    for name, true in flat(TRUE[PAN]).items():
        assert (found[name]['interval'] is not None) == bool(known)
        if known is not None:
            assert found[name]['value'] == pytest.approx(true, rel=1e-7)


def test_numbers_can_be_kept_transmissions_chosen_and_the_table_says_why(run, recording):
    """What was fixed, and what had no effect, as the ratio of a motor at zero."""
    motors = 'wrist_left_motor', 'wrist_right_motor'
    left, right = (DESCRIBED.actuator_names.index(name) for name in motors)
    a = DESCRIBED.with_parameters(TRUE).joint_to_actuator('position', motion(400, 6))
    a[:, right] = 0.0
    q = DESCRIBED.actuator_to_joint('position', a)
    q += np.random.default_rng(7).normal(0.0, 1e-4, q.shape)
    names = [name for name in DESCRIBED.joint_names if USED.match(name)]
    changes = {name: q[:, DESCRIBED.joint_names.index(name)] for name in names}
    changes |= {motors[0]: a[:, left], motors[1]: 0.0}
    pattern = 'wrist*.wrist_roll.offset'
    arguments = ('calibrate', ARM, recording(changes), '--transmission', WRIST, '--fix', pattern)
    result = run(*arguments, '--json')
    assert [t['name'] for t in result.json['transmissions']] == [WRIST]
    found = parameters(result, WRIST)
    assert found['joints.wrist_pitch.offset']['estimated']
    rows = {line.split()[0]: line for line in run(*arguments).out.splitlines() if line.strip()}
    for name, reason in {
        'actuators.wrist_right_motor.mechanical_reduction': 'no effect on these positions',
        'joints.wrist_roll.offset': 'fixed by --fix',
    }.items():
        assert found[name]['kept'] == reason
        assert rows[name].endswith(f'kept  {reason}')
    assert not found[LEFT]['estimated']
    # A warning has this one's reason, which is long.
    assert rows[LEFT].endswith('kept')


def test_a_pattern_that_matches_nothing_is_an_error_with_the_closest_names(refuse, recording):
    """A slip of the pen in --fix would fit what the user knows."""
    words = ('calibrate', ARM, recording(rows=60), '--fix', 'wrist_transmission.offset')
    refuse("--fix 'wrist_transmission.offset' matches no number", *words)
    refuse('wrist_transmission.joints.wrist_', *words)


@pytest.mark.parametrize(('reduction', 'noise'), [('1e-300', 'joint'), ('-1e150', 'actuator')])
def test_a_reduction_of_absurd_size_is_kept_and_costs_no_other(
    run, recording, tmp_path, reduction, noise
):
    """What overflows on the way makes no noise, and other transmissions are calibrated."""
    absurd = tmp_path / 'absurd.urdf'
    absurd.write_text(ARM.read_text(encoding='utf-8').replace('>101.0<', f'>{reduction}<'))
    # With noise of actuators a differential takes long.
    names = (PAN, WRIST)[: 2 if noise == 'joint' else 1]
    chosen = [word for name in names for word in ('--transmission', name)]
    options = ('--noise', noise, '--json', *chosen)
    result = run('calibrate', absurd, recording(rows=120), *options)
    assert result.code == 1
    words = 'in doubt: shoulder_pan_transmission' if names[1:] else 'nothing is identifiable'
    assert result.err.startswith(words)
    assert result.err.count('\n') == 1
    kept = parameters(result, PAN)[RATIO]
    assert (kept['estimated'], kept['value']) == (False, float(reduction))
    if names[1:]:
        offset = parameters(result, WRIST)['joints.wrist_pitch.offset']
        assert offset['value'] == pytest.approx(0.05, abs=1e-2)


@pytest.mark.parametrize(('value', 'half_width', 'text'), [
    (103.01234567, 0.0234, '103.012'),
    (0.3, 2.0, '0.3'),
    (0.123456789012, None, '0.123456789'),
    (1.5, 0.0, '1.5'),
    (1.5, float('inf'), '1.5'),
])  # fmt: skip
def test_a_number_has_the_digits_that_its_interval_lets_it_have(value, half_width, text):
    """Two digits of the interval, all of a number that is known exactly or not at all."""
    assert round_to_interval(value, half_width) == text
