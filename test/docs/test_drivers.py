# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The numbers of ``docs/drivers.md`` are those that the bridge sends."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from zoo.elements import chain

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.transmissions.units import CONSTANTS, UNITS

#: A transmission, and behind it a table of what the joint does.
SECTION = re.compile(
    r'^### (.+?)\n.*?^```xml\n(<transmission.*?)^```$\n\n((?:^\|[^\n]*\n)+)',
    re.MULTILINE | re.DOTALL,
)
ROW = re.compile(r'^\| (\w+) (\S+) .*? \| `([^`]+)` .*? \| (\S+) \|$', re.MULTILINE)


@pytest.fixture(scope='module')
def text(documents):
    """Return the document."""
    return (documents.ROOT / 'docs' / 'drivers.md').read_text(encoding='utf-8')


@pytest.fixture(scope='module')
def sections(text):
    """Return the name, the transmission and the table of each driver."""
    found = SECTION.findall(text)
    assert len(found) == len(re.findall('^### ', text, re.MULTILINE)) == 5
    return found


def robot_of(transmission):
    """Return a robot of this transmission alone."""
    name, inner = re.fullmatch(
        r'<\w+ name="(.+?)">(.*)</\w+>\s*', transmission, re.DOTALL
    ).groups()
    joint = re.search('<joint name="([^"]+)"', transmission)[1]
    kind = 'prismatic' if 'Screw' in transmission else 'continuous'
    robot = RobotTransmissions(
        load_description(chain({name: inner}, **{joint: f'{kind} -9 9 9 99'}))
    )
    assert robot.joint_names == (joint,), robot.findings
    return robot


def test_each_driver_is_given_the_numbers_that_one_finds_by_hand(sections):
    """Position, velocity and effort by hand, as printed, and as the bridge maps them."""
    for name, transmission, table in sections:
        robot = robot_of(transmission)
        units = DriverUnits(robot)
        rows = {kind: rest for kind, *rest in ROW.findall(table)}
        assert list(rows) == ['position', 'velocity', 'effort', 'power'], name
        sent = {}
        for kind, (at_joint, formula, printed) in rows.items():
            by_hand = eval(formula, {'pi': math.pi, '__builtins__': {}})
            assert f'{by_hand:.6f}' == printed, (name, kind)
            if kind == 'power':
                assert by_hand == pytest.approx(float(at_joint), rel=1e-12)
                continue
            row, at_motor = FIELDS.index(kind), robot.joint_to_actuator(kind, [float(at_joint)])
            mapped = units.of_drivers(at_motor, row)[0]
            assert mapped == pytest.approx(by_hand, rel=1e-12), (name, kind)
            back = robot.actuator_to_joint(kind, units.in_si(np.array([by_hand]), row))[0]
            assert back == pytest.approx(float(at_joint), rel=1e-12), (name, kind)
            sent[kind] = np.array(mapped)
        power = np.prod(
            [units.in_si(sent[kind], row, 0) for row, kind in ((1, 'velocity'), (2, 'effort'))]
        )
        assert power == pytest.approx(float(rows['power'][0]), rel=1e-12), name


def test_the_table_of_parameters_has_every_unit(text):
    """Each parameter has a row, with all units that it may be."""
    for name, units in UNITS.items():
        row = re.search(rf'^\| `{name}` \| (.*?) \|', text, re.MULTILINE)[1]
        assert row.split(', ') == [f'`{unit}`' for unit in units]
    for name in CONSTANTS:
        assert f'\n| `{name}` | ' in text
