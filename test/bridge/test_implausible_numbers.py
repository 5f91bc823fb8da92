# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers of transmissions that are rather a slip or in other units."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.bridge.implausible_numbers import implausible_numbers

SIMPLE = 'transmission_interface/SimpleTransmission'
FOUR_BAR = 'transmission_interface/FourBarLinkageTransmission'
COUPLED = 'transmission_bridge/CoupledTransmission'


def findings_of(
    type_name, *, joints, actuators, extra='', limits='lower="-3.14" upper="3.14"',
    kind='revolute', dialect='ros2',
):  # fmt: skip
    """Return the findings of a robot with one transmission; members are what stands in them."""
    count = range(1, len(joints) + 1)
    inside = ''.join(
        f'<{side} name="{side}_{place}" role="{side}{place}">{numbers}</{side}>\n'
        for side, members in (('joint', joints), ('actuator', actuators))
        for place, numbers in enumerate(members, 1)
    )
    transmission = (
        f'<transmission name="t"><plugin>{type_name}</plugin>{extra}\n{inside}</transmission>'
    )
    robot = f"""<robot name="r"><link name="l0"/>
    {''.join(f'<link name="l{place}"/>' for place in count)}
    {
        ''.join(
            f'<joint name="joint_{place}" type="{kind}"><parent link="l{place - 1}"/>'
            f'<child link="l{place}"/><limit {limits} velocity="1" effort="1"/></joint>'
            for place in count
        )
    }
    <ros2_control name="b" type="system"><hardware><plugin>any/Driver</plugin></hardware>
    {''.join(f'<joint name="joint_{place}"/>' for place in count)}
    {transmission}</ros2_control></robot>"""
    transmissions = tb.RobotTransmissions(tb.load_description(robot))
    assert list(transmissions.transmissions) == ['t'], transmissions.findings
    assert transmissions.findings == ()
    found = implausible_numbers(transmissions)
    lines = robot.splitlines()
    for finding in found:
        assert (finding.severity, finding.subject) == ('warning', 't')
        assert finding.path.startswith('/robot/ros2_control/transmission')
        for name in finding.message.split("'")[1::2]:
            assert f'name="{name}"' in lines[finding.line - 1]
    return found


magnitudes = st.floats(-9.0, 9.0).map(lambda exponent: 10.0**exponent)
signs = st.sampled_from([-1.0, 1.0])


@given(magnitudes, signs)
def test_a_reduction_beyond_gears_is_warned_of_where_it_stands(magnitude, sign):
    """A reduction outside 1e-4 to 1e5, of either sign, is one warning at the joint that has it."""
    found = findings_of(
        SIMPLE,
        joints=[f'<mechanical_reduction>{sign * magnitude!r}</mechanical_reduction>'],
        actuators=[''],
    )
    if 1e-4 <= magnitude <= 1e5:
        assert found == ()
    else:
        (finding,) = found
        assert "'joint_1' is implausible" in finding.message
        assert finding.expected == 'a magnitude from 0.0001 to 100000'
        assert float(finding.found) == pytest.approx(sign * magnitude, rel=1e-5)


def test_reductions_that_are_extreme_together_are_warned_of():
    """Two reductions on one way multiply, and the ratio of that actuator is what counts."""
    numbers = '<mechanical_reduction>2000</mechanical_reduction>'
    (finding,) = findings_of(FOUR_BAR, joints=[numbers, ''], actuators=[numbers, ''])
    assert "the ratio of actuator 'actuator_1'" in finding.message
    assert float(finding.found) == 4e6


@pytest.mark.parametrize(
    ('matrix', 'words'),
    [
        ('1 0; -0.5 0.5', None),
        ('1e-7 1; 1 0', None),
        ('2e-6 0; 0 2e-6', 'ratio'),
        ('2e5 0; 0 2e5', 'ratio'),
        ('1 1; 1 1.00001', None),
        ('1 1; 1 1.0000001', 'condition'),
    ],
)
def test_a_matrix_is_warned_of_for_its_ratios_and_its_condition(matrix, words):
    """The largest entry of a column is its actuator's ratio; a condition above 1e6 is told."""
    found = findings_of(
        COUPLED,
        joints=['', ''],
        actuators=['', ''],
        extra=f'<param name="matrix">{matrix}</param>',
    )
    assert bool(found) is (words is not None)
    for finding in found:
        if words == 'condition':
            assert "matrix of transmission 't' is nearly singular" in finding.message
            entries = np.array([row.split() for row in matrix.split(';')], dtype=float)
            assert float(finding.found) == pytest.approx(np.linalg.cond(entries), rel=1e-2)
        else:
            assert 'the ratio of actuator' in finding.message


@given(
    offset=st.floats(-400.0, 400.0),
    bound=st.sampled_from([1.0, math.pi, 3.1416, 3.15, 3.3, 6.2]),
    kind=st.sampled_from(['revolute', 'prismatic', 'continuous']),
)
def test_an_offset_in_degrees_is_warned_of(offset, bound, kind):
    """More than a turn on a joint that has half a turn at most is a warning that asks."""
    found = findings_of(
        SIMPLE,
        joints=[f'<offset>{offset!r}</offset>'],
        actuators=[''],
        limits=f'lower="{-bound}" upper="{bound}"',
        kind=kind,
    )
    expected = kind == 'revolute' and bound < 3.2 and abs(offset) > 2.0 * math.pi
    assert bool(found) is expected
    for finding in found:
        assert 'is in degrees' in finding.message
        assert float(finding.found) == pytest.approx(offset, rel=1e-5)


def test_a_plugin_that_raises_says_nothing(monkeypatch):
    """A Jacobian that raises is no reason to fail, and the numbers of the description are told."""

    def broken(*_):
        raise RuntimeError('a bug')

    monkeypatch.setattr(
        'transmission_bridge.transmissions.linear.LinearTransmission.jacobian', broken
    )
    (finding,) = findings_of(
        SIMPLE,
        joints=['<mechanical_reduction>2e7</mechanical_reduction>'],
        actuators=[''],
    )
    assert "'joint_1' is implausible" in finding.message


@pytest.mark.parametrize('name', ['arm.urdf', 'arm_ros1.urdf', 'one_joint.urdf'])
def test_a_usual_robot_is_not_warned_of(name):
    """The robots of this package have nothing implausible."""
    from transmission_bridge.resources import resource

    robot = tb.RobotTransmissions(tb.load_description(resource('urdf', name)))
    assert implausible_numbers(robot) == ()
