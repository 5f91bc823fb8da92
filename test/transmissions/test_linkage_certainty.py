# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linkages derived by hand: what is answered is right, whatever happened before; else NaN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt
import pytest

from transmission_bridge import load_description, MapReport, RobotTransmissions
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    DIRECTIONS,
    JOINT_TO_ACTUATOR,
)

Array = npt.NDArray[np.float64]

TYPE = 'transmission_bridge/LinkageTransmission'


def joint(
    name: str,
    parent: str,
    child: str,
    xyz: Sequence[float] = (0.0, 0.0, 0.0),
    axis: str = '0 1 0',
    kind: str = 'revolute',
    limit: tuple[float, float] = (-3.1, 3.1),
    roll: float = 0.0,
) -> str:
    """Return a joint with its child link."""
    place = ' '.join(repr(float(each)) for each in xyz)
    text = f'<link name="{child}"/><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
    text += f'<child link="{child}"/><origin xyz="{place}" rpy="{roll!r} 0 0"/>'
    if kind != 'fixed':
        text += f'<axis xyz="{axis}"/><limit lower="{limit[0]}" upper="{limit[1]}" '
        text += 'effort="1" velocity="1"/>'
    return text + '</joint>'


def robot(
    body: str, motors: Sequence[str], joints: Sequence[str], loops: str, **start: float
) -> str:
    """Return a URDF with one linkage."""
    inside = ''.join(
        f'<actuator name="m_{name}" role="actuator{k}"><param name="joint">{name}</param>'
        '</actuator>'
        for k, name in enumerate(motors, 1)
    )
    inside += ''.join(
        f'<joint name="{name}" role="joint{k}"/>' for k, name in enumerate(joints, 1)
    )
    inside += loops
    inside += ''.join(f'<start joint="{k}" position="{v!r}"/>' for k, v in start.items())
    declared = ''.join(
        f'<joint name="{name}"><command_interface name="position"/></joint>' for name in joints
    )
    return (
        f'<robot name="own"><link name="base"/>{body}<ros2_control name="s" type="system">'
        f'<hardware><plugin>x/X</plugin></hardware>{declared}<transmission name="linkage">'
        f'<plugin>{TYPE}</plugin>{inside}</transmission></ros2_control></robot>'
    )


class Live:
    """
    A stream of a linkage, joints by name.

    :ivar report: What became NaN.
    """

    def __init__(self, text: str, direction: Direction) -> None:
        self.robot = RobotTransmissions(load_description(text))
        assert not [str(each) for each in self.robot.findings if each.severity == 'error']
        (self._binding,) = self.robot.bindings
        self._is_forward = direction == ACTUATOR_TO_JOINT
        self._stream = self.robot.stream(direction)
        self.report = MapReport()

    def __call__(self, at: Sequence[float]) -> Array:
        """Map positions, with velocities and efforts of one; return the three rows of all."""
        names = self.robot.actuator_names if self._is_forward else self.robot.joint_names
        rows = np.full((3, len(names)), math.nan)
        places = self._binding.actuators if self._is_forward else self._binding.joints
        rows[0, list(places)] = at
        rows[1:, list(places)] = 1.0
        return self._stream.map_state(rows, self.report).copy()

    @property
    def reasons(self) -> set[str]:
        """Why something became NaN."""
        return {reason for _, reason in self.report.counts}

    def of(self, rows: Array, name: str) -> Array:
        """Return the three rows of one joint or actuator."""
        names = self.robot.joint_names if self._is_forward else self.robot.actuator_names
        found: Array = rows[:, names.index(name)]
        return found


# -- a Bennett linkage: four revolutes in space, of which three equations are kept ----------------

TWISTS = math.radians(40.0), math.radians(70.0)
RATIO = math.sin(0.5 * sum(TWISTS)) / math.sin(0.5 * (TWISTS[1] - TWISTS[0]))


def bennett(start: float = 0.8) -> str:
    """Return a linkage that moves only as its twists fit its lengths."""
    (alpha, beta), a = TWISTS, 0.3
    b = a * math.sin(beta) / math.sin(alpha)
    body = joint('u', 'base', 'one', axis='0 0 1')
    body += joint('v', 'one', 'two', (a, 0, 0), '0 0 1', roll=alpha)
    body += joint('w', 'two', 'three', (b, 0, 0), '0 0 1', roll=beta)
    body += joint('tip', 'three', 'end', (a, 0, 0), kind='fixed', roll=alpha)
    body += joint('foot', 'base', 'pin', (-b, 0, 0), kind='fixed', roll=-beta)
    loop = '<loop type="hinge" frame1="end" frame2="pin" axis="0 0 1"/>'
    return robot(body, ['u'], ['v'], loop, u=start, v=closed(start), w=-start)


def closed(u: float) -> float:
    """Return ``v`` of ``tan(u / 2) tan(v / 2) = RATIO``."""
    return 2.0 * math.atan2(RATIO * math.cos(0.5 * u), math.sin(0.5 * u))


