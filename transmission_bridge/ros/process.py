# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A node as a process: memory, signals, executor and exit code; and what rclpy lacks for it.

Each workaround names what it is for: an issue, and the versions of rclpy that need it. A test in
``test/ros/test_rclpy_faults.py`` shows the fault in plain rclpy, and fails when the workaround is
needed no more. No other module uses private names of rclpy. rclpy is imported inside functions:
:func:`run` must handle signals before that slow import, or an early one would end in a traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
import ctypes
import importlib.metadata
from inspect import Parameter, Signature
import math
import os
from pathlib import Path
import signal
import sys
import threading
import time
from typing import Any, TYPE_CHECKING, TypeVar

from transmission_bridge.errors import TransmissionBridgeError, UnknownNameError

if TYPE_CHECKING:
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node
    from rclpy.service import Service

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
# rclpy's handlers invalidate the context first, after which a node can no longer publish
# (ros2/rclpy#1287 and #532, all versions). Python handlers run between byte codes, which is too
# late: the events executor waits in C++. So the interpreter's C handler writes to a pipe, and a
# thread that sleeps on the pipe passes the request on.


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

    def request_stop(self) -> None:
        """Ask to stop. Asking again changes nothing."""
        with self._lock:
            if self._requested:
                return
            self._requested = True
            for listener in self._listeners:
                listener()

    @contextmanager
    def notify_in_block(self, listener: Callable[[], object]) -> Iterator[None]:
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

    def forward_signals() -> None:
        """Pass signals on until the other end of the pipe is closed."""
        while received := os.read(reader, 64):
            if any(number in SIGNALS for number in received):
                stop.request_stop()

    watcher = threading.Thread(target=forward_signals, name='stop', daemon=True)
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


# -- Executors -----------------------------------------------------------------------------------
#
# The events executor costs the least and is used where the distribution has it; else the default
# one, which attends to messages here.


NodeT = TypeVar('NodeT', bound='Node')

#: Longest wait of an executor [s]. Without a limit the events executor (ros2/rclpy#1391; the
#: manylinux wheels of 7.1 and 9.1) waits until the end of the steady clock, which overflows, so
#: that it spins at full load and delivers nothing.
_PERIOD = 1.0

#: Seconds for which everything but messages and timers may wait in the default executor.
_PATIENCE = 0.02

#: Period of the check whether the events executor keeps up, its longest delay, the time for which
#: the other one relieves it, and the period of the warning [s].
_CHECK, _LATE, _RELIEF, _SAID_AGAIN = 0.5, 1.0, 10.0, 60.0

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


def spin_node(node: Node, *, executor: str = 'auto', stop: StopRequest | None = None) -> None:
    """
    Run the callbacks of a node until its context is shut down or a stop is requested.

    The events executor keeps an event for each message, also for messages that their queue has
    dropped, so that its memory grows while messages come faster than they are handled
    (ros2/rclpy#1391, all versions; the same in C++: ros2/rclcpp#3213). The single-threaded
    executor, which has no such events, takes over for a while then.

    :param node: The node.
    :param executor: ``events``, ``single_threaded``, or ``auto``: the first of these that the
        distribution has.
    :param stop: Ends it at once, from any thread.
    :raises UnknownNameError: If there is no such executor here.
    """
    known = available_executors()
    name = known[0] if executor == 'auto' else executor
    if name not in known:
        raise UnknownNameError('executor', executor, ('auto', *known))
    from rclpy.executors import ExternalShutdownException

    stop = stop or StopRequest()
    with suppress(ExternalShutdownException):
        if name == 'events':
            from rclpy.experimental.events_executor import EventsExecutor

            while _ExecutorLoop(
                node, EventsExecutor(context=node.context), stop
            ).run_while_keeping_up():
                node.get_logger().warning(
                    f'callbacks wait for more than {_LATE:g} s: messages come faster than they '
                    'can be handled; the single-threaded executor takes over for '
                    f'{_RELIEF:g} s, as it drops what it cannot handle: find out whether '
                    'somebody floods a topic',
                    throttle_duration_sec=_SAID_AGAIN,
                )
                relief = _ExecutorLoop(node, make_attentive_executor(node.context), stop)
                relief.run(_PERIOD, time.monotonic() + _RELIEF)
        else:
            _ExecutorLoop(node, make_attentive_executor(node.context), stop).run()


