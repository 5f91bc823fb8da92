# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The one solver: formulas, closures and linkages are one mechanism, near dead centres too."""

from collections import Counter
import math

import casadi as ca
import numpy as np
import pytest
from zoo import mechanisms as m
from zoo.elements import load
from zoo.linkages import joint, robot, starts, with_balls
from zoo.mechanisms import single

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, DIRECTIONS
from transmission_bridge.transmissions import Domain, EquationTransmission, MapReport
from transmission_bridge.transmissions.compiled import call_for_samples
from transmission_bridge.transmissions.linear import ScrewTransmission
from transmission_bridge.transmissions.mechanism import part
from transmission_bridge.transmissions.robot.program import RobotMap
from transmission_bridge.transmissions.tabulated import TabulatedTransmission

# -- one mechanism, described in several ways ----------------------------------------------------

GEARS = {'actuator_reduction': (-3.0,), 'joint_reduction': (-1.5,), 'joint_offset': (0.2,)}
PAIR = {'actuator_reduction': (2.0, -3.0), 'joint_offset': (0.1, -0.2)}


def slider(lower=-math.inf, upper=math.inf):
    """Return a slider by its equations, with the numbers of the closures."""
    gears = {name: numbers[0] for name, numbers in GEARS.items()}
    law = m.GuidedSlider(0.04, 0.12, 0.01)
    return m.CrankSliderTransmission(law, 1.5, **gears, lower=lower, upper=upper)


def push_rod():
    """Return a slider on a guide along x that a rod of 0.12 m connects to a crank of 0.04 m."""
    body = joint('crank', 'base', 'arm', limit=(-1.2, 1.2), axis=(0, 0, 1), rpy=(0, 0, 1.5))
    body += joint('pin', 'arm', 'pin_link', 0.04, kind='fixed')
    body += joint('slide', 'base', 'tip_link', 0.01j, (1, 0, 0), 'prismatic', (0.085, 0.145))
    loop = '<loop type="rod" frame1="pin_link" frame2="tip_link" length="0.12"/>'
    text = robot(body, {'motor': 'slide'}, ['crank'], loop, starts(slide=0.12))
    return load(text, strict=True, passive_joints='none').transmissions['linkage']


#: A mechanism by formulas, and by a closure alone or as a linkage.
SAME = {
    'slider': lambda: (slider(-0.6, 1.0), m.Slider(**GEARS)),
    'pushed slider': lambda: (slider(), m.Pushed(**GEARS)),
    'slider linkage': lambda: (m.guided(0.04, 0.12, 0.01, 1.5), push_rod()),
    'cardan': lambda: tuple(each(**GEARS) for each in (m.Cardan, m.Crossed)),
    'ten turns': lambda: tuple(each(0.6, 31.0) for each in (m.Cardan, m.Crossed)),
    'open four-bar': lambda: tuple(each({'side': 1.0}) for each in (m.FourBar, m.FourBarLoop)),
    'crossed four-bar': lambda: tuple(each({'side': -1.0}) for each in (m.FourBar, m.FourBarLoop)),
    'plate': lambda: tuple(each(**PAIR) for each in (m.Plate, m.PlateLoop)),
    'finger': lambda: (m.Finger(), m.FingerLoop()),
}


@pytest.fixture(scope='module', params=SAME)
def same(request):
    """Return a mechanism by formulas, and by something else."""
    return SAME[request.param]()


def shared_domain(formulas, other):
    """Return the domain of the formulas, if it is of the same space, else that of the other."""
    return (formulas if formulas.domain.space == other.domain.space else other).domain


def positions_of(t, space, direction, x):
    """Return positions of a space in the space of the input."""
    along = DIRECTIONS[space == 'joint']
    return x if direction == along else t.map(along, 'position', x)


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_formulas_closures_and_linkages_are_one_mechanism(same, direction):
    """Every interface is the same, accelerations included, however the mechanism is described."""
    formulas, other = same
    domain, random = shared_domain(formulas, other), np.random.default_rng(1)
    x = random.uniform(domain.lower, domain.upper, (2000, len(domain.lower)))
    at = positions_of(other, domain.space, direction, x)
    values, rate = random.normal(size=(2, *at.shape))
    where = {'at': at, 'rate': rate}
    for interface in ('position', 'velocity', 'acceleration', 'effort'):
        numbers = at if interface == 'position' else values
        expected, found = (t.map(direction, interface, numbers, **where) for t in same)
        assert np.isfinite(expected).all()
        assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max(), interface


