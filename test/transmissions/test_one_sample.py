# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""One sample in plain numbers: what batches say, or nothing."""

from __future__ import annotations

from collections import Counter
import math

import numpy as np
import pytest

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions import (
    Domain,
    matrix_of,
    PositionDependentTransmission,
    vector_of,
)
from transmission_bridge.transmissions.ankle_leg import AnkleLeg
from transmission_bridge.transmissions.crank_slider import CrankSliderTransmission
from transmission_bridge.transmissions.elementary import ARRAYS, NUMBERS
from transmission_bridge.transmissions.interfaces import DIRECTIONS
from transmission_bridge.transmissions.newton import solve
from transmission_bridge.transmissions.one_sample import OneSample, SampleForm
from transmission_bridge.transmissions.parallel_ankle import ParallelAnkleTransmission
from transmission_bridge.transmissions.seeds import seed_table
from transmission_bridge.transmissions.slider_linkages import GuidedSlider, HingedCylinder
from transmission_bridge.transmissions.square import SQUARES
from transmission_bridge.transmissions.tabulated import TabulatedTransmission

NAN = (math.nan, math.nan)


class Swing(PositionDependentTransmission):
    """``a = q + sin(q) / 2``, given for arrays only; the other direction is solved."""

    api_version = 1

    def __init__(self) -> None:
        super().__init__(Domain('joint', (-2.0,), (2.0,)))

    def actuator_position(self, joint_position):
        """Return ``a``."""
        return joint_position + 0.5 * np.sin(joint_position)

    def actuator_jacobian(self, joint_position):
        """Return ``da/dq``."""
        return (1.0 + 0.5 * np.cos(joint_position))[..., np.newaxis]


class Pair(Swing):
    """Two actuators on one joint."""

    def actuator_position(self, joint_position):
        """Return ``a``."""
        q = joint_position[..., 0]
        return vector_of(q, -q)

    def actuator_jacobian(self, joint_position):
        """Return ``da/dq``."""
        q = joint_position[..., 0]
        return matrix_of((np.ones_like(q),), (-np.ones_like(q),))


def crank() -> CrankSliderTransmission:
    """Return a slider on a guide."""
    return CrankSliderTransmission(GuidedSlider(0.04, 0.12, 0.01), 1.5, joint_reduction=-1.5)


def ankle() -> ParallelAnkleTransmission:
    """Return an ankle with tilted motor axes."""
    legs = (
        AnkleLeg(motor=(0.0, 0.05, 0.24), crank=0.05, rod=0.24, foot=(0.05, 0.05, 0.0)),
        AnkleLeg(
            motor=(0.0, -0.05, 0.15),
            crank=0.05,
            rod=0.15,
            foot=(0.05, -0.05, 0.0),
            axis=(0.1, 2.0, -0.1),
        ),
    )
    return ParallelAnkleTransmission(
        legs,
        lower=(-0.6, -0.3),
        upper=(0.4, 0.3),
        actuator_reduction=(20.0, -30.0),
        joint_offset=(0.1, -0.05),
    )


MECHANISMS = {
    'crank': crank(),
    'cylinder': CrankSliderTransmission(HingedCylinder(0.3, 0.9, 0.05), 1.0),
    'ankle': ankle(),
    'table': TabulatedTransmission([0.0, 1.0, 3.0], [0.0, 2.0, 2.5]),
    'arrays only': Swing(),
}


def joints_of(t: PositionDependentTransmission, count: int) -> np.ndarray:
    """Return joint positions well inside the domain."""
    low, high = np.array(t.domain.lower), np.array(t.domain.upper)
    shares = np.random.default_rng(3).uniform(0.1, 0.9, (count, len(low)))
    x = low + shares * (high - low)
    return t.actuator_to_joint('position', x) if t.domain.space == 'actuator' else x


