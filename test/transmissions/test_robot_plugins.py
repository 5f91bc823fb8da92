# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Plugins in a robot: called where they have to be, and failing for their own joints only."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge import MapReport, RobotTransmissions
from transmission_bridge.description import ParameterSpec
from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions import (
    Domain,
    LinearTransmission,
    PositionDependentTransmission,
    Registry,
    SimpleTransmission,
    Transmission,
)
from transmission_bridge.transmissions.interfaces import DIRECTIONS, interfaces_of

MAPS = [(direction, name) for direction in DIRECTIONS for name in interfaces_of(direction)]


class Deaf(LinearTransmission):
    """A gear that knows positions only."""

    api_version = 2

    @classmethod
    def from_spec(cls, reader):
        """Build a gear of ratio two."""
        return cls([[0.5]])

    def supports(self, interface, direction):
        """Tell that only positions are mapped."""
        return interface == 'position'


class Opaque(Transmission):
    """A gear of ratio two that computes in its own way; ``fault`` says how it fails."""

    api_version = 2
    fault = ''

    @classmethod
    def from_spec(cls, reader):
        """Build it."""
        transmission = cls()
        transmission.fault = reader.text('fault', default='')
        return transmission

    n_actuators = 1
    n_joints = 1

    def map(self, direction, interface, values, **_):
        """Halve positions and rates, or double them."""
        return self._answer(values, 0.5 if direction == 'actuator_to_joint' else 2.0)

    def jacobian(self, actuator_position):
        """Return the ratio."""
        if self.fault == 'exits':
            raise SystemExit('inside the plugin')
        if self.fault == 'raises':
            raise ZeroDivisionError('inside the plugin')
        if self.fault == 'wrong shape':
            return np.ones(())
        if self.fault == 'complex':
            return np.full((*np.shape(actuator_position)[:-1], 1, 1), 0.5 + 0.1j)
        return np.full((*np.shape(actuator_position)[:-1], 1, 1), 0.5)

    def _answer(self, values, factor):
        if self.fault == 'exits':
            raise SystemExit('inside the plugin')
        if self.fault == 'raises':
            raise ZeroDivisionError('inside the plugin')
        if self.fault == 'wrong shape':
            return np.zeros(7)
        if self.fault == 'complex':
            return np.asarray(values) * (factor + 0.1j)
        if self.fault == 'writes':
            values *= factor
            return values
        return np.asarray(values) * factor

    @property
    def is_constant(self):
        """Tell that no position is needed."""
        return True


class Entry:
    """An entry point that is no file."""

    dist = None

    def __init__(self, cls):
        self.name, self.value, self.cls = f'me/{cls.__name__}', f'here:{cls.__name__}', cls

    def load(self):
        """Return the class."""
        return self.cls


@pytest.fixture
def with_plugin(make_spec, make_robot):
    """Return a function that makes a robot with a plugin between two simple transmissions."""

    def make(cls, fault=''):
        simple = Entry(SimpleTransmission)
        parameters = (ParameterSpec('fault', fault),) if fault else ()
        specs = (
            make_spec('first', simple.name, ('a',), ('ma',), joint_reduction=(4.0,)),
            make_spec('plugin', f'me/{cls.__name__}', ('p',), ('mp',), parameters=parameters),
            make_spec('last', simple.name, ('z',), ('mz',), joint_reduction=(8.0,)),
        )
        return RobotTransmissions(make_robot(*specs), registry=Registry([simple, Entry(cls)]))

    return make


@pytest.mark.parametrize('leading', [(), (3,), (0,), (2, 2)])
def test_an_interface_that_a_type_lacks_is_unknown_for_its_joints(with_plugin, leading):
    """Where a transmission does not map an interface, its own rows are NaN and no other."""
    t = with_plugin(Deaf)
    for direction, interface in MAPS:
        result = getattr(t, direction)(interface, np.ones((*leading, 3)))
        supported = interface == 'position'
        assert (np.isnan(result) == [False, not supported, False]).all()


@pytest.mark.parametrize('leading', [(), (3,), (0,), (2, 2)])
@pytest.mark.parametrize('fault', ['', 'writes'])
def test_a_plugin_is_called_for_its_own_joints(with_plugin, leading, fault):
    """A plugin that is no linear transmission is called, with values of its own to write on."""
    t = with_plugin(Opaque, fault)
    x = np.full((*leading, 3), 16.0)
    report = MapReport()
    assert (t.actuator_to_joint('velocity', x, report=report) == [4.0, 8.0, 2.0]).all()
    assert (t.joint_to_actuator('effort', x) == [4.0, 32.0, 2.0]).all()
    assert (x == 16.0).all()
    assert not report.counts


