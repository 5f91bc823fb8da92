# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions of ros2_control and of ROS 1: how each is read, and which of two stays."""

from dataclasses import replace
from operator import attrgetter
import re

from hypothesis import given, strategies as st
import pytest
from zoo.four_joints import (
    block,
    find_only,
    hardware,
    load,
    load_clean,
    robot,
    ros1,
    ros2,
    transmission,
)

from transmission_bridge.description import ParameterSpec

SIMPLE, RATIO = 'transmission_interface/SimpleTransmission', 'mechanical_reduction'
DIFFERENTIAL = '<plugin>transmission_interface/DifferentialTransmission</plugin>'
JOINT, ACTUATOR = '<joint name="j1" role="joint1"/>', '<actuator name="a" role="actuator1"/>'

INTERFACE = '<hardwareInterface>hardware_interface/PositionJointInterface</hardwareInterface>'
INTERFACES = '</hardwareInterface><hardwareInterface>'
ROS1_JOINT = f'<joint name="j1">{INTERFACE}</joint>'
ROS1_ACTUATOR = '<actuator name="a"><mechanicalReduction>50</mechanicalReduction></actuator>'
GIVEN = '<mechanical_reduction>{}</mechanical_reduction>'
ROS1_TYPE = f'<type>{SIMPLE}</type>'


def names(members):
    """Return the names of specs."""
    return [each.name for each in members]


def facts(spec):
    """Return name, role, ratio, offset, flag, command interfaces and what was given, of all."""
    pick = attrgetter('name', 'role', RATIO, 'offset', 'read_only', 'command_interfaces', 'given')
    return list(map(pick, (*spec.joints, *spec.actuators)))


def ros1_differential(first='', second=''):
    """Return a ROS 1 transmission against the order of its roles, with more in each joint."""
    return transmission(
        f'<joint name="j2"><role>joint2</role>{second}{INTERFACE}</joint>',
        f'<joint name="j1"><role> joint1 </role><offset>0.5</offset>'
        f'<mechanicalReduction>2</mechanicalReduction>{first}{INTERFACE}</joint>',
        '<actuator name="m2"><role>actuator2</role><mechanicalReduction>-20</mechanicalReduction>'
        '</actuator>',
        '<actuator name="m1"><role>actuator1</role><mechanicalReduction>50</mechanicalReduction>'
        '<hardwareInterface>EffortJointInterface</hardwareInterface></actuator>',
        kind='<type>transmission_interface/DifferentialTransmission</type>',
    )


#: Against the order of its roles, with numbers as elements and flags in any case.
OF_ROS2 = transmission(
    f'<joint name="j2" role="joint2">{GIVEN.format(-4)}<offset> -0.25 </offset></joint>'
    '<joint name="j1" role="joint1" read_only="True"/>'
    '<actuator name="m2" role="actuator2"><offset>1</offset></actuator>'
    f'<actuator name="m1" role="actuator1" read_only="false">{GIVEN.format(50)}</actuator>',
    kind=DIFFERENTIAL,
)
POSITION = ('hardware_interface/PositionJointInterface',)


@pytest.mark.parametrize(('text', 'dialect', 'path', 'members'), [
    (block(OF_ROS2), 'ros2_control', '/robot/ros2_control/transmission', [
        ('j1', 'joint1', 1.0, 0.0, True, ('position',), {'read_only', 'role'}),
        ('j2', 'joint2', -4.0, -0.25, False, ('position',), {RATIO, 'offset', 'role'}),
        ('m1', 'actuator1', 50.0, 0.0, False, (), {RATIO, 'read_only', 'role'}),
        ('m2', 'actuator2', 1.0, 1.0, False, (), {'offset', 'role'}),
    ]),
    (robot(ros1_differential()), 'ros_control', '/robot/transmission', [
        ('j1', 'joint1', 2.0, 0.5, False, POSITION, {RATIO, 'offset', 'role'}),
        ('j2', 'joint2', 1.0, 0.0, False, POSITION, {'role'}),
        ('m1', 'actuator1', 50.0, 0.0, False, ('EffortJointInterface',), {RATIO, 'role'}),
        ('m2', 'actuator2', -20.0, 0.0, False, (), {RATIO, 'role'}),
    ]),
])  # fmt: skip
def test_a_transmission_is_read_whole(text, dialect, path, members):
    """Ratios, offsets, roles, flags and interfaces arrive as written, in the order of roles."""
    spec = load_clean(text).transmission('t')
    assert spec.type == 'transmission_interface/DifferentialTransmission'
    assert (spec.dialect, spec.path, spec.can_command) == (dialect, path, True)
    assert (spec.block, facts(spec)) == ('hw' if dialect == 'ros2_control' else '', members)
    assert [spec.parameters, *(each.parameters for each in spec.joints)] == [(), (), ()]


