# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A plugin that fails costs its own joints only; an alias has to be the same mechanism."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions import (
    LinearTransmission,
    MapReport,
    Registry,
    RobotTransmissions,
    SimpleTransmission,
)
from transmission_bridge.transmissions.registry import ENTRY_POINT_GROUP
from transmission_bridge.transmissions.robot_transmissions import RobotTransmissions as Robot

BUILT_IN = {
    'transmission_interface/SimpleTransmission': 'simple:SimpleTransmission',
    'transmission_interface/DifferentialTransmission': 'differential:DifferentialTransmission',
    'transmission_bridge/CoupledTransmission': 'coupled:CoupledTransmission',
    'transmission_bridge/CrankSliderTransmission': 'crank_slider:CrankSliderTransmission',
    'transmission_bridge/ScrewTransmission': 'screw:ScrewTransmission',
}


class RaisesInConstructor(SimpleTransmission):
    """Raises when it is built."""

    @classmethod
    def from_spec(cls, reader):
        """Raise."""
        raise ZeroDivisionError('one over nothing')


def registry(**extra: type[LinearTransmission]) -> Registry:
    """Return the built-in types and plugins of this module under their class names."""
    points = [
        EntryPoint(name, f'transmission_bridge.transmissions.{target}', ENTRY_POINT_GROUP)
        for name, target in BUILT_IN.items()
    ]
    points.append(EntryPoint('gone/Gone', 'no_such_module:Gone', ENTRY_POINT_GROUP))
    made = Registry(points)
    for name, cls in extra.items():
        made._entry_points[f'test/{name}'] = [EntryPoint(f'test/{name}', 'x:y', 'g')]
        made._loaded[f'test/{name}'] = cls
    return made


def robot(plugin: str, parameters: str = '', reduction_of: str = 'joint', **options) -> Robot:
    """Return a robot with a transmission of a type, beside a simple one."""
    reduction = '<mechanical_reduction>5.0</mechanical_reduction>'
    of_joint, of_actuator = (
        reduction if side == reduction_of else '' for side in ('joint', 'actuator')
    )
    text = f"""
        <robot name="r"><ros2_control name="b" type="system">
          <hardware><plugin>p</plugin></hardware>
          <joint name="j1"><command_interface name="position"/></joint>
          <joint name="j2"><command_interface name="position"/></joint>
          <transmission name="t1"><plugin>{plugin}</plugin>
            <joint name="j1" role="joint1">{of_joint}</joint>
            <actuator name="a1" role="actuator1">{of_actuator}</actuator>{parameters}
          </transmission>
          <transmission name="t2"><plugin>transmission_interface/SimpleTransmission</plugin>
            <joint name="j2" role="joint1"><mechanical_reduction>10</mechanical_reduction></joint>
            <actuator name="a2" role="actuator1"/>
          </transmission>
        </ros2_control></robot>"""
    return RobotTransmissions(load_description(text), **options)


def errors(made: Robot) -> list[str]:
    """Return the error findings as text."""
    return [str(finding) for finding in made.findings if finding.severity == 'error']


@pytest.mark.parametrize(
    ('plugin', 'expected'),
    [
        ('gone/Gone', 'ModuleNotFoundError'),
        ('nobody/Nothing', 'is not installed'),
        ('test/RaisesInConstructor', 'ZeroDivisionError: one over nothing'),
    ],
)
def test_a_plugin_that_cannot_be_built_costs_its_joint(plugin: str, expected: str) -> None:
    """The other joint maps; the finding has the traceback where something was raised."""
    made = robot(plugin, registry=registry(RaisesInConstructor=RaisesInConstructor))
    assert made.joint_names == ('j2',)
    assert made.actuator_to_joint('position', [20.0]) == [2.0]
    (error,) = errors(made)
    assert expected in error
    assert ('Traceback' in error) == (plugin != 'nobody/Nothing')


CRANK = (
    '<param name="crank_radius">0.04</param><param name="rod_length">0.12</param>'
    '<param name="crank_angle">1.5</param>'
)


