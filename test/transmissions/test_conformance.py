# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions of every kind and shape hold all that the suite and the base classes promise."""

from __future__ import annotations

from base_checks import failures
import pytest
from zoo import mechanisms as m

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.transmissions import (
    DifferentialTransmission,
    FourBarLinkageTransmission,
    SimpleTransmission,
)
from transmission_bridge.transmissions.coupled import CoupledTransmission
from transmission_bridge.transmissions.tabulated import TabulatedTransmission

GEARS = {'actuator_reduction': (-3.0,), 'joint_reduction': (-1.5,), 'joint_offset': (0.2,)}
PAIR = {'actuator_reduction': (2.0, -3.0), 'joint_offset': (0.1, -0.2)}
BENT = {'actuator_reduction': (2.0, -1.0, 5.0), 'joint_reduction': (1.0, -3.0, 0.5)}


def table(actuator, joint, actuator_reduction=1.0, joint_reduction=1.0):
    """Return a table with an offset."""
    ratios = {'actuator_reduction': actuator_reduction, 'joint_reduction': joint_reduction}
    return TabulatedTransmission(actuator, joint, joint_offset=0.2, **ratios)


SUBJECTS = {
    'simple': lambda: SimpleTransmission(-50.0, 0.3),
    'differential': lambda: DifferentialTransmission((50.0, -30.0), (2.0, 1.0), (0.0, -0.5)),
    'four-bar': lambda: FourBarLinkageTransmission((10.0, -20.0), (-2.0, 4.0), (0.5, 0.0)),
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
    'pushed slider by closure': lambda: m.Pushed(**GEARS),
    'cardan by closure': lambda: m.Crossed(**GEARS),
    'ten turns by closure': lambda: m.Crossed(0.6, 31.0),
    'open four-bar by closure': lambda: m.FourBarLoop({'side': 1.0}),
    'crossed four-bar by closure': lambda: m.FourBarLoop({'side': -1.0}),
    'plate by closure': lambda: m.PlateLoop(**PAIR),
    'finger by closure': m.FingerLoop,
    'sine': m.Sine,
    'sine with inverse': m.SineWithInverse,
    'cam': m.Cam,
    'falling table': lambda: table([2.0, 1.0, 0.0], [0.0, 0.5, 3.0]),
    'reversed table': lambda: table([0, 1, 2, 2.5], [4, 0.5, -3, -3.1], -10.0, 2.0),
    'uneven table': lambda: table([0.0, 0.1, 5.0, 5.1], [0.0, 3.0, 3.1, 9.0], 3.0, -1.0),
}


@pytest.mark.parametrize('name', SUBJECTS)
def test_a_transmission_conforms(name):
    """From matrices, equations, closures and tables every interface follows."""
    assert failures(SUBJECTS[name](), count=1000) == {}


#: A linkage of the documents, and what an actuator has.
LINKAGES = [
    ('five_bar', ''),
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
    robot = RobotTransmissions(load_description(text, strict=True), passive_joints='none')
    (linkage,) = robot.transmissions.values()
    if actuator:
        assert linkage.actuator_reduction == (-3.0, -3.0)
    assert failures(linkage, count=200) == {}
