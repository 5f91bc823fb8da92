# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""One behaviour for the whole suite."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

# Some tests run pytest on files of their own; colcon's options are for this run, not for those.
os.environ.pop('PYTEST_ADDOPTS', None)

# The same examples every time: a failure elsewhere is a failure here. No deadline: a busy machine
# is slow without being wrong.
settings.register_profile('suite', deadline=None, derandomize=True)
settings.load_profile('suite')

# A runner in the background ignores these, and every process that a test starts would inherit it.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)
