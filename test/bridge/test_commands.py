# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The command path against the reference model."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from transmission_bridge.bridge.commands import CommandPath
from transmission_bridge.bridge.states import StatePath
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import LayoutTable


class Bridge:
    """Both paths and both reference models, fed alike and compared after every message."""

    def __init__(self, reference, robot, **options):
        self.reference = reference
        self.robot = robot
        self.states = StatePath(robot)
        self.commands = CommandPath(robot, **options)
        self.model_states = reference.ReferenceStates(reference.Numbers())
        self.model = reference.ReferenceCommands(reference.Numbers(), **options)
        self.layouts = LayoutTable()

    def state(self, source, message):
        """Send a state to both."""
        refused = self.model_states.update(source, message)
        layout = self.layouts.get(message.names, message.lengths)
        reason = None
        try:
            self.states.update(source, layout, message.received, message.stamp)
        except MessageError as error:
            reason = error.reason
        assert reason in (refused.reasons if refused else {None})
        self.states.joint_state()

    def command(self, message):
        """Send a command to both; return what is sent, or the reason of the refusal."""
        expected = self.model.command(message, self.model_states.positions())
        layout = self.layouts.get(message.names, message.lengths)
        try:
            found = self.commands.command(
                layout, message.received, self.states.joint_position(), message.stamp
            )
        except MessageError as error:
            found = error.reason
        if isinstance(expected, self.reference.Refused):
            assert found in expected.reasons
        else:
            self.compare(expected, found)
        return found

    def stop(self, stamp=(9, 9)):
        """Stop both."""
        found = self.commands.stop(stamp)
        self.compare(self.model.stop(stamp), found)
        return found

    def tune(self, changes):
        """Exchange the maps of both."""
        self.robot = self.robot.with_parameters(self.reference.nested(changes))
        self.states.use(self.robot)
        self.commands.use(self.robot)
        self.model.numbers = self.model.numbers.tuned(changes)
        self.model_states.numbers = self.model.numbers

    def compare(self, expected, found):
        """Check messages one by one."""
        assert not isinstance(found, str), found
        assert len(found) == len(expected)
        for one, other in zip(expected, found, strict=True):
            one.check(other)


OPTIONS = st.fixed_dictionaries(
    {
        'mixed_commands': st.sampled_from(['split', 'nan']),
        'partial_commands': st.sampled_from(['hold', 'hold', 'reject']),
        'on_stop': st.sampled_from(['zero_rates', 'nothing']),
        'zero_effort': st.booleans(),
    }
)


@pytest.fixture
def bridge(reference, robot):
    """Return a :class:`Bridge` with the default options."""
    return Bridge(reference, robot)


@settings(max_examples=300)
@given(data=st.data(), options=OPTIONS)
def test_any_sequence(reference, robot, data, options):
    """Whatever states, commands, tunings and stops come, what is sent is what the model sends."""
    bridge = Bridge(reference, robot, **options)
    for what, *rest in data.draw(reference.strategies.steps()):
        getattr(bridge, what)(*rest)
    bridge.stop()


@settings(max_examples=200)
@given(data=st.data())
def test_no_other_joint_moves(reference, robot, data):
    """
    Position commands to some joints leave the targets of all others where they are.

    Targets are what the joints would be if every actuator reached its command, by the formulas
    from actuator to joint; before its first command an actuator's target is where it is.
    """
    bridge = Bridge(reference, robot)
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


def test_formulas_by_hand(reference, bridge):
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


def test_nothing_commanded(reference, bridge):
    """A message of no joints, of no numbers, or of NaN alone sends nothing."""
    nan = math.nan
    for message in (
        reference.Message(()),
        reference.Message(('lift', 'roll')),
        reference.Message(('lift', 'roll'), position=(nan, nan), effort=(nan, nan)),
    ):
        assert bridge.command(message) == []


def test_not_commandable(reference, bridge):
    """A joint that is only read, or not there, costs the whole message."""
    assert bridge.command(reference.Message(('lift', 'dial'), position=(1.0, 1.0))) in (
        'not_commandable',
        'unknown_joint',
    )
    assert (
        bridge.command(reference.Message(('lift', 'nobody'), position=(1.0, 1.0)))
        == 'unknown_joint'
    )
    assert bridge.stop() == []


