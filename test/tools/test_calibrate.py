# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge calibrate``."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
import statistics
import sys

import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.resources import resource
from transmission_bridge.tools.calibration.calibrate import calibrate_transmission
from transmission_bridge.tools.calibration.command import list_calibration_lines
from transmission_bridge.tools.calibration.recording import Pairs

pytest.importorskip('scipy')

ROOT = Path(__file__).parents[2]
ARM = resource('urdf', 'arm.urdf')

#: Numbers that differ from those of the description, and can be told.
TRUE = {
    'shoulder_pan_transmission': {
        'joints': {'shoulder_pan': {'mechanical_reduction': 103.0, 'offset': 0.31}}
    },
    'wrist_transmission': {
        'actuators': {'wrist_right_motor': {'mechanical_reduction': -51.0}},
        'joints': {
            'wrist_pitch': {'mechanical_reduction': 1.3, 'offset': 0.05},
            'wrist_roll': {'mechanical_reduction': -0.82, 'offset': -0.25},
        },
    },
}


@pytest.fixture(scope='module')
def study():
    """Return the benchmark's module: its situations, and what the tool says of them."""
    path = ROOT / 'benchmarks' / 'calibrate.py'
    spec = importlib.util.spec_from_file_location('calibrate_study', path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(path.parent))
        spec.loader.exec_module(module)
        yield module
    del sys.modules[spec.name], sys.modules['calibrate_data']


def described() -> tb.RobotTransmissions:
    """Return the arm as described."""
    return tb.RobotTransmissions(tb.load_description(ARM.read_text(encoding='utf-8')))


def motion(rows: int, columns: int) -> np.ndarray:
    """Return a smooth motion of joints."""
    time = np.arange(rows) * 0.02
    return np.stack(
        [
            0.6 * np.sin(time * (1.0 + 0.3 * k) + k) + 0.3 * np.sin(time * 2.3 * (1.0 + 0.1 * k))
            for k in range(columns)
        ],
        axis=1,
    )


def write(path: Path, names: list[str], columns: np.ndarray) -> Path:
    """Write a table, NaN as an empty cell."""
    with open(path, 'w', newline='', encoding='utf-8') as file:
        table = csv.writer(file)
        table.writerow(names)
        for row in columns.tolist():
            table.writerow(['' if value != value else repr(value) for value in row])
    return path


@pytest.fixture
def recording(tmp_path):
    """Return a function that writes a recording of the true arm, after changes."""

    def make(change=lambda a, q: (a, q), *, rows: int = 400, noise: float = 1e-3) -> Path:
        robot = described().with_parameters(TRUE)
        q = motion(rows, len(robot.joint_names))
        a = robot.joint_to_actuator('position', q)
        q = q + np.random.default_rng(7).normal(0.0, noise, q.shape)
        a, q = change(a, q)
        names = ['time', *robot.actuator_names, *robot.joint_names]
        time = np.arange(rows) * 0.02
        return write(tmp_path / 'recording.csv', names, np.column_stack([time, a, q]))

    return make


def place(joint: str) -> int:
    """Return the column of a joint."""
    return described().joint_names.index(joint)


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


def test_true_numbers_are_found_where_outliers_disturb(run, recording):
    """Each true number is within twice its interval, which is as narrow as the noise allows."""

    def disturbed(a, q):
        q[::23, place('wrist_pitch')] += 3.0
        return a, q

    result = run('calibrate', ARM, recording(disturbed), '--json')
    assert (result.code, result.err) == (0, '')
    for transmission, numbers in TRUE.items():
        found = parameters(result, transmission)
        for name, true in flat(numbers).items():
            low, high = found[name]['interval']
            assert abs(found[name]['value'] - true) < high - low
            assert high - low < 1e-2 * max(abs(true), 0.1)


