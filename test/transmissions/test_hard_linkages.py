# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linkages that are hard to solve, against closed formulas that share no code with the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
import math

import numpy as np
import numpy.typing as npt
import pytest
from zoo import linkages as zoo_linkages
from zoo.elements import load

from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, Direction, DIRECTIONS
from transmission_bridge.transmissions.report import MapReport

Array = npt.NDArray[np.float64]

#: Positions agree to this [rad or m], rates and efforts to this share.
POSITION, SHARE = 1e-8, 1e-6


def joint(name, parent, child, at=0.0, *, yaw=0.0, roll=0.0, kind='revolute', axis=(0, 0, 1)):
    """Return a joint about z by default, and its child link."""
    limit = (-0.5, 0.5) if kind == 'prismatic' else (-6.2, 6.2)
    return zoo_linkages.joint(name, parent, child, at, axis, kind, limit, (roll, 0.0, yaw))


def tip(link: str, at: complex, roll: float = 0.0) -> str:
    """Return a frame that is fixed to a link, named ``<link>_tip``."""
    return joint(f'{link}_end', link, f'{link}_tip', at, roll=roll, kind='fixed')


def hinge(one: str, other: str) -> str:
    """Return a loop that closes a pin of a planar mechanism."""
    return f'<loop type="hinge" frame1="{one}" frame2="{other}" axis="0 0 1"/>'


def robot(
    body: str, driven: Sequence[str], commanded: Sequence[str], loops: str, **start: float
) -> RobotTransmissions:
    """Return the maps of a robot with one linkage."""
    motors = {f'{name}_motor': name for name in driven}
    text = zoo_linkages.robot(body, motors, commanded, loops, zoo_linkages.starts(**start))
    return load(text)


def wrapped(angle: Array | float) -> Array:
    """Return an angle within half a turn."""
    return np.asarray((np.asarray(angle) + math.pi) % math.tau - math.pi)


def there_and_back(low: float, high: float, count: int) -> Array:
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

    def __init__(
        self,
        robot: RobotTransmissions,
        formula: Callable[[Array], dict[str, Array]],
        path: Array,
        driven: str,
        commanded: str,
        direction: Direction = ACTUATOR_TO_JOINT,
    ) -> None:
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
def bennett(start: float) -> RobotTransmissions:
    """
    Return four revolute joints in space; the last link is welded to the first one.

    Opposite links are equal, and lengths are to each other as the sines of twists. Six equations
    for three joints have rank three in every position.
    """
    (one, other), a = TWISTS, SHORT
    b = a * math.sin(other) / math.sin(one)
    body = (
        joint('j1', 'base', 'l1', kind='continuous')
        + joint('j2', 'l1', 'l2', a, roll=one, kind='continuous')
        + joint('j3', 'l2', 'l3', b, roll=other, kind='continuous')
        + joint('j4', 'l3', 'l4', a, roll=one, kind='continuous')
        + tip('l4', b, other)
    )
    loop = '<loop type="weld" frame1="l4_tip" frame2="base"/>'
    return robot(body, ['j1'], ['j2'], loop, j1=start)


def bennett_joints(at: Array) -> dict[str, Array]:
    """Return the angles of a Bennett linkage; opposite ones add up to a turn."""
    second = 2.0 * np.arctan2(BENNETT * np.cos(0.5 * at), np.sin(0.5 * at))
    return {'j1': at, 'j2': second, 'j3': -at, 'j4': -second}


@pytest.mark.parametrize('direction', DIRECTIONS)
@pytest.mark.parametrize('start', [0.3, 1.0, 2.0])
def test_a_bennett_linkage_is_answered_on_the_side_of_its_start(
    start: float, direction: Direction
) -> None:
    """It is regular everywhere; beyond where the solved rows are dependent nothing is known."""
    # Half a turn to both sides of a start is the range, and 0.1 to its ends is left.
    within = math.pi - 0.1
    # At zero the linkage is regular, three of its equations are not.
    near = np.outer(10.0 ** -np.arange(2.0, 12.0), [1.0, -1.0]).ravel()
    path = [there_and_back(start - within, start + within, 240), near, np.zeros(2)]
    walk = Walk(bennett(start), bennett_joints, np.concatenate(path), 'j1', 'j2', direction)
    assert walk.answered.mean() > 0.35


