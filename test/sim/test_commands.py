# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Reading ``actuator_commands`` for a drive."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.sim.driver import Mode, read_command

NAMES = ('a', 'b', 'c')
NAN, INF = float('nan'), float('inf')


def message(names, position=(), velocity=(), effort=()):
    """Return a record with these arrays."""
    arrays = (np.array(values, dtype=float) for values in (position, velocity, effort))
    return JointStateRecord((0, 0), '', tuple(names), *arrays)


def told(command):
    """Return mode and target of each commanded actuator by name."""
    pairs = zip(NAMES, command.mode, command.target, strict=True)
    return {name: (mode, target) for name, mode, target in pairs if mode != Mode.NONE}


@pytest.mark.parametrize(
    ('field', 'mode'),
    [('position', Mode.POSITION), ('velocity', Mode.VELOCITY), ('effort', Mode.EFFORT)],
)
def test_names_decide_not_places(field, mode):
    """A value goes to the actuator named beside it, in any order and for any subset."""
    command = read_command(message(('c', 'a'), **{field: (3.0, 1.0)}), NAMES)
    assert told(command) == {'a': (mode, 1.0), 'c': (mode, 3.0)}


def test_first_of_position_velocity_effort_decides():
    """A hint beside a position is used if that is not finite, which is no command."""
    command = read_command(
        message(NAMES, (1.0, NAN, -INF), (4.0, 5.0, INF), (7.0, 8.0, 9.0)),
        NAMES,
    )
    assert told(command) == {
        'a': (Mode.POSITION, 1.0),
        'b': (Mode.VELOCITY, 5.0),
        'c': (Mode.EFFORT, 9.0),
    }


def test_actuators_of_other_drives_are_told_apart():
    """Unknown names are listed and cost nothing; names without a finite value are no command."""
    command = read_command(message(('x', 'b', 'y'), effort=(1.0, 2.0, 3.0)), NAMES)
    assert told(command) == {'b': (Mode.EFFORT, 2.0)}
    assert command.unknown == ('x', 'y')
    assert told(read_command(message(NAMES, (NAN, INF, -INF)), NAMES)) == {}
    assert told(read_command(message(NAMES), NAMES)) == {}


@pytest.mark.parametrize(
    ('names', 'values', 'reason', 'words'),
    [
        (NAMES, (1.0,), 'ragged', '{} values? for'),
        (NAMES, (1.0, 2.0, 3.0, 4.0), 'ragged', '{} values? for'),
        (('x', 'a', 'x'), (1.0, 2.0, 3.0), 'duplicate_name', ': x'),
    ],
)
@pytest.mark.parametrize('field', ['position', 'velocity', 'effort'])
def test_refused_whole(names, values, reason, words, field):
    """An array of another length than the names, or a repeated name, also if it is not ours."""
    arrays = {'position': (1.0, 2.0, 3.0), field: values}
    with pytest.raises(MessageError, match=words.format(field)) as caught:
        read_command(message(names, **arrays), NAMES)
    assert caught.value.reason == reason
