# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What every transmission promises: those of every kind conform, and each defect is found."""

import subprocess
import sys
import warnings

import base_checks
import casadi as ca
import numpy as np
import pytest
from zoo import mechanisms as m
from zoo.elements import load

from transmission_bridge import conformance
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR
from transmission_bridge.transmissions import DifferentialTransmission, LinearTransmission
from transmission_bridge.transmissions.equation_types import CrankSliderTransmission, GuidedSlider
from transmission_bridge.transmissions.linear import CoupledTransmission
from transmission_bridge.transmissions.tabulated import TabulatedTransmission

GEARS = {'actuator_reduction': (-3.0,), 'joint_reduction': (-1.5,), 'joint_offset': (0.2,)}
PAIR = {'actuator_reduction': (2.0, -3.0), 'joint_offset': (0.1, -0.2)}
BENT = {'actuator_reduction': (2.0, -1.0, 5.0), 'joint_reduction': (1.0, -3.0, 0.5)}


def table(actuator, joint, reduction=1.0):
    """Return a table with an offset."""
    return TabulatedTransmission(actuator, joint, actuator_reduction=reduction, joint_offset=0.2)


#: Closures that are compared with formulas are in test_mechanism.py too.
SUBJECTS = {
    'wrist': lambda: Wrist(),
    'crank': lambda: Crank(),
    'swing': m.Swing,
    'coupled finger': lambda: CoupledTransmission([[1.0], [0.8], [0.5]]),
    'antagonists': lambda: CoupledTransmission([[1.0, -1.0, 0.3]]),
    'triangle': lambda: CoupledTransmission([[0, 2, 0], [3, 0, 0], [0, 5, 7]]),
    'blocks': lambda: CoupledTransmission([[2, 1, 0, 0], [0, 0, 3, -1]]),
    'parallel': lambda: m.Parallel({'bend': (0.1, 0.2, -0.1)}, **BENT),
    'chain': lambda: m.Chain(joint_offset=(0.1, 0.2, -0.3)),
    'tendons': lambda: m.Tendons(actuator_reduction=(3.0, -2.0), joint_reduction=(-1.5,)),
    'finger': lambda: m.Finger(joint_offset=(0.1, -0.1)),
    'cardan': lambda: m.Cardan(actuator_reduction=(3.0,), joint_offset=(0.3,)),
    'straight': m.Straight,
    'ankle': lambda: m.ankle(actuator_reduction=(15.0, -12.0), joint_offset=(0.1, -0.05)),
    'another limit': lambda: m.guided(0.04, 0.12, 0.015, 1.6).with_max_gain(7.0),
    'slider by closure': lambda: m.Slider(**GEARS),
    'cardan by closure': lambda: m.Crossed(**GEARS),
    'plate by closure': lambda: m.PlateLoop(**PAIR),
    'finger by closure': m.FingerLoop,
    'sine': m.Sine,
    'sine with inverse': m.SineWithInverse,
    'cam': m.Cam,
    'falling table': lambda: table([2.0, 1.0, 0.0], [0.0, 0.5, 3.0]),
    'reversed table': lambda: table([0, 1, 2, 2.5], [4, 0.5, -3, -3.1], -10.0),
    'uneven table': lambda: table([0.0, 0.1, 5.0, 5.1], [0.0, 3.0, 3.1, 9.0], 3.0),
    'fingers by table': lambda: table(
        [0, 1, 2, 3], [[0, 9, 1], [1, 8, 3], [3, 4, 4], [4, 3, 7]], -2
    ),
    'still fingers by table': lambda: table([0, 1, 2], [[0, 0], [1, -2], [4, -9]]),
}


@pytest.mark.parametrize('name', SUBJECTS)
def test_a_transmission_conforms(name):
    """From matrices, equations, closures and tables every interface follows."""
    assert base_checks.failures(SUBJECTS[name](), count=1000) == {}


#: A linkage of the documents, and what an actuator has.
LINKAGES = [
    ('push_rod_ankle', ''),
    ('five_bar', '<mechanical_reduction>-3.0</mechanical_reduction><offset>0.2</offset>'),
]


