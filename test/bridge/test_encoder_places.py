# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Absolute encoders that are mapped as motor encoders but move like joints."""

from __future__ import annotations

import math

import numpy as np
import pytest

from transmission_bridge.bridge.encoder_places import EncoderPlaces
from transmission_bridge.description import load_description
from transmission_bridge.transmissions import RobotTransmissions

URDF = """<robot name="r">
<joint name="j" type="{type}"><limit lower="-9" upper="9" velocity="9" effort="9"/></joint>
<joint name="k" type="continuous"/>
<ros2_control name="b" type="system"><joint name="j"><command_interface name="position"/></joint>
<transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>
<joint name="j" role="joint1"><mechanical_reduction>{ratio}</mechanical_reduction></joint>
<actuator name="m" role="actuator1"></actuator></transmission>
{more}</ros2_control></robot>"""


def maps(ratio, kind='continuous', more=''):
    """Return the maps of a robot of one joint."""
    text = URDF.format(ratio=ratio, type=kind, more=more)
    return RobotTransmissions(load_description(text))


def found(robot, motor, encoder):
    """Return what is found when motor and encoder have moved so."""
    places = EncoderPlaces(robot)
    for pair in zip(encoder, motor, strict=True):
        places.record_positions(*np.array(pair)[:, None])
    return places.find_misplaced_encoders()


def wrapped(angles):
    """Return angles as a single-turn encoder reads them."""
    return np.remainder(angles + math.pi, 2.0 * math.pi) - math.pi


#: Two radians there and back, in steps of at most 0.02.
JOINT = np.sin(np.linspace(0.0, 2.0 * math.pi, 400)) + 0.3


@pytest.mark.parametrize('ratio', [50.0, -50.0, 2.0, 6.0, 0.4])
def test_an_encoder_at_the_joint_is_found(ratio):
    """For any zero and wrap position; the sentence has the names and both motions."""
    robot = maps(ratio)
    for encoder in (JOINT, JOINT + 2.0, wrapped(JOINT + 3.0)):
        assert list(found(robot, ratio * JOINT, encoder)) == ['t']


def test_the_sentence_says_what_was_found_and_what_to_set():
    """By hand: a joint that turns evenly by 0.125 from message to message, its motor by 1.25."""
    joint = np.arange(7) * 0.125
    assert found(maps(10.0), 10.0 * joint, joint) == {
        't': "the absolute encoder of 'm' moves like joint 'j', not like its motor (by 0.25 "
        'while the motor moves by 2.5, in SI): if it is at the joint, set '
        "ignore_absolute_encoder of transmission 't'"
    }
    assert not found(maps(10.0), 10.0 * joint[:-1], joint[:-1])


@pytest.mark.parametrize('ratio', [50.0, -50.0, 2.0, 6.0, 6.5, 0.4])
def test_an_encoder_at_the_motor_is_none(ratio):
    """Neither one that counts turns, nor one that wraps, at any speed and any period."""
    robot = maps(ratio)
    for speed in (0.1, 1.0, 3.0, 20.0, 60.0, 500.0):
        motor = np.cumsum(np.full(2000, speed / 50.0))
        assert not found(robot, motor, motor + 1.0)
        assert not found(robot, motor, wrapped(motor))
    assert not found(robot, ratio * JOINT, wrapped(ratio * JOINT))


def test_an_encoder_at_the_motor_is_none_where_a_full_turn_looks_like_the_joint():
    """Steps of 2 pi / (1 - 1/r) are the joint's modulo a turn: too large to be judged."""
    for ratio in (50.0, -50.0, 3.0):
        motor = np.arange(400) * 2.0 * math.pi / (1.0 - 1.0 / ratio)
        assert not found(maps(ratio), motor, wrapped(motor))


def test_encoders_that_say_nothing_are_none():
    """One that stands, one of noise only, one in turns at a gear of 6 to 1."""
    robot, motor = maps(50.0), 50.0 * JOINT
    random = np.random.default_rng(1)
    assert not found(robot, motor, np.zeros(400))
    for scale in (0.01, 0.1, 1.0):
        for _ in range(50):
            assert not found(robot, motor, random.normal(scale=scale, size=400))
    assert not found(maps(6.0), 6.0 * JOINT, 6.0 * JOINT / (2.0 * math.pi))


def test_noise_delay_and_backlash_hide_nothing():
    """2 mrad of noise, readings a message apart, and 1 mrad of play at the joint."""
    noise = np.random.default_rng(2).normal(scale=0.002, size=400)
    play = 0.0005 * np.sign(np.gradient(JOINT))
    assert found(maps(50.0), 50.0 * JOINT, JOINT + noise + play)
    joint = np.linspace(0.0, 2.0, 400)
    assert found(maps(50.0), 50.0 * joint, np.roll(joint, 1))


def test_sliding_joints():
    """A spindle's scale in metres."""
    slide = 0.1 * JOINT
    assert found(maps(1000.0, 'prismatic'), 1000.0 * slide, slide)
    assert not found(maps(1000.0, 'prismatic'), 1000.0 * slide, wrapped(1000.0 * slide))


SECOND = """<joint name="k"><state_interface name="position"/></joint><transmission name="u">
<plugin>transmission_interface/SimpleTransmission</plugin>
<joint name="k" role="joint1"><mechanical_reduction>50</mechanical_reduction></joint>
<actuator name="m" role="actuator1"/></transmission>"""


def test_what_cannot_be_told_is_not_judged():
    """A ratio near 1, an encoder declared at the joint, a motor that two transmissions read."""
    for ratio in (1.0, -1.0, 1.9, 0.6):
        assert not found(maps(ratio), ratio * JOINT, JOINT)
    own = maps(50.0).with_parameters({'t.ignore_absolute_encoder': True})
    assert not found(own, 50.0 * JOINT, JOINT)
    shared = maps(50.0, more=SECOND)
    assert len(shared.bindings) == 2
    assert not found(shared, 50.0 * JOINT, JOINT)


def test_gaps_are_not_bridged():
    """While motor or encoder is unknown nothing adds up, and the sum starts again."""
    # The encoder is in every second message: it is compared with the motor of those.
    joint = np.arange(40) * 0.0625
    encoder = joint.copy()
    encoder[1::2] = np.nan
    assert found(maps(10.0), 10.0 * joint, encoder)
    motor = 10.0 * joint
    motor[3::4] = np.nan
    assert not found(maps(10.0), motor, joint)


def test_found_until_it_moves_as_the_motor_or_the_maps_change():
    """Slips do not take it back; an encoder that is at the motor after all does, and a reset."""
    robot, joint = maps(50.0), np.linspace(0.0, 1.0, 100)
    places = EncoderPlaces(robot)

    def move(encoder):
        for pair in zip(encoder, 50.0 * joint, strict=True):
            places.record_positions(*np.array(pair)[:, None])
        return bool(places.find_misplaced_encoders())

    assert move(joint)
    assert move(0.5 * joint)
    assert not move(50.0 * joint)
    assert move(joint)
    places.reset()
    assert not move(0.5 * joint)
    assert move(joint)
    places.replace_maps(robot.with_parameters({'t.ignore_absolute_encoder': True}))
    assert not move(joint)
