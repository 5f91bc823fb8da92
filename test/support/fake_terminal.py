# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A terminal as a text: what a user types, or what is shown."""

import io


class FakeTerminal(io.StringIO):
    """A stream of a terminal."""

    encoding = 'utf-8'

    def isatty(self):
        """Return that a person is there."""
        return True