@pytest.mark.parametrize(('name', 'actuator'), LINKAGES)
def test_a_linkage_conforms(linkages, name, actuator):
    """So do the linkages of the documents, with other reductions and offsets as well."""
    text = linkages[name]
    if actuator:
        text = text.replace('<mechanical_reduction>9</mechanical_reduction>', '')
        text = text.replace('</actuator>', f'{actuator}</actuator>')
    (linkage,) = load(text, strict=True, passive_joints='none').transmissions.values()
    if actuator:
        assert linkage.actuator_reduction == (-3.0, -3.0)
    assert base_checks.failures(linkage, count=200) == {}


# -- each defect is found ------------------------------------------------------------------------


class Crank(CrankSliderTransmission):
    """A sound mechanism that is an equation, to be broken."""

    def __init__(self):
        super().__init__(GuidedSlider(0.04, 0.12, 0.01), 1.5)


class Wrist(DifferentialTransmission):
    """A sound linear transmission to be broken."""

    def __init__(self):
        super().__init__((10.0, -20.0), (-2.0, 4.0), (0.5, -0.5))


def other(base, **members):
    """Return a type with other attributes."""
    return type('Other', (base,), {'__doc__': 'Has one defect.', **members})


def changed(base, **methods):
    """Return a type with other methods, each given itself, that of the base, and the arguments."""

    def wrapped(inner, method):
        return lambda self, *args, **options: method(self, inner, *args, **options)

    members = {name: wrapped(getattr(base, name), method) for name, method in methods.items()}
    return other(base, **members)


def answering(base, answer):
    """Return a type that maps as its base does, and answers something else than the result."""

    def mapped(t, inner, direction, interface, values, **options):
        result = inner(t, direction, interface, values, **options)
        return answer(result, values, t, interface, direction)

    return changed(base, map=mapped)


def mutate(result, values, *_):
    """Change the argument a little."""
    if isinstance(values, np.ndarray):
        values *= 1.0000001
    return result


def remember(result, values, t, *_):
    """Filter over calls."""
    result += 1e-6 * vars(t).get('_last', 0.0)
    t._last = float(np.nansum(result))
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
        is_position = interface == 'position' and direction == ACTUATOR_TO_JOINT
        return np.where(is_position & (result > beyond(t)), np.nan, result)

    return answer


def assume_zero(t, inner, direction, interface, values, *, at=None, **options):
    """Map at zero where no position is given."""
    return inner(t, direction, interface, values, at=np.zeros(np.shape(values)), **options)


def extrapolate(t, inner, direction, interface, values, **options):
    """Clip positions into the domain."""
    if interface == 'position' and direction == JOINT_TO_ACTUATOR:
        values = np.clip(values, t.domain.lower, t.domain.upper)
    return inner(t, direction, interface, values, **options)


def follow(t, inner, direction, interface, values, *, guess=None, **options):
    """Move towards the guess."""
    result = inner(t, direction, interface, values, guess=guess, **options)
    return result if guess is None else result + 1e-3 * (guess - result)


def cut_off(t, inner, direction, interface, values, **options):
    """Map the first two, whatever the shape is."""
    return inner(t, direction, interface, np.asarray(values)[..., :2], **options)


class LosesPower(LinearTransmission):
    """A matrix, and not its inverse."""

    api_version = 1

    def __init__(self):
        super().__init__([[2.0]], inverse=[[0.5000001]])


class Rounds(m.Swing):
    """Rounds its position, which the derivative does not see."""

    @staticmethod
    def actuator_position(q, p):
        """Return a third of the position and two thirds in steps of 1e-7."""
        return q / 3.0 + 2e-7 / 3.0 * ca.floor(1e7 * q)


class RoundsItsRatio(m.Swing):
    """Rounds the position that its ratio depends on."""

    @staticmethod
    def actuator_position(q, p):
        """Return the position by a ratio that depends on it in steps of 1e-7."""
        return q * (3.0 + 1e-7 * ca.floor(1e7 * q))


class CannotBeCopied(Wrist):
    """Holds what cannot be pickled."""

    def __init__(self):
        super().__init__()
        self.function = lambda: None


