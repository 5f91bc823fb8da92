# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Measured tables and the monotone curve through them."""

from itertools import pairwise

from hypothesis import example, given, strategies as st
import numpy as np
import pytest
from zoo.elements import maps, params, transmission

from transmission_bridge.transmissions.linear import CoupledTransmission
from transmission_bridge.transmissions.mechanism_transmission import LARGEST_MAX_GAIN
from transmission_bridge.transmissions.tabulated import TabulatedTransmission


@st.composite
def tables(draw):
    """Return strictly monotone columns with steps of many sizes."""
    count = draw(st.integers(2, 9))
    steps = st.lists(st.floats(1e-3, 10.0), min_size=count - 1, max_size=count - 1)
    x = draw(st.floats(-5.0, 5.0)) + np.concatenate([[0.0], np.cumsum(draw(steps))])
    y = draw(st.floats(-5.0, 5.0)) + np.concatenate([[0.0], np.cumsum(draw(steps))])
    return x, y * draw(st.sampled_from([1.0, -1.0]))


class Curve:
    """The curve of a table by itself."""

    def __init__(self, x, y):
        self._table = TabulatedTransmission(x, y).with_max_gain(LARGEST_MAX_GAIN)

    def value(self, x):
        """Return joint positions."""
        return self._table.actuator_to_joint('position', x[:, np.newaxis])[:, 0]

    def slope(self, x):
        """Return the ratio."""
        return self._table.jacobian(x[:, np.newaxis])[:, 0, 0]

    def inverse(self, y):
        """Return actuator positions."""
        return self._table.joint_to_actuator('position', y[:, np.newaxis])[:, 0]


@given(tables())
def test_the_curve_is_monotone_and_its_slope_continuous(table):
    """Between points it never turns back, and at points the slopes of both sides agree."""
    x, y = table
    curve = Curve(x, y)
    fine = np.concatenate([np.linspace(a, b, 50) for a, b in pairwise(x)])
    sign = np.sign(y[-1] - y[0])
    rounding = 4e-16 * np.abs(y).max()
    assert (np.diff(sign * curve.value(fine)) >= -rounding).all()
    chord = np.abs(np.diff(y) / np.diff(x)).max()
    assert (sign * curve.slope(fine) >= -1e-13 * chord).all()
    inner, width = x[1:-1], np.minimum(np.diff(x)[:-1], np.diff(x)[1:])
    left = curve.slope(inner - 1e-9 * width)
    right = curve.slope(inner)
    assert (np.abs(left - right) <= 1e-6 * chord).all()


