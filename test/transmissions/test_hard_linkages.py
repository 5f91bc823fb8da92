# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linkages that are hard to solve, against closed formulas that share no code with the package."""

from functools import cache
from itertools import pairwise
import math

import numpy as np
import pytest
from zoo import linkages as zoo_linkages
from zoo.elements import load

from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, DIRECTIONS
from transmission_bridge.transmissions.domain import MapReport

#: Positions agree to this [rad or m], rates and efforts to this share.
POSITION, SHARE = 1e-8, 1e-6


def joint(name, parent, child, at=0.0, *, yaw=0.0, roll=0.0, kind='revolute', axis=(0, 0, 1)):
    """Return a joint about z by default, and its child link."""
    limit = (-0.5, 0.5) if kind == 'prismatic' else (-6.2, 6.2)
    return zoo_linkages.joint(name, parent, child, at, axis, kind, limit, (roll, 0.0, yaw))


def tip(link, at, roll=0.0):
    """Return a frame that is fixed to a link, named ``<link>_tip``."""
    return joint(f'{link}_end', link, f'{link}_tip', at, roll=roll, kind='fixed')


def hinge(one, other):
    """Return a loop that closes a pin of a planar mechanism."""
    return f'<loop type="hinge" frame1="{one}" frame2="{other}" axis="0 0 1"/>'


#: What closes a four-bar, and its angles with upright cranks.
FOUR_BAR, UPRIGHT = hinge('l2_tip', 'l3_tip'), (0.5 * math.pi, -0.5 * math.pi, 0.5 * math.pi)


def four_bar(lengths, pivot, yaws):
    """Return crank, coupler and rocker; the ends of the last two are l2_tip and l3_tip."""
    a, b, c = lengths
    return (
        joint('crank', 'base', 'l1', yaw=yaws[0])
        + joint('coupler', 'l1', 'l2', a, yaw=yaws[1])
        + tip('l2', b)
        + joint('rocker', 'base', 'l3', pivot, yaw=yaws[2])
        + tip('l3', c)
    )


def robot(body, driven, commanded, loops, **start):
    """Return the maps of a robot with one linkage."""
    motors = {f'{name}_motor': name for name in driven}
    return load(zoo_linkages.robot(body, motors, commanded, loops, zoo_linkages.starts(**start)))


def wrapped(angle):
    """Return an angle within half a turn."""
    return np.asarray((np.asarray(angle) + math.pi) % math.tau - math.pi)


def there_and_back(low, high, count):
    """Return positions from zero to both ends and back."""
    return np.concatenate([np.linspace(*ends, count) for ends in pairwise([0.0, high, low, 0.0])])


class Walk:
    """
    A walk of a mechanism with one motor through a live stream, whose answers are right.

    Each sample has velocity one and effort one. A NaN is no wrong answer. The joint that is
    commanded has the power of the motor.

    :param formula: Positions of all joints by that of the driven one; NaN beyond reach.
    :param path: Positions of the driven joint.
    :ivar rates: Velocity of each joint per velocity of the motor, by differences.
    :ivar found: Position, velocity and effort of the outputs, shape ``(n, 3, n_out)``.
    :ivar answered: Which samples are answered.
    :ivar reasons: Why numbers of a sample are NaN.
    """

    def __init__(self, robot, formula, path, driven, commanded, direction=ACTUATOR_TO_JOINT):
        self.joints, ahead, behind = (formula(path + side) for side in (0.0, 1e-6, -1e-6))
        turned = {name: wrapped(ahead[name] - behind[name]) for name in self.joints}
        self.rates = {name: each / turned[driven] for name, each in turned.items()}
        if direction == ACTUATOR_TO_JOINT:
            rows = np.ones((len(path), 3, 1))
            rows[:, 0, 0], names = path, robot.joint_names
            joints, rates = (np.stack([each[name] for name in names], axis=1)
                             for each in (self.joints, self.rates))  # fmt: skip
            effort = np.zeros_like(joints)
            effort[:, names.index(driven)] = 1.0
            column = names.index(commanded)
        else:
            place = robot.joint_names.index(commanded)
            rows = np.full((len(path), 3, len(robot.joint_names)), np.nan)
            rows[:, :, place] = 1.0
            rows[:, 0, place] = self.joints[commanded]
            joints, rates = path[:, np.newaxis], 1.0 / self.rates[commanded][:, np.newaxis]
            effort, column = np.zeros_like(joints), 0
        gain = rates[:, column]
        with np.errstate(divide='ignore'):
            effort[:, column] = 1.0 / gain
        stream, found, self.reasons = robot.stream(direction), [], []
        for each in rows:
            report = MapReport()
            found.append(stream.map_state(each, report).copy())
            self.reasons.append({reason for _, reason in report.counts})
        self.found = np.array(found)
        known = np.isfinite(self.found)
        # An answer beyond reach is wrong too: its difference is NaN.
        right = np.stack([
            np.abs(self.found[:, 0] - joints) <= POSITION,
            np.abs(self.found[:, 1] - rates) <= SHARE * np.maximum(1.0, np.abs(rates)),
            np.abs(self.found[:, 2] - effort) * np.minimum(1.0, np.abs(gain))[:, None] <= SHARE,
        ], axis=1)  # fmt: skip
        assert right[known].all()
        self.answered = known[:, 0].all(axis=1)


