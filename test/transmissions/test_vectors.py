# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The classical transmissions against the numbers that the peers' own code computes."""

import math

import numpy as np
import pytest

from transmission_bridge import RobotTransmissions, TransmissionBridgeError
from transmission_bridge.description import MemberSpec, RobotDescription, TransmissionSpec
from transmission_bridge.interfaces import find_quantity
from transmission_bridge.transmissions import (
    DifferentialTransmission,
    FourBarLinkageTransmission,
    Registry,
    SimpleTransmission,
)

#: The dialect of descriptions that a peer reads.
DIALECTS = {'ros1': 'ros_control', 'ros2': 'ros2_control'}
REGISTRY = Registry()
PAIRS = {'differential': DifferentialTransmission, 'four_bar_linkage': FourBarLinkageTransmission}
NUMBERS = ('actuator_reduction', 'joint_reduction', 'joint_offset')

#: Largest deviation, relative to what is expected and to the sum of the absolute terms.
RELATIVE, RELATIVE_TO_TERMS = 1e-12, 1e-15

IGNORE_ENCODER = 'absolute_position[ignore_transmission_for_absolute_encoders=true]'


def build(case):
    """Build the transmission of a case from its class."""
    ar, jr, offset = ([float(number) for number in case[key]] for key in NUMBERS)
    if case['kind'] == 'simple':
        return SimpleTransmission(ar[0], offset[0])
    return PAIRS[case['kind']](ar, jr, offset)


def describe(case, dialect, **more):
    """Build the robot of a case from the spec of a dialect."""
    ar, jr, offset = (case[key] for key in NUMBERS)
    if case['kind'] == 'simple' and dialect == 'ros2_control':
        # Its only ratio is the joint's there, and the actuator's in ROS 1.
        ar, jr = jr, ar
    given = frozenset({'role', 'mechanical_reduction', 'offset'})
    joints, actuators = (
        tuple(
            MemberSpec(f'{side}{k}', f'{side}{k}', *numbers, given=given)
            for k, numbers in enumerate(zip(*columns, strict=True), 1)
        )
        for side, columns in (('joint', (jr, offset)), ('actuator', (ar,)))
    )
    kind = f'transmission_interface/{case["kind"].title().replace("_", "")}Transmission'
    spec = TransmissionSpec('t', kind, dialect, joints, actuators, **more)
    return RobotTransmissions(RobotDescription('robot', transmissions=(spec,)), registry=REGISTRY)


@pytest.mark.parametrize('peer', DIALECTS)
def test_the_peers_numbers(load_vectors, peer):
    """
    Every interface and direction of every case is right, by class and by description.

    A value has to be right relative to the sum of its absolute terms, and relative to itself
    unless its terms cancel to less than a thousandth, where the peers' own last bit is more.
    """
    checked, wrong = 0, []
    for case in load_vectors(f'{peer}_vectors.json')['cases']:
        transmission, robot = build(case), describe(case, DIALECTS[peer])
        for theirs, directions in case['interfaces'].items():
            ours = {'torque_sensor': 'effort'}.get(theirs, theirs)
            # ROS 1's effort of a four-bar linkage loses power; see the next test.
            is_lossy = (peer, case['kind'], ours) == ('ros1', 'four_bar_linkage', 'effort')
            for direction, numbers in directions.items():
                if theirs == IGNORE_ENCODER or is_lossy:
                    continue
                found = transmission.map(direction, ours, numbers['in'])
                assert robot.map(direction, ours, numbers['in']).tolist() == found.tolist()
                parts = transmission.coefficients(direction, find_quantity(ours, direction))
                matrix, before, after = map(np.abs, parts)
                terms = matrix @ (np.abs(numbers['in']) + before) + after
                error, size = np.abs(found - numbers['out']), np.abs(numbers['out'])
                is_right = (error <= RELATIVE_TO_TERMS * terms) & (
                    (error <= RELATIVE * size) | (terms > 1000.0 * size)
                )
                checked += 1
                if not is_right.all():  # NaN is not right
                    wrong.append((case['id'], theirs, direction, found, numbers['out']))
    assert checked > 3000
    assert not wrong, wrong[:20]


def test_old_four_bar_effort_differs_because_it_loses_power(load_vectors):
    """ROS 1's effort of a four-bar linkage does not conserve power; ours, which does, differs."""
    compared = 0
    for case in load_vectors('ros1_vectors.json')['cases']:
        if case['kind'] != 'four_bar_linkage' or case['family'] == 'unit':
            continue
        transmission, rate = build(case), np.array([0.3, -0.7])
        for direction, numbers in case['interfaces']['effort'].items():
            given, theirs = np.array(numbers['in']), np.array(numbers['out'])
            if not given.any():
                continue
            compared += 1
            ours = transmission.map(direction, 'effort', given)
            there = transmission.map(direction, 'velocity', rate)
            terms = abs(ours * there).sum() + abs(given * rate).sum()
            assert abs(ours @ there - given @ rate) <= 1e-14 * terms
            assert abs(theirs @ there - given @ rate) > 1e-6 * terms
    assert compared


def test_ignored_absolute_encoder_passes_by_role(load_vectors):
    """With <ignoreTransmissionAbsoluteEncoder> absolute positions pass by role, not swapped."""
    cases = load_vectors('ros1_vectors.json')['cases']
    cases = [case for case in cases if IGNORE_ENCODER in case['interfaces']]
    assert cases
    for case in cases:
        robot = describe(case, 'ros_control', ignore_absolute_encoder=True)
        numbers = case['interfaces'][IGNORE_ENCODER]['actuator_to_joint']
        ours = robot.actuator_to_joint('absolute_position', numbers['in']).tolist()
        assert ours == numbers['in'] == numbers['out'][::-1]
        flag = {'ignore_transmission_for_absolute_encoders': True}
        ar, jr, offset = (case[key] for key in NUMBERS)
        alone = DifferentialTransmission(ar, jr, offset, **flag)
        assert alone.actuator_to_joint('absolute_position', numbers['in']).tolist() == ours
        # The encoder alone is concerned.
        numbers = case['interfaces']['position']['actuator_to_joint']
        ours = robot.actuator_to_joint('position', numbers['in'])
        np.testing.assert_allclose(ours, numbers['out'], rtol=1e-12)


@pytest.mark.parametrize('peer', DIALECTS)
def test_what_the_peers_refuse_is_refused(load_vectors, peer):
    """A zero ratio and another number of numbers are; so is what is not finite."""
    for case in load_vectors(f'{peer}_vectors.json')['constructor_errors']:
        numbers = [float(number) for key in NUMBERS for number in case[key]]
        if case['error'] or not all(map(math.isfinite, numbers)):
            with pytest.raises(TransmissionBridgeError):
                build(case)
        else:
            assert build(case)
