# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms by their equation: against other derivations, and what is refused."""

import math

import casadi as ca
from hypothesis import assume, example, given, strategies as st
import numpy as np
import pytest
from zoo import mechanisms as m

from transmission_bridge.errors import TransmissionError
from transmission_bridge.interfaces import DIRECTIONS
from transmission_bridge.transmissions import MapReport, transmission


def guided(t, q):
    """Return the stroke by the angle of the rod."""
    p, phi = t.p, t.p.crank_angle + q
    lean = np.arcsin((p.crank * np.sin(phi) - p.offset) / p.rod)
    return p.crank * np.cos(phi) + p.rod * np.cos(lean)


def geared(t, q):
    """Return the motor behind a gear of 300 and a belt of -2; both have their zero elsewhere."""
    return 300.0 * (guided(t, -2.0 * (q - 0.3)) - 0.08)


def hinged(t, q):
    """Return the stroke by the tip of the crank in the plane."""
    p, phi = t.p, t.p.crank_angle + q
    x, y = p.crank * np.cos(phi) - p.base, p.crank * np.sin(phi)
    return np.sqrt(x * x + y * y - p.offset**2)


def cardan(t, a):
    """Return the joint by the tangents of the two forks, and whole half turns."""
    half = math.pi * np.round(a.real / 3.0 / math.pi)
    return np.arctan(np.tan(a / 3.0) / t.p.cosine) + half


def plate(t, q):
    """Return two actuators of two joints, in another order of the operations."""
    first, second = q - np.array(t.joint_offset)
    bare = [0.3 * second + np.sin(first), second * (0.2 * second * second + 1.0)]
    return np.array(bare) * t.actuator_reduction


def slope_of(derivation, t, x):
    """Return ``dy/dx`` by complex steps, exact to rounding."""
    steps = [derivation(t, x + 1e-40j * unit) for unit in np.eye(len(x))]
    return np.stack([each.imag / 1e-40 for each in steps], axis=-1)


def rate_of_slope(derivation, t, x, rate, step):
    """Return ``d/dt dy/dx`` by the central difference of eighth order."""
    weights = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
    total = np.zeros(())
    for count, weight in enumerate(weights, 1):
        ahead, behind = (x + sign * count * step * rate for sign in (1.0, -1.0))
        total = total + weight * (slope_of(derivation, t, ahead) - slope_of(derivation, t, behind))
    return total / step


GEARS = {'actuator_reduction': 300.0, 'joint_reduction': -2.0, 'joint_offset': 0.3}
LAW = m.GuidedSlider(0.04, 0.12, 0.01)
LAWS = {
    'geared': (m.CrankSliderTransmission(LAW, 1.6, stroke_at_zero=0.08, **GEARS), geared),
    'guided': (m.guided(0.04, 0.12, 0.01, 1.5), guided),
    'guided, the other way': (m.guided(0.3, 0.4, -0.05, -7.0), guided),
    'guided, the crank longer': (m.guided(0.1, 0.05, 0.01, 0.2), guided),
    'hinged': (m.hinged(0.3, 0.9, 0.05, -1.0), hinged),
    'hinged, the crank longer': (m.hinged(0.5, 0.1, 0.02, 8.0), hinged),
    'plate': (m.Plate(actuator_reduction=(15.0, -12.0), joint_offset=(0.1, -0.05)), plate),
    'cardan': (m.Cardan(actuator_reduction=(3.0,)), cardan),
}


@pytest.mark.parametrize('name', LAWS)
def test_position_slope_and_its_rate_are_those_of_another_derivation(name):
    """To rounding, and the rate to 1e-10 by differences of another way to write the mechanism."""
    t, derivation = LAWS[name]
    random = np.random.default_rng(0)
    low, high = np.array(t.domain.lower), np.array(t.domain.upper)
    along = DIRECTIONS[t.domain.space == 'joint']
    for _ in range(100):
        x = low + random.uniform(0.1, 0.9, len(low)) * (high - low)
        rate = random.normal(size=len(low))
        y, slopes = t.map(along, 'position', x), transmission.compute_slope(t, along, x)
        assert np.abs(derivation(t, x) - y).max() <= 1e-13 * (1.0 + np.abs(y).max())
        assert np.abs(slopes - slope_of(derivation, t, x)).max() <= 1e-12 * np.abs(slopes).max()
        step = 1e-3 / np.abs(rate / (high - low)).max()
        expected = rate_of_slope(derivation, t, x, rate, step)
        found = t.map(along, 'acceleration', np.zeros(len(x)), at=x, rate=rate)
        scale = np.abs(expected).max() + np.abs(slopes).max() / (1e3 * step)
        assert np.abs(found - expected @ rate).max() <= 1e-10 * scale * np.abs(rate).sum()


