# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Coupled and screw transmissions by formulas written out, and the spellings of a matrix."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError, TransmissionError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.coupled import CoupledTransmission
from transmission_bridge.transmissions.screw import ScrewTransmission


def coupled(parameters: str, n_joints: int = 2, n_actuators: int = 2) -> RobotTransmissions:
    """Return a robot of one coupled transmission."""
    joints = ''.join(f'<joint name="j{i}" role="joint{i}"/>' for i in range(1, n_joints + 1))
    actuators = ''.join(
        f'<actuator name="a{i}" role="actuator{i}"/>' for i in range(1, n_actuators + 1)
    )
    block = ''.join(
        f'<joint name="j{i}"><command_interface name="position"/></joint>'
        for i in range(1, n_joints + 1)
    )
    return RobotTransmissions(
        load_description(
            '<robot name="r"><ros2_control name="b" type="system"><hardware><plugin>p</plugin>'
            f'</hardware>{block}<transmission name="t">'
            '<plugin>transmission_bridge/CoupledTransmission</plugin>'
            f'{joints}{actuators}{parameters}</transmission></ros2_control></robot>'
        )
    )


ROWS = '<param name="joint1">1.5 3.2</param><param name="joint2">3.1, 1.4</param>'
ENTRIES = ''.join(
    f'<param name="joint{i}_output{k}">{value}</param>'
    for i, k, value in ((1, 1, 1.5), (1, 2, 3.2), (2, 1, 3.1), (2, 2, 1.4))
)


@pytest.mark.parametrize(
    'spelling', [ROWS, '<param name="matrix">1.5 3.2; 3.1 1.4;</param>', ENTRIES]
)
def test_three_spellings_are_one_matrix(spelling: str) -> None:
    """Rows, a whole matrix and the design draft's entries say the same, by hand."""
    robot = coupled(spelling)
    assert not [finding for finding in robot.findings if finding.severity != 'info']
    q = robot.actuator_to_joint('position', [2.0, -1.0])
    assert np.allclose(q, [1.5 * 2.0 - 3.2, 3.1 * 2.0 - 1.4], rtol=1e-15, atol=0)
    determinant = 1.5 * 1.4 - 3.2 * 3.1
    expected = np.array([1.4 * 1.0 - 3.2 * 2.0, -3.1 * 1.0 + 1.5 * 2.0]) / determinant
    assert np.allclose(robot.joint_to_actuator('position', [1.0, 2.0]), expected, rtol=1e-14)
    tau = robot.joint_to_actuator('effort', [1.0, 2.0])
    assert np.allclose(tau, [1.5 + 3.1 * 2.0, 3.2 + 1.4 * 2.0], rtol=1e-15)


@pytest.mark.parametrize(
    ('parameters', 'message'),
    [
        ('', 'row of joint1 is missing'),
        ('<param name="joint1">1 2</param>', 'row of joint2 is missing'),
        ('<param name="joint1">1 2</param><param name="joint2">1</param>', 'does not fit'),
        ('<param name="matrix">1 2; 3 4; 5 6</param>', 'does not fit'),
        ('<param name="matrix">1 2 3 4</param>', 'does not fit'),
        ('<param name="matrix">1 2; 3 x</param>', 'parameter matrix is not a number'),
        ('<param name="matrix">1 2; 3 nan</param>', 'parameter matrix is not a number'),
        ('<param name="matrix">1 2; 2 4</param>', 'not have full rank'),
        ('<param name="matrix">0 0; 0 0</param>', 'not have full rank'),
        ('<param name="matrix">1 1; 1 1.0000000000000002</param>', 'not have full rank'),
    ],
)
def test_a_matrix_that_cannot_be_used_is_a_finding(parameters: str, message: str) -> None:
    """A missing row, another shape, a word, a lost rank: an error that costs the transmission."""
    robot = coupled(parameters)
    (finding,) = [finding for finding in robot.findings if finding.severity == 'error']
    assert message in str(finding)
    assert robot.transmissions == {}


def test_an_entry_is_tuned_by_itself() -> None:
    """One entry changes, a change that loses rank is refused, and nothing else moves."""
    robot = coupled(ROWS)
    other = robot.with_parameters({'t': {'matrix': {'joint2': {'actuator1': 0.0}}}})
    assert other.actuator_to_joint('velocity', [1.0, 1.0]).tolist() == [1.5 + 3.2, 1.4]
    with pytest.raises(ParameterError, match='full rank'):
        other.with_parameters({'t': {'matrix': {'joint1': {'actuator1': 0.0}}}})
    # The zero is structural now: actuator 2 does not depend on joint 1 any more.
    assert np.isnan(other.joint_to_actuator('position', [np.nan, 1.0])).tolist() == [True, False]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1), st.floats(1.0, 100.0))
def test_more_or_fewer_actuators_than_joints(
    n_joints: int, n_actuators: int, seed: int, reduction: float
) -> None:
    """What can come back comes back, and least squares and least motion hold for the rest."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(n_joints, n_actuators))
    condition = np.linalg.cond(matrix)
    assume(condition < 1e4)
    t = CoupledTransmission(matrix, (reduction,) * n_actuators, (0.3,) * n_joints)
    a, q = random.normal(size=n_actuators), random.normal(size=n_joints)
    forward = t.actuator_to_joint('position', a)
    assert np.allclose(forward, matrix @ a / reduction + 0.3, rtol=1e-13, atol=1e-13)
    back = t.joint_to_actuator('position', q)
    least = np.linalg.lstsq(matrix / reduction, q - 0.3, rcond=None)[0]
    assert np.abs(back - least).max() <= 1e-13 * condition * (1.0 + np.abs(least).max())


@given(st.floats(1e-4, 0.1), st.sampled_from([1.0, -1.0]), st.floats(0.5, 100.0), st.floats(-1, 1))
def test_a_turn_of_the_screw_is_its_lead(
    size: float, hand: float, reduction: float, offset: float
) -> None:
    """One turn of the screw moves by the lead, and the thrust is the torque's work over it."""
    lead = hand * size
    t = ScrewTransmission(lead, reduction, offset)
    turn = 2.0 * np.pi * reduction
    moved = t.actuator_to_joint('position', [turn]) - t.actuator_to_joint('position', [0.0])
    assert moved[0] == pytest.approx(lead, rel=1e-12, abs=1e-15)
    thrust = t.actuator_to_joint('effort', [0.7])
    assert thrust[0] * lead == pytest.approx(0.7 * turn, rel=1e-14)
    assert t.joint_to_actuator('velocity', [lead])[0] == pytest.approx(turn, rel=1e-14)


@pytest.mark.parametrize('lead', [0.0, np.nan, np.inf])
def test_a_lead_that_cannot_be_used(lead: float) -> None:
    """No lead, no screw."""
    with pytest.raises(TransmissionError, match='lead'):
        ScrewTransmission(lead)
