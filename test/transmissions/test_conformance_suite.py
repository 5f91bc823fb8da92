# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite itself: whatever is broken, a check says so."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import ClassVar
import warnings

import base_checks
import casadi as ca
import numpy as np
import pytest

from transmission_bridge import conformance, EquationTransmission
from transmission_bridge.transmissions import LinearTransmission, SimpleTransmission
from transmission_bridge.transmissions.crank_slider import CrankSliderTransmission, GuidedSlider
from transmission_bridge.transmissions.differential import DifferentialTransmission
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR
from transmission_bridge.transmissions.position_dependent import PositionDependentTransmission


class Crank(CrankSliderTransmission):
    """A sound mechanism that is an equation, to be broken."""

    def __init__(self) -> None:
        super().__init__(GuidedSlider(0.04, 0.12, 0.01), 1.5)


class Solved(EquationTransmission):
    """A sound mechanism of which one direction is an equation, and the other solved."""

    api_version: ClassVar[int] = 2

    def range(self) -> Domain:
        """Return the positions of the motor."""
        return self.bare_range('actuator', [-1.0], [1.0])

    @staticmethod
    def joint_position(a, p):
        """Return a curve without a known inverse."""
        return ca.sinh(a) + a


class Spring(PositionDependentTransmission):
    """A sound mechanism that is a function of arrays, to be broken."""

    api_version: ClassVar[int] = 2

    def __init__(self) -> None:
        super().__init__(Domain('actuator', (-1.0,), (1.0,)))

    def evaluate(self, x):
        """Return a curve without a known inverse, and its slope."""
        return np.sinh(x) + x, (np.cosh(x) + 1.0)[..., np.newaxis]


class Pair(PositionDependentTransmission):
    """A sound mechanism of two joints that is a function of arrays, with all that it may give."""

    api_version: ClassVar[int] = 2

    def __init__(self) -> None:
        super().__init__(Domain('joint', (0.0, -1.0), (1.0, 1.0)))

    def evaluate(self, x):
        """Return a shear that varies."""
        first, second = x.T
        return np.stack([first, second + np.sin(first)], axis=-1), np.stack(
            [
                np.stack([np.ones_like(first), np.zeros_like(first)], axis=-1),
                np.stack([np.cos(first), np.ones_like(first)], axis=-1),
            ],
            axis=-2,
        )

    def inverse(self, y):
        """Return the joints."""
        first, second = y.T
        return np.stack([first, second - np.sin(first)], axis=-1)

    def slope_rate(self, x, rate):
        """Return the rate of the one entry that varies."""
        result = np.zeros((len(x), 2, 2))
        result[:, 1, 0] = -np.sin(x[:, 0]) * rate[:, 0]
        return result


class Wrist(DifferentialTransmission):
    """A sound linear transmission to be broken."""

    def __init__(self) -> None:
        super().__init__((10.0, -20.0), (-2.0, 4.0), (0.5, -0.5))


class OldVersion(Crank):
    """Was written for another contract."""

    api_version: ClassVar[int] = 0


class Undocumented(Crank):  # noqa: D101
    __doc__ = None


class Untitled(Crank):
    """no sentence"""  # noqa: D400, D415


class WrongJacobian(Spring):
    """Its derivative is off by a hundredth of a percent."""

    def evaluate(self, x):
        """Return a little more."""
        y, slope = super().evaluate(x)
        return y, 1.0001 * slope


class WrongRate(Pair):
    """Its second derivative has the wrong sign."""

    def slope_rate(self, x, rate):
        """Return the opposite."""
        return -super().slope_rate(x, rate)


class WrongInverse(Crank):
    """Its two equations are not quite of one mechanism."""

    @staticmethod
    def joint_position(a, p):
        """Return a little more."""
        return CrankSliderTransmission.joint_position(a, p) + 1e-9


class WrongInverseOfArrays(Pair):
    """Its inverse is not quite that."""

    def inverse(self, y):
        """Return a little more."""
        return super().inverse(y) + 1e-9


class LosesPower(LinearTransmission):
    """A matrix, and not its inverse."""

    api_version: ClassVar[int] = 2

    def __init__(self) -> None:
        super().__init__([[2.0]], inverse=[[0.5000001]])


class CountsCalls(Spring):
    """Answers differently each time."""

    calls = 0

    def evaluate(self, x):
        """Add to the last answer."""
        self.calls += 1
        y, slope = super().evaluate(x)
        return y + 1e-9 * self.calls, slope


