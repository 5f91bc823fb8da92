# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Plugins in a robot: called where they have to be, and failing for their own joints only."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import numpy as np
import pytest
from zoo.mechanisms import Straight

from transmission_bridge import MapReport, RobotTransmissions
from transmission_bridge.description import ParameterSpec
from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions import LinearTransmission, Registry, SimpleTransmission
from transmission_bridge.transmissions.registry import ENTRY_POINT_GROUP

SIMPLE = 'transmission_interface/SimpleTransmission'


class Gear(LinearTransmission):
    """A gear of ratio two."""

    api_version = 2

    @classmethod
    def from_spec(cls, reader):
        """Build a gear of ratio two."""
        return cls([[0.5]])


@pytest.fixture
def with_plugin(make_spec, make_robot, registry_of):
    """Return a function that makes a robot with a plugin between two simple transmissions."""

    def make(cls, registry=None):
        simple = 'me/SimpleTransmission'
        place = {'line': 7, 'path': '/robot/transmission[2]'}
        specs = (
            make_spec('first', simple, ('a',), ('ma',), joint_reduction=(4.0,)),
            make_spec('plugin', f'me/{cls.__name__}', ('p',), ('mp',), **place),
            make_spec('last', simple, ('z',), ('mz',), joint_reduction=(8.0,)),
        )
        registry = registry or registry_of(SimpleTransmission, cls)
        return RobotTransmissions(make_robot(*specs), registry=registry)

    return make


@pytest.mark.parametrize('leading', [(), (3,), (0,), (2, 2)])
def test_a_plugin_is_called_for_its_own_joints(with_plugin, leading):
    """A plugin that is no linear transmission is mapped between others, in batches."""
    t = with_plugin(Straight)
    x = np.full((*leading, 3), 0.5)
    assert (t.actuator_to_joint('velocity', x, at=x) == [0.125, 1.0, 0.0625]).all()
    assert (t.joint_to_actuator('effort', x, at=x) == [0.125, 1.0, 0.0625]).all()
    assert (x == 0.5).all()


@pytest.mark.parametrize(
    ('direction', 'factor'), [('actuator_to_joint', 2.0), ('joint_to_actuator', 0.5)]
)
def test_a_stream_has_what_a_plugin_answers(with_plugin, direction, factor):
    """A stream maps the plugin's joints sample by sample."""
    report = MapReport()
    mapped = with_plugin(Straight).stream(direction).map_state(np.full((3, 3), 0.5), report)
    assert np.isfinite(mapped).all()
    assert mapped[:, 1] == pytest.approx([0.5 * factor, 0.5 * factor, 0.5 / factor], rel=1e-14)
    assert not report.counts


@pytest.mark.parametrize(
    ('failure', 'said'),
    [
        (None, 'no_such_module'),
        (RuntimeError('inside the plugin'), 'RuntimeError: inside the plugin'),
        (SystemExit('inside the plugin'), 'SystemExit: inside the plugin'),
        (np.array([True, False]), 'AttributeError'),
    ],
    ids=['no module', 'raises', 'exits', 'answers an array'],
)  # fmt: skip
def test_a_plugin_that_fails_costs_its_own_joints(with_plugin, registry_of, failure, said):
    """A plugin that fails, at its import or in its constructor, is an error finding."""

    def build(*_):
        if isinstance(failure, BaseException):
            raise failure
        return failure

    broken = type('Broken', (Gear,), {'from_spec': classmethod(build)})
    registry = registry_of(SimpleTransmission, broken)
    if failure is None:
        simple = 'me/SimpleTransmission', 'transmission_bridge.transmissions:SimpleTransmission'
        entries = ('me/Broken', 'no_such_module:Broken'), simple
        registry = Registry([EntryPoint(*each, ENTRY_POINT_GROUP) for each in entries])
    t = with_plugin(broken, registry)
    assert (t.joint_names, t.actuator_names) == (('a', 'z'), ('ma', 'mz'))
    (finding,) = t.findings
    assert (finding.severity, finding.subject) == ('error', 'plugin')
    assert (finding.line, finding.path) == (7, '/robot/transmission[2]')
    assert said in finding.message
    assert 'Traceback' in finding.message
    assert t.actuator_to_joint('position', [4.0, 8.0]).tolist() == [1.0, 1.0]


