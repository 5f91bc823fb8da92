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
    axis: str = '0 0 1',
    limit: tuple[float, float] = (-6.2, 6.2),
) -> str:
    """Return a joint and its child link; ``at`` is x + iy in the parent link."""
    text = (
        f'<link name="{child}"/><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="{complex(at).real!r} {complex(at).imag!r} 0" '
        f'rpy="{float(roll)!r} 0 {float(yaw)!r}"/>'
    )
    if kind != 'fixed':
        text += (
            f'<axis xyz="{axis}"/>'
            f'<limit lower="{limit[0]}" upper="{limit[1]}" effort="100" velocity="100"/>'
        )
    return text + '</joint>'


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
    members = ''.join(
        f'<actuator name="{name}_motor" role="actuator{k}"><param name="joint">{name}</param>'
        '</actuator>'
        for k, name in enumerate(driven, 1)
    ) + ''.join(f'<joint name="{name}" role="joint{k}"/>' for k, name in enumerate(commanded, 1))
    declared = ''.join(
        f'<joint name="{name}"><command_interface name="position"/></joint>' for name in commanded
    )
    starts = ''.join(
        f'<start joint="{name}" position="{position!r}"/>' for name, position in start.items()
    )
    return RobotTransmissions(
        load_description(
            f'<robot name="hard"><link name="base"/>{body}<ros2_control name="s" type="system">'
            f'<hardware><plugin>x/X</plugin></hardware>{declared}<transmission name="linkage">'
            f'<plugin>transmission_bridge/LinkageTransmission</plugin>{members}{loops}{starts}'
            '</transmission></ros2_control></robot>'
        )
    )


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


@dataclass
class Count:
    """How many samples are answered and how many answers are wrong."""

    answered: npt.NDArray[np.bool_]
    wrong_position: int
    wrong_rate: int
    wrong_effort: int

    @property
    def wrong(self) -> tuple[int, int, int]:
        """Return how many positions, rates and efforts are wrong."""
        return self.wrong_position, self.wrong_rate, self.wrong_effort


def compared(stream: Stream, truth: Truth, motor: str, commanded: str) -> Count:
    """
    Compare all joints that are published; a NaN is no wrong answer.

    The commanded joint has the power of the motor.
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
    return Count(
        known.all(axis=1),
        *(int(each.any(axis=1).sum()) for each in (wrong, off, pushed)),
    )


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


def test_the_closed_form_of_a_bennett_linkage_closes_it() -> None:
    """Products of the four links' transforms are the unit matrix."""
    (one, other), a = TWISTS, SHORT
    b = a * math.sin(other) / math.sin(one)
    at = np.linspace(-3.0, 3.0, 7)
    joints = np.stack(list(bennett_truth(at).joints.values()), axis=1)
    for angles in joints:
        product = np.eye(4)
        for angle, (twist, length) in zip(angles, [(one, a), (other, b)] * 2, strict=True):
            c, s, ct, st = math.cos(angle), math.sin(angle), math.cos(twist), math.sin(twist)
            product = product @ [
                [c, -s * ct, s * st, length * c],
                [s, c * ct, -c * st, length * s],
                [0.0, st, ct, 0.0],
                [0.0, 0.0, 0.0, 1.0],
            ]
        assert np.abs(product - np.eye(4)).max() < 1e-14


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
    count = bennett_count(start, direction)
    assert count.wrong == (0, 0, 0)
    assert count.answered.mean() > 0.35


