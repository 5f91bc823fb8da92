# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Joints against numbers that iDynTree computed."""

from __future__ import annotations

import numpy as np

from transmission_bridge.kinematics import Joint, JointDynamicsType

TOLERANCE = 1e-12
DIRECTIONS = {'child1_parent0': (1, 0), 'child0_parent1': (0, 1)}


def make_joint(case):
    """Return the joint of a case."""
    options = {}
    if case['kind'] in ('revolute', 'prismatic'):
        options['axis'] = case['axis_direction_in_link1']
        options['origin'] = case['axis_origin_in_link1']
    return Joint(case['link1'], case['link2'], case['kind'], case['link1_H_link2_rest'], **options)


def compute(joint, case, child, parent):
    """Return what the joint says for every key that a case may hold."""
    q = case['q']
    results = {'transform': joint.transform(q, child, parent)}
    results['rest_transform'] = joint.rest_transform(child, parent)
    # Joints with several degrees of freedom list their vectors, the others have one or none.
    subspace = joint.motion_subspace(child, parent, q)
    results['motion_subspace'] = subspace.T if joint.n_dofs > 1 else subspace[:, :1].ravel()
    if 'wrench' not in case:
        return results
    dq, ddq, twist, acc = (case[key] for key in ('dq', 'ddq', 'parent_twist', 'parent_acc'))
    results['joint_torque(applied_by=parent,on=child)'] = joint.joint_torque(
        q, case['wrench'], applied_by=parent, on=child
    )
    if joint.n_positions:
        results['transform_derivative'] = joint.transform_derivative(q, child, parent)
    results['child_twist'] = joint.child_velocity(q, dq, twist, child, parent)
    _, results['child_acc'] = joint.child_velocity_acceleration(
        q, dq, ddq, twist, acc, child, parent
    )
    _, results['child_bias_acc'] = joint.child_velocity_acceleration(
        q, dq, None, twist, acc, child, parent
    )
    return results


def test_every_case_agrees(load_vectors):
    """Transforms, subspaces, velocities, accelerations and torques are iDynTree's to 1e-12."""
    worst = {}
    cases = load_vectors('ijoint_vectors.json')['cases']
    assert cases
    for case in cases:
        joint = make_joint(case)
        assert joint.n_positions == case['nr_pos_coords']
        assert joint.n_dofs == case['nr_dofs']
        assert (joint.link1, joint.link2) == (case.get('first', 0), case.get('second', 1))
        for direction, (child, parent) in DIRECTIONS.items():
            results = compute(joint, case, child, parent)
            for key, expected in case[direction].items():
                difference = np.max(np.abs(np.ravel(results[key]) - np.ravel(expected)))
                worst[key] = max(worst.get(key, 0.0), float(difference))
    assert max(worst.values()) <= TOLERANCE, worst


def test_new_joint_has_the_same_defaults(load_vectors):
    """Limits, switches, damping, friction and type of a new joint are iDynTree's."""
    cases = [case for case in load_vectors('ijoint_vectors.json')['cases'] if 'defaults' in case]
    assert cases
    for case in cases:
        joint = make_joint(case)
        limits, dynamics = joint.limits, joint.dynamics
        assert case['defaults'] == {
            'has_pos_limits': limits.has_position,
            'min': limits.lower[0],
            'max': limits.upper[0],
            'has_vel': limits.has_velocity,
            'vel': limits.velocity[0],
            'has_eff': limits.has_effort,
            'eff': limits.effort[0],
            'damping': dynamics.damping[0],
            'static_friction': dynamics.static_friction[0],
            'dynamics_type': int(dynamics.type),
        }
        assert dynamics.type is JointDynamicsType.NONE
