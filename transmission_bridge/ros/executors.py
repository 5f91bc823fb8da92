# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A node of this package as a process: memory, signals, executor and exit code.

rclpy is imported inside the functions: :func:`run` must handle signals before that slow import, or
an early signal would end in a traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
import ctypes
import importlib.metadata
import math
import os
from pathlib import Path
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, TypeVar

from transmission_bridge.errors import TransmissionBridgeError, UnknownNameError

if TYPE_CHECKING:
    from rclpy.node import Node

__all__ = [
    'SIGNALS',
    'StopRequest',
    'available_executors',
    'free_read_messages',
    'run',
    'spin',
    'stop_signals',
]


# -- Memory: free the buffers of messages that were read -----------------------------------------
#
# By default Fast DDS keeps each buffer of a queue at the size of the largest message that it ever
# held. Its readers also lose a buffer now and then: one with a message older than all others in a
# full queue, as happens with several publishers, is never freed (Fast DDS 2.14 to 3.6,
# ``DataReaderHistory::received_change_keep_last``). So a message of a few bytes can occupy a
# megabyte for good. With a new buffer for each message, memory follows the size of the messages.


_PROFILE = Path(__file__).with_name('fast_dds.xml')

#: Variables of Fast DDS 3 and 2. Kilted warns of the second, Jazzy does not know the first.
_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')

#: Without this variable rmw_fastrtps overrides the memory settings of the profile.
_USE_PROFILE = 'RMW_FASTRTPS_USE_QOS_FROM_XML'

#: Profiles that Fast DDS reads from the working directory.
_LOCAL_PROFILES = ('DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml')

#: Of glibc's malloc.h, and where its threshold begins [bytes].
_M_MMAP_THRESHOLD, _THRESHOLD = -3, 128 << 10


def free_read_messages() -> None:
    """
    Set up the memory of this process, after rclpy is imported and before it is initialised.

    A configuration of Fast DDS by the user is left as it is; the settings of ``fast_dds.xml`` can
    be added to it. Other middleware is not affected.
    """
    # glibc would raise the threshold to the largest block that was freed, up to 32 MiB. Large
    # buffers would then lie between small ones, which keep their memory from being returned.
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _THRESHOLD)
    chosen = (*_PROFILES, _USE_PROFILE, 'RMW_FASTRTPS_PUBLICATION_MODE')
    if any(os.environ.get(name) for name in chosen) or any(map(os.path.exists, _LOCAL_PROFILES)):
        return
    # The version of Fast DDS is not available; version 3 came with Kilted, as rclpy 9 did.
    try:
        is_new = int(importlib.metadata.version('rclpy').partition('.')[0]) >= 9
    except importlib.metadata.PackageNotFoundError:  # a build without metadata of packages
        return
    os.environ[_PROFILES[0 if is_new else 1]] = str(_PROFILE)
    os.environ[_USE_PROFILE] = '1'


# -- Signals as a request to stop, instead of rclpy's own handlers -------------------------------
#
# rclpy's handlers invalidate the context first, after which a node can no longer publish. Python
# handlers run between byte codes, which is too late: the events executor waits in C++. So the
# interpreter's C handler writes to a pipe, and a thread that sleeps on the pipe passes the request
# on.


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """A request to stop, made once, from any thread; calling the object tells whether it was."""

    def __init__(self) -> None:
        self._requested = False
        self._listeners: list[Callable[[], object]] = []
        self._lock = threading.RLock()

    def __call__(self) -> bool:
        """Tell whether to stop."""
        return self._requested

    def request(self) -> None:
        """Ask to stop. Asking again changes nothing."""
        with self._lock:
            if self._requested:
                return
            self._requested = True
            for listener in self._listeners:
                listener()

    @contextmanager
    def listening(self, listener: Callable[[], object]) -> Iterator[None]:
        """Call ``listener`` if the request is made during the block, in that thread."""
        with self._lock:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.remove(listener)