# -- Bennett -------------------------------------------------------------------------------------

#: Twists [rad] and shorter length [m] of a Bennett linkage.
TWISTS, SHORT = (0.6, 1.3), 0.1

#: ``tan(j1 / 2) tan(j2 / 2)``, by the twists.
BENNETT = math.sin(0.5 * sum(TWISTS)) / math.sin(0.5 * (TWISTS[1] - TWISTS[0]))


@cache
def bennett(start):
    """
    Return four revolute joints in space; the last link is welded to the first one.

    Opposite links are equal, and lengths are to each other as the sines of twists. Six equations
    for three joints have rank three in every position.
    """
    (one, other), a = TWISTS, SHORT
    b = a * math.sin(other) / math.sin(one)
    body = joint('j1', 'base', 'l1', kind='continuous')
    for k, (length, twist) in enumerate([(a, one), (b, other), (a, one)], 1):
        body += joint(f'j{k + 1}', f'l{k}', f'l{k + 1}', length, roll=twist, kind='continuous')
    body += tip('l4', b, other)
    loop = '<loop type="weld" frame1="l4_tip" frame2="base"/>'
    return robot(body, ['j1'], ['j2'], loop, j1=start)


def bennett_joints(at):
    """Return the angles of a Bennett linkage; opposite ones add up to a turn."""
    second = 2.0 * np.arctan2(BENNETT * np.cos(0.5 * at), np.sin(0.5 * at))
    return {'j1': at, 'j2': second, 'j3': -at, 'j4': -second}


@pytest.mark.parametrize('direction', DIRECTIONS)
@pytest.mark.parametrize('start', [0.3, 1.0, 2.0])
def test_a_bennett_linkage_is_answered_on_the_side_of_its_start(start, direction):
    """It is regular everywhere; beyond where the solved rows are dependent nothing is known."""
    # Half a turn to both sides of a start is the range, and 0.1 to its ends is left.
    within = math.pi - 0.1
    # At zero the linkage is regular, three of its equations are not.
    near = np.outer(10.0 ** -np.arange(2.0, 12.0), [1.0, -1.0]).ravel()
    path = [there_and_back(start - within, start + within, 240), near, np.zeros(2)]
    walk = Walk(bennett(start), bennett_joints, np.concatenate(path), 'j1', 'j2', direction)
    assert walk.answered.mean() > 0.35


# -- parallelogram -------------------------------------------------------------------------------


#: The change point: all links are in one line, and two motions are possible.
CHANGE = 0.5 * math.pi


def parallelogram():
    """Return a parallelogram with upright cranks of 0.1 m at zero."""
    body = four_bar((0.1, 0.3, 0.1), 0.3, UPRIGHT)
    return robot(body, ['crank'], ['rocker'], FOUR_BAR, rocker=0.0)


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_parallelogram_is_right_near_its_change_points(direction):
    """Between them all is answered; beyond them nothing is answered of the other assembly."""
    robot = parallelogram()

    def joints(at):
        return {'crank': at, 'coupler': -at, 'rocker': at}

    def walk(path):
        return Walk(robot, joints, path, 'crank', 'rocker', direction)

    ways = [there_and_back(1e-4 - CHANGE, CHANGE - 1e-4, 150), there_and_back(-2.4, 2.4, 201)]
    path = np.concatenate(ways)
    assert np.isfinite(walk(path).found[np.abs(path) <= CHANGE - 0.99e-4]).all()
    # However near, a rate is right or unknown.
    for distance in 10.0 ** -np.arange(1.0, 16.0, 2.0):
        walk(np.array([CHANGE - distance]))
        walk(np.linspace(0.0, CHANGE - distance, 80))
    # There two motions are possible, and no number is right; the position may be known.
    for end in (CHANGE, -CHANGE):
        for path in (np.array([end]), np.linspace(0.0, end, 80)):
            there = walk(path)
            found = there.found[-1, 1:]
            if direction == ACTUATOR_TO_JOINT:
                found = np.delete(found, robot.joint_names.index('crank'), axis=1)
            assert np.isnan(found).all()
            assert there.reasons[-1] & {'singular', 'no_convergence', 'domain'}


# -- six-bars ------------------------------------------------------------------------------------


def meeting(one, r, other, s):
    """Return where circles about two points meet, to the left of the way to the other one."""
    apart = other - one
    along = (np.abs(apart) ** 2 + r * r - s * s) / (2.0 * np.abs(apart))
    with np.errstate(invalid='ignore'):
        aside = np.sqrt(r * r - along**2)
    return one + apart / np.abs(apart) * (along + 1j * aside)


#: Lengths [m]: crank, coupler, rocker; arm of the rocker and its angle, rod and output.
WATT = (0.05, 0.2, 0.1, 0.1, 0.7, 0.2, 0.1)
WATT_PIVOTS = (0.2, 0.4 + 0.05j)
WATT_HOME = np.array([1.0])


