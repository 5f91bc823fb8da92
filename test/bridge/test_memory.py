# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The memory for messages of one topic is bounded, whatever they contain."""

from __future__ import annotations

from contextlib import suppress
import gc
import tracemalloc

from command_paths import Commands
import numpy as np
import pytest
from state_paths import StatePath

from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import JointStateReader, JointStateWriter

#: Bytes that are kept of a topic at most.
MOST = 4 << 20

#: A name of each side that the reference robot knows.
KNOWN = ('winch', 'lift')


def message(names, frame='', fields=(False, False, False)):
    """Return the bytes of a message."""
    return JointStateWriter(names, frame, fields).write_message(1, 0)


#: Names and more of each message.
FLOODS = {
    'thousands of names': [
        (known + tuple(f'{number:x}{each:05x}' for each in range(20_000)),)
        for number in range(3)
        for known in ((), KNOWN)
    ],
    'names of a MiB, of characters of all widths': [
        (names,)
        for number in range(8)
        for long in [f'{number}' + 'x' * 900_000]
        for names in ((*KNOWN, long), (f'{long}\U0001f600',))
    ],
    'frames that each are a form of their own': [
        (KNOWN, 'f' * (20_000 * number)) for number in range(40)
    ],
    'layouts of hundreds of names, and of one': [
        (known + tuple(f'{number}_{each}' for each in range(size)), '', (True, not known, False))
        for number in range(70)
        for size in (300, 1)
        for known in ((), KNOWN)
    ],
    'names that stand there thousands of times': [
        (KNOWN * (1000 * number),) for number in range(1, 6)
    ],
}


@pytest.mark.parametrize('path', ['states', 'commands'])
@pytest.mark.parametrize('flood', FLOODS)
def test_bounded(robot, reference, flood, path):
    """4 MiB hold what is kept, and known names are still taken, also beside others."""
    reader, messages = JointStateReader(), [message(*each) for each in FLOODS[flood]]
    states, commands = StatePath(robot), Commands(robot)
    unknown = np.full(len(robot.joint_names), np.nan)

    def take(view):
        if path == 'states':
            states.merge_message('driver', view.layout, view, (1, 0))
        else:
            commands.command(view.layout, view, unknown, (1, 0))

    # Memory allocated once belongs to the robot.
    for name in ('winch', 'lift', 'nobody'):
        with suppress(MessageError):
            take(reader.read_message(message((name,))))
    gc.collect()
    tracemalloc.start()
    try:
        for data in messages:
            with suppress(MessageError):
                take(reader.read_message(data))
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < MOST
    honest = reference.Message(('winch',) if path == 'states' else ('lift',), (8.0,)).record
    layout = reader.layouts.find_layout(honest.names, honest.lengths)
    if path == 'states':
        states.merge_message('honest', layout, honest, (1, 0))
        found = states.find_joint_motion()[0][robot.joint_names.index('lift')]
        assert found == pytest.approx(8.0 / -4.0 + 0.3)
    else:
        assert commands.command(layout, honest, unknown, (1, 0))