def test_a_slip_is_told_and_nothing_is_written(run, recording, tmp_path):
    """A change of the offset for good is a doubt: its time, exit code 1, a file only by force."""

    def slipped(a, q):
        q[250:, place('shoulder_pan')] += 0.02
        return a, q

    output, report = tmp_path / 'tuned.yaml', tmp_path / 'residuals.svg'
    options = ('calibrate', ARM, recording(slipped), '--output', output)
    pytest.importorskip('matplotlib')
    result = run(*options, '--report', report)
    assert (result.code, output.exists(), report.exists()) == (1, False, True)
    assert "doubt: 'shoulder_pan': it jumps by +0.0" in result.out
    assert 'near t = 5 s: a coupling or an encoder slipped. Cut the recording there' in result.out
    assert 'in doubt: shoulder_pan_transmission; no file is written' in result.err
    assert '--transmission wrist_transmission' in result.err
    others = run(*options, '--transmission', 'wrist_transmission')
    assert (others.code, output.exists()) == (0, True)
    forced = run(*options, '--force')
    assert (forced.code, 'written to' in forced.err) == (1, False)
    doubtful = run(*options, '--force', '--doubtful')
    assert (doubtful.code, f'written to {output}: ' in doubtful.err) == (1, True)
    assert 'shoulder_pan' in output.read_text(encoding='utf-8')


@pytest.mark.parametrize(
    ('situation', 'name', 'size'),
    [
        ('backlash 10 mrad', "a backlash of 'pan'", 0.01),
        ('time offset 5 to 50 ms', 'a delay of the joints', None),
        ('eccentric joint encoder 10 mrad', "an error once per turn of 'pan'", 0.01),
        ('eccentric motor encoder 0.3 rad', "an error once per turn of 'pan_motor'", 0.3),
        ('strain wave 0.4 mrad', "an error twice per turn of 'pan_motor' (a strain-wave", 0.04),
    ],
)
def test_a_physical_effect_is_found_with_its_size_and_costs_no_number(
    study, situation, name, size
):
    """It is named, its interval holds its size, and the numbers are right beside it."""
    sample = study.SITUATIONS[situation].make(1)
    (result,) = study.calibrated(sample)
    assert not result.doubts
    (effect,) = result.effects
    assert effect.name.startswith(name)
    assert 0.0 < effect.half_width < 0.5 * abs(effect.size)
    if size is not None:
        assert effect.size == pytest.approx(size, abs=1.5 * effect.half_width)
    for found in result.estimated_numbers:
        true = sample.truth[f'gear.{found.name}']
        assert found.value == pytest.approx(true, abs=1.5 * found.half_width)


def test_an_error_twice_per_turn_is_not_taken_for_others(study):
    """No error once per turn imitates it, and the intervals hold the true numbers."""
    for seed in range(5):
        sample = study.data.oval_encoder(seed)
        (result,) = study.calibrated(sample)
        assert not result.doubts
        assert [effect.name.split(' (')[0] for effect in result.effects] == [
            "an error twice per turn of 'pan'"
        ]
        for found in result.estimated_numbers:
            true = sample.truth[f'gear.{found.name}']
            assert found.value == pytest.approx(true, abs=1.5 * found.half_width)


@pytest.mark.parametrize('size', [0.0, 0.01])
def test_what_a_short_motion_hides_is_in_the_intervals(study, size):
    """Wind-up that cannot be seen or ruled out is allowed for, and the cost is said."""
    time = np.arange(600) * 0.02
    shaft = 0.3 * np.sin(1.3 * time) + 0.2 * np.sin(0.7 * time + 1.0)
    for seed in range(5):
        sample = study.data.white_noise(seed)
        noise = np.random.default_rng(seed).normal(0.0, 1e-3, 600)
        sample.actuators['pan_motor'][:] = 100.0 * shaft
        sample.joints['pan'][:] = shaft + size * np.sin(shaft) + noise
        (result,) = study.calibrated(sample)
        (ratio,) = (p for p in result.estimated_numbers if p.path[-1] == 'mechanical_reduction')
        assert not result.doubts
        assert abs(ratio.value - 100.0) < ratio.half_width < 10.0
        (note,) = result.notes
        assert "does not exclude an error once per turn of 'pan'" in note
        assert 'without it: joints.pan.mechanical_reduction ± 0.0' in note


