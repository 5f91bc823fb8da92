# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The one way of the tests to wait for a fact."""

from __future__ import annotations

import time

import pytest

#: Longest wait for anything that is bound to happen [s].
PATIENCE = 180.0


def wait(fact, what, meanwhile=lambda: time.sleep(0.01), report=lambda: ''):
    """
    Return what ``fact`` returns as soon as that is true.

    :param what: The fact in words.
    :param meanwhile: What happens between two looks; it has to return soon.
    :param report: Returns what to report if the fact does not come.
    """
    deadline = time.monotonic() + PATIENCE
    while not (result := fact()):
        if time.monotonic() > deadline:
            pytest.fail(f'{what} did not happen within {PATIENCE} s\n\n{report()}')
        meanwhile()
    return result
