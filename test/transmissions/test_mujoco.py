# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Our mechanisms against models of the same linkages in MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.transmissions import PositionDependentTransmission
from transmission_bridge.transmissions.coupled import CoupledTransmission
from transmission_bridge.transmissions.crank_slider import (
    CrankSliderTransmission,
    GuidedSlider,
    HingedCylinder,
)
from transmission_bridge.transmissions.parallel_ankle import AnkleLeg, ParallelAnkleTransmission
from transmission_bridge.transmissions.screw import ScrewTransmission

mujoco = pytest.importorskip('mujoco', reason='the MuJoCo wheel is not installed')

#: Lengths, velocities and moments agree to this.
TOLERANCE = 1e-9

COUNT = 300


class Model:
    """A MuJoCo model and its data at one configuration after the other."""

    def __init__(self, world: str, rest: str) -> None:
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler angle="radian"/><worldbody>{world}</worldbody>{rest}</mujoco>'
        )
        self.data = mujoco.MjData(self.model)

    def at(self, position, velocity):
        """Return the data with positions and velocities set and everything computed."""
        self.data.qpos[:] = position
        self.data.qvel[:] = velocity
        mujoco.mj_forward(self.model, self.data)
        return self.data

    def actuator_moments(self) -> np.ndarray:
        """Return d(actuator length)/dq, shape (n_actuators, n_joints)."""
        dense = np.zeros((self.model.nu, self.model.nv))
        data = self.data
        if data.actuator_moment.ndim == 2:
            return np.array(data.actuator_moment)
        mujoco.mju_sparse2dense(
            dense, data.actuator_moment, data.moment_rownnz, data.moment_rowadr,
            data.moment_colind,
        )  # fmt: skip
        return dense

    def tendon_moments(self) -> np.ndarray:
        """Return d(tendon length)/dq, shape (n_tendons, n_joints)."""
        dense = np.zeros((self.model.ntendon, self.model.nv))
        data, model = self.data, self.model
        moments = np.array(data.ten_J)
        if moments.ndim == 2:
            return moments
        owner = data if hasattr(data, 'ten_J_rownnz') else model
        mujoco.mju_sparse2dense(
            dense, moments, owner.ten_J_rownnz, owner.ten_J_rowadr, owner.ten_J_colind
        )
        return dense


INERTIA = '<geom type="sphere" size="0.01" mass="1"/>'


def crank(radius: float, angle: float) -> str:
    """Return a body that turns about z, with a site at the end of its crank."""
    tip = (radius * np.cos(angle), radius * np.sin(angle), 0.0)
    return (
        f'<body><joint name="j" type="hinge" axis="0 0 1"/>{INERTIA}'
        f'<site name="crank" pos="{_text(tip)}"/></body>'
    )


def compare(t: PositionDependentTransmission, model: Model, measure, margin: float = 0.02) -> None:
    """Compare length, velocity and moment over the domain; ``measure`` reads the model."""
    random = np.random.default_rng(0)
    low, high = t.domain.lower[0], t.domain.upper[0]
    q = random.uniform(low + margin * (high - low), high - margin * (high - low), size=(COUNT, 1))
    velocity, force = random.normal(size=(2, COUNT, 1))
    a = t.joint_to_actuator('position', q)
    back = t.actuator_to_joint('position', a)
    a_velocity = t.joint_to_actuator('velocity', velocity, at=q)
    torque = t.actuator_to_joint('effort', force, at=a)
    for i in range(COUNT):
        model.at(q[i], velocity[i])
        length, rate, moment = measure(model)
        assert abs(length - a[i, 0]) <= TOLERANCE
        assert abs(rate - a_velocity[i, 0]) <= TOLERANCE
        assert abs(moment * force[i, 0] - torque[i, 0]) <= TOLERANCE
        model.at(back[i], velocity[i])
        assert abs(measure(model)[0] - a[i, 0]) <= TOLERANCE


@pytest.mark.parametrize('offset', [0.0, 0.015, -0.03])
@pytest.mark.parametrize('angle', [1.6, -1.2])
def test_a_slider_crank(offset: float, angle: float) -> None:
    """The slider on a guide is MuJoCo's slider-crank, seen from the other end of its axis."""
    r, rod = 0.04, 0.12
    model = Model(
        f'<site name="slider" pos="0 {offset} 0" zaxis="-1 0 0"/>' + crank(r, angle),
        f'<actuator><general cranksite="crank" slidersite="slider" cranklength="{rod}"/>'
        '</actuator>',
    )
    compare(
        CrankSliderTransmission(GuidedSlider(r, rod, offset), angle),
        model,
        lambda m: (
            -m.data.actuator_length[0],
            -m.data.actuator_velocity[0],
            -m.actuator_moments()[0, 0],
        ),
    )


@pytest.mark.parametrize('angle', [1.2, -0.7])
def test_a_hinged_cylinder(angle: float) -> None:
    """The cylinder between two hinges is a spatial tendon between two sites."""
    r, d = 0.25, 0.9
    model = Model(
        f'<site name="base" pos="{d} 0 0"/>' + crank(r, angle),
        '<tendon><spatial><site site="base"/><site site="crank"/></spatial></tendon>',
    )
    compare(
        CrankSliderTransmission(HingedCylinder(r, d), angle),
        model,
        lambda m: (m.data.ten_length[0], m.data.ten_velocity[0], m.tendon_moments()[0, 0]),
    )