# -- parallelogram -------------------------------------------------------------------------------


@cache
def parallelogram() -> RobotTransmissions:
    """Return a parallelogram with upright cranks of 0.1 m at zero."""
    body = (
        joint('crank', 'base', 'c', yaw=0.5 * math.pi)
        + joint('coupler', 'c', 'k', 0.1, yaw=-0.5 * math.pi)
        + tip('k', 0.3)
        + joint('rocker', 'base', 'r', 0.3, yaw=0.5 * math.pi)
        + tip('r', 0.1)
    )
    return robot(body, ['crank'], ['rocker'], hinge('k_tip', 'r_tip'), rocker=0.0)


def parallelogram_walk(path: Array, direction: Direction) -> Walk:
    """Return a walk of the parallelogram."""

    def formula(at: Array) -> dict[str, Array]:
        return {'crank': at, 'coupler': -at, 'rocker': at}

    return Walk(parallelogram(), formula, path, 'crank', 'rocker', direction)


#: The change point: all links are in one line, and two motions are possible.
CHANGE = 0.5 * math.pi


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_parallelogram_is_right_near_its_change_points(direction: Direction) -> None:
    """Between them all is answered; beyond them nothing is answered of the other assembly."""
    ways = [there_and_back(1e-4 - CHANGE, CHANGE - 1e-4, 150), there_and_back(-2.4, 2.4, 201)]
    path = np.concatenate(ways)
    walk = parallelogram_walk(path, direction)
    inside = np.abs(path) <= CHANGE - 0.99e-4
    assert np.isfinite(walk.found[inside]).all()
    # However near, a rate is right or unknown.
    for distance in 10.0 ** -np.arange(1.0, 16.0, 2.0):
        for path in (np.array([CHANGE - distance]), np.linspace(0.0, CHANGE - distance, 80)):
            parallelogram_walk(path, direction)


@pytest.mark.parametrize('path', [[CHANGE], [-CHANGE], np.linspace(0.0, CHANGE, 80),
                                  np.linspace(0.0, -CHANGE, 80)])  # fmt: skip
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_at_a_change_point_rates_and_efforts_are_unknown(direction: Direction, path) -> None:
    """Two motions are possible there, and no number is right; the position may be known."""
    walk = parallelogram_walk(np.array(path), direction)
    found = walk.found[-1, 1:]
    if direction == ACTUATOR_TO_JOINT:
        found = np.delete(found, parallelogram().joint_names.index('crank'), axis=1)
    assert np.isnan(found).all()
    assert walk.reasons[-1] & {'singular', 'no_convergence', 'domain'}


# -- a platform on three sliders -----------------------------------------------------------------

#: Pivots at the base and on the plate [m], and the plate's angle at zero.
PIVOTS = 0.3 * np.exp(2j * math.pi / 3.0 * np.arange(3))
PINS = 0.12 * np.exp(2j * math.pi / 3.0 * np.arange(3))
TURNED = 1.2


def legs_of(pose: Array) -> Array:
    """Return the legs of the platform as complex numbers, of a pose x, y, phi."""
    legs: Array = pose[0] + 1j * pose[1] + PINS * np.exp(1j * (pose[2] + TURNED)) - PIVOTS
    return legs


HOME = legs_of(np.zeros(3))


def platform() -> RobotTransmissions:
    """Return a plate on three legs, each with a pivot, a driven slider and a pin."""
    body = (
        joint('x', 'base', 'px', kind='prismatic', axis=(1, 0, 0))
        + joint('y', 'px', 'py', kind='prismatic', axis=(0, 1, 0))
        + joint('phi', 'py', 'plate', yaw=TURNED)
    )
    for k, (pivot, leg, pin) in enumerate(zip(PIVOTS, HOME, PINS, strict=True)):
        # Each swing is at pi in the middle, so that it passes the end of the arc tangent.
        body += joint(f'swing{k}', 'base', f's{k}', pivot, yaw=float(np.angle(leg)) - math.pi)
        body += joint(f'leg{k}', f's{k}', f'e{k}', abs(leg), kind='prismatic', axis=(1, 0, 0))
        body += joint(f'pin{k}', 'plate', f'p{k}', pin, kind='fixed')
    loops = ''.join(hinge(f'e{k}', f'p{k}') for k in range(3))
    legs, starts = [f'leg{k}' for k in range(3)], {f'swing{k}': 3.1 for k in range(3)}
    return robot(body, legs, ['x', 'y', 'phi'], loops, **starts)