def test_everything_else_is_for_the_plugin():
    """Unknown elements and attributes are kept with all inside them, and are no findings."""
    linkage = '<linkage kind="rod"><length unit="m">0.1</length><!-- --><pin/></linkage>'
    joint = '<joint name="j1" role="joint1" read_only="false" sign="-1"><stop>2</stop>'
    joint += '<offset>1</offset><param name="gain">3</param></joint>'
    spec = load_clean(block(transmission(linkage, joint, ACTUATOR))).transmission('t')
    (linkage,) = spec.parameters
    assert (linkage.name, linkage.attributes) == ('linkage', (('kind', 'rod'),))
    length, pin = linkage.children
    assert (pin.name, pin.value) == ('pin', '')
    path = '/robot/ros2_control/transmission/linkage/length'
    assert length == ParameterSpec('length', '0.1', linkage.line, path, (('unit', 'm'),))
    own = [(each.name, each.value) for each in spec.joints[0].parameters]
    assert own == [('sign', '-1'), ('stop', '2'), ('gain', '3')]
    assert spec.joints[0].given == {'role', 'read_only', 'offset'}
    assert spec.joints[0].parameters[0].path.endswith('/joint/@sign')
    joint = ROS1_JOINT.replace('</joint>', '<saturationLower>0.0</saturationLower></joint>')
    lever = transmission(joint, ROS1_ACTUATOR, '<lever arm="0.1"/>', kind='<type>hand/R</type>')
    spec = load_clean(robot(lever)).transmission('t')
    assert spec.parameters[0].attributes == (('arm', '0.1'),)
    (own,) = spec.joints[0].parameters
    assert (own.name, own.value) == ('saturationLower', '0.0')


def placeless(spec, **more):
    """Return a spec without its place."""
    return replace(spec, line=None, path='', **more)


def comparable(loaded):
    """Return everything but places and the order of equals."""
    sides, specs = ('joints', 'actuators', 'parameters'), {}
    for spec in loaded.transmissions:
        parts = {side: tuple(map(placeless, getattr(spec, side))) for side in sides}
        specs[spec.name] = placeless(spec, **parts)
    return specs, {placeless(joint) for joint in loaded.joints}


PARTS = [
    f'<joint name="j1" role="joint1">{GIVEN.format(2)}<offset>0.5</offset></joint>',
    f'<joint name="j2" role="joint2">{GIVEN.format(-2)}</joint>',
    '<actuator name="m1" role="actuator1" mechanical_reduction="50"/>',
    '<actuator name="m2" role="actuator2"/>',
    DIFFERENTIAL,
    '<param name="p">1</param>',
]
COMPONENTS = [f'<joint name="j{n}"><command_interface name="position"/></joint>' for n in '123']


@given(st.permutations(PARTS), st.permutations(COMPONENTS), st.permutations(range(4)))
def test_the_order_of_elements_changes_nothing(parts, components, order):
    """Members, plugin, components, joints and transmissions may come in any order."""

    def build(parts, components, order):
        one, other = transmission(*parts, kind=''), ros2('u', 'j3', 'a')
        inside = [one, other, ''.join(components[:2]), components[2]]
        return block(*(inside[number] for number in order), components='')

    text = build(parts, components, order)
    lines = re.findall(r'<(?:link|joint name="j\d" type).*\n', text)
    shuffled = text
    for line in lines:
        shuffled = shuffled.replace(line, '')
    shuffled = shuffled.replace('</robot>', ''.join(reversed(lines)) + '</robot>')
    reference = load_clean(build(PARTS, COMPONENTS, range(4)))
    assert len(reference.transmissions) == 2
    for variant in (text, shuffled):
        assert comparable(load_clean(variant)) == comparable(reference)


# -- Roles, repeated values, and what ros2_control or ROS 1 takes otherwise ----------------------


