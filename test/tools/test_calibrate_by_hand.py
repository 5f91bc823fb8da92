# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Calibration by hand: arms with hidden numbers, hands that miss stops, a terminal, a bridge."""

from __future__ import annotations

import json
import math
import os
import re
import struct
import subprocess
import sys

from hypothesis import example, given, strategies as st
from moved_arm import (
    ANKLE,
    GEARED,
    GuidedHand,
    KNEE,
    MovedArm,
    pair,
    servo,
    SERVOS,
    stops,
)
import numpy as np
import pytest
from zoo.elements import load, params, transmission, urdf

from transmission_bridge.tools.calibrate import HandScreen
from transmission_bridge.tools.calibration.guide import HandGuide
from transmission_bridge.tools.calibration.hand import (
    compute_stop_spread_factor,
    HandCalibration,
    HandJointTrack,
    StopRange,
)
from transmission_bridge.tools.calibration.numbers import fit_calibration, KnownRows
from transmission_bridge.tools.calibration.outcome import judge_calibration

#: The accepted error, and the resolution of an encoder [rad].
BOUND, TICK = math.radians(0.5), 2.0 * math.pi / 4096

#: An arm of one joint.
ONE = urdf({'arm': stops()}, servo('arm'))


@pytest.fixture(params=range(3))
def seed(request, campaign):
    """Return the seeds of chance, more of them in a campaign."""
    return request.param + 1000 * campaign


def make_arm(text, seed, **settings):
    """Return an arm of which the directions were shown and the stops are confirmed."""
    arm = MovedArm(text, np.random.default_rng(seed), **settings)
    arm.show_directions()
    arm.hand.is_confirmed = True
    return arm


def make_guide(calibration):
    """Return the steps behind the two questions: the torque is off, the limits are the stops."""
    guide = HandGuide(calibration, {})
    guide.is_safe = True
    guide.answer(is_confirmed=True)
    return guide


def judged(arm):
    """Return what is known, by transmission."""
    return {
        each.name: judge_calibration(each, is_confirmed=arm.hand.is_confirmed)
        for each in arm.hand.transmissions
    }


def check_errors(arm, outcomes):
    """Check that each joint is within the bound and the stated uncertainty."""
    for outcome in outcomes:
        for name, error in arm.compute_errors(outcome).items():
            assert error <= min(BOUND, outcome.uncertainty[name]) + TICK


def approach_all(arm, ends=(-1, 1), times=1):
    """Move each joint to its stops."""
    for each, place in arm.hand.joints:
        each.tracks[place].sides = ends
        for _ in range(times):
            for side in ends:
                arm.approach(each.tracks[place].name, side)


@pytest.mark.parametrize(
    'text', [SERVOS, GEARED, ANKLE, KNEE], ids=['servos', 'geared', 'ankle', 'knee']
)
def test_with_both_stops_nothing_is_silently_wrong(text, seed):
    """Stops missed by up to 2 degrees: a joint is within 0.5 degrees and as stated, or refused."""
    arm = make_arm(text, seed, wraps=text == SERVOS)
    known = []
    for _ in range(6):  # whoever is told that stops are too close together moves to them again
        approach_all(arm)
        known = [each for each in judged(arm).values() if not each.refusal]
        check_errors(arm, known)
    assert len(known) >= len(arm.hand.transmissions) - 1


@pytest.mark.parametrize('misses', [(0.0, 0.9), (0.9, 0.0), (0.4, 0.4)])
def test_a_ratio_that_varies_is_part_of_the_uncertainty(misses):
    """An error of the zero that hardly shows at one stop moves the joint farther elsewhere."""
    arm = make_arm(KNEE, 1, wraps=False, flips=0.0)
    for side, miss in zip((-1, 1), misses, strict=True):
        arm.approach('knee', side, math.radians(miss))
    (outcome,) = judged(arm).values()
    if not outcome.refusal:
        assert arm.compute_errors(outcome)['knee'] <= outcome.uncertainty['knee'] + 1e-4


@pytest.mark.parametrize('ends', [(1,), (-1,)])
def test_one_stop_gives_the_offset_with_its_uncertainty(ends, seed):
    """Each approach too short; the truth is within what the spread allows, in 95 %."""
    arm = make_arm(SERVOS, seed)
    approach_all(arm, ends)
    for outcome in judged(arm).values():
        assert outcome.refusal.endswith('stop once more')
    approach_all(arm, ends, times=3)
    inside = [
        error <= outcome.uncertainty[name] + TICK
        for outcome in judged(arm).values()
        for name, error in arm.compute_errors(outcome).items()
    ]
    assert sum(inside) >= len(inside) - 2


