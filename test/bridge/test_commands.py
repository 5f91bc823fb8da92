# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The command path against the reference model: by example, and whatever may happen to it."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
import sys

from command_paths import Commands
from hypothesis import given, settings
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
import pytest
from state_paths import state_path

from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import LayoutTable
from transmission_bridge.transmissions import RobotTransmissions


def _reference():
    """Return the module of the fixture, which rules need before there are fixtures."""
    name = 'bridge_reference'
    if name not in sys.modules:
        path = Path(__file__).with_name('reference.py')
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


reference = _reference()

ROBOT = RobotTransmissions(load_description(reference.URDF))
LIMITED = RobotTransmissions(load_description(reference.limited_urdf()))

#: Seconds. Multiples of a quarter, so that sums of them are exact.
TIMEOUT = 1.0

#: The order of the plain arrays: a coupled pair, one of another pair, and a single joint.
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


class Bridge:
    """
    Both paths and both reference models, fed alike and compared after every message.

    :param state_timeout: That of the state path.
    :param options: Those of the command path.
    :ivar now: The time [s].
    """

    def __init__(self, robot=ROBOT, state_timeout=0.0, **options):
        self.robot = robot
        self.now = 100.0
        self.states = state_path(robot, timeout=state_timeout, stamp_hold=reference.STAMP_HOLD)
        self.commands = Commands(robot, **options)
        numbers = reference.Numbers()
        self.model_states = reference.ReferenceStates(numbers, timeout=state_timeout)
        self.model = reference.ReferenceCommands(numbers, **options)
        self.layouts = LayoutTable()

    def state(self, source, message):
        """Hear a driver."""
        refused = self.model_states.update(source, message, self.now)
        layout = self.layouts.find_layout(message.names, message.lengths)
        _, reason = outcome(
            lambda: self.states.merge_message(
                source, layout, message.received, message.stamp, self.now
            )
        )
        assert reason in (refused.reasons if refused else {None})

    def tune(self, changes):
        """Exchange the maps."""
        self.robot = self.robot.with_parameters(reference.nested(changes))
        self.states.replace_maps(self.robot)
        self.commands.use(self.robot)
        self.model.tune(changes)
        self.model_states.numbers = self.model.numbers

    def command(self, message, source='joint_commands'):
        """Command joints; return what is sent, or the reason of the refusal."""
        measured = self.measured()
        layout = self.layouts.find_layout(message.names, message.lengths)
        return self.compare(
            self.model.command(message, self.known(measured), source, self.now),
            lambda: self.commands.command(
                layout, message.received, measured, message.stamp, source=source, now=self.now
            ),
        )

    def array(self, interface, names, values, stamp):
        """Command joints by a plain array."""
        measured = self.measured()
        source = f'{interface}_commands'
        self.compare(
            self.model.array(
                interface, names, values, stamp, self.known(measured), source, self.now
            ),
            lambda: self.commands.command_interface(
                interface, names, np.array(values), measured, stamp, source=source, now=self.now
            ),
        )

    def expire(self, stamp=(1, 0)):
        """Look for commands that are too old, as the timer does."""
        measured = self.measured()
        self.compare(
            self.model.expire(stamp, self.known(measured), self.now),
            lambda: self.commands.expire(measured, stamp, self.now),
        )

    def stop(self, stamp=(9, 9)):
        """Fall silent; return what is sent before."""
        return self.compare(self.model.stop(stamp), lambda: self.commands.stop(stamp))

    def measured(self):
        """Return the path's joint positions, having compared them with the model's."""
        self.model_states.now = self.now
        found = self.states.find_joint_motion(self.now)[0]
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
        """Compare what comes of an action with what the model says; return it."""
        found, reason = outcome(act)
        if isinstance(expected, reference.Refused):
            assert reason in expected.reasons
            return reason
        assert reason is None
        assert len(found) == len(expected)
        for one, other in zip(expected, found, strict=True):
            one.check(other)
        return found