def test_a_long_motion_rules_out_what_is_not_there(study):
    """Half a turn there and back leaves no doubt, and intervals are those of the noise."""
    sample = study.data.white_noise(1)
    shaft = 1.6 * np.sin(np.arange(600) * 0.03)
    sample.actuators['pan_motor'][:] = 100.0 * shaft
    sample.joints['pan'][:] = shaft + np.random.default_rng(1).normal(0.0, 1e-3, 600)
    (result,) = study.calibrated(sample)
    assert (result.doubts, result.warnings, result.notes) == ((), (), ())
    assert all(p.half_width < 1e-3 * max(abs(p.value), 0.2) for p in result.estimated_numbers)


def test_what_one_speed_cannot_tell_apart_is_named_together(study):
    """Backlash and delay are the same where the joint moves at one speed to and fro."""
    time = np.arange(600) * 0.02
    shaft = np.abs((0.2 * time + 0.5) % 2.0 - 1.0) - 0.5
    random = np.random.default_rng(5)
    sense = np.sign(np.gradient(shaft))
    sample = study.data.white_noise(1)
    sample.actuators['pan_motor'][:] = 100.0 * shaft
    sample.joints['pan'][:] = shaft - 0.0004 * sense + random.normal(0.0, 1e-3, 600)
    (result,) = study.calibrated(sample)
    (effect,) = result.effects
    names = {effect.name, *effect.alike}
    assert {"a backlash of 'pan'", 'a delay of the joints'} <= names
    lines = list(list_calibration_lines(result, None))
    assert any(f'  included in the model: {effect.name}: ' in line for line in lines)
    other = f'; this motion cannot separate it from {effect.alike[0]}'
    assert any(other in line for line in lines)
    wrapped = '\n'.join(list_calibration_lines(result, 80)).splitlines()
    assert max(map(len, wrapped)) <= 80


@pytest.mark.parametrize(
    'situation',
    [
        'motor counts backwards: gear', 'motor counts backwards: differential',
        'motors of two gears exchanged', 'motors of a differential exchanged',
        'joints of a differential exchanged', 'motor encoder of one turn',
        'joint encoder of one turn',
    ],
)  # fmt: skip
def test_a_mistake_in_the_wiring_is_named(study, situation):
    """A wrong sign, exchanged columns, or an encoder that starts again: said, not just fitted."""
    for seed in range(2):
        outcome = study.outcome(situation, seed)
        assert (outcome.answered, outcome.named) == (False, True)


@pytest.mark.parametrize(
    ('situation', 'cause'),
    [
        ('random walk 10 mrad', ('drifts with time', 'jumps by')),
        ('slip', ('jumps by', 'or slips')),
        ('40 % of rows shifted', ('two groups', 'do not fit')),
        ('wind-up 10 mrad sqrt(q)', ('a loaded elastic part', 'position')),
    ],
)
def test_what_is_not_in_the_model_is_a_doubt_with_its_cause(study, situation, cause):
    """The likeliest cause stands in the sentence."""
    for seed in range(3):
        (result,) = study.calibrated(study.SITUATIONS[situation].make(seed))
        assert any(words in sentence for words in cause for sentence in result.doubts)


def test_other_columns_than_the_transmissions_are_refused(study):
    """Where residual and motion are of one size nothing is explained."""
    sample = study.data.white_noise(2)
    other = study.data.white_noise(3)
    sample.joints['pan'][:] = other.joints['pan']
    (result,) = study.calibrated(sample)
    assert any('as large as its motion' in sentence for sentence in result.doubts)


def test_a_joint_that_rests_most_of_the_time_is_not_stuck(study):
    """Rows of a rest count as one, and the numbers come from those that move."""
    sample = study.data.rest(1)
    (result,) = study.calibrated(sample)
    assert not result.doubts
    assert len(result.channels[0].time) < 0.3 * study.ROWS
    assert {p.path[-1] for p in result.estimated_numbers} == {'mechanical_reduction', 'offset'}


