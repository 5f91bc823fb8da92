# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Joints that follow another one: computed, over any chain, and never commanded."""

from __future__ import annotations

import math

from command_paths import Commands, Trajectories
import numpy as np
import pytest
from state_paths import state_path

from transmission_bridge.bridge.states import StatePath
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import JointStateEncoder
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.messages.trajectory import TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions

TRANSMISSIONS = """
<transmission name="gear">
  <plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="motor" role="actuator1"/>
  <joint name="first" role="joint1"><mechanical_reduction>4.0</mechanical_reduction></joint>
</transmission>
<transmission name="strange">
  <plugin>nobody/HasThis</plugin>
  <actuator name="engine" role="actuator1"/>
  <joint name="broken" role="joint1"/>
</transmission>
"""

#: ``third`` follows ``second`` follows ``first``; ``one`` and ``other`` follow each other;
#: ``lost`` follows a joint without a usable transmission.
JOINTS = ('third', 'second', 'first', 'one', 'other', 'broken', 'lost')
MIMIC = {
    'third': 'joint="second" multiplier="-2" offset="0.25"',
    'second': 'joint="first" multiplier="0.5" offset="-1"',
    'one': 'joint="other"',
    'other': 'joint="one"',
    'lost': 'joint="broken"',
}


@pytest.fixture(scope='module')
def followers(robots):
    """Return the maps of the robot, and why it is not whole."""
    return RobotTransmissions(load_description(robots.urdf(JOINTS, TRANSMISSIONS, MIMIC)))


def message(names, position=(), velocity=(), effort=()):
    """Return a JointState."""
    arrays = (np.array(values, dtype=float) for values in (position, velocity, effort))
    return JointStateRecord((1, 0), '', tuple(names), *arrays)


@pytest.fixture
def joint_state(followers, feed):
    """
    Return a function that gives what is published.

    The motor is at 6 and turns at 2 with an effort of 3.
    """

    def published(**options):
        path = state_path(followers, **options)
        feed(path, message(('motor',), [6.0], [2.0], [3.0]))
        found = path.make_joint_state()
        assert path.encode_state(JointStateEncoder()) == JointStateEncoder().encode_record(found)
        return found

    return published


def command(path, record):
    """Command joints, the robot being at zero; return what is sent."""
    layout = Layout(record.names, record.lengths)
    return path.command(layout, record, np.zeros(1), record.stamp)


def test_chain(joint_state):
    """A follower is multiplier q + offset, its velocity multiplier q', over chains too."""
    found = joint_state()
    assert found.names == ('first', 'third', 'second')
    assert found.position.tolist() == [1.5, -2.0 * (0.5 * 1.5 - 1.0) + 0.25, 0.5 * 1.5 - 1.0]
    assert found.velocity.tolist() == [0.5, -0.5, 0.25]
    assert np.array_equal(found.effort, [12.0, math.nan, math.nan], equal_nan=True)


def test_consumers_of_full_arrays(joint_state):
    """If unknown rates are zero, a follower's effort is also zero."""
    assert joint_state(unknown_rates='zero').effort.tolist() == [12.0, 0.0, 0.0]


def test_unknown(followers, feed):
    """While the joint that is followed is unknown, so are its followers."""
    path = StatePath(followers)
    feed(path, message(('motor',), [math.nan], [1.0], [1.0]))
    assert path.make_joint_state() is None


def test_loop_is_refused(followers, joint_state):
    """Joints that follow each other are an error finding and are not bridged."""
    assert not {'one', 'other', 'lost'} & set(joint_state().names)
    loops = [each for each in followers.findings if each.subject in ('one', 'other')]
    assert {each.severity for each in loops} == {'error'}


@pytest.mark.parametrize('name', ['third', 'second', 'lost'])
def test_not_commanded(followers, name):
    """A command to a follower, also by trajectory, is rejected whole."""
    commands = Commands(followers)
    record = message(('first', name), [0.25, 0.5])
    with pytest.raises(MessageError, match=f'{name} .it follows') as caught:
        command(commands, record)
    assert caught.value.reason == 'not_commandable'
    nothing = np.empty(0)
    waypoint = Waypoint((1, 0), record.position, nothing, nothing, nothing)
    trajectory = TrajectoryRecord((1, 0), '', record.names, (waypoint,))
    with pytest.raises(MessageError) as caught:
        Trajectories(followers, commands, partial_commands='hold').map(trajectory, np.zeros(1))
    assert caught.value.reason == 'not_commandable'
    assert np.isnan(commands.held).all()


def test_not_commanded_says_nothing(followers):
    """A follower may be named, as topic-based hardware does, if its value is no command."""
    (sent,) = command(Commands(followers), message(('third', 'first'), [math.nan, 0.5]))
    assert (sent.names, sent.position.tolist()) == (('motor',), [2.0])
