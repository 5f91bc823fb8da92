# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers that stand where nobody reads them: no wrong ratio, and no limit that is not kept."""

from __future__ import annotations

import itertools
from pathlib import Path
import re

from hypothesis import example, given
from hypothesis import strategies as st
import pytest

from transmission_bridge import LinearTransmission, load_description, RobotTransmissions
from transmission_bridge.transmissions import SpecReader
from transmission_bridge.transmissions.known_names import find_meaning
from transmission_bridge.transmissions.tunable import BY_ROLE
from transmission_bridge.transmissions.units import UNITS

DOCUMENT = Path(__file__).parents[2] / 'docs' / 'transmissions.md'
SIMPLE = 'transmission_interface/SimpleTransmission'
DIFFERENTIAL = 'transmission_interface/DifferentialTransmission'
COUPLED = 'transmission_bridge/CoupledTransmission'
SCREW = 'transmission_bridge/ScrewTransmission'
CRANK = 'transmission_bridge/CrankSliderTransmission'
CRANK_SIZES = (
    '<param name="crank_radius">0.04</param><param name="rod_length">0.12</param>'
    '<param name="crank_angle">1.5</param>'
)


def tag(name: str, text: str = '50') -> str:
    """Return an element."""
    return f'<{name}>{text}</{name}>'


def param(name: str, text: str = '50') -> str:
    """Return a ``<param>``."""
    return f'<param name="{name}">{text}</param>'


def ros2(
    kind: str, joints: list[str], actuators: list[str], extra: str = '', attributes=''
) -> str:
    """
    Return a robot with a transmission of a block; line 1 is all before its members.

    :param joints: What stands inside each joint, after its attributes and a ``>`` if it has any.
    """
    names = [f'j{k + 1}' for k in range(len(joints))]
    components = ''.join(
        f'<joint name="{name}"><command_interface name="position"/></joint>' for name in names
    )
    return robot(
        names,
        f'<ros2_control name="hw" type="system"><hardware><plugin>p</plugin></hardware>'
        f'{components}<transmission name="t"{attributes}><plugin>{kind}</plugin>'
        f'{members("joint", joints)}{members("actuator", actuators)}{extra}</transmission>'
        '</ros2_control>',
    )


def ros1(
    kind: str, joints: list[str], actuators: list[str], extra: str = '', attributes=''
) -> str:
    """Return the same in the style of ROS 1."""
    interface = tag('hardwareInterface', 'PositionJointInterface')
    return robot(
        [f'j{k + 1}' for k in range(len(joints))],
        f'<transmission name="t"{attributes}>{tag("type", kind)}'
        f'{members("joint", [part + interface for part in joints], as_element=True)}'
        f'{members("actuator", actuators, as_element=True)}{extra}</transmission>',
    )


def members(side: str, parts: list[str], as_element: bool = False) -> str:
    """Return the joints or the actuators, each on a line; a part may begin with attributes."""
    elements = []
    for number, part in enumerate(parts, 1):
        attributes, inside = part.split('>', 1) if part.startswith(' ') else ('', part)
        role = f'{side}{number}'
        if 'role' not in part:
            attributes += '' if as_element else f' role="{role}"'
            inside += tag('role', role) if as_element else ''
        elements.append(f'\n<{side} name="{role[0]}{number}"{attributes}>{inside}</{side}>')
    return ''.join(elements)


def robot(names: list[str], inside: str) -> str:
    """Return a robot of continuous joints."""
    tree = ''.join(
        f'<link name="{name}"/><joint name="{name}" type="continuous"><parent link="base"/>'
        f'<child link="{name}"/></joint>'
        for name in names
    )
    return f'<robot name="r"><link name="base"/>{tree}{inside}</robot>'


def built(text: str, **options) -> RobotTransmissions:
    """Return the robot of a description."""
    return RobotTransmissions(load_description(text), **options)


def refusal(t: RobotTransmissions):
    """Return the one error finding of a robot without any joint."""
    assert t.joint_names == t.actuator_names == t.pass_through == ()
    (finding,) = [each for each in t.findings if each.severity == 'error']
    assert finding.subject == 't'
    assert "transmission 't' cannot be used: " in finding.message
    return finding


