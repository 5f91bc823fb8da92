# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The driver of serial servos on a simulated bus: numbers, modes, and every failure of a bus."""

from bisect import bisect
from contextlib import contextmanager, suppress
from functools import partial
import math
import os
import random
import struct
import threading
import time

import numpy as np
from patient_clock import PatientClock
import pytest
from sts_bus import Bus, encode, MODE, PortThread, Servo, TORQUE, TURN
from waiting import wait

import transmission_bridge as tb
from transmission_bridge.drivers import (
    DriverActuator,
    DriverHost,
    Hardware,
    host as host_module,
    servos,
)
from transmission_bridge.drivers.servos import SerialServos

rustypot = pytest.importorskip('rustypot', reason='rustypot is not installed')
NAN = float('nan')
TICK = 2.0 * math.pi / TURN

#: Length of the run with lost packets [s]; ten minutes are the promise.
SECONDS = float(os.environ.get('TRANSMISSION_BRIDGE_BUS_SECONDS', '4'))

#: Numbers of answers and commands before a moment that were under way then.
UNDER_WAY = 50


@pytest.fixture
def port(tmp_path):
    """Yield the port of three servos; the last one counts turns."""
    servos = [Servo(1, 2048), Servo(2, 100), Servo(3, 4000, counts_turns=True)]
    with PortThread(Bus(servos), tmp_path / 'bus') as made:
        yield made


def make_hardware(bus, scales=None, of_actuators=None, **parameters):
    """Return hardware of three servos; a busy machine answers in the timeout."""
    given = {'port': str(bus.link), 'model': 'STS3215', 'timeout': '0.5', **parameters}
    actuators = tuple(
        DriverActuator(f'servo{number}', '', {'id': str(number), **(of_actuators or {})})
        for number in (1, 2, 3)
    )
    return Hardware('arm', given, actuators, 100.0, np.ones((3, 3)) if scales is None else scales)


@contextmanager
def opened(hardware):
    """Yield an active driver without a host."""
    driver = SerialServos()
    try:
        driver.configure(hardware)
        driver.activate()
        yield driver
        driver.deactivate()
    finally:
        driver.cleanup()
        driver.cleanup()


@pytest.fixture
def hosting(port, monkeypatch):
    """Return a context with a host, the states that it hands over, and its reports."""
    monkeypatch.setattr(host_module, 'monotonic', PatientClock())
    monkeypatch.setattr(host_module, 'REOPEN', 0.2)

    @contextmanager
    def host_servos(timeout='0.1'):
        states, reports = [], []

        def wake():
            if state := host.take_state():
                states.append((time.monotonic(), state))

        hardware = make_hardware(port, timeout=timeout)
        host = DriverHost(SerialServos(), hardware, wake, lambda *words: reports.append(words))
        try:
            host.take_step('activate')
            yield host, states, reports
        finally:
            host.end()

    return host_servos


def command(position=(NAN,) * 3, velocity=(NAN,) * 3, effort=(NAN,) * 3):
    """Return commands."""
    return tb.Command(*np.array([position, velocity, effort], dtype=float))


def test_numbers_are_si_or_in_the_units_of_the_actuators(port):
    """Positions, velocities and goals are converted; load is read with a unit only."""
    with opened(make_hardware(port)) as driver:
        np.testing.assert_allclose(driver.read()[0], np.array([2048, 100, 4000]) * TICK)
        assert np.isnan(driver.read()[2]).all()
        driver.write(command(position=[math.pi, NAN, NAN]))
    scales = np.array([[TICK] * 3, [TICK] * 3, [0.01] * 3])
    units = {'position_unit': 'tick', 'effort_unit': 'percent'}
    with opened(make_hardware(port, scales, units)) as driver:
        assert driver.read()[0].tolist() == [2048, 100, 4000]
        driver.write(command(position=[2000, NAN, 4500]))
        wait(lambda: driver.read()[1].any(), 'motion')
        rows = driver.read()
        assert rows[1, 0] <= 0 <= rows[1, 2]
        assert rows[2, 0] <= 0 <= rows[2, 2]
        wait(lambda: driver.read()[0].tolist() == [2000, 100, 4500], 'the goals')


def test_nothing_moves_while_the_torque_is_switched_on_or_off(port):
    """An old goal in a servo is replaced before the torque is on; at the end it is off."""
    for servo in port.bus.servos.values():
        servo.table[42:44] = encode(1000)
    with opened(make_hardware(port)) as driver:
        assert all(servo.table[TORQUE] for servo in port.bus.servos.values())
        assert [servo.goal for servo in port.bus.servos.values()] == [2048, 100, 4000]
        np.testing.assert_allclose(driver.read()[0], np.array([2048, 100, 4000]) * TICK)
    assert not any(servo.table[TORQUE] for servo in port.bus.servos.values())
    with opened(make_hardware(port, torque='hold')):
        pass
    assert all(servo.table[TORQUE] for servo in port.bus.servos.values())