def test_the_spread_of_approaches_covers_95_percent():
    """Of misses with any largest one, each equally probable, as the docstring derives."""
    random = np.random.default_rng(5)
    for count in (2, 3, 5):
        misses = np.sort(random.uniform(0.0, random.uniform(0.01, 2.0), (20_000, count)), axis=1)
        beyond = misses[:, 0] <= compute_stop_spread_factor(count) * (misses[:, -1] - misses[:, 0])
        assert beyond.mean() == pytest.approx(0.95, abs=0.006)


@example(-math.pi, 4.95)
@given(st.floats(-7.0, 7.0), st.floats(-7.0, 7.0))
def test_an_offset_is_found_from_every_first_value(start, offset):
    """Also where the search comes by zero, at which steps of a relative size are nothing."""
    (moved,) = HandCalibration(load(ONE), {}).transmissions
    joints, path = np.array([[-1.5], [1.5]]), moved.zeros[0].path
    known = KnownRows(joints - offset, joints, np.zeros((2, 1)))
    fit = fit_calibration(moved.maps, known, [path], {path: start})
    assert fit.missing == ()
    assert fit.values[path] == pytest.approx(offset, abs=1e-9)


def test_unknown_reductions_need_both_stops_twice(seed):
    """Then reduction and offset are within their uncertainty."""
    text = urdf({'arm': stops()}, servo('arm', -100.0))
    arm = make_arm(text, seed, wraps=False, scale=0.2, is_free=True)
    approach_all(arm)
    assert 'once more' in judged(arm)['arm_drive'].refusal
    approach_all(arm, times=3)
    outcome = judged(arm)['arm_drive']
    assert arm.compute_errors(outcome)['arm'] <= outcome.uncertainty['arm'] + TICK


def test_a_pose_gives_all_offsets_at_once(seed):
    """With the arm in known positions, exactly; while it moves it is refused."""
    arm = make_arm(GEARED, seed, wraps=False)
    pose = dict.fromkeys(arm.joints, 0.1)
    arm.hand.is_confirmed = False
    arm.joints.update(pose)
    arm.send()
    assert 'hold the arm still' in arm.hand.mark_pose(pose)
    arm.rest()
    arm.hand.mark_pose(pose)
    for outcome in judged(arm).values():
        assert max(arm.compute_errors(outcome).values()) <= 2.0 * TICK
    # Another pose that contradicts is refused.
    arm.hand.mark_pose(dict.fromkeys(arm.joints, 0.2))
    for outcome in judged(arm).values():
        assert 'differ by 5.7 deg: repeat them' in outcome.refusal


def test_the_direction_comes_first():
    """Without it nothing is known; a motion that is too short is reported."""
    arm = MovedArm(SERVOS, np.random.default_rng(1))
    arm.hand.is_confirmed = True
    for outcome in judged(arm).values():
        assert outcome.refusal.endswith('towards positive first')
    moved = arm.hand.transmissions[0]
    moved.begin_move(0)
    arm.send()
    assert 'has hardly moved' in moved.end_move()


def test_exchanged_motors_are_named_and_nothing_is_known():
    """Signs alone cannot explain the motion of a differential whose motors are exchanged."""
    joints = dict.fromkeys(('pitch', 'roll'), stops())
    hand = HandCalibration(load(urdf(joints, pair('Differential', 'wrist', joints, (50, 50)))), {})
    (wrist,) = hand.transmissions
    for place, way in ((0, (50.0, 50.0)), (1, (-50.0, 50.0))):
        hand.add_reading(np.zeros(2), 0.0)
        wrist.begin_move(place)
        hand.add_reading(0.3 * np.array(way), 1.0)
        wrist.end_move()
        hand.add_reading(np.zeros(2), 2.0)
    outcome = judge_calibration(wrist)
    assert not outcome.values
    assert 'the motion fits if wrist_1 and wrist_2 are exchanged' in outcome.refusal


