# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linkages: what they give both ways, against other derivations, and what is said of them."""

from itertools import product
import math
import re

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from zoo import mechanisms
from zoo.elements import load, ratio, transmission
from zoo.linkages import (
    BENT,
    CRANK_AND_BLOCK,
    crank_slider,
    joint,
    POINT,
    robot,
    with_balls,
    with_far_balls,
)

from transmission_bridge import load_description
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, DIRECTIONS, FIELDS, JOINT_TO_ACTUATOR
from transmission_bridge.kinematics import JointDevice
from transmission_bridge.transmissions.compiled import CasadiCall
from transmission_bridge.transmissions.domain import MapReport
from transmission_bridge.transmissions.linkage.linkage_transmission import LinkageTransmission
from transmission_bridge.transmissions.linkage.tree import (
    list_linkage_joints,
)
from transmission_bridge.transmissions.mechanism import (
    block_system,
    corrector,
)
from transmission_bridge.transmissions.mechanism.corrector import Corrector

WORKED = ('four_bar_knee', 'five_bar', 'push_rod_ankle')


def maps(text, passive_joints='all'):
    """Return the maps of a robot, in which no error is found."""
    found = load(text, passive_joints=passive_joints)
    assert [str(each) for each in found.findings if each.severity == 'error'] == []
    return found


def linkage_of(text, passive_joints='none'):
    """Return the only transmission of a robot."""
    (linkage,) = maps(text, passive_joints).transmissions.values()
    assert isinstance(linkage, LinkageTransmission)
    return linkage


# -- against other derivations -------------------------------------------------------------------


def assert_same(one, other, at, direction):
    """Hold the maps of all interfaces against those of another transmission."""
    values, rate = np.random.default_rng(1).normal(size=(2, *at.shape))
    where = {'at': at, 'rate': rate}
    for interface in ('position', 'velocity', 'acceleration', 'effort'):
        numbers = at if interface == 'position' else values
        expected, found = (t.map(direction, interface, numbers, **where) for t in (one, other))
        known = np.isfinite(expected).all(axis=1)
        assert known.mean() > 0.995
        assert np.array_equal(np.isfinite(found).all(axis=1), known)  # beyond the reach of a rod
        scale = np.maximum(1.0, np.abs(expected[known]).max(axis=1, keepdims=True))
        assert (np.abs(found - expected)[known] / scale).max() < 1e-9, interface


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_the_push_rod_ankle_is_the_parallel_ankle(linkages, direction):
    """Joints of a URDF and an equation of its own agree all over their ranges."""
    limits = {'lower': (-0.9, -0.4), 'upper': (0.6, 0.4)}
    legs = mechanisms.LEFT, mechanisms.RIGHT
    ankle = mechanisms.ankle(*legs, **limits, actuator_reduction=(15.0, 15.0))
    at = np.random.default_rng(0).uniform(*limits.values(), (2_010, 2))
    if direction == ACTUATOR_TO_JOINT:
        at = ankle.joint_to_actuator('position', at)
    assert_same(ankle, linkage_of(linkages['push_rod_ankle']), at, direction)


@pytest.mark.parametrize('kind', ['hinge', 'weld'])
def test_a_hinge_and_a_weld_in_space_close_what_a_point_closes(linkages, kind):
    """The last axis of a ball may be that of the loop, where its rows are solved as they are."""
    text, at = linkages['push_rod_ankle'], np.random.default_rng(0).uniform(-0.25, 0.25, (300, 2))
    point, other = (linkage_of(each) for each in (with_balls(text), with_far_balls(text, kind)))
    assert_same(point, other, at, ACTUATOR_TO_JOINT)


@pytest.mark.parametrize('name', WORKED)
def test_accelerations_of_all_joints_are_the_differences_of_velocities(linkages, name):
    """Of passive joints as well, along a motion ``a + t a' + t^2 a'' / 2``."""
    transmissions, step = maps(linkages[name]), 1e-4
    n = len(transmissions.actuator_names)
    place, rate, change = np.random.default_rng(3).uniform(-3.0, 3.0, (3, 20, n))
    found = transmissions.map(ACTUATOR_TO_JOINT, 'acceleration', change, at=place, rate=rate)
    total = 0.0
    for t in (-step, step):
        at = place + t * rate + 0.5 * t * t * change
        total += transmissions.actuator_to_joint('velocity', rate + t * change, at=at) / t
    assert np.isfinite(found).all()
    assert np.abs(found - total / 2.0).max() <= 1e-6 * np.abs(found).max()


# -- streams, and all joints that are published --------------------------------------------------


