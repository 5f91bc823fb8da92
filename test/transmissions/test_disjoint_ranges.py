# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Position limits of actuators and of their joints that exclude each other are refused."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError
from transmission_bridge.transmissions import RobotTransmissions

SIMPLE = '<plugin>transmission_interface/SimpleTransmission</plugin>'
DIFFERENTIAL = '<plugin>transmission_interface/DifferentialTransmission</plugin>'
CRANK = (
    '<plugin>transmission_bridge/CrankSliderTransmission</plugin><param name="rod_length">0.3'
    '</param><param name="crank_radius">0.1</param><param name="crank_angle">1.2</param>'
)
TABLE = (
    '<plugin>transmission_bridge/TabulatedTransmission</plugin>'
    '<param name="actuator">-3 0 1 3</param><param name="joint">-2 0 2 2.5</param>'
)


def robot(plugin, limits, *, joints=('-1 1',), inside='', extra='', tree=''):
    """
    Return a robot with transmission ``t``.

    :param limits: Attributes of the ``<limit>`` of each actuator.
    :param joints: Lower and upper limits of each joint; empty: continuous.
    :param inside: What stands inside the first joint of the transmission.
    :param extra: What stands behind it in the block.
    :param tree: More of the URDF.
    """
    components, members = '', ''
    for number, text in enumerate(joints, 1):
        kind, limit = 'continuous', ''
        if text:
            lower, upper = text.split()
            kind = 'revolute'
            limit = f'<limit lower="{lower}" upper="{upper}" velocity="1" effort="1"/>'
        tree += (
            f'<link name="l{number}"/><joint name="j{number}" type="{kind}">'
            f'<parent link="base"/><child link="l{number}"/>{limit}</joint>'
        )
        components += f'<joint name="j{number}"/>'
        members += (
            f'<joint name="j{number}" role="joint{number}">{inside if number == 1 else ""}</joint>'
        )
    for number, text in enumerate(limits, 1):
        limit = f'<limit {text}/>' if text else ''
        members += f'<actuator name="a{number}" role="actuator{number}">{limit}</actuator>'
    return RobotTransmissions(
        load_description(
            f'<robot name="r"><link name="base"/>{tree}<ros2_control name="b" type="system">'
            f'{components}\n<transmission name="t">{plugin}{members}</transmission>{extra}'
            '</ros2_control></robot>'
        )
    )


def test_disjoint_ranges_refuse_the_transmission():
    """Each command would send 5: the finding has the place and both ranges at the motor."""
    t = robot(SIMPLE, ['lower="5" upper="30"'])
    assert set(t.lost_joints) == {'j1'}
    assert t.joint_names == t.actuator_names == ()
    (finding,) = t.findings
    assert (finding.severity, finding.subject, finding.line) == ('error', 't', 2)
    assert finding.path == '/robot/ros2_control/transmission'
    assert "position limits of actuator 'a1' and of 'j1' exclude each other" in finding.message
    assert '[-1, 1]' in finding.expected
    assert finding.found == '[5, 30]'


RATIO = '<mechanical_reduction>{}</mechanical_reduction>'