IDENTITY = '<param name="matrix">1 0; 0 1</param>'
IN_JOINT = '<mechanical_reduction> inside <joint name="j1">'
IN_ACTUATOR = '<mechanicalReduction> inside <actuator name="a1">'
OFFSET = '<offset> inside <joint name="j1">'
READ = tag('mechanicalReduction', '20')
RATIO = tag('mechanical_reduction')
SENSORS = 'ignoreTransmissionAbsoluteEncoder'
IN_WHOLE = '<param name="ignore_absolute_encoder">true</param> inside the <transmission>'
IN_WHOLE_TORQUE = IN_WHOLE.replace('absolute_encoder', 'torque_sensor')
IN_JOINTS = f'<{SENSORS}/> inside every <joint>'
OF_MOTOR = '<limit> inside <actuator name="a1">'
OF_JOINT = 'the URDF\'s <limit> inside <joint name="j1">'


@pytest.mark.parametrize(
    ('text', 'expected', 'found'),
    [
        # The four of a simple transmission in ros2_control that ran at 1:1.
        (ros2(SIMPLE, [param('mechanical_reduction')], ['']), IN_JOINT, "'50'"),
        (ros2(SIMPLE, [tag('mechanicalReduction')], ['']), IN_JOINT, "'50'"),
        (ros2(SIMPLE, [tag('mechanical_reducton')], ['']), IN_JOINT, "'50'"),
        (ros2(SIMPLE, [''], [tag('mechanical_reduction')]), IN_JOINT, "'50'"),
        # What is no number for certain.
        (ros2(SIMPLE, [tag('mechanicalReduction', '50:1')], ['']), IN_JOINT, "'50:1'"),
        (ros2(SIMPLE, ['<mechanicalReduction value="50"/>'], ['']), IN_JOINT, "''"),
        # Offsets, in both dialects.
        (ros2(SIMPLE, [tag('ofset', '0.1')], ['']), OFFSET, "'0.1'"),
        (ros2(SIMPLE, [param('offset', '0.1')], ['']), OFFSET, "'0.1'"),
        (ros2(SIMPLE, [''], [tag('offset', '-0.1')]), OFFSET, "'-0.1'"),
        (ros2(SIMPLE, [''], [''], tag('off_set', '0.1')), OFFSET, "'0.1'"),
        (ros1(SIMPLE, [' offset="0.1">'], [READ]), OFFSET, "'0.1'"),
        (ros1(SIMPLE, [tag('Offset', '0.1')], [READ]), OFFSET, "'0.1'"),
        (ros1(SIMPLE, [''], [READ + tag('offset', '0.1')]), OFFSET, "'0.1'"),
        (ros1(SIMPLE, [''], [READ + tag('offset', '1')]), OFFSET, "'1'"),
        # A differential reads both sides, each member its own.
        (
            ros2(DIFFERENTIAL, [tag('mechanical_reducton', '2'), ''], ['', '']),
            IN_JOINT, "'2'",
        ),
        (
            ros1(DIFFERENTIAL, [tag('mechanical_reduction', '2'), ''], [READ, READ]),
            '<mechanicalReduction> inside <joint name="j1">', "'2'",
        ),
        (
            ros2(
                DIFFERENTIAL,
                [tag('mechanical_reduction', '2')] * 2,
                [tag('mechanical_reduction'), tag('mechanicalReduction')],
            ),
            '<mechanical_reduction> inside <actuator name="a2">', "'50'",
        ),
        (
            ros2(
                DIFFERENTIAL,
                [tag('mechanical_reduction', '2')] * 2,
                [tag('mechanical_reduction'), ''],
                tag('mechanical_reduction'),
            ),
            '<mechanical_reduction> inside <actuator name="a2">', "'50'",
        ),
        # Types that read the actuators' reduction only.
        (
            ros2(COUPLED, [tag('mechanical_reduction'), ''], [''] * 2, IDENTITY),
            '<mechanical_reduction> inside <actuator name="a1"> or <actuator name="a2">', "'50'",
        ),
        (
            ros2(SCREW, [tag('mechanical_reduction')], [''], param('lead', '0.01')),
            '<mechanical_reduction> inside <actuator name="a1">', "'50'",
        ),
        (
            ros2(CRANK, [''], [''], CRANK_SIZES + param('ofset', '0.01')),
            f'<param name="offset"> inside <transmission name="t">, or {OFFSET}', "'0.01'",
        ),
        # A limit is not run without, however it is written, whatever other limit there is.
        (ros2(SIMPLE, [''], ['<limits velocity="1"/>']), OF_MOTOR, None),
        (ros2(SIMPLE, [''], ['<Limit velocity="1"/>']), OF_MOTOR, None),
        (ros2(SIMPLE, [''], ['<limit><velocity>1</velocity></limit>']), OF_MOTOR, None),
        (ros2(SIMPLE, [''], ['<limit upper="3"/>' + param('max_velocity', '1')]), OF_MOTOR, None),
        (ros2(SIMPLE, [''], [' maxVelocity="1">']), OF_MOTOR, None),
        (ros2(SIMPLE, [''], [param('velocty', '1')]), OF_MOTOR, None),
        (ros2(SIMPLE, [''], [tag('upper_limit', '1')]), OF_MOTOR, None),
        (ros1(SIMPLE, [''], [READ + tag('effort_limit', '1')]), OF_MOTOR, None),
        (ros2(SIMPLE, ['<limit velocity="1"/>'], ['']), OF_JOINT, None),
        (ros2(SIMPLE, [' upper="1">'], ['']), OF_JOINT, None),
        (ros1(SIMPLE, [param('min', '1')], [READ]), OF_JOINT, None),
        (ros2(SIMPLE, [''], [''], '<limit velocity="1"/>'), f'{OF_JOINT}, or {OF_MOTOR}', None),
        (ros2(SIMPLE, [''], [''], param('max_effort', '1')), f'{OF_JOINT}, or {OF_MOTOR}', None),
        (ros2(CRANK, [param('Lower', '1')], [''], CRANK_SIZES), OF_JOINT, None),
        # Measurements would be wrong by the ratio.
        (ros2(SIMPLE, [tag(SENSORS, 'true')], ['']), IN_WHOLE, None),
        (ros2(SIMPLE, [''], [f'<{SENSORS}/>']), IN_WHOLE, None),
        (ros2(SIMPLE, [param('ignore_absolute_encoder', 'true')], ['']), IN_WHOLE, None),
        (ros2(SIMPLE, [''], [''], param('ignore_absolute_encoder', 'yes')), IN_WHOLE, None),
        (ros1(SIMPLE, [''], [READ + f'<{SENSORS}/>']), IN_JOINTS, None),
        (ros1(SIMPLE, [''], [READ], f'<{SENSORS}/>'), IN_JOINTS, None),
        (ros1(SIMPLE, [f' {SENSORS}="true">'], [READ]), IN_JOINTS, None),
        (
            ros1(SIMPLE, [tag('ignore_torque_sensor', 'true')], [READ]),
            IN_WHOLE_TORQUE, None,
        ),
        (ros2(SIMPLE, [''], [''], param('ignore_torqe_sensor', 'true')), IN_WHOLE_TORQUE, None),
        # In both dialects, wherever it stands: ros2_control ignores it and turns the other way.
        (ros2(SIMPLE, [RATIO + '<reversed/>'], ['']), f'a negative {IN_JOINT}', None),
        (ros2(SIMPLE, [' Reversed="1">' + RATIO], ['']), f'a negative {IN_JOINT}', None),
        (ros2(SIMPLE, [RATIO], [param('reversed', 'yes')]), f'a negative {IN_JOINT}', None),
        (ros2(SIMPLE, [RATIO], [''], tag('reverse', 'true')), f'a negative {IN_JOINT}', None),
        (ros1(SIMPLE, [''], [READ + tag('reversed', 'true')]), f'a negative {IN_ACTUATOR}', None),
        (ros1(SIMPLE, [' reversed="true">'], [READ]), f'a negative {IN_ACTUATOR}', None),
        (ros1(SIMPLE, [''], [READ], param('reversed', 'TRUE')), f'a negative {IN_ACTUATOR}', None),
        (
            ros2(DIFFERENTIAL, ['', ''], [tag('reversed', 'true'), '']),
            'a negative <mechanical_reduction> inside <actuator name="a1">', None,
        ),
    ],
)  # fmt: skip
def test_a_number_that_nobody_reads_is_refused(text: str, expected: str, found) -> None:
    """
    Where the number that is read is missing, and the other one is not its default, nothing runs.

    The joint is neither mapped nor passed through; the sentence says where the number belongs.
    """
    finding = refusal(built(text))
    assert finding.expected == expected
    assert found is None or finding.found == found
    if expected.startswith('a negative'):
        assert finding.message.endswith('write a negative mechanical_reduction')
    elif 'ignore' not in expected:
        assert 'is not used by' in finding.message


