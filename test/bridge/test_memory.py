# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The memory for messages of one topic is bounded, whatever they contain."""

from contextlib import suppress
import gc
import tracemalloc

import pytest
from world import World

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
    'layouts of hundreds of names, and of one': [
        (known + tuple(f'{number}_{each}' for each in range(size)), '', (True, not known, False))
        for number in range(70)
        for size in (300, 1)
        for known in ((), KNOWN)
    ],
}


@pytest.mark.parametrize('path', ['states', 'commands'])
@pytest.mark.parametrize('flood', FLOODS)
def test_bounded(robot, flood, path):
    """4 MiB hold what is kept, and known names are still taken, also beside others."""
    reader, messages = JointStateReader(), [message(*each) for each in FLOODS[flood]]
    world = World(robot)
    states, plan = world.bridge.states, world.bridge.plan.state_map

    def take(data):
        view = reader.read_message(data)
        if path == 'states':
            states.merge_message(plan, 'driver', view.layout, view, (1, 0), world.now)
        else:
            world.gate.send_joint_command(view.layout, view, (1, 0), world.now)

    # Memory allocated once belongs to the robot.
    for name in ('winch', 'lift', 'nobody'):
        with suppress(MessageError):
            take(message((name,)))
    gc.collect()
    tracemalloc.start()
    try:
        for data in messages:
            with suppress(MessageError):
                take(data)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < MOST
    name = 'winch' if path == 'states' else 'lift'
    honest = JointStateWriter((name,), '', (True, False, False))
    honest.position[:] = 8.0
    take(honest.write_message(1, 0))
    if path == 'states':
        assert world.joints()['position']['lift'] == pytest.approx(8.0 / -4.0 + 0.3)
    else:
        assert len(world.sent) == 1