@pytest.mark.parametrize('name', MECHANISMS)
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_it_is_what_the_batch_says(name: str, direction: str) -> None:
    """Inside the domain every sample is answered in plain numbers, to rounding as the batch."""
    t = MECHANISMS[name]
    q = joints_of(t, 200)
    a = t.joint_to_actuator('position', q)
    position, out = (a, q) if direction == 'actuator_to_joint' else (q, a)
    velocity, effort = np.random.default_rng(4).normal(size=(2, *position.shape))
    expected = [
        out,
        getattr(t, direction)('velocity', velocity, at=position),
        getattr(t, direction)('effort', effort, at=position),
    ]
    nearby = out + 1e-3 * (out[::-1] - out)
    for row in range(len(out)):
        sample = t.sample_map(direction)(
            *(each[row].tolist() for each in (position, velocity, effort, nearby))
        )
        assert sample is not None
        for numbers, batch in zip(sample, expected, strict=True):
            assert all(type(number) is float for number in numbers)
            assert np.abs(np.array(numbers) - batch[row]).max() <= 1e-12 * np.abs(batch).max()


@pytest.mark.parametrize('name', MECHANISMS)
def test_one_sample_is_the_same_however_it_is_asked(name: str) -> None:
    """Together, one by one and in plain numbers, a sample gives the same to the last bit."""
    t = MECHANISMS[name]
    for q in joints_of(t, 20):
        a = t.joint_to_actuator('position', q)
        for direction, at, guess in (('joint_to_actuator', q, a), ('actuator_to_joint', a, q)):
            together = t.map_state(direction, at, 2.0 * at, 3.0 * at, guess=guess)
            numbers = at.tolist(), (2.0 * at).tolist(), (3.0 * at).tolist(), guess.tolist()
            function = getattr(t, direction)
            alone = [
                function('position', at, guess=guess),
                function('velocity', 2.0 * at, at=at, guess=guess),
                function('effort', 3.0 * at, at=at, guess=guess),
            ]
            for some, others in ((together, alone), (t.sample_map(direction)(*numbers), alone)):
                for one, other in zip(some, others, strict=True):
                    assert np.array_equal(one, other)


def test_what_has_to_be_counted_is_left_alone() -> None:
    """Outside the domain, at a dead centre and at an unknown position there is no answer."""
    t, one = crank(), (1.0,)
    (low,), (high,) = t.domain.lower, t.domain.upper
    for position in (low - 0.1, high + 0.1, low, high, math.nan, math.inf, 1e300):
        assert t.sample_map('joint_to_actuator')((position,), one, one, one) is None
    for stroke in (0.5, -0.5, math.nan, math.inf):
        counts: Counter[str] = Counter()
        assert t.sample_map('actuator_to_joint')((stroke,), one, one, one) is None
        t.map_state('actuator_to_joint', np.array([stroke]), *np.ones((2, 1)), report=counts)
        assert counts == ({'domain': 1} if math.isfinite(stroke) else {})
    t = ankle()
    assert t.sample_map('joint_to_actuator')((0.0, 1.0), one * 2, one * 2, one * 2) is None
    a = t.joint_to_actuator('position', (0.0, 0.1)).tolist()
    assert t.sample_map('actuator_to_joint')(a, one * 2, one * 2, NAN) is None
    assert t.sample_map('actuator_to_joint')(a, one * 2, one * 2, (0.0, 9.0)) is None
    assert t.sample_map('actuator_to_joint')((1e3, 1e3), one * 2, one * 2, (0.0, 0.0)) is None


def test_a_start_far_off_ends_where_batches_do() -> None:
    """From any start of the domain a sample is solved as in a batch, in numbers or not at all."""
    t = ankle()
    q = joints_of(t, 100)
    a = t.joint_to_actuator('position', q)
    solved = 0
    for row, start in enumerate(q[::-1]):
        sample = t.sample_map('actuator_to_joint')(*[a[row].tolist()] * 3, start.tolist())
        if sample is not None:
            solved += 1
            assert np.abs(np.array(sample[0]) - q[row]).max() <= 1e-12
        assert np.abs(t.actuator_to_joint('position', a[row], guess=start) - q[row]).max() <= 1e-12
    assert solved > 50


def test_unknown_rates_touch_what_depends_on_them() -> None:
    """A velocity that is not known leaves position and effort as they are."""
    position, velocity, effort = crank().sample_map('joint_to_actuator')(
        (0.1,), (math.nan,), (2.0,), NAN
    )
    assert math.isnan(velocity[0])
    assert math.isfinite(position[0])
    assert math.isfinite(effort[0])


def test_other_than_square_is_left_to_arrays() -> None:
    """With more actuators than joints there is no answer in plain numbers, but one in arrays."""
    assert Pair().sample_map('actuator_to_joint') is None
    state = Pair().map_state('actuator_to_joint', np.array([0.5, -0.5]), *np.ones((2, 2)))
    assert abs(state[0][0] - 0.5) < 1e-12