@st.composite
def with_actuators(draw, texts):
    """Return a linkage whose actuators have other reductions and offsets."""
    ratios = st.floats(0.1, 100.0) | st.floats(-100.0, -0.1)
    text = re.sub(r'<(mechanical_reduction|offset)>.*?</\1>', '', draw(texts))
    first, *actuators = text.split('</actuator>')
    for each in actuators:
        first += f'{ratio(draw(ratios), draw(st.floats(-0.5, 0.5)))}</actuator>{each}'
    return first


def assert_maps(
    transmissions,
    direction,
    found,
    given,
    places=None,
):
    """Hold rows of a stream against the map of each interface by itself, at the positions."""
    for row, (interface, place) in enumerate(zip(FIELDS, places or [given[0]] * 3, strict=True)):
        expected = transmissions.map(direction, interface, given[row], at=place)
        assert found[row] == pytest.approx(expected, rel=1e-8, abs=1e-10, nan_ok=True), interface


CHEST = CRANK_AND_BLOCK + joint('waist', 'base', 'chest', axis=(0, 0, 1))
ENGINE = robot(CHEST, {'one': 'slider', 'two': 'waist'}, ('crank', 'waist'), POINT, BENT)

#: All kinds of loops, with a driven joint that is commanded and without.
OF_ALL_KINDS = {
    'documents': lambda linkages: linkages.values(),
    'ankle with balls': lambda linkages: [with_balls(linkages['push_rod_ankle'])],
    'hinged ankle': lambda linkages: [with_far_balls(linkages['push_rod_ankle'], 'hinge')],
    'welded ankle': lambda linkages: [with_far_balls(linkages['push_rod_ankle'], 'weld')],
    'pump': lambda linkages: [crank_slider(more=BENT)],
    'engine': lambda linkages: [ENGINE],
}


@pytest.mark.parametrize('of', OF_ALL_KINDS)
@settings(max_examples=6)
@given(data=st.data())
def test_published_joints_conserve_power_and_a_stream_is_the_map(linkages, of, data):
    """With any reductions and offsets, both ways, for each joint that is published."""
    texts = st.sampled_from(list(OF_ALL_KINDS[of](linkages)))
    transmissions = maps(data.draw(with_actuators(texts)))
    (binding,) = transmissions.bindings
    linkage, report = binding.transmission, MapReport()
    n = linkage.n_actuators
    start = np.empty(n)
    for component, driven, _ in linkage.iterate_members():
        start[driven] = component.structure.start[list(component.structure.driven)]
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    forward = transmissions.stream(ACTUATOR_TO_JOINT)
    back, commands = (transmissions.stream(JOINT_TO_ACTUATOR) for _ in range(2))
    # The first sample is sought from the table, those after it are near the last solution.
    for driven in start + np.cumsum(random.uniform(-0.01, 0.01, (5, n)), axis=0):
        a = linkage.actuator_reduction * (driven - linkage._offsets)
        other = linkage.actuator_reduction * (driven + 0.01 - linkage._offsets)
        given = np.array([a, *random.normal(size=(2, n))])
        joints = forward.map_state(given, report).copy()
        assert_maps(transmissions, ACTUATOR_TO_JOINT, joints, given)
        powers = given[1] * given[2]
        found = joints[1] * joints[2]
        assert found[list(binding.joints)].sum() == pytest.approx(powers.sum(), rel=1e-7)
        # A driven joint that nobody commands has its motor's power, a passive one has none.
        motors = dict(zip(linkage._spec.driven, powers, strict=True))
        names = [transmissions.joint_names[place] for place in binding.passive]
        motors = [motors.get(name, 0.0) for name in names]
        assert found[list(binding.passive)] == pytest.approx(motors, rel=1e-12, abs=0.0)
        rows = np.full(joints.shape, math.nan)
        rows[:, list(binding.joints)] = random.normal(size=(3, n))
        rows[0] = joints[0]
        moved = back.map_state(rows, report)
        assert_maps(transmissions, JOINT_TO_ACTUATOR, moved, rows)
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


def write_out(monkeypatch, rows):
    """Let larger systems of equations than this be factorised by calls."""
    for module, name in product((block_system, corrector), ('WRITTEN_OUT', 'BY_MINORS')):
        monkeypatch.setattr(module, name, rows)