def answering(base, answer):
    """
    Return a type that maps as its base does, and answers something else.

    :param answer: From the result, what was mapped, and the three that tell how.
    """

    class Answering(base):
        """Answers something else."""

        def map(self, direction, interface, values, **options):
            """Return another answer."""
            result = super().map(direction, interface, values, **options)
            return answer(result, values, self, interface, direction)

    return Answering


def mutate(result, values, *_):
    """Change the argument a little."""
    if isinstance(values, np.ndarray):
        values *= 1.0000001
    return result


def remember(result, values, t, *_):
    """Filter over calls."""
    result += 1e-6 * getattr(t, 'last', 0.0)
    t.last = float(np.nansum(result))
    return result


def write_into_one_buffer(result, values, t, *_, buffer={}):  # noqa: B006
    """Return the same array over and over."""
    kept = buffer.setdefault(result.shape, np.empty(result.shape))
    kept[...] = result
    return kept


def map_the_first_row(result, *_):
    """Return the first row everywhere."""
    if result.ndim > 1 and len(result) > 1:
        result[1:] = result[:1]
    return result


def lose(beyond):
    """Return what does not find a joint back that is beyond a position."""

    def answer(result, values, t, interface, direction):
        if interface == 'position' and direction == ACTUATOR_TO_JOINT:
            result = np.where(result > beyond(t), np.nan, result)
        return result

    return answer


class Together(Wrist):
    """Confuses velocity and effort where they are mapped together."""

    def map_state(self, direction, position, velocity, effort, **options):
        """Exchange the two."""
        return super().map_state(direction, position, effort, velocity, **options)


class OfAnother(Wrist):
    """Says something else by the name of a direction."""

    def actuator_to_joint(self, interface, values, **options):
        """Return twice of it."""
        return 2.0 * super().actuator_to_joint(interface, values, **options)


class TakesAnyShape(Wrist):
    """Cuts off what is too long."""

    def map(self, direction, interface, values, **options):
        """Map the first two."""
        return super().map(direction, interface, np.asarray(values)[..., :2], **options)


class AssumesZero(Crank):
    """Maps velocities at zero where no position is given."""

    def map(self, direction, interface, values, *, at=None, **options):
        """Map at zero."""
        at = np.zeros(np.shape(values)) if at is None else at
        return super().map(direction, interface, values, at=at, **options)


class Extrapolates(Crank):
    """Clips positions into its domain."""

    def map(self, direction, interface, values, *, at=None, **options):
        """Map the nearest position."""
        if interface == 'position' and direction == JOINT_TO_ACTUATOR:
            values = np.clip(values, self.domain.lower, self.domain.upper)
        return super().map(direction, interface, values, at=at, **options)


class Unlimited(Crank):
    """Multiplies by whatever there is."""

    def with_max_gain(self, max_gain):
        """Return the same."""
        return self