class Longer(CrankSliderTransmission):
    """Twice the stroke."""

    def actuator_position(self, joint_position):
        """Return twice as much."""
        return 2.0 * super().actuator_position(joint_position)

    def actuator_jacobian(self, joint_position):
        """Return twice as much."""
        return 2.0 * super().actuator_jacobian(joint_position)

    def joint_position(self, actuator_position):
        """Return the position of half as much."""
        return super().joint_position(0.5 * actuator_position)


def test_a_changed_mechanism_is_not_mapped_by_the_old_numbers() -> None:
    """A subclass that changes the maps of arrays only has single samples mapped by these."""
    t, ones = Longer(GuidedSlider(0.04, 0.12), 1.5), (1.0,)
    stroke, speed, _ = t.sample_map('joint_to_actuator')((0.2,), ones, ones, ones)
    assert np.array_equal(stroke, t.joint_to_actuator('position', [[0.2]])[0])
    assert np.array_equal(speed, t.joint_to_actuator('velocity', [[1.0]], at=[[0.2]])[0])
    assert abs(t.sample_map('actuator_to_joint')(stroke, ones, ones, ones)[0][0] - 0.2) < 1e-13


def test_a_map_that_is_changed_alone_is_what_everything_is_solved_by() -> None:
    """A subclass may change one of several maps that its parent gives together as well."""

    class Shifted(ParallelAnkleTransmission):
        """The same ankle, its encoders being half a radian ahead."""

        def actuator_position(self, joint_position):
            """Return half a radian more."""
            return super().actuator_position(joint_position) + 0.5

    options = {'lower': (-0.6, -0.3), 'upper': (0.4, 0.3)}
    legs = (
        AnkleLeg(motor=(0.0, 0.05, 0.24), crank=0.05, rod=0.24, foot=(0.05, 0.05, 0.0)),
        AnkleLeg(motor=(0.0, -0.05, 0.15), crank=0.05, rod=0.15, foot=(0.05, -0.05, 0.0)),
    )
    t, parent = Shifted(legs, **options), ParallelAnkleTransmission(legs, **options)
    for q in ([0.1, 0.05], [-0.3, 0.2]):
        a = parent.joint_to_actuator('position', q) + 0.5
        for many in (False, True):
            given, moved = (np.array([each] * 3 if many else each) for each in (q, a))
            assert np.abs(t.joint_to_actuator('position', given) - moved).max() <= 1e-14
            assert np.abs(t.actuator_to_joint('position', moved) - given).max() <= 1e-13
        for direction, one, other in (('joint_to_actuator', q, a), ('actuator_to_joint', a, q)):
            found = t.sample_map(direction)(*[list(one)] * 3, list(other))
            assert np.abs(np.array(found[0]) - other).max() <= 1e-13


def test_a_changed_jacobian_has_a_rate_of_its_own() -> None:
    """A subclass that changes the Jacobian has accelerations by it, not by its parent's rate."""
    linkage, where = (GuidedSlider(0.04, 0.12), 1.5), {'at': [0.2], 'rate': [3.0]}
    found, single = (
        cls(*linkage).joint_to_actuator('acceleration', [5.0], **where)
        for cls in (Longer, CrankSliderTransmission)
    )
    assert abs(found - 2.0 * single) <= 1e-10


class Near(Swing):
    """The same with a way of its own to a solution, by another iteration."""

    answers: tuple[float, ...] | None = None

    def joint_position_near(self, actuator_position, joint_position):
        """Return the solution and its Jacobian, or what a test wants."""
        if self.answers is not None:
            return self.answers, (1.0,)
        (a,), (q,) = actuator_position, joint_position
        for _ in range(100):
            q = a - 0.5 * math.sin(q)
        return (q,), (1.0 + 0.5 * math.cos(q),)


class Doubled(Near):
    """Another mechanism, of which the way to the solution knows nothing."""

    def actuator_position(self, joint_position):
        """Return twice as much."""
        return 2.0 * super().actuator_position(joint_position)

    def actuator_jacobian(self, joint_position):
        """Return twice as much."""
        return 2.0 * super().actuator_jacobian(joint_position)


