# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A signal ends a command wherever it comes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

#: The signal comes while a callback runs whose exceptions the interpreter ignores.
PROGRAM = """
import signal, weakref
from transmission_bridge.tools.cli import clean_end

signal.signal(signal.SIGINT, signal.default_int_handler)
with clean_end():
    referent = set()
    reference = weakref.ref(referent, lambda _: signal.raise_signal({number}))
    try:
        del referent
        while True: pass
    finally:
        print('cleaned up')
"""


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_within_a_callback_ends_the_process(number):
    """It counts when the callback has returned, and what was begun is cleaned up."""
    program = [sys.executable, '-c', PROGRAM.format(number=int(number))]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=50.0)
    assert (ended.returncode, ended.stdout) == (-number, 'cleaned up\n')
