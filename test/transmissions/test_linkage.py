# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linkages: solved both ways, against other derivations, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
import re

import casadi as ca
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from zoo.linkages import joint, robot, starts

from transmission_bridge import load_description
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.calls import Call
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    DIRECTIONS,
    FIELDS,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.transmissions.linkage.closures import Closures
from transmission_bridge.transmissions.linkage.linkage_transmission import LinkageTransmission
from transmission_bridge.transmissions.linkage.tree import (
    JointTree,
    linkage_joints,
    Loop,
    LOOP_TYPES,
    LoopType,
)
from transmission_bridge.transmissions.mechanism import elimination, near, step
from transmission_bridge.transmissions.mechanism.near import Near
from transmission_bridge.transmissions.report import MapReport

Array = npt.NDArray[np.float64]

# -- linkages of our own, as URDFs ----------------------------------------------------------------

#: Where a crank is that moves a block or is moved by it.
BENT = starts(crank=0.7, elbow=-1.4, slider=-0.1)


def ball(name: str, parent: str, child: str, xyz: Sequence[float] = (0.0, 0.0, 0.0)) -> str:
    """Return three revolute joints that make a ball, the last one about z."""
    return (
        joint(f'{name}_x', parent, f'{name}_link_x', xyz, (1, 0, 0))
        + joint(f'{name}_y', f'{name}_link_x', f'{name}_link_y', axis=(0, 1, 0))
        + joint(f'{name}_z', f'{name}_link_y', child, axis=(0, 0, 1))
    )


def built(text: str) -> LinkageTransmission:
    """Return the linkage of a URDF; whatever is an error is raised."""
    transmissions = transmissions_of(text)
    errors = [each for each in transmissions.findings if each.severity == 'error']
    assert not errors, '\n'.join(map(str, errors))
    (linkage,) = transmissions.transmissions.values()
    assert isinstance(linkage, LinkageTransmission)
    return linkage


def transmissions_of(text: str) -> RobotTransmissions:
    """Return the transmissions of a URDF."""
    return RobotTransmissions(load_description(text))


def five_bar(**options: str) -> str:
    """Return two cranks in a plane whose rods meet in a pin; the elbows are commanded."""
    body = (
        joint('crank_a', 'base', 'a1', (-0.1, 0, 0))
        + joint('elbow_a', 'a1', 'a2', (0, 0, 0.2), limit=(-2.5, 2.5))
        + joint('crank_b', 'base', 'b1', (0.1, 0, 0))
        + joint('elbow_b', 'b1', 'b2', (0, 0, 0.2), limit=(-2.5, 2.5))
        + joint('pin_a', 'a2', 'a3', (0, 0, 0.3), kind='fixed')
        + joint('pin_b', 'b2', 'b3', (0, 0, 0.3), kind='fixed')
    )
    half = math.asin(0.1 / 0.3)
    loops = '<loop type="hinge" frame1="a3" frame2="b3" axis="0 1 0"/>'
    start = starts(elbow_a=round(half, 3), elbow_b=round(-half, 3))
    return robot(
        body,
        {'motor_a': 'crank_a', 'motor_b': 'crank_b'},
        ('elbow_a', 'elbow_b'),
        loops + start,
        **options,
    )


#: Motor, crank, angle of the crank, rod, and the rod's end on the foot, of two legs [m, rad].
PUSH_RODS = (
    ((-0.005, 0.035, 0.25), 0.04, math.pi, 0.26, (-0.045, 0.03, -0.01)),
    ((-0.005, -0.035, 0.16), 0.04, math.pi, 0.17, (-0.045, -0.03, -0.01)),
)


def push_rod_ankle(**options: str) -> str:
    """Return two cranks in a shank whose push-rods pitch and roll a foot; rods have balls."""
    body = joint('pitch', 'base', 'cross', axis=(0, 1, 0), limit=(-0.5, 0.4))
    body += joint('roll', 'cross', 'foot', axis=(1, 0, 0), limit=(-0.3, 0.3))
    loops = ''
    for side, (motor, crank, angle, rod, foot) in zip('ab', PUSH_RODS, strict=True):
        # At actuator zero the crank is at this angle about y, from x.
        tip = (crank * math.cos(angle), 0.0, -crank * math.sin(angle))
        body += joint(f'crank_{side}', 'base', f'arm_{side}', motor, limit=(-1.2, 1.2))
        body += ball(f'ball_{side}', f'arm_{side}', f'rod_{side}', tip)
        body += joint(f'tip_{side}', f'rod_{side}', f'rod_tip_{side}', (0, 0, -rod), kind='fixed')
        body += joint(f'eye_{side}', 'foot', f'foot_eye_{side}', foot, kind='fixed')
        loops += f'<loop type="point" frame1="rod_tip_{side}" frame2="foot_eye_{side}"/>'
    return robot(
        body,
        {'motor_a': 'crank_a', 'motor_b': 'crank_b'},
        ('pitch', 'roll'),
        loops,
        **options,
    )