@contextmanager
def stop_signals() -> Iterator[StopRequest]:
    """
    Turn signals into a :class:`StopRequest` for the duration of the block.

    SIGHUP, of a lost terminal, stays ignored if it was: the process was started with ``nohup``.
    Afterwards the previous handlers are restored, unless a signal came: then the process is
    ending, and further signals are ignored so that none interrupts it with a traceback.

    :raises ValueError: If called outside the main thread, which Python does not allow.
    """
    if threading.current_thread() is not threading.main_thread():
        raise ValueError('signals can be handled in the main thread only')
    stop = StopRequest()
    reader, writer = os.pipe()
    # The C handler must never block in a full pipe.
    os.set_blocking(writer, False)
    watcher = threading.Thread(target=_watch, args=(reader, stop), name='stop', daemon=True)
    watcher.start()
    previous_writer = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # Python installs its C handler only together with a Python one, which has nothing to do.
    previous = {
        number: signal.signal(number, lambda *_: None)
        for number in SIGNALS
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, signal.SIG_IGN if stop() else handler)
        signal.set_wakeup_fd(previous_writer)
        os.close(writer)
        watcher.join()
        os.close(reader)


def _watch(reader: int, stop: StopRequest) -> None:
    """Pass signals on until the other end of the pipe is closed."""
    while received := os.read(reader, 64):
        if any(number in SIGNALS for number in received):
            stop.request()


# -- Executors -----------------------------------------------------------------------------------
#
# The events executor costs the least and is used where the distribution has it; else the default
# one, in the form of :mod:`~transmission_bridge.ros.attentive_executor`.


NodeT = TypeVar('NodeT', bound='Node')

#: Longest wait of an executor [s]. The events executor needs a limit: without one it waits until
#: the end of the steady clock, which overflows in the manylinux wheels, so that it spins at full
#: load and delivers nothing.
_PERIOD = 1.0

#: Period of the check whether the events executor keeps up, of looks at callbacks if it may not,
#: its longest delay, the time for which the other one relieves it, and the period of the warning
#: [s].
_CHECK, _LOOK, _LATE, _RELIEF, _SAID_AGAIN = 0.5, 0.1, 1.0, 10.0, 60.0

_NO_ROS = (
    'rclpy is not installed: source a ROS 2 installation, or install the wheels with pip install '
    "'.[kilted]' (or '.[jazzy]') in a checkout of transmission_bridge"
)


def available_executors() -> tuple[str, ...]:
    """Return the executors that exist here, best first, by the names that :func:`spin` takes."""
    try:
        from rclpy.experimental.events_executor import EventsExecutor  # noqa: F401
    except (ImportError, AttributeError):  # neither the module nor its half in C++ is promised
        return ('single_threaded',)
    return ('events', 'single_threaded')


def spin(
    node: Node, *, executor: str = 'auto', should_stop: Callable[[], bool] | None = None
) -> None:
    """
    Run the callbacks of a node until its context is shut down or a stop is requested.

    :param node: The node.
    :param executor: ``events``, ``single_threaded``, or ``auto``: the first of these that the
        distribution has.
    :param should_stop: Called at least once a second. A :class:`StopRequest` takes effect at once.
    :raises UnknownNameError: If there is no such executor here.
    """
    known = available_executors()
    name = known[0] if executor == 'auto' else executor
    if name not in known:
        raise UnknownNameError('executor', executor, ('auto', *known))
    from rclpy.executors import ExternalShutdownException

    loop = _spin_events if name == 'events' else _spin_single_threaded
    with suppress(ExternalShutdownException):
        loop(node, should_stop or (lambda: False))


def _spin_events(node: Node, should_stop: Callable[[], bool]) -> None:
    """
    Run the events executor as long as it keeps up.

    It keeps an event for each message, also for messages that their queue has dropped, so that
    its memory grows while messages come faster than they are handled (the same in C++:
    ros2/rclcpp#3213). The single-threaded executor, which has no such events, takes over for a
    while then.
    """
    while _spin_while_keeping_up(node, should_stop):
        node.get_logger().warning(
            f'callbacks wait for more than {_LATE:g} s: messages come faster than they can be '
            f'handled; the single-threaded executor takes over for {_RELIEF:g} s, as it drops '
            'what it cannot handle: find out whether somebody floods a topic',
            throttle_duration_sec=_SAID_AGAIN,
        )
        _spin_single_threaded(node, should_stop, time.monotonic() + _RELIEF)


