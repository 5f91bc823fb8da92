# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A signal ends a command wherever it comes, and is a request to stop for a node."""

from concurrent.futures import ThreadPoolExecutor
import os
import signal
import subprocess
import sys
import threading

import pytest

from transmission_bridge.signals import SIGNALS, stop_at_signals, StopRequest

#: The signal comes while a callback runs whose exceptions the interpreter ignores.
PROGRAM = """
import signal, weakref
from transmission_bridge.signals import end_by_signal

signal.signal(signal.SIGINT, signal.default_int_handler)
with end_by_signal():
    referent = set()
    reference = weakref.ref(referent, lambda _: signal.raise_signal({number}))
    try:
        del referent
        while True: pass
    finally:
        print('cleaned up')
"""


@pytest.mark.parametrize('number', SIGNALS)
def test_a_signal_within_a_callback_ends_the_process(number):
    """It counts when the callback has returned, and what was begun is cleaned up."""
    program = [sys.executable, '-c', PROGRAM.format(number=int(number))]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=50.0)
    assert (ended.returncode, ended.stdout) == (-number, 'cleaned up\n')


# -- signals as a request to stop -----------------------------------------------------------------


@pytest.fixture
def handlers():
    """Give the tests' own process its handlers back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_request_is_made_once():
    """However often it is made, a listener hears of it once, not after its block, but late."""
    stop, heard = StopRequest(), []
    with stop.notify_in_block(lambda: heard.append('late')):
        pass
    assert not stop()
    with stop.notify_in_block(lambda: heard.append(True)):
        stop.request_stop()
        stop.request_stop()
    assert stop()
    assert heard == [True]
    with stop.notify_in_block(lambda: heard.append('begun late')):
        assert heard == [True, 'begun late']


@pytest.mark.parametrize('number', SIGNALS)
@pytest.mark.parametrize('other', [signal.SIGUSR1, signal.SIGHUP])
def test_signal_reaches_a_listener_while_the_main_thread_waits(handlers, number, other):
    """By a thread of its own; one with another handler, or an ignored SIGHUP, is no request."""
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(True))
    if other == signal.SIGHUP:
        # Ignored SIGINT counts: it is how nodes are stopped.
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
    if number == other:
        number = signal.SIGINT
    heard = threading.Event()
    try:
        with stop_at_signals() as stop, stop.notify_in_block(heard.set):
            os.kill(os.getpid(), other)
            assert not stop()
            os.kill(os.getpid(), number)
            assert heard.wait(30.0)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert stop()
    assert seen == [True] * (other == signal.SIGUSR1)


def test_everything_comes_back_without_a_signal(handlers):
    """Blocks that saw none leave handlers, descriptors and threads as they were; else nothing."""

    def count():
        return len(os.listdir('/proc/self/fd')), threading.active_count()

    mine = {number: (lambda *_: None) for number in SIGNALS}
    for number, handler in mine.items():
        signal.signal(number, handler)
    before = count()
    for _ in range(5):
        with stop_at_signals():
            assert all(signal.getsignal(number) is not mine[number] for number in SIGNALS)
    assert {number: signal.getsignal(number) for number in SIGNALS} == mine
    assert signal.set_wakeup_fd(-1) == -1
    assert count() == before
    # After the block of a process that is to end, nothing can interrupt the rest.
    with stop_at_signals() as stop:
        stop.request_stop()
    assert {signal.getsignal(number) for number in SIGNALS} == {signal.SIG_IGN}


def test_other_threads_are_refused():
    """Outside the main thread it fails at once."""
    with ThreadPoolExecutor() as pool:
        future = pool.submit(stop_at_signals().__enter__)
        with pytest.raises(ValueError, match='main thread'):
            future.result(30.0)
