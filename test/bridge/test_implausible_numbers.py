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
from transmission_bridge.bridge.implausible_numbers import find_implausible_numbers

SIMPLE = 'transmission_interface/SimpleTransmission'
FOUR_BAR = 'transmission_interface/FourBarLinkageTransmission'
COUPLED = 'transmission_bridge/CoupledTransmission'
CRANK_SLIDER = 'transmission_bridge/CrankSliderTransmission'


def findings_of(
    type_name, *, joints, actuators, extra='', limits='lower="-3.14" upper="3.14"',
    kind='revolute', velocity=1.0,
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
            f'<child link="l{place}"/><limit {limits} velocity="{velocity}" effort="1"/></joint>'
            for place in count
        )
    }
    <ros2_control name="b" type="system"><hardware><plugin>any/Driver</plugin></hardware>
    {''.join(f'<joint name="joint_{place}"/>' for place in count)}
    {transmission}</ros2_control></robot>"""
    transmissions = tb.RobotTransmissions(tb.load_description(robot))
    assert list(transmissions.transmissions) == ['t'], transmissions.findings
    assert transmissions.findings == ()
    found = find_implausible_numbers(transmissions)
    lines = robot.splitlines()
    for finding in found:
        assert finding.severity == 'warning'
        at_joint = finding.path.startswith('/robot/joint')
        assert at_joint or finding.path.startswith('/robot/ros2_control/transmission')
        assert finding.subject == ('joint_1' if at_joint else 't')
        for name in finding.message.split("'")[1::2]:
            assert f'name="{name.rpartition(".")[2]}"' in lines[finding.line - 1]
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
    assert "the largest ratio of actuator 'actuator_1'" in finding.message
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
    """The largest entry of a column is its actuator's ratio; a condition over 1e6 is a finding."""
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
            assert 'the largest ratio of actuator' in finding.message


@given(
    offset=st.floats(-400.0, 400.0),
    bound=st.sampled_from([1.0, math.pi, 3.1416, 3.15, 3.3, 4.5, 6.2]),
    kind=st.sampled_from(['revolute', 'prismatic', 'continuous']),
)
def test_an_offset_in_degrees_or_millimetres_is_warned_of(offset, bound, kind):
    """More than a turn or 4 m on a joint that has half a turn or 4 m at most is a warning."""
    found = findings_of(
        SIMPLE,
        joints=[f'<offset>{offset!r}</offset>'],
        actuators=[''],
        limits=f'lower="{-bound}" upper="{bound}"',
        kind=kind,
    )
    degrees = kind == 'revolute' and bound < 3.2 and abs(offset) > 2.0 * math.pi
    millimetres = kind == 'prismatic' and bound <= 4.0 and abs(offset) > 4.0
    assert bool(found) is (degrees or millimetres)
    for finding in found:
        assert ('in degrees' if degrees else 'in millimetres') in finding.message
        assert float(finding.found.split()[0]) == pytest.approx(offset, rel=1e-5)


@pytest.mark.parametrize(
    ('kind', 'ends', 'velocity', 'words'),
    [
        ('revolute', (-110, 110), 1, '-110 rad; -110 degrees are -1.91986 rad'),
        ('revolute', (0, 62.5), 1, '62.5 rad; 62.5 degrees are 1.09083 rad'),
        ('revolute', (-1.9, 1.9), 115, '115 rad/s; 115 degrees/s are 2.00713 rad/s'),
        ('prismatic', (0, 85), 1, '85 m; 85 mm are 0.085 m'),
        ('prismatic', (0, 1), 250, '250 m/s; 250 mm/s are 0.25 m/s'),
        # Several turns, motors without a gear, wheels, long rails, and no limit in effect.
        ('revolute', (-9.42, 10), 52, ''),
        ('revolute', (-62.83, 62.83), 59.8925, ''),
        ('revolute', (-1e16, 1e16), 100, ''),
        ('revolute', (-1.9, 1.9), 1000, ''),
        ('continuous', (-110, 110), 115, ''),
        ('prismatic', (0, 12), 5, ''),
        ('prismatic', (-1000, 1000), 1, ''),
    ],
)
def test_limits_in_degrees_or_millimetres_are_warned_of(kind, ends, velocity, words):
    """The warning stands at the joint and has the value in the other unit."""
    limits = f'lower="{ends[0]}" upper="{ends[1]}"'
    found = findings_of(
        SIMPLE, joints=[''], actuators=[''], limits=limits, kind=kind, velocity=velocity
    )
    assert [finding.found for finding in found] == [words] * bool(words)


CRANK = """<param name="crank_radius">0.04</param>
<param name="rod_length">0.12</param>
<param name="crank_angle">1.6</param>"""
ENDS = '<param name="lower">-0.9</param>\n<param name="upper">0.6</param>'


@pytest.mark.parametrize(
    ('before', 'after', 'words'),
    [
        ('1.6', '90', '90 rad; 90 degrees are 1.5708 rad'),
        ('0.12', '120', '120 m; 120 mm are 0.12 m'),
        ('-0.9', '-48', '-48 rad; -48 degrees are -0.837758 rad'),
    ],
)
def test_dimensions_in_degrees_or_millimetres_are_warned_of(before, after, words):
    """The warning stands at the number and has the value in the other unit."""

    def found(change):
        return findings_of(
            CRANK_SLIDER, joints=[change(ENDS)], actuators=[''], extra=change(CRANK)
        )

    assert found(str) == ()
    (finding,) = found(lambda text: text.replace(before, after))
    assert finding.found == words


def test_a_plugin_that_raises_says_nothing(monkeypatch):
    """If a Jacobian raises an error, the numbers of the description are still checked."""

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
    assert find_implausible_numbers(robot) == ()
