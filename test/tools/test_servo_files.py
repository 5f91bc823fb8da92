# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The calibration files of LeRobot and of ORCA's hand, read as known positions, and written."""

from __future__ import annotations

from dataclasses import replace
import json
import math
from pathlib import Path
import re

from hypothesis import given, strategies as st
import numpy as np
import pytest
from zoo.elements import CLAW, load, maps, params, ratio, transmission, urdf

from transmission_bridge.tools.calibration.servo_files import (
    judge_sweep,
    list_lerobot_rows,
    list_orca_rows,
    OrcaRange,
    read_lerobot,
    read_orca,
    ServoRange,
    write_lerobot,
    write_orca,
)
from transmission_bridge.tools.cli import UsageError

yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')

ARM = Path(__file__).parents[2] / 'examples' / 'servo_arm' / 'servo_arm.urdf'
TICK = math.pi / 2048

#: An SO-101: the elbow passed from 4095 to 0 while it was swept, and the roll was not swept.
RANGES = {
    'shoulder_pan': (1024, 3072),
    'shoulder_lift': (910, 3186),
    'elbow_flex': (20, 4080),
    'wrist_flex': (967, 3129),
    'wrist_roll': (0, 4095),
    'gripper': (1422, 2674),
}


def document(**ranges):
    """Return a file, with another homing offset for each motor."""
    fields = 'id', 'drive_mode', 'homing_offset', 'range_min', 'range_max'
    return {
        name: dict(zip(fields, (number, 0, 100 * number - 350, *each), strict=True))
        for number, (name, each) in enumerate(ranges.items(), 1)
    }


def encode(value):
    """Return a value as JSON."""
    return json.dumps(value).encode()


@pytest.fixture(scope='module')
def arm():
    """Return the maps of examples/servo_arm."""
    return load(ARM.read_text(encoding='utf-8'))


def one(inside='', limit='lower="-1" upper="1"', motor='', **more):
    """Return the maps of one joint ``q`` with its motor ``m``."""
    text = f'revolute {limit} velocity="1" effort="1"' if limit else 'continuous'
    return maps({'q': text}, transmission('t', 'Simple', {'q': inside}, {'m': motor}), **more)


# -- LeRobot, read -------------------------------------------------------------------------------


def test_a_file_is_kept_as_read():
    """All five numbers of each motor, also negative ones; other fields are left."""
    data = encode({'a': {**document(a=(5, 9))['a'], 'drive_mode': 1, 'more': None}})
    assert read_lerobot(data, 'arm.json') == {'a': ServoRange(1, 1, -250, 5, 9)}


@pytest.mark.parametrize(('data', 'words'), [
    (b'{', "'arm.json': expected JSON, found an error"),
    (b'[' * 100_000, "'arm.json': expected JSON"),
    (b'[1]', "'arm.json': expected a calibration file of LeRobot, motors by name, found [1]"),
    (b'{"a": 3}', "'arm.json', motor 'a': expected the fields id, drive_mode, homing_offset"),
    (b'{"a": {"id": 1}}', "range_min, range_max, found {'id': 1}"),
    *((encode({'a': {**document(a=(5, 9))['a'], field: value}}), f"'arm.json', motor 'a'{words}")
      for field, value, words in (
        ('id', '1', ", id: expected a whole number of 32 bits, found '1'"),
        ('id', 2**31, ', id: expected a whole number of 32 bits, found 2147483648'),
        ('homing_offset', 0.5, ', homing_offset: expected a whole number of 32 bits, found 0.5'),
        ('range_min', 9, ': expected range_min below the range_max 9, found 9'),
    )),
])  # fmt: skip
def test_a_file_of_another_kind(data, words):
    """The error names the file, the motor, what is expected and what was found."""
    with pytest.raises(UsageError, match=re.escape(words)):
        read_lerobot(data, 'arm.json')


@pytest.mark.parametrize(('low', 'high', 'turn', 'expected'), [
    (0, 4095, 4096, 'unswept'),
    (0, 4094, 4096, 'wrapped'),
    (40, 3850, 4096, 'wrapped'),
    (40, 3849, 4096, 'swept'),
    (227, 3868, 4096, 'swept'),  # the widest joint of an SO-101, -2.744 to 2.841 rad
    (0, 1023, 1024, 'unswept'),
    (0, 4095, 8192, 'swept'),
])  # fmt: skip
def test_which_ranges_are_stops(low, high, turn, expected):
    """A whole turn of the servo was not swept, and 0.93 turns or more went through the wrap."""
    assert judge_sweep(ServoRange(1, 0, 0, low, high), turn) == expected