@pytest.mark.parametrize('written_out', [12, 1, 0])
def test_a_robot_answers_its_linkage_beside_all_else(linkages, written_out, monkeypatch):
    """Written out or by factorisations, a stream is each transmission by itself."""
    write_out(monkeypatch, written_out)
    # Another name of a link is another linkage, which is made anew.
    body = joint('neck', 'shank', f'head_{written_out}', (0, 0, 0.5), (0, 0, 1))
    neck = transmission('neck', 'Simple', {'neck': ratio(-4)}, ['neck_motor'])
    text = with_balls(linkages['push_rod_ankle']).replace('<ros2_control', body + '<ros2_control')
    text = text.replace('</ros2_control>', f'<joint name="neck"/>{neck}</ros2_control>')
    transmissions = maps(text.replace('"upper_crank"', f'"upper_crank_{written_out}"'))
    random = np.random.default_rng(8)
    for direction in DIRECTIONS:
        stream, report = transmissions.stream(direction), MapReport()
        for _ in range(30):
            at = random.uniform(-0.3, 0.3, 3)
            if direction == JOINT_TO_ACTUATOR:
                at = transmissions.actuator_to_joint('position', at)
            rows = np.array([at, *random.normal(size=(2, len(at)))])
            assert_maps(transmissions, direction, stream.map_state(rows, report), rows)
        assert not report.counts


def test_a_singular_position_leaves_nothing_of_the_call_before(linkages, monkeypatch):
    """Of a matrix that cannot be factorised comes NaN, which is no solution."""
    write_out(monkeypatch, 0)
    (component,) = linkage_of(linkages['five_bar'].replace('"thigh"', '"anew"')).components
    forward, fixed = component._fix_direction(True)
    places = [*forward.corrector.unknown, *forward.corrector.given]
    enter, start = CasadiCall(forward.continuation.enter_function), component.structure.start
    flat = start.copy()
    # The lever of the knee and its rod are in one line.
    flat[component.structure.names.index('knee')] = 0.5 * math.pi
    assert [enter(each[places], *fixed)[1][0] for each in (start, flat, start)] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(('choice', 'more'), [
    ('none', set()),
    ('all', {f'{side}_{part}' for side in ('upper', 'lower')
             for part in ('motor', 'rod_x', 'rod_y', 'rod_z')}),
])  # fmt: skip
def test_passive_joints_are_published_as_chosen(linkages, choice, more):
    """None of them is ever passed through as an actuator of its own."""
    transmissions = maps(with_balls(linkages['push_rod_ankle']), choice)
    assert set(transmissions.joint_names) == {'ankle_pitch', 'ankle_roll'} | more
    assert transmissions.actuator_names == ('upper_motor', 'lower_motor')


def test_a_driven_joint_may_be_outside_of_all_loops():
    """It is commanded itself, moves by itself, and is unknown by itself."""
    driven = {'one': 'waist', 'two': 'crank'}
    transmissions = maps(robot(CHEST, driven, ('slider', 'waist'), POINT, BENT))
    names = transmissions.joint_names
    found = dict(zip(names, transmissions.actuator_to_joint('position', [0.3, 0.6]), strict=True))
    assert found['waist'] == pytest.approx(0.3)
    assert found['slider'] == pytest.approx(0.4 * math.cos(0.6) - 0.4)
    rows = np.array([[np.nan, 0.6], [1.0, 1.0], [1.0, 1.0]])
    streamed = transmissions.stream(ACTUATOR_TO_JOINT).map_state(rows, MapReport())
    known = {name for name, value in zip(names, streamed[0], strict=True) if np.isfinite(value)}
    assert known == {'slider', 'crank', 'elbow'}


def test_a_chain_of_mimic_joints_belongs_to_the_linkage():
    """The joint at its end is that of the linkage, which nothing else may drive."""
    body = CRANK_AND_BLOCK + joint('shadow', 'arm', 's_link', more='<mimic joint="elbow"/>')
    body += joint('far_shadow', 's_link', 'f_link', more='<mimic joint="shadow"/>')
    loop = POINT.replace('rod_tip', 'f_link')
    description = load_description(robot(body, {'motor': 'crank'}, ('slider',), loop))
    (spec,) = description.transmissions
    assert {'far_shadow', 'shadow', 'elbow'} <= list_linkage_joints(description, spec)