def slides_of(pose: Array) -> Array:
    """Return the positions of the sliders."""
    return np.abs(legs_of(pose)) - np.abs(HOME)


def rates_of(pose: Array) -> Array:
    """Return the Jacobian of the sliders by the pose."""
    along = legs_of(pose) / np.abs(legs_of(pose))
    # A turn of the plate moves its pin at a right angle to the arm.
    arms = 1j * PINS * np.exp(1j * (pose[2] + TURNED))
    return np.stack([along.real, along.imag, (arms * along.conj()).real], axis=1)


def poses(random: np.random.Generator) -> Array:
    """Return a pose that a straight way from home leads to, away from singular ones."""
    level = np.linalg.det(rates_of(np.zeros(3)))
    while True:
        pose = random.uniform((-0.15, -0.15, -1.0), (0.15, 0.15, 1.4))
        way = [share * pose for share in np.linspace(0.0, 1.0, 20)]
        if all(np.linalg.det(rates_of(each)) > 0.25 * level
               and np.abs(slides_of(each)).max() < 0.28 for each in way):  # fmt: skip
            return pose


@pytest.mark.parametrize(
    ('absent', 'times'),
    [(10, 4), (1000, 1), pytest.param(10_000, 1, marks=pytest.mark.campaign)],
)
def test_a_platform_comes_back_elsewhere_after_an_absence(absent: int, times: int) -> None:
    """No joint is that of another assembly or a turn away, however long nothing was in reach."""
    robot = platform()
    assert robot.findings == ()
    stream, report = robot.stream(ACTUATOR_TO_JOINT), MapReport()
    random = np.random.default_rng(absent)
    speed, push = random.normal(size=(2, 3))
    names = ['x', 'y', 'phi', *(f'{kind}{k}' for kind in ('swing', 'leg') for k in range(3))]
    places = [robot.joint_names.index(name) for name in names]
    lost = 0

    def follow(pose: Array, may_be_lost: bool = False) -> None:
        nonlocal lost
        rows = stream.map_state(np.array([slides_of(pose), speed, push]), report)[:, places]
        if may_be_lost and np.isnan(rows).all():
            lost += 1
            return
        swings = math.pi + wrapped(np.angle(legs_of(pose)) - np.angle(HOME))
        joints = np.concatenate([pose, swings, slides_of(pose)])
        assert np.abs(rows[0] - joints).max() <= POSITION
        rates, efforts = np.linalg.solve(rates_of(pose), speed), rates_of(pose).T @ push
        assert np.abs(rows[1, :3] - rates).max() <= SHARE * np.abs(rates).max()
        assert np.abs(rows[2, :3] - efforts).max() <= SHARE * np.abs(efforts).max()

    for _ in range(times):
        left, met = poses(random), poses(random)
        for share in np.linspace(0.0, 1.0, 40):
            follow(share * left)
        # Two legs and the plate between them are shorter than the base.
        away = np.array([-0.16, -0.16, -0.16]) - random.uniform(0.0, 0.02, 3)
        for share in np.linspace(0.0, 1.0, 15)[1:]:
            slides = (1.0 - share) * slides_of(left) + share * away
            stream.map_state(np.stack([slides, speed, push]), report)
        for _ in range(absent):
            assert np.isnan(stream.map_state(np.stack([away, speed, push]), report)).all()
        follow(met, True)
        for share in np.linspace(0.0, 1.0, 60):
            follow((1.0 - share) * met + share * left, share < 1.0)
        for share in np.linspace(1.0, 0.0, 40):
            follow(share * left)
    assert lost <= 61 * times


# -- six-bars ------------------------------------------------------------------------------------


def meeting(one: Array, r: float, other: Array | complex, s: float) -> Array:
    """Return where circles about two points meet, to the left of the way to the other one."""
    apart = other - one
    along = (np.abs(apart) ** 2 + r * r - s * s) / (2.0 * np.abs(apart))
    with np.errstate(invalid='ignore'):
        aside = np.sqrt(r * r - along**2)
    found: Array = one + apart / np.abs(apart) * (along + 1j * aside)
    return found


