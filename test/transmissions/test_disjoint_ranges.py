# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Position limits of actuators and of their joints that exclude each other are refused."""

import math

from hypothesis import given, settings, strategies as st
import pytest
from zoo.elements import load, params, ratio, transmission, urdf

from transmission_bridge.errors import ParameterError

SIZES = {
    'CrankSlider': params(rod_length=0.3, crank_radius=0.1, crank_angle=1.2),
    'Tabulated': params(actuator='-3 0 1 3', joint='-2 0 2 2.5'),
}


def robot(kind, limits, joints=('-1 1',), inside=''):
    """
    Return the text of a robot with transmission ``t``.

    :param limits: Attributes of the ``<limit>`` of each actuator.
    :param joints: Lower and upper limits of each joint; empty: continuous.
    :param inside: What stands inside the first joint of the transmission.
    """
    limit = 'revolute lower="{}" upper="{}" velocity="1" effort="1"'
    kinds = [limit.format(*each.split()) if each else 'continuous' for each in joints]
    tree = {f'j{number}': kind for number, kind in enumerate(kinds, 1)}
    motors = {f'a{n}': f'<limit {text}/>' if text else '' for n, text in enumerate(limits, 1)}
    members = {name: inside if name == 'j1' else '' for name in tree}
    return urdf(tree, transmission('t', kind, members, motors, SIZES.get(kind, '')))


def built(*arguments, **options):
    """Return the maps of such a robot."""
    return load(robot(*arguments, **options))


def test_disjoint_ranges_refuse_the_transmission():
    """Each command would send 5: the finding has the place and both ranges at the motor."""
    text = robot('Simple', ['lower="5" upper="30"'])
    t = load(text)
    assert set(t.lost_joints) == {'j1'}
    assert t.joint_names == t.actuator_names == ()
    (finding,) = t.findings
    assert (finding.severity, finding.subject) == ('error', 't')
    assert text.split('\n')[finding.line - 1].startswith('<transmission name="t">')
    assert finding.path == '/robot/ros2_control/transmission'
    assert "position limits of actuator 'a1' and of 'j1' exclude each other" in finding.message
    assert '[-1, 1]' in finding.expected
    assert finding.found == '[5, 30]'


@pytest.mark.parametrize(('kind', 'limits', 'joints', 'inside', 'is_lost'), [
    ('Simple', ['lower="1.001"'], ['-1e300 1'], '', True),
    # A motor of a pair is at most where both joints take it; the other has no limit.
    ('Differential', ['', 'lower="2.5"'], ['-1 1', '-1 1'], '', True),
    # The slide is between 0.32 and 0.39 m.
    ('CrankSlider', ['lower="0.4"'], ['-0.4 0.6'], '', True),
    ('CrankSlider', ['lower="0.5"'], [''], '', True),
    ('Tabulated', ['upper="-1.6"'], ['-1 1'], '', True),
    ('Simple', ['lower="0.30000000000000004"'], ['-1 0.1'], ratio(3), False),
    ('Simple', ['lower="500"'], [''], '', False),
    ('Simple', ['velocity="1" effort="2"'], ['-1 1'], '', False),
    # No position of the joint is allowed at all, which is a finding of its own.
    ('Simple', ['lower="500"'], ['1 -1'], '', False),
    ('Differential', ['', 'lower="2"'], ['-1 1', '-1 1'], '', False),
    ('Differential', ['', 'lower="99"'], ['-1 1', ''], '', False),
    ('CrankSlider', ['upper="0.385"'], ['-0.4 0.6'], '', False),
])  # fmt: skip
def test_each_kind_of_transmission_is_compared(kind, limits, joints, inside, is_lost):
    """Ranges that touch are accepted, as those of joints without limits."""
    t = built(kind, limits, joints, inside)
    assert len(t.lost_joints) == len(joints) * is_lost
    assert not is_lost or 'exclude each other' in t.findings[-1].message


@pytest.mark.parametrize(('parameters', 'found'), [
    ({'actuators.a1.limit.lower': 1.5}, r'\[1.5, 2\]'),
    ({'actuators.a1.limit.upper': -1.5}, r'\[-2, -1.5\]'),
    ({'joints.j1.offset': 4.0}, r'\[-5, -3\].*\[-2, 2\]'),
    (
        {'joints.j1.mechanical_reduction': 0.5, 'actuators.a1.limit.lower': 0.7},
        r'\[0.7, 2\]',
    ),
])  # fmt: skip
def test_tuning_that_makes_ranges_disjoint_is_refused(parameters, found):
    """The error names both ranges, and nothing has changed."""
    t = built('Simple', ['lower="-2" upper="2"'])
    with pytest.raises(ParameterError, match=found) as caught:
        t.with_parameters({'t': parameters})
    assert caught.value.transmission == 't'
    assert 'exclude each other' in str(caught.value)
    assert t.with_parameters({'t.actuators.a1.limit.lower': 1.0}).tunables['t'] != t.tunables['t']


numbers = st.floats(-5.0, 5.0).map(lambda number: round(number, 2))


@settings(max_examples=30)
@given(motor=st.tuples(numbers, numbers), joint=st.tuples(numbers, numbers), reduction=numbers)
def test_a_joint_is_bridged_if_some_position_is_within_both(motor, joint, reduction):
    """Against the ends of both intervals by hand."""
    (lower, upper), (low, high) = sorted(motor), sorted(joint)
    reduction = reduction or 1.0
    t = built('Simple', [f'lower="{lower}" upper="{upper}"'], [f'{low} {high}'], ratio(reduction))
    least, greatest = sorted((reduction * low, reduction * high))
    gap = max(least, lower) - min(greatest, upper)
    if not math.isclose(gap, 0.0, abs_tol=1e-6):
        assert bool(t.lost_joints) == (gap > 0.0)
