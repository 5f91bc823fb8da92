# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The driver of the README, and docs/drivers.md: its numbers are those of hand and bridge."""

from __future__ import annotations

import math
import re
import sys
from types import ModuleType, SimpleNamespace

from documents import DOCUMENTS
import numpy as np
import pytest
from waiting import wait
from zoo.elements import of_snippet

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.drivers import (
    driver,
    DriverHost,
    find_driver_class,
    list_driver_hardware,
    register_driver,
)
from transmission_bridge.interfaces import FIELDS

README = DOCUMENTS['README.md']

#: Links and joints around the block of the README.
LINKS = """<robot name="r"><link name="a"/><link name="b"/><joint name="hinge" type="continuous">
<parent link="a"/><child link="b"/></joint>{}</robot>"""

TEXT = DOCUMENTS['drivers.md'].section('Units')

#: A transmission, and behind it a table of what the joint does.
DRIVERS = re.findall(
    r'^### (.+?)\n.*?^```xml\n(<transmission.*?)^```$\n\n((?:^\|[^\n]*\n)+)',
    TEXT,
    re.MULTILINE | re.DOTALL,
)
ROW = re.compile(r'^\| (\w+) (\S+) .*? \| `([^`]+)` .*? \| (\S+) \|$', re.MULTILINE)


def test_the_driver_of_the_readme_drives_a_motor(monkeypatch):
    """Its 17 lines and its URDF, with any bus that has the two methods."""
    text = README.files['my_driver.py']
    assert len(text.splitlines()) <= 17
    goals, opened = {}, []

    def open_bus(port):
        opened.append(port)
        return SimpleNamespace(
            read_position=lambda number: goals.get(number, 1.0), write_goal=goals.__setitem__
        )

    library, module = ModuleType('my_bus'), ModuleType('my_driver')
    library.Bus = open_bus
    monkeypatch.setitem(sys.modules, 'my_bus', library)
    monkeypatch.setattr(driver, '_local', {})
    exec(compile(text, 'my_driver.py', 'exec'), vars(module))
    register_driver('my_driver/Servos', module.Servos)
    (block,) = README.snippets('xml')
    robot = RobotTransmissions(load_description(LINKS.format(block)))
    ((plugin, hardware),) = list_driver_hardware(robot).values()
    states = []
    host = DriverHost(
        find_driver_class(plugin)(), hardware, lambda: states.append(host.take_state()), print
    )
    host.take_step('activate')
    host.send_commands(np.array([[-5.0], [np.nan], [np.nan]]))
    wait(lambda: states and states[-1].rows.tolist() == [[-5.0]], 'the goal')
    host.end()
    assert (opened, goals) == (['/dev/ttyUSB0'], {1: -5.0})


@pytest.mark.parametrize(
    ('transmission', 'table'), [pytest.param(*each, id=name) for name, *each in DRIVERS]
)
def test_a_driver_is_given_the_numbers_that_one_finds_by_hand(transmission, table):
    """Position, velocity and effort by hand, as printed, and as the bridge maps them."""
    robot = RobotTransmissions(load_description(of_snippet(transmission)))
    units = DriverUnits(robot)
    rows = {kind: rest for kind, *rest in ROW.findall(table)}
    assert list(rows) == ['position', 'velocity', 'effort', 'power']
    power_at_joint, formula, printed = rows.pop('power')
    in_si = {}
    assert f'{calculated(formula):.6f}' == printed
    assert calculated(formula) == pytest.approx(float(power_at_joint), rel=1e-12)
    for kind, (at_joint, formula, printed) in rows.items():
        by_hand, row = calculated(formula), FIELDS.index(kind)
        assert f'{by_hand:.6f}' == printed, kind
        mapped = units.of_drivers(robot.joint_to_actuator(kind, [float(at_joint)]), row)
        assert mapped == pytest.approx([by_hand], rel=1e-12), kind
        back = robot.actuator_to_joint(kind, units.in_si(np.array([by_hand]), row))
        assert back == pytest.approx([float(at_joint)], rel=1e-12), kind
        in_si[kind] = units.in_si(mapped, row)[0]
    assert in_si['velocity'] * in_si['effort'] == pytest.approx(float(power_at_joint), rel=1e-12)


def calculated(formula):
    """Return the value of a formula of the document."""
    return eval(formula, {'pi': math.pi, '__builtins__': {}})
