# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The thread of one driver: its life, its cycle, and the values that it shares with the bridge.

The bridge hands commands over at once and takes states when it is woken. It never waits for the
driver, except for the steps of its life.

Here the bridge is the thread of the node's executor, the only one that calls the public methods.
The driver is called in its own thread only. Docs and authors of drivers rely on the order of the
calls, and on the times at the top. Diagnostics show the names of lives and methods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import IntEnum
from functools import partial
import math
import threading
from time import monotonic
import traceback
from typing import Any, NamedTuple

import numpy as np

from transmission_bridge.drivers.driver import Command, Driver, DriverError, Hardware
from transmission_bridge.drivers.sampling import SampledCommands
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import TrajectoryRecord
from transmission_bridge.types import Array, Mask

#: Time without success after which commands are forgotten and hardware is opened again, at least
#: three cycles, and the period of opening it [s].
PATIENCE, REOPEN = 1.0, 2.0

#: Time after which rates end if the bridge does not take a waiting state [s].
ATTENTION = 0.5

#: Longest wait for configure and activate, and for all steps at the end [s].
START, STOP = 10.0, 2.0

#: Period of status, and shortest time between two reports about one method [s].
STATUS, AGAIN = 1.0, 5.0


class DriverLife(IntEnum):
    """The life of a driver. Each step leads to the next or the previous one, by number."""

    UNCONFIGURED = 0
    INACTIVE = 1
    ACTIVE = 2


#: Methods that lead from each life to the next, and to each life from the next.
_UP, _DOWN = ('configure', 'activate'), ('cleanup', 'deactivate')

#: Life that each step leads to.
_GOALS = {step: DriverLife(number) for number, step in enumerate(_DOWN)}
_GOALS |= {step: DriverLife(number) for number, step in enumerate(_UP, start=1)}


class HostState(NamedTuple):
    """
    The latest state of a driver.

    :param rows: Rows position, velocity, effort in the driver's units, shape ``(1 to 3, n)``; NaN:
        unknown.
    :param forgotten: Mask of the actuators with a command that was forgotten since the last state.
    """

    rows: Array
    forgotten: Mask


class DriverHostFacts(NamedTuple):
    """
    Facts of a driver for diagnostics.

    :param life: ``unconfigured``, ``inactive``, ``active``, or ``reopening``.
    :param rate: Cycles per second since the last call [Hz].
    :param late: Number of cycles that took longer than their period.
    :param failures: Number of failures by method.
    :param failure: The present failure in one sentence, otherwise empty.
    :param failing_for: Time since its first failure after a success [s].
    :param busy: The running method, otherwise empty.
    :param busy_for: Its duration until now [s].
    :param read_time: Mean duration of read [s].
    :param write_time: Mean duration of write [s].
    :param status: Result of the driver's ``status``, shape ``(n,)`` by name.
    """

    life: str
    rate: float
    late: int
    failures: Mapping[str, int]
    failure: str
    failing_for: float
    busy: str
    busy_for: float
    read_time: float
    write_time: float
    status: Mapping[str, Array]