def test_a_goal_beyond_the_turn_of_a_servo_is_not_sent(port):
    """A servo that counts turns follows it; another would reach it by the long way."""
    with opened(make_hardware(port)) as driver:
        goals = np.array([2100, -50, 4300]) * TICK
        with pytest.raises(tb.DriverError, match=r'beyond the turn .*: servo2 \(id 2\)$'):
            driver.write(command(position=goals))
        driver.read()  # the bus has received what came before
        _, sent = port.bus.goals[-1]
        assert sent == {1: 2100, 3: 4300}
        wait(lambda: abs(driver.read()[0][2] - 4300 * TICK) < TICK, 'the goal')
        with pytest.raises(tb.DriverError, match=r'follows positions only: servo1 \(id 1\)'):
            driver.write(command(velocity=[0.5, 0.0, NAN]))
        driver.write(command(velocity=[0.0, NAN, NAN]))


def test_a_leader_has_no_torque_and_follows_nothing(port):
    """Its positions are read, in whichever mode its servos are."""
    port.bus.servos[1].table[MODE] = 1
    with opened(make_hardware(port, torque='off')) as driver:
        assert not any(servo.table[TORQUE] for servo in port.bus.servos.values())
        assert driver.read().shape == (1, 3)
        port.bus.servos[2].at = 150.0
        wait(lambda: driver.read()[0][1] == pytest.approx(150 * TICK), 'motion by hand')
        with pytest.raises(tb.DriverError, match='torque is off'):
            driver.write(command(position=[1.0, NAN, NAN]))
    assert port.bus.goals == []


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'port': ''}, '<param name="port"> of <hardware> is missing'),
        ({'port': '/nowhere/tty'}, '/nowhere/tty'),
        ({'model': 'ABC'}, "'ABC' is no model"),
        ({'model': 'MX28'}, "'MX28' is no model"),
        ({'torque': 'no'}, "torque: expected on, off or hold, found 'no'"),
        ({'baud_rate': 'fast'}, '"baud_rate"> of <hardware>: expected a number'),
        ({'of_actuators': {'id': '1'}}, 'two actuators have one id'),
        ({'of_actuators': {'id': 'x'}}, '"id"> of actuator \'servo1\': expected a number'),
    ],
)
def test_wrong_hardware_is_named(port, change, words):
    """Each mistake of a description gives one sentence with its place."""
    with pytest.raises(tb.DriverError) as caught, opened(make_hardware(port, **change)):
        pass
    assert words in str(caught.value)


def test_a_missing_servo_and_a_servo_in_another_mode_are_named(port):
    """Configuring lists all that do not answer, and refuses wheels."""
    port.bus.servos[2].table[MODE] = 1
    with pytest.raises(tb.DriverError, match=r'servo2 \(id 2\) is in mode velocity'):
        SerialServos().configure(make_hardware(port))
    del port.bus.servos[1], port.bus.servos[3]
    with pytest.raises(tb.DriverError, match=r'no answer at 1000000 baud of servo1.*, servo3'):
        SerialServos().configure(make_hardware(port, timeout='0.1'))


def test_a_torque_that_a_servo_does_not_confirm_is_an_error(port, monkeypatch):
    """A message to all servos has no answer, so the register is read."""
    write = port.bus._write
    monkeypatch.setattr(
        port.bus, '_write', lambda *given: given[:2] == (2, TORQUE) or write(*given)
    )
    with (
        pytest.raises(tb.DriverError, match='not known whether the torque is on'),
        opened(make_hardware(port)),
    ):
        pass


class DynamixelBus:
    """Control tables of Dynamixel X servos with the methods of a controller of rustypot."""

    def __init__(self, *_):
        self.tables = {number: bytearray(256) for number in (1, 2, 3)}
        for table, mode, position in zip(
            self.tables.values(), (3, 4, 5), (100, -5000, 9000), strict=True
        ):
            table[11] = mode
            table[126:136] = struct.pack('<hii', -7, 10, position)

    def sync_read_raw_data(self, ids, first, length):
        """Return blocks."""
        return [self.tables[number][first : first + length] for number in ids]

    def sync_write_register(self, ids, name, numbers):
        """Write goals or torques."""
        place, form = {'goal_position': (116, '<i'), 'torque_enable': (64, '<B')}[name]
        for number, value in zip(ids, numbers, strict=True):
            struct.pack_into(form, self.tables[number], place, value)

    def close(self):
        """Do nothing."""


