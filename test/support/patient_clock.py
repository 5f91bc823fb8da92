# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A clock for timeouts of the package that a busy machine does not let expire."""

import threading
import time

#: Longest time that counts between two readings [s].
LONGEST = 0.1


class PatientClock:
    """The steady clock, without most of the time for which a process or a thread stands still."""

    def __init__(self):
        self._lock = threading.Lock()
        self._now = self._read = time.monotonic()

    def __call__(self):
        """Return the time [s]."""
        with self._lock:
            read = time.monotonic()
            self._now += min(read - self._read, LONGEST)
            self._read = read
            return self._now

    def skip(self, seconds):
        """Let time pass."""
        with self._lock:
            self._now += seconds