def test_two_stops_of_each_joint_that_was_swept(arm):
    """The reversed shoulder is at its upper limit at range_min; two joints have a reason."""
    ranges = read_lerobot(encode(document(**RANGES)), 'arm.json')
    rows, notes = list_lerobot_rows(arm, ranges, is_confirmed=True, is_free=True)
    expected = {
        'shoulder_pan': ([math.pi / 2, 1.5 * math.pi], [-1.92, 1.92]),
        'shoulder_lift': ([3186 * TICK, 910 * TICK], [-1.745, 1.745]),
        'wrist_flex': ([967 * TICK, 3129 * TICK], [-1.658, 1.658]),
        'gripper': ([1422 * TICK, 2674 * TICK], [-0.175, 1.745]),
    }
    assert [*rows] == [f'{name}_transmission' for name in expected]
    for known, (actuators, joints) in zip(rows.values(), expected.values(), strict=True):
        np.testing.assert_allclose(known.actuators[:, 0], actuators, rtol=0.0, atol=1e-9)
        np.testing.assert_array_equal(known.joints[:, 0], joints)
        np.testing.assert_allclose(known.slack[:, 0], 0.01 * (joints[1] - joints[0]))
    elbow, roll, signs = notes
    assert 'no signs of reductions' in signs
    assert elbow.startswith("'elbow_flex' is not known from its range: its range is nearly a turn")
    assert roll.startswith("'wrist_roll' is not known from its range: it was not swept")


@pytest.mark.parametrize(('motor', 'scale', 'turn'), [
    ('', math.tau / 4096, 4096),
    (params(position_unit='deg'), math.tau / 4096, 4096),
    (params(position_unit='tick', ticks_per_turn=1000), math.tau / 1000, 1000),
])  # fmt: skip
def test_ticks_are_those_of_the_driver_or_of_lerobot(motor, scale, turn):
    """A driver in ticks says how many are a turn; degrees say nothing of ticks."""
    ranges = {'m': ServoRange(1, 0, 0, 100, 500)}
    rows, _ = list_lerobot_rows(one(motor=motor), ranges, is_confirmed=True, is_free=True)
    np.testing.assert_allclose(rows['t'].actuators[:, 0], [100 * scale, 500 * scale])
    whole = json.loads(write_lerobot(one(motor=motor, limit=''), ranges))
    assert whole['m']['range_max'] == turn - 1


def test_motors_that_the_robot_does_not_have_once(arm):
    """A name of neither side is a sentence; two names of one motor are an error."""
    ranges = {'sholder_pan': ServoRange(1, 0, 0, 100, 500)}
    rows, (note,) = list_lerobot_rows(arm, ranges, is_confirmed=True)
    assert not rows
    assert "'sholder_pan' is not used" in note
    assert 'shoulder_pan' in note
    twice = dict.fromkeys(('gripper', 'gripper_servo'), ServoRange(1, 0, 0, 100, 500))
    with pytest.raises(UsageError, match="'gripper' and 'gripper_servo' are one transmission"):
        list_lerobot_rows(arm, twice, is_confirmed=True)


LIMITED = 'revolute lower="-1" upper="1" velocity="1" effort="1"'
TABLE = transmission('t', 'Tabulated', ['q'], ['m'], params(actuator='0 1 4', joint='-1 0 1'))
VARYING = maps({'q': LIMITED}, TABLE)


@pytest.mark.parametrize(('robot', 'name', 'is_confirmed', 'words'), [
    (one(limit=''), 'q', True, "joint 'q': expected a lower and a higher limit"),
    (maps({'j0': LIMITED, 'j1': LIMITED}, CLAW), 'm0', True, "'m0' is not used"),
    (maps({'q': LIMITED}), 'q', True, "'q' is not used"),
    (VARYING, 'q', False, 'and its ratio varies'),
    (VARYING, 'q', True, 'and its ratio varies'),
])  # fmt: skip
def test_joints_that_are_not_known(robot, name, is_confirmed, words):
    """Two joints, no limits, no transmission; a varying ratio has known stops, but no middle."""
    ranges = {name: ServoRange(1, 0, 0, 100, 500)}
    rows, (note,) = list_lerobot_rows(robot, ranges, is_confirmed=is_confirmed)
    assert not rows
    assert words in note
    if robot is VARYING:
        ranges = {name: ServoRange(1, 0, 0, 100, 100 + round(4.0 / TICK))}
        rows, _ = list_lerobot_rows(robot, ranges, is_confirmed=True)
        np.testing.assert_allclose(np.ptp(rows['t'].actuators), 4.0, atol=TICK)