def test_limits_that_are_not_the_stops_are_told_in_degrees(seed):
    """The arm goes farther, or its reduction is wrong."""
    arm = make_arm(ONE, seed, miss=0.0)
    (hand,) = arm.hand.transmissions
    limits = hand.tracks[0].limits
    hand.tracks[0].limits = type(limits)(lower=limits.lower + 0.2, upper=limits.upper)
    for side in (-1, 1):
        arm.move('arm', side * 1.5)
        arm.move('arm', side * 0.5)
    refusal = judged(arm)['arm_drive'].refusal
    assert re.match(r'the stops of arm are 11\.[45] deg farther apart than its limits', refusal)


def test_a_joint_that_turned_too_far_or_jumped_starts_again(seed):
    """More than a turn is refused; a jump is reported at once, and its stops are forgotten."""
    arm = make_arm(ONE, seed)
    (hand,) = arm.hand.transmissions
    for step in range(200):
        arm.hand.add_reading(
            np.array([math.fmod(0.05 * step, 2.0 * math.pi)]), arm.time + step / 60.0
        )
        if step == 2:
            hand.trouble = ''
    assert hand.trouble == ''
    assert 'was turned by 1.' in judged(arm)['arm_drive'].refusal
    arm.hand.add_reading(np.array([2.0]), arm.time + 10.0)
    arm.hand.add_reading(np.array([4.0]), arm.time + 10.01)
    assert 'moved too fast' in hand.trouble
    assert hand.tracks[0].find_stop(1) is None
    # So does one whose readings stopped, and a direction that was begun before.
    hand.begin_move(0)
    hand.trouble = ''
    arm.hand.add_reading(np.array([4.0]), arm.time + 11.0)
    assert 'or they stopped' in hand.trouble
    hand.end_move()
    assert math.isnan(hand.measure_move(0)[0])


def test_a_type_without_zeros_of_its_actuators_is_refused():
    """Offsets of joints would be right at a few positions only."""
    table = params(actuator='0 0.5 1.2 2', joint='0 0.6 0.9 1')
    text = urdf({'jaw': stops(0.0, 1.0)}, transmission('grip', 'Tabulated', ['jaw'], ['m'], table))
    hand = HandCalibration(load(text), {})
    (grip,) = hand.transmissions
    hand.add_reading(np.array([0.5]), 0.0)
    grip.begin_move(0)
    hand.add_reading(np.array([1.0]), 1.0)
    grip.end_move()
    assert 'has no number for the zero of each actuator' in judge_calibration(grip).refusal


def test_where_a_motion_begins_or_turns_elsewhere_is_no_stop():
    """An approach turns back at the stop that is asked for, near the farthest position."""
    track = HandJointTrack('arm', StopRange(-1.5, 1.5), turns=True)

    def sweep(*positions):
        for position in positions:
            track.add_reading(position, np.array([position]))
        return [track.count_approaches(side) for side in (-1, 1)]

    # At its stop already: away from it, to it, and away again is one approach.
    track.asked = 1
    assert [sweep(1.5, 1.1, 1.5), sweep(1.1)] == [[0, 0], [0, 1]]
    track.forget()
    track.asked = None
    assert [sweep(-1.0, 1.0), sweep(0.0), sweep(1.01)] == [[0, 0], [0, 1], [0, 1]]
    track.asked = 1
    assert sweep(0.5, 1.4, 0.5, 1.4) == [0, 1]
    assert track.find_stop(1).actuators == [1.4]
    track.asked = -1
    assert [sweep(-1.0, 1.4, -1.45), sweep(1.0)] == [[0, 1], [1, 1]]


# -- steps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(('text', 'wraps', 'pose'), [
    (SERVOS, True, None), (GEARED, False, None), (GEARED, False, {}),
], ids=['servos', 'geared', 'pose'])  # fmt: skip
def test_a_hand_that_does_what_each_step_asks_writes_numbers_that_are_right(
    text, wraps, pose, seed
):
    """With stops, or with a pose; nothing is silently wrong."""
    arm = MovedArm(text, np.random.default_rng([9, seed]), wraps=wraps)
    guide = HandGuide(arm.hand, {})
    hand = GuidedHand(arm, guide)
    hand.press()
    hand.press(guide.step.primary if pose is None else guide.step.second)
    hand.run()
    assert {each.transmission for each in guide.written} == set(arm.robot.transmissions)
    check_errors(arm, guide.written)