def test_a_missing_position_is_the_caller_s_mistake() -> None:
    """Without ``at`` nothing is mapped, and the error names the transmission that needs it."""
    made = robot(
        'transmission_bridge/CrankSliderTransmission', CRANK, reduction_of='', registry=registry()
    )
    assert errors(made) == []
    with pytest.raises(TransmissionError, match=r"transmission 't1'.*without at="):
        made.actuator_to_joint('velocity', [1.0, 1.0])
    with pytest.raises(TransmissionError, match='without rate='):
        made.actuator_to_joint('acceleration', [1.0, 1.0], at=[0.1, 0.0])
    assert np.isfinite(made.actuator_to_joint('velocity', [1.0, 1.0], at=[0.1, 0.0])).all()


def test_reasons_are_counted_by_transmission() -> None:
    """A stream learns which transmission lost how many samples, and why."""
    made = robot(
        'transmission_bridge/CrankSliderTransmission', CRANK, reduction_of='', registry=registry()
    )
    report = MapReport()
    q = made.actuator_to_joint('position', [[0.1, 1.0], [9.0, 1.0], [np.nan, 1.0]], report=report)
    assert np.isnan(q[:, 0]).tolist() == [False, True, True]
    assert np.isfinite(q[:, 1]).all()
    assert report.counts == {('t1', 'domain'): 1}


def test_an_alias_uses_the_plugin_of_the_same_mechanism() -> None:
    """A robot's own type string is mapped by an installed type, live parameters included."""
    made = robot(
        'their/Gearbox',
        registry=registry(),
        aliases={'their/Gearbox': 'transmission_interface/SimpleTransmission'},
    )
    assert errors(made) == []
    assert made.actuator_to_joint('position', [20.0, 20.0]).tolist() == [4.0, 2.0]
    tuned = made.with_parameters({'t1': {'joints': {'j1': {'mechanical_reduction': 10.0}}}})
    assert tuned.actuator_to_joint('position', [20.0, 20.0]).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ('target', 'parameters', 'reduction_of', 'expected'),
    [
        ('transmission_interface/DifferentialTransmission', '', 'joint', 'other numbers of'),
        ('transmission_interface/SimpleTransmission', '', 'actuator', 'does not fit as an alias'),
        (
            'transmission_interface/SimpleTransmission',
            '<param name="lead">0.01</param>', 'joint', "parameter 'lead' is not used",
        ),
        ('transmission_bridge/ScrewTransmission', '', 'actuator', 'lead is missing'),
        ('nobody/Nothing', '', 'joint', "'nobody/Nothing' is not installed"),
        ('gone/Gone', '', 'joint', 'failed to import'),
    ],
)  # fmt: skip
def test_an_alias_that_does_not_fit_is_refused(
    target: str, parameters: str, reduction_of: str, expected: str
) -> None:
    """Other numbers of members, or anything left unread, is another mechanism: no ratio."""
    made = robot(
        'their/Gearbox', parameters, reduction_of,
        registry=registry(), aliases={'their/Gearbox': target},
    )  # fmt: skip
    (error,) = errors(made)
    assert expected in error
    assert "transmission 't1'" in error
    assert made.joint_names == ('j2',)


def test_what_an_installed_type_ignores_is_a_warning_without_an_alias() -> None:
    """Only an alias is refused for what it leaves unread; a type of one's own is warned about."""
    made = robot(
        'transmission_interface/SimpleTransmission',
        '<param name="lead">0.01</param>',
        registry=registry(),
    )
    assert errors(made) == []
    assert any("'lead' is not used by" in str(finding) for finding in made.findings)


def test_an_alias_concerns_its_own_type_only() -> None:
    """Other types are loaded as they are called, also where one is the target of an alias."""
    made = robot(
        'transmission_bridge/ScrewTransmission', '<param name="lead">0.01</param>', '',
        registry=registry(),
        aliases={'their/Gearbox': 'transmission_interface/SimpleTransmission'},
    )  # fmt: skip
    assert errors(made) == []
    assert set(made.transmissions) == {'t1', 't2'}
