# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Messages for state paths."""

import pytest

from transmission_bridge.messages.joint_state import LayoutTable


@pytest.fixture(scope='session')
def feed():
    """Return a function that sends a state path a message (of the reference, or a record)."""
    layouts = LayoutTable()

    def send(path, message, source='driver', now=0.0):
        layout = layouts.find_layout(message.names, message.lengths)
        path.merge_message(
            source, layout, getattr(message, 'received', message), message.stamp, now
        )

    return send