def two(first, second):
    """Return a robot with a differential, its members against their order, of these roles."""
    joints = f'<joint name="j2" role="{second}"/><joint name="j1" role="{first}"/>'
    actuators = '<actuator name="b" role="actuator2"/><actuator name="a" role="actuator1"/>'
    return block(transmission(joints, actuators, kind=DIFFERENTIAL))


def one(joint, actuator=ACTUATOR):
    """Return a robot with a ros2_control transmission of one joint."""
    return block(transmission(joint, actuator))


def one_of_ros1(joint, attributes=''):
    """Return a robot with a ROS 1 transmission of one joint."""
    return robot(transmission(joint, ROS1_ACTUATOR, kind=ROS1_TYPE, attributes=attributes))


PARAMETER = '<joint name="j1" role="joint1"><param name="role">joint1</param></joint>'
TEN = '<joint name="j1" role="joint1" mechanical_reduction="10">{}</joint>'
TWICE = TEN.replace(' mechanical_reduction="10"', '').format(GIVEN * 2)


@pytest.mark.parametrize(('text', 'level', 'is_fatal', 'said', 'expected'), [
    # Document order would swap joints if the user meant roles.
    (two('Joint1', 'joint2'), 'error', True, 'only by case', "'joint1'"),
    (two('Joint1', 'Joint2'), 'error', True, 'only by case', "'joint2'"),
    (two('hip', 'JOINT2'), 'error', True, 'only by case', "'joint2'"),
    (one(PARAMETER), 'warning', True, 'is ignored here', '<role>'),
    (one(JOINT, ACTUATOR.replace('actuator1', 'joint1')), 'warning', False,
     "actuator 'a' has the role of a joint", "'actuator1'"),
    (one(JOINT.replace('joint1', 'actuator1')), 'warning', False,
     "joint 'j1' has the role of an actuator", "'joint1'"),
    # Equal values cost nothing, in strict mode neither.
    (one(TEN.format(GIVEN.format('1e1'))), 'warning', False, 'more than once', 'one value'),
    (one(TWICE.format('10', '10.0')), 'warning', False, 'more than once', 'one value'),
    (one(TEN.format('<role>joint1</role>')), 'warning', False, 'more than once', 'one value'),
    # ROS 1 skips a joint without an interface, reads the role's element and the type's.
    (one_of_ros1('<joint name="j1"/>'), 'warning', True, 'no interface', '<hardwareInterface>'),
    (one_of_ros1(ROS1_JOINT.replace('"j1"', '"j1" role="joint1"')), 'warning', True,
     'ignored', '<role>'),
    (one_of_ros1(ROS1_JOINT, ' type="SimpleTransmission"'), 'warning', True, 'ignored', ''),
])  # fmt: skip
def test_what_is_odd_is_one_finding(text, level, is_fatal, said, expected):
    """It names the right spelling; after a warning the transmission loads as it is written."""
    loaded, finding = find_only(text)
    assert (finding.severity, finding.fatal_if_strict) == (level, is_fatal)
    assert said in finding.message
    assert expected in finding.expected
    assert finding.path.startswith('/robot/')
    assert names(loaded.transmissions) == ['t'] * (level == 'warning')
    if said == 'more than once':
        assert finding.found == 'the same again'
        assert loaded.transmission('t').joints[0].mechanical_reduction == 10.0
    for spec in loaded.transmissions:
        assert (spec.parameters, spec.joints[0].parameters, spec.can_command) == ((), (), True)
        assert spec.joints[0].role == '' or spec.dialect == 'ros2_control'


def test_roles_that_nobody_knows_leave_the_order_of_the_document():
    """A warning has the canonical ones, if they are no joint1, joint2."""
    loaded, finding = find_only(two('ankle', 'hip'))
    assert (finding.severity, finding.fatal_if_strict) == ('warning', False)
    assert (finding.expected, finding.found) == ('joint1, joint2', "'hip', 'ankle'")
    spec = loaded.transmission('t')
    assert (names(spec.joints), names(spec.actuators)) == (['j2', 'j1'], ['a', 'b'])