def test_a_plugin_of_another_size_is_refused(make_spec, make_robot, registry_of):
    """A plugin that builds for other numbers of members than described is an error finding."""
    spec = make_spec('t', 'me/Gear', ('j', 'k'), ('m',))
    t = RobotTransmissions(make_robot(spec), registry=registry_of(Gear))
    assert t.joint_names == ()
    (finding,) = t.findings
    assert (finding.severity, finding.subject) == ('error', 't')
    counts = '1 joint and 1 actuator', '2 joints and 1 actuator'
    assert (finding.expected, finding.found) == counts


def test_an_alias_builds_another_type(make_spec, make_robot):
    """A type that is not installed can be built as another; the robot keeps its own name."""
    robot = make_robot(make_spec('t', 'vendor/Gear', ('j',), ('m',), joint_reduction=(4.0,)))
    assert RobotTransmissions(robot).joint_names == ()
    t = RobotTransmissions(robot, aliases={'vendor/Gear': SIMPLE})
    assert t.actuator_to_joint('position', [8.0]) == [2.0]
    assert t.bindings[0].spec.type == 'vendor/Gear'
    tuned = t.with_parameters({'t.joints.j.mechanical_reduction': 2.0})
    assert tuned.actuator_to_joint('position', [8.0]) == [4.0]


@pytest.mark.parametrize(
    ('target', 'more', 'said'),
    [
        ('transmission_interface/DifferentialTransmission', {}, 'other numbers of'),
        (SIMPLE, {'actuator_reduction': (5.0,)}, "'mechanical_reduction' of actuator 'm'"),
        (SIMPLE, {'parameters': (ParameterSpec('lead', '0'),)}, "parameter 'lead' is not used"),
        ('transmission_bridge/ScrewTransmission', {}, 'lead is missing'),
        ('nobody/Nothing', {}, "'nobody/Nothing' is not installed"),
        ('gone/Gone', {}, 'failed to import'),
    ],
)  # fmt: skip
def test_an_alias_that_does_not_fit_is_refused(make_spec, make_robot, target, more, said):
    """Other numbers of members, or anything left unread, is another mechanism: no ratio."""
    registry = Registry()
    if target == 'gone/Gone':
        registry = Registry([EntryPoint(target, 'no_such_module:Gone', ENTRY_POINT_GROUP)])
    robot = make_robot(make_spec('t', 'vendor/Gear', ('j',), ('m',), **more))
    t = RobotTransmissions(robot, aliases={'vendor/Gear': target}, registry=registry)
    assert t.joint_names == ()
    (finding,) = t.findings
    assert (finding.severity, finding.subject) == ('error', 't')
    assert said in str(finding)
    assert "transmission 't'" in str(finding)


def test_positions_are_asked_for_and_counted_by_the_name_of_the_transmission(with_plugin):
    """Without ``at`` the caller is told who needs it; a report has who lost samples, and why."""
    t, report = with_plugin(Straight), MapReport()
    with pytest.raises(TransmissionError, match=r"transmission 'plugin'.*without at="):
        t.actuator_to_joint('velocity', [1.0] * 3)
    with pytest.raises(TransmissionError, match='without rate='):
        t.actuator_to_joint('acceleration', [1.0] * 3, at=[1.0] * 3)
    given = [[4.0, 0.5, 8.0], [4.0, 99.0, 8.0], [4.0, np.nan, 8.0]]
    q = t.actuator_to_joint('position', given, report=report)
    assert np.isnan(q).tolist() == [[False] * 3, [False, True, False], [False, True, False]]
    assert report.counts == {('plugin', 'domain'): 1}
