# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The watchdog of commands: what ends, once, and what goes on."""

from __future__ import annotations

import math

from command_paths import Commands
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import LayoutTable
from transmission_bridge.transmissions import RobotTransmissions

TIMEOUT = 1.0

#: A piston with a ratio that depends on its position, beside a wheel.
BENT = RobotTransmissions(
    load_description(
        """<robot name="nonlinear"><ros2_control name="drives" type="system">
<joint name="knee"/><joint name="wheel"/>
<transmission name="piston"><plugin>transmission_bridge/CrankSliderTransmission</plugin>
<param name="crank_radius">0.04</param><param name="rod_length">0.12</param>
<param name="crank_angle">1.6</param><param name="stroke_at_zero">0.12</param>
<joint name="knee" role="joint1"/><actuator name="spindle" role="actuator1"/></transmission>
<transmission name="axle"><plugin>transmission_interface/SimpleTransmission</plugin>
<joint name="wheel" role="joint1"><mechanical_reduction>2.0</mechanical_reduction></joint>
<actuator name="hub" role="actuator1"/></transmission></ros2_control></robot>"""
    )
)

WINGS = """
<transmission name="wings">
  <plugin>transmission_interface/DifferentialTransmission</plugin>
  <joint name="bow" role="joint1"/><joint name="stern" role="joint2"/>
  <actuator name="port" role="actuator1"/><actuator name="starboard" role="actuator2"/>
</transmission>
"""


class Path:
    """A command path, and messages in plain terms."""

    def __init__(self, reference, robot, **options):
        self.commands = Commands(robot, timeout=TIMEOUT, **options)
        self._reference = reference
        self._layouts = LayoutTable()
        self.measured = np.zeros(len(robot.joint_names))

    def command(self, now, **modes):
        """Command joints, each mode as ``{joint: value}``; return what is sent."""
        names = tuple(dict.fromkeys(name for values in modes.values() for name in values))
        arrays = {
            mode: tuple(values.get(name, math.nan) for name in names)
            for mode, values in modes.items()
        }
        message = self._reference.Message(names, **arrays)
        layout = self._layouts.find_layout(message.names, message.lengths)
        return in_words(
            self.commands.command(layout, message.received, self.measured, (1, 0), now=now)
        )

    def expire(self, now):
        """Return what is sent to end commands."""
        return in_words(self.commands.expire(self.measured, (2, 0), now))


def in_words(messages):
    """Return ``{mode: {actuator: value}}`` of all messages."""
    return {
        mode: dict(zip(each.names, getattr(each, mode).tolist(), strict=True))
        for each in messages
        for mode in ('position', 'velocity', 'effort')
        if len(getattr(each, mode))
    }


@pytest.fixture
def path(reference, robot):
    """Return a :class:`Path` of the reference robot."""
    return Path(reference, robot)


def test_once(reference, robot):
    """Rates become zero when they are older than the timeout, and not again."""
    path = Path(reference, robot, zero_effort=True)
    path.command(10.0, velocity={'lift': 1.0}, effort={'finger': 2.0})
    assert path.expire(11.0) == {}
    assert path.expire(11.25) == {'velocity': {'winch': 0.0}, 'effort': {'finger': 0.0}}
    assert path.expire(99.0) == {}
    assert path.commands.left_efforts == ()


def test_a_load_is_held(path):
    """Without zero_effort the last effort stays, and is named until it is commanded again."""
    path.command(10.0, velocity={'lift': 1.0}, effort={'finger': 2.0, 'roll': 1.0, 'pitch': 0.5})
    assert path.expire(11.25) == {'velocity': {'winch': 0.0}}
    assert set(path.commands.left_efforts) == {'finger', 'roll', 'pitch'}
    # It stays in force: a partner keeps it.
    sent = path.command(12.0, effort={'roll': 1.0})
    both = path.command(12.0, effort={'roll': 1.0, 'pitch': 0.5})
    assert sent == both
    assert set(path.commands.left_efforts) == {'finger'}
    path.command(12.5, velocity={'finger': 0.1})
    assert path.commands.left_efforts == ()


def test_position_stays_held(path):
    """The timeout sends nothing for a position, and a partner still holds it afterwards."""
    path.command(10.0, position={'roll': 1.0, 'pitch': 2.0})
    assert path.expire(11.25) == {}
    sent = path.command(12.0, position={'roll': 0.5})
    assert sent == path.command(12.0, position={'roll': 0.5, 'pitch': 2.0})


def test_roll_each_second_while_pitch_sags(path):
    """A partner is held at the position measured first; it does not follow a sagging joint."""
    first = path.command(10.0, position={'roll': 1.0})
    for step in range(1, 20):
        path.measured[:] = -0.01 * step
        path.expire(10.0 + step - 0.5)
        assert path.command(10.0 + step, position={'roll': 1.0}) == first