@example((np.array([0.0, 1.0, 8.5]), np.array([0.0, 1.0, 2.0])), [0.5])
@given(tables(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_the_curve_passes_through_every_point_and_has_an_inverse(table, shares):
    """Every value of the curve leads back to where it was taken, as far as it is steep."""
    x, y = table
    curve, size = Curve(x, y), np.abs(y).max()
    assert np.abs(curve.value(x) - y).max() <= 1e-14 * size
    assert np.abs(curve.inverse(y) - x).max() <= 1e-13 * np.abs(x).max()
    size += np.ptp(y)
    value = y[0] + np.array(shares) * (y[-1] - y[0])
    found = curve.inverse(value)
    apart = np.abs(curve.value(found) - value)
    # A step of rounding in x is more than that in y where the curve is steep.
    steep = 4e-16 * np.abs(x).max() * np.abs(curve.slope(found))
    assert (apart <= 4e-15 * size).all() or (apart <= 1e-15 * size + steep).all()


def test_a_parabola_s_slopes_by_hand():
    """For points of x^2 the slopes are the harmonic means and the ends' parabola, by hand."""
    x = np.array([0.0, 1.0, 2.0, 4.0])
    # Chords 1, 3, 6; at 1: equal widths, 2 / (1/1 + 1/3) = 1.5; at 2: weights 5 and 4,
    # 9 / (5/3 + 4/6) = 27/7; left end (3 * 1 - 3) / 2 = 0; right end 8.
    expected = [0.0, 1.5, 27.0 / 7.0, 8.0]
    assert np.allclose(Curve(x, x * x).slope(x), expected, rtol=1e-15, atol=1e-15)


@given(tables(), st.lists(tables(), min_size=1, max_size=2))
def test_each_of_several_joints_has_its_own_curve_and_determines_the_actuator(table, others):
    """The curve is that of a table of this joint alone, and its inverse gives the actuator."""
    x, first = table
    columns = [first, *(np.interp(x, np.linspace(x[0], x[-1], len(y)), y) for _, y in others)]
    hand = TabulatedTransmission(x, np.transpose(columns)).with_max_gain(LARGEST_MAX_GAIN)
    a = np.linspace(x[0], x[-1], 23)[:, np.newaxis]
    q = hand.actuator_to_joint('position', a)
    assert np.abs(hand.joint_to_actuator('position', q) - a).max() <= 1e-7 * np.abs(x).max()
    for k, column in enumerate(columns):
        alone, finger = hand.select_joints([k]), TabulatedTransmission(x, column)
        assert np.array_equal(finger.actuator_to_joint('position', a), q[:, k : k + 1])
        found = alone.joint_to_actuator('position', q[:, k : k + 1])
        assert np.array_equal(finger.joint_to_actuator('position', q[:, k : k + 1]), found)


def test_contradicting_joints_are_solved_by_least_squares():
    """With straight columns every map is that of the matrix, so are all inverses."""
    slopes, points = np.array([[1.0], [-0.5], [3.0]]), np.array([-4.0, 0.0, 5.0])
    table = TabulatedTransmission(points, points[:, np.newaxis] * slopes.T)
    matrix, random = CoupledTransmission(slopes), np.random.default_rng(0)
    at, values = np.zeros((50, 3)), random.uniform(-1.0, 1.0, size=(50, 3))
    for interface in ('position', 'velocity', 'acceleration', 'effort'):
        found = table.joint_to_actuator(interface, values, at=at, rate=values)
        assert np.allclose(found, matrix.joint_to_actuator(interface, values), rtol=1e-12)
    found = table.actuator_to_joint('effort', values[:, :1], at=at[:, :1])
    assert np.allclose(found, matrix.actuator_to_joint('effort', values[:, :1]), rtol=1e-12)


COLUMNS = params(actuator='0 1 2', joint1='0 1 4', joint2='0 -2 -3')
POINTS = ''.join(
    f'<point actuator="{a}" joint1="{q}" joint2="{r}"/>'
    for a, q, r in ((0, 0, 0), (1, 1, -2), (2, 4, -3))
)


def test_a_hand_is_described_in_columns_or_point_by_point():
    """Both give the same map of all joints; the numbers beside the table are live."""
    for table in (COLUMNS, POINTS):
        robot = maps('qr', transmission('hand', 'Tabulated', 'qr', 'a', table))
        assert robot.actuator_to_joint('position', [1.0]).tolist() == [1.0, -2.0]
        tuned = robot.with_parameters({'hand.actuators.a.mechanical_reduction': 2.0})
        assert tuned.actuator_to_joint('position', [2.0]).tolist() == [1.0, -2.0]


@pytest.mark.parametrize(('text', 'expected'), [
    ('', '<param>s with the names actuator, joint1, joint2'),
    (COLUMNS + POINTS, '<param>s with the names actuator, joint1, joint2'),
    (POINTS.replace('joint2', 'joint3'), 'attributes actuator, joint1, joint2'),
    (COLUMNS.replace('0 -2 -3', '0 -2'), 'a number of each member at each point'),
    (COLUMNS.replace('0 -2 -3', '0 -2 x'), 'a decimal number'),
    (COLUMNS.replace('0 -2 -3', '0 -2 -1'), 'each column to increase, or to decrease'),
])  # fmt: skip
def test_a_description_without_a_table_of_all_joints_is_refused(text, expected):
    """The error names what is expected."""
    robot = maps('qr', transmission('hand', 'Tabulated', 'qr', 'a', text))
    (finding,) = [each for each in robot.findings if each.severity == 'error']
    assert expected in finding.expected


@pytest.mark.parametrize(('actuator', 'joint', 'columns'), [
    ('0 1 2', '0 1 18', []), ('0 1 400.5', '0 1 2', []), ('0 1 300', '0 1 2', []),
    ('0 45 90', '0 30 80', ['joint1']), ('2048 2600 3100', '0 1 2', ['actuator']),
    ('0 2048 4095', '0 90 180', ['actuator', 'joint1']),
])  # fmt: skip
def test_columns_in_another_unit_are_doubted(actuator, joint, columns):
    """Joints turn at most three times each way, and only ticks are large integers."""
    numbers = params(actuator=actuator, joint=joint)
    found = maps('q', transmission('jaw', 'Tabulated', ['q'], ['a'], numbers)).findings
    assert [each.message.split(' of ')[1].split()[0] for each in found] == columns