class WrongInverse(Crank):
    """Its two equations are not quite of one mechanism."""

    @staticmethod
    def joint_position(a, p):
        """Return a little more."""
        return CrankSliderTransmission.joint_position(a, p) + 1e-9


OF_ANOTHER = changed(Wrist, actuator_to_joint=lambda t, inner, *a, **k: 2.0 * inner(t, *a, **k))

#: What a type can state wrongly, and the check of the suite that finds it.
BROKEN = [
    (other(Crank, api_version=0), 'api_version'),
    (other(Crank, __doc__=None), 'docstring'),
    (other(Crank, __doc__='no sentence'), 'docstring'),
    (OF_ANOTHER, 'contract'),
    (Rounds, 'jacobian'),
    (RoundsItsRatio, 'acceleration'),
    (WrongInverse, 'round_trip'),
    (LosesPower, 'power'),
    (answering(Wrist, remember), 'repeatable'),
    (CannotBeCopied, 'repeatable'),
    (answering(Crank, lose(lambda t: 0.0)), 'solved_everywhere'),
    # The end of the domain is hardly ever drawn.
    (answering(Crank, lose(lambda t: t.domain.upper[0] - 1e-9)), 'solved_everywhere'),
]

#: What only a base class can do wrongly, and the check of this package's tests that finds it.
BROKEN_BASE = [
    (answering(Wrist, lambda result, *_: result + 0.0 * np.mean(result)), 'nan_locality'),
    (answering(Wrist, mutate), 'no_mutation'),
    (answering(Wrist, write_into_one_buffer), 'no_mutation'),
    (answering(Wrist, map_the_first_row), 'batch_equals_loop'),
    (answering(Wrist, lambda result, *_: result.astype(np.float32)), 'interfaces'),
    (answering(Wrist, lambda result, *_: 2.0 * result), 'stream'),
    (changed(Crank, map=follow), 'guess'),
    (changed(Wrist, jacobian=lambda t, inner, a: -inner(t, a)), 'slope'),
    (changed(Wrist, map=cut_off), 'shape_errors'),
    (changed(Crank, map=assume_zero), 'missing_position'),
    (changed(Crank, map=extrapolate), 'outside'),
]


@pytest.mark.parametrize(('broken', 'check'), BROKEN + BROKEN_BASE)
def test_each_defect_is_found_by_its_check(broken, check):
    """A transmission, or a base class, with one defect fails the check that is about it."""
    module = conformance if check in conformance.CHECKS else base_checks
    assert check in module.failures(broken(), count=100)


def test_every_check_finds_something():
    """No check is idle: each has a defect above that it finds."""
    assert {check for _, check in BROKEN} == set(conformance.CHECKS)
    assert {check for _, check in BROKEN_BASE} == set(base_checks.BASE)


def test_a_warning_fails_every_check_that_meets_it():
    """Warnings would flood a stream's log."""

    def warn(t, inner, *arguments, **options):
        warnings.warn('of no use', stacklevel=1)
        return inner(t, *arguments, **options)

    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        subject = conformance.make_subject(changed(m.Sine, map=warn)(), count=100)
    with pytest.raises(UserWarning, match='of no use'):
        conformance.check(subject, 'round_trip')


WITHOUT_PYTEST = """
import sys
sys.modules['pytest'] = None
from transmission_bridge import conformance
from transmission_bridge.transmissions import SimpleTransmission
assert conformance.failures(SimpleTransmission(2.0), count=50) == {}
"""


def test_the_class_of_tests_has_one_for_each_check():
    """A plugin's author writes one class with one method."""

    class Author(conformance.TransmissionConformance):
        count = 100

        def make(self):
            return LosesPower()

    failed = set()
    for name in conformance.CHECKS:
        try:
            getattr(Author(), f'test_{name}')()
        except AssertionError:
            failed.add(name)
    assert failed == {'round_trip', 'power'}


def test_the_checks_need_no_pytest():
    """The functions can be used from a script where pytest is not installed."""
    subprocess.run([sys.executable, '-c', WITHOUT_PYTEST], check=True)