def test_ten_equal_rows_give_no_interval(run, tmp_path):
    """They are one measurement."""
    data = write(
        tmp_path / 'equal.csv', ['shoulder_pan_motor', 'shoulder_pan'],
        np.tile([[10.0, 0.35]], (10, 1)),
    )  # fmt: skip
    result = run('calibrate', ARM, data, '--json')
    for parameter in parameters(result, 'shoulder_pan_transmission').values():
        assert parameter['interval'] is None


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


def test_a_pattern_that_matches_nothing_is_an_error_with_the_closest_names(run, recording):
    """A slip of the pen in --fix would fit what the user knows."""
    result = run('calibrate', ARM, recording(rows=60), '--fix', 'wrist_transmission.offset')
    assert (result.code, result.out) == (2, '')
    assert "--fix 'wrist_transmission.offset' matches no number" in result.err
    assert 'wrist_transmission.joints.wrist_' in result.err


def test_a_stuck_joint_is_named_and_its_partner_found(run, recording):
    """The joint that stands still is not identifiable; the other one of the differential is."""

    def stuck(a, q):
        q[:, place('wrist_roll')] = 0.1
        return a, q

    data = recording(stuck)
    text = run('calibrate', ARM, data)
    assert "joint 'wrist_roll' did not move, although its actuators did" in text.out
    noisy = ('--noise', 'actuator', '--transmission', 'wrist_transmission')
    nothing = run('calibrate', ARM, data, *noisy)
    assert nothing.code == 1  # both motors turn it
    assert 'nothing is identifiable' in nothing.err
    result = run('calibrate', ARM, data, '--json')
    found = parameters(result, 'wrist_transmission')
    assert not found['joints.wrist_roll.mechanical_reduction']['estimated']
    assert not found['joints.wrist_roll.offset']['estimated']
    assert found['joints.wrist_roll.offset']['value'] == -0.2
    assert found['joints.wrist_pitch.offset']['value'] == pytest.approx(0.05, abs=1e-3)


def test_a_joint_that_nothing_moved_keeps_its_ratio(run, recording):
    """Where neither motor nor joint moved, the offset is what is left to be found."""

    def parked(a, q):
        motor = described().actuator_names.index('shoulder_pan_motor')
        a[:, motor] = 10.3
        q[:, place('shoulder_pan')] = 10.3 / 101.0 + 0.31
        return a, q

    result = run('calibrate', ARM, recording(parked), '--json')
    found = parameters(result, 'shoulder_pan_transmission')
    assert not found['joints.shoulder_pan.mechanical_reduction']['estimated']
    assert found['joints.shoulder_pan.offset']['value'] == pytest.approx(0.31, abs=1e-9)
    warnings = result.json['transmissions'][0]['warnings']
    assert any('did not move: its ratios are not identifiable' in warning for warning in warnings)


def test_a_joint_that_moves_while_its_motor_rests_is_a_doubt(run, recording, tmp_path):
    """A driver that hung: the median of the joint's motion would be a wrong offset."""

    def hung(a, q):
        a[:, described().actuator_names.index('shoulder_pan_motor')] = 10.3
        return a, q

    output = tmp_path / 'tuned.yaml'
    names = ('--transmission', 'shoulder_pan_transmission', '--output', output)
    result = run('calibrate', ARM, recording(hung), '--json', *names)
    assert result.code == 1
    assert result.json['transmissions'][0]['doubts']
    assert not output.exists()


def test_what_is_known_only_as_a_product_is_told(run, recording):
    """Of a differential one actuator keeps its reduction, and the products are listed."""
    result = run('calibrate', ARM, recording(), '--json')
    kept = parameters(result, 'wrist_transmission')[
        'actuators.wrist_left_motor.mechanical_reduction'
    ]
    assert (kept['estimated'], kept['value'], kept['interval']) == (False, 48.0, None)
    left = 'actuators.wrist_left_motor.mechanical_reduction'
    for joint in ('wrist_pitch', 'wrist_roll'):
        assert f'joints.{joint}.mechanical_reduction * {left}' in kept['kept']
    assert f'actuators.wrist_right_motor.mechanical_reduction / {left}' in kept['kept']