@pytest.mark.parametrize(
    ('text', 'jacobian'),
    [
        # The default itself.
        (ros2(SIMPLE, [tag('mechanicalReduction', '1')], ['']), 1.0),
        (ros2(SIMPLE, [''], [tag('mechanical_reduction', '1.0')]), 1.0),
        (ros2(SIMPLE, [''], [tag('offset', '0')]), 1.0),
        # The number that is read is there.
        (ros2(SIMPLE, [tag('mechanical_reduction', '4')], [tag('mechanical_reduction')]), 0.25),
        (ros2(SIMPLE, [tag('mechanical_reduction', '4') + param('gear_ratio')], ['']), 0.25),
        (ros2(SIMPLE, [tag('mechanical_reduction', '4')], [''], tag('mechanicalReduction')), 0.25),
        (ros1(SIMPLE, [tag('mechanicalReduction')], [READ]), 0.05),
        (ros1(SIMPLE, [''], [READ + tag('mechanical_reduction')]), 0.05),
        (ros1(SIMPLE, [''], [READ], tag('mechanicalReduction')), 0.05),
        (ros2(SIMPLE, [tag('offset', '0') + param('offset', '3')], ['']), 1.0),
        # Another number altogether.
        (ros2(SIMPLE, [param('acceleration', '3')], ['']), 1.0),
        (ros2(SIMPLE, [param('offset_x', '3')], ['']), 1.0),
        (ros2(SIMPLE, [param('duration', 'long')], ['']), 1.0),
        # What is so without it.
        (ros2(SIMPLE, [tag('mechanical_reduction', '4') + tag('reversed', 'false')], ['']), 0.25),
    ],
)  # fmt: skip
def test_a_number_that_changes_nothing_is_a_warning(text: str, jacobian: float) -> None:
    """What is not read is reported, strictly an error, and the transmission runs as it is read."""
    t = built(text)
    (finding,) = t.findings
    assert (finding.severity, finding.fatal_if_strict) == ('warning', True)
    assert f'is not used by {SIMPLE}' in finding.message
    assert t.jacobian([0.0]).tolist() == [[jacobian]]
    assert t.actuator_to_joint('position', [0.0]).tolist() == [0.0]