def test_a_stream_follows_a_motion_without_arrays(same):
    """From its second message on a moving mechanism is mapped by the compiled function alone."""
    formulas, other = same
    looked, domain = [], shared_domain(*same)
    share = 0.5 + 0.45 * np.sin(np.arange(0.0, 6.3, 0.01))[:, np.newaxis]
    sway = np.array(domain.lower) + share * domain.span
    for direction in DIRECTIONS:
        at = positions_of(formulas, domain.space, direction, sway)
        expected = formulas.map(direction, 'position', at)
        stream, report = RobotMap(single(other), direction), MapReport()
        look = stream._functions[False]._full
        run = look.run
        look.run = lambda run=run: (looked.append(True), run())
        found = [stream.map_state(np.stack([each] * 3), report)[0].copy() for each in at]
        assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()
        assert not report.counts
    assert len(looked) == 2 or domain.span.max() > 10.0


@pytest.mark.parametrize('direction', DIRECTIONS)
@pytest.mark.parametrize('most', [31.0, 62.0, 314.0, 1e3])
def test_no_sample_is_mapped_to_another_turn(most, direction):
    """All of twenty turns are answered, in jumps of a stream too; more are too far for paths."""
    formulas, closure = (each(0.6, most) for each in (m.Cardan, m.Crossed))
    x = np.random.default_rng(1).uniform(-most, most, (5_000, 1))
    # A turn further the former solution closes as well.
    x[:6, 0] = 0.3, 0.3 + 2.0 * math.pi, 0.3 - 4.0 * math.pi, 1.0, 1.0 + math.pi, -28.0
    at = positions_of(formulas, 'actuator', direction, x)
    found, expected = (t.map(direction, 'position', at) for t in (closure, formulas))
    answered = np.isfinite(found)
    assert answered.all() or most > 100.0
    assert (np.abs(found - expected)[answered] <= 1e-9).all()
    if most < 32.0:
        stream = RobotMap(single(closure), direction)
        found = [stream.map_state(np.full((3, 1), each))[0].copy() for each in at[:6]]
        assert np.abs(found - expected[:6]).max() <= 1e-12 * most


@pytest.mark.parametrize('name', ['slider linkage', 'cardan', 'plate', 'finger', 'ball joints'])
def test_a_batch_is_solved_without_a_search(name, linkages, monkeypatch):
    """The full solver is left a hundredth of the samples, and a sample alone has the same bits."""
    if name == 'ball joints':
        t, reachable = load(with_balls(linkages['push_rod_ankle'])).transmissions['ankle'], 0.3
    else:
        t, reachable = SAME[name]()[1], 0.5
    middle = (np.array(t.domain.lower) + t.domain.upper) / 2.0
    share = np.random.default_rng(1).uniform(-reachable, reachable, (500, len(middle)))
    x = middle + share * t.domain.span
    for direction in DIRECTIONS:
        count = t.members[direction != ACTUATOR_TO_JOINT]
        at = positions_of(t, t.domain.space, direction, x)[:, :count]
        found = t.map(direction, 'position', at)
        assert t.map(direction, 'position', at[:0]).shape == found[:0].shape
        for number in range(0, 500, 50):
            assert np.array_equal(t.map(direction, 'position', at[number]), found[number])
        (mechanism,) = t.parts(direction)
        counts = Counter()

        def count(function, columns, shared):
            counts[function] += len(columns[0])
            return call_for_samples(function, columns, shared)

        monkeypatch.setattr(part, 'call_for_samples', count)
        t.map(direction, 'position', at)
        monkeypatch.undo()
        assert counts[mechanism.solver.function] <= 5