class CommandMachine(RuleBasedStateMachine):
    """A bridge that anything may happen to, in any order."""

    @initialize(
        message=whole_states(),
        state_timeout=st.sampled_from([2 * TIMEOUT, 0.0]),
        options=st.fixed_dictionaries(
            {
                'limits': st.sampled_from(['clamp', 'clamp', 'reject', 'off']),
                'mixed_commands': st.sampled_from(['split', 'nan', 'reject']),
                'partial_commands': st.sampled_from(['hold', 'hold', 'hold', 'reject']),
                'timeout': st.sampled_from([TIMEOUT, TIMEOUT, 0.0]),
                'on_stop': st.sampled_from(['zero_rates', 'zero_rates', 'nothing']),
                'zero_effort': st.booleans(),
            }
        ),
    )
    def configure(self, message, state_timeout, options):
        """Make a bridge to which every joint is known."""
        self.bridge = Bridge(LIMITED, state_timeout, **options)
        self.bridge.state('one', message)

    # -- what happens ----------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.25, 1.0, 1.25, 3.0]))
    def wait(self, seconds):
        """Let time pass."""
        self.bridge.now += seconds

    @rule(seconds=st.sampled_from([0.25, 50.0]), looked=st.booleans())
    def turn_back(self, seconds, looked):
        """Let time jump back, and perhaps have that noticed."""
        self.bridge.now -= seconds
        if looked:
            self.bridge.expire()

    @rule(changes=reference.strategies.changes())
    def tune(self, changes):
        """Exchange the maps."""
        self.bridge.tune(changes)

    @rule(source=st.sampled_from(['one', 'two']), message=ANY_STATES)
    def state(self, source, message):
        """Hear a driver."""
        self.bridge.state(source, message)

    @rule(source=SOURCES, message=plain_commands(), seconds=st.sampled_from([0.0, TIMEOUT / 2]))
    def command(self, source, message, seconds):
        """Command some joints."""
        self.bridge.command(message, source)
        self.bridge.now += seconds

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
        self.bridge.command(reference.Message(names, **{mode: (values[0],) * 2}), source)
        for value in values[1:]:
            self.bridge.now += TIMEOUT / 2
            self.bridge.command(reference.Message(names[:1], **{mode: (value,)}), source)
            self.bridge.expire()
        self.bridge.now += 0.75 * TIMEOUT
        self.bridge.expire()

    @rule(source=SOURCES, message=ANY_COMMANDS)
    def command_anything(self, source, message):
        """Send commands that must be rejected."""
        self.bridge.command(message, source)

    @rule(interface=st.sampled_from(reference.FIELDS), values=ARRAYS, stamp=STAMPS)
    def command_array(self, interface, values, stamp):
        """Command joints by a plain array."""
        self.bridge.array(interface, ARRAY, values, stamp)

    @rule(stamp=STAMPS, seconds=st.sampled_from([0.0, 0.25, 0.75]))
    def expire(self, stamp, seconds):
        """Look for commands that are too old."""
        self.bridge.now += seconds
        self.bridge.expire(stamp)

    @precondition(lambda self: self.bridge.model.received or any(self.bridge.model.held.values()))
    @rule(stamp=STAMPS, forget=st.booleans())
    def stop(self, stamp, forget):
        """Stop, and perhaps start again."""
        self.bridge.stop(stamp)
        if forget:
            self.bridge.states.reset()
            self.bridge.model_states.forget()

    # -- what must hold --------------------------------------------------------------------------

    @invariant()
    def published_state(self):
        """The present joint state equals the joint state of the model."""
        self.bridge.model_states.now = self.bridge.now
        expected, found = (
            self.bridge.model_states.joint_state(),
            self.bridge.states.make_joint_state(self.bridge.now),
        )
        assert (found is None) == (expected is None)
        if expected is not None:
            expected.check(found)

    @invariant()
    def held_commands(self):
        """The held commands equal the model's."""
        held = [
            [self.bridge.model.held.get(name, {}).get(each, math.nan) for name in reference.JOINTS]
            for each in reference.FIELDS
        ]
        np.testing.assert_allclose(self.bridge.commands.held, held, rtol=1e-12, atol=1e-12)

    @invariant()
    def counts(self):
        """The counts by source equal the counts of the model."""
        for kind in ('clamped', 'limited', 'contested'):
            by_source = {
                (source, name): count
                for source, counts in self.bridge.commands.counts.items()
                for name, count in getattr(counts, kind).items()
            }
            assert by_source == getattr(self.bridge.model, kind)


def test_any_sequence(campaign):
    """Whatever happens in whatever order, all that is sent, held and counted is the model's."""
    run_state_machine_as_test(
        CommandMachine,
        settings=settings(
            max_examples=50 * campaign, stateful_step_count=25, deadline=None, derandomize=True
        ),
    )


@pytest.fixture
def bridge():
    """Return a :class:`Bridge` with the default options."""
    return Bridge()


@settings(max_examples=100)
@given(data=st.data())
def test_no_other_joint_moves(data):
    """
    Position commands to some joints leave the targets of all others where they are.

    Targets are what the joints would be if every actuator reached its command, by the formulas
    from actuator to joint; before its first command an actuator's target is where it is.
    """
    bridge = Bridge()
    plain = st.floats(-10.0, 10.0)
    start = {name: data.draw(plain, label=name) for name in reference.ACTUATORS}
    bridge.state('one', reference.Message(tuple(start), position=tuple(start.values())))
    target = dict(start)

    def joints():
        return {
            name: reference.joint_value(bridge.model.numbers, 'position', name, target)
            for name in reference.COMMANDABLE
        }

    for _ in range(data.draw(st.integers(1, 6))):
        wanted = data.draw(
            st.dictionaries(st.sampled_from(reference.COMMANDABLE), plain, max_size=3)
        )
        before = joints()
        for sent in bridge.command(
            reference.Message(tuple(wanted), position=tuple(wanted.values()))
        ):
            target.update(zip(sent.names, sent.position.tolist(), strict=True))
        after = joints()
        for name, number in after.items():
            aim = wanted.get(name, before[name].value)
            size = number.size + before[name].size + abs(aim) + 1.0
            assert number.value == pytest.approx(aim, rel=0.0, abs=1e-13 * size), name


