# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Everything that was published, checked one message after the other against the reference model.

A generation is a set of parameters. Each message has to be what the model makes, under exactly one
generation that is not older than that of the message before, of the inputs up to it.
"""

from __future__ import annotations

from collections import Counter
import copy
from dataclasses import replace
import math
import time

# Loaded from its file, under this name, by whoever loads this one.
from bridge_reference import (
    ACTUATORS,
    FIELDS,
    joint_value,
    JOINTS,
    Message,
    Number,
    ReferenceCommands,
    ReferenceStates,
    Refused,
    stamp_that_counts,
)

#: Joints that pass through are equal under all parameters.
_SAME = {'finger'}

#: Seconds from the first message to its check, at most.
LONGEST = 1800


def as_message(record):
    """Return a heard record in the terms of the model."""
    arrays = {each: tuple(getattr(record, each).tolist()) for each in FIELDS}
    return Message(tuple(record.names), stamp=record.stamp, **arrays)


def agrees(expected, found):
    """Tell whether a message is the expected one."""
    try:
        expected.check(found)
    except AssertionError:
        return False
    return True


class Generations:
    """
    The sets of parameters that there were, and which one holds.

    :param numbers: All of them, in their order.
    """

    def __init__(self, numbers):
        self._numbers = numbers
        self.counts = [0] * len(numbers)
        self._present = 0

    @property
    def present(self):
        """The parameters of the last message."""
        return self._numbers[self._present]

    def settle(self, make, found):
        """
        Find the generation of what was found, and check that there is one only.

        :param make: Returns expected messages and a result, for numbers.
        :returns: The result under that generation.
        """
        fits = {}
        for number in range(self._present, len(self._numbers)):
            expected, result = make(self._numbers[number])
            if len(expected) == len(found) and all(map(agrees, expected, found)):
                fits[number] = result
        if not fits:  # say how it differs
            for one, other in zip(make(self.present)[0], found, strict=True):
                one.check(other)
        assert fits, found
        names = {name for each in found for name in each.names}
        assert len(fits) == 1 or names <= _SAME, (sorted(fits), found)
        self._present = min(fits)
        self.counts[self._present] += 1
        return fits[self._present]


def replay_states(injected, found, numbers):
    """
    Check joint states against every message that was injected: nothing wrong, nothing missing.

    :returns: How many messages each generation made.
    """
    generations = Generations(numbers)
    model = ReferenceStates(generations.present)
    rest = iter(found)
    for each in injected:
        if each.reason is not None:
            if not each.cut:
                refused = model.update('driver', each.message)
                assert refused.reasons == {each.reason}
            continue
        counts, _ = stamp_that_counts(each.message.stamp, time.time_ns())
        is_replaced = counts != each.message.stamp
        message = replace(each.message, stamp=(0, 0)) if is_replaced else each.message
        assert model.update('driver', message) is None
        if model.joint_state() is None:
            continue
        answer = next(rest, None)
        assert answer is not None, f'no answer to {each}'
        if is_replaced:  # by the time of receipt, as the system's clock tells it
            assert 0 <= counts[0] - answer.stamp[0] < LONGEST
            assert model.update('driver', replace(message, stamp=answer.stamp)) is None

        def make(numbers, model=model):
            model.numbers = numbers
            return [model.joint_state()], None

        generations.settle(make, [answer])
    assert next(rest, None) is None
    return generations.counts


def replay_commands(injected, found, numbers, actuators):
    """
    Check actuator commands against every message that was injected.

    :param actuators: Positions that the drivers report all along, by actuator.
    :returns: How many messages each generation made, and the model, for its counts.
    """
    generations = Generations(numbers)
    model = ReferenceCommands(generations.present, limits='clamp')
    done = 0
    for each in injected:
        if each.cut:
            continue

        def make(numbers, model=model, message=each.message):
            changed = copy.deepcopy(model)
            changed.tune(changes_between(changed.numbers, numbers))
            measured = {
                name: joint_value(numbers, 'position', name, actuators).value for name in JOINTS
            }
            return changed.command(message, measured), changed

        expected, changed = make(generations.present)
        if isinstance(expected, Refused):
            assert each.reason in expected.reasons
            continue
        assert each.reason is None
        answers = found[done : done + len(expected)]
        done += len(answers)
        assert len(answers) == len(expected), f'no answer to {each}'
        model = generations.settle(make, answers) if expected else changed
        for answer in answers:
            # Else rounding would add up in what is held from tuning to tuning.
            for name, value in zip(answer.names, answer.position, strict=False):
                model.sent[name]['position'] = Number(value, abs(value))
    assert done == len(found)
    return generations.counts, model


def changes_between(before, after):
    """Return what was tuned, as :meth:`Numbers.tuned` takes it."""
    return {
        (kind, name): value
        for kind in ('reduction', 'offset')
        for name, value in getattr(after, kind).items()
        if value != getattr(before, kind)[name]
    }


def replay_driver(heard, found, numbers, gaps):
    """
    Check joint states against what a driver was heard to publish.

    A bridge that begins, or begins anew, takes up at any message; so it may as often as there are
    gaps. Drivers must send whole messages then, and one that was not heard is of a drive at rest.

    :returns: Where in ``found`` it took up.
    """
    order = {each.stamp: place for place, each in enumerate(heard)}
    assert len(order) == len(heard)
    model, place, latest = None, None, 0
    begun = []
    for number, answer in enumerate(found):
        expected = None
        while place is not None and place < len(heard) and expected is None:
            if model.update('driver', as_message(heard[place])) is None:
                expected = model.joint_state()
            place += 1
        if expected is None or expected.stamp != answer.stamp:
            if place is not None or not begun:
                begun.append(number)
            place = order.get(answer.stamp)
            message = at_rest(answer.stamp)
            if place is not None:
                assert place >= latest, 'published twice'
                message = as_message(heard[place])
                place += 1
            model = ReferenceStates(numbers)
            assert model.update('driver', message) is None
            expected = model.joint_state()
        expected.check(answer)
        latest = latest if place is None else place
    assert len(begun) <= 1 + gaps, begun
    return begun


def at_rest(stamp):
    """Return what a simulated driver says before its first command."""
    zeros = (0.0,) * len(ACTUATORS)
    return Message(ACTUATORS, zeros, zeros, zeros, stamp)


def not_finite(injected):
    """Count the invalid numbers in accepted messages, by actuator and field."""
    return Counter(
        (name, each)
        for one in injected
        if one.reason is None
        for each, values in one.message.arrays.items()
        for name, value in zip(one.message.names, values, strict=False)
        if name in ACTUATORS and not math.isfinite(value)
    )