# -- LeRobot, written ----------------------------------------------------------------------------


@pytest.mark.parametrize(('number', 'offset'), [(2, -1.5), (-2, 1.5)])
def test_ranges_of_the_description(number, offset):
    """The motor is at 1 and 5 rad with the joint at -1 and 1, in either order."""
    robot = one(ratio(number, offset), motor=params(id=7))
    expected = {'q': {'id': 7, 'drive_mode': 0, 'homing_offset': 0, 'range_min': 652}}
    expected['q']['range_max'] = 3259
    assert write_lerobot(robot) == (json.dumps(expected, indent=4) + '\n').encode()


def test_a_previous_file_keeps_its_motors():
    """Names, ids, drive modes and homing offsets; its ranges are replaced."""
    previous = {'m': ServoRange(9, 1, -77, 3, 8)}
    written = write_lerobot(one(ratio(2, -1.5), motor=params(id=7)), previous=previous)
    assert read_lerobot(written, 'new') == {'m': ServoRange(9, 1, -77, 652, 3259)}


@given(st.floats(0.2, 1.5), st.booleans(), st.floats(1.6, 2.4), st.floats(-1.0, 0.9))
def test_what_is_written_is_read_again(number, is_reversed, middle, lower):
    """Each stop is within half a tick of its limit, for any reduction and offset."""
    signed = -number if is_reversed else number
    robot = one(ratio(signed, -middle / signed), f'lower="{lower}" upper="1"', params(id=1))
    written = read_lerobot(write_lerobot(robot), 'new')
    rows, _ = list_lerobot_rows(robot, written, is_confirmed=True)
    mapped = robot.actuator_to_joint('position', rows['t'].actuators)
    np.testing.assert_allclose(mapped, rows['t'].joints, atol=0.5001 * TICK / number)


IDS = '<joint name="q"><param name="id">3</param></joint>'


def test_where_an_id_stands():
    """In the actuator, in the joint of the transmission, or in the joint of the block."""
    plain = urdf({'q': LIMITED}, transmission('t', 'Simple', {'q': ratio(2, -1.5)}, {'m': ''}))
    robots = [
        one(ratio(2, -1.5), motor=params(id=3)),
        load(plain.replace('role="joint1">', 'role="joint1"><param name="id">3</param>')),
        load(plain.replace('<joint name="q"/>', IDS)),
    ]
    assert [read_lerobot(write_lerobot(each), '')['q'].id for each in robots] == [3, 3, 3]


ONE_ID = ''.join(transmission(n, 'Simple', [n], {f'm{n}': params(id=4)}) for n in 'pq')


@pytest.mark.parametrize(('robot', 'names', 'words'), [
    (one(motor=params(id=1)), (), 'at two readings in 0 to 4095, because LeRobot counts no'),
    (one(ratio(0.0001, -1.5)), 'q', 'found 0 and 0'),
    (one(ratio(2, -1.5)), (), '\'q\': expected <param name="id"> in its actuator or joint'),
    (one(limit='upper="1"'), 'q', "'q': expected a lower and a higher limit of its position"),
    (maps(['q']), (), 'expected transmissions, found none'),
    (maps(['j0', 'j1'], CLAW), (), "'j0' is not used"),
    (maps(['p', 'q'], ONE_ID), (), "'q': expected an id of its own, found 4"),
])  # fmt: skip
def test_what_cannot_be_written(robot, names, words):
    """The error names the motor; LeRobot would move both motors with one id."""
    previous = {name: ServoRange(1, 0, 0, 0, 1) for name in names}
    with pytest.raises(UsageError, match=re.escape(words)):
        write_lerobot(robot, previous=previous)


# -- ORCA ----------------------------------------------------------------------------------------