def test_joints_that_start_at_their_stops_need_no_step_twice(seed):
    """
    As the step says, such a joint is moved back, from where its direction is shown.

    Its stop is known from the next approach, also if the direction had the other sign.
    """
    arm = MovedArm(SERVOS, np.random.default_rng([8, seed]), at_stops=1.0, miss=math.radians(0.2))
    n_stopped = sum(arm.joints[name] > 0.9 * upper for name, (_, upper) in arm.stops.items())
    guide = HandGuide(arm.hand, {})
    hand = GuidedHand(arm, guide)
    hand.press()
    hand.press()
    titles = []
    while guide.step.joint:
        titles += [guide.step.title] if guide.step.title not in titles[-1:] else []
        hand.do_step()
    assert len(titles) == len(set(titles)) == 6 * 4 - 1
    assert not any('again' in title for title in titles)
    # The two of the beginning, two for each joint but one for the last, and those at a stop.
    assert hand.presses == 2 + 2 * 6 - 1 + n_stopped
    for outcome in guide.outcomes:
        assert max(arm.compute_errors(outcome).values()) <= BOUND


def test_the_bar_shows_what_was_measured(seed):
    """From the left until a stop is known, then at that stop."""
    arm = MovedArm(ONE, np.random.default_rng(seed), flips=0.0)
    guide = make_guide(arm.hand)
    arm.move('arm', 0.0)
    arm.hand.transmissions[0].start_again()
    arm.rest()
    guide.update()
    assert guide.sweep[:2] == pytest.approx((0.0, 0.0), abs=0.01)
    assert guide.sweep.texts[::2] == ('', '')
    arm.move('arm', 0.9)
    assert guide.sweep[:3] == pytest.approx((0.0, 0.3, 0.3), abs=0.02)
    guide.press()
    guide.update()
    arm.approach('arm', 1, 0.0)
    assert guide.sweep.high == pytest.approx(1.0, abs=0.01)
    assert guide.sweep.now == pytest.approx((arm.joints['arm'] + 1.5) / 3.0, abs=0.01)
    assert guide.sweep.texts[::2] == ('-85.9 deg', '85.9 deg')


def test_measured_stops_are_inside_of_the_true_ones(seed):
    """After a pose, from three approaches to each; without a pose, or from one, there is none."""
    arm = MovedArm(ONE, np.random.default_rng([7, seed]), beyond=math.radians(5.0))
    guide = HandGuide(arm.hand, {})
    guide.wants_limits = True
    hand = GuidedHand(arm, guide)
    hand.press()
    hand.press(guide.step.second)
    while not arm.hand.transmissions[0].poses:
        hand.do_step()
    for side in (1, -1):
        arm.approach('arm', side)
    assert guide.stops == {}
    hand.run()
    (lower, upper), (least, most) = guide.stops['arm'], arm.stops['arm']
    assert least <= lower < lower + 2.0 < upper <= most
    assert guide.written


def test_a_direction_is_taken_from_one_motion_that_did_not_come_back(seed):
    """Before, and after a motion in both directions, the button cannot be pressed."""
    arm = MovedArm(ONE, np.random.default_rng(seed), flips=0.0)
    guide = make_guide(arm.hand)
    arm.move('arm', 0.0)
    arm.rest()
    guide.update()
    assert guide.step.obstacle.startswith('moved 0.0 deg of ')
    arm.move('arm', -0.6)
    assert guide.step.obstacle == ''
    arm.move('arm', 0.1)
    assert 'both ways' in guide.step.obstacle
    guide.press()
    assert not arm.hand.transmissions[0].moves
    arm.rest()
    guide.update()
    arm.move('arm', 0.5)
    guide.press()
    assert arm.hand.transmissions[0].has_directions
    assert arm.hand.transmissions[0].signs == {}
    guide.press(guide.others['s'])
    assert guide.step.title == 'Turn arm as the arrow shows'


def test_what_is_left_out_is_not_written_and_write_says_what_is_missing(seed):
    """A joint without a result blocks, unless the user leaves it out."""
    arm = make_arm(SERVOS, seed, miss=math.radians(0.2))
    guide = make_guide(arm.hand)
    approach_all(arm)
    arm.hand.transmissions[2].start_again()
    assert guide.write_obstacle == 'without a result: elbow'
    guide.press(guide.write_act)
    assert guide.troubles == ['nothing is written: without a result: elbow']
    guide.choose(2)
    guide.press(guide.others['l'])
    assert guide.step.title == 'All joints are known'
    guide.press(guide.write_act)
    # What was written stays, whatever is known afterwards; a refusal of the bridge continues.
    written = [each.values for each in guide.written]
    assert len(written) == 5
    approach_all(arm)
    assert [each.values for each in guide.written] == written
    guide.resume('the bridge is busy')
    assert guide.written is None
    assert guide.troubles == ['the bridge is busy']


