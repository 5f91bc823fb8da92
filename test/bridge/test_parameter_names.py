# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The names of parameters, and those that none can have."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from transmission_bridge.bridge.options import find_parameter_names
from transmission_bridge.description import load_description
from transmission_bridge.transmissions import RobotTransmissions


def robot_with(*members):
    """Return a robot of simple transmissions, each by its name and its joint's."""
    transmissions = ''.join(
        f'<transmission name="{name}">'
        '<type>transmission_interface/SimpleTransmission</type>'
        f'<actuator name="m{number}"><mechanicalReduction>1</mechanicalReduction></actuator>'
        f'<joint name="{joint}"/></transmission>\n'
        for number, (name, joint) in enumerate(members)
    )
    return RobotTransmissions(load_description(f'<robot name="r">\n{transmissions}</robot>'))


def test_every_number_has_a_name(robot):
    """Names say transmission and path, and what a robot can be given it has."""
    found = find_parameter_names(robot)
    assert found.findings == ()
    offset = found.tunables['transmissions.wrist.joints.roll.offset']
    assert (offset.transmission, offset.path) == ('wrist', ('joints', 'roll', 'offset'))
    assert robot.parameters[offset.name] is offset
    assert found.tunables['transmissions.wrist.ignore_absolute_encoder'].is_flag
    numbers = [each for each in found.tunables.values() if not each.is_flag]
    assert numbers == [each for tunables in robot.tunables.values() for each in tunables]


def test_parameters_have_the_values_in_use(robot):
    """A number and a flag by name, before and after they are changed."""
    values = {'wrist.joints.roll.offset': 0.1, 'wrist.ignore_absolute_encoder': True}
    before = {name: robot.parameters[name].value for name in values}
    assert before != values
    tuned = robot.with_parameters(values)
    assert {name: tuned.parameters[name].value for name in values} == values
    assert {name: robot.parameters[name].value for name in values} == before


def test_a_name_of_two_numbers_is_none():
    """If dots give two numbers one name, it is not used, and a finding at the second."""
    robot = robot_with(('t', 'x.joints.j'), ('t.joints.x', 'j'))
    found = find_parameter_names(robot)
    name = 'transmissions.t.joints.x.joints.j.offset'
    assert name not in found.tunables
    (finding,) = (each for each in found.findings if name in each.message)
    assert (finding.severity, finding.line, finding.subject) == ('warning', 3, 't.joints.x')
    assert 'dots' in finding.message
    assert 'transmissions.t.actuators.m0.mechanical_reduction' in found.tunables


def test_a_name_that_no_file_can_hold_is_none():
    """A space in a name costs the parameters that would have it, and no others."""
    found = find_parameter_names(robot_with(('s', 'with space'), ('u', 'plain')))
    assert 'transmissions.u.joints.plain.offset' in found.tunables
    assert not [name for name in found.tunables if ' ' in name]
    named = [each for each in found.findings if "s.joints.with space.offset'" in each.message]
    assert [each.line for each in named] == [2]
    assert {each.subject for each in found.findings} == {'s'}


@given(
    st.lists(
        st.tuples(*[st.sampled_from(['a', 'a.joints.b', 'b', 'b c', 'joints.b', 'é'])] * 2),
        max_size=4,
        unique_by=(lambda member: member[0], lambda member: member[1]),
    )
)
def test_each_number_has_a_name_of_its_own_or_a_finding(members):
    """No number is lost without a word, and setting one by its name changes that one alone."""
    robot = robot_with(*members)
    found = find_parameter_names(robot)
    lost = {finding.message.split("'")[1] for finding in found.findings}
    assert lost.isdisjoint(found.tunables)
    for transmission, tunables in robot.tunables.items():
        for tunable in tunables:
            name = '.'.join(('transmissions', transmission, *tunable.path))
            assert name in lost or found.tunables[name] is tunable