def test_hold_in_every_order(reference, bridge):
    """A partner holds its last command, else where it is, else the message is refused."""
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


def test_partner_in_another_mode_is_not_held_there(reference, bridge):
    """After a velocity command a position is held where the joint is, not where it once was."""
    bridge.state('one', reference.Message(('left', 'right'), position=(0.0, 0.0)))
    bridge.command(reference.Message(('roll', 'pitch'), position=(1.0, 2.0)))
    bridge.command(reference.Message(('roll', 'pitch'), velocity=(0.1, 0.2)))
    bridge.state('one', reference.Message(('left', 'right'), position=(3.0, 3.0)))
    (sent,) = bridge.command(reference.Message(('roll',), position=(0.1,)))
    q_pitch = (3 / 2 + 3 / 3) / 1.4
    assert list(sent.position) == pytest.approx(
        [0.7 * q_pitch * 2.0, -0.7 * q_pitch * -3.0], rel=1e-14
    )


def test_mixed_modes(reference, robot):
    """Joints in different modes become one message per interface, or one with NaN."""
    message = reference.Message(
        ('lift', 'finger'), position=(1.0, math.nan), velocity=(2.0, 3.0), stamp=(4, 5)
    )
    first, second = Bridge(reference, robot).command(message)
    assert (first.names, second.names) == (('winch',), ('winch', 'finger'))
    assert (list(first.velocity), list(second.position)) == ([], [])
    (sent,) = Bridge(reference, robot, mixed_commands='nan').command(message)
    assert sent.names == ('winch', 'finger')
    assert list(sent.velocity) == [-8.0, 3.0]
    assert sent.position[0] == -4.0 * 0.7
    assert math.isnan(sent.position[1])
    assert list(sent.effort) == []


def test_coupled_in_different_modes(reference, bridge):
    """Coupled joints commanded in different modes are refused, and so is all else with them."""
    bridge.state('one', reference.Message(reference.ACTUATORS, position=(0.0,) * 6))
    message = reference.Message(
        ('lift', 'roll', 'pitch'),
        position=(1.0, 1.0, math.nan),
        velocity=(math.nan, math.nan, 1.0),
    )
    assert bridge.command(message) == 'mixed_coupled'
    assert bridge.stop() == []


@pytest.mark.parametrize('zero_effort', [False, True])
def test_stop(reference, robot, zero_effort):
    """Stopping sends zero once, to what was commanded a rate last, and to nothing else."""
    bridge = Bridge(reference, robot, zero_effort=zero_effort)
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


def test_stop_forgets_what_was_held(reference, bridge):
    """After a stop nothing is held any more."""
    bridge.command(reference.Message(('roll', 'pitch'), position=(1.0, 2.0)))
    bridge.stop()
    assert bridge.command(reference.Message(('roll',), position=(1.0,))) == 'partial'


def test_tuning_sends_nothing_by_itself(reference, robot, bridge):
    """Exchanging the maps returns nothing, and what is held and measured follows the new maps."""
    bridge.state('one', reference.Message(('left', 'right'), position=(1.0, 2.0)))
    bridge.tune({('offset', 'pitch'): 1.0, ('reduction', 'right'): 6.0})
    (sent,) = bridge.command(reference.Message(('roll',), position=(0.5,)))
    # pitch stays where the new numbers say that it is: its own q does not see the offset.
    q_roll, q_pitch = 0.4, (1 / 2 - 2 / 6) / 1.4
    assert list(sent.position) == pytest.approx(
        [(1.5 * q_roll + 0.7 * q_pitch) * 2.0, (1.5 * q_roll - 0.7 * q_pitch) * 6.0], rel=1e-14
    )


def test_results_are_its_own(reference, bridge):
    """What was returned does not change with the next command."""
    (first,) = bridge.command(reference.Message(('lift',), position=(1.0,)))
    kept = first.position.copy()
    bridge.command(reference.Message(('lift',), position=(2.0,)))
    assert list(first.position) == list(kept)
