# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Twist and wrench at the ends of the robot."""

from __future__ import annotations

import math

import numpy as np
import pytest

from transmission_bridge.bridge.states import root_of, Tip
from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord

#: Two links of lengths 2 and 1 that turn about z, and a fixed hand.
PLANAR = load_description(
    """<robot name="planar"><link name="base"/><link name="upper"/><link name="lower"/>
<link name="hand"/>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
  <axis xyz="0 0 1"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
  <origin xyz="2 0 0"/><axis xyz="0 0 1"/></joint>
<joint name="wrist" type="fixed"><parent link="lower"/><child link="hand"/>
  <origin xyz="1 0 0"/></joint></robot>"""
)


def state(names, position, velocity=(), effort=()):
    """Return a joint state."""
    fields = (np.array(values, dtype=float) for values in (position, velocity, effort))
    return JointStateRecord((1, 2), '', tuple(names), *fields)


def jacobian(q1, q2):
    """Return rows x, y and rotation of the hand, by hand."""
    x = 2 * math.cos(q1) + math.cos(q1 + q2)
    y = 2 * math.sin(q1) + math.sin(q1 + q2)
    return np.array([[-y, -math.sin(q1 + q2)], [x, math.cos(q1 + q2)], [1.0, 1.0]])


def test_the_twist_is_that_of_the_hand_in_the_axes_of_the_root():
    """By hand for two links; the order of the names and a joint off the way change nothing."""
    tip = Tip(PLANAR, 'hand', ['shoulder', 'elbow'])
    twist = tip.twist(state(['elbow', 'other', 'shoulder'], [0.7, 9, 0.3], [0.5, 9, -0.2]))
    expected = jacobian(0.3, 0.7) @ [-0.2, 0.5]
    np.testing.assert_allclose(twist, [*expected[:2], 0, 0, 0, expected[2]], rtol=0, atol=1e-14)


def test_efforts_that_a_wrench_asks_for_give_back_what_it_does():
    """The wrench asks the joints for the very efforts that it was computed from."""
    tip = Tip(PLANAR, 'hand', ['shoulder', 'elbow'])
    wrench = tip.wrench(state(['shoulder', 'elbow'], [0.3, 0.7], effort=[4.0, -2.0]))
    np.testing.assert_allclose(
        jacobian(0.3, 0.7).T @ wrench[[0, 1, 5]], [4.0, -2.0], rtol=0, atol=1e-13
    )


@pytest.mark.parametrize(
    'joints',
    [
        state(['shoulder'], [0.3], [0.1], [0.1]),
        state(['shoulder', 'elbow'], [0.3, math.nan], [0.1, 0.1], [0.1, 0.1]),
        state(['shoulder', 'elbow'], [0.3, 0.1]),
    ],
)
def test_what_is_not_known_is_not_told(joints):
    """A joint that is missing, NaN, or without rates gives neither twist nor wrench."""
    tip = Tip(PLANAR, 'hand', ['shoulder', 'elbow'])
    assert tip.twist(joints) is None
    assert tip.wrench(joints) is None


def test_a_tip_that_cannot_be_known_is_refused():
    """A link that is not there, and one behind a joint that is not bridged."""
    with pytest.raises(ParameterError, match='claw'):
        Tip(PLANAR, 'claw', ['shoulder', 'elbow'])
    with pytest.raises(ParameterError, match='elbow'):
        Tip(PLANAR, 'hand', ['shoulder'])
    assert Tip(PLANAR, 'upper', ['shoulder']).root == root_of(PLANAR) == 'base'
