# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linear transmissions by their laws, the class that plugins use, and spellings of a matrix."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest
from zoo.elements import of_snippet

from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError, ShapeError, TransmissionError
from transmission_bridge.transmissions import (
    DifferentialTransmission,
    FourBarLinkageTransmission,
    LinearTransmission,
    Ratio,
    RobotTransmissions,
    SimpleTransmission,
)
from transmission_bridge.transmissions.coupled import CoupledTransmission
from transmission_bridge.transmissions.interfaces import DIRECTIONS, interfaces_of, Quantity
from transmission_bridge.transmissions.screw import ScrewTransmission
from transmission_bridge.transmissions.sparsity import inverse_pattern
from transmission_bridge.transmissions.tunable import LiveNumber

EPS = np.finfo(float).eps
RATIOS = st.floats(1e-3, 1e4) | st.floats(-1e4, -1e-3)
OFFSETS = st.just(0.0) | st.floats(-1e3, 1e3)
# Away from subnormal numbers, which have no relative precision.
NUMBERS = st.just(0.0) | st.floats(1e-60, 1e6) | st.floats(-1e6, -1e-60)


class Matrix(LinearTransmission):
    """A linear transmission of any matrix."""

    api_version = 2

    @classmethod
    def from_spec(cls, reader):
        """Build an identity, as nothing else is described."""
        return cls(np.eye(len(reader.spec.joints)))


@st.composite
def transmissions(draw):
    """Draw one of the classical three."""
    cls = draw(
        st.sampled_from([SimpleTransmission, DifferentialTransmission, FourBarLinkageTransmission])
    )
    if cls is SimpleTransmission:
        return cls(draw(RATIOS), draw(OFFSETS))
    ar, jr, off = (draw(st.tuples(each, each)) for each in (RATIOS, RATIOS, OFFSETS))
    return cls(ar, jr, off)


def vectors(transmission, elements=NUMBERS):
    """Return a strategy for one sample; the classical three have as many joints as actuators."""
    n = transmission.n_joints
    return st.lists(elements, min_size=n, max_size=n).map(lambda values: np.array(values))


def back_of(direction):
    """Return the other direction."""
    return DIRECTIONS[1 - DIRECTIONS.index(direction)]


@settings(max_examples=25)
@given(transmissions(), st.data())
def test_there_and_back(transmission, data):
    """A value mapped there and back is itself, to a few roundings of the terms on the way."""
    x = data.draw(vectors(transmission))
    for direction in DIRECTIONS:
        for interface in interfaces_of('joint_to_actuator'):
            there = getattr(transmission, direction)(interface, x)
            back = getattr(transmission, back_of(direction))(interface, there)
            kind = 'effort' if interface in ('effort', 'torque', 'force') else 'velocity'
            n = transmission.n_joints
            # The maps' own coefficients, from unit velocities and efforts.
            gain = abs(getattr(transmission, direction)(kind, np.eye(n)).T)
            gain_back = abs(getattr(transmission, back_of(direction))(kind, np.eye(n)).T)
            offset = abs(np.array(transmission.joint_offset)) * (interface == 'position')
            if direction == 'actuator_to_joint':
                terms = gain_back @ (gain @ abs(x) + 2 * offset)
            else:
                terms = gain_back @ (gain @ (abs(x) + offset)) + offset
            assert (abs(back - x) <= 8 * EPS * terms).all()


@settings(max_examples=25)
@given(transmissions(), st.data())
def test_power_is_conserved(transmission, data):
    """Effort times velocity is the same on both sides, whichever way both are mapped."""
    rate, effort = data.draw(vectors(transmission)), data.draw(vectors(transmission))
    for direction in DIRECTIONS:
        function = getattr(transmission, direction)
        there_rate, there_effort = function('velocity', rate), function('effort', effort)
        n = transmission.n_joints
        # The sum over all products of terms, not of rounded sums, in which terms may cancel.
        terms = (abs(function('effort', np.eye(n))).T @ abs(effort)) @ (
            abs(function('velocity', np.eye(n))).T @ abs(rate)
        ) + abs(rate) @ abs(effort)
        assert abs(there_rate @ there_effort - rate @ effort) <= 16 * EPS * terms


