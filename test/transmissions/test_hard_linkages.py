# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linkages that are hard to solve, against closed formulas that share no code with the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
import math

import numpy as np
import numpy.typing as npt
import pytest
from zoo import linkages as zoo_linkages

from transmission_bridge import load_description
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    DIRECTIONS,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.transmissions.report import MapReport

Array = npt.NDArray[np.float64]

#: Positions agree to this [rad or m], rates and efforts to this share.
POSITION, SHARE = 1e-8, 1e-6

# -- URDFs ---------------------------------------------------------------------------------------


def joint(
    name: str,
    parent: str,
    child: str,
    at: complex = 0.0,
    *,
    yaw: float = 0.0,
    roll: float = 0.0,
    kind: str = 'revolute',
    axis: Sequence[float] = (0, 0, 1),
    limit: tuple[float, float] = (-6.2, 6.2),
) -> str:
    """Return a joint about z by default, and its child link."""
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
    """Return the transmissions of a robot with one linkage."""
    motors = {f'{name}_motor': name for name in driven}
    text = zoo_linkages.robot(body, motors, commanded, loops, zoo_linkages.starts(**start))
    return RobotTransmissions(load_description(text))


# -- streams and their comparison ----------------------------------------------------------------


@dataclass
class Stream:
    """
    A live stream with one driven and one commanded joint.

    :param found: Output rows position, velocity and effort by sample, shape ``(n, 3, n_out)``,
        for a velocity and an effort of one.
    :param reasons: Why numbers of a sample are NaN, by sample.
    """

    names: tuple[str, ...]
    found: Array
    reasons: list[set[str]]


def streamed(
    robot: RobotTransmissions, values: Array, direction: Direction, name: str | None = None
) -> Stream:
    """
    Map positions one after the other, each with velocity one and effort one.

    :param values: Positions, shape ``(n, n_in)``; of one joint, shape ``(n,)``.
    :param name: The joint that is given from the joints to the actuators.
    """
    forward = direction == ACTUATOR_TO_JOINT
    inputs = robot.actuator_names if forward else robot.joint_names
    outputs = robot.joint_names if forward else robot.actuator_names
    rows = np.full((len(values), 3, len(inputs)), np.nan)
    columns = slice(None) if forward else [inputs.index(str(name))]
    rows[:, :, columns] = 1.0
    rows[:, 0, columns] = values.reshape(len(values), -1)
    stream, found, reasons = robot.stream(direction), [], []
    for each in rows:
        report = MapReport()
        found.append(stream.map_state(each, report).copy())
        reasons.append({reason for _, reason in report.counts})
    return Stream(outputs, np.array(found), reasons)


@dataclass
class Truth:
    """
    Positions and rates of all joints of a mechanism with one motor, by sample.

    :param given: Position of the motor, also beyond reach.
    :param joints: Position of each joint, NaN beyond reach.
    :param rates: Velocity of each joint per velocity of the motor.
    """

    given: Array
    joints: dict[str, Array]
    rates: dict[str, Array]

    @property
    def is_reachable(self) -> npt.NDArray[np.bool_]:
        """Return which samples are within reach."""
        return np.isfinite(np.stack(list(self.joints.values()))).all(axis=0)


def of_path(
    path: Array, motor: str, position: Callable[[Array], dict[str, Array]], step: float = 1e-6
) -> Truth:
    """Return the truth along a path parameter, with rates by differences."""
    here, ahead, behind = (position(path + side * step) for side in (0.0, 1.0, -1.0))
    turned = {name: wrapped(ahead[name] - behind[name]) for name in here}
    return Truth(here[motor], here, {name: turned[name] / turned[motor] for name in here})