def test_coupled_and_screw_are_fixed_tendons() -> None:
    """Actuators that are weighted sums of joints are fixed tendons with these weights."""
    weights = np.array([[1.5, 3.2, 0.0], [3.1, 1.4, 0.0], [0.0, -0.7, 2.0]])
    lead = 0.005
    joints = ''.join(f'<body><joint name="j{i}" type="hinge"/>{INERTIA}</body>' for i in range(3))
    slide = f'<body><joint name="j3" type="slide"/>{INERTIA}</body>'
    rows = [list(enumerate(row)) for row in weights.tolist()] + [[(3, 2.0 * np.pi / lead)]]
    tendons = ''.join(
        '<fixed>'
        + ''.join(f'<joint joint="j{i}" coef="{float(c)!r}"/>' for i, c in row)
        + '</fixed>'
        for row in rows
    )
    model = Model(joints + slide, f'<tendon>{tendons}</tendon>')
    coupled, screw = CoupledTransmission(np.linalg.inv(weights)), ScrewTransmission(lead)
    random = np.random.default_rng(0)
    for _ in range(COUNT):
        q, velocity, force = random.normal(size=(3, 4))
        model.at(q, velocity)

        def both(direction: str, interface: str, values: np.ndarray) -> np.ndarray:
            return np.concatenate(
                [
                    getattr(coupled, direction)(interface, values[:3]),
                    getattr(screw, direction)(interface, values[3:]),
                ]
            )

        for ours, theirs in (
            (both('joint_to_actuator', 'position', q), model.data.ten_length),
            (both('joint_to_actuator', 'velocity', velocity), model.data.ten_velocity),
            (both('actuator_to_joint', 'effort', force), model.tendon_moments().T @ force),
        ):
            assert (np.abs(ours - theirs) <= TOLERANCE * (1.0 + np.abs(theirs))).all()


@pytest.mark.parametrize('second_axis', [(0.0, 1.0, 0.0), (0.2, 1.0, -0.3)])
def test_a_parallel_ankle(second_axis: tuple[float, float, float]) -> None:
    """Foot, cranks and rods as a spatial model: the same angles, velocities and moments."""
    legs = (
        {'motor': (0.0, 0.05, 0.24), 'crank': 0.05, 'rod': 0.24, 'foot': (0.05, 0.05, 0.0)},
        {'motor': (0.01, -0.06, 0.15), 'crank': 0.045, 'rod': 0.152, 'foot': (0.05, -0.05, -0.01),
         'axis': second_axis},
    )  # fmt: skip
    t = ParallelAnkleTransmission(
        tuple(AnkleLeg(**leg) for leg in legs), lower=(-0.5, -0.3), upper=(0.4, 0.3)
    )
    cranks = ''
    for i, leg in enumerate(legs):
        axis = np.array(leg.get('axis', (0.0, 1.0, 0.0)))
        axis = axis / np.linalg.norm(axis)
        ahead = np.array([1.0, 0.0, 0.0]) - axis * axis[0]
        tip = leg['crank'] * ahead / np.linalg.norm(ahead)
        cranks += (
            f'<body pos="{_text(leg["motor"])}"><joint type="hinge" axis="{_text(axis)}"/>'
            f'{INERTIA}<site name="tip{i}" pos="{_text(tip)}"/></body>'
        )
    foot = ''.join(
        f'<site name="foot{i}" pos="{_text(leg["foot"])}"/>' for i, leg in enumerate(legs)
    )
    model = Model(
        f'<body><joint type="hinge" axis="0 1 0"/>{INERTIA}<body>'
        f'<joint type="hinge" axis="1 0 0"/>{INERTIA}{foot}</body></body>{cranks}',
        '<tendon>'
        + ''.join(
            f'<spatial><site site="tip{i}"/><site site="foot{i}"/></spatial>' for i in (0, 1)
        )
        + '</tendon>',
    )
    rods = np.array([leg['rod'] for leg in legs])
    random = np.random.default_rng(0)
    q = random.uniform(t.domain.lower, t.domain.upper, size=(COUNT, 2))
    q = q[np.isfinite(t.joint_to_actuator('position', q)).all(axis=-1)]
    assert len(q) > 0.8 * COUNT
    velocity, torque = random.normal(size=(2, len(q), 2))
    a = t.joint_to_actuator('position', q)
    a_velocity = t.joint_to_actuator('velocity', velocity, at=q)
    a_torque = t.joint_to_actuator('effort', torque, at=q)
    foot_angles = t.actuator_to_joint('position', a)
    for i in range(len(q)):
        # The loop as MuJoCo closes it: cranks turned until both rods have their length.
        angles = a[i] + 0.02 * random.normal(size=2)
        for _ in range(30):
            data = model.at(np.concatenate([q[i], angles]), np.zeros(4))
            slope = model.tendon_moments()[:, 2:]
            angles = angles - np.linalg.solve(slope, np.array(data.ten_length) - rods)
        assert np.abs(angles - a[i]).max() <= TOLERANCE
        data = model.at(
            np.concatenate([foot_angles[i], a[i]]), np.concatenate([velocity[i], a_velocity[i]])
        )
        assert np.abs(np.array(data.ten_length) - rods).max() <= 1e-12
        assert np.abs(data.ten_velocity).max() <= TOLERANCE
        # Rod forces that hold the foot's torque, and what they ask of the motors.
        moments = model.tendon_moments()
        forces = np.linalg.solve(moments[:, :2].T, torque[i])
        assert np.abs(-moments[:, 2:].T @ forces - a_torque[i]).max() <= TOLERANCE


def _text(vector) -> str:
    return ' '.join(repr(float(component)) for component in vector)
