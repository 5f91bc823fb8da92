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
NAN = float('nan')


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


@pytest.mark.parametrize('nothing', [NAN, float('inf'), -float('inf')])
def test_value_that_is_not_finite_is_no_command(nothing):
    """NaN and infinities leave their actuator alone and the others as told."""
    command = read_command(message(NAMES, velocity=(1.0, nothing, 3.0)), NAMES)
    assert told(command) == {'a': (Mode.VELOCITY, 1.0), 'c': (Mode.VELOCITY, 3.0)}


def test_first_of_position_velocity_effort_decides():
    """A velocity or effort beside a position is a hint, and is used if there is no position."""
    command = read_command(
        message(NAMES, position=(1.0, NAN, NAN), velocity=(4.0, 5.0, NAN), effort=(7.0, 8.0, 9.0)),
        NAMES,
    )
    assert told(command) == {
        'a': (Mode.POSITION, 1.0),
        'b': (Mode.VELOCITY, 5.0),
        'c': (Mode.EFFORT, 9.0),
    }


def test_actuators_of_other_drives_are_told_apart():
    """Unknown names are listed and cost nothing."""
    command = read_command(message(('x', 'b', 'y'), effort=(1.0, 2.0, 3.0)), NAMES)
    assert told(command) == {'b': (Mode.EFFORT, 2.0)}
    assert command.unknown == ('x', 'y')


def test_message_without_values_commands_nothing():
    """Names alone are no command."""
    assert told(read_command(message(NAMES), NAMES)) == {}


@pytest.mark.parametrize('field', ['position', 'velocity', 'effort'])
@pytest.mark.parametrize('values', [(1.0,), (1.0, 2.0, 3.0, 4.0)])
def test_ragged_message_is_refused_whole(field, values):
    """An array of another length than the names refuses the message, naming the array."""
    arrays = {'position': (1.0, 2.0, 3.0), field: values}
    with pytest.raises(MessageError, match=f'{field} values? for') as caught:
        read_command(message(NAMES, **arrays), NAMES)
    assert caught.value.reason == 'ragged'


def test_doubled_name_is_refused_whole():
    """A repeated name rejects the message, also if it is not ours."""
    with pytest.raises(MessageError, match=': x') as caught:
        read_command(message(('x', 'a', 'x'), position=(1.0, 2.0, 3.0)), NAMES)
    assert caught.value.reason == 'duplicate_name'