def assert_right(
    stream: Stream, truth: Truth, motor: str, commanded: str
) -> npt.NDArray[np.bool_]:
    """
    Compare all joints that are published, and return which samples are answered.

    A NaN is no wrong answer. The commanded joint has the power of the motor.
    """
    joints = np.stack([truth.joints[name] for name in stream.names], axis=1)
    rates = np.stack([truth.rates[name] for name in stream.names], axis=1)
    position, rate, effort = np.moveaxis(stream.found, 1, 0)
    known = np.isfinite(position)
    # An answer beyond reach is wrong too: its difference is NaN.
    wrong = known & ~(np.abs(position - joints) <= POSITION)
    off = np.isfinite(rate) & ~(np.abs(rate - rates) <= SHARE * np.maximum(1.0, np.abs(rates)))
    expected = np.zeros_like(effort)
    expected[:, [name == motor for name in stream.names]] = 1.0
    column = stream.names.index(commanded)
    gain = rates[:, column]
    with np.errstate(divide='ignore'):
        expected[:, column] = 1.0 / gain
    apart = np.abs(effort - expected) * np.minimum(1.0, np.abs(gain))[:, np.newaxis]
    pushed = np.isfinite(effort) & ~(apart <= SHARE)
    assert not wrong.any()
    assert not off.any()
    assert not pushed.any()
    return np.asarray(known.all(axis=1))


def wrapped(angle: Array | float) -> Array:
    """Return an angle within half a turn."""
    return np.asarray((np.asarray(angle) + math.pi) % math.tau - math.pi)


def there_and_back(low: float, high: float, count: int, start: float = 0.0) -> Array:
    """Return positions from the start to both ends and back."""
    ends = [start, high, low, start]
    parts = [np.linspace(a, b, count) for a, b in pairwise(ends)]
    return np.concatenate([[start], *parts])


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


def bennett_truth(at: Array) -> Truth:
    """Return the angles of a Bennett linkage; opposite ones add up to a turn."""
    second = 2.0 * np.arctan2(BENNETT * np.cos(0.5 * at), np.sin(0.5 * at))
    rate = -BENNETT / (np.sin(0.5 * at) ** 2 + (BENNETT * np.cos(0.5 * at)) ** 2)
    one = np.ones_like(at)
    return Truth(
        at,
        {'j1': at, 'j2': second, 'j3': -at, 'j4': -second},
        {'j1': one, 'j2': rate, 'j3': -one, 'j4': -rate},
    )


#: Positions of the driven joint at the start [rad].
BENNETT_STARTS = (0.3, 1.0, 2.0)

#: Half a turn to both sides of a start is the range, and 0.1 to its ends is left.
WITHIN = math.pi - 0.1


def bennett_path(start: float) -> Array:
    """Return a walk over the range, which begins and ends at zero and visits it in between."""
    low, high = start - WITHIN, start + WITHIN
    # At zero the linkage is regular, three of its equations are not.
    near = np.outer(10.0 ** -np.arange(2.0, 12.0), [1.0, -1.0]).ravel()
    return np.concatenate([there_and_back(low, high, 240), near, np.zeros(2)])


@pytest.mark.parametrize('direction', DIRECTIONS)
@pytest.mark.parametrize('start', BENNETT_STARTS)
def test_a_bennett_linkage_is_answered_on_the_side_of_its_start(
    start: float, direction: Direction
) -> None:
    """It is regular everywhere; beyond where the solved rows are dependent nothing is known."""
    assert bennett_answered(start, direction).mean() > 0.35


def bennett_answered(start: float, direction: Direction) -> npt.NDArray[np.bool_]:
    """Return how a walk over the range is answered."""
    truth = bennett_truth(bennett_path(start))
    if direction == ACTUATOR_TO_JOINT:
        stream = streamed(bennett(start), truth.given, direction)
        return assert_right(stream, truth, 'j1', 'j2')
    # All angles of the second joint are within a turn about pi.
    second = truth.joints['j2']
    stream = streamed(bennett(start), second, direction, 'j2')
    rate = 1.0 / truth.rates['j2']
    motor = Truth(second, {'j1_motor': truth.given}, {'j1_motor': rate})
    return assert_right(stream, motor, '', 'j1_motor')


# -- parallelogram -------------------------------------------------------------------------------

#: Crank and base of a parallelogram [m].
CRANK, BASE = 0.1, 0.3


#: A parallelogram with upright cranks at zero.
PARALLELOGRAM = (
    joint('crank', 'base', 'c', yaw=0.5 * math.pi, limit=(-2.5, 2.5))
    + joint('coupler', 'c', 'k', CRANK, yaw=-0.5 * math.pi)
    + tip('k', BASE)
    + joint('rocker', 'base', 'r', BASE, yaw=0.5 * math.pi)
    + tip('r', CRANK)
)


