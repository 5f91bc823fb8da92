# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Devices against numbers that pinocchio, iDynTree and RobWork computed."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.kinematics import joint_from_spec, JointDevice

TOLERANCE = 1e-12


@pytest.fixture(scope='module')
def vectors(load_vectors):
    """Return the kinematics vectors."""
    return load_vectors('kinematics_vectors.json')


@pytest.fixture(scope='module')
def load_robot(vectors_folder):
    """Return a function that loads a robot of the vectors, or skips where it is not shipped."""

    def load(name):
        path = vectors_folder / 'urdf' / name
        if not path.is_file():
            pytest.skip(f'{name} is not shipped; put it into {path.parent} to test it')
        return load_description(path)

    return load


def test_device_agrees_with_all_peers(vectors, load_robot, device_index):
    """Poses and Jacobians of every sample are those of each peer to 1e-12."""
    case = vectors['devices'][device_index]
    robot = load_robot(case['urdf'])
    device = JointDevice.from_description(
        robot, base=case['base'], end=case['tip'], joints=case['joints']
    )
    q = np.array([sample['q'] for sample in case['samples']])
    poses, jacobians = device.base_t_end(q), device.base_j_end(q)
    peers = case['samples'][0]['fk']
    assert peers
    for peer in peers:
        fk = np.array([sample['fk'][peer] for sample in case['samples']])
        jacobian = np.array([sample['jacobian'][peer] for sample in case['samples']])
        np.testing.assert_allclose(poses, fk, rtol=0.0, atol=TOLERANCE, err_msg=peer)
        np.testing.assert_allclose(jacobians, jacobian, rtol=0.0, atol=TOLERANCE, err_msg=peer)


def test_joints_on_the_way_are_the_default(vectors, load_robot, device_index):
    """Without names a device has the movable joints from base to tip in order, mimics resolved."""
    case = vectors['devices'][device_index]
    robot = load_robot(case['urdf'])
    device = JointDevice.from_description(robot, base=case['base'], end=case['tip'])
    specs = {spec.name: spec for spec in robot.joints}
    owners = [
        specs[name].mimic.joint if specs[name].mimic else name for name in case['joints_on_path']
    ]
    assert list(device.joint_names) == list(dict.fromkeys(owners))


def test_limits_agree(vectors, load_robot, robot_index):
    """Limits and losses are those of the peers, but a continuous joint has no position limits."""
    name = list(vectors['limits'])[robot_index]
    robot = load_robot(name)
    for joint_name, expected in vectors['limits'][name].items():
        joint = joint_from_spec(robot.joint(joint_name))
        peer = expected['idyntree']
        limits, dynamics = joint.limits, joint.dynamics
        assert limits.has_velocity == peer['has_vel']
        assert limits.velocity == (peer['vel'],)
        assert limits.has_effort == peer['has_eff']
        assert limits.effort == (peer['eff'],)
        assert dynamics.damping == (peer['damping'],)
        assert dynamics.static_friction == (peer['static_friction'],)
        assert int(dynamics.type) == peer['dynamics_type']
        if expected['type'] == 'continuous':
            assert not limits.has_position
        else:
            assert limits.has_position == peer['has_pos']
            assert (limits.lower, limits.upper) == ((peer['min'],), (peer['max'],))


def test_device_limits_agree(vectors, load_robot, device_index):
    """Bounds, speeds and efforts of a device are those that pinocchio reads."""
    case = vectors['devices'][device_index]
    robot = load_robot(case['urdf'])
    device = JointDevice.from_description(
        robot, base=case['base'], end=case['tip'], joints=case['joints']
    )
    limits = vectors['limits'].get(case['urdf'], {})
    for column, name in enumerate(case['joints']):
        if name not in limits:
            continue
        peer = limits[name]['pinocchio']
        assert device.velocity_limits[column] == peer['velocity']
        assert device.effort_limits[column] == peer['effort']
        bounds = (device.bounds[0][column], device.bounds[1][column])
        is_continuous = limits[name]['type'] == 'continuous'
        expected = (-np.inf, np.inf) if is_continuous else (peer['lower'][0], peer['upper'][0])
        assert bounds == expected