class DriverHost:
    """
    Runs a driver in a thread of its own.

    A cycle reads, wakes the bridge, and writes the active commands. Between two cycles the first
    new command is written at once.

    :param wake: Called in the thread when the bridge should call :meth:`take_state`. It returns at
        once.
    :param report: Called in the thread, or by the steps at the end, with ``info``, ``warning`` or
        ``error`` and a sentence. It raises nothing.
    :param zero_effort: Whether efforts end at zero, as velocities do.
    :param command_timeout: Time after the last command at which rates end [s], for a driver
        without a bridge in its process.
    """

    def __init__(
        self,
        driver: Driver,
        hardware: Hardware,
        wake: Callable[[], object],
        report: Callable[[str, str], object],
        *,
        zero_effort: bool = False,
        command_timeout: float = math.inf,
    ) -> None:
        self.driver, self.hardware = driver, hardware
        self.names = tuple(actuator.name for actuator in hardware.actuators)
        self._title = f"driver '{hardware.name}'"
        self._wake, self._tell = wake, report
        self._command_timeout = command_timeout
        self._patience = max(PATIENCE, 3.0 / hardware.rate)
        count, now = len(self.names), monotonic()
        # Shared with the bridge, under the lock of the condition. The thread changes the life, and
        # follows the goal: the bridge sets it, and the thread gives up a goal that fails.
        self._changed = threading.Condition()
        self._life = self._goal = DriverLife.UNCONFIGURED
        self._climbs = self._ends = False
        self._is_settled = True
        self._error: DriverError | None = None
        self._active = SampledCommands(count, zero_effort)
        self._has_new, self._commanded = False, -math.inf
        self._rows: Array | None = None
        self._forgotten: Mask = np.zeros(count, dtype=bool)
        self._all: Mask = np.ones(count, dtype=bool)
        self._waits_since = math.inf
        # Written by the thread alone, each value at once, so list_facts() needs no lock.
        self._measured: Array = np.full((2, count), np.nan)
        self._seen: Mask = np.zeros(count, dtype=bool)
        self._succeeded = self._read_at = self._opens_at = self._status_due = now
        self._failing_since = now
        self._failure, self._failures = '', Counter[str]()
        self._told: dict[str, float] = {}
        #: The running method (empty: none) and since when.
        self._busy: tuple[str, float] = ('', now)
        self._cycles = self._late = 0
        self._read_time = self._write_time = 0.0
        self._status: dict[str, Array] = {}
        # Of the bridge: a call that did not return in time, and time and cycles of the last facts.
        self._stuck: tuple[str, float] | None = None
        self._counted = (now, 0)
        self._thread = threading.Thread(
            target=self._run, name=f'driver {hardware.name}', daemon=True
        )
        self._thread.start()

    # -- for the thread of the bridge ------------------------------------------------------------

    def begin_step(self, step: str) -> None:
        """
        Let the driver ``configure``, ``activate``, ``deactivate`` or ``cleanup``.

        Steps between the present life and the one to reach are taken in their order. A step down
        never takes a step up.
        """
        with self._changed:
            self._goal, self._climbs = _GOALS[step], step in _UP
            self._is_settled, self._error = False, None
            self._changed.notify_all()

    def take_step(self, step: str) -> None:
        """
        Let the driver take a step, and wait for it.

        If a step up fails or does not return in time, it is undone when it returns. A step down
        always counts as done; its failures are reported.

        :raises DriverError: If ``configure`` or ``activate`` fails, or does not return in 10 s.
        """
        self.begin_step(step)
        climbs = step in _UP
        with self._changed:
            # A method that did not return for an earlier step is not waited for again.
            hangs = self._stuck is not None and self._stuck == self._busy
            limit = 0.0 if hangs else START if climbs else STOP
            if self._changed.wait_for(lambda: self._is_settled, limit):
                if climbs and self._error is not None:
                    raise self._error
                return
            self._stuck = self._busy
            busy, since = self._busy
            if climbs:
                self._goal = min(self._life, DriverLife(_GOALS[step] - 1))
        words = f'{busy or step}() has not returned for {monotonic() - since:.1f} s'
        words += f', {step}() was not called' if busy != step else ''
        error = DriverError(f'{self._title}: {words}')
        if climbs:
            raise error
        if not hangs:
            self._tell('error', str(error))

    def end(self) -> None:
        """Deactivate and clean up, and end the thread; a thread that hangs is left behind."""
        with self._changed:
            self._ends = True
        self.take_step('cleanup')

    def take_state(self) -> HostState | None:
        """Return the state that is new since the last call, otherwise ``None``."""
        with self._changed:
            self._waits_since = math.inf
            rows, self._rows = self._rows, None
            if rows is None:
                return None
            forgotten, self._forgotten = self._forgotten, np.zeros_like(self._forgotten)
        return HostState(rows, forgotten)

    def send_commands(self, rows: Array, actuators: Any = slice(None)) -> None:
        """
        Command actuators; a column without a number changes nothing.

        :param rows: Rows position, velocity, effort in the driver's units, shape ``(3, k)``; NaN:
            none.
        :param actuators: Indices of the ``k`` columns in the hardware; by default all.
        """
        with self._changed:
            self._active.set_commands(rows, actuators)
            self._note_command()

    def send_trajectory(
        self, record: TrajectoryRecord, actuators: list[int], delay: float = 0.0
    ) -> bool:
        """
        Execute a trajectory: cubic between waypoints with velocities, otherwise linear.

        It starts from the measured positions. Accelerations and efforts are not used.

        :param record: In the driver's units; its stamp is not used.
        :param actuators: Indices of its columns in the hardware.
        :param delay: Time until it starts [s]; negative: it has started, and waypoints of the past
            are left out.
        :returns: Whether it is executed: one of its waypoints is in the future.
        """
        with self._changed:
            self._note_command()
            start = self._commanded + delay
            return self._active.add_trajectory(record, actuators, start, self._commanded)

    def _note_command(self) -> None:
        self._has_new, self._commanded, self._waits_since = True, monotonic(), math.inf
        self._changed.notify_all()

    def list_facts(self) -> DriverHostFacts:
        """Return the present facts; called once a second."""
        now = monotonic()
        with self._changed:
            reopens = self._life < self._goal and self._climbs and self._is_settled
            life = 'reopening' if reopens else self._life.name.lower()
            failure = self._failure
        (busy, since), cycles = self._busy, self._cycles
        (counted, before), self._counted = self._counted, (now, cycles)
        return DriverHostFacts(
            life=life,
            rate=(cycles - before) / max(now - counted, 1e-9),
            late=self._late,
            failures=dict(self._failures),
            failure=failure,
            failing_for=now - self._failing_since if failure else 0.0,
            busy=busy,
            busy_for=now - since if busy else 0.0,
            read_time=self._read_time,
            write_time=self._write_time,
            status=self._status,
        )

    # -- life, in the thread of the driver -------------------------------------------------------

    def _run(self) -> None:
        due = monotonic()
        while True:
            with self._changed:
                step = ''
                if self._life > self._goal:
                    step = _DOWN[self._life - 1]
                elif self._life == self._goal or not self._climbs:
                    self._is_settled = True
                    self._changed.notify_all()
                elif not self._is_settled or monotonic() >= self._opens_at:
                    # A request is tried at once, hardware that has failed after a while.
                    step = _UP[self._life]
                if not step and self._life != DriverLife.ACTIVE:
                    if self._ends and self._life == DriverLife.UNCONFIGURED:
                        return
                    opens = self._life < self._goal and self._climbs
                    self._changed.wait(max(self._opens_at - monotonic(), 0.0) if opens else None)
                    continue
            if step:
                (self._step_up if step in _UP else self._step_down)(step)
                due = monotonic()
                continue
            self._run_cycle()
            due += 1.0 / self.hardware.rate
            if due < (now := monotonic()):
                self._late, due = self._late + 1, now
            # The first new command is written at once, unless a step down is due.
            with self._changed:
                self._changed.wait_for(
                    lambda: self._has_new or self._goal < self._life, due - monotonic()
                )
                writes = self._has_new and self._goal >= self._life
            if writes and due - monotonic() > self._write_time:
                self._write()
            with self._changed:
                self._changed.wait_for(lambda: self._goal < self._life, due - monotonic())

    def _step_up(self, step: str) -> None:
        try:
            self._call(step, *((self.hardware,) if step == 'configure' else ()))
        except DriverError as error:
            self._attempt(_DOWN[_UP.index(step)])
            with self._changed:
                is_requested = not self._is_settled
                if is_requested:
                    self._error, self._goal, self._climbs = error, self._life, False
            if not is_requested:
                self._note_failure(step, error)
                self._close(REOPEN)
            return
        self._measured[:] = np.nan
        self._succeeded = self._read_at = self._status_due = monotonic()
        self._status = {}
        with self._changed:
            self._life = DriverLife(self._life + 1)
            self._forgotten |= self._active.forget(self._all)
            self._active.rows[:] = np.nan
            self._rows, self._waits_since = None, math.inf

    def _step_down(self, step: str) -> None:
        if step == 'deactivate':
            with self._changed:
                self._active.end_rates()
            self._write()
        self._attempt(step)
        with self._changed:
            self._life = DriverLife(self._life - 1)

    def _close(self, rest: float) -> None:
        """Take all steps down; the goal stays, and the hardware is opened again after a rest."""
        self._opens_at = monotonic() + rest
        while self._life > DriverLife.UNCONFIGURED:
            self._step_down(_DOWN[self._life - 1])

    # -- the cycle -------------------------------------------------------------------------------

    def _run_cycle(self) -> None:
        began = monotonic()
        is_read = self._read()
        read = monotonic()
        if read - self._succeeded > self._patience:
            # Also after a read that took long: an old command is not repeated.
            with self._changed:
                self._forgotten |= self._active.forget(self._all)
        with suppress(Exception):  # an executor that has ended; rates end then
            self._wake()
        is_written = self._write()
        now = monotonic()
        self._cycles += 1
        self._read_time += 0.05 * (read - began - self._read_time)
        self._write_time += 0.05 * (now - read - self._write_time)
        if is_read:
            self._read_at = now
        elif now - self._read_at > self._patience:
            self._close(0.0)
            return
        if is_read and is_written:
            if self._failure and now - self._failing_since > self._patience:
                # A write that failed is not repeated, so it may fail again.
                left = ', without commands' if np.isnan(self._active.rows).all() else ''
                self._report('works', 'info', f'{self._title} works again{left}')
            self._succeeded, self._failure = now, ''
            if now >= self._status_due:
                self._status_due = now + STATUS
                try:
                    check = partial(as_driver_status, count=len(self.names))
                    self._status = self._call('status', check=check)
                except DriverError as error:
                    self._note_failure('status', error)

    def _read(self) -> bool:
        try:
            rows = self._call('read', check=partial(as_state_rows, count=len(self.names)))
        except DriverError as error:
            return self._note_failure('read', error)
        with self._changed:
            self._waits_since = min(self._waits_since, monotonic())
            if rows is not None:
                self._rows = rows
        if rows is not None:
            self._measured[:] = np.nan
            self._measured[: len(rows[:2])] = rows[:2]
            self._seen |= ~np.isnan(rows[0])
        return True

    def _write(self) -> bool:
        now, ended = monotonic(), False
        with self._changed:
            active = self._active
            # An actuator that does not answer may be elsewhere when it answers again.
            lost = self._seen & np.isnan(self._measured[0])
            if lost.any():
                self._forgotten |= active.forget(lost)
            ignored = now - self._waits_since
            if ignored > ATTENTION or now - self._commanded > self._command_timeout:
                ended = active.end_rates()
            active.sample(now, self._measured)
            rows, self._has_new = active.rows.copy(), False
        if ended and ignored > ATTENTION:
            words = f'the bridge has not taken a state for {ignored:.1f} s: rates end'
            self._report('bridge', 'error', f'{self._title}: {words}')
        if np.isnan(rows).all():
            return True
        return self._attempt('write', Command(*rows))

    # -- calls and reports -----------------------------------------------------------------------

    def _call(
        self, method: str, *arguments: Any, check: Callable[[Any], Any] = lambda value: value
    ) -> Any:
        """Call a method of the driver, and check what it returns."""
        self._busy = method, monotonic()
        try:
            return check(getattr(self.driver, method)(*arguments))
        except BaseException as error:  # also SystemExit and asyncio.CancelledError
            self._failures[method] += 1
            text = ''.join(traceback.format_exception_only(error)).strip()
            if isinstance(error, DriverError):
                text = text.partition(': ')[2]
            elif self._failures[method] == 1:
                text += f'\n{traceback.format_exc()}'
            raise DriverError(f'{self._title}: {method}() failed: {text}') from None
        finally:
            self._busy = '', monotonic()

    def _attempt(self, method: str, *arguments: Any) -> bool:
        try:
            self._call(method, *arguments)
        except DriverError as error:
            return self._note_failure(method, error)
        return True

    def _note_failure(self, method: str, error: DriverError) -> bool:
        if method != 'status':
            if not self._failure:
                self._failing_since = monotonic()
            self._failure = str(error).partition('\n')[0]
        self._report(method, 'warning' if method in ('read', 'write') else 'error', str(error))
        return False

    def _report(self, subject: str, severity: str, text: str) -> None:
        now = monotonic()
        if now - self._told.get(subject, -math.inf) > AGAIN:
            self._told[subject] = now
            self._tell(severity, text)