def test_a_solution_of_the_plugins_own_is_taken() -> None:
    """What a plugin finds near a start is the answer, if the domain has it; else it is solved."""
    t, ones = Near(), (1.0,)
    q = t.sample_map('actuator_to_joint')((1.0,), ones, ones, (0.9,))
    expected = Swing().sample_map('actuator_to_joint')((1.0,), ones, ones, (0.9,))
    assert np.allclose(q, expected, rtol=0.0, atol=1e-15)
    t.answers = (1.5,)
    assert t.sample_map('actuator_to_joint')((1.0,), ones, ones, (0.9,))[0] == (1.5,)
    t.answers = (2.5,)
    assert t.sample_map('actuator_to_joint')((1.0,), ones, ones, (0.9,)) is None


def test_a_changed_mechanism_is_not_solved_by_the_old_way() -> None:
    """A subclass that changes the maps only has its solutions found by these."""
    t, ones = Doubled(), (1.0,)
    (q,), (speed,), _ = t.sample_map('actuator_to_joint')((2.0,), ones, ones, (0.9,))
    assert abs(2.0 * q + math.sin(q) - 2.0) <= 1e-15
    assert abs(speed * (2.0 + math.cos(q)) - 1.0) <= 1e-15


@pytest.mark.parametrize('answer', [((1.0, 2.0), (1.0,)), ((1.0,), (1.0, 2.0)), ((), ())])
def test_another_number_of_numbers_is_refused(answer) -> None:
    """A map of single samples that does not fit is found when the transmission is built."""

    class Odd(Swing):
        """Miscounts."""

        def actuator_sample(self, joint_position):
            """Return something else."""
            return answer

    with pytest.raises(TransmissionError, match='another number of numbers'):
        Odd()


def test_another_number_of_solutions_is_refused() -> None:
    """So is a way to the solution that does not fit."""

    class Odd(Near):
        """Miscounts."""

        answers = (1.0, 2.0)

    with pytest.raises(TransmissionError, match='nearby map gives another number of numbers'):
        Odd()


def test_the_steps_of_the_solver_are_those_of_batches() -> None:
    """The solver of one sample stops at the same solution as that of batches, to rounding."""
    t = ankle()
    target = t.joint_to_actuator('position', [[0.1, 0.2]])
    start = np.array([[0.0, 0.0]])
    x, _, converged = solve(t.actuator_position_and_jacobian, target, start, t.domain.span)
    sample = t.sample_map('actuator_to_joint')(*[target[0].tolist()] * 3, (0.0, 0.0))
    assert converged.all()
    assert np.abs(np.array(sample[0]) - x[0]).max() <= 1e-15


def one_of(evaluate, low: float = -20.0, high: float = 4.0) -> OneSample:
    """Return the map of single samples of something whose typical gain is one."""
    domain = Domain('joint', (low,), (high,))
    seeds = seed_table(domain, lambda x: (x, np.ones((*x.shape, 1))), 1e8)
    return OneSample(SampleForm(lambda x: evaluate(*x)), domain, seeds, 1e8)


@pytest.mark.parametrize(
    ('value', 'slope', 'answered'),
    [(0.0, 1e7, True), (0.0, 1e9, False), (0.0, 1e-7, True), (0.0, 1e-9, False),
     (0.0, -1.0, False), (0.0, math.nan, False), (math.nan, 1.0, False), (math.inf, 1.0, False)],
)  # fmt: skip
def test_only_a_regular_jacobian_is_trusted(value, slope, answered) -> None:
    """A gain far from the typical one, of the other sign or unknown is not answered here."""
    one = one_of(lambda x: ((value,), (slope,)))
    assert (one.along((0.5,), (1.0,), (1.0,), ()) is not None) == answered


def test_gains_of_any_unit_are_measured_by_the_typical_one() -> None:
    """What is singular does not depend on the units of actuator and joint."""
    for gain in (1e-6, 1.0, 1e6):
        t = TabulatedTransmission([0.0, 1.0, 2.0], [0.0, gain, 2.0 * gain])
        for share, answered in ((1e-7, True), (1e-9, False)):
            seeds = t._mechanism._seeds
            one = OneSample(
                SampleForm(lambda x, slope=share * gain: (x, (slope,))), t.domain, seeds, 1e8
            )
            assert (one.along((0.5,), (1.0,), (1.0,), ()) is not None) == answered