def test_what_is_read_is_said_with_the_place_of_what_is_not() -> None:
    """Each has a finding of its own; the number that is there is named as the only one."""
    given_twice = ros2(SIMPLE, [RATIO], [tag('mechanical_reduction', '2')])
    assert built(given_twice).findings[0].expected == f'only {IN_JOINT}'
    assert built(ros1(SIMPLE, [READ], [READ])).findings[0].expected == f'only {IN_ACTUATOR}'
    default = ros2(SIMPLE, [tag('mechanicalReduction', '1')], [''])
    assert built(default).findings[0].expected == IN_JOINT
    finding = refusal(built(ros2(SIMPLE, [''], [param('mechanical_reduction')])))
    assert finding.line == 3
    assert finding.path == '/robot/ros2_control/transmission/actuator/param'
    t = built(ros2(SIMPLE, [tag('ofset', '1') + param('x')], [RATIO]))
    assert t.joint_names == ()
    assert [finding.severity for finding in t.findings] == ['error', 'warning', 'error']


#: What plugins read: a ratio of their own, none, a sense, and spellings that no dialect knows.
PLUGINS = {
    'Gear': lambda cls, reader: cls(
        [[1.0 / reader.number('gear_ratio', description='Ratio.', default=10.0, joint=0)]],
        reader.joint_offsets(),
    ),
    'TwoGears': lambda cls, reader: cls(
        [
            [
                1.0
                / reader.actuator_reductions()[0]
                / reader.number('gear_ratio', description='Ratio.', joint=0)
            ]
        ]
    ),
    'Bare': lambda cls, reader: cls([[0.5]]),
    'Turned': lambda cls, reader: cls(
        [[-1.0 if reader.text('reversed', joint=0) == 'true' else 1.0]]
    ),
    'CamelCase': lambda cls, reader: cls(
        [[1.0 / reader.number('mechanicalReduction', description='Ratio.', joint=0)]],
        [reader.number('ofset', description='Offset.', default=0.0)],
    ),
}