@cache
def parallelogram() -> RobotTransmissions:
    """Return its transmissions."""
    return robot(PARALLELOGRAM, ['crank'], ['rocker'], hinge('k_tip', 'r_tip'), rocker=0.0)


def parallelogram_truth(at: Array, direction: Direction) -> tuple[Truth, str, str]:
    """Return positions and unit rates, the given joint and the one that is mapped to."""
    one = np.ones_like(at)
    if direction == JOINT_TO_ACTUATOR:
        return Truth(at, {'crank_motor': at}, {'crank_motor': one}), '', 'crank_motor'
    joints = {'crank': at, 'coupler': -at, 'rocker': at}
    return Truth(at, joints, {'crank': one, 'coupler': -one, 'rocker': one}), 'crank', 'rocker'


#: The change point: all links are in one line, and two motions are possible.
CHANGE = 0.5 * math.pi


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_parallelogram_is_right_near_its_change_points(direction: Direction) -> None:
    """Between them all is answered; beyond them nothing is answered of the other assembly."""
    walk = np.concatenate(
        [there_and_back(1e-4 - CHANGE, CHANGE - 1e-4, 150), there_and_back(-2.4, 2.4, 201)]
    )
    truth, given, commanded = parallelogram_truth(walk, direction)
    stream = streamed(parallelogram(), walk, direction, 'rocker')
    answered = assert_right(stream, truth, given, commanded)
    inside = np.abs(walk) <= CHANGE - 0.99e-4
    assert answered[inside].all()
    assert np.isfinite(stream.found[inside]).all()


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_at_a_change_point_rates_and_efforts_are_unknown(direction: Direction) -> None:
    """Two motions are possible there, and no number is right; the position may be known."""
    for at in (CHANGE, -CHANGE):
        for walk in (np.linspace(0.0, at, 80), np.array([at])):
            stream = streamed(parallelogram(), walk, direction, 'rocker')
            rows = stream.found[-1, 1:, commanded_columns(stream)]
            assert np.isnan(rows).all()
            assert stream.reasons[-1] & {'singular', 'no_convergence', 'domain'}


def commanded_columns(stream: Stream) -> list[int]:
    """Return the outputs of a parallelogram that the motor does not turn itself."""
    return [k for k, name in enumerate(stream.names) if name != 'crank']


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_next_to_a_change_point_no_rate_is_wrong(direction: Direction) -> None:
    """A rate is right or unknown, however near."""
    for distance in 10.0 ** -np.arange(1.0, 16.0, 2.0):
        for walk in (np.array([CHANGE - distance]), np.linspace(0.0, CHANGE - distance, 80)):
            truth, given, commanded = parallelogram_truth(walk, direction)
            stream = streamed(parallelogram(), walk, direction, 'rocker')
            assert_right(stream, truth, given, commanded)


@pytest.mark.parametrize('axis', ['', ' axis="0 1 0"'])
def test_another_axis_of_a_hinge_is_named(axis: str) -> None:
    """With the angle between those of both frames, and what the joints turn about."""
    loop = hinge('k_tip', 'r_tip').replace(' axis="0 0 1"', axis)
    (finding,) = robot(PARALLELOGRAM, ['crank'], ['rocker'], loop, rocker=0.0).findings
    assert f"axis {axis[7:-1] or '1 0 0'} of hinge 'k_tip' - 'r_tip', " in str(finding)
    assert 'degrees between the axes of both frames at the start' in str(finding)
    assert 'its joints turn about 0 0 1' in str(finding)


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
        joint('x', 'base', 'px', kind='prismatic', axis=(1, 0, 0), limit=(-0.5, 0.5))
        + joint('y', 'px', 'py', kind='prismatic', axis=(0, 1, 0), limit=(-0.5, 0.5))
        + joint('phi', 'py', 'plate', yaw=TURNED)
    )
    loops = ''
    for k, (pivot, leg, pin) in enumerate(zip(PIVOTS, HOME, PINS, strict=True)):
        # Each swing is at pi in the middle, so that it passes the end of the arc tangent.
        yaw = float(np.angle(leg)) - math.pi
        body += joint(f'swing{k}', 'base', f's{k}', pivot, yaw=yaw)
        body += joint(
            f'leg{k}', f's{k}', f'e{k}', abs(leg), kind='prismatic', axis=(1, 0, 0),
            limit=(-0.3, 0.3),
        )  # fmt: skip
        body += joint(f'pin{k}', 'plate', f'p{k}', pin, kind='fixed')
        loops += hinge(f'e{k}', f'p{k}')
    return robot(
        body, ['leg0', 'leg1', 'leg2'], ['x', 'y', 'phi'], loops,
        swing0=3.1, swing1=3.1, swing2=3.1,
    )  # fmt: skip


