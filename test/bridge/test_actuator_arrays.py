# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Plain arrays of actuator commands: complete or not at all."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.bridge.command_plan import actuator_messages
from transmission_bridge.bridge.outputs import ActuatorArrays, check_order
from transmission_bridge.errors import ParameterError
from transmission_bridge.transmissions.interfaces import FIELDS

NAMES = ('a', 'b', 'c')
ORDER = ('c', 'a')

values = st.one_of(st.just(math.nan), st.just(0.0), st.floats(-10.0, 10.0))
commands = st.lists(values, min_size=9, max_size=9).map(lambda each: np.reshape(each, (3, 3)))


def messages(command, merged=False):
    """Return the messages that a command is sent as."""
    return actuator_messages(NAMES, np.array(command, dtype=float), (1, 0), merged=merged)


@given(st.lists(commands, max_size=6), st.booleans())
def test_never_incomplete_never_invented(sequence, merged):
    """
    An array is sent for a mode in the command, when each actuator is in that mode by now.

    Or when the mode is a rate that the command ends, and an array said it before.
    """
    arrays = ActuatorArrays(ORDER)
    last = {name: {} for name in ORDER}  # by actuator, the fields of its newest command
    said = {}  # by field, the newest array
    for command in sequence:
        expected = []
        for name in ORDER:
            fields = {
                field: command[row, NAMES.index(name)]
                for row, field in enumerate(FIELDS)
                if not math.isnan(command[row, NAMES.index(name)])
            }
            if fields:
                last[name] = fields
        for row, field in enumerate(FIELDS):
            given = [command[row, NAMES.index(name)] for name in ORDER]
            given = [value for value in given if not math.isnan(value)]
            ends = field in said and field != 'position' and all(value == 0.0 for value in given)
            if given and (ends or all(field in last[name] for name in ORDER)):
                rest = {'velocity': [0.0] * len(ORDER)}.get(field, said.get(field))
                said[field] = [last[n].get(field, rest and rest[k]) for k, n in enumerate(ORDER)]
                expected.append((field, said[field]))
        found = arrays.update(messages(command, merged))
        assert [(field, array.tolist()) for field, array in found] == expected


def test_mode_changes():
    """An actuator that went to another mode has no value of the old one any more."""
    arrays = ActuatorArrays(ORDER)
    nan = math.nan
    assert len(arrays.update(messages([[nan] * 3, [1.0, 2.0, 3.0], [nan] * 3]))) == 1
    assert arrays.update(messages([[1.0, nan, nan], [nan] * 3, [nan] * 3])) == []
    assert arrays.update(messages([[nan] * 3, [nan, nan, 4.0], [nan] * 3])) == []


def test_after_a_trajectory():
    """A trajectory's end is the actuator's last position, and none if it does not tell."""
    arrays = ActuatorArrays(ORDER)
    arrays.end_at(('a', 'b'), np.array([5.0, 6.0]))
    command = messages([[math.nan, math.nan, 1.0], [math.nan] * 3, [math.nan] * 3])
    ((field, array),) = arrays.update(command)
    assert (field, array.tolist()) == ('position', [1.0, 5.0])
    arrays.end_at(('a',), np.empty(0))
    assert arrays.update(command) == []


def test_during_a_trajectory():
    """While a trajectory moves one of its actuators there is no array of positions to jump to."""
    nan, nothing = math.nan, [math.nan] * 3
    arrays = ActuatorArrays(ORDER)
    command = messages([[nan, nan, 1.0], nothing, nothing])
    arrays.end_at(('a', 'b'), np.array([5.0, 6.0]), now=1.0, until=3.0)
    assert arrays.update(command, 2.5) == []
    ((_, array),) = arrays.update(command, 3.0)
    assert array.tolist() == [1.0, 5.0]
    arrays.end_at(('a', 'b'), np.array([7.0, 6.0]), now=4.0, until=8.0)
    ((_, array),) = arrays.update(messages([[2.0, nan, nan], nothing, nothing]), 5.0)
    assert array.tolist() == [1.0, 2.0]
    arrays.end_at(('a',), np.array([7.0]), now=5.0, until=8.0)
    ((field, array),) = arrays.update(messages([nothing, [3.0, nan, 4.0], nothing]), 6.0)
    assert (field, array.tolist()) == ('velocity', [4.0, 3.0])


def test_end_of_rates():
    """What ends rates reaches those who hear arrays, though others have another mode by now."""
    nan, nothing = math.nan, [math.nan] * 3
    for row, rest in ((1, 0.0), (2, 5.0)):
        arrays = ActuatorArrays(ORDER)

        def send(position, rate, row=row, arrays=arrays):
            values = [position, nothing, nothing]
            values[row] = rate
            return [(field, array.tolist()) for field, array in arrays.update(messages(values))]

        field = FIELDS[row]
        # Where no array has said a rate there is none to end.
        assert send(nothing, [0.0, nan, nan]) == []
        assert send(nothing, [5.0, nan, 7.0]) == [(field, [7.0, 5.0])]
        assert send([1.0, nan, nan], nothing) == []
        assert send(nothing, [nan, nan, 6.0]) == []
        assert send(nothing, [nan, nan, 0.0]) == [(field, [0.0, rest])]


def test_time_going_backwards():
    """Positions from before it are over; rates go on until a message ends them."""
    nan, nothing = math.nan, [math.nan] * 3
    arrays = ActuatorArrays(ORDER)
    (one_and_two,) = arrays.update(messages([[1.0, nan, 2.0], nothing, nothing]), 100.0)
    assert one_and_two[0] == 'position'
    assert arrays.update(messages([[3.0, nan, nan], nothing, nothing]), 50.0) == []
    arrays.end_at(('c',), np.array([5.0]), now=51.0, until=90.0)
    assert arrays.update(messages([[3.0, nan, nan], nothing, nothing]), 40.0) == []
    assert len(arrays.update(messages([nothing, [3.0, nan, 4.0], nothing]), 41.0)) == 1
    ((_, array),) = arrays.update(messages([nothing, [0.0, nan, nan], nothing]), 30.0)
    assert array.tolist() == [4.0, 0.0]


def test_reset():
    """After a reset nothing is known."""
    arrays = ActuatorArrays(ORDER)
    arrays.end_at(ORDER, np.array([5.0, 6.0]))
    arrays.reset()
    assert arrays.update(messages([[1.0, 1.0, math.nan], [math.nan] * 3, [math.nan] * 3])) == []


def test_results_are_copies():
    """What was returned does not change with the next command."""
    arrays = ActuatorArrays(('a',))
    nothing = [math.nan] * 3
    ((_, first),) = arrays.update(messages([[1.0, math.nan, math.nan], nothing, nothing]))
    arrays.update(messages([[2.0, math.nan, math.nan], nothing, nothing]))
    assert first.tolist() == [1.0]


def test_order_is_checked():
    """Names must be known and stand there once; the sentence says which does not."""
    check_order('command_joints', ['a', 'b'], NAMES, 'a joint')
    check_order('command_joints', [], NAMES, 'a joint')
    with pytest.raises(ParameterError, match=r"'d' is not a joint.*expected .*a, b"):
        check_order('command_joints', ['a', 'd'], NAMES, 'a joint')
    with pytest.raises(ParameterError, match="'a' is repeated"):
        check_order('command_joints', ['a', 'b', 'a'], NAMES, 'a joint')
