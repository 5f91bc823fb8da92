# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The command path as a machine that anything may happen to, in any order, against the model."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
import sys

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
    RuleBasedStateMachine,
    run_state_machine_as_test,
)
import numpy as np

from transmission_bridge.bridge.commands import CommandPath
from transmission_bridge.bridge.states import StatePath
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import LayoutTable
from transmission_bridge.transmissions import RobotTransmissions


def _load(name, file):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(file))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


reference = _load('bridge_reference', 'reference.py')
model = _load('bridge_command_model', 'command_model.py')

#: Seconds. Multiples of a quarter, so that sums of them are exact.
TIMEOUT = 1.0

ROBOT = RobotTransmissions(load_description(model.limited_urdf()))

#: The order of the plain arrays: a coupled pair, one of another, and one by itself.
ARRAY = ('pitch', 'roll', 'elbow', 'lift')

#: Joints of one command: mostly of coupled transmissions, whole and in part.
CHOICES = (
    *(('roll',), ('pitch',), ('roll', 'pitch'), ('pitch', 'lift')),
    *(('shoulder',), ('elbow',), ('elbow', 'shoulder')),
    *(('lift',), ('finger', 'lift'), ('lift', 'shoulder', 'elbow', 'pitch', 'roll', 'finger')),
)
MODES = (
    *(('position',), ('velocity',), ('effort',)),
    *(('position',), ('velocity',), ('position', 'velocity')),
)

#: Some are beyond the limits.
NUMBERS = st.sampled_from([0.5, -0.75, 0.25, -0.5, 1.25, 40.0, -40.0, 0.0])
SOURCES = st.sampled_from(['joint_commands', 'planner'])
STAMPS = st.tuples(st.integers(1, 5), st.integers(0, 3))


@st.composite
def plain_commands(draw):
    """Draw a command that is accepted unless something stands against it."""
    names = draw(st.sampled_from(CHOICES))
    arrays = {each: tuple(draw(NUMBERS) for _ in names) for each in draw(st.sampled_from(MODES))}
    return reference.Message(names, stamp=draw(STAMPS), **arrays)


@st.composite
def mixed_commands(draw):
    """Draw a command in which each joint has its modes, and numbers are missing."""
    names = draw(st.sampled_from(CHOICES))
    holes = st.sampled_from([0.5, -0.25, 1.0, math.nan, math.nan])
    arrays = {each: tuple(draw(holes) for _ in names) for each in ('position', 'velocity')}
    return reference.Message(names, stamp=draw(STAMPS), **arrays)


@st.composite
def whole_states(draw):
    """Draw a state that makes every joint known."""
    values = tuple(draw(st.floats(-5.0, 5.0)) for _ in reference.ACTUATORS)
    return reference.Message(reference.ACTUATORS, position=values, stamp=draw(STAMPS))


ANY_COMMANDS = st.one_of(
    mixed_commands(),
    reference.strategies.messages(reference.COMMANDABLE, ('dial', 'stranger')),
)
ANY_STATES = st.one_of(whole_states(), reference.strategies.messages(reference.ACTUATORS))
ARRAYS = st.one_of(
    *2 * [st.tuples(*len(ARRAY) * [NUMBERS])],
    st.sampled_from([(0.5, 0.5, 0.5), (0.5, math.nan, 0.5, 0.5), (0.5, 0.5, 0.5, math.inf)]),
)


def outcome(act):
    """Return what an action returns and ``None``, or ``None`` and why it was refused."""
    try:
        return act(), None
    except MessageError as error:
        return None, error.reason


