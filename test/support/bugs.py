# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A bug that a test puts somewhere."""

BUG = 'a bug put here by the test'


def put_bug(*args, **kwargs):
    """Raise an unexpected error."""
    raise ZeroDivisionError(BUG)
