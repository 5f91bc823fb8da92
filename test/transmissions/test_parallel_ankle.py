# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The parallel ankle: rods keep their length, feet come back, bad dimensions are refused."""

import numpy as np
import pytest
from zoo import mechanisms
from zoo.mechanisms import LEFT, RIGHT, TILTED

BEHIND = {
    'motor': (0.0, 0.05, 0.2), 'crank': 0.04, 'rod': 0.2, 'foot': (-0.04, 0.05, 0.0),
    'crank_angle': np.pi,
}  # fmt: skip

#: The axis of this motor is x: its crank's angle counts from z.
ALONG_X = {
    'motor': (0.05, 0.1, 0.1), 'axis': (1.0, 0.0, 0.0), 'crank': 0.05, 'rod': 0.11,
    'foot': (0.05, 0.05, 0.0), 'crank_angle': 0.5 * np.pi,
}  # fmt: skip


def ankle(*legs, **options):
    """Return an ankle of a wide range."""
    return mechanisms.ankle(*legs, **{'lower': (-0.7, -0.35), 'upper': (0.5, 0.35), **options})


def foot_of(leg, q):
    """Return where the rod's end on the foot is: ``Ry(pitch) Rx(roll) foot``."""
    (c, cr), (s, sr), (x, y, z) = np.cos(q), np.sin(q), leg['foot']
    y, z = cr * y - sr * z, sr * y + cr * z
    return np.array([c * x + s * z, y, c * z - s * x])


def residual(leg, angle, q):
    """Return by how much a rod is too long, the crank being turned by Rodrigues' formula."""
    axis = np.array(leg.get('axis', (0.0, 1.0, 0.0)))
    axis = axis / np.linalg.norm(axis)
    zero = np.array([0.0, 0.0, 1.0] if axis[0] == 1.0 else [1.0, 0.0, 0.0])
    ahead = zero - (zero @ axis) * axis
    angle = angle + leg.get('crank_angle', 0.0)
    crank = np.cos(angle) * ahead + np.sin(angle) * np.cross(axis, ahead)
    tip = np.array(leg['motor']) + leg['crank'] * crank / np.linalg.norm(ahead)
    return np.linalg.norm(foot_of(leg, q) - tip) - leg['rod']


PAIRS = [(LEFT, RIGHT), (LEFT, TILTED), (BEHIND, RIGHT)]


@pytest.mark.parametrize(
    ('legs', 'options'),
    [*((legs, {}) for legs in PAIRS),
     ((ALONG_X, RIGHT), {'lower': (-0.2, -0.2), 'upper': (0.2, 0.2)})],
)  # fmt: skip
def test_every_rod_keeps_its_length(legs, options):
    """At every sample, both ways, each rod is as long as it is, to 1e-12 m."""
    t = ankle(*legs, **options)
    q = np.random.default_rng(0).uniform(t.domain.lower, t.domain.upper, size=(2_000, 2))
    a = t.joint_to_actuator('position', q)
    known = np.isfinite(a).all(axis=-1)
    assert known.mean() > 0.8
    back = t.actuator_to_joint('position', a)
    for angles, foot, again in zip(a[known], q[known], back[known], strict=True):
        for leg, angle in zip(legs, angles, strict=True):
            assert abs(residual(leg, angle, foot)) <= 1e-12
            assert abs(residual(leg, angle, again)) <= 1e-12


@pytest.mark.parametrize('angle', np.linspace(-np.pi, np.pi, 17))
def test_the_elbow_is_the_one_nearer_to_actuator_zero(angle):
    """In the middle of the domain, whatever the crank's angle; the other one is no solution."""
    leg, middle = {**LEFT, 'crank_angle': angle}, np.zeros(2)
    t = ankle(leg, RIGHT, lower=(-0.2, -0.2), upper=(0.2, 0.2))
    left, right = t.joint_to_actuator('position', middle)
    # A crank mirrored in the line from the motor to the rod's end on the foot closes as well.
    x, _, z = foot_of(leg, middle) - leg['motor']
    other = np.angle(np.exp(1j * (2.0 * (np.arctan2(-z, x) - angle) - left)))
    assert abs(residual(leg, other, middle)) <= 1e-15
    assert abs(left) <= abs(other)
    found = t.actuator_to_joint('position', [other, right], guess=middle)
    assert not (np.abs(found - middle) <= 0.1).all()


def test_a_crank_that_is_a_turn_further_is_no_solution():
    """Actuators are within half a turn of zero: beyond, a stream knows as little as a batch."""
    t = ankle(
        {
            'motor': (0.0, 0.05, 0.1043), 'crank': 0.0243, 'rod': 0.1785,
            'foot': (-0.0996, 0.05, -0.0328), 'crank_angle': 2.2,
        },
        {
            'motor': (0.0224, -0.05, 0.1903), 'crank': 0.0634, 'rod': 0.205,
            'foot': (0.0665, -0.05, -0.0236), 'crank_angle': 0.06,
        },
        lower=(-0.9, -0.95),
        upper=(0.65, 0.75),
        actuator_reduction=(-3.0, 2.0),
    )  # fmt: skip
    for q in ((0.25, -0.4), (0.0, -0.25)):
        a = t.joint_to_actuator('position', q)
        assert np.isfinite(t.actuator_to_joint('position', [a], guess=[q])).all()
        a = np.add(a, (6.0 * np.pi, 0.0))
        assert np.isnan(t.actuator_to_joint('position', [a], guess=[q])).all()
        assert np.isnan(t.actuator_to_joint('position', a, guess=q)).all()