@pytest.mark.parametrize('fault', ['raises', 'wrong shape', 'complex'])
@pytest.mark.parametrize('leading', [(), (3,), (2, 2)])
def test_a_failing_plugin_costs_its_own_joints(with_plugin, leading, fault):
    """A plugin that raises, or answers in another shape or in complex numbers, is reported."""
    t = with_plugin(Opaque, fault)
    x = np.full((*leading, 3), 16.0)
    for report in (None, MapReport()):
        result = t.actuator_to_joint('position', x, report=report)
        assert (np.isnan(result) == [False, True, False]).all()
        assert (result[..., [0, 2]] == [4.0, 2.0]).all()
    assert report.counts == {('plugin', 'exception'): 1}
    assert 'Traceback' in report.errors['plugin']
    if fault == 'raises':
        assert 'inside the plugin' in report.errors['plugin']


@pytest.mark.parametrize('fault', ['raises', 'wrong shape', 'complex'])
@pytest.mark.parametrize('leading', [(), (3,)])
def test_a_failing_jacobian_costs_its_own_entries(with_plugin, leading, fault):
    """A plugin whose Jacobian cannot be had makes its entries NaN and is reported."""
    t = with_plugin(Opaque, fault)
    for report in (None, MapReport()):
        jacobian = t.jacobian(np.zeros((*leading, 3)), report=report)
        assert np.array_equal(
            jacobian,
            np.broadcast_to(np.diag([0.25, np.nan, 0.125]), (*leading, 3, 3)),
            equal_nan=True,
        )
    assert report.counts == {('plugin', 'exception'): 1}
    said = {'raises': 'inside the plugin', 'complex': 'found complex ones'}
    assert said.get(fault, 'ShapeError: jacobian') in report.errors['plugin']


def test_a_plugin_that_wants_to_exit_costs_its_own_joints(with_plugin):
    """A plugin that asks Python to exit while it maps does not end the process."""
    t = with_plugin(Opaque, 'exits')
    report = MapReport()
    joints = t.actuator_to_joint('position', [4.0, 4.0, 8.0], report=report)
    assert np.array_equal(joints, [1.0, np.nan, 1.0], equal_nan=True)
    assert np.isnan(t.jacobian(np.zeros(3), report=report)[1, 1])
    assert report.counts == {('plugin', 'exception'): 2}


@pytest.mark.parametrize('fault', ['raises', 'exits', 'answers an array'])
@pytest.mark.parametrize('where', ['supports', 'from_spec'])
def test_a_plugin_that_cannot_be_built_costs_its_own_joints(with_plugin, where, fault):
    """A plugin that fails in its constructor, or to say what it maps, is an error finding."""

    def fail(*_):
        if fault == 'raises':
            raise RuntimeError('inside the plugin')
        if fault == 'exits':
            raise SystemExit('inside the plugin')
        return np.array([True, False])

    cls = type('Broken', (Deaf,), {where: classmethod(fail) if where == 'from_spec' else fail})
    t = with_plugin(cls)
    assert t.joint_names == ('a', 'z')
    (finding,) = t.findings
    assert (finding.severity, finding.subject) == ('error', 'plugin')
    assert 'Traceback' in finding.message
    assert t.actuator_to_joint('position', [4.0, 8.0]).tolist() == [1.0, 1.0]


def test_a_plugin_of_another_size_is_refused(make_spec, make_robot):
    """A plugin that builds for other numbers of members than described is an error finding."""
    spec = make_spec('t', 'me/Deaf', ('j', 'k'), ('m',))
    t = RobotTransmissions(make_robot(spec), registry=Registry([Entry(Deaf)]))
    assert t.joint_names == ()
    (finding,) = t.findings
    assert (finding.severity, finding.subject) == ('error', 't')
    assert (finding.expected, finding.found) == ('2 and 1', '1 and 1')


def test_an_alias_builds_another_type(make_spec, make_robot):
    """A type that is not installed can be built as another; the robot keeps its own name."""
    alias = {'vendor/Gear': 'transmission_interface/SimpleTransmission'}
    robot = make_robot(make_spec('t', 'vendor/Gear', ('j',), ('m',), joint_reduction=(4.0,)))
    assert RobotTransmissions(robot).joint_names == ()
    t = RobotTransmissions(robot, aliases=alias)
    assert t.actuator_to_joint('position', [8.0]) == [2.0]
    assert t.bindings[0].spec.type == 'vendor/Gear'
    tuned = t.with_parameters({'t': {'joints': {'j': {'mechanical_reduction': 2.0}}}})
    assert tuned.actuator_to_joint('position', [8.0]) == [4.0]