@pytest.mark.parametrize(
    ('plugin', 'limits', 'joints', 'inside', 'is_lost'),
    [
        (SIMPLE, ['lower="-60" upper="-50.1"'], ['-1 1'], RATIO.format(50), True),
        (SIMPLE, ['upper="-4.1"'], ['-1 1'], '<offset>-3</offset>', True),
        (SIMPLE, ['lower="1.001"'], ['-1e300 1'], '', True),
        # A motor of a pair is at most where both joints take it; the other has no limit.
        (DIFFERENTIAL, ['', 'lower="2.5"'], ['-1 1', '-1 1'], '', True),
        # The slide is between 0.32 and 0.39 m.
        (CRANK, ['lower="0.4"'], ['-0.4 0.6'], '', True),
        (CRANK, ['lower="0.5"'], [''], '', True),
        (TABLE, ['upper="-1.6"'], ['-1 1'], '', True),
        (SIMPLE, ['lower="1" upper="30"'], ['-1 1'], '', False),
        (SIMPLE, ['lower="0.30000000000000004"'], ['-1 0.1'], RATIO.format(3), False),
        (SIMPLE, ['lower="500"'], [''], '', False),
        (SIMPLE, ['velocity="1" effort="2"'], ['-1 1'], '', False),
        # No position of the joint is allowed at all, which is a finding of its own.
        (SIMPLE, ['lower="500"'], ['1 -1'], '', False),
        (DIFFERENTIAL, ['', 'lower="2"'], ['-1 1', '-1 1'], '', False),
        (DIFFERENTIAL, ['', 'lower="99"'], ['-1 1', ''], '', False),
        (CRANK, ['upper="0.385"'], ['-0.4 0.6'], '', False),
    ],
)
def test_each_kind_of_transmission_is_compared(plugin, limits, joints, inside, is_lost):
    """Ranges that touch are accepted, as those of joints without limits."""
    t = robot(plugin, limits, joints=joints, inside=inside)
    assert len(t.lost_joints) == len(joints) * is_lost
    assert not is_lost or 'exclude each other' in t.findings[-1].message


def test_a_limit_that_another_transmission_gives_the_actuator_counts():
    """It is one motor, whichever of them has its limit."""
    dial = (
        '<link name="l"/><joint name="dial" type="continuous"><parent link="base"/>'
        '<child link="l"/></joint>'
    )
    gauge = (
        f'<joint name="dial"/><transmission name="gauge">{SIMPLE}<joint name="dial"/>'
        '<actuator name="a1"><limit lower="{}"/></actuator></transmission>'
    )
    for lower, lost in ((0.5, set()), (1.5, {'j1'})):
        t = robot(SIMPLE, [''], extra=gauge.format(lower), tree=dial)
        assert set(t.lost_joints) == lost


@pytest.mark.parametrize(
    ('parameters', 'found'),
    [
        ({'t.actuators.a1.limit.lower': 1.5}, r'\[1.5, 2\]'),
        ({'t.actuators.a1.limit.upper': -1.5}, r'\[-2, -1.5\]'),
        ({'t.joints.j1.offset': 4.0}, r'\[-5, -3\].*\[-2, 2\]'),
        (
            {'t.joints.j1.mechanical_reduction': 0.5, 't.actuators.a1.limit.lower': 0.7},
            r'\[0.7, 2\]',
        ),
    ],
)
def test_tuning_that_makes_ranges_disjoint_is_refused(parameters, found):
    """The error names both ranges, and nothing has changed."""
    t = robot(SIMPLE, ['lower="-2" upper="2"'])
    with pytest.raises(ParameterError, match=found) as caught:
        t.with_parameters(parameters)
    assert caught.value.transmission == 't'
    assert 'exclude each other' in str(caught.value)
    accepted = t.with_parameters({'t.actuators.a1.limit.lower': 1.0})
    assert accepted.tunables['t'] != t.tunables['t']


numbers = st.floats(-5.0, 5.0).map(lambda number: round(number, 2))


@settings(max_examples=30)
@given(motor=st.tuples(numbers, numbers), joint=st.tuples(numbers, numbers), ratio=numbers)
def test_a_joint_is_bridged_if_some_position_is_within_both(motor, joint, ratio):
    """Against the ends of both intervals by hand."""
    (lower, upper), (low, high) = sorted(motor), sorted(joint)
    ratio = ratio or 1.0
    t = robot(
        SIMPLE,
        [f'lower="{lower}" upper="{upper}"'],
        joints=[f'{low} {high}'],
        inside=f'<mechanical_reduction>{ratio}</mechanical_reduction>',
    )
    least, greatest = sorted((ratio * low, ratio * high))
    gap = max(least, lower) - min(greatest, upper)
    if not math.isclose(gap, 0.0, abs_tol=1e-6):
        assert bool(t.lost_joints) == (gap > 0.0)