def test_kept_rows_that_become_dependent_give_no_wrong_numbers() -> None:
    """The linkage is regular at u = 0, three of its equations are not."""
    near = [sign * 10.0**-k for k in range(2, 12) for sign in (1.0, -1.0)]
    live, answered = Live(bennett(), ACTUATOR_TO_JOINT), 0
    for u in (*np.linspace(0.8, 0.02, 50), *near, 0.0, *np.linspace(-0.02, -0.8, 50)):
        found = live.of(live([u]), 'v')
        v = closed(u)
        slope = -math.sin(v) / math.sin(u) if u else -1.0 / RATIO
        assert abs(math.remainder(found[0] - v, math.tau)) < 1e-8 or math.isnan(found[0])
        assert found[1] == pytest.approx(slope, rel=1e-6) or math.isnan(found[1])
        assert found[2] == pytest.approx(1.0 / slope, rel=1e-6) or math.isnan(found[2])
        answered += bool(np.isfinite(found).all())
    assert answered > 40


# -- a parallelogram, flat at its change points ---------------------------------------------------


def pantograph() -> str:
    """Return a wheel, a coupler and a follower."""
    body = joint('wheel', 'base', 'a', limit=(-3.3, 3.3))
    body += joint('coupler', 'a', 'b', (0.3, 0, 0))
    body += joint('pin', 'b', 'tip', (0.4, 0, 0), kind='fixed')
    body += joint('follower', 'base', 'c', (0.4, 0, 0), limit=(-3.3, 3.3))
    body += joint('end', 'c', 'top', (0.3, 0, 0), kind='fixed')
    loop = '<loop type="hinge" frame1="tip" frame2="top" axis="0 1 0"/>'
    return robot(body, ['wheel'], ['follower'], loop, wheel=0.9, coupler=-0.9, follower=0.9)


@pytest.mark.parametrize('direction', DIRECTIONS)
@pytest.mark.parametrize('end', [0.0, math.pi])
def test_at_a_change_point_rates_are_unknown(direction: Direction, end: float) -> None:
    """On the way there all is right; there it is singular, from near and from afar."""
    live = Live(pantograph(), direction)
    name = 'follower' if direction == ACTUATOR_TO_JOINT else 'm_wheel'
    near = [end + math.copysign(10.0**-k, 0.9 - end) for k in range(2, 13)]
    rows = []
    for at in (*np.linspace(0.9, near[0], 100)[:-1], *near):
        found = live.of(live([at]), name)
        assert found[0] == pytest.approx(at, abs=1e-9) or math.isnan(found[0])
        assert found[1:] == pytest.approx([1.0, 1.0], abs=1e-6) or math.isnan(found[1])
        rows.append(found)
    assert np.isfinite(rows[:99]).all()
    for before in (near[-1], near[0], 0.9):
        live = Live(pantograph(), direction)
        live([before])
        assert np.isnan(live.of(live([end]), name)[1:]).all()
        assert 'singular' in live.reasons


# -- a platform on three legs, which has up to six assemblies -------------------------------------

GROUND = np.array([[0.0, 0.0], [1.0, 0.0], [0.35, 0.9]])
PLATE = np.array([[0.0, 0.0], [0.45, 0.0], [0.2, 0.4]])
POSE = np.array([0.3, 0.35, 0.25])


def legs(pose: Array) -> tuple[Array, Array]:
    """Return lengths and angles of the legs."""
    c, s = math.cos(pose[2]), math.sin(pose[2])
    x, z = (pose[:2] + PLATE @ np.array([[c, -s], [s, c]]) - GROUND).T
    return np.hypot(x, z), np.arctan2(x, z)


def platform() -> str:
    """Return a platform in a plane whose legs slide."""
    body = joint('x', 'base', 'x_link', axis='1 0 0', kind='prismatic', limit=(-2, 2))
    body += joint('z', 'x_link', 'z_link', axis='0 0 1', kind='prismatic', limit=(-2, 2))
    body += joint('turn', 'z_link', 'plate')
    loops, start = '', dict(zip(('x', 'z', 'turn'), POSE.tolist(), strict=True))
    for k, (length, angle) in enumerate(zip(*legs(POSE), strict=True)):
        body += joint(f'r{k}', 'base', f'b{k}', (GROUND[k, 0], 0, GROUND[k, 1]))
        body += joint(f's{k}', f'b{k}', f'e{k}', (0, 0, 0), '0 0 1', 'prismatic', (0.1, 1.6))
        body += joint(f'c{k}', 'plate', f'p{k}', (PLATE[k, 0], 0, PLATE[k, 1]), kind='fixed')
        loops += f'<loop type="point" frame1="e{k}" frame2="p{k}"/>'
        start |= {f's{k}': float(length), f'r{k}': float(angle)}
    return robot(body, ['s0', 's1', 's2'], ['x', 'z', 'turn'], loops, **start)


def is_regular(pose: Array, step: float = 1e-6) -> bool:
    """Whether the legs determine the pose there, on the start's side."""

    def determinant(at: Array) -> float:
        columns = [(legs(at + step * e)[0] - legs(at - step * e)[0]) / step for e in np.eye(3)]
        return float(np.linalg.det(np.array(columns)))

    return determinant(pose) / determinant(POSE) > 0.1