class CannotBeCopied(Wrist):
    """Holds what cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.function = lambda: None


class Warns(Spring):
    """Complains on the way."""

    def evaluate(self, x):
        """Let Python complain."""
        warnings.warn('of no use', stacklevel=1)
        return super().evaluate(x)


#: What a type can state wrongly, and the check of the suite that finds it.
BROKEN = {
    OldVersion: 'api_version',
    Undocumented: 'docstring',
    Untitled: 'docstring',
    OfAnother: 'contract',
    WrongJacobian: 'jacobian',
    WrongRate: 'acceleration',
    WrongInverse: 'round_trip',
    WrongInverseOfArrays: 'round_trip',
    LosesPower: 'power',
    CountsCalls: 'repeatable',
    CannotBeCopied: 'repeatable',
    answering(Crank, lose(lambda t: 0.0)): 'solved_everywhere',
    # The end of the domain is hardly ever drawn.
    answering(Crank, lose(lambda t: t.domain.upper[0] - 1e-9)): 'solved_everywhere',
}

#: What only a base class can do wrongly, and the check of this package's tests that finds it.
BROKEN_BASE = {
    answering(Wrist, lambda result, *_: result + 0.0 * np.mean(result)): 'nan_locality',
    answering(Wrist, lambda result, *_: np.nan_to_num(result)): 'nan_locality',
    answering(Wrist, mutate): 'no_mutation',
    answering(Wrist, remember): 'no_mutation',
    answering(Wrist, write_into_one_buffer): 'no_mutation',
    answering(Wrist, map_the_first_row): 'batch_equals_loop',
    answering(Wrist, lambda result, *_: result.astype(np.float32)): 'interfaces',
    answering(Wrist, lambda result, *_: 2.0 * result): 'stream',
    Together: 'state',
    OfAnother: 'interfaces',
    TakesAnyShape: 'shape_errors',
    AssumesZero: 'missing_position',
    Extrapolates: 'outside',
    Unlimited: 'max_gain',
}


@pytest.mark.parametrize('broken', BROKEN)
def test_each_defect_is_found_by_its_check(broken) -> None:
    """A transmission with one defect fails the check that is about it."""
    assert BROKEN[broken] in conformance.failures(broken(), count=500)


@pytest.mark.parametrize('broken', BROKEN_BASE)
def test_each_defect_of_a_base_class_is_found(broken) -> None:
    """A base class with one defect fails the check that is about it."""
    assert BROKEN_BASE[broken] in base_checks.failures(broken(), count=500)


def reversed_slope(base):
    """Return a type whose derivative has the wrong sign."""

    class Reversed(base):
        """Gives minus its slope."""

        def evaluate(self, x):
            """Return the opposite."""
            y, slope = super().evaluate(x)
            return y, -slope

    return Reversed


@pytest.mark.parametrize(
    ('broken', 'said'),
    [
        (
            reversed_slope(Pair),
            'wrong sign of da1/dq1, da2/dq1, da2/dq2: the velocity map is minus the derivative',
        ),
        (reversed_slope(Spring), 'wrong sign of dq1/da1: the velocity map is minus'),
    ],
)
def test_a_wrong_sign_is_said_first(broken, said) -> None:
    """The first that a plugin's author reads of a Jacobian of the wrong sign is that word."""
    first = next(iter(conformance.failures(broken(), count=200).values()))
    assert first.startswith(f'AssertionError: {said}'), first


def test_every_check_finds_something() -> None:
    """No check is idle: each has a defect above that it finds."""
    assert set(BROKEN.values()) == set(conformance.CHECKS)
    assert set(BROKEN_BASE.values()) == set(base_checks.BASE)


@pytest.mark.parametrize('sound', [Crank, Solved, Spring, Pair, Wrist])
def test_the_sound_ones_pass(sound) -> None:
    """What the defects were put into conforms: a matrix, equations, and functions of arrays."""
    assert base_checks.failures(sound(), count=500) == {}


def test_a_warning_fails_every_check_that_meets_it() -> None:
    """Warnings would flood a stream's log."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        subject = conformance.subject_of(Warns(), count=100)
    with pytest.raises(UserWarning, match='of no use'):
        conformance.check(subject, 'round_trip')


def test_a_domain_is_needed_where_the_ratio_varies() -> None:
    """Without a domain there is nothing to draw from, and that is said."""

    class Homeless(SimpleTransmission):
        """Says that its Jacobian varies."""

        is_constant = False

    with pytest.raises(ValueError, match='needs a domain'):
        conformance.subject_of(Homeless(2.0))


def test_the_class_of_tests_runs_in_pytest(tmp_path) -> None:
    """A plugin's author writes one class with one method and gets a test per check."""
    (tmp_path / 'test_mine.py').write_text(
        textwrap.dedent("""
            from transmission_bridge.conformance import TransmissionConformance
            from transmission_bridge.transmissions import LinearTransmission, SimpleTransmission

            class TestMine(TransmissionConformance):
                count = 100

                def make(self):
                    return SimpleTransmission(50.0)

            class Lossy(LinearTransmission):
                '''Loses power.'''

                api_version = 2

            class TestLossy(TransmissionConformance):
                count = 100

                def make(self):
                    return Lossy([[2.0]], inverse=[[0.6]])
        """)
    )
    result = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path,
    )  # fmt: skip
    count = len(conformance.CHECKS)
    assert f'2 failed, {2 * count - 2} passed' in result.stdout, result.stdout
    assert 'TestLossy::test_power' in result.stdout
    assert 'TestLossy::test_round_trip' in result.stdout


def test_the_checks_need_no_pytest() -> None:
    """The functions can be used from a script where pytest is not installed."""
    code = (
        'import sys; sys.modules["pytest"] = None\n'
        'from transmission_bridge import conformance\n'
        'from transmission_bridge.transmissions import SimpleTransmission\n'
        'assert conformance.failures(SimpleTransmission(2.0), count=50) == {}\n'
    )
    result = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr
