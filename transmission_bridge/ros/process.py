# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Run a node as a process: memory, executor and exit code; work around faults of rclpy.

Each workaround of rclpy has its reason: an issue, and the versions that need it. A test in
``test/ros/test_rclpy_faults.py`` shows the fault in plain rclpy, and fails when the workaround is
no longer needed. No other module uses private names of rclpy. The programs in ``main`` call
:func:`run` in the main thread of a process, once; tests call the rest. Users choose ``executor``
by its words; these and the exit codes are fixed, times and thresholds are free. rclpy is imported
inside functions:
:func:`run` must handle signals before that slow import, or an early signal would cause a
traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
import ctypes
import importlib.metadata
import math
import os
from pathlib import Path
import sys
import time
from typing import Any, TYPE_CHECKING, TypeVar

from transmission_bridge.errors import TransmissionBridgeError, UnknownNameError
from transmission_bridge.signals import stop_at_signals, StopRequest

if TYPE_CHECKING:
    from rclpy.node import Node

# -- Memory: free the buffers of messages that were read -----------------------------------------
#
# By default Fast DDS keeps each buffer of a queue at the size of its largest message so far. Its
# readers also leak a buffer if a message is older than all others in a full queue, as happens with
# several publishers (Fast DDS 2.14 to 3.6, ``DataReaderHistory::received_change_keep_last``). So a
# message of a few bytes can occupy a megabyte forever. With a new buffer for each message, memory
# follows the size of the messages.


_PROFILE = Path(__file__).with_name('fast_dds.xml')

#: Variables of Fast DDS 3 and 2. Kilted warns about the second, Jazzy ignores the first.
_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')

#: Without this variable, rmw_fastrtps overrides the memory settings of the profile.
_USE_PROFILE = 'RMW_FASTRTPS_USE_QOS_FROM_XML'

#: Profiles that Fast DDS reads from the working directory.
_LOCAL_PROFILES = ('DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml')

#: Option in malloc.h of glibc, and the initial value of the threshold [bytes].
_M_MMAP_THRESHOLD, _THRESHOLD = -3, 128 << 10


def free_read_messages() -> None:
    """
    Set up the memory of this process, after the import and before the start of rclpy.

    A configuration of Fast DDS by the user is kept; the user can add the settings of
    ``fast_dds.xml`` to it. Other middleware is not affected.
    """
    # glibc would raise the threshold to the largest freed block, up to 32 MiB. Then large buffers
    # would lie between small ones, which prevent the return of their memory.
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _THRESHOLD)
    chosen = (*_PROFILES, _USE_PROFILE, 'RMW_FASTRTPS_PUBLICATION_MODE')
    if any(os.environ.get(name) for name in chosen) or any(map(os.path.exists, _LOCAL_PROFILES)):
        return
    # The version of Fast DDS is not available; Kilted has version 3 and rclpy 9.
    try:
        is_new = int(importlib.metadata.version('rclpy').partition('.')[0]) >= 9
    except importlib.metadata.PackageNotFoundError:  # a build without metadata of packages
        return
    os.environ[_PROFILES[0 if is_new else 1]] = str(_PROFILE)
    os.environ[_USE_PROFILE] = '1'


# -- Executors -----------------------------------------------------------------------------------
#
# The events executor needs the least CPU and is used if the distribution has it.


NodeT = TypeVar('NodeT', bound='Node')

#: Longest wait of an executor [s]. Without a limit the events executor (ros2/rclpy#1391; the
#: manylinux wheels of 7.1 and 9.1) waits until the end of the steady clock. That overflows, so it
#: spins at full load and delivers nothing.
_PERIOD = 1.0

#: The check of the events executor [s]: its period, the longest delay, the time for which the
#: other executor takes over, and the period of the warning.
_CHECK, _LATE, _RELIEF, _SAID_AGAIN = 0.5, 1.0, 10.0, 60.0

_NO_ROS = (
    'rclpy is not installed: source a ROS 2 installation, or install the wheels with pip install '
    "'.[jazzy]' (or '.[kilted]') in a checkout of transmission_bridge"
)


def available_executors() -> tuple[str, ...]:
    """Return the names of the available executors for :func:`spin_node`, best first."""
    try:
        from rclpy.experimental.events_executor import EventsExecutor  # noqa: F401
    except (ImportError, AttributeError):  # the module or its half in C++ may be missing
        return ('single_threaded',)
    return ('events', 'single_threaded')


def find_executor(executor: str) -> str:
    """Return an available executor for a word of the user; errors as :func:`spin_node`."""
    available = available_executors()
    name = available[0] if executor == 'auto' else executor
    if name not in available:
        raise UnknownNameError('executor', executor, ('auto', *available))
    return name


def spin_node(node: Node, *, executor: str = 'auto', stop: StopRequest | None = None) -> None:
    """
    Run the callbacks of a node until its context is shut down or a stop is requested.

    The events executor keeps an event for each message, even if the queue has dropped the
    message. So its memory grows while messages come faster than they are handled
    (ros2/rclpy#1391, all versions; in C++ ros2/rclcpp#3213). Then the single-threaded executor,
    which has no such events, takes over for a while.

    :param node: The node.
    :param executor: ``events``, ``single_threaded``, or ``auto``: the first available one.
    :param stop: Stops it at once, from any thread.
    :raises UnknownNameError: If the executor is not available.
    """
    name = find_executor(executor)
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor

    stop = stop or StopRequest()
    with suppress(ExternalShutdownException):
        if name == 'events':
            from rclpy.experimental.events_executor import EventsExecutor

            while _Loop(node, EventsExecutor(context=node.context), stop).run_while_keeping_up():
                node.get_logger().warning(
                    f'callbacks wait for more than {_LATE:g} s: messages come faster than they '
                    'can be handled; the single-threaded executor takes over for '
                    f'{_RELIEF:g} s and drops messages: check whether a node floods a topic',
                    throttle_duration_sec=_SAID_AGAIN,
                )
                relief = _Loop(node, SingleThreadedExecutor(context=node.context), stop)
                relief.run(_PERIOD, time.monotonic() + _RELIEF)
        else:
            _Loop(node, SingleThreadedExecutor(context=node.context), stop).run()


