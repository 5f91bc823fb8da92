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

from transmission_bridge.bridge.states import StatePath
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import JointStateReader, JointStateWriter

#: Bytes that are kept of a topic at most.
MOST = 4 << 20

#: A name of each side that the reference robot knows.
KNOWN = ('winch', 'lift')


def message(names, frame='', fields=(False, False, False)):
    """Return the bytes of a message."""
    return JointStateWriter(names, frame, fields).write_message(1, 0)


def thousands_of_names():
    """Send messages with thousands of new names."""
    for number in range(3):
        yield message(f'{number:x}{each:05x}' for each in range(20_000))
        yield message([*KNOWN, *(f'{number:x}{each:05x}' for each in range(20_000))])


def long_names():
    """Give names of a MiB, of characters of all widths."""
    for number in range(8):
        yield message([*KNOWN, f'{number}' + 'x' * 900_000])
        yield message([f'{number}' + 'x' * 900_000 + '\U0001f600'])


def long_frames():
    """Give frames that each are a form of their own."""
    for number in range(40):
        yield message(KNOWN, 'f' * (20_000 * number))


def many_layouts():
    """Give layouts of hundreds of names, and of one."""
    for number in range(70):
        for size in (300, 1):
            names = [f'{number}_{each}' for each in range(size)]
            yield message([*KNOWN, *names], fields=(True, True, False))
            yield message(names, fields=(True, False, True))


def one_name_often():
    """Give a name that stands there thousands of times."""
    for number in range(1, 6):
        yield message(KNOWN * (1000 * number))


floods = pytest.mark.parametrize(
    'flood', [thousands_of_names, long_names, long_frames, many_layouts, one_name_often]
)


@pytest.fixture(params=['states', 'commands'])
def take(request, robot):
    """Return what takes the messages of a topic."""
    nothing = np.full(len(robot.joint_names), np.nan)
    if request.param == 'states':
        states = StatePath(robot)

        def use(view):
            states.merge_message('driver', view.layout, view, (1, 0))

    else:
        commands = Commands(robot)

        def use(view):
            commands.command(view.layout, view, nothing, (1, 0))

    return use


@floods
def test_bounded(take, flood):
    """However many layouts came, with however many names, 4 MiB hold what is kept of them."""
    reader, messages = JointStateReader(), list(flood())
    # Memory allocated once belongs to the robot.
    for data in (message(KNOWN[:1]), message(KNOWN[1:]), message(['nobody'])):
        with suppress(MessageError):
            take(reader.read_message(data))
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


@floods
def test_known_names_are_still_taken(robot, reference, flood):
    """A message that is too large to be cached is used, and so is the next one."""
    states, reader = StatePath(robot), JointStateReader()
    index = robot.joint_names.index('lift')
    for number, data in enumerate(flood()):
        record = reader.read_message(data)
        with suppress(MessageError):
            states.merge_message('driver', record.layout, record, (1, 0))
        honest = reference.Message(('winch',), (float(number),)).record
        layout = reader.layouts.find_layout(honest.names, honest.lengths)
        states.merge_message('honest', layout, honest, (1, 0))
        expected = robot.actuator_to_joint(
            'position', [number if each == 'winch' else np.nan for each in robot.actuator_names]
        )
        assert states.find_joint_motion()[0][index] == expected[index]