def make_attentive_executor(context: Context | None = None) -> SingleThreadedExecutor:
    """
    Return an executor that waits only for messages and timers while messages flow.

    For each wait the default executor collects all entities anew (ros2/rclpy#1452, all versions).
    Most of them are services, and events of publishers and subscriptions: they are rare, and
    collecting them costs more than the work on a message. After a message they are left out for up
    to 20 ms; without messages never. Where rclpy does not call ``_wait_for_ready_callbacks``, it
    is rclpy's own executor.

    Each callback of rclpy wakes the executor when it is done, for the case that another thread
    waits without the entities that the callback had blocked. Here the same thread waits after the
    callback, so that it need not be woken (``Executor._guard``; without it the executor wakes once
    more for each callback); other threads still wake the executor.
    """
    from rclpy.executors import SingleThreadedExecutor, TimeoutException
    from rclpy.subscription import Subscription
    from rclpy.timer import Timer

    class AttentiveExecutor(SingleThreadedExecutor):
        is_flowing, is_all, look_at_all = False, True, 0.0
        handling: int | None = None

        def create_task(self, *args: Any, **kwargs: Any) -> Any:
            # The next wait may have collected its tasks already: the new one must wake it.
            self.handling = None
            return super().create_task(*args, **kwargs)

        def can_execute(self, entity: Any) -> bool:
            is_due = self.is_all or isinstance(entity, (Subscription, Timer))
            return is_due and super().can_execute(entity)

        def wait_for_ready_callbacks(self, *args: Any, **kwargs: Any) -> Any:
            self.handling = None
            ready = super().wait_for_ready_callbacks(*args, **kwargs)
            self.is_flowing = isinstance(ready[1], Subscription) or (
                self.is_flowing and isinstance(ready[1], Timer)
            )
            self.handling = threading.get_ident()
            return ready

        def _wait_for_ready_callbacks(
            self, timeout_sec: Any = None, *args: Any, **kwargs: Any
        ) -> Any:
            # rclpy calls this again only after all callbacks of the last wait were handed out. So
            # what a wait is for is decided here and not with each callback: a wait for everything
            # could otherwise always be due while callbacks are left, and never happen.
            wait = super()._wait_for_ready_callbacks
            # A number [s], or an object around it.
            limit = getattr(timeout_sec, 'timeout', timeout_sec)
            is_patient = limit is None or not 0.0 <= limit < _PATIENCE
            if self.is_flowing and is_patient and time.monotonic() <= self.look_at_all:
                self.is_all = False
                try:
                    yield from wait(_PATIENCE, *args, **kwargs)
                    return
                except TimeoutException:
                    self.is_flowing = False
                    if limit is not None and limit >= 0.0:
                        timeout_sec = limit - _PATIENCE
            self.is_all = True
            self.look_at_all = time.monotonic() + _PATIENCE
            yield from wait(timeout_sec, *args, **kwargs)

    executor = AttentiveExecutor(context=context)
    guard = getattr(executor, '_guard', None)
    wake = getattr(guard, 'trigger', None)
    if wake is not None:
        vars(guard)['trigger'] = lambda: executor.handling == threading.get_ident() or wake()
    return executor


class _ExecutorLoop:
    """An executor that runs the callbacks of a node."""

    def __init__(self, node: Node, executor: Any, stop: StopRequest) -> None:
        from rclpy.task import Future

        self._node, self._executor, self._stop = node, executor, stop
        self._over: Future[None] = Future()
        self._is_behind = False

    def run(self, period: float | None = None, until: float = math.inf) -> None:
        """
        Run callbacks until the context is shut down or a stop is requested.

        :param period: Longest wait [s]. A limit costs a timer for each wait.
        :param until: Time of the steady clock [s] at which it ends at the latest.
        """
        self._executor.add_node(self._node)
        # Nothing may wake the executor once it is shut down.
        try:
            with self._stop.notify_in_block(lambda: self._over.set_result(None)):
                if self._stop():  # before somebody listened
                    return
                while (
                    self._node.context.ok() and not self._over.done() and time.monotonic() < until
                ):
                    self._executor.spin_until_future_complete(self._over, timeout_sec=period)
        finally:
            self._executor.remove_node(self._node)
            self._executor.shutdown()

    def run_while_keeping_up(self) -> bool:
        """Run callbacks as :meth:`run`; return whether it ended because the executor is behind."""
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
        """Have a task tell how long it waited behind what came before it."""
        asked = time.monotonic()

        def answer() -> None:
            if time.monotonic() - asked > _LATE:
                # A single callback that takes long, as at the start, lets one task wait, not two.
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
                spin_node(node, executor=executor, stop=stop)
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

    The log of rclpy (all versions) would go to any socket or file that got the descriptor later.
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


