# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands: what is refused, what is counted, and the form of what is sent (else: promises.py)."""

from __future__ import annotations

import math

from command_paths import Commands, Trajectories
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import Layout
from transmission_bridge.messages.trajectory import TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.coupled import CoupledTransmission
from transmission_bridge.types import EMPTY

NAN = math.nan


@pytest.fixture(scope='module')
def limited(reference):
    """Return the maps of the reference robot with limits."""
    return RobotTransmissions(load_description(reference.limited_urdf()))


@pytest.fixture
def command(reference):
    """Return a function that commands joints where no position is known."""

    def send(path, names, stamp=(1, 0), source='joint_commands', **arrays):
        message = reference.Message(names, stamp=stamp, **arrays)
        layout, unknown = Layout(names, message.lengths), np.full(len(reference.JOINTS), NAN)
        return path.command(layout, message.received, unknown, stamp, source=source)

    return send


@pytest.mark.parametrize(
    ('names', 'arrays', 'reason'),
    [
        (('lift', 'nobody'), {'position': (1.0, 1.0)}, 'unknown_joint'),
        (('lift', 'lift'), {'position': (1.0, 1.0)}, 'duplicate_name'),
        (('lift', 'finger'), {'velocity': (1.0,)}, 'ragged'),
        (('lift', 'finger'), {'position': (1.0, 1.0, 1.0)}, 'ragged'),
        (('lift', 'finger'), {'position': (1.0, math.inf)}, 'infinite'),
        (('lift', 'finger'), {'effort': (-math.inf, 1.0)}, 'infinite'),
        (('lift', 'dial'), {'position': (1.0, 1.0)}, 'not_commandable'),
        (('lift', 'roll'), {'position': (1.0, 1.0)}, 'partial'),
        (('roll',), {'velocity': (1.0,)}, 'partial'),
        (('lift', 'finger'), {'position': (1.0, NAN), 'velocity': (NAN, 1.0)}, 'mixed'),
        (
            ('roll', 'pitch'),
            {'position': (1.0, NAN), 'velocity': (NAN, 1.0)},
            'mixed_coupled',
        ),
    ],
)
def test_refused(robot, command, names, arrays, reason):
    """A message that cannot be used is refused as a whole and changes nothing."""
    path = Commands(robot, mixed_commands='reject' if reason == 'mixed' else 'split')
    command(path, ('lift', 'finger'), velocity=(1.0, 2.0))
    held = path.held
    path.sent.clear()
    with pytest.raises(MessageError) as caught:
        command(path, names, **arrays)
    assert caught.value.reason == reason
    assert path.sent == []
    np.testing.assert_array_equal(path.held, held)


@pytest.mark.parametrize(
    ('values', 'reason'),
    [((0.5, 0.5, 0.5), 'size'), ((0.5, NAN), 'not_finite'), ((math.inf, 0.5), 'not_finite')],
)
def test_refused_array(robot, values, reason):
    """A plain array has one finite number for each of its joints."""
    path, unknown = Commands(robot), np.full(len(robot.joint_names), NAN)
    with pytest.raises(MessageError) as caught:
        path.command_interface(
            'position', ('lift', 'finger'), np.array(values), unknown, (1, 0), source='x'
        )
    assert caught.value.reason == reason
    assert np.isnan(path.held).all()


def test_an_array_of_the_joints_that_declare_its_interface(robot, command):
    """Topic-based hardware shortens its arrays so: the finger declares nothing."""
    (sent,) = command(Commands(robot), ('finger', 'lift'), position=(0.8,))
    assert sent.names == ('winch',)
    assert sent.position.tolist() == pytest.approx([-4.0 * (0.8 - 0.3)], rel=1e-14)


@pytest.mark.parametrize('mode', ['velocity', 'effort'])
def test_a_partner_at_zero(robot, command, mode):
    """With partial_commands: zero a partner has no rate, whatever it had before."""
    path = Commands(robot, partial_commands='zero')
    command(path, ('roll', 'pitch'), **{mode: (2.0, 1.0)})
    (alone,) = command(path, ('roll',), **{mode: (2.0,)})
    (both,) = command(path, ('roll', 'pitch'), **{mode: (2.0, 0.0)})
    assert getattr(alone, mode).tolist() == getattr(both, mode).tolist()


