# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The thread of a driver: life, cycles, and every way in which a driver may fail."""

import asyncio
from contextlib import contextmanager
from functools import partial
import re
import threading
import time

import numpy as np
from patient_clock import PatientClock
import pytest
from waiting import wait

import transmission_bridge as tb
from transmission_bridge.drivers import DriverActuator, DriverHost, Hardware, host as host_module

NAN = float('nan')
METHODS = ('configure', 'activate', 'read', 'write', 'status', 'deactivate', 'cleanup')


class Recorder(tb.Driver):
    """Records its calls, and does in each method what a test has put there."""

    def __init__(self):
        self.calls, self.acts, self.written = [], {}, []
        self.rows = [1.0, 2.0]

    def __getattribute__(self, name):
        """Return a method that first does what the test wants."""
        found = super().__getattribute__(name)
        return partial(self._act, name, found) if name in METHODS else found

    def _act(self, name, method, *arguments):
        self.calls.append(name)
        act = self.acts.get(name)
        returned = act() if act else None
        return method(*arguments) if returned is None else returned

    def read(self):
        """Return what the test has set."""
        return self.rows

    def write(self, command):
        """Keep the command."""
        self.written.append(np.array(command))

    def status(self):
        """Return a temperature for each."""
        return {'temperature [C]': [30, 31]}

    @property
    def steps(self):
        """The calls outside of the cycle."""
        return [each for each in self.calls if each not in ('read', 'write', 'status')]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Return the clock of hosts; tests wait less than users, however busy the machine is."""
    clock = PatientClock()
    monkeypatch.setattr(host_module, 'monotonic', clock)
    for name, share in (
        *(('PATIENCE', 0.4), ('ATTENTION', 0.8)),
        *((name, 0.1) for name in ('REOPEN', 'STOP', 'STATUS')),
    ):
        monkeypatch.setattr(host_module, name, share * getattr(host_module, name))
    return clock


class Hosting:
    """A host with a bridge that takes each state while ``takes`` is true."""

    def __init__(self, driver, **options):
        self.driver, self.takes, self.states, self.reports = driver or Recorder(), True, [], []
        actuators = tuple(DriverActuator(name, '', {}) for name in ('left', 'right'))
        hardware = Hardware('arm', {}, actuators, 200.0, np.ones((3, 2)))
        report = lambda *words: self.reports.append(words)  # noqa: E731
        self.host = DriverHost(self.driver, hardware, self._wake, report, **options)

    def _wake(self):
        if self.takes and (state := self.host.take_state()):
            self.states.append(state)

    def await_write(self, expected):
        """Wait until the driver writes these numbers."""
        written = self.driver.written
        wait(
            lambda: written and np.array_equal(written[-1], expected, equal_nan=True),
            f'writing {expected.tolist()}',
            report=lambda: written[-1:],
        )

    def obey(self, command):
        """Send a command, and wait until the driver writes it."""
        self.host.send_commands(command)
        self.await_write(command)


@contextmanager
def hosting(driver=None, *, to='active', **options):
    """Yield a host in a life."""
    made = Hosting(driver, **options)
    try:
        for step in ('configure', 'activate')[: ['unconfigured', 'inactive', 'active'].index(to)]:
            made.host.take_step(step)
        yield made
    finally:
        made.driver.acts = {}
        made.host.end()


def rows(position=(NAN, NAN), velocity=(NAN, NAN), effort=(NAN, NAN)):
    """Return rows of commands."""
    return np.array([position, velocity, effort])


def fail():
    """Fail as a bus does."""
    raise OSError('no answer')


# -- life ----------------------------------------------------------------------------------------


def test_a_life_calls_the_methods_in_order_in_one_thread_of_its_own():
    """Every method is called by one thread, asyncio works in it, and each step has its undoing."""
    driver, threads = Recorder(), set()
    loop = asyncio.new_event_loop()

    def act():
        threads.add(threading.current_thread())
        loop.run_until_complete(asyncio.sleep(0))

    driver.acts = dict.fromkeys(METHODS, act)
    with hosting(driver) as made:
        made.host.send_commands(rows(position=[0.5, NAN]))
        wait(lambda: {'write', 'status'} <= set(driver.calls), 'a cycle')
        made.host.end()
    loop.close()
    assert driver.steps == ['configure', 'activate', 'deactivate', 'cleanup']
    assert len(threads) == 1
    assert threading.main_thread() not in threads
    assert [*made.states[-1].rows[0]] == [1.0, 2.0]
    assert made.host.list_facts().status['temperature [C]'].tolist() == [30.0, 31.0]


def test_a_command_is_merged_by_actuator_written_at_once_and_in_every_cycle():
    """Each actuator keeps its last command as a whole; writing repeats it."""
    with hosting() as made:
        made.obey(rows(position=[0.5, NAN], velocity=[0.1, NAN]))
        made.obey(rows(velocity=[0.2, 0.3]))
        made.host.send_commands(np.array([[7.0], [NAN], [NAN]]), [1])
        expected = rows(position=[NAN, 7.0], velocity=[0.2, NAN])
        made.await_write(expected)
        count = len(made.driver.written)
        wait(lambda: len(made.driver.written) > count + 3, 'repeated writes')
        made.await_write(expected)


def test_rates_end_before_the_driver_is_deactivated_and_nothing_returns_after_it():
    """The last write has velocity zero; an active driver begins without commands."""
    with hosting() as made:
        made.obey(rows(velocity=[1.0, NAN], position=[NAN, 0.5]))
        made.host.take_step('deactivate')
        made.await_write(rows(velocity=[0.0, NAN], position=[NAN, 0.5]))
        made.driver.written.clear()
        made.host.take_step('activate')
        made.states.clear()
        wait(lambda: len(made.states) > 3, 'cycles')
        assert made.driver.written == []


@pytest.mark.parametrize('method', ['configure', 'activate'])
@pytest.mark.parametrize(
    'failure', [OSError('no port'), SystemExit(1), asyncio.CancelledError(), KeyboardInterrupt()]
)
def test_a_failed_step_is_undone_and_can_be_repeated(method, failure):
    """The error names driver, method and reason; the step below follows, and a retry works."""
    driver = Recorder()

    def act():
        raise failure

    driver.acts = {method: act}
    with hosting(driver, to='unconfigured') as made:
        if method == 'activate':
            made.host.take_step('configure')
        with pytest.raises(tb.DriverError, match=rf"driver 'arm': {method}\(\) failed: "):
            made.host.take_step(method)
        assert driver.steps[-1] == ('cleanup' if method == 'configure' else 'deactivate')
        driver.acts = {}
        made.host.take_step('activate')
        assert made.host.list_facts().life == 'active'


@pytest.mark.parametrize('method', METHODS)
def test_a_hang_costs_only_its_driver(monkeypatch, method):
    """Steps return in their time with the method that hangs; its late return leads down."""
    driver, released, waits = Recorder(), threading.Event(), host_module.START
    with hosting(driver, to='unconfigured') as made:
        if method == 'activate':
            made.host.take_step('configure')
        driver.acts = {method: released.wait}
        if method in ('configure', 'activate'):
            monkeypatch.setattr(host_module, 'START', 0.2)
            with pytest.raises(tb.DriverError, match=rf'{method}\(\) has not returned'):
                made.host.take_step('activate')
        else:
            made.host.take_step('activate')
            made.host.send_commands(rows(velocity=[1.0, 1.0]))
            if method in ('read', 'write', 'status'):
                wait(lambda: made.host.list_facts().busy == method, 'the hang')
        began = time.monotonic()
        made.host.end()
        assert time.monotonic() - began < 0.5 * waits
        if method not in ('configure', 'activate'):
            assert any(f'{method}() has not returned' in text for _, text in made.reports)
        driver.acts = {}
        released.set()
        wait(lambda: not made.host._thread.is_alive(), 'the end of the thread')
        assert driver.steps[-1] == 'cleanup'
        assert driver.steps.count('activate') == driver.steps.count('deactivate')
        if driver.written:
            assert not np.nan_to_num(driver.written[-1][1]).any()


@pytest.mark.parametrize('method', METHODS)
def test_a_method_that_always_raises_never_ends_the_thread(method):
    """Only configure and activate fail their steps; as soon as it works, commands are followed."""
    driver = Recorder()

    class Unprintable(Exception):
        def __str__(self):
            raise ValueError('no words')

    def act():
        raise Unprintable

    driver.acts = {method: act}
    with hosting(driver, to='unconfigured') as made:
        for step in ('configure', 'activate', 'deactivate', 'activate', 'cleanup', 'configure'):
            is_lower = method == 'configure' or (method, step) == ('activate', 'activate')
            if is_lower and step in ('configure', 'activate'):
                with pytest.raises(tb.DriverError, match='Unprintable'):
                    made.host.take_step(step)
                continue
            made.host.take_step(step)
            if step == 'activate':
                made.host.send_commands(rows(velocity=[1.0, 1.0]))
                wait(lambda: {'read', 'write'} <= set(driver.calls), 'a cycle')
        driver.acts = {}
        made.host.take_step('activate')
        wait(lambda: made.host.list_facts().failure == '', 'a cycle without failure')
        made.obey(rows(position=[0.1, 0.2]))


# -- errors in the cycle -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('returned', 'words'),
    [
        ([1.0], r'returned shape \(1,\), expected \(2,\) or \(1 to 3, 2\)'),
        ([[1.0, 2.0]] * 4, r'returned shape \(4, 2\)'),
        (5.0, r'returned shape \(\)'),
        (['a', 'b'], 'expected numbers'),
        ([None, 1.0], 'expected numbers'),
        ([[1.0], [1.0, 2.0]], 'no array of numbers'),
        ('12', 'expected numbers'),
        ([1j, 2j], 'expected numbers'),
    ],
)
def test_a_state_of_another_shape_is_a_failed_read(returned, words):
    """One wrong cycle loses one state, with a sentence; the next is used."""
    with hosting() as made:
        wait(lambda: made.states, 'a state')
        answers = iter([returned])
        made.driver.acts['read'] = lambda: next(answers, None)
        wait(lambda: made.host.list_facts().failures.get('read'), 'the failure')
        wait(lambda: not made.host.list_facts().failure, 'the next state')
        ((severity, text),) = made.reports
        assert severity == 'warning'
        assert re.search(words, text)
        assert all(state.rows.shape == (1, 2) for state in made.states)


def test_numbers_that_are_not_finite_are_unknown():
    """NaN and infinity are unknown, each alone; any finite number passes to the bridge."""
    with hosting() as made:
        made.driver.rows = [[np.inf, 1e300], [NAN, -1.0], [-np.inf, 3.0]]
        wait(lambda: made.states and len(made.states[-1].rows) == 3, 'three rows')
        expected = [[NAN, 1e300], [NAN, -1.0], [NAN, 3.0]]
        np.testing.assert_array_equal(made.states[-1].rows, expected)


def test_a_driver_that_changes_its_arrays_changes_neither_states_nor_commands():
    """What it returns is copied, and what it is given is its own."""
    driver = Recorder()
    driver.rows = np.array([1.0, 2.0])

    def spoil():
        driver.rows[:] = 9.0
        return None

    def write(command):
        driver.written.append(np.array(command))
        for row in command:
            row[:] = 7.0

    with hosting(driver) as made:
        wait(lambda: made.states, 'a state')
        driver.acts = {'write': spoil}
        vars(driver)['write'] = write
        made.host.send_commands(rows(position=[0.5, NAN]))
        wait(lambda: len(driver.written) > 3, 'repeated writes')
        assert made.states[0].rows.tolist() == [[1.0, 2.0]]
        made.await_write(rows(position=[0.5, NAN]))


@pytest.mark.parametrize(
    ('returned', 'words'),
    [
        ([31.0, 32.0], 'returned list, expected a mapping'),
        ({'temperature [C]': [31.0]}, r"returned shape \(1,\) for 'temperature \[C\]', expected"),
        ({'temperature [C]': ['hot', 'cold']}, 'expected numbers'),
        (5, 'returned int, expected a mapping'),
    ],
)
def test_a_status_of_another_form_is_reported_and_costs_nothing_else(returned, words):
    """States and commands go on, and the next status is used."""
    with hosting() as made:
        made.driver.acts = {'status': lambda: returned}
        wait(lambda: made.host.list_facts().failures.get('status'), 'the failure')
        ((_, text),) = made.reports
        assert re.search(words, text)
        assert made.host.list_facts().failure == ''
        made.driver.acts = {}
        wait(lambda: made.host.list_facts().status, 'the next status')
        made.obey(rows(position=[0.5, 0.6]))


def test_nothing_new_is_neither_a_state_nor_a_failure():
    """A read that returns None hands nothing over, and commands stay active."""
    driver = Recorder()
    driver.rows = None
    with hosting(driver) as made:
        made.host.send_commands(rows(velocity=[1.0, NAN]))
        wait(lambda: len(driver.written) > 120, 'writes beyond the patience with failures')
        made.await_write(rows(velocity=[1.0, NAN]))
        assert (made.states, made.host.list_facts().failures) == ([], {})


def test_an_actuator_that_stops_to_answer_loses_its_command_at_once():
    """Its command is forgotten, a new one does not reach it, and the bridge learns of it."""
    with hosting() as made:
        made.obey(rows(position=[0.5, 0.6]))
        made.driver.rows = [NAN, 2.0]
        made.await_write(rows(position=[NAN, 0.6]))
        made.host.send_commands(rows(position=[0.7, 0.8]))
        made.await_write(rows(position=[NAN, 0.8]))
        made.driver.rows = [1.0, 2.0]
        wait(lambda: made.states[-1].rows[0, 0] == 1.0, 'its answer')
        made.await_write(rows(position=[NAN, 0.8]))
        assert (sum(state.forgotten for state in made.states) > 0).tolist() == [True, False]


def test_hardware_that_fails_is_opened_again_and_holds():
    """After a while commands are forgotten, and it is closed and opened until it works."""
    driver = Recorder()
    with hosting(driver) as made:
        made.obey(rows(position=[0.5, 0.6]))
        driver.acts = {'read': fail, 'configure': fail}
        wait(lambda: driver.steps.count('configure') > 2, 'two attempts')
        assert driver.steps[2:6] == ['deactivate', 'cleanup', 'configure', 'cleanup']
        facts = made.host.list_facts()
        assert (facts.life, 'OSError: no answer' in facts.failure) == ('reopening', True)
        made.host.send_commands(rows(position=[0.9, 0.9]))
        driver.written.clear()
        driver.acts = {'activate': fail}
        wait(lambda: driver.steps[-1] == 'cleanup' and 'activate' in driver.steps[5:], 'a failure')
        driver.acts = {}
        made.states.clear()
        wait(lambda: len(made.states) > 3, 'states')
        facts = made.host.list_facts()
        assert (facts.life, facts.failure) == ('active', '')
        assert driver.written == []
        assert made.states[0].forgotten.all()
        assert ('info', "driver 'arm' works again, without commands") in made.reports


def test_hardware_that_fails_can_be_deactivated_meanwhile():
    """A deactivation ends the attempts to open it."""
    driver, released = Recorder(), threading.Event()
    with hosting(driver) as made:
        driver.acts = {'read': fail, 'configure': lambda: released.wait() and fail()}
        wait(lambda: made.host.list_facts().busy == 'configure', 'an attempt')
        assert made.host.list_facts().life == 'reopening'
        made.host.begin_step('deactivate')
        released.set()
        made.host.take_step('deactivate')
        count = len(driver.steps)
        assert made.host.list_facts().life == 'unconfigured'
        driver.acts = {}
        made.host.take_step('activate')
        assert made.host.list_facts().life == 'active'
        assert driver.steps[count:] == ['configure', 'activate']


def test_writes_that_fail_for_a_while_end_the_commands_but_not_the_driver():
    """A rate becomes zero, a position is forgotten; the hardware is not opened again."""
    with hosting() as made:
        made.obey(rows(position=[NAN, 0.6], velocity=[1.0, NAN]))
        made.driver.acts = {'write': fail}
        wait(lambda: sum(state.forgotten for state in made.states).all(), 'the end')
        made.driver.acts = {}
        made.await_write(rows(velocity=[0.0, NAN]))
        assert made.driver.steps == ['configure', 'activate']


def test_a_command_from_before_a_long_read_is_not_repeated(clock):
    """A read that took too long ends the commands from before it."""
    with hosting() as made:
        made.obey(rows(position=[0.5, NAN], velocity=[NAN, 1.0]))

        def take_long():
            made.driver.acts = {}
            made.driver.written.clear()
            clock.skip(2 * host_module.PATIENCE)

        made.driver.acts = {'read': take_long}
        made.await_write(rows(velocity=[NAN, 0.0]))
        assert all(np.isnan(each[0]).all() for each in made.driver.written)


@pytest.mark.parametrize('zero_effort', [False, True])
def test_rates_end_if_the_bridge_takes_no_state(zero_effort):
    """A velocity becomes zero, an effort only with zero_effort; a position stays."""
    with hosting(zero_effort=zero_effort) as made:
        made.obey(rows([0.5, NAN], [0.1, NAN], [NAN, 2.0]))
        made.takes = False
        effort = 0.0 if zero_effort else 2.0
        made.await_write(rows([0.5, NAN], [0.0, NAN], [NAN, effort]))
        wait(lambda: any('has not taken' in text for _, text in made.reports), 'the report')
        made.takes = True
        made.host.send_commands(rows(velocity=[0.3, NAN]))
        made.await_write(rows(velocity=[0.3, NAN], effort=[NAN, effort]))


def test_rates_end_a_time_after_the_last_command_without_a_bridge():
    """With a command_timeout a velocity has to be repeated."""
    with hosting(command_timeout=0.1) as made:
        made.obey(rows(velocity=[1.0, NAN]))
        made.await_write(rows(velocity=[0.0, NAN]))


def test_equal_failures_are_reported_once_in_a_while():
    """The first has its traceback; facts count all."""
    with hosting() as made:
        made.driver.acts = {'status': fail}
        wait(lambda: made.host.list_facts().failures.get('status', 0) > 2, 'failures')
        ((severity, text),) = made.reports
        assert severity == 'error'
        assert 'in fail' in text
        assert made.host.list_facts().failure == ''