# -- what cannot be built ------------------------------------------------------------------------


def variant(base, **members):
    """Return a class whose members replace those of another one."""
    return type('Other', (base,), members)


def posed(actuators, joints):
    """Return a slider that is assembled elsewhere."""
    return variant(m.Slider, pose=lambda self: (actuators, joints))


class Root(m.Equation):
    """The square root of a complex number, which is another one after a turn about zero."""

    members = (2, 2)

    def range(self):
        """Return a box beside zero, or about it."""
        return self.bare_range('joint', [self.p.lower, -2.0], [2.0, 2.0])

    def pose(self):
        """Return a root of one."""
        return [1.0, 0.0], [1.0, 0.0]

    @staticmethod
    def closure(a, q, p):
        """Return what is zero where ``q`` is the square of ``a``."""
        return a[0] ** 2 - a[1] ** 2 - q[0], 2.0 * a[0] * a[1] - q[1]


@pytest.mark.parametrize(('make', 'message'), [
    (variant(m.Slider, pose=EquationTransmission.pose),
     r'Other has a closure alone and does not define how it is assembled.*pose\(\)'),
    (posed([0.1, 0.2], [0.0]), 'Other.pose returns a wrong number of positions.*1 of actuat'),
    (posed([0.1], []), 'Other.pose returns a wrong number of positions.*1 of joints'),
    (posed([0.1], [1.3]),
     'the pose does not determine how the mechanism is assembled.*-1.2'),
    (posed([math.nan], [0.0]), 'the pose does not determine'),
    # The rod is longer than it could be: half-way between the two assemblies.
    (posed([0.04 * math.cos(1.5)], [0.0]), 'the pose does not determine'),
    (variant(m.FingerLoop, closure=lambda a, q, p: a - q[0]),
     'closure returns a wrong number of equations.*2.*1'),
    (variant(m.Finger, joint_position=lambda a, p: 2.0 * a),
     'joint_position returns a wrong number'),
    (variant(m.Finger, range=lambda self: self.bare_range('joint', (0.0, 0.0), (1.0, 1.0))),
     'Other does not define the map of its range'),
    (variant(m.Slider, closure=lambda a, q, p: ca.sin(q)),
     'the equations do not determine every actuator'),
    (variant(m.Slider, closure=lambda a, q, p: a * a + q * q + 1),
     'the pose does not determine'),
    (variant(m.Slider, closure=None),
     'Other does not define the map of its range.*actuator_position.* or a closure'),
    # Where a turn leads to the other assembly, no table has one for each position.
    (lambda: Root({'lower': -2.0}), 'changes its assembly within the range'),
    # A table with the pose alone would answer next to nothing.
    (lambda: m.Crossed(0.6, 3e5), 'narrow the range'),
    (variant(m.Sine, actuator_position=lambda q, p: ca.sqrt(-1.0 - q * q)),
     'no position of the domain can be reached'),
    # Rounding alone core_columns two joints apart that only move together.
    (variant(m.Shear,
           joint_position=lambda a, p: (a[0] + a[1], 0.3 * a[0] + (0.1 + 0.2) * a[1])),
     'every position of the domain is a dead centre'),
    # Numbers are as many as there should be, finite, and of what can be built.
    (lambda: m.Cardan(joint_offset=(1.0, 2.0)), 'joint_offset is invalid'),
    (lambda: m.Cardan(joint_offset=()), 'joint_offset is invalid'),
    (lambda: m.Cardan(actuator_reduction=()), 'actuator_reduction is not a valid ratio'),
    (lambda: m.Cardan(joint_reduction=(1.0, 1.0)), 'joint_reduction is not .* 1 in all, found 2'),
    (lambda: m.Cardan(actuator_reduction=(0.0,)), 'not a valid ratio'),
    (lambda: m.Cardan(joint_offset=(math.nan,)), 'expected finite numbers'),
    (lambda: m.Cardan(cosine=math.inf), 'expected finite numbers'),
    (lambda: m.guided(0.0, 0.1, 0.0, 1.0), 'dimensions'),
    (lambda: m.guided(0.1, np.nan, 0.0, 1.0), 'dimensions'),
    (lambda: m.hinged(0.1, np.inf, 0.0, 1.0), 'dimensions'),
    (lambda: m.guided(0.1, 0.2, 0.31, 1.0), 'shorter than the offset'),
    (lambda: m.hinged(0.1, 0.2, -0.31, 1.0), 'shorter than the offset'),
    (lambda: m.hinged(0.1, 0.1, 0.1, 0.1), 'open at its crank angle'),
    (lambda: m.ankle({**m.LEFT, 'rod': 0.1}, m.RIGHT), 'does not reach'),
    (lambda: m.ankle({**m.LEFT, 'crank': 0.0}, m.RIGHT), 'dimensions'),
    (lambda: m.ankle({**m.LEFT, 'axis': (0.0, 0.0, 0.0)}, m.RIGHT), 'dimensions'),
    (lambda: m.ankle({**m.LEFT, 'motor': (0.0, np.nan, 0.0)}, m.RIGHT), 'dimensions'),
    (lambda: TabulatedTransmission([0.0], [0.0]), 'two points or more'),
    (lambda: TabulatedTransmission([0.0, 1.0], [0.0, 1.0, 2.0]), 'equal length'),
    (lambda: TabulatedTransmission([0.0, 1.0, 1.0], [0.0, 1.0, 2.0]), 'first column'),
    (lambda: TabulatedTransmission([0.0, 1.0, 2.0], [0.0, 0.0, 1.0]), 'each column'),
    (lambda: TabulatedTransmission([0.0, np.nan], [0.0, 1.0]), 'finite'),
    *((lambda lead=lead: ScrewTransmission(lead), 'lead') for lead in (0.0, np.nan, np.inf)),
])  # fmt: skip
def test_a_mechanism_that_cannot_be_built_is_refused(make, message):
    """The error names what is missing or wrong, and what would do."""
    with pytest.raises(TransmissionError, match=message):
        make()


