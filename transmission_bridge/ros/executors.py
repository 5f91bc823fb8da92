# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
How a node of this package runs: its executor, and its process from start to exit code.

The events executor costs the least, so it is used where the distribution has it; else the default
one, in the form of :mod:`~transmission_bridge.ros.attentive_executor`. rclpy is imported inside
the functions: :func:`run` must handle signals before that slow import, or an early one would end
in a traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
import math
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, TypeVar

from transmission_bridge.errors import TransmissionBridgeError, UnknownNameError
from transmission_bridge.ros.memory import free_read_messages
from transmission_bridge.ros.stop_signals import stop_signals, StopRequest

if TYPE_CHECKING:
    from rclpy.node import Node

__all__ = ['available_executors', 'run', 'spin']

NodeT = TypeVar('NodeT', bound='Node')

#: Seconds after which the executors come up for air. The events executor must have a limit: with
#: none it waits until the end of the steady clock, which overflows in the manylinux wheels, so
#: that it spins at full load and delivers nothing.
_PERIOD = 1.0

#: How often the events executor is asked whether it keeps up, how long it may take to answer, how
#: long the other one relieves it, and how often that is said [s].
_LOOK, _LATE, _RELIEF, _SAID_AGAIN = 0.5, 1.0, 10.0, 60.0

_NO_ROS = (
    'rclpy is not installed: source a ROS 2 installation, or install the wheels with '
    "'pip install transmission_bridge[kilted]' (or [jazzy])"
)


def available_executors() -> tuple[str, ...]:
    """Return the names that :func:`spin` takes here, best first, ``auto`` left out."""
    try:
        from rclpy.experimental import EventsExecutor  # noqa: F401
    except ImportError:
        return ('single_threaded',)
    return ('events', 'single_threaded')


def spin(
    node: Node, *, executor: str = 'auto', should_stop: Callable[[], bool] | None = None
) -> None:
    """
    Run the callbacks of a node until its context is shut down or it is to stop.

    :param node: The node.
    :param executor: ``events``, ``single_threaded``, or ``auto``: the first of these that the
        distribution has.
    :param should_stop: Asked at least once a second. A :class:`StopRequest` takes effect at once.
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
    Run the events executor for as long as it keeps up.

    It keeps an event for each message that came, also for those that their queue has dropped, so
    that its memory grows for as long as messages come faster than they are handled (the same in
    C++: ros2/rclcpp#3213). The single-threaded executor asks for what there is: it takes over for
    a while then.
    """
    while _spin_while_keeping_up(node, should_stop):
        node.get_logger().warning(
            f'callbacks wait for more than {_LATE:g} s: messages come faster than they can be '
            f'handled; the single-threaded executor takes over for {_RELIEF:g} s, as it drops '
            'what it cannot handle: find out who floods which topic',
            throttle_duration_sec=_SAID_AGAIN,
        )
        _spin_single_threaded(node, should_stop, time.monotonic() + _RELIEF)


def _spin_while_keeping_up(node: Node, should_stop: Callable[[], bool]) -> bool:
    """Run the events executor; return whether it is behind rather than to stop."""
    from rclpy.experimental import EventsExecutor
    from rclpy.task import Future

    executor = EventsExecutor(context=node.context)
    executor.add_node(node)
    pause = Future()
    is_over, is_behind = threading.Event(), threading.Event()

    def watch() -> None:
        """Put a task behind what waits, again and again, and see how long it takes."""
        answered, asked = threading.Event(), time.monotonic()
        answered.set()
        while not is_over.wait(_LOOK):
            if answered.is_set():
                answered.clear()
                asked = time.monotonic()
                executor.create_task(answered.set)
            elif time.monotonic() - asked > _LATE:
                is_behind.set()
                pause.set_result(None)
                return

    watcher = threading.Thread(target=watch, name='keeps up', daemon=True)
    watcher.start()
    try:
        with _waking(should_stop, lambda: pause.set_result(None)):
            while node.context.ok():
                # A new one each time: the executor leaves a callback in it. Asked afterwards, so
                # that a request between the two is seen in one or the other.
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
    # A limit costs a timer per wait; who can wake the executor needs none.
    limit = None if isinstance(should_stop, StopRequest) and until == math.inf else _PERIOD
    # What would wake the executor is out of the way before it is gone.
    try:
        with _waking(should_stop, lambda: executor.create_task(lambda: None)):
            while node.context.ok() and not should_stop() and time.monotonic() < until:
                executor.spin_once(timeout_sec=limit)
    finally:
        executor.remove_node(node)
        executor.shutdown()


def _waking(should_stop: Callable[[], bool], wake: Callable[[], object]):
    """Have ``wake`` called when the request is made, if it is of the kind that can tell."""
    return should_stop.listening(wake) if isinstance(should_stop, StopRequest) else nullcontext()


def run(
    make_node: Callable[[], NodeT],
    args: Sequence[str] | None = None,
    *,
    executor: str = 'auto',
    on_stop: Callable[[NodeT], object] | None = None,
) -> int:
    """
    Run a node as a process, from rclpy's start to the exit code.

    SIGINT, SIGTERM and SIGHUP end it properly: the callbacks stop, ``on_stop`` is called while the
    context still is valid, so that the node can publish its last words, then node and context go.
    Further signals change nothing. A SIGHUP that is ignored (``nohup``) stays ignored. To be
    called in the main thread.

    :param make_node: Makes the node. Slow imports belong inside it, where a signal is handled.
    :param args: Command line, ``sys.argv`` by default.
    :param executor: As in :func:`spin`.
    :param on_stop: Called with the node after its last callback, also where one of them raised.
    :returns: 0, or 1 if the node could not be made for a reason that is the user's to mend; the
        reason is said in a sentence.
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
            # What rclpy raises of its own is private, and has no other base.
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
    Give the process the standard streams it was started without (``bridge_node 2>&-``).

    rclpy cannot start without standard error, and its log would go into whatever socket or file
    has got the descriptor by then.
    """
    for name, descriptor, mode in (('stdin', 0, 'r'), ('stdout', 1, 'w'), ('stderr', 2, 'w')):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest descriptor that is free, which is this one: those below it are open.
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115