def test_a_single_member_needs_no_role():
    """It loads with a warning without one; ros2_control would refuse it. It may be any name."""
    loaded = load(one('<joint name="j1"/>', '<actuator name="a"><role/></actuator>'))
    found = [(each.severity, each.fatal_if_strict, each.expected) for each in loaded.findings]
    assert found == [('warning', True, f"role '{side}1'") for side in ('joint', 'actuator')]
    assert loaded.transmission('t').joints[0].role == ''
    load_clean(one('<joint name="j1" role="tibia"/>', '<actuator name="a" role="actuator7"/>'))


@pytest.mark.parametrize(('joint', 'actuator', 'interface', 'expected'), [
    ('', '', 'command', True),
    ('', '', 'state', False),
    ('read_only="true"', '', 'command', False),
    ('', 'read_only="true"', 'command', False),
])  # fmt: skip
def test_what_ros2_control_can_command(joint, actuator, interface, expected):
    """A command needs a joint with a command interface, and no read_only on its way."""
    components = f'<joint name="j1"><{interface}_interface name="position"/></joint>'
    joint, actuator = f'<joint name="j1" role="j" {joint}/>', f'<actuator name="a" {actuator}/>'
    loaded = load(block(transmission(joint, actuator), components=components))
    assert loaded.transmission('t').can_command is expected


@pytest.mark.parametrize(('interfaces', 'expected'), [
    (['hardware_interface/JointStateInterface'], False),
    (['JointStateInterface'], False),
    (['JointStateInterface', '', ' hardware_interface/EffortJointInterface '], True),
    (['my_package/OwnInterface'], True),
])  # fmt: skip
def test_what_ros1_can_command(interfaces, expected):
    """Interfaces are kept in order, empty ones skipped; one for states alone cannot command."""
    spec = load(robot(ros1('t', 'j1', 'a', INTERFACES.join(interfaces)))).transmission('t')
    kept = tuple(each.strip() for each in interfaces if each)
    assert (spec.joints[0].command_interfaces, spec.can_command) == (kept, expected)


@pytest.mark.parametrize(('first', 'second', 'expected', 'findings'), [
    (None, None, False, 0),
    ('true', '1', True, 0),
    ('', '', True, 0),
    ('false', 'true', True, 1),
    ('true', None, False, 1),
])  # fmt: skip
def test_the_absolute_encoder_flag_counts_by_presence(first, second, expected, findings):
    """It is set if every joint has it, with any text; odd uses are reported."""
    tag = 'ignoreTransmissionAbsoluteEncoder'
    flags = ('' if text is None else f'<{tag}>{text}</{tag}>' for text in (first, second))
    loaded = load(robot(ros1_differential(*flags)))
    assert loaded.transmission('t').ignore_absolute_encoder is expected
    assert [finding.severity for finding in loaded.findings] == ['warning'] * findings


def test_what_is_refused_keeps_its_names():
    """The error shows the misplaced number; the joints count as driven by what was refused."""
    actuator = f'<actuator name="a">{GIVEN.format(50)}</actuator>'
    loaded, error = find_only(robot(transmission(ROS1_JOINT, actuator, kind=ROS1_TYPE)))
    assert error.expected == 'the ratio inside <actuator>'
    assert error.found == "'50' in mechanical_reduction"
    (rejected,) = loaded.rejected
    assert (rejected.name, rejected.dialect, rejected.type) == ('t', 'ros_control', SIMPLE)
    assert (rejected.joints, rejected.actuators) == (('j1',), ('a',))
    assert rejected.path == '/robot/transmission'


def test_fragments_load_without_joints_to_check():
    """A document of transmissions alone says once that names were not checked."""
    loaded, finding = find_only(robot(ros1('t', 'a', 'm'), joints='', links=''))
    assert names(loaded.transmissions) == ['t']
    assert (finding.severity, 'not checked' in finding.message) == ('info', True)


# -- Two that want the same; the actuator that a block implies -----------------------------------

READ = 'read_only="true"'
OLD, NEW = ros1('old', 'j1', 'm'), hardware(ros2('new', 'j1', 'm'))
BOTH = transmission(JOINT, ACTUATOR, f'<actuator name="b" role="actuator2" {READ}/>', name='t1')