@pytest.mark.parametrize('absence', [10, 100, 1000])
@pytest.mark.parametrize('returns', ['where it left', 'elsewhere'])
def test_after_an_absence_it_is_the_last_assembly_or_none(absence: int, returns: str) -> None:
    """Poses of a walk are found from the legs, also after many samples out of reach."""
    random = np.random.default_rng(absence)
    live, counts, pose = Live(platform(), ACTUATOR_TO_JOINT), Counter[bool](), POSE
    turned = legs(POSE)[1]
    for _ in range(6):
        while not is_regular(target := POSE + random.uniform(-0.25, 0.25, 3)):
            pass
        way = [pose + share * (target - pose) for share in np.linspace(0.0, 1.0, 40)]
        if not all(is_regular(each) for each in way):
            continue
        pose = target
        for number, at in enumerate(way):
            lengths, angles = legs(at)
            # A leg that turns on and on is where it was a moment ago.
            turned = turned + np.array([math.remainder(e, math.tau) for e in angles - turned])
            # Elsewhere the first half of the way is not seen.
            if returns == 'elsewhere' and number < 20:
                continue
            rows = live(lengths.tolist())
            found = [live.of(rows, name)[0] for name in ('x', 'z', 'turn', 'r0', 'r1', 'r2')]
            is_known = bool(np.isfinite(found).all())
            counts[is_known] += 1
            if is_known:
                assert found == pytest.approx([*at, *turned], abs=1e-7)
        away = random.uniform(0.0, 1.0, 3)
        for number in range(absence):
            live(np.array([0.05, 1.5, 0.3]) + away * 0.1 * (number / absence))
    assert counts[True] > 0.9 * counts.total() > 50


# -- what a description says ----------------------------------------------------------------------

BLOCK = (
    joint('crank', 'base', 'arm')
    + joint('elbow', 'arm', 'rod', (0, 0, 0.2))
    + joint('slider', 'base', 'block', (0, 0, 0.4), '0 0 1', 'prismatic', (-0.39, 0.1))
    + joint('tip', 'rod', 'end', (0, 0, 0.2), kind='fixed')
)


def test_the_rate_of_a_passive_joint_is_bounded_as_well() -> None:
    """A crank that a slider turns, near its dead centre: what moves with it goes on."""
    loop = '<loop type="point" frame1="end" frame2="block"/>'
    text = robot(BLOCK, ['slider'], ['slider'], loop, crank=0.7, elbow=-1.4, slider=-0.094)
    live = Live(text, ACTUATOR_TO_JOINT)
    for angle in np.linspace(0.7, 0.05, 100):
        rows = live([0.4 * math.cos(angle) - 0.4])
        assert live.of(rows, 'crank')[1] == pytest.approx(-2.5 / math.sin(angle), rel=1e-6)
    assert not live.reasons
    rows = live([0.4 * math.cos(1e-3) - 0.4])
    assert live.of(rows, 'crank')[0] == pytest.approx(1e-3, rel=1e-6)
    assert math.isnan(live.of(rows, 'crank')[1])
    assert live.of(rows, 'slider')[1] == 1.0
    assert live.reasons == {'singular'}


def error(text: str) -> str:
    """Return the error that a description leads to."""
    found = RobotTransmissions(load_description(text)).findings
    (finding,) = (each for each in found if each.severity == 'error')
    return str(finding)


def test_a_start_is_met_or_an_error() -> None:
    """The joint is named, with what was given and what was found."""
    loop = '<loop type="point" frame1="end" frame2="block"/>'
    said = error(robot(BLOCK, ['crank'], ['slider'], loop, crank=0.5, elbow=2.0))
    assert "no assembly has joint 'elbow' near its <start>" in said
    assert 'expected 2' in said
    assert 'in the nearest assembly found' in said


@pytest.mark.parametrize('axis', ['', ' axis="0 0 1"'])
def test_another_axis_of_a_hinge_is_named(axis: str) -> None:
    """With the angle between those of both frames, and what the joints turn about."""
    text = pantograph().replace(' axis="0 1 0"/></transmission', '')
    text = text.replace(' axis="0 1 0"/><start', f'{axis}/><start')
    text = text.replace('"coupler" position="-0.9"', '"coupler" position="-0.2"')
    said = error(text)
    named = axis.strip()[6:-1] or '1 0 0'
    assert f"axis {named} of hinge 'tip' - 'top', " in said
    assert 'degrees between the axes of both frames at the start' in said
    assert 'its joints turn about 0 1 0' in said


def test_the_way_back_is_lost_beyond_a_dead_centre_only() -> None:
    """A block that is pushed farther than its crank leads is beyond the domain."""
    loop = '<loop type="point" frame1="end" frame2="block"/>'
    text = robot(BLOCK, ['crank'], ['slider'], loop, crank=0.7, elbow=-1.4)
    live = Live(text, JOINT_TO_ACTUATOR)
    for slider in (-0.1, -0.01, 0.01, 0.05):
        rows = live([slider])
        assert np.isfinite(rows[0]).all() == (slider < 0.0)
    assert live.reasons == {'domain'}