def with_far_balls(kind: str) -> str:
    """Return the same ankle, whose rods have two axes of a ball at their far ends as well."""
    text, axis = push_rod_ankle(), ' axis="0 0 1"' if kind == 'hinge' else ''
    for side in 'ab':
        more = joint(f'far_{side}_x', f'rod_tip_{side}', f'far_{side}', axis=(1, 0, 0))
        more += joint(f'far_{side}_y', f'far_{side}', f'end_{side}', axis=(0, 1, 0))
        text = text.replace('<ros2_control', more + '<ros2_control')
        text = text.replace(
            f'<loop type="point" frame1="rod_tip_{side}"',
            f'<loop type="{kind}"{axis} frame1="end_{side}"',
        )
    assert text.count(f'type="{kind}"') == 2
    return text


def four_bar_knee(**options: str) -> str:
    """Return a crank in the thigh that bends a knee by a rod."""
    body = (
        joint('crank', 'base', 'arm', (0.03, 0, -0.05), limit=(-0.6, 0.6))
        + joint('horn', 'arm', 'coupler_tip', (0.04, 0, 0), kind='fixed')
        + joint('knee', 'base', 'shin', (0, 0, -0.35), limit=(-0.7, 0.7))
        + joint('lever', 'shin', 'shin_pin', (0.05, 0, 0), kind='fixed')
    )
    loop = '<loop type="rod" frame1="coupler_tip" frame2="shin_pin"/>'
    return robot(body, {'motor': 'crank'}, ('knee',), loop, **options)


#: The loop of a rod's tip and a block that slides.
LINKAGE = '<loop type="point" frame1="rod_tip" frame2="block"/>'

BODY = (
    joint('crank', 'base', 'arm')
    + joint('elbow', 'arm', 'rod', (0, 0, 0.2))
    + joint('slider', 'base', 'block', (0, 0, 0.4), (0, 0, 1), 'prismatic', (-0.3, 0.3))
    + joint('tip', 'rod', 'rod_tip', (0, 0, 0.2), kind='fixed')
)


def crank_slider(loop: str, more: str = '', **options: str) -> str:
    """Return a crank whose rod moves a block."""
    return robot(BODY, {'motor': 'crank'}, ('slider',), loop, more, **options)


#: A linkage with a joint that another transmission moves.
SHARED = five_bar().replace(
    '</ros2_control>',
    '<joint name="crank_a"/><transmission name="other">'
    '<plugin>transmission_interface/SimpleTransmission</plugin>'
    '<joint name="crank_a" role="joint1"/><actuator name="m" role="actuator1"/></transmission>'
    '</ros2_control>',
)

#: Joints behind the block.
CHAIN = (
    ''.join(joint(f'j{k}', f'l{k - 1}' if k > 1 else 'block', f'l{k}') for k in range(1, 47))
    + '<ros2_control'
)


# -- what they give ------------------------------------------------------------------------------


def placed(text: str, joints: Mapping[str, float], link: str) -> Array:
    """Return where a link is, by a derivation that knows no loops."""
    description = load_description(text)
    above = {each.child: each for each in description.joints}
    result = np.eye(4)
    while link in above:
        each = above[link]
        roll, pitch, yaw = each.origin.rpy
        fixed = np.eye(4)
        fixed[:3, :3] = turn((0, 0, 1), yaw) @ turn((0, 1, 0), pitch) @ turn((1, 0, 0), roll)
        fixed[:3, 3] = each.origin.xyz
        moved = np.eye(4)
        if each.type == 'prismatic':
            moved[:3, 3] = joints[each.name] * np.array(each.axis)
        elif each.type != 'fixed':
            moved[:3, :3] = turn(each.axis, joints[each.name])
        result = fixed @ moved @ result
        link = each.parent
    return result