def test_the_parameter_file_is_what_the_node_and_the_library_read(run, recording, tmp_path):
    """Nested as the node's parameters, every number a float; taken over, it predicts the data."""
    yaml = pytest.importorskip('yaml')
    output = tmp_path / 'tuned.yaml'
    data = recording(noise=0.0)
    assert run('calibrate', ARM, data, '--output', output).code == 0
    nested = yaml.safe_load(output.read_text(encoding='utf-8'))
    tuned = nested['/**']['ros__parameters']['transmissions']
    numbers = flat(tuned)
    assert numbers
    assert all(type(value) is float for value in numbers.values())
    robot = described().with_parameters(tuned)
    real = described().with_parameters(TRUE)
    a = real.joint_to_actuator('position', motion(50, 6))
    np.testing.assert_allclose(robot.actuator_to_joint('position', a), motion(50, 6), atol=1e-7)


def test_limits_are_no_numbers_of_a_mechanism(run, tmp_path):
    """What bounds an actuator is neither estimated nor written, open limits neither."""
    text = ARM.read_text(encoding='utf-8')
    mark = '<actuator name="shoulder_pan_motor" role="actuator1"/>'
    assert mark in text
    limit = mark.replace('/>', '><limit upper="900" effort="2"/></actuator>')
    limited = tmp_path / 'limited.urdf'
    limited.write_text(text.replace(mark, limit), 'utf-8')
    joints = motion(300, 1)
    motors = 103.0 * (joints - 0.31)
    columns = np.concatenate([np.arange(300)[:, np.newaxis] * 0.02, motors, joints], axis=1)
    noise = np.random.default_rng(1).normal(scale=1e-4, size=(300, 1))
    columns[:, 2:] += noise
    table = write(tmp_path / 'table.csv', ['time', 'shoulder_pan_motor', 'shoulder_pan'], columns)
    output = tmp_path / 'numbers.yaml'
    done = run('calibrate', limited, table, '--output', output)
    assert done.code == 0, done.out
    assert 'limit' not in done.out
    assert 'limit' not in output.read_text(encoding='utf-8')


def test_files_are_replaced_only_by_force(run, recording, tmp_path):
    """What is there stays byte for byte without ``--force``."""
    data = recording(rows=60)
    for option, name in (('--output', 'tuned.yaml'), ('--report', 'residuals.svg')):
        target = tmp_path / name
        target.write_bytes(b'mine')
        refused = run('calibrate', ARM, data, option, target)
        assert (refused.code, refused.out, target.read_bytes()) == (2, '', b'mine')
        assert '--force' in refused.err
        if option == '--report':
            pytest.importorskip('matplotlib')
        forced = run('calibrate', ARM, data, option, target, '--force')
        assert (forced.code, target.read_bytes() != b'mine') == (0, True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        'recording.csv', 'residuals.svg', 'tuned.yaml',
    ]  # fmt: skip


def test_a_few_poses_are_enough(run, tmp_path):
    """Exact poses give exact numbers; with one row more than unknowns there is an interval."""
    robot = described().with_parameters(TRUE)
    for rows, known in ((2, False), (6, True)):
        a = np.linspace(-100.0, 120.0, rows)
        q = a / 103.0 + 0.31
        data = write(
            tmp_path / f'{rows}.csv', ['shoulder_pan_motor', 'shoulder_pan'], np.stack([a, q], 1)
        )
        found = parameters(run('calibrate', ARM, data, '--json'), 'shoulder_pan_transmission')
        for name, true in flat(TRUE['shoulder_pan_transmission']).items():
            assert found[name]['value'] == pytest.approx(true, rel=1e-7)
            assert (found[name]['interval'] is not None) == known
    assert robot.joint_names[0] == 'shoulder_pan'


@pytest.mark.parametrize('reduction', [-101.0, 3.0, 4000.0, -0.5])
def test_a_ratio_of_another_sense_or_size_is_found_and_doubted(run, recording, reduction):
    """The description's ratio is a start, and a large change is likely a mistake."""

    def other(a, q):
        q[:, place('shoulder_pan')] = a[:, 0] / reduction + 0.4
        return a, q

    result = run('calibrate', ARM, recording(other), '--json')
    assert result.code == 1
    found = parameters(result, 'shoulder_pan_transmission')
    assert found['joints.shoulder_pan.mechanical_reduction']['value'] == pytest.approx(reduction)
    (doubt,) = result.json['transmissions'][0]['doubts']
    assert ('has the opposite sign' if reduction < 0 else 'times that of the description') in doubt