CONFIG = b"""
joint_to_motor_map: {index: 4, ring: -7, wrist: 1}
joint_roms: {index: [-30, 25.5], ring: [-25, 100], wrist: [-65, 35]}
port: auto
"""
CALIBRATION = b"""
motor_limits: {4: [-1.0, 1.0], 7: [0.5, 3.0], 1: [null, null]}
joint_to_motor_ratios: {4: 0.036, 7: 0.02}
joint_encoder_calibration: {ring: {enc_at_anchor_count: 5}}
"""
ROMS = {'index': (-30, 25.5), 'ring': (-25, 100), 'wrist': (-65, 35)}
NUMBERS = {'index': (1.5, 0.1), 'ring': (-1.2, -0.3), 'wrist': (0.8, 0.0)}


def hand(**numbers):
    """Return the maps of a hand: reduction and offset of each joint."""
    text = [
        transmission(f't_{name}', 'Simple', {name: ratio(*each)}, [f'm_{name}'])
        for name, each in numbers.items()
    ]
    return maps([*numbers], ''.join(text))


def test_a_hand_is_kept_as_read():
    """The sign in the map is the direction; a motor without limits was not calibrated."""
    assert read_orca(CONFIG, CALIBRATION) == {
        'index': OrcaRange(4, False, (-30.0, 25.5), (-1.0, 1.0), 0.036),
        'ring': OrcaRange(7, True, (-25.0, 100.0), (0.5, 3.0), 0.02),
        'wrist': OrcaRange(1, False, (-65.0, 35.0), None, 0.0),
    }
    assert {each.limits for each in read_orca(CONFIG, b'').values()} == {None}


def test_two_stops_of_each_joint_of_a_hand():
    """In radians, exchanged for an inverted motor."""
    ranges = read_orca(CONFIG, CALIBRATION)
    rows, notes = list_orca_rows(hand(**NUMBERS), ranges)
    assert notes == ["'wrist' is not known from its range: its motor 1 has no limits yet"]
    for name, actuators, joints in (
        ('t_index', [-1.0, 1.0], [-math.pi / 6, 25.5 * math.pi / 180]),
        ('t_ring', [3.0, 0.5], [-25 * math.pi / 180, 100 * math.pi / 180]),
    ):
        np.testing.assert_array_equal(rows[name].actuators[:, 0], actuators)
        np.testing.assert_allclose(rows[name].joints[:, 0], joints, rtol=0.0, atol=1e-9)
    other = {name: replace(each, ratio=0.5) for name, each in ranges.items()}
    _, (note, *_) = list_orca_rows(hand(**NUMBERS), other)
    assert 'its motor 4 moves by 2 rad between its motor_limits, and by 27.75 rad' in note


def test_a_hand_moves_as_described():
    """With ORCA's own map, which is written here by hand, each joint is where ours has it."""
    robot, shares = hand(**NUMBERS), np.linspace(0.0, 1.0, 11)
    for name, found in read_orca(CONFIG, write_orca(robot, CONFIG, CALIBRATION)).items():
        (low, high), (first, _) = ROMS[name], found.limits
        degrees = low + shares * (high - low)
        way = high - degrees if found.is_inverted else degrees - low
        theirs = first + way * found.ratio
        number, offset = NUMBERS[name]
        np.testing.assert_allclose(theirs, number * (degrees * math.pi / 180 - offset), atol=1e-9)


def test_a_previous_calibration_keeps_its_other_keys():
    """Anchors of encoders stay; the hand counts as calibrated, with its wrist if it has one."""
    written = write_orca(hand(**NUMBERS), CONFIG, CALIBRATION)
    before, after = map(yaml.safe_load, (CALIBRATION, written))
    assert after['joint_encoder_calibration'] == before['joint_encoder_calibration']
    assert (after['calibrated'], after['wrist_calibrated']) == (True, True)
    config = CONFIG.replace(b', wrist: 1}', b'}')
    assert 'wrist_calibrated' not in yaml.safe_load(write_orca(hand(**NUMBERS), config))