@pytest.mark.parametrize(
    ('lower', 'upper'),
    [((0.0,), (0.0,)), ((1.0,), (0.0,)), ((0.0,), (np.inf,)), ((np.nan,), (1.0,)), ((), ()),
     ((0.0, 0.0), (1.0,))],
)  # fmt: skip
def test_a_domain_is_a_box(lower, upper):
    """A range that is empty, endless or incomplete is refused."""
    with pytest.raises(TransmissionError):
        Domain('joint', lower, upper)


@pytest.mark.parametrize(('interface', 'options', 'name'), [
    ('velocity', {'at': np.ones((2, 1))}, 'at: expected shape'),
    ('acceleration', {'at': np.ones((3, 1)), 'rate': [1.0]}, 'rate'),
    ('position', {'guess': np.ones((2, 1))}, 'guess'),
])  # fmt: skip
def test_arrays_of_different_batches_are_refused(interface, options, name):
    """``at`` and ``rate`` are as long as the values, ``guess`` as the result."""
    with pytest.raises(ShapeError, match=name):
        m.Sine().actuator_to_joint(interface, np.ones((3, 1)), **options)


# -- branches ------------------------------------------------------------------------------------


def test_a_singular_line_within_the_domain_splits_it():
    """Beyond it positions belong to another branch, are counted so, and no guess leads there."""
    t, report, a = m.Shear(), MapReport(), np.array([[0.1, 0.2], [0.0, 1.9]])
    found = t.actuator_to_joint('position', a, report=report)
    assert np.isfinite(found).all(axis=1).tolist() == [True, False]
    assert report.counts == {('', 'branch'): 1}
    q = np.array([1.9**3 / 3.0, 1.9])
    report.counts.clear()
    found = t.joint_to_actuator('position', q, guess=a[1], report=report)
    assert np.allclose(found, t.joint_to_actuator('position', q), rtol=0.0, atol=1e-12)
    assert np.allclose(t.actuator_to_joint('position', found), q, rtol=0.0, atol=1e-12)
    assert not report.counts
    for guess in ([0.3, -0.4], [0.0, 0.0], [np.nan, 0.0], [50.0, 0.0]):
        q = t.actuator_to_joint('position', [0.3, -0.4])
        found = t.joint_to_actuator('position', q, guess=guess)
        assert np.allclose(found, [0.3, -0.4], rtol=0, atol=1e-13)
    # A position near those that are reached, but not reached, ends in a count, not in a loop.
    assert np.isnan(t.joint_to_actuator('position', [[6.0, -2.6]] * 3, report=report)).all()
    assert sum(report.counts.values()) == 3
    assert report.counts.keys() <= {('', why) for why in ('no_convergence', 'branch', 'domain')}