def test_a_joint_without_number_or_limits_is_not_asked_for_its_stops():
    """It can be left out, or needs a pose."""
    table = params(actuator='0 0.5 1.2 2', joint='0 0.6 0.9 1')
    text = transmission('grip', 'Tabulated', ['jaw'], ['m'], table) + servo('wheel')
    hand = HandCalibration(load(urdf({'jaw': stops(0.0, 1.0), 'wheel': 'continuous'}, text)), {})
    guide = make_guide(hand)
    assert guide.step.title == 'jaw cannot be calibrated'
    guide.press()
    for time, position in ((0.0, 0.0), (1.0, 1.0)):
        hand.add_reading(np.array([0.0, position]), time)
        if not time:
            hand.joints[1][0].begin_move(0)
    guide.press()
    assert guide.step.title == 'wheel needs a pose'
    guide.press(guide.step.second)
    assert guide.step.pose == {}


@pytest.mark.parametrize(('width', 'height'), [(80, 24), (40, 10), (30, 8)])
def test_the_screen_fits_and_no_name_is_cut(width, height):
    """The title and the keys are there in each step."""
    arm = MovedArm(SERVOS, np.random.default_rng(3), miss=math.radians(0.2))
    guide = HandGuide(arm.hand, {}, lambda: '')
    screen, hand = HandScreen(guide), GuidedHand(arm, guide)
    for _ in range(12):
        for keys in ('', '?'):
            screen.handle_keys(keys)
            texts = [text for text, _ in screen.make_lines(width, height)]
            assert len(texts) <= height
            assert all(len(text) <= width for text in texts)
            words = ' '.join(texts).split()
            assert all(word in words for word in guide.step.title.split())
        screen.handle_keys('?')
        assert 'q: end' in ' '.join(' '.join(texts).split())
        hand.do_step()


def test_keys_do_what_the_buttons_do():
    """Keys n and o answer, w writes, q ends; other keys are ignored."""
    arm, obstacle = MovedArm(SERVOS, np.random.default_rng(1)), ['no positions']
    guide = HandGuide(arm.hand, {}, lambda: obstacle[0])
    screen = HandScreen(guide)
    screen.handle_keys('n')
    assert not guide.is_safe
    obstacle[0] = ''
    screen.handle_keys('o')  # without a second answer
    assert not guide.is_safe
    screen.handle_keys('xnw')
    assert guide.is_safe
    assert 'nothing is written' in guide.troubles[0]
    screen.handle_keys('o')
    assert arm.hand.is_confirmed is False
    screen.handle_keys('q')
    assert guide.written == []


# -- commands -------------------------------------------------------------------------------------


@pytest.fixture
def servo_file(save):
    """Return the path of the arm of servos."""
    return save(SERVOS, 'arm.urdf')


def test_a_file_of_lerobot_becomes_offsets(run, save, servo_file, tmp_path):
    """Those of joints that it lacks stay, which is exit code 1 if they are not left out."""
    motor = {'drive_mode': 0, 'homing_offset': 0, 'range_min': 1396, 'range_max': 2700}
    motors = {n: {'id': k, **motor} for k, n in enumerate(('pan', 'lift'))}
    path = save(json.dumps(motors), 'arm.json')
    words = ('calibrate', servo_file, '--lerobot', path, '--stops')
    result = run(*words, '--output', tmp_path / 'new.urdf')
    # Their ranges have 115 degrees, their limits 220 and 200: these are not their stops.
    assert (result.code, 'lift_drive: a guess' in result.out) == (1, True)
    assert 'elbow_drive keeps its numbers: the file has no position of it' in result.out
    guess = run(*words, '--transmission', 'pan_drive')
    assert (guess.code, 'pan_drive: a guess' in guess.out) == (0, True)


@pytest.mark.parametrize('output', [(), ('--output', 'new.YAML')])
def test_limits_are_written_into_descriptions_alone(refuse, servo_file, output):
    """A parameter file has no limits of joints."""
    refuse('--limits writes a description', 'calibrate', servo_file, '--limits', *output)


