# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Near singular positions: what ``max_gain`` refuses, and that it refuses nothing else."""

import math
import re

import casadi as ca
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from zoo import mechanisms as m
from zoo.documented import DOCUMENTED
from zoo.elements import load, maps, of_snippet, params, transmission

from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError, TransmissionError
from transmission_bridge.interfaces import DIRECTIONS
from transmission_bridge.transmissions import equation_transmission, MapReport
from transmission_bridge.transmissions.builder import build_transmission
from transmission_bridge.transmissions.equation_mechanism import FEWEST, POINTS
from transmission_bridge.transmissions.robot import program as robot_program

# -- against singular values ---------------------------------------------------------------------


class Stretched(m.Equation):
    """Two coordinates of very different units, up to near their dead centres."""

    members = (2, 2)

    def range(self):
        """Return micrometres beside kilometres."""
        return self.bare_range('actuator', (0.0, 0.0), (1.57e-6, 1.57e3))

    @staticmethod
    def joint_position(a, p):
        """Return ``q``."""
        one, other = ca.sin(1e6 * a[0]), ca.sin(1e-3 * a[1])
        return 1e-3 * (one + 0.2 * other), 1e3 * (other - 0.3 * one)


def sizes_of(matrices):
    """Return the norms of matrices, and the reciprocal norms of their inverses."""
    inverses = np.linalg.inv(matrices)
    return np.linalg.norm(matrices, axis=(1, 2)), 1.0 / np.linalg.norm(inverses, axis=(1, 2))


@pytest.mark.parametrize(
    't',
    [
        m.Cardan(0.3, actuator_reduction=(-50.0,), joint_offset=(0.2,)),
        m.guided(0.04, 0.12, 0.01, 1.5),
        Stretched(actuator_reduction=(300.0, -2.0)),
        m.Parallel({'bend': (0.5, 0.6, -0.5)}, actuator_reduction=(1.0, -50.0, 300.0)),
        m.SineWithInverse(-1.57, 1.57),
    ],
    ids=lambda t: type(t).__name__,
)
@settings(max_examples=4)
@given(max_gain=st.floats(0.0, 2.0).map(lambda e: 10.0**e), seed=st.integers(0, 2**32))
def test_what_is_multiplied_by_too_much_is_lost_and_nothing_else(t, max_gain, seed):
    """Each interface and direction by itself is as numpy's singular values say."""
    random = np.random.default_rng(seed)
    n, span = t.n_actuators, t.domain.span
    place = random.choice([0.0, 1.0], (40, n))
    share = np.abs(place - 10.0 ** random.uniform(-4.0, -0.01, (40, n)))
    x = np.array(t.domain.lower) + share * span
    reached, slopes = m.evaluate(t, t.domain.grid(POINTS.get(n, FEWEST)))
    # In shares of the ranges, so that units and reductions do not matter.
    scale = span / np.ptp(reached, axis=0)[:, np.newaxis]
    typical, own = (sizes_of(each * scale) for each in (slopes, m.evaluate(t, x)[1]))
    along, across = own[0] / np.median(typical[0]), np.median(typical[1]) / own[1]
    limited = t.with_max_gain(max_gain)
    y = limited.map(DIRECTIONS[t.domain.space == 'joint'], 'position', x)
    steep, flat = along, across
    if t.domain.space == 'joint':
        x, y, steep, flat = y, x, across, along
    rates, efforts = random.normal(size=(2, 40, n))
    for direction, at, other in zip(DIRECTIONS, (x, y), (y, x), strict=True):
        for interface in ('position', 'velocity', 'acceleration', 'effort', 'torque', 'force'):
            report = MapReport()
            values = {'position': at, 'velocity': rates}.get(interface, efforts)
            where = {'at': at, 'rate': rates, 'guess': other}
            mapped = limited.map(direction, interface, values, **where, report=report)
            lost = np.isnan(mapped).all(axis=-1)
            assert np.isfinite(mapped[~lost]).all()
            assert report.counts == ({('', 'singular'): lost.sum()} if lost.any() else {})
            if interface == 'position':
                assert not lost.any()
                continue
            forward = direction == 'actuator_to_joint'
            factor = steep if forward == (interface in ('velocity', 'acceleration')) else flat
            certain = np.abs(factor / max_gain - 1.0) > 1e-3
            assert np.array_equal(lost[certain], (factor > max_gain)[certain])


# -- the documented mechanisms -------------------------------------------------------------------

VARYING = r'(CrankSlider|Ankle|Tabulated)Transmission</plugin>'

#: Every mechanism of the document whose ratio varies, and two more.
MECHANISMS = {
    **{name: of_snippet(text) for name, text in DOCUMENTED.items() if re.search(VARYING, text)},
    'universal joint': m.Cardan(math.cos(0.5), math.pi),
    'knee between its dead centres': m.CrankSliderTransmission(
        m.GuidedSlider(0.04, 0.12, 0.015), 1.6, stroke_at_zero=0.08
    ),
}


@pytest.mark.parametrize('name', MECHANISMS)
def test_by_default_at_most_a_hundredth_of_a_domain_is_lost(name):
    """In any interface and direction, as the document says."""
    t = MECHANISMS[name]
    if isinstance(t, str):
        (t,) = load(t).transmissions.values()
    x = t.domain.grid({1: 20_001, 2: 301}[len(t.domain.lower)])
    along, back = DIRECTIONS if t.domain.space == 'actuator' else DIRECTIONS[::-1]
    y = t.map(along, 'position', x)
    reached = np.isfinite(y).all(axis=-1)
    x, y = x[reached], y[reached]
    for direction, at, guess in ((along, x, y), (back, y, x)):
        for interface in ('velocity', 'effort'):
            mapped = t.map(direction, interface, np.ones_like(at), at=at, guess=guess)
            assert np.isnan(mapped).any(axis=-1).mean() <= 0.01