# -- the ends of a crank-slider -------------------------------------------------------------------


@example(0.125, 0.125, 0.125, -1e-121)
@example(0.125, 0.125, 0.125, math.pi)
@given(st.floats(0.02, 0.2), st.floats(0.02, 0.4), st.floats(-0.2, 0.2), st.floats(-9.0, 9.0))
def test_the_domain_ends_where_the_linkage_does(crank, rod, offset, angle):
    """Whatever the dimensions, no position within the domain is unreachable, and all come back."""
    assume(abs(offset) < 0.95 * (crank + rod))
    # Where three lengths nearly make a line, the ends of the domain nearly coincide.
    critical = [crank + offset, crank - offset, -crank + offset, -crank - offset]
    assume(min(abs(rod - length) for length in critical) > 1e-3)
    height = abs(crank * np.sin(angle) - offset)
    # Rounding decides of a rod that is stretched at the crank angle itself.
    assume(height <= rod or height > rod * (1.0 + 1e-12))
    if height > rod:
        with pytest.raises(TransmissionError, match='open at its crank angle'):
            m.guided(crank, rod, offset, angle)
        return
    t = m.guided(crank, rod, offset, angle).with_max_gain(1e8)
    assert t.domain.lower[0] <= 0.0 <= t.domain.upper[0]
    report = MapReport()
    shares = np.linspace(1e-4, 1.0 - 1e-4, 200)[:, np.newaxis]
    q = np.array(t.domain.lower) + t.domain.span * shares
    s = t.joint_to_actuator('position', q, report=report)
    back = t.actuator_to_joint('position', s, report=report)
    assert report.counts == {}
    rising = np.diff(s[:, 0])
    assert (rising > 0.0).all() or (rising < 0.0).all()
    slope = np.abs(t.joint_to_actuator('velocity', np.ones_like(q), at=q))
    assert (np.abs(back - q) <= 1e-13 * (crank + rod) / slope * (1.0 + 1.0 / crank)).all()


# -- what is refused -----------------------------------------------------------------------------


def with_equation(base, name, function):
    """Return a type with another equation."""
    return type('Changed', (base,), {name: staticmethod(function)})


@pytest.mark.parametrize('function', [
    math.cos,
    float,
    lambda a: math.hypot(a, 1.0),
])  # fmt: skip
@pytest.mark.parametrize('of', ['a', 'p'])
def test_functions_of_numbers_are_refused(function, of):
    """``math.cos`` of a symbol would be NaN without a word; the error says what to use instead."""

    def position(a, p):
        return a + function(a if of == 'a' else p.cosine)

    with pytest.raises(TransmissionError, match=r"joint_position calls.*casadi's cos"):
        with_equation(m.Cardan, 'joint_position', position)()
    assert math.isnan(float(ca.SX.sym('a')))  # CasADi is as it was
    assert float(ca.SX(2.0)) == 2.0


def test_constants_may_be_numbers():
    """What is no symbol may be calculated by ``math`` and numpy, as CasADi's constants may."""

    def turn(a, p):
        return m.Cardan.joint_position(a, p) + math.sin(ca.SX(0.5)) + np.sin(0.5)

    turned = with_equation(m.Cardan, 'joint_position', turn)()
    plain, further = (t.actuator_to_joint('position', [0.0])[0] for t in (m.Cardan(), turned))
    assert further - plain == pytest.approx(2.0 * math.sin(0.5), rel=1e-14)


def test_an_equation_that_is_changed_without_its_closure_is_rejected():
    """The other direction would be solved for another mechanism."""

    def shift(q, p):
        return [each + 0.5 for each in m.ParallelAnkleTransmission.actuator_position(q, p)]

    shifted = with_equation(m.ParallelAnkleTransmission, 'actuator_position', shift)
    legs = tuple(m.AnkleLeg(**leg) for leg in (m.LEFT, m.RIGHT))
    with pytest.raises(TransmissionError, match='closure contradicts the formula of the range'):
        shifted(legs, lower=(-0.3, -0.3), upper=(0.5, 0.2))