@pytest.fixture
def with_plugins(registry_of):
    """Return a function that builds a robot with the plugins above."""
    types = [
        type(name, (LinearTransmission,), {'api_version': 2, 'from_spec': classmethod(build)})
        for name, build in PLUGINS.items()
    ]
    return lambda *text, write=ros2: built(write(*text), registry=registry_of(*types))


OWN = '<param name="gear_ratio"> inside <joint name="j1">'


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (('me/Gear', [RATIO], ['']), OWN),
        (('me/Gear', [tag('gearRatio')], ['']), OWN),
        (('me/Gear', [''], [tag('mechanical_reduction', '1')]), OWN),
        (('me/Gear', [''], [''], param('gear_ratio')), OWN),
        # A given ratio does not stand for the missing reduction of the actuator.
        (
            ('me/TwoGears', [param('gear_ratio', '5') + RATIO], ['']),
            '<mechanical_reduction> inside <actuator name="a1">',
        ),
        # One without a reduction is not told to write one.
        (('me/Bare', [tag('reversed', 'true')], ['']), "no 'reversed'"),
    ],
)
def test_a_plugin_s_own_ratio_counts(with_plugins, text, expected) -> None:
    """A type that reads a ratio under its own name is not run with the default of that one."""
    finding = refusal(with_plugins(*text))
    assert finding.expected == expected
    assert expected != OWN or '10 would be used instead' in finding.message


@pytest.mark.parametrize(
    ('text', 'jacobian', 'offset', 'warnings'),
    [
        # The number that the plugin would use anyway changes nothing; a given one is what counts.
        (('me/Gear', [''], [param('ratio', '10')]), 0.1, 0.0, 1),
        (('me/Gear', [param('gear_ratio', '5')], [param('ratio')]), 0.2, 0.0, 1),
        # What the type asks for.
        (
            ('me/CamelCase', [tag('mechanicalReduction', '4')], [''], param('ofset', '0.5')),
            0.25, 0.5, 0,
        ),
        (('me/Turned', [tag('reversed', 'true')], ['']), -1.0, 0.0, 0),
        # Where the type reads no ratio at all, there is none that could be missing.
        (('me/Bare', [RATIO + tag('offset', '2')], [param('gear_ratio')]), 0.5, 0.0, 3),
        # Limits of a motor, and those that the type itself reads.
        ((SIMPLE, [''], ['<limit velocity="1"/>' + param('upper', '1')]), 1.0, 0.0, 0),
    ],
)  # fmt: skip
def test_what_a_type_reads_is_never_complained_about(
    with_plugins, text, jacobian, offset, warnings
) -> None:
    """Neither a spelling of the other dialect nor a misspelt name."""
    t = built(ros2(*text)) if text[0] == SIMPLE else with_plugins(*text)
    assert [each.severity for each in t.findings] == ['warning'] * warnings
    assert t.jacobian([0.0]).tolist() == [[jacobian]]
    assert t.actuator_to_joint('position', [0.0]).tolist() == [offset]


@pytest.mark.parametrize(('number', 'count'), [('1', 0), ('1.0', 0), ('2', 1), ('-1', 1)])
def test_the_ratio_that_ros_1_requires(with_plugins, number: str, count: int) -> None:
    """ROS 1 requires a ratio of every actuator; 1 is no finding if the type does not read it."""
    t = with_plugins('me/Bare', [''], [tag('mechanicalReduction', number)], write=ros1)
    assert [finding.severity for finding in t.findings] == ['warning'] * count
    assert t.jacobian([0.0]).tolist() == [[0.5]]


def test_limits_that_a_type_reads_are_not_refused() -> None:
    """A crank has ends of its own."""
    ends = param('lower', '-1') + param('upper', '1')
    assert built(ros2(CRANK, [ends], [''], CRANK_SIZES)).findings == ()


LEVELS = ('joint', 'actuator', 'transmission')
#: Names that a hurried user writes for a reduction.
NAMES = st.from_regex(
    r'(mechanical|gear|joint|Gear|)[_-]?([Rr]eduction|ratio|RATIO)(_?[0-9xyz])?', fullmatch=True
).filter(lambda name: name[0] not in '-0123456789')


@st.composite
def misspelt(draw) -> str:
    """Return ``mechanical_reduction`` with one or two wrong letters."""
    name = 'mechanical_reduction'
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(1, len(name) - 1))
        letter = draw(st.sampled_from(['', *'aceimnortx_']))
        name = name[:place] + letter + name[place + draw(st.integers(0, 1)) :]
    return name