def test_numbers_can_be_kept_and_transmissions_chosen(run, recording):
    """``--fix`` keeps what a pattern names, ``--transmission`` leaves the others alone."""
    result = run(
        'calibrate', ARM, recording(), '--json',
        '--transmission', 'wrist_transmission', '--fix', 'wrist*.wrist_roll.*',
    )  # fmt: skip
    assert [t['name'] for t in result.json['transmissions']] == ['wrist_transmission']
    found = parameters(result, 'wrist_transmission')
    assert found['joints.wrist_roll.offset']['kept'] == 'fixed by --fix'
    assert found['joints.wrist_pitch.offset']['estimated']


def test_the_table_says_why_a_number_is_kept(run, recording):
    """What had no effect, as the ratio of a motor at zero, and what was fixed is told as text."""

    def at_zero(a, q):
        robot = described()
        a[:, robot.actuator_names.index('wrist_right_motor')] = 0.0
        q[:] = robot.actuator_to_joint('position', a)
        q += np.random.default_rng(7).normal(0.0, 1e-4, q.shape)
        return a, q

    arguments = (
        'calibrate', ARM, recording(at_zero),
        '--transmission', 'wrist_transmission', '--fix', '*.wrist_roll.offset',
    )  # fmt: skip
    found = parameters(run(*arguments, '--json'), 'wrist_transmission')
    expected = {
        'actuators.wrist_right_motor.mechanical_reduction': 'no effect on these positions',
        'joints.wrist_roll.offset': 'fixed by --fix',
    }
    rows = {line.split()[0]: line for line in run(*arguments).out.splitlines() if line.strip()}
    for name, reason in expected.items():
        assert found[name]['kept'] == reason
        assert rows[name].endswith(f'kept  {reason}')
    assert not found['actuators.wrist_left_motor.mechanical_reduction']['estimated']
    # A warning has this one's reason, which is long.
    assert rows['actuators.wrist_left_motor.mechanical_reduction'].endswith('kept')


def test_noise_may_be_in_the_actuators(run, recording):
    """With noisy actuators the regression the other way round fits, and the usual one does not."""

    def noisy(a, q):
        a[:, 0] += np.random.default_rng(3).normal(0.0, 10.0, len(a))
        return a, q

    data = recording(noisy, rows=1500, noise=0.0)
    options = ('--json', '--transmission', 'shoulder_pan_transmission')
    right = run('calibrate', ARM, data, *options, '--noise', 'actuator')
    found = parameters(right, options[-1])
    low, high = found['joints.shoulder_pan.mechanical_reduction']['interval']
    assert (right.code, low < 103.0 < high) == (0, True)
    assert run('calibrate', ARM, data, *options).code == 1