class CommandMachine(RuleBasedStateMachine):
    """Both paths and both models, fed alike and compared after every step."""

    @initialize(
        message=whole_states(),
        limits=st.sampled_from(['clamp', 'clamp', 'reject', 'off']),
        mixed=st.sampled_from(['split', 'nan', 'reject']),
        partial=st.sampled_from(['hold', 'hold', 'hold', 'reject']),
        timeout=st.sampled_from([TIMEOUT, TIMEOUT, 0.0]),
        state_timeout=st.sampled_from([2 * TIMEOUT, 0.0]),
        zero_effort=st.booleans(),
    )
    def configure(self, message, limits, mixed, partial, timeout, state_timeout, zero_effort):
        """Make a bridge with options, to which every joint is known."""
        options = {
            'limits': limits,
            'mixed_commands': mixed,
            'partial_commands': partial,
            'timeout': timeout,
            'zero_effort': zero_effort,
        }
        self.robot = ROBOT
        self.now = 100.0
        self.layouts = LayoutTable()
        self.states = StatePath(self.robot, timeout=state_timeout, stamp_hold=reference.STAMP_HOLD)
        self.commands = CommandPath(self.robot, **options)
        numbers = reference.Numbers()
        self.model_states = model.TimedStates(numbers, state_timeout)
        self.model = model.TimedCommands(numbers, **options)
        self.state('one', message)

    # -- what happens ----------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.25, 1.0, 1.25, 3.0]))
    def wait(self, seconds):
        """Let time pass."""
        self.now += seconds

    @rule(seconds=st.sampled_from([0.25, 50.0]))
    def turn_back(self, seconds):
        """Let time jump back."""
        self.now -= seconds

    @rule(changes=reference.strategies.changes())
    def tune(self, changes):
        """Exchange the maps."""
        self.robot = self.robot.with_parameters(reference.nested(changes))
        self.states.use(self.robot)
        self.commands.use(self.robot)
        self.model.numbers = self.model.numbers.tuned(changes)
        self.model_states.numbers = self.model.numbers

    @rule(source=st.sampled_from(['one', 'two']), message=ANY_STATES)
    def state(self, source, message):
        """Hear a driver."""
        refused = self.model_states.take(source, message, self.now)
        layout = self.layouts.get(message.names, message.lengths)
        _, reason = outcome(
            lambda: self.states.update(source, layout, message.received, message.stamp, self.now)
        )
        assert reason in (refused.reasons if refused else {None})

    @rule(source=SOURCES, message=plain_commands())
    def command(self, source, message):
        """Command some joints."""
        self.send(source, message)

    @rule(source=SOURCES, message=plain_commands())
    def command_and_wait(self, source, message):
        """Command some joints, and let half of the timeout pass."""
        self.send(source, message)
        self.now += TIMEOUT / 2

    @rule(
        source=SOURCES,
        pair=st.sampled_from([joints for _, joints in reference.COUPLED]),
        mode=st.sampled_from(reference.FIELDS),
        values=st.lists(NUMBERS, min_size=2, max_size=5),
        backwards=st.booleans(),
    )
    def command_one_of_a_pair(self, source, pair, mode, values, backwards):
        """Command a pair once, then one of it alone, while time passes and is looked at."""
        names = pair[::-1] if backwards else pair
        self.send(source, reference.Message(names, **{mode: (values[0],) * 2}))
        for value in values[1:]:
            self.now += TIMEOUT / 2
            self.send(source, reference.Message(names[:1], **{mode: (value,)}))
            self.expire_now((1, 0))
        self.now += 0.75 * TIMEOUT
        self.expire_now((1, 0))

    @rule(source=SOURCES, message=ANY_COMMANDS)
    def command_anything(self, source, message):
        """Command what nobody should."""
        self.send(source, message)

    def send(self, source, message):
        """Command and compare."""
        measured = self.measured()
        layout = self.layouts.get(message.names, message.lengths)
        self.compare(
            self.model.take(message, self.known(measured), source, self.now),
            lambda: self.commands.command(
                layout, message.received, measured, message.stamp, source=source, now=self.now
            ),
        )

    @rule(
        interface=st.sampled_from(reference.FIELDS),
        values=ARRAYS,
        stamp=STAMPS,
    )
    def command_array(self, interface, values, stamp):
        """Command joints by a plain array."""
        measured = self.measured()
        source = f'{interface}_commands'
        self.compare(
            self.model.array(
                interface, ARRAY, values, stamp, self.known(measured), source, self.now
            ),
            lambda: self.commands.command_interface(
                interface, ARRAY, np.array(values), measured, stamp, source=source, now=self.now
            ),
        )

    @rule(stamp=STAMPS, seconds=st.sampled_from([0.0, 0.25, 0.75]))
    def expire(self, stamp, seconds):
        """Look for commands that are too old, as the timer does."""
        self.now += seconds
        self.expire_now(stamp)

    def expire_now(self, stamp):
        """Look and compare."""
        measured = self.measured()
        self.compare(
            self.model.expire(stamp, self.now),
            lambda: self.commands.expire(measured, stamp, self.now),
        )

    @precondition(lambda self: self.model.received or any(self.model.held.values()))
    @rule(stamp=STAMPS, forget=st.booleans())
    def stop(self, stamp, forget):
        """Fall silent, and perhaps begin anew."""
        self.compare(self.model.stop(stamp), lambda: self.commands.stop(stamp))
        if forget:
            self.states.reset()
            self.model_states.forget()

    # -- what must hold --------------------------------------------------------------------------

    def measured(self):
        """Return the path's joint positions, having compared them with the model's."""
        self.model_states.now = self.now
        found = self.states.joint_position(self.now)
        positions = self.model_states.actuators('position')
        for name, value in zip(reference.JOINTS, found, strict=True):
            assert reference.joint_value(self.model.numbers, 'position', name, positions).equals(
                value
            ), name
        return found

    def known(self, measured):
        """Return positions as the model takes them."""
        return {
            name: None if math.isnan(value) else value
            for name, value in zip(reference.JOINTS, measured.tolist(), strict=True)
        }

    def compare(self, expected, act):
        """Compare what comes of an action with what the model says."""
        found, reason = outcome(act)
        if isinstance(expected, reference.Refused):
            assert reason in expected.reasons
            return
        assert reason is None
        assert len(found) == len(expected)
        for one, other in zip(expected, found, strict=True):
            one.check(other)

    @invariant()
    def published_state(self):
        """What would be published now is what the model would publish."""
        self.model_states.now = self.now
        expected, found = self.model_states.joint_state(), self.states.joint_state(self.now)
        assert (found is None) == (expected is None)
        if expected is not None:
            expected.check(found)

    @invariant()
    def held_commands(self):
        """What is held is what the model holds."""
        held = self.commands.held
        for place, name in enumerate(reference.JOINTS):
            for row, each in enumerate(reference.FIELDS):
                value = self.model.held.get(name, {}).get(each, math.nan)
                assert held[row, place] == value or math.isnan(held[row, place] + value)

    @invariant()
    def counts(self):
        """What is counted is what the model counts, in all and by source."""
        for expected, total, kind in (
            (self.model.clamped, self.commands.limits.clamped, 'clamped'),
            (self.model.limited, self.commands.limits.rejected, 'limited'),
            (self.model.contested, self.commands.contested, 'contested'),
        ):
            by_source = {
                (source, name): count
                for source, counts in self.commands.counts.items()
                for name, count in getattr(counts, kind).items()
            }
            assert by_source == expected
            for name in reference.JOINTS:
                assert total[name] == sum(
                    count for (_, joint), count in expected.items() if joint == name
                )


def test_any_sequence():
    """Whatever happens in whatever order, all that is sent, held and counted is the model's."""
    run_state_machine_as_test(
        CommandMachine,
        settings=settings(
            max_examples=150, stateful_step_count=25, deadline=None, derandomize=True
        ),
    )