def bennett_count(start: float, direction: Direction) -> Count:
    """Return how a walk over the range is answered."""
    truth = bennett_truth(bennett_path(start))
    if direction == ACTUATOR_TO_JOINT:
        stream = streamed(bennett(start), truth.given, direction)
        return compared(stream, truth, 'j1', 'j2')
    # All angles of the second joint are within a turn about pi.
    second = truth.joints['j2']
    stream = streamed(bennett(start), second, direction, 'j2')
    rate = 1.0 / truth.rates['j2']
    motor = Truth(second, {'j1_motor': truth.given}, {'j1_motor': rate})
    return compared(stream, motor, '', 'j1_motor')


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
    count = compared(stream, truth, given, commanded)
    assert count.wrong == (0, 0, 0)
    inside = np.abs(walk) <= CHANGE - 0.99e-4
    assert count.answered[inside].all()
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
    for distance in 10.0 ** -np.arange(1.0, 16.0):
        for walk in (np.array([CHANGE - distance]), np.linspace(0.0, CHANGE - distance, 80)):
            truth, given, commanded = parallelogram_truth(walk, direction)
            stream = streamed(parallelogram(), walk, direction, 'rocker')
            assert compared(stream, truth, given, commanded).wrong == (0, 0, 0), distance


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
        joint('x', 'base', 'px', kind='prismatic', axis='1 0 0', limit=(-0.5, 0.5))
        + joint('y', 'px', 'py', kind='prismatic', axis='0 1 0', limit=(-0.5, 0.5))
        + joint('phi', 'py', 'plate', yaw=TURNED)
    )
    loops = ''
    for k, (pivot, leg, pin) in enumerate(zip(PIVOTS, HOME, PINS, strict=True)):
        # Each swing is at pi in the middle, so that it passes the end of the arc tangent.
        yaw = float(np.angle(leg)) - math.pi
        body += joint(f'swing{k}', 'base', f's{k}', pivot, yaw=yaw)
        body += joint(
            f'leg{k}', f's{k}', f'e{k}', abs(leg), kind='prismatic', axis='1 0 0',
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
    [(10, 12), (1000, 2), pytest.param(10_000, 1, marks=pytest.mark.campaign)],
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


#: Lengths [m]: crank, coupler, rocker; the coupler's arm and its angle, rod and motor's crank.
STEPHENSON = (0.06, 0.16, 0.11, 0.12, 0.6, 0.16, 0.09)
STEPHENSON_PIVOTS = (0.18, 0.02 + 0.28j)
STEPHENSON_HOME = 1.8


def stephenson_angles(crank: Array) -> dict[str, Array]:
    """Return the joints of Stephenson's six-bar, with the motor beyond the coupler."""
    a, b, c, d, bend, e, f = STEPHENSON
    pin = a * np.exp(1j * crank)
    far = meeting(pin, b, STEPHENSON_PIVOTS[0], c)
    coupler = np.angle(far - pin)
    arm = pin + d * np.exp(1j * (coupler + bend))
    end = meeting(arm, e, STEPHENSON_PIVOTS[1], f)
    return {
        'crank': crank,
        'coupler': coupler - crank,
        'rocker': np.angle(far - STEPHENSON_PIVOTS[0]),
        'rod': np.angle(end - arm) - coupler,
        'motor': np.angle(end - STEPHENSON_PIVOTS[1]),
    }


def stephenson_joints(crank: Array) -> dict[str, Array]:
    """Return the joints, all zero at home, from the angle of the crank."""
    home = stephenson_angles(np.array([STEPHENSON_HOME]))
    return turned(stephenson_angles(crank), home)


def stephenson() -> RobotTransmissions:
    """Return Stephenson's six-bar; no construction gives its joints from the motor."""
    angles = stephenson_angles(np.array([STEPHENSON_HOME]))
    home = {name: float(angle[0]) for name, angle in angles.items()}
    a, b, c, d, bend, e, f = STEPHENSON
    body = (
        joint('motor', 'base', 'l5', STEPHENSON_PIVOTS[1], yaw=home['motor'], limit=(-1.0, 1.0))
        + tip('l5', f)
        + joint('crank', 'base', 'l1', yaw=home['crank'])
        + joint('coupler', 'l1', 'l2', a, yaw=home['coupler'])
        + tip('l2', b)
        + joint('rocker', 'base', 'l3', STEPHENSON_PIVOTS[0], yaw=home['rocker'])
        + tip('l3', c)
        + joint('rod', 'l2', 'l4', d * np.exp(1j * bend), yaw=home['rod'])
        + tip('l4', e)
    )
    loops = hinge('l2_tip', 'l3_tip') + hinge('l4_tip', 'l5_tip')
    starts = dict.fromkeys(('coupler', 'rocker', 'rod', 'crank'), 0.0)
    return robot(body, ['motor'], ['rod'], loops, **starts)


def stephenson_ends() -> Array:
    """Return the angles of the crank at the dead centres of the motor on both sides of home."""
    fine = np.linspace(0.3, 2.6, 230_001)
    rate = np.diff(stephenson_joints(fine)['motor'])
    change = np.flatnonzero(np.sign(rate[1:]) != np.sign(rate[:-1])) + 1
    low, high = fine[change]
    assert low < STEPHENSON_HOME < high
    return np.array([low, high])


def stephenson_walk() -> Truth:
    """Return a walk between the dead centres, and beyond both of them and back."""
    low, high = stephenson_ends() + np.array([1e-3, -1e-3])
    random = np.random.default_rng(4)
    steps = np.clip(
        STEPHENSON_HOME + np.cumsum(random.choice([-0.02, 0.02], 400)), low + 0.1, high - 0.1
    )
    path = np.concatenate([there_and_back(low, high, 250, STEPHENSON_HOME), steps])
    inside = of_path(path, 'motor', stephenson_joints)
    parts: list[tuple[Array, dict[str, Array], dict[str, Array]]] = [
        (inside.given, inside.joints, inside.rates)
    ]
    for end in (low, high):
        way = of_path(np.linspace(STEPHENSON_HOME, end, 100), 'motor', stephenson_joints)
        beyond = way.given[-1] + np.sign(way.given[-1]) * np.linspace(0.01, 0.3, 40)
        beyond = np.concatenate([beyond, np.full(60, beyond[-1]), beyond[::-1]])
        unknown = {name: np.full(len(beyond), np.nan) for name in way.joints}
        parts += [
            (way.given, way.joints, way.rates),
            (beyond, unknown, unknown),
            (
                way.given[::-1],
                {name: each[::-1] for name, each in way.joints.items()},
                {name: each[::-1] for name, each in way.rates.items()},
            ),
        ]
    return Truth(
        np.concatenate([given for given, _, _ in parts]),
        *(
            {name: np.concatenate([each[k][name] for each in parts]) for name in inside.joints}
            for k in (1, 2)
        ),
    )


SIX_BARS: dict[str, tuple[Callable[[], RobotTransmissions], Callable[[], Truth], str, str]] = {
    'Watt': (watt, watt_walk, 'crank', 'output'),
    'Stephenson': (stephenson, stephenson_walk, 'motor', 'rod'),
}


@pytest.mark.parametrize('name', SIX_BARS)
def test_no_answer_of_a_six_bar_is_wrong(name: str) -> None:
    """Out of reach nothing is answered; behind it the assembly of the start, all that is asked."""
    make, walk, motor, commanded = SIX_BARS[name]
    robot, truth = make(), walk()
    assert list(map(str, robot.findings)) == []
    stream = streamed(robot, truth.given, ACTUATOR_TO_JOINT)
    count = compared(stream, truth, motor, commanded)
    assert count.wrong == (0, 0, 0)
    assert not count.answered[~truth.is_reachable].any()
    # The walk has all that it is meant for.
    rate = truth.rates[commanded][truth.is_reachable]
    assert (rate > 0.05).any()
    assert (rate < -0.05).any()
    assert (~truth.is_reachable).sum() > 100
    # Where the commanded joint has turned back, a command would be that of another position.
    rates = truth.rates[commanded]
    steep = np.max([np.abs(rate) for rate in truth.rates.values()], axis=0) > 30.0
    has_turned = rates * rates[0] < 0.05 * rates[0] ** 2
    assert count.answered[truth.is_reachable & ~steep & ~has_turned].all()
    assert not count.answered[rates * rates[0] < 0.0].any()


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
    'start',
    [
        {'rocker': -0.3},
        {'rocker': 2.5},
        {'coupler': -1.1},
    ],
)
def test_a_start_chooses_the_assembly(start: dict[str, float]) -> None:
    """The joint is there to the tenth of a radian by which a start may be off."""
    found = four_bar(**start)
    assert list(map(str, found.findings)) == []
    assert_is_met(found, start)


@pytest.mark.parametrize(
    'start',
    [
        # Of both assemblies the nearer one is 1.4 rad away.
        {'rocker': 1.1},
        # Each is of another assembly.
        {'rocker': 2.5, 'coupler': 0.17},
    ],
)
def test_a_start_that_no_assembly_has_is_an_error(start: dict[str, float]) -> None:
    """The error names the joint: which assembly is meant is not known."""
    found = four_bar(**start)
    errors = [str(each) for each in found.findings if each.severity == 'error']
    said = [f"no assembly has joint '{name}' near its <start>" for name in start]
    assert any(each in error for each in said for error in errors)
    assert any('in the nearest assembly found' in error for error in errors)


def assert_is_met(found: RobotTransmissions, start: dict[str, float]) -> None:
    """Hold the first sample against the given starts."""
    first = streamed(found, np.zeros(1), ACTUATOR_TO_JOINT)
    for name, position in start.items():
        assert abs(first.found[0, 0, first.names.index(name)] - position) < 0.1