def test_a_whole_step_that_does_not_help_ends_it() -> None:
    """Where batches would halve a step, there is no answer in numbers, even if one would come."""

    def bent(x: float):
        return ((x,), (1.0,)) if x < 0.0 else ((math.atan(x),), (1.0 / (1.0 + x * x),))

    one = one_of(bent)
    found = one.back((-0.5,), (1.0,), (1.0,), (0.5,))
    assert found is not None
    assert abs(found[0][0] + 0.5) < 1e-13
    assert one.back((-0.5,), (1.0,), (1.0,), (3.0,)) is None


def test_a_solution_or_a_start_outside_the_domain_is_left_alone() -> None:
    """What the rods reach, but the joints must not, is not answered."""
    t = ankle()
    outside = (0.0, 0.31)
    a, _ = t.actuator_sample(outside)
    assert t.sample_map('actuator_to_joint')(a, a, a, (0.0, 0.29)) is None
    a, _ = t.actuator_sample((0.0, 0.29))
    assert t.sample_map('actuator_to_joint')(a, a, a, outside) is None
    assert t.sample_map('actuator_to_joint')(a, a, a, (0.0, 0.28)) is not None


@pytest.mark.parametrize('name', ['sin', 'cos', 'sqrt', 'rint'])
def test_functions_of_one_number_are_the_same(name: str) -> None:
    """Numbers and arrays have the same functions under a name, to rounding."""
    numbers = np.linspace(0.01, 7.0, 1001)
    alone = [getattr(NUMBERS, name)(number) for number in numbers.tolist()]
    assert np.allclose(alone, getattr(ARRAYS, name)(numbers), rtol=4e-16, atol=1e-16)


@pytest.mark.parametrize('name', ['arctan2', 'hypot'])
def test_functions_of_two_numbers_are_the_same(name: str) -> None:
    """The order of the two arguments is the same as well."""
    first, second = np.random.default_rng(5).normal(size=(2, 1000))
    alone = [
        getattr(NUMBERS, name)(*pair) for pair in zip(first.tolist(), second.tolist(), strict=True)
    ]
    assert np.allclose(alone, getattr(ARRAYS, name)(first, second), rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize('rows', [1, 2])
def test_small_matrices_by_numpy(rows: int) -> None:
    """Products with matrices in plain numbers, and with their inverses, are those of numpy."""
    square, whatever = SQUARES[rows], (math.inf, 0.0, math.inf)
    for matrix, vector in zip(
        np.random.default_rng(6).normal(size=(100, rows, rows)),
        np.random.default_rng(7).normal(size=(100, rows)),
        strict=True,
    ):
        if np.linalg.det(matrix) < 0.0:
            matrix[0] *= -1.0
        entries, numbers = matrix.ravel().tolist(), vector.tolist()
        tolerance = 1e-14 * (1.0 + np.linalg.cond(matrix))
        for along, speeds, forces in (
            (True, matrix, np.linalg.inv(matrix).T),
            (False, np.linalg.inv(matrix), matrix.T),
        ):
            velocity, effort = square.rates(along, entries, numbers, numbers[::-1], whatever)
            scale = tolerance * (1.0 + np.abs(speeds).max() + np.abs(forces).max())
            assert np.abs(velocity - speeds @ vector).max() <= scale
            assert np.abs(effort - forces @ vector[::-1]).max() <= scale


@pytest.mark.parametrize('rows', [1, 2])
def test_only_regular_matrices_have_products(rows: int) -> None:
    """What is answered is regular by its singular values, and all that is clearly regular is."""
    square, random, ones = SQUARES[rows], np.random.default_rng(8), (1.0,) * rows
    answered = 0
    for matrix in random.normal(size=(1000, rows, rows)):
        gain, limit, highest = random.uniform(0.1, 2.0), random.uniform(1.0, 9.0), 2.0
        values = np.linalg.svd(matrix, compute_uv=False)
        sign = np.sign(np.linalg.det(matrix))
        entries = matrix.ravel().tolist()
        for branch in (1.0, -1.0):
            rates = square.rates(True, entries, ones, ones, (branch * limit, gain, highest))
            for bound, certain in ((values[0], False), (1.5 * values[0], True)):
                regular = (
                    branch == sign
                    and bound * max(bound, gain) < limit * values[0] * values[-1]
                    and bound <= highest
                )
                if certain:
                    assert rates is not None or not regular
                else:
                    assert rates is None or regular
            answered += rates is not None
    assert answered > 100