def test_dynamixel_servos_have_their_own_registers_and_turns(port, monkeypatch):
    """Numbers have two's complement; in a mode with more turns a goal may be beyond one turn."""
    bus = DynamixelBus()
    monkeypatch.setattr(rustypot, 'Xl330PyController', lambda *_: bus)
    hardware = make_hardware(port, model='XL330-M288', of_actuators={'effort_unit': 'A'})
    hardware.actuators[2].parameters['model'] = 'XL430-W250'
    with opened(hardware) as driver:
        position, velocity, current = driver.read()
        np.testing.assert_allclose(position, np.array([100, -5000, 9000]) * TICK)
        np.testing.assert_allclose(velocity, [2.29 / 60.0 * math.tau] * 3)
        assert current.tolist() == [-7.0] * 3
        with pytest.raises(tb.DriverError, match=r'beyond the turn .*: servo1'):
            driver.write(command(position=np.array([-3, -6000, 12000]) * TICK))
        goals = [struct.unpack_from('<i', table, 116)[0] for table in bus.tables.values()]
        assert goals == [100, -6000, 12000]
        assert [table[64] for table in bus.tables.values()] == [1, 1, 1]
    hardware.actuators[2].parameters['model'] = 'STS3215'
    with pytest.raises(tb.DriverError, match='STS3215 and XL330 have different registers'):
        SerialServos().configure(hardware)


def test_status_has_one_more_register_each_time(port):
    """Temperature, voltage, current and errors come in turn."""
    with opened(make_hardware(port)) as driver:
        driver.read()
        found = [dict(driver.status()) for _ in range(4)]
    assert [len(each) for each in found] == [1, 2, 3, 4]
    assert found[-1]['temperature [C]'].tolist() == [31.0] * 3
    assert found[-1]['voltage [V]'] == pytest.approx([7.4] * 3)


def check_return(port, lost, states):
    """Bring the second servo back, moved and without torque; check that it holds there."""
    lost.at, lost.table[TORQUE] = 300.0, 0
    port.bus.servos[2] = lost
    wait(lambda: states[-1][1].rows[0, 1] == pytest.approx(300 * TICK), 'the return')
    assert (lost.at, lost.goal, lost.table[TORQUE]) == (300.0, 300, 1)


def test_a_servo_off_the_bus_costs_only_itself_and_holds_when_it_is_back(port, hosting):
    """The others continue; after its return it holds its present position."""
    with hosting() as (host, states, _):
        host.send_commands(np.array([[2000 * TICK, 120 * TICK, NAN], *[[NAN] * 3] * 2]))
        wait(lambda: port.bus.servos[2].at == 120.0, 'the goal')
        lost = port.bus.servos.pop(2)
        wait(lambda: np.isnan(states[-1][1].rows[0, 1]), 'the loss')
        host.send_commands(np.array([[2100 * TICK, 500 * TICK, NAN], *[[NAN] * 3] * 2]))
        wait(lambda: port.bus.servos[1].at == 2100.0, 'the other servo')
        check_return(port, lost, states)
        assert [bool(each) for each in sum(s.forgotten for _, s in states)] == [False, True, False]


@pytest.mark.parametrize('is_unplugged', [False, True], ids=['silent', 'unplugged'])
def test_a_bus_that_comes_back_works_again_and_nothing_moves(port, hosting, is_unplugged):
    """Commands from before and during the outage are forgotten."""
    with hosting() as (host, states, reports):
        host.send_commands(np.array([[2000 * TICK, NAN, NAN], *[[NAN] * 3] * 2]))
        wait(lambda: port.bus.servos[1].at == 2000.0, 'the goal')
        if is_unplugged:
            port.unplug()
        else:
            port.is_silent = True
        wait(lambda: host.list_facts().life == 'reopening', 'the outage')
        host.send_commands(np.array([[1900 * TICK, NAN, NAN], *[[NAN] * 3] * 2]))
        port.bus.servos[1].at = 2010.0  # by hand
        states.clear()
        if is_unplugged:
            port.plug()
        port.is_silent = False
        wait(lambda: states, 'a state')
        report = 'info', "driver 'arm' works again, without commands"
        wait(lambda: report in reports, 'the report')
        assert port.bus.servos[1].at == pytest.approx(2010.0, abs=12.0)
        assert port.bus.servos[1].goal == round(port.bus.servos[1].at)


def test_a_servo_that_dies_in_an_outage_does_not_keep_the_others_from_working(port, hosting):
    """They are opened again without it; it holds its present position when it is back."""
    with hosting() as (host, states, _):
        wait(lambda: states, 'a state')
        port.unplug()
        wait(lambda: host.list_facts().life == 'reopening', 'the outage')
        lost = port.bus.servos.pop(2)
        port.bus.servos[1].at = 2010.0  # by hand
        states.clear()
        port.plug()
        wait(lambda: states, 'a state')
        assert np.isnan(states[0][1].rows[0]).tolist() == [False, True, False]
        host.send_commands(np.array([[2000 * TICK, 120 * TICK, NAN], *[[NAN] * 3] * 2]))
        wait(lambda: port.bus.servos[1].at == 2000.0, 'the goal of another servo')
        check_return(port, lost, states)