@pytest.mark.parametrize(('elements', 'accepted', 'commanding', 'rejected'), [
    # Two that could command one actuator: the first stays.
    ([ros1('a', 'j1', 'm'), ros1('b', 'j2', 'm')], 'a', 'a', 'b'),
    # read_only leaves the actuator to another transmission, before or after, each by itself.
    ([hardware(ros2('a', 'j1', 'm'), ros2('b', 'j2', 'm', READ))], 'a b', 'a', ''),
    ([hardware(ros2('a', 'j1', 'm', READ), ros2('b', 'j2', 'm'))], 'a b', 'b', ''),
    ([hardware(BOTH, ros2('t2', 'j2', 'b'), ros2('t3', 'j3', 'a'))], 't1 t2', 't1 t2', 't3'),
    # So do interfaces that only read.
    ([ros1('a', 'j1', 'm', 'hardware_interface/JointStateInterface'), ros1('b', 'j2', 'm'),
      ros1('c', 'j3', 'm', 'JointStateInterface')], 'a b c', 'b', ''),
    # Of both dialects ros2_control stays, wherever it stands.
    ([OLD, NEW], 'new', 'new', 'old'),
    ([NEW, OLD], 'new', 'new', 'old'),
    # What was refused takes neither name, joint nor actuator.
    ([ros1('t', 'j1', 'm', ratio='two'), ros1('t', 'j1', 'm')], 't', 't', 't'),
    ([ros1('a', 'j1', 'm1'), ros1('b', 'j1', 'm2'), ros1('c', 'j2', 'm2')], 'a c', 'a c', 'b'),
])  # fmt: skip
def test_who_keeps_what_two_would_have(elements, accepted, commanding, rejected):
    """The loser is an error with its name, which says who won."""
    loaded = load(robot(*elements))
    assert names(loaded.transmissions) == accepted.split()
    assert [each.name for each in loaded.transmissions if each.can_command] == commanding.split()
    assert names(loaded.rejected) == rejected.split()
    assert {each.subject for each in loaded.errors} == set(rejected.split())
    winner = loaded.transmissions[0]
    won = f"by transmission '{winner.name}' on line {winner.line}"
    assert all(won in each.message for each in loaded.errors if 'usable' not in each.message)


def implied(name, joint, block_name):
    """Return a block of the type actuator with a transmission that declares no actuator."""
    inside = f'<joint name="{joint}" role="joint1" mechanical_reduction="5"/>'
    attributes = f'name="{block_name}" type="actuator"'
    return hardware(transmission(inside, name=name), attributes=attributes)


def test_a_block_of_one_actuator_implies_it():
    """The actuator has ratio 1, the role and the joint's interfaces, and is reported."""
    loaded, finding = find_only(robot(implied('t', 'j1', 'hw')))
    assert (finding.severity, "'actuator1' is implied" in finding.message) == ('info', True)
    spec = loaded.transmission('t')
    joint = ('j1', 'joint1', 5.0, 0.0, False, ('position',), {RATIO, 'role'})
    implied_one = ('actuator1', 'actuator1', 1.0, 0.0, False, ('position',), set())
    assert (facts(spec), spec.can_command) == ([joint, implied_one], True)
    declared = hardware(ros2('t', 'j1', 'motor'), attributes='name="hw" type="actuator"')
    assert names(load_clean(robot(declared)).transmission('t').actuators) == ['motor']


@pytest.mark.parametrize(('other', 'taken'), [
    (implied('other', 'j2', 'knee'), 'knee_actuator1'),
    (ros1('other', 'j4', 'actuator1'), 'actuator1'),
    (hardware(ros2('other', 'j4', 'actuator1'), attributes='name="b" type="x"'), 'actuator1'),
    # A refused neighbour counts as well: it may be mended later.
    (implied('other', 'ghost', 'knee'), None),
    (ros1('other', 'ghost', 'actuator1'), None),
    (ros1('other', 'j4', 'actuator1', ratio='two'), None),
])  # fmt: skip
def test_an_actuator1_elsewhere_makes_the_implied_one_another(other, taken):
    """The implied one is named after its block; a declared name stays with its owner."""
    hip = implied('hip', 'j1', 'hip')
    for elements in ((hip, other), (other, hip)):
        loaded = load(robot(*elements))
        assert names(loaded.transmission('hip').actuators) == ['hip_actuator1']
        assert names(loaded.rejected) == ['other'] * (taken is None)
        if taken is not None:
            assert names(loaded.transmission('other').actuators) == [taken]
            assert loaded.errors == ()