def watt_angles(crank):
    """Return the joints of Watt's six-bar: a crank and rocker, and a four-bar behind it."""
    a, b, c, d, bend, e, f = WATT
    pin = a * np.exp(1j * crank)
    far = meeting(pin, b, WATT_PIVOTS[0], c)
    coupler, rocker = np.angle(far - pin), np.angle(far - WATT_PIVOTS[0])
    arm = WATT_PIVOTS[0] + d * np.exp(1j * (rocker + bend))
    end = meeting(arm, e, WATT_PIVOTS[1], f)
    return {
        'crank': crank,
        'coupler': coupler - crank,
        'rocker': rocker,
        'rod': np.angle(end - arm) - rocker,
        'output': np.angle(end - WATT_PIVOTS[1]),
    }


def watt_joints(motor):
    """Return the joints; all are zero if the motor is at zero."""
    home, found = watt_angles(WATT_HOME), watt_angles(WATT_HOME + motor)
    return {name: wrapped(found[name] - home[name]) for name in found} | {'crank': motor}


def watt():
    """Return Watt's six-bar; its crank moves the output."""
    home = {name: float(angle[0]) for name, angle in watt_angles(WATT_HOME).items()}
    *bars, d, bend, e, f = WATT
    body = (
        four_bar(bars, WATT_PIVOTS[0], [*home.values()])
        + joint('rod', 'l3', 'l4', d * np.exp(1j * bend), yaw=home['rod'])
        + tip('l4', e)
        + joint('output', 'base', 'l5', WATT_PIVOTS[1], yaw=home['output'])
        + tip('l5', f)
    )
    loops = FOUR_BAR + hinge('l4_tip', 'l5_tip')
    starts = dict.fromkeys(('coupler', 'rocker', 'rod', 'output'), 0.0)
    return robot(body, ['crank'], ['output'], loops, **starts)


def test_no_answer_of_a_six_bar_is_wrong():
    """Out of reach nothing is answered; behind it the assembly of the start, all that is asked."""
    # A walk to both ends of the crank: out of reach, and beyond the output's end.
    random = np.random.default_rng(3)
    steps = np.cumsum(random.choice([-0.02, 0.02], 400))
    path = np.concatenate([there_and_back(-2.9, 2.9, 300), steps, there_and_back(-2.9, 2.9, 60)])
    # It comes back elsewhere after an absence.
    for absent in (10, 1000):
        back = [np.linspace(0.0, random.uniform(-0.6, 0.6), 40)[::-1] for _ in range(2)]
        path = np.concatenate([path, *back, np.linspace(0.0, 2.9, 200), np.full(absent, 2.9)])
    path = np.concatenate([path, *back])
    assert watt().findings == ()
    walk = Walk(watt(), watt_joints, path, 'crank', 'output')
    reachable = np.isfinite(np.stack(list(walk.joints.values()))).all(axis=0)
    assert not walk.answered[~reachable].any()
    # The walk has all that it is meant for.
    rates = walk.rates['output']
    assert (rates[reachable] > 0.05).any()
    assert (rates[reachable] < -0.05).any()
    assert (~reachable).sum() > 100
    # Where the commanded joint has turned back, a command would be that of another position.
    steep = np.max([np.abs(rate) for rate in walk.rates.values()], axis=0) > 30.0
    has_turned = rates * rates[0] < 0.05 * rates[0] ** 2
    assert walk.answered[reachable & ~steep & ~has_turned].all()
    assert not walk.answered[rates * rates[0] < 0.0].any()


# -- starts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(('start', 'is_met'), [
    ({'rocker': -0.3}, True),
    ({'rocker': 2.5}, True),
    ({'coupler': -1.1}, True),
    # Of both assemblies the nearer one is 1.4 rad away.
    ({'rocker': 1.1}, False),
    # Each is of another assembly.
    ({'rocker': 2.5, 'coupler': 0.17}, False),
])  # fmt: skip
def test_a_start_chooses_the_assembly(start, is_met):
    """
    It may be off by a tenth of a radian; where no assembly has it, an error names the joint.

    The rocker of this four-bar is at -0.314 and the coupler at 0.171, or at 2.528 and -1.099.
    """
    body = four_bar((0.1, 0.25, 0.15), 0.2, UPRIGHT)
    body = body.replace('lower="-6.2" upper="6.2"', 'lower="-0.5" upper="0.5"', 1)
    found = robot(body, ['crank'], ['rocker'], FOUR_BAR, **start)
    errors = [str(each) for each in found.findings]
    assert is_met == (not errors)
    if is_met:
        first = found.actuator_to_joint('position', [0.0])
        for name, position in start.items():
            assert abs(first[found.joint_names.index(name)] - position) < 0.1
        return
    said = [f"no assembly has joint '{name}' near its <start>" for name in start]
    assert any(each in error for each in said for error in errors)
    assert any('in the nearest assembly found' in error for error in errors)