# -- a parameter of every transmission -----------------------------------------------------------


def robot_with(crank='', gear=''):
    """Return a robot of a crank, a table and a gear, with more in two of them."""
    sizes = params(crank_radius=0.04, rod_length=0.12, crank_angle=1.5)
    points = params(actuator='0 1 2', joint='0 0.5 0.6')
    blocks = transmission('crank', 'CrankSlider', ['j1'], ['a1'], sizes + crank)
    blocks += transmission('table', 'Tabulated', ['j2'], ['a2'], points)
    blocks += transmission('gear', 'Simple', ['j3'], ['a3'], gear)
    return maps(['j1', 'j2', 'j3'], blocks)


def test_it_is_a_parameter_where_the_ratio_varies():
    """The description gives it, 50 where it does not; a gear has none, and says so."""
    robot = robot_with(params(max_gain=2000))
    assert [robot.transmissions[name].max_gain for name in ('crank', 'table')] == [2000.0, 50.0]
    found = {name: each.value for name, each in robot.parameters.items() if 'max_gain' in name}
    assert found == {'crank.max_gain': 2000.0, 'table.max_gain': 50.0}
    assert robot.findings == ()
    (finding,) = robot_with('', params(max_gain=3)).findings
    assert finding.severity == 'warning'
    assert 'unread <max_gain>' in finding.message
    (finding,) = robot_with(params(max_gain=0.5)).findings
    assert (finding.severity, finding.expected) == ('error', 'a number in [1, 1e+08]')


def test_it_is_live_and_compiles_nothing():
    """The same function maps with another limit, and an unfit one changes nothing."""
    robot = robot_with()
    position = np.array([robot.transmissions['crank'].domain.upper[0] - 1e-3, 0.3, 0.1])
    rows = np.array([position, [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    robot.stream('joint_to_actuator').map_state(rows, MapReport())
    caches = (equation_transmission._compile_equations, robot_program._compile_robot)
    misses = [each.cache_info().misses for each in caches]
    for max_gain, is_lost in ((50.0, True), (1e4, False), (10.0, True), (2e3, False)):
        # The dead centre does not depend on the rod.
        changes = {'crank.max_gain': max_gain, 'crank.rod_length': 0.12 + 1e-7 * max_gain}
        robot = robot.with_parameters({**changes, 'gear.joints.j3.mechanical_reduction': max_gain})
        report = MapReport()
        mapped = robot.stream('joint_to_actuator').map_state(rows, report)
        assert np.isnan(mapped[2]).tolist() == [is_lost, False, False]
        assert np.isfinite(mapped[:2]).all()
        assert mapped[0] == pytest.approx(robot.joint_to_actuator('position', position), rel=1e-12)
        assert report.counts == ({('crank', 'singular'): 1} if is_lost else {})
        batch = robot.joint_to_actuator('effort', rows[2], at=position)
        assert np.isnan(batch).tolist() == [is_lost, False, False]
    same = robot.with_parameters({'crank.max_gain': 2e3})
    assert same.transmissions['crank'] is robot.transmissions['crank']
    assert misses == [each.cache_info().misses for each in caches]
    unfit = [('crank', each) for each in (0.5, 1e9, -3.0, math.nan)]
    for name, value in (*unfit, ('gear', 10.0)):
        with pytest.raises(ParameterError, match='max_gain'):
            robot.with_parameters({f'{name}.max_gain': value})


def test_a_type_cannot_mean_something_else_by_it():
    """A number of this name would be two things at once."""

    class Amplified(m.Sine):
        """Reads an amplification."""

        @classmethod
        def from_spec(cls, reader):
            """Build one."""
            reader.number('max_gain', description='Amplification.', default=1.0)
            return cls()

    text = of_snippet(transmission('t', 'me/Amplified', 'j', 'm'))
    (spec,) = load_description(text).transmissions
    with pytest.raises(TransmissionError, match='reads max_gain, which every type'):
        build_transmission(Amplified, spec)


# -- at the dead centre itself -------------------------------------------------------------------


@pytest.mark.parametrize(
    ('q', 'a'), [(0.0, 0.0), (-1e-16, 0.0), (0.02, 13.0), (0.02 + 1e-16, 13.0)]
)
def test_a_dead_centre_at_the_end_of_the_domain_is_found(q, a):
    """There the mechanism can be on one side only, whatever rounding does."""
    t, report = m.Cam(), MapReport()
    assert t.joint_to_actuator('position', [q], report=report) == a
    assert t.joint_to_actuator('effort', [1.0], at=[q], report=report) == pytest.approx(0.0)
    assert not report.counts
    assert np.isnan(t.joint_to_actuator('velocity', [1.0], at=[q], report=report))
    assert report.counts == {('', 'singular'): 1}


@pytest.mark.parametrize('cam', [m.Cam(dwell=2.0), m.Cam(-5.0, 13.0)])
def test_a_dead_centre_that_is_not_the_end_stays_unknown(cam):
    """The joint would be there anywhere in the dwell, and the cam goes on beyond the other one."""
    report = MapReport()
    assert np.isnan(cam.joint_to_actuator('position', [0.0], report=report))
    assert report.counts == {('', 'domain'): 1}