def test_the_length_of_a_rod_is_live_and_by_default_that_of_the_start(linkages, monkeypatch):
    """A longer rod is another linkage, in streams as well; a length that cannot be is refused."""
    text = linkages['four_bar_knee']
    transmissions = maps(text)
    name = 'knee_linkage.loops.1.length'
    length = transmissions.parameters[name].value
    assert length == pytest.approx(math.hypot(0.02, 0.3), abs=1e-12)
    for direction in DIRECTIONS:
        transmissions.stream(direction)
    monkeypatch.setattr(Corrector, '_compile_function', None)  # nothing is compiled for it
    longer = transmissions.with_parameters({name: length + 0.002})
    monkeypatch.undo()
    again = maps(text.replace('frame2="lever"', f'frame2="lever" length="{length + 0.002}"'))
    knee = transmissions.joint_names.index('knee')
    for angle in (-4.8, 0.0, 6.4):
        found, expected, before = (
            each.actuator_to_joint('position', [angle]) for each in (longer, again, transmissions)
        )
        assert found == pytest.approx(expected, abs=1e-10)
        assert abs(found[knee] - before[knee]) > 1e-3
    # Also where the compiled function leaves a sample open: the first one, and after jumps.
    for direction in DIRECTIONS:
        stream, report = longer.stream(direction), MapReport()
        n, ratio = (1, 16.0) if direction == ACTUATOR_TO_JOINT else (len(longer.joint_names), 1.0)
        for a in (0.0, 0.0, 0.4, -0.3, 0.01):
            rows = np.full((3, n), ratio * a)
            assert_maps(longer, direction, stream.map_state(rows, report), rows)
        assert not report.counts
    with pytest.raises(Exception, match='positive'):
        transmissions.with_parameters({name: -1.0})


# -- dead centres and locks ----------------------------------------------------------------------


@pytest.mark.parametrize('name', WORKED)
def test_beyond_dead_centres_nothing_is_answered_that_does_not_come_back(linkages, name):
    """Two motors that are both beyond theirs leave the determinant of all the same sign."""
    text = linkages[name].replace('<loop', '<param name="max_gain">1e6</param><loop', 1)
    linkage = linkage_of(text)
    n, domain = linkage.n_actuators, linkage.domain
    actuators = np.random.default_rng(0).uniform(domain.lower, domain.upper, (300, n))
    joints = linkage.map(ACTUATOR_TO_JOINT, 'position', actuators)
    answered = np.isfinite(joints).all(axis=1)
    assert answered.sum() > 50
    back = linkage.map(JOINT_TO_ACTUATOR, 'position', joints[answered])
    assert np.allclose(back, actuators[answered], rtol=0.0, atol=1e-7)


def test_the_rate_of_a_passive_joint_is_bounded_as_well():
    """A crank that a slider turns, near its dead centre: what moves with it goes on."""
    transmissions = maps(robot(CRANK_AND_BLOCK, {'motor': 'slider'}, ('slider',), POINT, BENT))
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


def placed(text, joints, link):
    """Return how a link is turned and where it is, by a derivation that knows no loops."""
    device = JointDevice.from_description(load_description(text), base='shank', end=link)
    pose = device.base_t_end([joints[name] for name in device.joint_names])
    return pose[:3, :3], pose[:3, 3]


#: Where the motors lock the ball of :func:`locked_ankle`.
LOCKED = np.array([0.1, -0.05])


def locked_ankle(text):
    """Return the ankle with balls, one of which has its first axis along the rod there."""
    text = with_balls(text)
    transmissions = maps(text)
    q = transmissions.actuator_to_joint('position', LOCKED)
    joints = dict(zip(transmissions.joint_names, q.tolist(), strict=True))
    (arm, _), (_, tip), (_, rod) = (
        placed(text, joints, f'upper_{each}') for each in ('crank', 'tip', 'rod')
    )
    along = arm.T @ (rod - tip)
    along /= np.linalg.norm(along)
    # About the first axis the rod turns without effect there; the second one is across.
    across = np.array([0.0, 1.0, 0.0]) - along[1] * along
    for name, old, new in (('y', '0 1 0', along), ('x', '1 0 0', across)):
        before, after = text.split(f'<joint name="upper_rod_{name}"')
        after = after.replace(f'xyz="{old}"', f'xyz="{" ".join(map(repr, new.tolist()))}"', 1)
        text = f'{before}<joint name="upper_rod_{name}"{after}'
    return text


def test_gimbal_lock_of_a_ball_costs_its_own_angles_only(linkages):
    """All else goes on; the angles are back behind it, and close the robot wherever they are."""
    text = locked_ankle(linkages['push_rod_ankle'])
    transmissions = maps(text)
    stream, report = transmissions.stream(ACTUATOR_TO_JOINT), MapReport()
    own = np.array([name.startswith('upper_rod') for name in transmissions.joint_names])
    lost, last = [], np.zeros(3)
    for share in (*np.linspace(0.0, 2.0, 201), *np.random.default_rng(5).uniform(0.0, 2.0, 100)):
        a = share * LOCKED
        rows = stream.map_state(np.array([a, a, a]), report)
        assert np.isfinite(rows[:, ~own]).all()
        lost.append(bool(np.isnan(rows[0, own]).any()))
        if not lost[-1]:
            joints = dict(zip(transmissions.joint_names, rows[0].tolist(), strict=True))
            (_, tip), (_, eye) = (placed(text, joints, f'upper_{e}') for e in ('tip', 'ball'))
            assert np.abs(tip - eye).max() < 1e-9
            assert np.abs(rows[0, own] - last).max() < math.tau
            last = rows[0, own]
    assert lost[100]
    assert 1 <= sum(lost[:201]) < 60
    assert not any(lost[:80])
    assert not any(lost[140:201])