# -- What rclpy lacks ----------------------------------------------------------------------------


def read_given_values(node: Node, names: Iterable[str] | None = None) -> dict[str, Any]:
    """
    Return the values that the node was given at its start, by the names of parameters.

    There is no public access to them (``Node._parameter_overrides``, ros2/rclpy#363, all
    versions). Where a later rclpy lacks it, each parameter is declared without a type and
    undeclared again, which others see as two more parameter events, and an empty list counts as
    not given; without names there are none then, and the bridge does not warn of names in the
    parameter file that match no parameter.

    :param names: Parameters not declared yet; by default all that the node was given.
    :returns: An empty list is ``None``, as rclpy reads it.
    """
    overrides = getattr(node, '_parameter_overrides', None)
    if overrides is not None:
        chosen = overrides if names is None else [name for name in names if name in overrides]
        return {name: overrides[name].value for name in chosen}
    from rcl_interfaces.msg import ParameterDescriptor

    found = {}
    for name in names or ():
        anything = ParameterDescriptor(dynamic_typing=True)
        value = node.declare_parameter(name, None, anything).value
        node.undeclare_parameter(name)
        if value is not None:
            found[name] = value
    return found


Serve = Callable[[Any, Any], Any]
Send = Callable[[Any, Any], None]


def intercept_service(
    service: Service[Any, Any], wrap: Callable[[Serve, Send], tuple[Serve, Send]]
) -> bool:
    """
    Wrap what serves a request and what sends its response.

    For services of rclpy that raise, which ends the executor: for a parameter of an unknown type
    (all versions), and for a transition that is not possible (ros2/rclpy#1209, before 8).
    Sets ``callback`` and ``send_response`` of the service. Where it has none, or does not let them
    be set, nothing changes and the result is ``False``: a request that rclpy raises for ends the
    node, of which the bridge warns when it starts.
    """
    serve, send = getattr(service, 'callback', None), getattr(service, 'send_response', None)
    if serve is None or send is None:
        return False
    serve, send = wrap(serve, send)
    try:
        vars(service).update(callback=serve, send_response=send)
    except TypeError:  # a class with slots has no dictionary
        return False
    return service.callback is serve and service.send_response is send


def request_sample_info(receive: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """
    Have rclpy pass information on the sample to the callback of a subscription.

    rclpy takes callbacks of two parameters for this, by their signature (ros2/rclpy#922), which is
    stated here: the events executor (ros2/rclpy#1391, up to 9.1) calls them with one, so that they
    need a default.
    """
    sample = Parameter('sample', Parameter.POSITIONAL_ONLY)
    info = Parameter('info', Parameter.POSITIONAL_ONLY)
    vars(receive)['__signature__'] = Signature([sample, info])
    return receive


def unpack_sample(data: Any, info: Any) -> tuple[bytes, Any]:
    """Return message and information; the events executor passes both as one tuple."""
    return data if isinstance(data, tuple) else (data, info)


def read_origin(info: Any) -> tuple[Hashable | None, float]:
    """
    Return the identity of a sample's writer, and its source time [s].

    Without identity (rclpy 7) the first is ``None``. Without a source time both are unknown,
    ``None`` and 0: commands are rejected for a while after each stall.
    """
    try:
        sent = info['source_timestamp'] * 1e-9
        gid = info.get('publisher_gid')
        return (gid['data'] if gid and sent else None), sent
    except (AttributeError, KeyError, TypeError):
        return None, 0.0