def test_what_is_on_the_branch_is_found_without_a_guess():
    """Also where a singular line splits the domain, the table of starts leads to the solution."""
    t, report = m.Shear(), MapReport()
    a = np.random.default_rng(0).uniform(-2.0, 2.0, size=(3_000, 2))
    q = t.actuator_to_joint('position', a)
    q = q[np.isfinite(q).all(axis=-1)]
    found = t.joint_to_actuator('position', q, report=report)
    lost = np.isnan(found).any(axis=-1)
    assert np.count_nonzero(lost) == sum(report.counts.values())
    assert lost.mean() < 0.01
    assert np.abs(m.evaluate(t, found[~lost])[0] - q[~lost]).max() <= 1e-12


# -- poses near a dead centre --------------------------------------------------------------------


@pytest.mark.parametrize('apart', [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
def test_a_pose_near_a_dead_centre_makes_no_position_wrong(apart):
    """Sizes are relative to the pose, the middle of the range: what is answered is right."""
    t = m.Sine(0.5 * math.pi + apart - 1.0, 0.5 * math.pi + apart + 1.0)
    q = 0.5 * math.pi + np.geomspace(1e-7, 0.95 + apart, 200)[:, np.newaxis]
    slope = np.abs(np.cos(q))
    found = t.actuator_to_joint('position', np.sin(q))
    torque = t.actuator_to_joint('effort', np.ones_like(q), at=np.sin(q))
    for each, expected in ((found, q), (torque, np.cos(q))):
        answered = np.isfinite(each)
        assert answered[slope > 3e-4].all()
        assert (np.abs(each - expected)[answered] <= 1e-15 / slope[answered]).all()


#: Where the crank is in line with the rod.
DEAD = math.asin(0.01 / 0.16) - 1.5


@pytest.mark.parametrize(('begin', 'lower', 'upper'), [
    # Almost in line with the rod at the pose; the formulas do not care.
    *((DEAD + apart, DEAD + apart, 1.0) for apart in (1e-2, 1e-3, 1e-4, 1e-5)),
    # Almost a point of the grid of targets.
    *(
        (1.2 * (1.0 / 16.0 + 2.0 * apart), -1.2, 1.2)
        for apart in (0.0, 1e-5, 9e-4, 2e-3, 0.016)
    ),
])  # fmt: skip
def test_a_closure_with_any_pose_is_the_mechanism(begin, lower, upper):
    """A walk from the pose covers the range, and what is answered is right."""
    formulas = m.guided(0.04, 0.12, 0.01, 1.5)
    pose = formulas.joint_to_actuator('position', [begin]), [begin]
    ends = lambda self: self.bare_range('joint', [lower], [upper])  # noqa: E731
    t = variant(m.Slider, range=ends, pose=lambda self: pose)()
    q = np.concatenate([np.linspace(lower, upper, 300)[1:], lower + np.geomspace(1e-7, 2.0, 300)])
    q = q[q < upper, np.newaxis]
    a = formulas.joint_to_actuator('position', q)
    assert np.abs(t.joint_to_actuator('position', q) - a).max() <= 1e-13
    slope = np.abs(formulas.joint_to_actuator('velocity', np.ones_like(q), at=q))
    found = t.actuator_to_joint('position', a)
    answered = np.isfinite(found)
    assert (np.abs(found - q)[answered] <= 1e-15 / slope[answered]).all()
    assert answered[q > DEAD + 2e-3].all()


# -- linear equations ----------------------------------------------------------------------------


def test_the_first_mechanism_of_a_type_does_not_limit_the_others():
    """A number that is zero in the first one couples coordinates of the second."""
    kind = variant(m.Parallel)
    kind({'bend': (0.0, 0.0, 0.0)}).joint_to_actuator('position', np.zeros(3))
    t = kind({'bend': (0.5, 0.6, -0.5)})
    x = t.domain.grid(4)
    found = t.joint_to_actuator('position', t.actuator_to_joint('position', x))
    assert np.abs(found - x).max() <= 1e-12


class Mixed(m.Equation):
    """Four joints that are products of a matrix with bent positions of four actuators."""

    members = (4, 4)

    def range(self):
        """Return a range about zero."""
        return self.bare_range('actuator', [-0.4] * 4, [0.4] * 4)

    @staticmethod
    def joint_position(a, p):
        """Return the positions of the joints."""
        return ca.mtimes(ca.horzcat(*p.rows).T, ca.sin(a)) + 0.05 * a**2


class MixedByClosure(Mixed):
    """The same as a closure alone."""

    joint_position = None

    def pose(self):
        """Return zero."""
        return [0.0] * 4, [0.0] * 4

    @staticmethod
    def closure(a, q, p):
        """Return zero if closed."""
        return Mixed.joint_position(a, p) - q


TAU = np.array([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize('cls', [Mixed, MixedByClosure])
def test_each_mechanism_of_a_type_has_a_suitable_order_of_elimination(cls):
    """The best order of the first one has zero pivots in the others."""
    kind = variant(cls)
    for order in ([0, 1, 2, 3], [1, 0, 3, 2], [1, 2, 3, 0]):
        t = kind({'rows': tuple(map(tuple, np.eye(4)[order].tolist()))})
        # Pivots in another order are tiny here.
        x = 1e-9 + 0.3 * np.random.default_rng(1).uniform(-1.0, 1.0, (9, 4)) ** 9
        q = t.actuator_to_joint('position', x)
        assert np.abs(t.joint_to_actuator('position', q) - x).max() <= 1e-12
        slope = np.diag(np.cos(x[0]))[order] + np.diag(0.1 * x[0])
        found = t.actuator_to_joint('effort', TAU, at=x[0])
        assert np.abs(found - np.linalg.solve(slope.T, TAU)).max() <= 1e-12


class Turning(m.Equation):
    """A formula whose best order of elimination differs at a regular position of the range."""

    members = (4, 4)

    def range(self):
        """Return a range whose middle has another order than its position 0, 0.5, 0, 0.5."""
        return self.bare_range('actuator', [-0.2, 0.0] * 2, [1.8, 1.0] * 2)

    @staticmethod
    def joint_position(a, p):
        """Return the positions of the joints."""
        x, y, u, v = ca.vertsplit(a)
        small = 0.01 * x * y * u * v
        return x**2 / 2 + y, y**2 / 2 - 0.3 * x, u**2 / 2 + v + small, v**2 / 2 - 0.3 * u


def test_a_formula_with_an_inexact_elimination_is_mapped_in_a_stream():
    """The first function of a robot requests the careful one."""
    x, slope = np.array([0.0, 0.5, 0.0, 0.5]), np.kron(np.eye(2), [[0.0, 1.0], [-0.3, 0.5]])
    found = RobotMap(single(Turning()), ACTUATOR_TO_JOINT).map_state(np.stack([x, x, TAU]))
    assert np.abs(found[1] - slope @ x).max() <= 1e-12
    assert np.abs(found[2] - np.linalg.solve(slope.T, TAU)).max() <= 1e-12


def test_a_position_with_zero_pivots_in_each_order_is_mapped():
    """All coordinates are zero there: the map is regular, and its determinant is known."""
    t, x, slope = Turning(), np.zeros(4), np.kron(np.eye(2), [[0.0, 1.0], [-0.3, 0.0]])
    assert np.abs(t.joint_to_actuator('position', x)).max() <= 1e-12
    assert np.abs(t.joint_to_actuator('effort', TAU, at=x) - slope.T @ TAU).max() <= 1e-12