@pytest.mark.parametrize(
    'situation',
    ['white noise: gear', 'backlash 10 mrad', 'joint encoder of 8 to 16 bits', 'pink noise'],
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


def crank(study):
    """Return the hinged cylinder as described."""
    (binding,) = tb.RobotTransmissions(tb.load_description(study.KNEE)).bindings
    return binding


def test_dimensions_of_a_mechanism_are_found(study):
    """A hinged cylinder's base and stroke come out of the curve that its motion draws."""
    binding = crank(study)
    robot = tb.RobotTransmissions(tb.load_description(study.KNEE))
    real = robot.with_parameters({'crank': {'pivot_distance': 0.31, 'stroke_at_zero': 0.01}})
    q = 1.1 * motion(300, 1)
    a = real.transmissions['crank'].joint_to_actuator('position', q)
    pairs = Pairs(a, q, np.arange(300.0), False)
    free = ('pivot_distance', 'stroke_at_zero', 'joints.knee.offset')
    result = calibrate_transmission(binding, pairs, is_fixed=lambda name: name not in free)
    found = {parameter.name: parameter.value for parameter in result.estimated_numbers}
    assert found == pytest.approx(
        {'pivot_distance': 0.31, 'stroke_at_zero': 0.01, 'joints.knee.offset': 0.0}, abs=1e-7
    )


@pytest.mark.parametrize('noise', ['joint', 'actuator'])
@pytest.mark.parametrize('reduction', ['1e-300', '-1e150'])
def test_a_reduction_of_absurd_size_is_kept_and_costs_no_other(
    run, recording, tmp_path, reduction, noise
):
    """What overflows on the way makes no noise, and other transmissions are calibrated."""
    absurd = tmp_path / 'absurd.urdf'
    absurd.write_text(ARM.read_text(encoding='utf-8').replace('>101.0<', f'>{reduction}<'))
    options = ('--noise', noise, '--json', '--transmission')
    names = ('shoulder_pan_transmission', '--transmission', 'wrist_transmission')
    result = run('calibrate', absurd, recording(rows=120), *options, *names)
    assert result.code == 1
    assert result.err.startswith('in doubt: shoulder_pan_transmission')
    assert result.err.count('\n') == 1
    pan = parameters(result, 'shoulder_pan_transmission')
    kept = pan['joints.shoulder_pan.mechanical_reduction']
    assert (kept['estimated'], kept['value']) == (False, float(reduction))
    wrist = parameters(result, 'wrist_transmission')
    assert wrist['joints.wrist_pitch.offset']['value'] == pytest.approx(0.05, abs=1e-2)


def test_measurements_outside_the_domain_are_named_and_cost_nothing(study):
    """An actuator further out than the mechanism is has no influence on what is estimated."""
    binding = crank(study)
    q = motion(300, 1) * 0.8
    a = binding.transmission.joint_to_actuator('position', q)
    a[100:110, 0] = np.linspace(5.0, 6.0, 10)
    pairs = Pairs(a, q, np.arange(300.0), False)
    result = calibrate_transmission(binding, pairs, is_fixed=lambda name: name != 'pivot_distance')
    (found,) = result.estimated_numbers
    assert found.value == pytest.approx(0.3, abs=1e-6)
    assert result.channels[0].unpredicted.tolist() == list(range(100, 110))
    assert any(
        '10 measurements (rows 100 to 109) are outside the domain of the transmission' in sentence
        for sentence in result.warnings
    )


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('', 'no column of actuators'),
        ('time,other\n0,1\n', 'no column of actuators'),
        ('shoulder_pan_motor\n1\n', 'no column of joints'),
        ('shoulder_pan_motor,shoulder_pan\n1\n', 'row 2: expected 2 cells, found 1'),
        ('shoulder_pan_motor,shoulder_pan\n1,x\n', "expected a number, found 'x'"),
        ('shoulder_pan_motor,shoulder_pan,shoulder_pan\n1,2,3\n', 'more than one column'),
        ('shoulder_pan_motor,shoulder_pan\n1,\n', 'no positions of all actuators'),
        ('shoulder_pan_motor,shoulder_pan\n', 'no positions of all actuators'),
        ('shoulder_pan_motor,shoulder_pan\n\0,1\n', 'expected a number'),
    ],
)
def test_a_table_that_cannot_be_used_is_one_sentence(run, tmp_path, text, sentence):
    """The row and the column are named, and the exit code is 2."""
    data = tmp_path / 'data.csv'
    data.write_text(text)
    result = run('calibrate', ARM, data)
    assert (result.code, result.out) == (2, '')
    assert result.err.count('\n') == 1
    assert sentence in result.err


def test_nothing_identifiable_is_exit_code_one(run, tmp_path):
    """A recording in which the joint is stuck writes no file."""
    a = np.linspace(-100.0, 120.0, 50)
    data = write(
        tmp_path / 'stuck.csv', ['shoulder_pan_motor', 'shoulder_pan'],
        np.stack([a, np.full(50, 0.2)], 1),
    )  # fmt: skip
    output = tmp_path / 'tuned.yaml'
    result = run('calibrate', ARM, data, '--output', output)
    assert result.code == 1
    assert 'nothing is identifiable' in result.err
    assert not output.exists()