@dataclass
class Pose:
    """The platform in one pose: all joints, and velocity and effort for those of the sliders."""

    joints: dict[str, float]
    slides: Array
    jacobian: Array

    @classmethod
    def of(cls, pose: Array) -> Pose:
        """Return the pose from x, y and phi."""
        legs = legs_of(pose)
        along = legs / np.abs(legs)
        # A turn of the plate moves its pin at a right angle to the arm.
        arms = 1j * PINS * np.exp(1j * (pose[2] + TURNED))
        jacobian = np.stack([along.real, along.imag, (arms * along.conj()).real], axis=1)
        swings = math.pi + wrapped(np.angle(legs) - np.angle(HOME))
        slides = np.abs(legs) - np.abs(HOME)
        joints = dict(zip(('x', 'y', 'phi'), pose.tolist(), strict=True))
        joints |= {f'swing{k}': each for k, each in enumerate(swings.tolist())}
        joints |= {f'leg{k}': each for k, each in enumerate(slides.tolist())}
        return cls(joints, slides, jacobian)


def poses(random: np.random.Generator) -> Array:
    """Return a pose that a straight way from home leads to, away from singular ones."""
    level = np.linalg.det(Pose.of(np.zeros(3)).jacobian)
    while True:
        pose = random.uniform((-0.15, -0.15, -1.0), (0.15, 0.15, 1.4))
        way = [Pose.of(share * pose) for share in np.linspace(0.0, 1.0, 20)]
        if all(
            np.linalg.det(each.jacobian) > 0.25 * level and np.abs(each.slides).max() < 0.28
            for each in way
        ):
            return pose


@pytest.mark.parametrize(
    ('absent', 'times'),
    [(10, 4), (1000, 1), pytest.param(10_000, 1, marks=pytest.mark.campaign)],
)
def test_a_platform_comes_back_elsewhere_after_an_absence(absent: int, times: int) -> None:
    """No joint is that of another assembly or a turn away, however long nothing was in reach."""
    robot = platform()
    assert list(map(str, robot.findings)) == []
    stream, report = robot.stream(ACTUATOR_TO_JOINT), MapReport()
    random = np.random.default_rng(absent)
    speed, push = random.normal(size=(2, 3))
    lost = wrong = turns = 0

    def follow(pose: Array, may_be_lost: bool) -> None:
        nonlocal lost, wrong, turns
        truth = Pose.of(pose)
        rows = stream.map_state(np.array([truth.slides, speed, push]), report)
        if may_be_lost and np.isnan(rows).all():
            lost += 1
            return
        joints = np.array([truth.joints[name] for name in robot.joint_names])
        apart = rows[0] - joints
        turns += bool((np.abs(np.abs(apart) - math.tau) < 0.1).any())
        wrong += not np.abs(apart).max() <= POSITION
        places = [robot.joint_names.index(name) for name in ('x', 'y', 'phi')]
        rates, efforts = np.linalg.solve(truth.jacobian, speed), truth.jacobian.T @ push
        wrong += not np.abs(rows[1, places] - rates).max() <= SHARE * np.abs(rates).max()
        wrong += not np.abs(rows[2, places] - efforts).max() <= SHARE * np.abs(efforts).max()

    for _ in range(times):
        left, met = poses(random), poses(random)
        for share in np.linspace(0.0, 1.0, 40):
            follow(share * left, False)
        # Two legs and the plate between them are shorter than the base.
        away = np.array([-0.16, -0.16, -0.16]) - random.uniform(0.0, 0.02, 3)
        ends = [Pose.of(left).slides, away]
        for share in np.linspace(0.0, 1.0, 15)[1:]:
            slides = (1.0 - share) * ends[0] + share * ends[1]
            stream.map_state(np.stack([slides, speed, push]), report)
        for _ in range(absent):
            rows = stream.map_state(np.stack([away, speed, push]), report)
            assert np.isnan(rows).all()
        follow(met, True)
        for share in np.linspace(0.0, 1.0, 60):
            follow((1.0 - share) * met + share * left, share < 1.0)
        for share in np.linspace(1.0, 0.0, 40):
            follow(share * left, False)
    assert (wrong, turns) == (0, 0)
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