@given(
    st.sampled_from(['ros2', 'ros1']),
    st.sampled_from(LEVELS),
    st.sampled_from(['element', 'attribute', 'param']),
    NAMES | misspelt() | st.sampled_from(['mechanical_reduction', 'mechanicalReduction']),
    st.sampled_from(['50', '-1', '0.02', '1', '1.0', '1e0']),
)
@example('ros2', 'joint', 'element', 'mechanical_reducton', '50')
def test_no_ratio_of_a_file_is_run_as_another(
    dialect: str, level: str, form: str, name: str, number: str
) -> None:
    """However and wherever one ratio is written, the robot runs with it or not at all."""
    inside = {'element': tag(name, number), 'param': param(name, number)}.get(form, '')
    attribute = f' {name}="{number}"' if form == 'attribute' else ''
    part = f'{attribute}>{inside}' if attribute else inside
    assert find_meaning(name) == 'mechanical_reduction'
    write = ros2 if dialect == 'ros2' else ros1
    t = built(
        write(SIMPLE, [part], [''])
        if level == 'joint'
        else write(SIMPLE, [''], [part])
        if level == 'actuator'
        else write(SIMPLE, [''], [''], inside, attribute)
    )
    ratios = {1.0 / t.jacobian([0.0])[0, 0]} if t.joint_names else set()
    if dialect == 'ros2' and not ratios:
        finding = refusal(t)
        assert finding.expected == IN_JOINT
        assert float(finding.found.strip("'")) == float(number)
    assert ratios <= {float(number)}
    assert ratios or any(each.severity == 'error' for each in t.findings)
    if dialect == 'ros2' and float(number) == 1.0:
        assert ratios


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('names', 'expected'),
    [
        (
            'mechanical_reduction mechanicalReduction MECHANICAL-REDUCTION mechanical_reducton '
            'mechnical_reductoin mecanical_reductio reduction gear_ratio gearRatio RATIO '
            'jointReduction ratio_2 gear_ratio_n belt_ratio beltratio reducton gear_ratoi',
            'mechanical_reduction',
        ),
        ('offset Offset off_set OFFSET ofset offest offse ofsett joffset offset1', 'offset'),
        (
            'limit limits Limit LIMITS limt limir min max minimum lower lowur upper uper velocity '
            'velocty effort efort torque max_velocity maxVelocity maxvelocity max-velosity '
            'velocity_max MAX_EFFORT min_position position_lower velocity_limit effortLimit '
            'joint_limits soft_lower_limit current_limit upper_joint_velocity max_motor_torque '
            'velocity_limt',
            'limit',
        ),
        ('position_unit positionUnit postion_unit position_units', 'position_unit'),
        ('ignore_torque_sensor ignoreTorqueSensor ignore_torqe_sensor', 'ignore_torque_sensor'),
        ('reverse Reversed', 'reversed'),
        (
            'offset_x offsetX joint_offset rod-offset off set reset onse acceleration '
            'saturationLower calibration duration rate radius mechanical lead matrix joint1 param '
            'max_gain max_acceleration position power lever follower delimiter upper_leg_length '
            'torque_constant velocity_gain velocity_p direction friction rotation torque_sensor',
            '',
        ),
        ('', ''),
    ],
)
def test_a_misspelt_name_has_the_meaning_of_the_closest_known_one(names, expected) -> None:
    """Case, separators and a wrong letter do not matter; other numbers have no meaning."""
    for name in names.split() or ['']:
        assert find_meaning(name) == expected, name


def edited(name: str, edit: str, place: int, letter: str) -> str:
    """Return a name with a letter inserted, deleted, replaced, or swapped with the next."""
    if edit == 'swap':
        return name[:place] + name[place : place + 2][::-1] + name[place + 2 :]
    return name[:place] + letter * (edit != 'delete') + name[place + (edit != 'insert') :]