def turn(axis: tuple[float, ...], angle: float) -> Array:
    """Return a rotation about a unit vector."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


def alone(text: str) -> LinkageTransmission:
    """Return the linkage without its passive joints, as a transmission by itself."""
    description = load_description(text)
    transmissions = RobotTransmissions(description, passive_joints='none')
    (linkage,) = transmissions.transmissions.values()
    assert isinstance(linkage, LinkageTransmission)
    return linkage


def test_a_hinge_in_space_closes_what_a_point_closes() -> None:
    """The last axis of a ball may be that of the loop, where its rows are solved as they are."""
    hinged, other = alone(with_far_balls('hinge')), alone(push_rod_ankle())
    a = np.random.default_rng(0).uniform(-0.25, 0.25, (300, 2))
    values, rate = np.random.default_rng(1).normal(size=(2, *a.shape))
    for interface in ('position', 'velocity', 'acceleration', 'effort'):
        given = a if interface == 'position' else values
        found, expected = (
            each.map(ACTUATOR_TO_JOINT, interface, given, at=a, rate=rate)
            for each in (hinged, other)
        )
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)


#: Numbers of an actuator, also in the units of its driver, in place of those of the description.
RATIOS = st.floats(0.1, 100.0) | st.floats(-100.0, -0.1)
TURNING_UNITS = {'position_unit': 'deg', 'velocity_unit': 'rpm', 'effort_unit': 'mN m'}
SLIDING_UNITS = {'position_unit': 'mm', 'velocity_unit': 'mm/s', 'effort_unit': 'A'}


def with_actuators(draw: st.DrawFn, text: str) -> str:
    """Return a linkage whose actuators have other reductions, offsets and units."""

    def drawn(found: re.Match[str]) -> str:
        driven = re.search(r'<param name="joint">.*?</param>', found[0])
        slides = driven is not None and '>slider<' in driven[0]
        units = draw(st.sampled_from([{}, SLIDING_UNITS if slides else TURNING_UNITS]))
        constant = {'torque_constant': '0.08'} if 'A' in units.values() else {}
        return (
            f'{found[1]}<mechanical_reduction>{draw(RATIOS)!r}</mechanical_reduction>'
            f'<offset>{draw(st.floats(-0.5, 0.5))!r}</offset>{driven[0] if driven else ""}'
            + ''.join(f'<param name="{k}">{v}</param>' for k, v in (units | constant).items())
            + '</actuator>'
        )

    return re.sub(r'(<actuator name=[^>]*>).*?</actuator>', drawn, text, flags=re.DOTALL)


def own_linkages() -> dict[str, str]:
    """Return linkages of all kinds of loops, with a driven joint that is commanded and without."""
    sliding = BODY + joint('waist', 'base', 'chest', axis=(0, 0, 1))
    return {
        'five_bar': five_bar(),
        'push_rod_ankle': push_rod_ankle(),
        'hinged ankle': with_far_balls('hinge'),
        'welded ankle': with_far_balls('weld'),
        'four_bar_knee': four_bar_knee(),
        'pump': crank_slider(LINKAGE, BENT),
        'engine': robot(sliding, {'one': 'slider', 'two': 'waist'}, ('crank', 'waist'),
                        LINKAGE, BENT),
    }  # fmt: skip


@pytest.mark.parametrize('of', ['documents', *own_linkages()])
@settings(max_examples=6)
@given(data=st.data())
def test_published_joints_conserve_power_and_a_stream_is_the_map(
    linkages: dict[str, str], of: str, data: st.DataObject
) -> None:
    """With any reductions, offsets and units, both ways, for each joint that is published."""
    texts = list(linkages.values()) if of == 'documents' else [own_linkages()[of]]
    text = with_actuators(data.draw, data.draw(st.sampled_from(texts)))
    transmissions = transmissions_of(text)
    assert not [each for each in transmissions.findings if each.severity == 'error']
    (binding,) = transmissions.bindings
    linkage = binding.transmission
    assert isinstance(linkage, LinkageTransmission)
    n, report = linkage.n_actuators, MapReport()
    start = np.empty(n)
    for component, driven, _ in linkage.iterate_members():
        start[driven] = component.structure.start[list(component.structure.driven)]
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    forward, back, commands = (
        transmissions.stream(each)
        for each in (ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR, JOINT_TO_ACTUATOR)
    )
    # The first sample is sought from the table, those after it are near the last solution.
    for driven in start + np.cumsum(random.uniform(-0.01, 0.01, (5, n)), axis=0):
        a, other = (
            linkage.actuator_reduction * (each - linkage._offsets)
            for each in (driven, driven + 0.01)
        )
        given = np.array([a, *random.normal(size=(2, n))])
        joints = forward.map_state(given, report).copy()
        assert_maps(transmissions, ACTUATOR_TO_JOINT, joints, given, [a] * 3)
        powers = given[1] * given[2]
        found = joints[1] * joints[2]
        assert found[list(binding.joints)].sum() == pytest.approx(powers.sum(), rel=1e-7)
        # A driven joint that nobody commands has its motor's power, a passive one has none.
        names = [transmissions.joint_names[place] for place in binding.passive]
        motors = [
            powers[linkage._spec.driven.index(name)] if name in linkage._spec.driven else 0.0
            for name in names
        ]
        assert found[list(binding.passive)] == pytest.approx(motors, rel=1e-12, abs=0.0)
        rows = np.full(joints.shape, math.nan)
        rows[:, list(binding.joints)] = random.normal(size=(3, n))
        rows[0] = joints[0]
        moved = back.map_state(rows, report)
        assert_maps(transmissions, JOINT_TO_ACTUATOR, moved, rows, [joints[0]] * 3)
        assert np.nansum(rows[1] * rows[2]) == pytest.approx((moved[1] * moved[2]).sum(), rel=1e-7)
        measured = transmissions.actuator_to_joint('position', other)
        assert np.isfinite(measured).all()
        for row in (None, 0, 1, 2):
            asked = rows.copy()
            if row is not None:
                asked[row] = math.nan
            at = np.where(np.isnan(asked[0]), measured, asked[0])
            moved = commands.map_command(asked, measured, report)
            assert_maps(transmissions, JOINT_TO_ACTUATOR, moved, asked, [at, at, measured])
    assert not report.counts


def assert_maps(
    transmissions: RobotTransmissions,
    direction: Direction,
    found: Array,
    given: Array,
    places: Sequence[Array],
) -> None:
    """Hold rows of a stream against the map of each interface by itself."""
    for row, (interface, place) in enumerate(zip(FIELDS, places, strict=True)):
        expected = transmissions.map(direction, interface, given[row], at=place)
        assert found[row] == pytest.approx(expected, rel=1e-8, abs=1e-10, nan_ok=True), interface


def test_what_a_stream_does_not_know_is_what_the_map_does_not_know(
    linkages: dict[str, str],
) -> None:
    """Efforts where a rod is almost stretched, and angles of a ball that is locked."""
    narrow = linkages['five_bar'].replace('<loop', '<param name="max_gain">1.02</param><loop')
    for text, positions in (
        (narrow, 9.0 * np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))),
        (locked_ankle(), np.linspace(0.0, 2.0, 41)[:, np.newaxis] * LOCKED),
    ):
        transmissions, lost = transmissions_of(text), 0
        for a in positions:
            stream = transmissions.stream(ACTUATOR_TO_JOINT)
            for _ in range(2):
                rows = stream.map_state(np.array([a, a, a]), MapReport())
                assert_maps(transmissions, ACTUATOR_TO_JOINT, rows, [a, a, a], [a] * 3)
            lost += bool(np.isnan(rows).any())
        assert 0 < lost < len(positions)


@pytest.mark.parametrize(
    ('choice', 'names'),
    [
        ('none', {'pitch', 'roll'}),
        ('no_balls', {'pitch', 'roll', 'crank_a', 'crank_b'}),
        (
            'all',
            {'pitch', 'roll', 'crank_a', 'crank_b'}
            | {f'ball_{side}_{axis}' for side in 'ab' for axis in 'xyz'},
        ),
    ],
)
def test_passive_joints_are_published_as_chosen(choice: str, names: set[str]) -> None:
    """None of them is ever passed through as an actuator of its own."""
    transmissions = RobotTransmissions(
        load_description(push_rod_ankle()),
        passive_joints=choice,
    )
    assert set(transmissions.joint_names) == names
    assert transmissions.actuator_names == ('motor_a', 'motor_b')
    a = np.array([[0.1, -0.2], [0.0, 0.1]])
    q = transmissions.actuator_to_joint('position', a)
    assert np.abs(transmissions.joint_to_actuator('position', q) - a).max() < 1e-9
    assert transmissions.jacobian(a).shape == (2, len(names), 2)


@pytest.mark.parametrize('kind', ['rod', 'point'])
def test_a_loop_of_driven_joints_alone_is_refused(kind: str) -> None:
    """One of the motors cannot move without the other; a rod allows it to first order."""
    body = ''.join(
        joint(f'crank_{side}', 'base', f'arm_{side}', (0, place, 0))
        + joint(f'tip_{side}', f'arm_{side}', f'end_{side}', (0, -place, 0.2), kind='fixed')
        for side, place in (('a', 0.1), ('b', -0.1))
    )
    loop = f'<loop type="{kind}" frame1="end_a" frame2="end_b"/>'
    if kind == 'rod':
        body = body.replace('xyz="0.0 -0.1 0.2"', 'xyz="0.0 -0.2 0.2"')
    motors = {'motor_a': 'crank_a', 'motor_b': 'crank_b'}
    text = robot(body, motors, ('crank_a', 'crank_b'), loop)
    transmissions = RobotTransmissions(load_description(text))
    assert not transmissions.transmissions
    assert 'the loops block the driven joints crank_a, crank_b' in str(transmissions.findings[0])


def test_gimbal_lock_of_a_ball_costs_its_own_angles_only() -> None:
    """All else goes on; the angles are back behind it, and close the robot wherever they are."""
    text = locked_ankle()
    transmissions = transmissions_of(text)
    stream, report = transmissions.stream(ACTUATOR_TO_JOINT), MapReport()
    own = [name.startswith('ball_a') for name in transmissions.joint_names]
    lost, last = [], np.zeros(3)
    shares = np.random.default_rng(5).uniform(0.0, 2.0, 100)
    for share in (*np.linspace(0.0, 2.0, 201), *shares):
        a = share * LOCKED
        rows = stream.map_state(np.array([a, a, a]), report)
        assert np.isfinite(rows[:, ~np.array(own)]).all()
        lost.append(bool(np.isnan(rows[0, own]).any()))
        if not lost[-1]:
            joints = dict(zip(transmissions.joint_names, rows[0].tolist(), strict=True))
            tip, eye = (placed(text, joints, each) for each in ('rod_tip_a', 'foot_eye_a'))
            assert np.abs(tip[:3, 3] - eye[:3, 3]).max() < 1e-9
            assert np.abs(rows[0, own] - last).max() < math.tau
            last = rows[0, own]
    assert lost[100]
    assert 1 <= sum(lost[:201]) < 60
    assert not any(lost[:80])
    assert not any(lost[140:201])


#: Where the motors lock the ball of :func:`locked_ankle`.
LOCKED = np.array([0.1, -0.05])


def locked_ankle() -> str:
    """Return the push-rod ankle, one of whose balls has its first axis along the rod there."""
    text = push_rod_ankle()
    transmissions = transmissions_of(text)
    q = transmissions.actuator_to_joint('position', LOCKED)
    joints = dict(zip(transmissions.joint_names, q.tolist(), strict=True))
    arm, tip, ball_at = (placed(text, joints, each) for each in ('arm_a', 'rod_tip_a', 'rod_a'))
    # The first axis of the ball is along the rod there, about which it turns without effect.
    along = arm[:3, :3].T @ (ball_at[:3, 3] - tip[:3, 3])
    along /= np.linalg.norm(along)
    first = ' '.join(map(repr, along.tolist()))
    second = ' '.join(map(repr, (np.array([0.0, 1.0, 0.0]) - along[1] * along).tolist()))
    for name, axis, other in (('x', '1 0 0', first), ('y', '0 1 0', second)):
        place = text.index(f'<joint name="ball_a_{name}"')
        old = f'<axis xyz="{" ".join(repr(float(each)) for each in axis.split())}"/>'
        text = text[:place] + text[place:].replace(old, f'<axis xyz="{other}"/>', 1)
    return text


@pytest.mark.parametrize('is_locked', [True, False])
def test_what_is_lost_for_long_costs_little(is_locked: bool) -> None:
    """It is not sought in each sample; what comes back, or is elsewhere, is found."""
    short = five_bar().replace('xyz="0.0 0.0 0.3"', 'xyz="0.0 0.0 0.25"')
    stream = transmissions_of(locked_ankle() if is_locked else short).stream(ACTUATOR_TO_JOINT)
    report, near = MapReport(), np.array([0.1, 0.0])
    far, back = (LOCKED, 1.6 * LOCKED) if is_locked else (np.array([-1.3, 1.3]), near)
    for share in np.linspace(0.0, 1.0, 101):
        rows = stream.map_state(np.full((3, 2), share * far), report)
    assert np.isnan(rows[0]).any()
    made, search = [], stream._functions[False]._look.run
    stream._functions[False]._look.run = lambda: (made.append(None), search())
    for _ in range(200):
        assert np.isnan(stream.map_state(np.full((3, 2), far), report)).any()
    assert len(made) < 200 / 12
    for _ in range(step.REST + 1 if is_locked else 1):
        rows = stream.map_state(np.full((3, 2), back), report)
    assert np.isfinite(rows[0]).all()


def write_out(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Let larger systems of equations than this be factorised by calls."""
    for module, name in ((near, 'WRITTEN_OUT'), (near, 'BY_MINORS'), (elimination, 'BY_MINORS')):
        monkeypatch.setattr(module, name, rows)