def turned(joints: dict[str, Array], home: dict[str, Array]) -> dict[str, Array]:
    """Return angles from home."""
    return {name: wrapped(joints[name] - home[name]) for name in joints}


#: Lengths [m]: crank, coupler, rocker; arm of the rocker and its angle, rod and output.
WATT = (0.05, 0.2, 0.1, 0.1, 0.7, 0.2, 0.1)
WATT_PIVOTS = (0.2, 0.4 + 0.05j)
WATT_HOME = 1.0


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
    home = watt_angles(np.array([WATT_HOME]))
    return {**turned(watt_angles(WATT_HOME + motor), home), 'crank': motor}


def watt() -> RobotTransmissions:
    """Return Watt's six-bar; its crank moves the output."""
    home = {name: float(angle[0]) for name, angle in watt_angles(np.array([WATT_HOME])).items()}
    a, b, c, d, bend, e, f = WATT
    body = (
        joint('crank', 'base', 'l1', yaw=home['crank'], limit=(-3.0, 3.0))
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


def watt_walk() -> Truth:
    """Return a walk to both ends of the crank: out of reach, and beyond the output's end."""
    random = np.random.default_rng(3)
    steps = np.cumsum(random.choice([-0.02, 0.02], 400))
    path = np.concatenate([there_and_back(-2.9, 2.9, 300), steps, there_and_back(-2.9, 2.9, 60)])
    return of_path(path, 'crank', watt_joints)


def test_no_answer_of_a_six_bar_is_wrong() -> None:
    """Out of reach nothing is answered; behind it the assembly of the start, all that is asked."""
    motor, commanded = 'crank', 'output'
    found, truth = watt(), watt_walk()
    assert list(map(str, found.findings)) == []
    stream = streamed(found, truth.given, ACTUATOR_TO_JOINT)
    answered = assert_right(stream, truth, motor, commanded)
    assert not answered[~truth.is_reachable].any()
    # The walk has all that it is meant for.
    rate = truth.rates[commanded][truth.is_reachable]
    assert (rate > 0.05).any()
    assert (rate < -0.05).any()
    assert (~truth.is_reachable).sum() > 100
    # Where the commanded joint has turned back, a command would be that of another position.
    rates = truth.rates[commanded]
    steep = np.max([np.abs(rate) for rate in truth.rates.values()], axis=0) > 30.0
    has_turned = rates * rates[0] < 0.05 * rates[0] ** 2
    assert answered[truth.is_reachable & ~steep & ~has_turned].all()
    assert not answered[rates * rates[0] < 0.0].any()


# -- starts --------------------------------------------------------------------------------------


def four_bar(**start: float) -> RobotTransmissions:
    """Return a four-bar whose rocker is at -0.314 and coupler at 0.171, or at 2.528 and -1.099."""
    body = (
        joint('crank', 'base', 'l1', yaw=0.5 * math.pi, limit=(-0.5, 0.5))
        + joint('coupler', 'l1', 'l2', 0.1, yaw=-0.5 * math.pi)
        + tip('l2', 0.25)
        + joint('rocker', 'base', 'l3', 0.2, yaw=0.5 * math.pi)
        + tip('l3', 0.15)
    )
    return robot(body, ['crank'], ['rocker'], hinge('l2_tip', 'l3_tip'), **start)


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
    """It may be off by a tenth of a radian; where no assembly has it, an error names the joint."""
    found = four_bar(**start)
    errors = [str(each) for each in found.findings]
    if is_met:
        assert errors == []
        first = streamed(found, np.zeros(1), ACTUATOR_TO_JOINT)
        for name, position in start.items():
            assert abs(first.found[0, 0, first.names.index(name)] - position) < 0.1
        return
    said = [f"no assembly has joint '{name}' near its <start>" for name in start]
    assert any(each in error for each in said for error in errors)
    assert any('in the nearest assembly found' in error for error in errors)