def test_a_driver_that_was_silent(path, robot):
    """Held positions are forgotten, measured once, and rejected if unknown."""
    path.command(10.0, position={'roll': 1.0, 'pitch': 2.0})
    actuators = np.array([name in ('left', 'right') for name in robot.actuator_names])
    path.commands.driver_was_silent(actuators)
    path.measured[:] = math.nan
    with pytest.raises(MessageError, match='nothing to hold'):
        path.command(11.0, position={'roll': 1.0})
    path.measured[:] = 0.25
    taken = path.command(12.0, position={'roll': 1.0})
    assert taken == path.command(12.0, position={'roll': 1.0, 'pitch': 0.25})
    path.measured[:] = 0.5
    assert path.command(13.0, position={'roll': 1.0}) == taken


def test_a_refused_rate_ends_the_one_in_force(reference):
    """If a velocity cannot be mapped, the former one ends: zero, once."""
    path = Path(reference, BENT)
    path.measured[:] = 0.1
    path.command(10.0, velocity={'knee': 1.0, 'wheel': 2.0})
    path.measured[:] = math.nan
    path.commands.sent.clear()
    with pytest.raises(MessageError, match='piston'):
        path.command(10.5, velocity={'knee': 0.5})
    assert in_words([each.content for each in path.commands.sent]) == {
        'velocity': {'spindle': 0.0}
    }
    assert path.expire(10.75) == {}


def test_renewed(path):
    """A command that is repeated in time does not end."""
    for now in (10.0, 10.75, 11.5, 12.25):
        path.command(now, velocity={'lift': 1.0})
        assert path.expire(now + 0.5) == {}
    assert path.expire(13.5) == {'velocity': {'winch': 0.0}}


def test_partner_goes_on(path):
    """If one joint of a coupled pair ends, the other keeps its command."""
    path.command(10.0, velocity={'roll': 1.0, 'pitch': 2.0})
    path.command(10.75, velocity={'roll': 3.0})
    sent = path.expire(11.5)
    assert sent['velocity'] == pytest.approx({'left': 1.5 * 3.0 * 2.0, 'right': 1.5 * 3.0 * -3.0})


def test_both_end_one_after_the_other(path):
    """A joint also ends if its partner has ended before and holds nothing."""
    path.command(10.0, velocity={'roll': 1.0, 'pitch': 2.0})
    path.command(10.75, velocity={'roll': 3.0})
    assert path.expire(11.5) != {}
    assert path.expire(12.0) == {'velocity': {'left': 0.0, 'right': 0.0}}


def test_partner_that_was_never_commanded(path):
    """A partner that was completed to hold keeps holding, like a commanded joint."""
    path.command(10.0, position={'roll': 1.0})
    path.measured[:] = 0.5
    path.command(10.5, position={'roll': 1.0})
    assert path.commands.held_positions.sum() == 2
    assert path.expire(12.0) == {}
    assert path.commands.held_positions.sum() == 2


def test_ends_where_the_position_is_not_known(reference):
    """Zero is zero at every position, so a mechanism that depends on it ends without it."""
    path = Path(reference, BENT)
    path.measured[:] = 0.1
    path.command(10.0, velocity={'knee': 1.0, 'wheel': 2.0})
    path.measured[:] = math.nan
    with pytest.raises(MessageError, match='piston'):
        path.command(10.5, velocity={'knee': 1.0})
    assert path.command(10.5, velocity={'knee': 0.0}) == {'velocity': {'spindle': 0.0}}
    assert path.expire(12.0) == {'velocity': {'spindle': 0.0, 'hub': 0.0}}


def test_partner_goes_on_where_another_cannot(reference, robots):
    """If its position is unknown, a partner also ends, and no other joint does."""
    text = robots.urdf(('pitch', 'roll', 'bow', 'stern'), robots.ANKLE + WINGS)
    path = Path(reference, RobotTransmissions(load_description(text, strict=True)))
    path.command(10.0, velocity={'pitch': 0.1, 'roll': 0.2, 'bow': 1.0, 'stern': 2.0})
    path.command(10.75, velocity={'roll': 0.2, 'stern': 2.0})
    path.measured[:] = math.nan
    sent = path.expire(11.5)
    assert sent['velocity'] == pytest.approx(
        {'upper': 0.0, 'lower': 0.0, 'port': 2.0, 'starboard': -2.0}, rel=1e-15
    )
    assert path.expire(12.0) == {'velocity': {'port': 0.0, 'starboard': 0.0}}