def _spin_while_keeping_up(node: Node, should_stop: Callable[[], bool]) -> bool:
    """Run the events executor; return whether it ended because it fell behind."""
    from rclpy.experimental.events_executor import EventsExecutor
    from rclpy.task import Future

    from transmission_bridge.ros.rclpy_internals import callback_of

    executor = EventsExecutor(context=node.context)
    executor.add_node(node)
    pause: Future[None] = Future()
    is_over, is_behind = threading.Event(), threading.Event()

    spinning = threading.get_ident(), _spin_while_keeping_up.__code__

    def watch() -> None:
        """
        Look again and again whether a new task waits while callbacks come and go.

        The task also waits for a single callback that takes long, as at the start of the node.
        """
        answered, late, callback = threading.Event(), 0, None
        answered.set()
        while not is_over.wait(_CHECK if answered.is_set() else _LOOK):
            former, callback = callback, callback_of(*spinning)
            if answered.is_set():
                answered.clear()
                late = 0
                executor.create_task(answered.set)
            elif callback is None or callback is not former:
                late += 1
                if late * _LOOK > _LATE:
                    is_behind.set()
                    pause.set_result(None)
                    return

    watcher = threading.Thread(target=watch, name='keeps up', daemon=True)
    watcher.start()
    try:
        with _waking(should_stop, lambda: pause.set_result(None)):
            while node.context.ok():
                # A new one each time: the executor leaves a callback in it. A request that comes
                # after this line ends the wait, and one before it is seen below.
                pause = Future()
                if should_stop() or is_behind.is_set():
                    break
                executor.spin_until_future_complete(pause, timeout_sec=_PERIOD)
    finally:
        is_over.set()
        watcher.join()
        executor.remove_node(node)
        executor.shutdown()
    return is_behind.is_set() and node.context.ok() and not should_stop()


def _spin_single_threaded(
    node: Node, should_stop: Callable[[], bool], until: float = math.inf
) -> None:
    from transmission_bridge.ros.attentive_executor import AttentiveExecutor

    executor = AttentiveExecutor(context=node.context)
    executor.add_node(node)
    # A limit costs a timer per wait; a request that can wake the executor needs none.
    limit = None if isinstance(should_stop, StopRequest) and until == math.inf else _PERIOD
    # Nothing may wake the executor once it is shut down.
    try:
        with _waking(should_stop, lambda: executor.create_task(lambda: None)):
            while node.context.ok() and not should_stop() and time.monotonic() < until:
                executor.spin_once(timeout_sec=limit)
    finally:
        executor.remove_node(node)
        executor.shutdown()


def _waking(
    should_stop: Callable[[], bool], wake: Callable[[], object]
) -> AbstractContextManager[None]:
    """Call ``wake`` when the request is made, if it is a :class:`StopRequest`."""
    return should_stop.listening(wake) if isinstance(should_stop, StopRequest) else nullcontext()


def run(
    make_node: Callable[[], NodeT],
    args: Sequence[str] | None = None,
    *,
    executor: str = 'auto',
    on_stop: Callable[[NodeT], object] | None = None,
) -> int:
    """
    Run a node as a process, from the start of rclpy to the exit code.

    SIGINT, SIGTERM and SIGHUP end it in order: the callbacks stop; ``on_stop`` is called while the
    context is still valid, so that the node can publish a last time; node and context are
    destroyed. Further signals change nothing. A SIGHUP that is ignored (``nohup``) stays ignored.
    Only for the main thread.

    :param make_node: Makes the node. Slow imports belong inside it, where signals are handled.
    :param args: Command line, ``sys.argv`` by default.
    :param executor: As in :func:`spin`.
    :param on_stop: Called with the node after its last callback, also if a callback raised.
    :returns: 0, or 1 if the node cannot be made because of a mistake of the user, which is then
        reported in a sentence.
    """
    _open_standard_streams()
    with stop_signals() as stop:
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
            rclpy.init(
                args=None if args is None else list(args),
                signal_handler_options=SignalHandlerOptions.NO,
            )
        except RuntimeError as error:
            # The base class of rclpy's own errors, which are private.
            print(f'wrong ROS arguments, or rclpy cannot start: {error}', file=sys.stderr)
            return 1
        try:
            try:
                node = make_node()
            except TransmissionBridgeError as error:
                rclpy.logging.get_logger('transmission_bridge').fatal(str(error))
                return 1
            try:
                spin(node, executor=executor, should_stop=stop)
            finally:
                try:
                    if on_stop is not None:
                        on_stop(node)
                finally:
                    node.destroy_node()
        finally:
            rclpy.try_shutdown()
    return 0


def _open_standard_streams() -> None:
    """
    Open the standard streams that the process was started without (``bridge_node 2>&-``).

    rclpy cannot start without standard error, and its log would go to any socket or file that got
    the descriptor later.
    """
    for name, descriptor, mode in (('stdin', 0, 'r'), ('stdout', 1, 'w'), ('stderr', 2, 'w')):
        try:
            os.fstat(descriptor)
        except OSError:
            # Takes the lowest free descriptor, which is this one: those below are open.
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115