@pytest.mark.parametrize(
    ('arguments', 'error'),
    [
        (([[np.nan]],), TransmissionError),
        (([[np.inf]],), TransmissionError),
        (([[1.0]], [np.nan]), TransmissionError),
        (([[0.0]],), TransmissionError),
        (([[1.0, 2.0], [2.0, 4.0]],), TransmissionError),
        (([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]],), TransmissionError),
        (([1.0, 2.0],), ShapeError),
        ((np.zeros((0, 2)),), ShapeError),
        (([[1.0]], [0.0, 0.0]), ShapeError),
    ],
)
def test_a_matrix_that_is_no_transmission_is_refused(arguments, error):
    """Numbers that are not finite, lost rank, and shapes that do not fit are refused."""
    with pytest.raises(error):
        Matrix(*arguments)
    with pytest.raises(ShapeError):
        Matrix([[1.0, 0.0], [0.0, 1.0]], inverse=[[1.0]])


@pytest.mark.parametrize('cls', [DifferentialTransmission, FourBarLinkageTransmission])
@pytest.mark.parametrize('count', [0, 1, 3])
def test_another_number_of_ratios_is_refused(cls, count):
    """A pair takes two of each number, and the error says how many it was given."""
    two, other = (1.0, 1.0), (1.0,) * count
    for arguments in ((other, two, two), (two, other, two)):
        with pytest.raises(TransmissionError) as caught:
            cls(*arguments)
        assert caught.value.expected == 'finite numbers other than zero, 2 in all'
        assert caught.value.found.startswith(str(count))
    with pytest.raises(ShapeError, match=r'^joint_offset: expected shape \(2,\)'):
        cls(two, two, other)


def test_a_matrix_is_copied_and_cannot_be_changed():
    """What a transmission was built from may be changed afterwards without effect."""
    matrix, offset = np.array([[2.0]]), np.array([1.0])
    transmission = Matrix(matrix, offset)
    matrix[...], offset[...] = 7.0, 7.0
    assert transmission.actuator_to_joint('position', [3.0]) == [7.0]
    assert transmission.joint_offset == (1.0,)
    coefficients, _, bias = transmission.coefficients('actuator_to_joint', Quantity.POSITION)
    for array in (coefficients, bias):
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0.0