class _Loop:
    """An executor that runs the callbacks of a node once, and is then shut down."""

    def __init__(self, node: Node, executor: Any, stop: StopRequest) -> None:
        from rclpy.task import Future

        self._node, self._executor, self._stop = node, executor, stop
        # Done when the loop has to end: by a stop, from any thread, or by late callbacks.
        self._over: Future[None] = Future()
        self._is_behind = False

    def run(self, period: float | None = None, until: float = math.inf) -> None:
        """
        Run callbacks until the context is shut down or a stop is requested.

        :param period: Longest wait [s]. A limit costs a timer for each wait.
        :param until: Time of the steady clock [s] at which it ends at the latest.
        """
        self._executor.add_node(self._node)
        # Nothing may wake the executor after its shutdown.
        try:
            with self._stop.notify_in_block(lambda: self._over.set_result(None)):
                is_ok = self._node.context.ok
                while is_ok() and not self._over.done() and time.monotonic() < until:
                    self._executor.spin_until_future_complete(self._over, timeout_sec=period)
        finally:
            self._executor.remove_node(self._node)
            self._executor.shutdown()

    def run_while_keeping_up(self) -> bool:
        """Run callbacks as :meth:`run`; return whether it ended because callbacks are late."""
        from rclpy.clock import Clock
        from rclpy.clock_type import ClockType

        steady = Clock(clock_type=ClockType.STEADY_TIME)
        timer = self._node.create_timer(_CHECK, lambda: self._measure_delay(), clock=steady)
        try:
            self.run(_PERIOD)
        finally:
            self._node.destroy_timer(timer)
        return self._is_behind and self._node.context.ok() and not self._stop()

    def _measure_delay(self, again: bool = False) -> None:
        """Measure how long a task waits behind earlier callbacks."""
        asked = time.monotonic()

        def answer() -> None:
            if time.monotonic() - asked > _LATE:
                # A single slow callback, as at the start, delays one task, but not two.
                if again:
                    self._is_behind = True
                    self._over.set_result(None)
                else:
                    self._measure_delay(again=True)

        self._executor.create_task(answer)


# -- From the start of rclpy to the exit code ----------------------------------------------------


def run(
    make_node: Callable[[], NodeT],
    args: Sequence[str] | None = None,
    *,
    executor: str = 'auto',
    on_stop: Callable[[NodeT], object] | None = None,
) -> int:
    """
    Run a node as a process, from the start of rclpy to the exit code.

    SIGINT, SIGTERM and SIGHUP end it in order. First the callbacks stop. Then ``on_stop`` is
    called while the context is still valid, so that the node can publish its last messages. Then
    node and context are destroyed. Further signals have no effect. An ignored SIGHUP (``nohup``)
    stays ignored. Only for the main thread.

    :param make_node: Makes the node. It should do slow imports, because signals are handled then.
    :param args: Command line, ``sys.argv`` by default.
    :param executor: As in :func:`spin_node`.
    :param on_stop: Called with the node after its last callback, also after an exception.
    :returns: 0, or 1 if a mistake of the user prevents the start; it is reported in a sentence.
    """
    _open_standard_streams()
    with stop_at_signals() as stop:
        try:
            import rclpy
        except ModuleNotFoundError as error:
            if error.name != 'rclpy':
                raise
            print(_NO_ROS, file=sys.stderr)
            return 1
        from rclpy.signals import SignalHandlerOptions

        free_read_messages()
        try:
            words = None if args is None else list(args)
            rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
        except RuntimeError as error:
            # The base class of rclpy's private errors.
            print(f'wrong ROS arguments, or rclpy cannot start: {error}', file=sys.stderr)
            return 1
        with ExitStack() as ends:
            ends.callback(rclpy.try_shutdown)
            try:
                executor = find_executor(executor)
                node = make_node()
            except TransmissionBridgeError as error:
                rclpy.logging.get_logger('transmission_bridge').fatal(str(error))
                return 1
            ends.callback(node.destroy_node)
            if on_stop is not None:
                ends.callback(on_stop, node)
            spin_node(node, executor=executor, stop=stop)
    return 0


def _open_standard_streams() -> None:
    """
    Open the missing standard streams of the process (``bridge_node 2>&-``).

    Otherwise rclpy (all versions) would log to a socket or file with that descriptor.
    """
    for name, descriptor, mode in (('stdin', 0, 'r'), ('stdout', 1, 'w'), ('stderr', 2, 'w')):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free descriptor is this one, because lower ones are open.
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115


# -- Missing functions of rclpy ------------------------------------------------------------------


def read_start_parameters(node: Node) -> dict[str, Any]:
    """
    Return the parameter values that the node was given at its start, by parameter.

    rclpy has no public access to them (ros2/rclpy#363, all versions). An empty list is ``None``.
    """
    return {name: given.value for name, given in node._parameter_overrides.items()}