def as_state_rows(values: Any, count: int) -> Array | None:
    """
    Return rows of what ``read`` returned, as a copy; numbers that are not finite become NaN.

    :raises DriverError: If it has another shape, or is not numeric.
    """
    if values is None:
        return None
    rows = _as_numbers(values)
    if rows.ndim == 1:
        rows = rows[np.newaxis]
    if rows.ndim != 2 or not 1 <= len(rows) <= len(FIELDS) or rows.shape[1] != count:
        expected = f'({count},) or (1 to 3, {count})'
        raise DriverError(f'returned shape {np.shape(values)}, expected {expected}')
    rows[~np.isfinite(rows)] = np.nan
    return rows


def as_driver_status(values: Any, count: int) -> dict[str, Array]:
    """
    Return what ``status`` returned, as copies.

    :raises DriverError: If it is not a mapping from names to numbers of shape ``(n,)``.
    """
    if not isinstance(values, Mapping):
        raise DriverError(f'returned {type(values).__name__}, expected a mapping')
    rows = {str(name): _as_numbers(numbers) for name, numbers in values.items()}
    for name, numbers in rows.items():
        if numbers.shape != (count,):
            raise DriverError(f"returned shape {numbers.shape} for '{name}', expected ({count},)")
    return rows


def _as_numbers(values: Any) -> Array:
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise DriverError(f'returned no array of numbers: {error}') from None
    if given.dtype.kind not in 'iuf':
        raise DriverError(f'returned {given.dtype}, expected numbers')
    return given.astype(np.float64)
