# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Signals as a request to stop."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from transmission_bridge.ros.process import SIGNALS, stop_signals, StopRequest

PATIENCE = 30.0


@pytest.fixture(autouse=True)
def _restored():
    """Give the tests' own process its handlers back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_request_is_made_once():
    """However often it is asked, a listener hears of it once."""
    stop, heard = StopRequest(), []
    assert not stop()
    with stop.notify_in_block(lambda: heard.append(True)):
        stop.request_stop()
        stop.request_stop()
    assert stop()
    assert heard == [True]


def test_listener_hears_nothing_after_its_block():
    """A listener is not called after its block."""
    stop, heard = StopRequest(), []
    with stop.notify_in_block(lambda: heard.append(True)):
        pass
    stop.request_stop()
    assert heard == []


@pytest.mark.parametrize('number', SIGNALS)
def test_signal_reaches_a_listener_while_the_main_thread_waits(number):
    """The request is made by a thread of its own, and no exception is raised in the main one."""
    heard = threading.Event()
    with stop_signals() as stop, stop.notify_in_block(heard.set):
        os.kill(os.getpid(), number)
        assert heard.wait(PATIENCE)
    assert stop()


def test_other_signals_do_not_stop():
    """A signal with another handler is not a request."""
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(True))
    heard = threading.Event()
    try:
        with stop_signals() as stop, stop.notify_in_block(heard.set):
            os.kill(os.getpid(), signal.SIGUSR1)
            assert not stop()
            os.kill(os.getpid(), signal.SIGTERM)
            assert heard.wait(PATIENCE)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [True]


def test_handlers_come_back_without_a_signal():
    """A block that saw no signal leaves handlers and wake-up descriptor as they were."""
    mine = {number: (lambda *_: None) for number in SIGNALS}
    for number, handler in mine.items():
        signal.signal(number, handler)
    with stop_signals():
        assert all(signal.getsignal(number) is not mine[number] for number in SIGNALS)
    assert {number: signal.getsignal(number) for number in SIGNALS} == mine
    assert signal.set_wakeup_fd(-1) == -1


def test_an_ignored_hangup_is_left_alone():
    """SIGHUP that was ignored stays ignored, and SIGINT does not: it is how nodes are stopped."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    heard = threading.Event()
    with stop_signals() as stop, stop.notify_in_block(heard.set):
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop()
        os.kill(os.getpid(), signal.SIGINT)
        assert heard.wait(PATIENCE)
    assert stop()


def test_signals_are_ignored_after_one_came():
    """After the block of a process that is to end, nothing can interrupt the rest."""
    with stop_signals() as stop:
        stop.request_stop()
    assert {signal.getsignal(number) for number in SIGNALS} == {signal.SIG_IGN}


def test_descriptors_and_threads_are_given_back():
    """Many blocks leave no open file and no thread behind."""

    def count():
        return len(os.listdir('/proc/self/fd')), threading.active_count()

    before = count()
    for _ in range(5):
        with stop_signals():
            pass
    assert count() == before


def test_other_threads_are_refused():
    """Outside the main thread it fails at once."""
    errors = []

    def attempt():
        try:
            with stop_signals():
                pass
        except ValueError as error:
            errors.append(str(error))

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join(PATIENCE)
    assert errors == ['signals can be handled in the main thread only']