def test_formulas_by_hand(bridge):
    """A command to every joint gives the numbers that a pocket calculator gives."""
    (sent,) = bridge.command(
        reference.Message(
            ('roll', 'lift', 'pitch', 'shoulder', 'elbow', 'finger'),
            position=(0.6, 0.8, 0.3, 0.5, 0.1, 2.5),
        )
    )
    assert sent.names == reference.ACTUATORS
    # q_roll = 0.5, q_pitch = 0.5, q_shoulder = 0.25, q_elbow = 0.5
    expected = [
        -4.0 * 0.5,
        (1.5 * 0.5 + 0.7 * 0.5) * 2.0,
        (1.5 * 0.5 - 0.7 * 0.5) * -3.0,
        -0.9 * 40.0 * 0.25,
        (0.25 + 1.1 * 0.5) * -25.0,
        2.5,
    ]
    assert list(sent.position) == pytest.approx(expected, rel=1e-14)
    assert list(sent.velocity) == list(sent.effort) == []


def test_hold_in_every_order(bridge):
    """A partner holds its last command, else its position, else the message is rejected."""
    roll = reference.Message(('roll',), position=(0.5,))
    pitch = reference.Message(('pitch',), position=(0.4,))
    rate = reference.Message(('roll',), velocity=(0.1,))
    assert bridge.command(roll) == 'partial'
    bridge.state('one', reference.Message(('left', 'right'), position=(1.0, 2.0)))
    (sent,) = bridge.command(roll)
    # pitch is at (1/2 - 2/-3)/(2*0.7) - 0.2
    q_roll, q_pitch = 0.4, (1 / 2 + 2 / 3) / 1.4
    assert list(sent.position) == pytest.approx(
        [(1.5 * q_roll + 0.7 * q_pitch) * 2.0, (1.5 * q_roll - 0.7 * q_pitch) * -3.0], rel=1e-14
    )
    bridge.state('one', reference.Message(('left', 'right'), position=(7.0, 7.0)))
    (sent,) = bridge.command(pitch)
    assert list(sent.position) == pytest.approx(
        [(1.5 * 0.4 + 0.7 * 0.6) * 2.0, (1.5 * 0.4 - 0.7 * 0.6) * -3.0], rel=1e-14
    )
    assert bridge.command(rate) == 'partial'
    both = reference.Message(('roll', 'pitch'), velocity=(0.1, 0.2))
    assert len(bridge.command(both)) == 1
    assert len(bridge.command(rate)) == 1


def test_mixed_modes():
    """Joints in different modes become one message per interface, or one with NaN."""
    message = reference.Message(
        ('lift', 'finger'), position=(1.0, math.nan), velocity=(2.0, 3.0), stamp=(4, 5)
    )
    first, second = Bridge().command(message)
    assert (first.names, second.names) == (('winch',), ('winch', 'finger'))
    assert (list(first.velocity), list(second.position)) == ([], [])
    (sent,) = Bridge(mixed_commands='nan').command(message)
    assert sent.names == ('winch', 'finger')
    assert list(sent.velocity) == [-8.0, 3.0]
    assert sent.position[0] == -4.0 * 0.7
    assert math.isnan(sent.position[1])
    assert list(sent.effort) == []


@pytest.mark.parametrize('zero_effort', [False, True])
def test_stop(zero_effort):
    """Stopping sends zero once, to what was commanded a rate last, and to nothing else."""
    bridge = Bridge(zero_effort=zero_effort)
    assert bridge.stop() == []
    bridge.command(reference.Message(('lift', 'finger'), velocity=(1.0, 2.0)))
    bridge.command(reference.Message(('finger',), position=(3.0,)))
    bridge.command(reference.Message(('shoulder', 'elbow'), effort=(4.0, 5.0)))
    sent = bridge.stop()
    assert [(each.names, list(each.velocity), list(each.effort)) for each in sent] == (
        [(('winch',), [0.0], []), (('hip', 'crank'), [], [0.0, 0.0])]
        if zero_effort
        else [(('winch',), [0.0], [])]
    )
    assert bridge.stop() == []


def test_results_are_its_own(bridge):
    """A returned message does not change with the next command."""
    (first,) = bridge.command(reference.Message(('lift',), position=(1.0,)))
    kept = first.position.copy()
    bridge.command(reference.Message(('lift',), position=(2.0,)))
    assert list(first.position) == list(kept)
