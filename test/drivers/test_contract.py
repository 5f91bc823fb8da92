# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The hardware in a description, and the class of a plugin."""

import importlib.metadata
import math

import numpy as np
import pytest
from zoo.elements import load, params, ratio, transmission, urdf

import transmission_bridge as tb
from transmission_bridge.drivers import (
    driver,
    find_block_drivers,
    find_driver_class,
    list_driver_hardware,
    list_encoder_periods,
    register_driver,
)
from transmission_bridge.drivers.servos import SerialServos
from transmission_bridge.drivers.simulated import SimulatedDriver


def make_robot(more='', kind='continuous'):
    """
    Return the maps of a robot of a block of the joints ``b`` and ``a``, and a joint beside it.

    :param more: Inside ``<hardware>``.
    :param kind: Type and limits of ``a``.
    """
    motor = params(id=1, position_unit='turn')
    inside = transmission('t', 'Simple', {'a': ratio(2)}, {'motor': motor})
    text = urdf({'a': kind, 'b': 'continuous', 'c': 'continuous'}, inside, plugin='my/Servos')
    more = params(port='/dev/ttyUSB0', wide='0x10', half=0.5, word='x') + more
    for before, after in (
        ('"hardware" type="system"', '"arm" type="system" rw_rate="50"'),
        ('</hardware>', f'{more}</hardware>'),
        ('<joint name="a"/>', f'<joint name="b">{params(id=2)}</joint>'),
        ('<joint name="b"/>', f'<joint name="a">{params(id=9, model="M")}</joint>'),
        ('<joint name="c"/>', ''),
    ):
        text = text.replace(before, after, 1)
    return load(text)


def read_hardware(more=''):
    """Return plugin and hardware by block."""
    return list_driver_hardware(make_robot(more))


def test_a_block_has_the_actuators_of_its_transmissions_then_of_its_joints():
    """Parameters of the joint belong to its motor, unless the actuator has its own."""
    found = read_hardware()
    plugin, hardware = found['arm']
    assert (plugin, hardware.name, hardware.rate) == ('my/Servos', 'arm', 50.0)
    assert [(each.name, each.joint) for each in hardware.actuators] == [('motor', 'a'), ('b', 'b')]
    assert hardware.actuators[0].parameters['model'] == 'M'
    assert hardware.read_numbers('id') == [1, 2]
    turn = 2.0 * math.pi
    np.testing.assert_allclose(hardware.scales, [[turn, 1.0], [turn, 1.0], [1.0, 1.0]])
    plugin, rest = found['']
    assert (plugin, rest.rate, [each.name for each in rest.actuators]) == ('', 100.0, ['c'])


def test_a_simulation_starts_at_zero_or_within_the_limits_of_the_joints():
    """Motor zero stays if its joint is within its limits there; else the joint is at its zero."""
    robot = make_robot(kind='revolute lower="-1" upper="-0.5" effort="1" velocity="1"')
    turns = list_driver_hardware(robot)['arm'][1].compute_start()
    np.testing.assert_allclose(turns, [-0.5 * 2.0 / (2.0 * math.pi), 0.0])


def test_numbers_and_texts_of_parameters():
    """A number may be hexadecimal; what is missing or wrong is named with its place."""
    hardware = read_hardware()['arm'][1]
    assert [hardware.read_number(name) for name in ('wide', 'half')] == [16, 0.5]
    assert (hardware.read_text('port'), hardware.read_text('x', 'y')) == ('/dev/ttyUSB0', 'y')
    assert hardware.read_number('missing', 3.0) == 3.0
    assert hardware.read_numbers('model_number', 7) == [7, 7]
    for read, words in (
        (lambda: hardware.read_text('missing'), '<param name="missing"> of <hardware> is missing'),
        (lambda: hardware.read_number('word'), "<hardware>: expected a number, found 'x'"),
        (lambda: hardware.read_numbers('model'), "actuator 'motor': expected a number, found 'M'"),
    ):
        with pytest.raises(tb.DriverError) as caught:
            read()
        assert words in str(caught.value)


def test_a_parameter_overrides_the_rate_and_must_be_positive():
    """``rate`` of the hardware counts before ``rw_rate``."""
    assert read_hardware('<param name="rate">200</param>')['arm'][1].rate == 200.0
    with pytest.raises(tb.DriverError, match='rate'):
        read_hardware('<param name="rate">0</param>')


def make_entries(monkeypatch, *values):
    """Install drivers of these classes under one name."""
    entries = [importlib.metadata.EntryPoint('my/D', each, 'group') for each in values]
    monkeypatch.setattr(driver.importlib.metadata, 'entry_points', lambda group: entries)


def test_a_plugin_is_found_by_its_registered_name_only(monkeypatch):
    """Other plugins have no class; a class of the command line is registered by hand."""
    assert find_driver_class('transmission_bridge/SerialServos') is SerialServos
    assert find_driver_class('transmission_bridge/SimulatedDriver') is SimulatedDriver
    assert find_driver_class('os/system') is None
    monkeypatch.setattr(driver, '_local', {})
    register_driver('file/Servos', SimulatedDriver)
    assert find_driver_class('file/Servos') is SimulatedDriver


def test_plugins_are_replaced_by_block_or_all_at_once():
    """A driver of single turns gives the period of each actuator in its unit."""
    robot = make_robot()
    simulated, servos = (f'transmission_bridge/{x}' for x in ('SimulatedDriver', 'SerialServos'))
    assert find_block_drivers(robot, {}) == {}
    found = find_block_drivers(robot, {'*': simulated, 'arm': servos})
    kinds = {name: kind for name, (kind, _) in found.items()}
    assert kinds == {'arm': SerialServos, '': SimulatedDriver}
    assert list_encoder_periods(found) == pytest.approx({'motor': 1.0, 'b': 2.0 * math.pi})


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        (['nowhere:D'], r"'my/D' \(nowhere:D\) cannot be imported"),
        (['os:getcwd'], 'os:getcwd is not a subclass of tb.Driver'),
        (['a:D', 'b:D'], 'provided by a:D and b:D'),
    ],
)
def test_a_driver_that_cannot_be_used_is_named(monkeypatch, values, words):
    """One sentence with plugin, class and reason; an overlaid workspace is no conflict."""
    make_entries(monkeypatch, *values)
    with pytest.raises(tb.DriverError, match=words):
        find_driver_class('my/D')
    make_entries(monkeypatch, *['transmission_bridge.drivers.simulated:SimulatedDriver'] * 2)
    assert find_driver_class('my/D') is SimulatedDriver