def test_what_a_stream_does_not_know_is_what_the_map_does_not_know(linkages):
    """Efforts where a rod is almost stretched, and angles of a ball that is locked."""
    narrow = linkages['five_bar'].replace('<loop', '<param name="max_gain">1.02</param><loop')
    for text, positions in (
        (narrow, 9.0 * np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))),
        (locked_ankle(linkages['push_rod_ankle']), np.linspace(0.0, 2.0, 41)[:, None] * LOCKED),
    ):
        transmissions, lost = maps(text), 0
        for a in positions:
            stream = transmissions.stream(ACTUATOR_TO_JOINT)
            for _ in range(2):
                rows = stream.map_state(np.array([a, a, a]), MapReport())
                assert_maps(transmissions, ACTUATOR_TO_JOINT, rows, [a, a, a])
            lost += bool(np.isnan(rows).any())
        assert 0 < lost < len(positions)


def test_what_is_lost_for_long_costs_little(linkages):
    """Beyond the reach of a rod it is not sought in each sample; what comes back is found."""
    text = linkages['five_bar'].replace('"0.06 0 0"/><axis', '"0.1 0 0"/><axis')
    stream, report, far = maps(text).stream(ACTUATOR_TO_JOINT), MapReport(), [0.0, -12.6]
    for share in np.linspace(0.0, 1.0, 101):
        rows = stream.map_state(np.multiply(share, [far] * 3), report)
    assert np.isnan(rows[0]).any()
    made, look = [], stream._functions[False]._full
    search = look.run
    look.run = lambda: (made.append(None), search())
    for _ in range(200):
        assert np.isnan(stream.map_state(np.array([far] * 3), report)).any()
    assert len(made) < 200 / 12
    assert np.isfinite(stream.map_state(np.array([[0.9, 0.0]] * 3), report)[0]).all()


# -- what is said of them ------------------------------------------------------------------------


def test_limits_that_exclude_the_start_are_a_warning(linkages):
    """It names the joint; unknowns, rank and mobility are facts of the linkage."""
    text = with_balls(linkages['push_rod_ankle'])
    facts = '\n'.join(linkage_of(text).facts())
    assert '8 unknowns, 6 equations of rank 6; mobility 4, of which 2 idle' in facts
    (finding,) = maps(text.replace('lower="-0.4" upper="0.4"', 'lower="0.3" upper="0.4"')).findings
    assert (finding.severity, finding.subject) == ('warning', 'ankle')
    assert 'ankle_roll is at' in finding.message
    # Motors are moved from zero where no assembly with them there is within the limits.
    away = linkages['push_rod_ankle'].replace('lower="-0.9"', 'lower="0.3"')
    assert linkage_of(away).doubts() == ()


@pytest.mark.parametrize('name', WORKED[:2])
def test_limits_that_allow_two_assemblies_ask_for_a_start(linkages, name):
    """The warning names a joint that is elsewhere in the other one; its start is the answer."""
    text = linkages[name].replace('<start joint="knee" position="0"/>', '')
    for limit in ('0.9', '0.7', '2.0'):
        text = text.replace(f'lower="-{limit}" upper="{limit}"', 'lower="-3.1" upper="3.1"')
    (finding,) = maps(text).findings
    assert finding.severity == 'warning'
    found = re.search(r"another assembly within the limits has '(\w+)' at", finding.message)
    assert found is not None
    start = f'<start joint="{found[1]}" position="0.0"/></transmission>'
    assert maps(text.replace('</transmission>', start)).findings == ()


def test_a_forgotten_motor_leaves_a_warning(linkages):
    """The joint that it would move is idle, and hardware commands it."""
    text = linkages['five_bar'].replace('<joint name="knee" role="joint2"/>', '')
    motor = r'<actuator name="knee_motor".*?</actuator>'
    (finding,) = maps(re.sub(motor, '', text, flags=re.DOTALL)).findings
    assert finding.severity == 'warning'
    assert 'do not determine joints that the hardware commands: knee; check' in finding.message
