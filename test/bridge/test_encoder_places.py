# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Absolute encoders that are mapped as motor encoders but move like joints."""

from __future__ import annotations

import math

import numpy as np
import pytest
from small_robots import maps, ratio, transmission

from transmission_bridge.bridge.encoder_places import EncoderPlaces

#: Two radians there and back, in steps of at most 0.02.
JOINT = np.sin(np.linspace(0.0, 2.0 * math.pi, 400)) + 0.3


def geared(gear, kind='continuous', more=''):
    """Return the maps of joint ``j`` and motor ``m``, and of what else this turns."""
    text = transmission('t', 'Simple', {'j': ratio(gear)}, ('m',)) + more
    return maps({'j': kind} | ({'k': kind} if more else {}), text)


def judge(places, motor, encoder):
    """Return what is found when motor and encoder have moved so."""
    for pair in zip(encoder, motor, strict=True):
        places.record_positions(*np.array(pair)[:, None])
    return places.find_misplaced_encoders()


def found(robot, motor, encoder):
    """Return what is found anew."""
    return judge(EncoderPlaces(robot), motor, encoder)


def wrapped(angles):
    """Return angles as a single-turn encoder reads them."""
    return np.remainder(angles + math.pi, 2.0 * math.pi) - math.pi


@pytest.mark.parametrize('gear', [50.0, -50.0, 2.0, 6.0, 6.5, 0.4])
def test_an_encoder_is_judged_by_how_it_moves(gear):
    """For any zero, wrap position, speed and period."""
    robot, motor = geared(gear), gear * JOINT
    if gear != 6.5:
        for encoder in (JOINT, JOINT + 2.0, wrapped(JOINT + 3.0)):
            assert list(found(robot, motor, encoder)) == ['t']
    assert not found(robot, motor, wrapped(motor))
    for speed in (0.1, 1.0, 3.0, 20.0, 60.0, 500.0):
        motor = np.cumsum(np.full(1000, speed / 50.0))
        assert not found(robot, motor, motor + 1.0)
        assert not found(robot, motor, wrapped(motor))


def test_the_sentence_says_what_was_found_and_what_to_set():
    """By hand: a joint that turns evenly by 0.125 from message to message, its motor by 1.25."""
    joint = np.arange(7) * 0.125
    assert found(geared(10.0), 10.0 * joint, joint) == {
        't': "the absolute encoder of 'm' moves like joint 'j', not like its motor (by 0.25 "
        'while the motor moves by 2.5, in SI): if it is at the joint, set '
        "ignore_absolute_encoder of transmission 't'"
    }
    assert not found(geared(10.0), 10.0 * joint[:-1], joint[:-1])


@pytest.mark.parametrize('gear', [50.0, -50.0, 3.0])
def test_an_encoder_at_the_motor_is_none_where_a_full_turn_looks_like_the_joint(gear):
    """Steps of 2 pi / (1 - 1/r) are the joint's modulo a turn: too large to be judged."""
    motor = np.arange(400) * 2.0 * math.pi / (1.0 - 1.0 / gear)
    assert not found(geared(gear), motor, wrapped(motor))


def test_encoders_that_say_nothing_are_none():
    """One that stands, one of noise only, one in turns at a gear of 6 to 1."""
    robot, motor = geared(50.0), 50.0 * JOINT
    random = np.random.default_rng(1)
    assert not found(robot, motor, np.zeros(400))
    for scale in (0.01, 0.1, 1.0):
        for _ in range(20):
            assert not found(robot, motor, random.normal(scale=scale, size=400))
    assert not found(geared(6.0), 6.0 * JOINT, 6.0 * JOINT / (2.0 * math.pi))


def test_noise_delay_and_backlash_hide_nothing():
    """2 mrad of noise, readings a message apart, and 1 mrad of play at the joint."""
    noise = np.random.default_rng(2).normal(scale=0.002, size=400)
    play = 0.0005 * np.sign(np.gradient(JOINT))
    assert found(geared(50.0), 50.0 * JOINT, JOINT + noise + play)
    joint = np.linspace(0.0, 2.0, 400)
    assert found(geared(50.0), 50.0 * joint, np.roll(joint, 1))
    # A spindle's scale in metres.
    spindle, slide = geared(1000.0, 'prismatic'), 0.1 * JOINT
    assert found(spindle, 1000.0 * slide, slide)
    assert not found(spindle, 1000.0 * slide, wrapped(1000.0 * slide))


@pytest.mark.parametrize('gear', [1.0, -1.0, 1.9, 0.6, 'own', 'shared'])
def test_what_cannot_be_told_is_not_judged(gear):
    """A ratio near 1, an encoder declared at the joint, a motor that two transmissions read."""
    if gear == 'own':
        robot = geared(50.0).with_parameters({'t.ignore_absolute_encoder': True})
    elif gear == 'shared':
        robot = geared(50.0, more=transmission('u', 'Simple', {'k': ratio(50)}, ('m',)))
        assert len(robot.bindings) == 2
    else:
        robot = geared(gear)
    assert not found(robot, (gear if isinstance(gear, float) else 50.0) * JOINT, JOINT)


def test_gaps_are_not_bridged():
    """While motor or encoder is unknown nothing adds up, and the sum starts again."""
    # The encoder is in every second message: it is compared with the motor of those.
    joint = np.arange(40) * 0.0625
    encoder, motor = joint.copy(), 10.0 * joint
    encoder[1::2] = np.nan
    assert found(geared(10.0), motor, encoder)
    motor[3::4] = np.nan
    assert not found(geared(10.0), motor, joint)


def test_found_until_it_moves_as_the_motor_or_the_maps_change():
    """Slips do not take it back; an encoder that is at the motor after all does, and a reset."""
    robot, joint = geared(50.0), np.linspace(0.0, 1.0, 100)
    places = EncoderPlaces(robot)
    for encoder, is_found in ((joint, 1), (0.5 * joint, 1), (50.0 * joint, 0), (joint, 1)):
        assert bool(judge(places, 50.0 * joint, encoder)) == is_found
    places.reset()
    assert not judge(places, 50.0 * joint, 0.5 * joint)
    assert judge(places, 50.0 * joint, joint)
    places.replace_maps(robot.with_parameters({'t.ignore_absolute_encoder': True}))
    assert not judge(places, 50.0 * joint, joint)