@pytest.mark.parametrize('written_out', [12, 1, 0])
def test_a_robot_answers_its_linkage_beside_all_else(
    written_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written out or by factorisations, a stream is each transmission by itself."""
    write_out(monkeypatch, written_out)
    more = '<!-- made anew -->' if written_out else ' <!-- made anew -->'
    text = push_rod_ankle().replace(
        '</ros2_control>',
        f'{more}<joint name="neck"/><transmission name="neck">'
        '<plugin>transmission_interface/SimpleTransmission</plugin><joint name="neck" '
        'role="joint1"><mechanical_reduction>-4</mechanical_reduction></joint>'
        '<actuator name="neck_motor" role="actuator1"/></transmission></ros2_control>',
    )
    body = joint('neck', 'base', f'head_{written_out}', (0, 0, 0.5), (0, 0, 1))
    transmissions = transmissions_of(text.replace('<ros2_control', body + '<ros2_control', 1))
    assert not [each for each in transmissions.findings if each.severity == 'error']
    random = np.random.default_rng(8)
    for direction in DIRECTIONS:
        stream, report = transmissions.stream(direction), MapReport()
        for _ in range(30):
            a = random.uniform(-0.3, 0.3, 3)
            at = (
                a
                if direction == ACTUATOR_TO_JOINT
                else transmissions.actuator_to_joint('position', a)
            )
            rates, efforts = random.normal(size=(2, len(at)))
            found = stream.map_state(np.array([at, rates, efforts]), report)
            for row, (name, values) in enumerate(
                (('position', at), ('velocity', rates), ('effort', efforts))
            ):
                alone_found = transmissions.map(direction, name, values, at=at)
                assert found[row] == pytest.approx(alone_found, rel=1e-8, abs=1e-8)
        assert not report.counts


def test_a_singular_position_leaves_nothing_of_the_call_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a matrix that cannot be factorised comes NaN, which is no solution."""
    write_out(monkeypatch, 0)
    text = five_bar().replace('link name="base"', 'link name="base" ')
    (component,) = built(text.replace('"a2"', '"a2_anew"')).components
    forward = component.compile_direction(True)
    places = [*forward.near.unknown, *forward.near.given]
    enter, start = Call(forward.enter_function), component.structure.start
    flat = start.copy()
    names = component.structure.names
    # Both rods in one line: the pin is at the dead centre of both.
    flat[[names.index('elbow_a'), names.index('elbow_b')]] = 0.5 * math.pi, -0.5 * math.pi
    there = [
        enter(each[places], *component._get_fixed(forward))[1][0] for each in (start, flat, start)
    ]
    assert there == [1.0, 0.0, 1.0]


def test_the_length_of_a_rod_is_live_and_by_default_that_of_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A longer rod is another linkage, in streams as well; a length that cannot be is refused."""
    text = four_bar_knee()
    transmissions = transmissions_of(text)
    (tunable,) = (each for each in transmissions.tunables['linkage'] if each.path[0] == 'loops')
    assert tunable.path == ('loops', '1', 'length')
    assert tunable.value == pytest.approx(math.hypot(0.02, 0.3), abs=1e-12)
    for direction in DIRECTIONS:
        transmissions.stream(direction)
    monkeypatch.setattr(Near, '_compile_function', None)  # nothing is compiled for it
    longer = transmissions.with_parameters({'linkage.loops.1.length': tunable.value + 0.002})
    monkeypatch.undo()
    again = transmissions_of(
        text.replace(
            'frame2="shin_pin"/>', f'frame2="shin_pin" length="{tunable.value + 0.002}"/>'
        )
    )
    knee = transmissions.joint_names.index('knee')
    for angle in (-0.3, 0.0, 0.4):
        found, expected, before = (
            each.actuator_to_joint('position', [angle]) for each in (longer, again, transmissions)
        )
        assert found == pytest.approx(expected, abs=1e-10)
        assert abs(found[knee] - before[knee]) > 1e-3
    # Also where the compiled function leaves a sample open: the first one, and after jumps.
    for direction in DIRECTIONS:
        stream, report = longer.stream(direction), MapReport()
        n = 1 if direction == ACTUATOR_TO_JOINT else len(longer.joint_names)
        for a in (0.0, 0.0, 0.4, -0.3, 0.01):
            rows = np.full((3, n), a)
            assert_maps(longer, direction, stream.map_state(rows, report), rows, [rows[0]] * 3)
        assert not report.counts
    with pytest.raises(Exception, match='positive'):
        transmissions.with_parameters({'linkage.loops.1.length': -1.0})


def test_what_was_found_of_a_linkage_is_said() -> None:
    """Unknowns, equations, rank, mobility, and the joints that are idle and held."""
    facts = '\n'.join(built(push_rod_ankle()).facts())
    assert '8 unknowns, 6 equations of rank 6; mobility 4, of which 2 idle' in facts
    assert 'driven crank_a, crank_b; commanded pitch, roll' in facts
    assert built(push_rod_ankle()).doubts() == ()
    narrow = push_rod_ankle().replace('lower="-0.3" upper="0.3"', 'lower="0.2" upper="0.3"')
    (doubt,) = built(narrow).doubts()
    assert 'limits exclude the start' in doubt
    assert 'roll is at' in doubt
    (finding,) = transmissions_of(narrow).findings
    assert (finding.severity, finding.subject) == ('warning', 'linkage')
    assert doubt in finding.message


@pytest.mark.parametrize('kind', LOOP_TYPES)
def test_slopes_of_loops_are_their_derivatives(kind: LoopType) -> None:
    """Away from where they close as well, with sliding, skew and mimicking joints."""
    turn = (0.3, -0.7, 1.1)
    body = (
        joint('a', 'base', 'a_link', (0.1, 0.2, 0), (0, 1, 0))
        + joint('b', 'a_link', 'b_link', (0, 0.1, 0.3), (1, -2, 0.5), rpy=turn)
        + joint('c', 'b_link', 'c_link', (0.2, 0, 0), (0, 1, 1), 'prismatic')
        + joint('d', 'c_link', 'tip', (0, 0.1, 0.1), more='<mimic joint="a" multiplier="-0.5"/>')
        + joint('e', 'base', 'e_link', (0.4, 0, 0), (0, 0, 1), rpy=turn)
        + joint('f', 'e_link', 'end', (0, 0.3, 0.2), (2, 1, 0))
    )
    description = load_description(robot(body, {}, (), ''))
    tree = JointTree(description.joints, description.links)
    variables: dict[str, int] = {}
    loop = Loop(kind, 'tip', 'end', tuple(np.array([1.0, 2.0, 3.0]) / math.sqrt(14.0)), 0.4)
    path = tree.find_path(loop, variables)
    closures = Closures([path], {}, np.zeros(len(variables)))
    slope = ca.jacobian(closures.rows, closures.z)
    function = ca.Function('f', [closures.z, closures.lengths], [closures.slope, slope])
    for z in np.random.default_rng(3).uniform(-2.0, 2.0, (50, len(variables))):
        found, expected = (each.full() for each in function(z, 0.4))
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-14)


def test_a_chain_of_mimic_joints_belongs_to_the_linkage() -> None:
    """The joint at its end is that of the linkage, which nothing else may drive."""
    body = BODY + joint('shadow', 'arm', 's_link', more='<mimic joint="elbow"/>')
    body += joint('far_shadow', 's_link', 'f_link', more='<mimic joint="shadow"/>')
    loop = LINKAGE.replace('rod_tip', 'f_link')
    description = load_description(robot(body, {'motor': 'crank'}, ('slider',), loop))
    (spec,) = description.transmissions
    assert {'far_shadow', 'shadow', 'elbow'} <= linkage_joints(description, spec)


def test_the_rate_of_a_passive_joint_is_bounded_as_well() -> None:
    """A crank that a slider turns, near its dead centre: what moves with it goes on."""
    transmissions = transmissions_of(robot(BODY, {'motor': 'slider'}, ('slider',), LINKAGE, BENT))
    stream, report = transmissions.stream(ACTUATOR_TO_JOINT), MapReport()
    crank, slider = (transmissions.joint_names.index(name) for name in ('crank', 'slider'))
    for angle in np.linspace(0.7, 0.05, 100):
        rows = stream.map_state(np.array([[0.4 * math.cos(angle) - 0.4], [1.0], [1.0]]), report)
        assert rows[1, crank] == pytest.approx(-2.5 / math.sin(angle), rel=1e-6)
    assert not report.counts
    rows = stream.map_state(np.array([[0.4 * math.cos(1e-3) - 0.4], [1.0], [1.0]]), report)
    assert rows[0, crank] == pytest.approx(1e-3, rel=1e-6)
    assert math.isnan(rows[1, crank])
    assert rows[1, slider] == 1.0
    assert {reason for _, reason in report.counts} == {'singular'}


def test_the_way_back_is_lost_beyond_a_dead_centre_only() -> None:
    """A block that is pushed farther than its crank leads is beyond the domain."""
    transmissions = transmissions_of(crank_slider(LINKAGE, BENT))
    stream, report = transmissions.stream(JOINT_TO_ACTUATOR), MapReport()
    for slider in (-0.1, -0.01, 0.01, 0.05):
        rows = np.full((3, len(transmissions.joint_names)), math.nan)
        rows[:, transmissions.joint_names.index('slider')] = slider, 1.0, 1.0
        assert np.isfinite(stream.map_state(rows, report)[0]).all() == (slider < 0.0)
    assert {reason for _, reason in report.counts} == {'domain'}


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        (crank_slider('<loop type="point" frame1="block" frame2="block"/>'), 'to itself'),
        (crank_slider('<loop type="point" frame1="rod" frame2="rod_tip"/>'), 'no joint moves'),
        (crank_slider('<loop type="glue" frame1="rod_tip" frame2="block"/>'), 'unknown type'),
        (crank_slider('<loop type="point" frame1="rod_tip"/>'), 'no frame2'),
        (crank_slider('<loop type="rod" frame1="rod_tip" frame2="block" length="0"/>'), 'length'),
        (crank_slider('<loop type="hinge" frame1="rod_tip" frame2="block" axis="0 0"/>'), 'axis'),
        (crank_slider(LINKAGE, '<start joint="neck" position="0"/>'), "'neck' is not a joint"),
        (crank_slider(LINKAGE, '<start joint="rod" position="0"/>'), "its joint 'elbow', because"),
        (
            crank_slider(LINKAGE).replace(
                '"slider" role="joint1"/>', '"slider" role="joint1"><offset>0.1</offset></joint>'
            ),
            'has an offset',
        ),
        (
            crank_slider(LINKAGE).replace('>crank<', '>arm<'),
            "its joint 'crank', because 'arm' is a",
        ),
        (
            crank_slider(LINKAGE, '<start joint="elbow" position="57"/>'),
            '57 rad; 57 degrees are 0.994838 rad',
        ),
        (
            crank_slider(LINKAGE).replace(
                'rod_tip"/><origin xyz="0.0 0.0 0.2', 'rod_tip"/><origin xyz="0 0 200'
            ),
            'check its frames and all <origin>s between them',
        ),
        (
            crank_slider(LINKAGE.replace('block', 'far'))
            .replace('</link>', '')
            .replace(
                '<ros2_control',
                joint('away', 'block', 'far', (9, 0, 0), kind='fixed') + '<ros2_control',
            ),
            'does not close',
        ),
        (SHARED, 'in this linkage'),
        (crank_slider(LINKAGE * 33), 'at most 96 in a part that moves by itself, found 99'),
        (
            five_bar().replace(
                '<loop', '<loop type="point" frame1="a3" frame2="b3"/>' * 31 + '<loop'
            ),
            'at most 96 in a part',
        ),
        (
            crank_slider(LINKAGE.replace('block', 'l46')).replace('<ros2_control', CHAIN),
            'at most 48 in a part that moves by itself, found 49',
        ),
    ],
)
def test_what_cannot_be_used_is_a_finding_of_use(text: str, said: str) -> None:
    """It names the loop or the joint, and nothing is passed through in its place."""
    transmissions = transmissions_of(text)
    errors = [str(each) for each in transmissions.findings if each.severity == 'error']
    assert any(said in each for each in errors), errors
    assert not any('Traceback' in each for each in errors), errors
    assert 'linkage' not in transmissions.transmissions
    assert 'crank' not in transmissions.pass_through


def hinged_knee(axis: str, horn: Sequence[float], tilt: float) -> str:
    """Return a knee bent by a rod, which begins at the horn and has a hinge at its end."""
    lever = np.array([0.05, 0.0, -0.35])
    body = (
        joint('crank', 'base', 'arm', (0, 0, -0.05))
        + joint('elbow', 'arm', 'rod', horn)
        + joint(
            'tip', 'rod', 'rod_tip', lever - (0, 0, -0.05) - horn, (), 'fixed', rpy=(0, tilt, 0)
        )
        + joint('knee', 'base', 'shin', (0, 0, -0.35))
        + joint('lever', 'shin', 'shin_pin', (0.05, 0, 0), kind='fixed')
    )
    loop = f'<loop type="hinge" frame1="rod_tip" frame2="shin_pin" axis="{axis}"/>'
    return robot(body, {'motor': 'crank'}, ('knee',), loop)


@pytest.mark.parametrize('axis', ['1 0 0', '0 0 1', '0 1 0.1'])
@pytest.mark.parametrize(
    ('horn', 'tilt'),
    [((0.04, 0.0, 0.0), 0.0), ((0.04, 0.0, 0.0), 0.2), ((0.0, 0.0, -0.04), 0.0)],
)
def test_a_hinge_of_another_axis_is_refused(axis: str, horn: Sequence[float], tilt: float) -> None:
    """The rod cannot turn, even if the kept rows are regular, or all rows are at the start."""
    (finding,) = transmissions_of(hinged_knee(axis, horn, tilt)).findings
    assert finding.severity == 'error'
    assert 'the loops block the driven joints crank' in finding.message
    assert 'a wrong axis' in finding.expected
    assert built(hinged_knee('0 1 0', horn, tilt))


@pytest.mark.parametrize(
    'loop', [LINKAGE.replace('"block"', '"blok"'), LINKAGE.replace('rod_tip', 'rod_tp')]
)
def test_a_misspelt_frame_costs_its_own_linkage_only(loop: str) -> None:
    """A linkage and a joint above it are used, whichever frame it is, and the frame is named."""
    knee = four_bar_knee()
    above = knee[knee.index('<link name="base"/>') : knee.index('<ros2_control')]
    for name in ('base', 'crank', 'arm'):
        above = above.replace(f'"{name}"', f'"upper_{name}"')
    above += joint('ankle', 'shin', 'base') + joint('hand', 'base', 'palm')
    upper = knee[knee.index('<transmission') : knee.index('</ros2_control>')]
    upper = upper.replace('>crank<', '>upper_crank<').replace('"linkage"', '"upper"')
    upper = upper.replace('"motor"', '"upper_motor"')
    text = crank_slider(loop).replace('<link name="base"/>', above)
    text = text.replace('<transmission', '<joint name="knee"/>' + upper + '<transmission')
    transmissions = transmissions_of(text)
    assert set(transmissions.transmissions) == {'upper'}
    assert {'ankle', 'hand'} <= set(transmissions.pass_through)
    (finding,) = transmissions.findings
    assert finding.subject == 'linkage'
    assert 'is not a link of this URDF (closest: ' in finding.message


def test_a_joint_that_cannot_be_read_costs_the_linkage_around_it() -> None:
    """Without the joint, the frames of the loop have no common link: its place is unknown."""
    mount = joint('mount', 'base', 'stand', (0.0, 0.0, 0.02), kind='fixed')
    knee = four_bar_knee()
    text = knee.replace('<parent link="base"/>', '<parent link="stand"/>', 1)
    text = text.replace('<link name="base"/>', f'<link name="base"/>{mount}', 1)
    assert built(text)
    robot = transmissions_of(text.replace('xyz="0.0 0.0 0.02"', 'xyz="x 0 0.02"', 1))
    assert not robot.transmissions
    _, finding = robot.findings
    assert 'not connected' in finding.message
    assert finding.found in ("'base' and 'stand'", "'stand' and 'base'")


def test_a_driven_joint_may_be_outside_of_all_loops() -> None:
    """It is commanded itself, moves by itself, and is unknown by itself."""
    body = BODY + joint('waist', 'base', 'chest', axis=(0, 0, 1))
    more = '<start joint="crank" position="0.5"/><start joint="elbow" position="-1.0"/>'
    text = robot(body, {'one': 'waist', 'two': 'crank'}, ('slider', 'waist'), LINKAGE, more)
    transmissions = transmissions_of(text)
    names = transmissions.joint_names
    found = dict(zip(names, transmissions.actuator_to_joint('position', [0.3, 0.6]), strict=True))
    assert found['waist'] == pytest.approx(0.3)
    assert found['slider'] == pytest.approx(0.4 * math.cos(0.6) - 0.4)
    rows = np.array([[np.nan, 0.6], [1.0, 1.0], [1.0, 1.0]])
    streamed = transmissions.stream(ACTUATOR_TO_JOINT).map_state(rows, MapReport())
    known = {name for name, value in zip(names, streamed[0], strict=True) if np.isfinite(value)}
    assert known == {'slider', 'crank', 'elbow'}