@pytest.mark.parametrize('shape', [(1, 1), (2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize('is_closed', [True, False])
def test_coefficients_are_products_of_the_declared_factors(shape, is_closed):
    """A pseudo-inverse weighs the longer side by its ratios: these are no factors of it."""
    random = np.random.default_rng(0)
    matrix = random.normal(size=shape)
    inverse = np.linalg.pinv(matrix) if is_closed else None
    values = {('joint', i): random.uniform(0.5, 2.0) for i in range(shape[0])}
    values |= {('actuator', k): random.uniform(0.5, 2.0) for k in range(shape[1])}
    values[('lead',)] = 0.7

    def build(numbers):
        live = {path: LiveNumber(number, path) for path, number in numbers.items()}
        sides = [
            [Ratio((3.0, live[side, place])) for place in range(count)]
            for side, count in zip(('joint', 'actuator'), shape, strict=True)
        ]
        sides[0][0] = Ratio(sides[0][0].times, over=[live[('lead',)]])
        joints, actuators = sides
        return Matrix(matrix, inverse=inverse, joint_ratio=joints, actuator_ratio=actuators)

    base, declared = build(values), set()
    for direction in DIRECTIONS:
        for quantity in (Quantity.POSITION, Quantity.VELOCITY, Quantity.EFFORT):
            rows = base.list_factors(direction, quantity)
            declared |= {path for row in rows for factors in row for path, _ in factors}
    sides = {path[0] for path in declared}
    longer = {(3, 2): 'joint', (2, 3): 'actuator'}.get(shape)
    assert ('joint' in sides, 'actuator' in sides) == (
        is_closed or longer != 'joint',
        is_closed or longer != 'actuator',
    )
    for path in declared:
        changed, ratio = build(values | {path: 1.7 * values[path]}), 1.7
        for direction in DIRECTIONS:
            for quantity in (Quantity.POSITION, Quantity.VELOCITY, Quantity.EFFORT):
                factors = base.list_factors(direction, quantity)
                powers = [[dict(each).get(path, 0) for each in row] for row in factors]
                before, after = (
                    each.coefficients(direction, quantity)[0] for each in (base, changed)
                )
                assert np.allclose(after, before * ratio ** np.array(powers), rtol=1e-13)


def coupled(parameters: str, n_joints: int = 2, n_actuators: int = 2) -> RobotTransmissions:
    """Return a robot of one coupled transmission."""
    joints = ''.join(f'<joint name="j{i}" role="joint{i}"/>' for i in range(1, n_joints + 1))
    actuators = ''.join(
        f'<actuator name="a{i}" role="actuator{i}"/>' for i in range(1, n_actuators + 1)
    )
    return RobotTransmissions(
        load_description(
            of_snippet(
                '<transmission name="t"><plugin>transmission_bridge/CoupledTransmission</plugin>'
                f'{joints}{actuators}{parameters}</transmission>'
            )
        )
    )


ROWS = '<param name="joint1">1.5 3.2</param><param name="joint2">3.1, 1.4</param>'
ENTRIES = ''.join(
    f'<param name="joint{i}_output{k}">{value}</param>'
    for i, k, value in ((1, 1, 1.5), (1, 2, 3.2), (2, 1, 3.1), (2, 2, 1.4))
)


@pytest.mark.parametrize(
    'spelling', [ROWS, '<param name="matrix">1.5 3.2; 3.1 1.4;</param>', ENTRIES]
)
def test_three_spellings_are_one_matrix(spelling: str) -> None:
    """Rows, a whole matrix and the design draft's entries say the same, by hand."""
    robot = coupled(spelling)
    assert not [finding for finding in robot.findings if finding.severity != 'info']
    q = robot.actuator_to_joint('position', [2.0, -1.0])
    assert np.allclose(q, [1.5 * 2.0 - 3.2, 3.1 * 2.0 - 1.4], rtol=1e-15, atol=0)
    determinant = 1.5 * 1.4 - 3.2 * 3.1
    expected = np.array([1.4 * 1.0 - 3.2 * 2.0, -3.1 * 1.0 + 1.5 * 2.0]) / determinant
    assert np.allclose(robot.joint_to_actuator('position', [1.0, 2.0]), expected, rtol=1e-14)
    tau = robot.joint_to_actuator('effort', [1.0, 2.0])
    assert np.allclose(tau, [1.5 + 3.1 * 2.0, 3.2 + 1.4 * 2.0], rtol=1e-15)


@pytest.mark.parametrize(
    ('parameters', 'message'),
    [
        ('', 'row of joint1 is missing'),
        ('<param name="joint1">1 2</param>', 'row of joint2 is missing'),
        ('<param name="joint1">1 2</param><param name="joint2">1</param>', 'does not fit'),
        ('<param name="matrix">1 2; 3 4; 5 6</param>', 'does not fit'),
        ('<param name="matrix">1 2 3 4</param>', 'does not fit'),
        ('<param name="matrix">1 2; 3 x</param>', 'parameter matrix is not a number'),
        ('<param name="matrix">1 2; 3 nan</param>', 'parameter matrix is not a number'),
        ('<param name="matrix">1 2; 2 4</param>', 'not have full rank'),
        ('<param name="matrix">0 0; 0 0</param>', 'not have full rank'),
        ('<param name="matrix">1 1; 1 1.0000000000000002</param>', 'not have full rank'),
    ],
)
def test_a_matrix_that_cannot_be_used_is_a_finding(parameters: str, message: str) -> None:
    """A missing row, another shape, a word, a lost rank: an error that costs the transmission."""
    robot = coupled(parameters)
    (finding,) = [finding for finding in robot.findings if finding.severity == 'error']
    assert message in str(finding)
    assert robot.transmissions == {}


def test_an_entry_is_tuned_by_itself() -> None:
    """One entry changes, a change that loses rank is refused, and nothing else moves."""
    robot = coupled(ROWS)
    other = robot.with_parameters({'t': {'matrix': {'joint2': {'actuator1': 0.0}}}})
    assert other.actuator_to_joint('velocity', [1.0, 1.0]).tolist() == [1.5 + 3.2, 1.4]
    with pytest.raises(ParameterError, match='full rank'):
        other.with_parameters({'t': {'matrix': {'joint1': {'actuator1': 0.0}}}})
    # The zero is structural now: actuator 2 does not depend on joint 1 any more.
    assert np.isnan(other.joint_to_actuator('position', [np.nan, 1.0])).tolist() == [True, False]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1), st.floats(1.0, 100.0))
def test_more_or_fewer_actuators_than_joints(
    n_joints: int, n_actuators: int, seed: int, reduction: float
) -> None:
    """What can come back comes back, and least squares and least motion hold for the rest."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(n_joints, n_actuators))
    condition = np.linalg.cond(matrix)
    assume(condition < 1e4)
    t = CoupledTransmission(matrix, (reduction,) * n_actuators, (0.3,) * n_joints)
    a, q = random.normal(size=n_actuators), random.normal(size=n_joints)
    forward = t.actuator_to_joint('position', a)
    assert np.allclose(forward, matrix @ a / reduction + 0.3, rtol=1e-13, atol=1e-13)
    back = t.joint_to_actuator('position', q)
    least = np.linalg.lstsq(matrix / reduction, q - 0.3, rcond=None)[0]
    assert np.abs(back - least).max() <= 1e-13 * condition * (1.0 + np.abs(least).max())


@given(st.floats(1e-4, 0.1), st.sampled_from([1.0, -1.0]), st.floats(0.5, 100.0), st.floats(-1, 1))
def test_a_turn_of_the_screw_is_its_lead(
    size: float, hand: float, reduction: float, offset: float
) -> None:
    """One turn of the screw moves by the lead, and the thrust is the torque's work over it."""
    lead = hand * size
    t = ScrewTransmission(lead, reduction, offset)
    turn = 2.0 * np.pi * reduction
    moved = t.actuator_to_joint('position', [turn]) - t.actuator_to_joint('position', [0.0])
    assert moved[0] == pytest.approx(lead, rel=1e-12, abs=1e-15)
    thrust = t.actuator_to_joint('effort', [0.7])
    assert thrust[0] * lead == pytest.approx(0.7 * turn, rel=1e-14)
    assert t.joint_to_actuator('velocity', [lead])[0] == pytest.approx(turn, rel=1e-14)


@pytest.mark.parametrize('lead', [0.0, np.nan, np.inf])
def test_a_lead_that_cannot_be_used(lead: float) -> None:
    """No lead, no screw."""
    with pytest.raises(TransmissionError, match='lead'):
        ScrewTransmission(lead)


@st.composite
def sparse_matrices(draw, square: bool = True) -> np.ndarray:
    """Return a sparse matrix of full rank with entries of many magnitudes."""
    n_rows = draw(st.integers(1, 6))
    n_columns = n_rows if square else draw(st.integers(1, 6).filter(lambda n: n != n_rows))
    pattern = draw(arrays(bool, (n_rows, n_columns)))
    if square:
        permutation = draw(st.permutations(range(n_rows)))
        pattern[np.arange(n_rows), permutation] = True
    seed = draw(st.integers(0, 2**32 - 1))
    numbers = np.random.default_rng(seed).uniform(0.5, 2.0, size=pattern.shape)
    matrix = np.where(pattern, numbers, 0.0)
    assume(np.linalg.matrix_rank(matrix) == min(matrix.shape))
    assume(np.linalg.cond(matrix) < 1e6)
    return matrix


@given(sparse_matrices())
def test_zeros_of_a_square_inverse_are_those_of_its_structure(matrix: np.ndarray) -> None:
    """What the pattern leaves out is zero in the inverse; with other numbers, nothing else is."""
    pattern = inverse_pattern(matrix)
    computed = np.linalg.inv(matrix)
    scale = np.abs(computed).max() * np.linalg.cond(matrix)
    assert (np.abs(computed[~pattern]) <= 1e-14 * scale).all()
    # Generic numbers: an entry that the structure allows does not vanish for all of them.
    seen = np.zeros_like(pattern)
    for seed in range(3):
        random = np.random.default_rng(seed).uniform(0.5, 2.0, size=matrix.shape)
        generic = np.where(matrix != 0.0, random, 0.0)
        if np.linalg.cond(generic) < 1e8:
            seen |= np.abs(np.linalg.inv(generic)) > 1e-9
    assert (seen <= pattern).all()


@given(sparse_matrices(square=False))
def test_zeros_of_a_pseudo_inverse_lie_between_components(matrix: np.ndarray) -> None:
    """Joints and actuators that nothing connects have nothing to do with each other."""
    pattern = inverse_pattern(matrix)
    computed = np.linalg.pinv(matrix)
    scale = np.abs(computed).max() * np.linalg.cond(matrix)
    assert (np.abs(computed[~pattern]) <= 1e-14 * scale).all()
    assert pattern[(matrix != 0.0).T].all()


def test_rows_of_very_different_units_have_full_rank() -> None:
    """A millimetre beside a thousand revolutions is no lack of rank."""
    t = CoupledTransmission(np.diag([1e-12, 1e12]))
    assert np.array_equal(t.joint_to_actuator('position', [1.0, 1.0]), [1e12, 1e-12])