@pytest.mark.parametrize(('old', 'new', 'words'), [
    (b'index: 4', b'index: 0', 'expected a whole number, not 0, found 0'),
    (b'index: 4', b'index: 7', "joint 'ring', joint_to_motor_map: expected a motor of its own"),
    (b'index: [-30, 25.5], ', b'', 'joint_roms: expected two numbers, found None'),
    (b'-30, 25.5', b'-30', 'expected two numbers, found [-30]'),
    (b'-30, 25.5', b'30, 25.5', 'expected the lower number first, found [30, 25.5]'),
    (b'-1.0, 1.0', b'-1.0, .nan', "'calibration.yaml', motor 4, motor_limits: expected a num"),
    (b'{index: 4, ring: -7, wrist: 1}', b'', 'expected joints in joint_to_motor_map'),
    (b'{index: 4, ring: -7, wrist: 1}', b'[4]', 'joint_to_motor_map: expected keys and values'),
    (CONFIG, b'- 1', "'config.yaml': expected keys and values, found [1]"),
    (CALIBRATION, b'\xff', "'calibration.yaml': expected YAML, found: "),
    (CALIBRATION, b'a: &a [1]\nb: *a', 'found: 1 aliases, at most 0 are read'),
])  # fmt: skip
def test_files_of_a_hand_with_an_error(old, new, words):
    """The error names the file, the joint or the motor, and the key."""
    with pytest.raises(UsageError) as raised:
        read_orca(CONFIG.replace(old, new), CALIBRATION.replace(old, new))
    assert words in str(raised.value)
    assert '\n' not in str(raised.value)


@pytest.mark.parametrize(('robot', 'config', 'words'), [
    (hand(**NUMBERS | {'index': (-1.5, 0.1)}), CONFIG,
     "expected the sign of its reduction in 't_index', found 4"),
    (hand(**NUMBERS | {'ring': (1.2, 0.0)}), CONFIG,
     "expected the sign of its reduction in 't_ring', found -7"),
    (hand(index=(1.5, 0.1), ring=(-1.2, -0.3)), CONFIG, "'wrist' is not used"),
    (VARYING, b'{joint_to_motor_map: {q: 1}, joint_roms: {q: [-20, 20]}}',
     "joint 'q': expected a constant ratio"),
])  # fmt: skip
def test_hands_that_cannot_be_written(robot, config, words):
    """Signs are those of the reductions, each joint is described, and its ratio is constant."""
    with pytest.raises(UsageError, match=re.escape(words)):
        write_orca(robot, config)


# -- export --------------------------------------------------------------------------------------


def test_export_writes_numbers_of_a_parameter_file_for_lerobot(export, tmp_path):
    """The tuned offset, not the described one."""
    text = urdf({'q': LIMITED}, transmission('t', 'Simple', {'q': ratio(2)}, {'m': params(id=1)}))
    tuned = '/**: {ros__parameters: {transmissions.t.joints.q.offset: -1.5}}'
    assert export(text.encode(), tuned, '--lerobot', tmp_path / 'arm.json').code == 0
    found = read_lerobot((tmp_path / 'arm.json').read_bytes(), '')
    assert found == {'q': ServoRange(1, 0, 0, 652, 3259)}


def test_export_writes_for_a_hand(run, save, refuse, tmp_path):
    """The configuration of the hand is beside the file."""
    robot = save(urdf(['q'], transmission('t', 'Simple', {'q': ratio(2)}, ['m'])))
    target = tmp_path / 'calibration.yaml'
    refuse("config.yaml': No such file", 'export', robot, '--orca', target)
    config = save('{joint_to_motor_map: {q: 1}, joint_roms: {q: [0, 90]}}', 'config.yaml')
    assert run('export', robot, '--orca', target).code == 0
    written = read_orca(config.read_bytes(), target.read_bytes())
    assert written['q'].limits == pytest.approx((0.0, math.pi), abs=1e-9)


def test_export_needs_one_thing_to_write(refuse, save, tmp_path):
    """The description, or one of the files, of a robot without a rejected transmission."""
    robot = save(urdf(['q'], transmission('t', 'Simple', {'q': ratio(0)}, ['m'])))
    refuse('expected --params-file YAML, --lerobot FILE or --orca FILE', 'export', robot)
    two = ('--lerobot', tmp_path / 'a.json', '--output', tmp_path / 'new.urdf')
    refuse('expected one of --output, --lerobot and --orca', 'export', robot, *two)
    refuse("'t' is rejected: see", 'export', robot, '--lerobot', tmp_path / 'a.json')
