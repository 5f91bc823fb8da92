# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Devices of linkages seen from the motors: passive joints move, and limit nothing."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.kinematics import ActuatorDevice
from transmission_bridge.transmissions import RobotTransmissions

pytest.importorskip('casadi', reason='CasADi is not installed')


@pytest.fixture(scope='module')
def device(linkages):
    """Return a function that gives the device between two links of a worked linkage."""
    robots = {name: load_description(text, strict=True) for name, text in linkages.items()}
    return lambda name, base, end: ActuatorDevice.from_description(
        robots[name], base=base, end=end
    )


def positions(device, count=100):
    """Return actuator positions that the linkage can have."""
    n = len(device.actuator_names)
    a = np.random.default_rng(0).uniform(-3.0, 3.0, (count, n))
    assert np.isfinite(device.joint_positions(a)).all()
    return a


@pytest.mark.parametrize(
    ('name', 'base', 'ends'),
    [
        ('five_bar', 'body', ('rod_tip', 'shin_pin')),
        ('push_rod_ankle', 'shank', ('upper_tip', 'upper_ball')),
    ],
)
def test_both_ends_of_a_loop_are_one_place(device, name, base, ends):
    """The way by the rod, of passive joints, and the way by the commanded ones meet."""
    devices = [device(name, base, end) for end in ends]
    a = positions(devices[0])
    one, other = (each.base_t_end(a)[:, :3, 3] for each in devices)
    np.testing.assert_allclose(one, other, atol=1e-10)
    one, other = (each.base_j_end(a)[:, :3] for each in devices)
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize(
    ('name', 'base', 'end'),
    [
        ('four_bar_knee', 'thigh', 'shin'),
        ('five_bar', 'body', 'shin'),
        ('push_rod_ankle', 'shank', 'foot'),
    ],
)
def test_limits_are_those_of_the_commanded_joints(device, linkages, name, base, end):
    """Speeds and efforts as of a robot whose passive joints nobody publishes."""
    whole = device(name, base, end)
    description = load_description(linkages[name])
    bare = ActuatorDevice(whole.device, RobotTransmissions(description, passive_joints='none'))
    for a in positions(whole, 10):
        for query in ('velocity_limits_at', 'effort_limits_at'):
            found, expected = (getattr(each, query)(a) for each in (whole, bare))
            assert np.isfinite(expected).all()
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        for kind in ('velocity', 'effort'):
            for found, expected in zip(
                whole.half_spaces(kind, a), bare.half_spaces(kind, a), strict=True
            ):
                np.testing.assert_allclose(found, expected, atol=1e-12)


def test_one_motor_and_one_joint_have_bounds(device):
    """Where the joint is at its limit, though a passive joint moves as well."""
    knee = device('four_bar_knee', 'thigh', 'shin')
    lower, upper = knee.bounds
    assert knee.joint_positions(lower) == pytest.approx([-0.7], abs=1e-9)
    assert knee.joint_positions(upper) == pytest.approx([0.7], abs=1e-9)


def test_passive_joints_have_actuator_positions_where_the_loops_close(device):
    """Elsewhere there are none, in place of those that the others alone would have."""
    knee = device('four_bar_knee', 'thigh', 'horn')
    assert knee.device.joint_names == ('knee_crank',)
    assert knee.companions == ('knee',)
    # With its companion, the knee, at zero only this is closed.
    assert np.isnan(knee.actuator_positions([0.1])).all()
    closed = knee.joint_positions(np.array([0.0]))
    assert knee.actuator_positions(closed) == pytest.approx([0.0], abs=1e-9)