def test_joints_that_hold_a_position(robot, command):
    """Those with a position command or a trajectory, also one that has not started."""
    path, place = Commands(robot), {name: n for n, name in enumerate(robot.joint_names)}
    command(path, ('lift',), position=(1.0,))
    command(path, ('shoulder', 'elbow'), velocity=(1.0, 1.0))
    point = Waypoint((1, 0), np.array([0.5]), EMPTY, EMPTY, EMPTY)
    trajectory = TrajectoryRecord((0, 0), '', ('finger',), (point,))
    Trajectories(robot, path).map(trajectory, np.full(len(place), NAN), start=9.0)
    assert set(np.flatnonzero(path.held_positions)) == {place['lift'], place['finger']}


def test_counts(limited, command):
    """Clamps, rejections and contests are counted by source and joint."""
    path = Commands(limited)
    command(path, ('lift', 'finger'), position=(40.0, 40.0))
    command(path, ('lift',), source='planner', velocity=(1.0,))
    counts = path.counts
    assert (counts['joint_commands'].clamped, counts['planner'].clamped) == ({'lift': 1}, {})
    assert (counts['joint_commands'].contested, counts['planner'].contested) == ({}, {'lift': 1})
    path = Commands(limited, limits='reject')
    with pytest.raises(MessageError) as caught:
        command(path, ('finger', 'lift'), effort=(1.0, 60.0))
    assert caught.value.reason == 'limit'
    assert path.counts['joint_commands'].limited == {'lift': 1}
    assert path.counts['joint_commands'].clamped == {}


def test_mixed_modes(robot, command):
    """Joints in different modes become one message per interface, or one with NaN."""
    modes = {'position': (1.0, NAN), 'velocity': (2.0, 3.0), 'stamp': (4, 5)}
    first, second = command(Commands(robot), ('lift', 'finger'), **modes)
    assert (first.names, second.names) == (('winch',), ('winch', 'finger'))
    assert (first.stamp, second.stamp) == ((4, 5), (4, 5))
    assert (list(first.velocity), list(second.position)) == ([], [])
    (sent,) = command(Commands(robot, mixed_commands='nan'), ('lift', 'finger'), **modes)
    assert (sent.names, sent.stamp) == (('winch', 'finger'), (4, 5))
    assert list(sent.velocity) == [-8.0, 3.0]
    assert sent.position[0] == -4.0 * 0.7
    assert math.isnan(sent.position[1])
    assert list(sent.effort) == []


def test_results_are_its_own(robot, command):
    """A returned message does not change with the next command."""
    path = Commands(robot)
    (first,) = command(path, ('lift',), position=(1.0,))
    kept = first.position.copy()
    command(path, ('lift',), position=(2.0,))
    assert list(first.position) == list(kept)


FINGER = """<transmission name="finger"><plugin>transmission_bridge/CoupledTransmission</plugin>
<param name="matrix">1; 0.5</param><actuator name="motor" role="actuator1"/>
<joint name="near" role="joint1"/><joint name="far" role="joint2"/></transmission>"""


def test_plugin_that_fails(robots, monkeypatch):
    """One joint of few actuators cannot be commanded where their type fails."""

    def put_bug(*args, **kwargs):
        raise ZeroDivisionError

    text = load_description(robots.urdf(('near', 'far'), FINGER))
    with monkeypatch.context() as patch:
        patch.setattr(CoupledTransmission, 'jacobian', put_bug)
        paths = [Commands(RobotTransmissions(text))]
    paths.append(Commands(RobotTransmissions(text)))
    for path, is_sent in zip(paths, (False, True), strict=True):
        act = (path.command_interface, 'position', ('near',), np.ones(1), np.zeros(2), (1, 0))
        if is_sent:
            assert act[0](*act[1:], source='x')
        else:
            with pytest.raises(MessageError) as caught:
                act[0](*act[1:], source='x')
            assert caught.value.reason == 'partial'