#: Lengths [m]: crank, coupler, rocker; arm of the rocker and its angle, rod and output.
WATT = (0.05, 0.2, 0.1, 0.1, 0.7, 0.2, 0.1)
WATT_PIVOTS = (0.2, 0.4 + 0.05j)
WATT_HOME = np.array([1.0])


def watt_angles(crank: Array) -> dict[str, Array]:
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


def watt_joints(motor: Array) -> dict[str, Array]:
    """Return the joints; all are zero if the motor is at zero."""
    home, found = watt_angles(WATT_HOME), watt_angles(WATT_HOME + motor)
    return {name: wrapped(found[name] - home[name]) for name in found} | {'crank': motor}


def watt() -> RobotTransmissions:
    """Return Watt's six-bar; its crank moves the output."""
    home = {name: float(angle[0]) for name, angle in watt_angles(WATT_HOME).items()}
    a, b, c, d, bend, e, f = WATT
    body = (
        joint('crank', 'base', 'l1', yaw=home['crank'])
        + joint('coupler', 'l1', 'l2', a, yaw=home['coupler'])
        + tip('l2', b)
        + joint('rocker', 'base', 'l3', WATT_PIVOTS[0], yaw=home['rocker'])
        + tip('l3', c)
        + joint('rod', 'l3', 'l4', d * np.exp(1j * bend), yaw=home['rod'])
        + tip('l4', e)
        + joint('output', 'base', 'l5', WATT_PIVOTS[1], yaw=home['output'])
        + tip('l5', f)
    )
    loops = hinge('l2_tip', 'l3_tip') + hinge('l4_tip', 'l5_tip')
    starts = dict.fromkeys(('coupler', 'rocker', 'rod', 'output'), 0.0)
    return robot(body, ['crank'], ['output'], loops, **starts)


def test_no_answer_of_a_six_bar_is_wrong() -> None:
    """Out of reach nothing is answered; behind it the assembly of the start, all that is asked."""
    # A walk to both ends of the crank: out of reach, and beyond the output's end.
    steps = np.cumsum(np.random.default_rng(3).choice([-0.02, 0.02], 400))
    path = np.concatenate([there_and_back(-2.9, 2.9, 300), steps, there_and_back(-2.9, 2.9, 60)])
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


@pytest.mark.parametrize(
    ('start', 'is_met'),
    [
        ({'rocker': -0.3}, True),
        ({'rocker': 2.5}, True),
        ({'coupler': -1.1}, True),
        # Of both assemblies the nearer one is 1.4 rad away.
        ({'rocker': 1.1}, False),
        # Each is of another assembly.
        ({'rocker': 2.5, 'coupler': 0.17}, False),
    ],
)
def test_a_start_chooses_the_assembly(start: dict[str, float], is_met: bool) -> None:
    """
    It may be off by a tenth of a radian; where no assembly has it, an error names the joint.

    The rocker of this four-bar is at -0.314 and the coupler at 0.171, or at 2.528 and -1.099.
    """
    body = (
        joint('crank', 'base', 'l1', yaw=0.5 * math.pi)
        + joint('coupler', 'l1', 'l2', 0.1, yaw=-0.5 * math.pi)
        + tip('l2', 0.25)
        + joint('rocker', 'base', 'l3', 0.2, yaw=0.5 * math.pi)
        + tip('l3', 0.15)
    ).replace('lower="-6.2" upper="6.2"', 'lower="-0.5" upper="0.5"', 1)
    found = robot(body, ['crank'], ['rocker'], hinge('l2_tip', 'l3_tip'), **start)
    errors = [str(each) for each in found.findings]
    if is_met:
        assert errors == []
        first = found.actuator_to_joint('position', [0.0])
        for name, position in start.items():
            assert abs(first[found.joint_names.index(name)] - position) < 0.1
        return
    said = [f"no assembly has joint '{name}' near its <start>" for name in start]
    assert any(each in error for each in said for error in errors)
    assert any('in the nearest assembly found' in error for error in errors)