def test_a_pose_has_to_be_there(run, refuse, servo_file, monkeypatch):
    """Its joints in the robot, or its name in the SRDF, which has to be XML."""
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    refuse('known: pan, lift, elbow', 'calibrate', servo_file, '--pose', 'paan=1')
    srdf = servo_file.with_suffix('.srdf')
    srdf.write_text('<robot><group_state name="home" group="a"/></robot>')
    refuse('expected --pose with one of home', 'calibrate', servo_file, '--srdf', srdf)
    srdf.write_text('<robot>')
    assert run('calibrate', servo_file, '--srdf', srdf, '--pose', 'home').code == 1


class Terminal:
    """The command in a terminal of 80x24."""

    def __init__(self, harness, *words):
        pty, fcntl, termios = map(pytest.importorskip, ('pty', 'fcntl', 'termios'))
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'transmission_bridge', 'calibrate', *map(str, words)],
            stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, 'TERM': 'xterm'},
        )  # fmt: skip
        os.close(theirs)
        os.set_blocking(self._ours, False)
        self.text = ''
        self._present = harness.present(self)

    def read(self):
        """Return everything on the screen so far."""
        try:
            while part := os.read(self._ours, 65536):
                self.text += part.decode(errors='replace')
        except OSError:  # nothing more, or closed
            pass
        return self.text

    def press(self, keys):
        """Press keys; what was shown before is forgotten."""
        self.read()
        self.text = ''
        os.write(self._ours, keys.encode())

    def report(self):
        """Return the end of what it shows."""
        return f'--- the screen ---\n{self.read()[-2000:]}'

    def close(self):
        """End it."""
        self._present.remove(self)
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.mark.ros
def test_an_arm_beside_its_bridge_is_calibrated_and_the_bridge_keeps_it(
    harness, peer, request, save, start_process, tmp_path
):
    """A stranger that commands is an obstacle; the numbers of a pose are in bridge and file."""
    drives, tuned = servo('arm', 10.0) + servo('tool', -2.0), tmp_path / 'tuned.yaml'
    path = save(urdf(dict.fromkeys(('arm', 'tool'), stops()), drives))
    words = ['--urdf', path, '--ros-args', '-p', f'tuned_file:={tuned}', '-p', 'autostart:=true']
    start_process('transmission_bridge.ros.main bridge_node', *words).wait_for('active')
    states, stranger = (
        peer.node.create_publisher(harness.JointState, topic, harness.RELIABLE)
        for topic in ('actuator_states', 'actuator_commands')
    )
    terminal = Terminal(harness, path, '--pose', 'arm=0.2', '--store')
    request.addfinalizer(terminal.close)
    position = {'arm_motor': 1.0, 'tool_motor': 2.0}

    def shows(*words):
        """Return the first of these words that the screen shows."""

        def look():
            names, values = [*position], [*position.values()]
            states.publish(harness.JointState(name=names, position=values))
            return next((each for each in words if each in terminal.read()), '')

        return peer.spin_until(look, words)

    shows('publishes actuator_commands: end it first')
    peer.node.destroy_publisher(stranger)
    terminal.press('')
    shows('The torque is off')
    terminal.press('n')  # without effect while no state came for a second
    while shows('The torque is off', 'as the arrow shows') != 'as the arrow shows':
        terminal.press('n')
    for motor, way, name, following in (
        ('arm_motor', -3.0, 'Turn arm', 'Turn tool'),
        ('tool_motor', -1.0, 'Turn tool', 'into the pose'),
    ):
        shows(f'{name} as')
        shows('moved 0.0 deg')
        position[motor] += way
        while shows('of 6.9 deg', following) != following:
            terminal.press('n')
    terminal.press('n')
    while shows('moving', 'All joints are known') != 'All joints are known':
        terminal.press('n')
    terminal.press('w')
    # If the bridge was busy, or no state came for a second, nothing is lost.
    while shows('does not store', 'nothing is written', 'stored in') != 'stored in':
        terminal.press('w')
    terminal.process.wait(timeout=60)
    assert terminal.process.returncode == 0
    wanted = {
        # The arm moved towards positive while its motor turned back: its reduction is negative.
        'transmissions.arm_drive.joints.arm.mechanical_reduction': -10.0,
        'transmissions.arm_drive.joints.arm.offset': 0.2 - position['arm_motor'] / -10.0,
        'transmissions.tool_drive.joints.tool.offset': -position['tool_motor'] / -2.0,
    }
    assert peer.parameters(wanted) == pytest.approx(wanted)
    assert 'transmissions.arm_drive.joints.arm.offset' in tuned.read_text()