@pytest.mark.parametrize(
    ('name', 'meaning', 'most'),
    [
        ('mechanical_reduction', 'mechanical_reduction', 2),
        ('mechanicalReduction', 'mechanical_reduction', 2),
        ('reduction', 'mechanical_reduction', 1),
        ('offset', 'offset', 1),
        ('limit', 'limit', 1),
        ('velocity', 'limit', 1),
        ('max_velocity', 'limit', 0),
        *((unit, unit, 1) for unit in UNITS),
        *((flag, flag, 1) for flag in BY_ROLE),
    ],
)
@given(data=st.data())
def test_wrong_letters_do_not_hide_a_number(data, name: str, meaning: str, most: int) -> None:
    """One wrong letter of any name, and two of ``mechanical_reduction``, keep its meaning."""
    edits = st.tuples(
        st.sampled_from(['insert', 'delete', 'replace', 'swap']),
        st.integers(0, len(name) - 2),
        st.sampled_from('abxyz'),
    )
    for edit in data.draw(st.lists(edits, max_size=most)):
        name = edited(name, *edit)
    assert find_meaning(name) == meaning
    assert find_meaning(name.upper()) == meaning


@pytest.mark.parametrize(
    ('name', 'expected'), [('leed', "'lead'"), ('lead_1', "'lead'"), ('inertia', '')]
)
def test_an_unused_name_is_reported_with_the_closest_one_that_is_read(name, expected) -> None:
    """A number without a meaning of its own is a warning, and the type has what it needs."""
    t = built(ros2(SCREW, [''], [''], param('lead', '0.01') + param(name)))
    (finding,) = t.findings
    assert (finding.severity, finding.expected) == ('warning', expected)
    assert t.joint_names == ('j1',)


# -- where a number may stand --------------------------------------------------------------------

PLACES = ('transmission', 'joint', 'actuator')
SPELLINGS = ('attribute', 'element', 'param')


def table_of_places() -> dict[tuple[str, str, str], set[str]]:
    """Return the spellings of the table by name, place and dialect."""
    section = DOCUMENT.read_text(encoding='utf-8').split('### Where a number may stand\n')[1]
    rows = re.findall(r'^\| (.*?`.*) \|$', section.split('###')[0], re.MULTILINE)
    table = {}
    for row in rows:
        name, places, *dialects = (cell.strip() for cell in row.split('|'))
        if name != 'number':
            for place in places.split(', '):
                for dialect, spellings in zip(('ros2', 'ros1'), dialects, strict=True):
                    words = set(filter(None, spellings.split(', ')))
                    table[re.search('`(.*)`', name).group(1), place, dialect] = words
    return table


def spelt(name: str, place: str, dialect: str, spelling: str, value: str) -> str:
    """Return a robot with a number in one place."""
    part = {
        'attribute': f' {name}="{value}">',
        'element': tag(name, value),
        'param': param(name, value),
    }[spelling]
    inside = {**dict.fromkeys(PLACES, ''), place: part}
    attributes = ''
    if place == 'transmission' and spelling == 'attribute':
        attributes, inside[place] = part[:-1], ''
    if dialect == 'ros1' and not (place == 'actuator' and name == 'mechanicalReduction'):
        inside['actuator'] += tag('mechanicalReduction', '9')  # of every actuator in ROS 1
    write = ros2 if dialect == 'ros2' else ros1
    members = ([inside['joint']], [inside['actuator']])
    return write('any/Type', *members, inside['transmission'], attributes)


def is_read(name: str, place: str, dialect: str, spelling: str) -> bool:
    """Whether a number that is spelt so is the one that counts."""
    value = {'role': 'some', 'read_only': 'true'}.get(name, '4')
    robot = load_description(spelt(name, place, dialect, spelling, value))
    if not robot.transmissions:
        return False
    (spec,) = robot.transmissions
    if name == 'lead':
        scope = {} if place == 'transmission' else {place: 0}
        return SpecReader(spec).number(name, description='', default=1.0, **scope) == 4.0
    if place == 'transmission':
        return False
    (member,) = spec.joints if place == 'joint' else spec.actuators
    field = 'mechanical_reduction' if name == 'mechanicalReduction' else name
    return getattr(member, field) == {'role': 'some', 'read_only': True}.get(name, 4.0)


def test_numbers_are_read_where_the_table_says_and_nowhere_else():
    """Of each number, every spelling in every place, in both dialects."""
    table = table_of_places()
    names = {name for name, _, _ in table}
    assert names == {
        'mechanical_reduction', 'mechanicalReduction', 'offset', 'role', 'read_only', 'lead',
    }  # fmt: skip
    for name, place, dialect in itertools.product(names, PLACES, ('ros2', 'ros1')):
        found = {each for each in SPELLINGS if is_read(name, place, dialect, each)}
        assert found == table.get((name, place, dialect), set()), (name, place, dialect)