def test_an_alias_that_leaves_something_unread_is_refused(make_spec, make_robot):
    """An alias that does not use all of the description is another mechanism."""
    robot = make_robot(
        make_spec('t', 'vendor/Gear', ('j',), ('m',), actuator_reduction=(4.0,)),
        make_spec('u', 'vendor/Pair', ('k',), ('n',)),
    )
    aliases = {
        'vendor/Gear': 'transmission_interface/SimpleTransmission',
        'vendor/Pair': 'transmission_interface/DifferentialTransmission',
    }
    t = RobotTransmissions(robot, aliases=aliases)
    assert t.joint_names == ()
    assert [finding.severity for finding in t.findings] == ['error', 'error']
    assert 'alias' in t.findings[0].message
    assert 'mechanical_reduction' in t.findings[0].found


def test_what_a_type_does_not_use_is_a_warning(make_spec, make_robot):
    """The reduction that a dialect's simple transmission does not use is reported, not lost."""
    for dialect, unused in (('ros2_control', "actuator 'm'"), ('ros_control', "joint 'j'")):
        spec = make_spec(
            't', 'simple', ('j',), ('m',), joint_reduction=(4.0,), actuator_reduction=(2.0,),
            dialect=dialect,
        )  # fmt: skip
        t = RobotTransmissions(make_robot(spec))
        (finding,) = t.findings
        assert finding.severity == 'warning'
        assert f'mechanical_reduction of {unused} is not used' in finding.message
        expected = 2.0 if dialect == 'ros2_control' else 4.0
        assert t.actuator_to_joint('position', [8.0]) == [expected]


class Bent(PositionDependentTransmission):
    """A gear of ratio two that says it depends on position."""

    api_version = 2

    def __init__(self):
        super().__init__(Domain('actuator', (-9.0,), (9.0,)))

    @classmethod
    def from_spec(cls, reader):
        """Build it."""
        return cls()

    def evaluate(self, x):
        """Return half, and the ratio."""
        return 0.5 * x, np.full((*x.shape, 1), 0.5)


class OwnState(Bent):
    """The same with a map of states that says what nobody else would."""

    def map_state(self, direction, position, velocity, effort, **options):
        """Return constants."""
        return np.array([5.0]), np.array([6.0]), np.array([7.0])


@pytest.mark.parametrize(('cls', 'expected'), [(Bent, [1.0, 1.0, 4.0]), (OwnState, [5, 6, 7])])
def test_a_stream_has_what_the_plugin_says_of_a_state(with_plugin, cls, expected):
    """Where a subclass overrides ``map_state``, its answer is what a stream has."""
    t = with_plugin(cls)
    state, report = t.stream('actuator_to_joint'), MapReport()
    mapped = state.map_state(np.full((3, 3), 2.0), report)
    assert mapped[:, 1].tolist() == expected
    assert mapped[0].tolist() == [0.5, expected[0], 0.25]
    assert not report.counts


class OwnInterface(Bent):
    """The same with a map of efforts that says what nobody else would, in each direction."""

    def map(self, direction, interface, values, **options):
        """Return a constant effort."""
        mapped = super().map(direction, interface, values, **options)
        effort = 7.0 if direction == 'actuator_to_joint' else 8.0
        return np.full_like(mapped, effort) if interface == 'effort' else mapped


def test_a_stream_has_what_the_plugin_says_of_an_interface(with_plugin):
    """Where a subclass overrides the map of interfaces, its answer is what a stream has."""
    t = with_plugin(OwnInterface)
    for direction, expected in (
        ('actuator_to_joint', [1.0, 1.0, 7.0]),
        ('joint_to_actuator', [4.0, 4.0, 8.0]),
    ):
        values, report = np.full((3, 3), 2.0), MapReport()
        state = t.stream(direction)
        assert np.abs(state.map_state(values, report)[:, 1] - expected).max() <= 1e-14
        assert np.abs(state.map_command(values, values[0], report)[:, 1] - expected).max() <= 1e-14
        assert not report.counts


class Rooted(Bent):
    """The same with a square root that is complex beyond zero."""

    def evaluate(self, x):
        """Return half, and the ratio, in complex numbers for negative positions."""
        y, slope = super().evaluate(x)
        return y + 0.0 * np.emath.sqrt(x), slope


def test_complex_numbers_of_an_equation_cost_its_own_joints(with_plugin):
    """An answer that is complex at some position is unknown there, not its real part."""
    t, report = with_plugin(Rooted), MapReport()
    assert t.findings == ()
    values = np.array([2.0, 2.0, 2.0])
    assert t.actuator_to_joint('position', values, report=report)[1] == 1.0
    assert not report.counts
    mapped = t.actuator_to_joint('position', -values, report=report)
    assert np.isnan(mapped).tolist() == [False, True, False]
    assert 'found complex ones' in report.errors['plugin']


def test_complex_matrix_is_refused():
    """A linear transmission has real coefficients."""
    with pytest.raises(TransmissionError, match='expected real numbers, found complex ones'):
        LinearTransmission([[1.0 + 1.0j]])