def test_a_late_answer_is_never_another_number(port, hosting):
    """Positions stay positions, whenever an answer comes after its timeout."""
    port.bus.servos[1].table[62] = 200
    with hosting(timeout='0.02') as (host, states, _):
        for delay in (0.021, 0.0, 0.03, 0.039, 0.0, 0.05, 0.07, 0.0):
            port.delays.append(partial(time.sleep, delay) if delay else port.await_request)
            wait(lambda: not port.delays, 'the late answer')
            count = len(states)
            wait(lambda count=count: len(states) > count + 5, 'states')
        assert host.list_facts().failures['read'] >= 3
    assert {tuple(np.rint(s.rows[0] / TICK)) for _, s in states} == {(2048.0, 100.0, 4000.0)}


def test_an_answer_that_comes_in_the_pause_after_a_failure_is_discarded(port, monkeypatch):
    """The pause lasts for a timeout; the next position is that of the next request."""
    pauses, before, released = [], [], threading.Event()

    def hold():
        before.append(port.count)
        released.wait()

    def pause(seconds):
        pauses.append(seconds)
        released.set()
        wait(lambda: before and port.count > before[0], 'the late answer')

    with opened(make_hardware(port, torque='off', timeout='0.1')) as driver:
        port.delays.append(hold)
        monkeypatch.setattr(servos, 'sleep', pause)
        with pytest.raises(tb.DriverError, match='timed out'):
            driver.read()
        port.bus.servos[1].at = 1000.0
        assert np.rint(driver.read()[0] / TICK).tolist() == [1000.0, 100.0, 4000.0]
    assert pauses == [0.1]


def test_a_late_answer_about_status_or_torque_is_no_position(port):
    """It is recognised by its length, and costs one cycle."""
    with opened(make_hardware(port, timeout='0.02')) as driver:
        for _ in range(4):
            port.delays.append(port.await_request)
            with pytest.raises(tb.DriverError, match='timed out'):
                driver.status()
            with suppress(tb.DriverError):
                assert np.rint(driver.read()[0] / TICK).tolist() == [2048.0, 100.0, 4000.0]
            wait(lambda: not port.delays, 'the late answer')
            with suppress(tb.DriverError):
                driver.read()
            assert np.rint(driver.read()[0] / TICK).tolist() == [2048.0, 100.0, 4000.0]


def test_lost_packets_change_no_position_lose_no_turn_and_repeat_no_command(port, hosting):
    """
    With one packet in a hundred lost, every position is one that its servo has just shown.

    Servo 3 passes from its turn to the next and back. Every goal on the bus is the command of that
    moment, or the position in which a servo that was lost holds.
    """
    port.loss = 0.01
    chosen, sent = random.Random(1), []
    with hosting() as (host, states, _):
        began, goals = time.monotonic(), np.array([2048.0, 100.0, 4000.0])
        while time.monotonic() < began + SECONDS:
            steps = [chosen.uniform(-20.0, 20.0) for _ in range(3)]
            goals = np.clip(goals + steps, [1500, 0, 3900], [2500, 700, 4300]).round()
            sent.append((time.monotonic(), goals))
            host.send_commands(np.array([goals * TICK, [NAN] * 3, [NAN] * 3]))
            time.sleep(0.01)
        port.loss = 0.0
        wait(lambda: [s.at for s in port.bus.servos.values()] == goals.tolist(), 'the last goals')
        facts = host.list_facts()
    assert (facts.failures['read'] > 0, facts.life) == (True, 'active')
    shown, given = ([at for at, _ in each] for each in (port.bus.shown, sent))
    for at, state in states:
        count = bisect(shown, at)
        recent = port.bus.shown[max(count - UNDER_WAY, 0) : count]
        for number, position in enumerate(state.rows[0] / TICK, start=1):
            known = {each.get(number) for _, each in recent}
            assert position != position or round(position) in known, (at - began, number, known)
    for at, goals in port.bus.goals:
        counts = bisect(given, at), bisect(shown, at)
        now, held = (
            each[max(count - UNDER_WAY, 0) : count]
            for each, count in zip((sent, port.bus.shown), counts, strict=True)
        )
        for number, goal in goals.items():
            known = [each[number - 1] for _, each in now] + [each.get(number) for _, each in held]
            assert goal in known, (at - began, number, goal, known)
