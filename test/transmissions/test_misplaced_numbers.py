# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers that stand where nobody reads them: no wrong ratio, and no limit that is not kept."""

import itertools
import math
import re

from documents import DOCUMENTS
from hypothesis import example, given, strategies as st
import pytest
from zoo.elements import load, params, ros1_robot, urdf

from transmission_bridge import LinearTransmission, load_description
from transmission_bridge.transmissions import SpecReader
from transmission_bridge.transmissions.known_names import find_known_name
from transmission_bridge.transmissions.robot.units import UNITS
from transmission_bridge.transmissions.tunable import BY_ROLE

#: Types: their plugin, how many joints and actuators they have, and what they need.
# fmt: off
TYPES = {
    'Simple': ('transmission_interface/SimpleTransmission', 1, ''),
    'Differential': ('transmission_interface/DifferentialTransmission', 2, ''),
    'Coupled': ('transmission_bridge/CoupledTransmission', 2, params(matrix='1 0; 0 1')),
    'Screw': ('transmission_bridge/ScrewTransmission', 1, params(lead=0.01)),
    'CrankSlider': ('transmission_bridge/CrankSliderTransmission', 1, params(
        crank_radius=0.04, rod_length=0.12, crank_angle=1.5)),
}
# fmt: on
READ = '<mechanicalReduction>20</mechanicalReduction>'


def robot(line, read=READ):
    """
    Return a robot whose transmission ``t`` has numbers in some places.

    :param line: Dialect, type (``Simple`` where it is left out), and what stands where:
        ``ros2 Differential joint2: <offset>1</offset> actuator1: @upper="1"``, in which
        attributes begin with ``@``.
    :param read: What each actuator in the style of ROS 1 has to have, if the line does not say.
    """
    head, *found = re.split(r' ((?:joint|actuator)\d|transmission):', line)
    parts = dict(zip(found[::2], found[1::2], strict=True))
    is_ros1, (kind, *_) = head.startswith('ros1'), [*head.split()[1:], 'Simple']
    plugin, count, needed = TYPES.get(kind, (kind, 1, ''))

    def split(place):
        """Return the attributes and the elements of a place."""
        text = parts.get(place, '')
        return ' '.join(re.findall(r'@(\S+="[^"]*")', text)), re.sub(r'@\S+="[^"]*"', '', text)

    members = ''
    for place in (f'{side}{n}' for side in ('joint', 'actuator') for n in range(1, count + 1)):
        side, (attributes, inside) = place[:-1], split(place)
        if is_ros1 and side == 'joint':
            inside += '<hardwareInterface>PositionJointInterface</hardwareInterface>'
        elif is_ros1 and 'mechanicalReduction' not in inside:
            inside += read
        if 'role' not in parts.get(place, ''):
            attributes += '' if is_ros1 else f' role="{place}"'
            inside += f'<role>{place}</role>' if is_ros1 else ''
        members += f'\n<{side} name="{place[0]}{place[-1]}" {attributes}>{inside}</{side}>'
    attributes, inside = split('transmission')
    type_of = f'<type>{plugin}</type>' if is_ros1 else f'<plugin>{plugin}</plugin>'
    block = f'<transmission name="t" {attributes}>{type_of}{members}{inside}{needed}'
    block += '</transmission>'
    names = [f'j{n}' for n in range(1, count + 1)]
    return ros1_robot(block, joints=names) if is_ros1 else urdf(names, block)


def built(line, **options):
    """Return the maps of a robot by its line."""
    return load(robot(line), **options)


def refusal(t):
    """Return the one error finding of a robot without any joint."""
    assert t.joint_names == t.actuator_names == t.pass_through == ()
    (finding,) = [each for each in t.findings if each.severity == 'error']
    assert finding.subject == 't'
    assert "transmission 't' cannot be used: unread <" in finding.message
    return finding


IN_JOINT = "<mechanical_reduction> in joint 'j1'"
IN_ACTUATOR = "<mechanicalReduction> in actuator 'a1'"
TO_ACTUATOR = "<mechanical_reduction> in actuator 'a1'"
OFFSET = "<offset> in joint 'j1'"
SENSORS = 'ignoreTransmissionAbsoluteEncoder'
IN_WHOLE = '<param name="ignore_absolute_encoder"> in the <transmission>'
IN_WHOLE_TORQUE = IN_WHOLE.replace('absolute_encoder', 'torque_sensor')
OF_MOTOR = "<limit> in actuator 'a1'"
OF_JOINT = "the URDF's <limit> in joint 'j1'"
NEGATIVE = f'a negative {IN_JOINT}'
RATIO = '<mechanical_reduction>50</mechanical_reduction>'
TWO = '<mechanical_reduction>2</mechanical_reduction>'
FOUR = '<mechanical_reduction>4</mechanical_reduction>'


@pytest.mark.parametrize(('line', 'expected', 'found'), [
    # What is no number for certain.
    ('ros2 joint1: <mechanicalReduction>50:1</mechanicalReduction>', IN_JOINT, '50:1'),
    ('ros2 joint1: <mechanicalReduction value="50"/>', IN_JOINT, ''),
    # Offsets, in both dialects.
    ('ros2 joint1: <ofset>0.1</ofset>', OFFSET, '0.1'),
    ('ros2 actuator1: <offset>-0.1</offset>', OFFSET, '-0.1'),
    ('ros1 joint1: @offset="0.1"', OFFSET, '0.1'),
    ('ros1 actuator1: <offset>0.1</offset>', OFFSET, '0.1'),
    # A differential reads both sides, each member its own.
    ('ros2 Differential joint1: <mechanical_reducton>2</mechanical_reducton>', IN_JOINT, '2'),
    (f'ros1 Differential joint1: {TWO}', "<mechanicalReduction> in joint 'j1'", '2'),
    (f'ros2 Differential joint1: {TWO} joint2: {TWO} actuator1: {RATIO} '
     'actuator2: <mechanicalReduction>50</mechanicalReduction>',
     "<mechanical_reduction> in actuator 'a2'", '50'),
    (f'ros2 Differential joint1: {TWO} joint2: {TWO} actuator1: {RATIO} transmission: {RATIO}',
     "<mechanical_reduction> in actuator 'a2'", '50'),
    # Types that read the actuators' reduction only.
    (f'ros2 Coupled joint1: {RATIO}', f"{TO_ACTUATOR} or {TO_ACTUATOR[:-2]}2'", '50'),
    (f'ros2 Screw joint1: {RATIO}', TO_ACTUATOR, '50'),
    ('ros2 CrankSlider transmission: <param name="ofset">0.01</param>',
     f'<param name="offset"> in transmission \'t\' or {OFFSET}', '0.01'),
    # A limit is not run without, however it is written, whatever other limit there is.
    ('ros2 actuator1: <limits velocity="1"/>', OF_MOTOR, None),
    ('ros2 actuator1: <limit upper="3"/><param name="max_velocity">1</param>', OF_MOTOR, None),
    ('ros1 actuator1: <effort_limit>1</effort_limit>', OF_MOTOR, None),
    ('ros2 joint1: <limit velocity="1"/>', OF_JOINT, None),
    ('ros2 transmission: <limit velocity="1"/>', f'{OF_JOINT} or {OF_MOTOR}', None),
    ('ros2 CrankSlider joint1: <param name="Lower">1</param>', OF_JOINT, None),
    # Measurements would be wrong by the ratio.
    (f'ros2 joint1: <{SENSORS}>true</{SENSORS}>', IN_WHOLE, None),
    ('ros1 joint1: <ignore_torque_sensor>true</ignore_torque_sensor>', IN_WHOLE_TORQUE, None),
    # In both dialects, wherever it stands: ros2_control ignores it and turns the other way.
    (f'ros2 joint1: {RATIO}<reversed/>', NEGATIVE, None),
    (f'ros2 joint1: {RATIO} transmission: <reverse>true</reverse>', NEGATIVE, None),
    ('ros1 actuator1: <reversed>true</reversed>', f'a negative {IN_ACTUATOR}', None),
    ('ros2 Differential actuator1: <reversed>true</reversed>',
     f'a negative {TO_ACTUATOR}', None),
])  # fmt: skip
def test_a_number_that_nobody_reads_is_refused(line, expected, found):
    """
    Where the number that is read is missing, and the other one is not its default, nothing runs.

    The joint is neither mapped nor passed through; the sentence says where the number belongs.
    """
    finding = refusal(built(line))
    assert finding.expected == expected
    assert found is None or finding.found == repr(found)


@pytest.mark.parametrize(('line', 'expected', 'jacobian'), [
    # The default itself.
    ('ros2 actuator1: <offset>0</offset>', OFFSET, 1.0),
    # The number that is read is there.
    (f'ros2 joint1: {FOUR} actuator1: {RATIO}', f'only {IN_JOINT}', 0.25),
    (f'ros2 joint1: {FOUR} transmission: {READ}', f'only {IN_JOINT}', 0.25),
    (f'ros1 joint1: {READ}', f'only {IN_ACTUATOR}', 0.05),
    (f'ros1 actuator1: {RATIO}', f'only {IN_ACTUATOR}', 0.05),
    ('ros2 joint1: <offset>0</offset><param name="offset">3</param>', f'only {OFFSET}', 1.0),
    # Another number altogether.
    ('ros2 joint1: <param name="acceleration">3</param>', '', 1.0),
    # What is so without it.
    (f'ros2 joint1: {FOUR}<reversed>false</reversed>', '', 0.25),
    # The closest name that is read.
    ('ros2 Screw transmission: <param name="leed">50</param>', "'lead'", 0.01 / math.tau),
    ('ros2 Screw transmission: <param name="inertia">50</param>', '', 0.01 / math.tau),
])  # fmt: skip
def test_a_number_that_changes_nothing_is_a_warning(line, expected, jacobian):
    """
    What is not read is reported, strictly an error, and the transmission runs as it is read.

    If the number is there in its place as well, that one is named as the only one.
    """
    t = built(line)
    (finding,) = t.findings
    assert (finding.severity, finding.fatal_if_strict) == ('warning', True)
    assert finding.message.startswith('unread <')
    assert finding.expected == expected
    assert t.jacobian([0.0])[0, 0] == pytest.approx(jacobian, rel=1e-15, abs=0.0)
    assert t.actuator_to_joint('position', [0.0]).tolist() == [0.0]


@pytest.mark.parametrize(('line', 'severity'), [
    ('ros2 actuator1: <param name="id">3</param>', 'info'),
    ('ros2 actuator1: <param name="node_id">3</param>', 'info'),
    ('ros2 actuator1: <id>3</id>', 'warning'),
    ('ros2 joint1: <param name="id">3</param>', 'warning'),
    ('ros2 actuator1: <param name="gear_ratio">1</param>', 'warning'),
    ('ros2 actuator1: <param name="position_units">deg</param>', 'error'),
])  # fmt: skip
def test_a_parameter_of_an_actuator_without_a_known_name_is_the_drivers(line, severity):
    """A driver keeps its numbers there; a misspelt known name stays what it was."""
    (finding,) = built(line).findings
    assert finding.severity == severity
    assert finding.message.endswith('it is left to the driver') == (severity == 'info')
    assert finding.fatal_if_strict == (severity != 'info')


def test_each_number_has_a_finding_with_its_place():
    """The one that is not read is found by its line and its path."""
    line = 'ros2 actuator1: <param name="mechanical_reduction">50</param>'
    finding = refusal(built(line))
    assert robot(line).split('\n')[finding.line - 1].startswith('<actuator name="a1"')
    assert finding.path == '/robot/ros2_control/transmission/actuator/param'
    t = built(f'ros2 joint1: <ofset>1</ofset><param name="x">50</param> actuator1: {RATIO}')
    assert t.joint_names == ()
    assert [finding.severity for finding in t.findings] == ['error', 'warning', 'error']


# -- plugins -------------------------------------------------------------------------------------


def number(reader, name, **options):
    """Return what a plugin reads of its joint."""
    return reader.number(name, description='A number.', joint=0, **options)


#: What plugins read: a ratio of their own, none, a sense, and spellings that no dialect knows.
PLUGINS = {
    'Gear': lambda cls, r: cls([[1.0 / number(r, 'gear_ratio', default=10.0)]], r.joint_offsets()),
    'TwoGears': lambda cls, r: cls([[1.0 / r.actuator_reductions()[0] / number(r, 'gear_ratio')]]),
    'Bare': lambda cls, r: cls([[0.5]]),
    'Turned': lambda cls, r: cls([[-1.0 if r.text('reversed', joint=0) == 'true' else 1.0]]),
    'CamelCase': lambda cls, r: cls(
        [[1.0 / number(r, 'mechanicalReduction')]],
        [r.number('ofset', description='Offset.', default=0.0)],
    ),
}


@pytest.fixture(scope='module')
def with_plugins(registry_of):
    """Return a function that builds a robot with the plugins above."""
    types = [
        type(name, (LinearTransmission,), {'api_version': 1, 'from_spec': classmethod(build)})
        for name, build in PLUGINS.items()
    ]
    return lambda line: built(line, registry=registry_of(*types) if 'me/' in line else None)


OWN = '<param name="gear_ratio"> in joint \'j1\''


@pytest.mark.parametrize(('line', 'expected'), [
    (f'ros2 me/Gear joint1: {RATIO}', OWN),
    ('ros2 me/Gear joint1: <gearRatio>50</gearRatio>', OWN),
    ('ros2 me/Gear actuator1: <mechanical_reduction>1</mechanical_reduction>', OWN),
    ('ros2 me/Gear transmission: <param name="gear_ratio">50</param>', OWN),
    # A given ratio does not stand for the missing reduction of the actuator.
    (f'ros2 me/TwoGears joint1: <param name="gear_ratio">5</param>{RATIO}', TO_ACTUATOR),
    # One without a reduction is not told to write one.
    ('ros2 me/Bare joint1: <reversed>true</reversed>', "no 'reversed'"),
])  # fmt: skip
def test_a_plugin_s_own_ratio_counts(with_plugins, line, expected):
    """A type that reads a ratio under its own name is not run with the default of that one."""
    assert refusal(with_plugins(line)).expected == expected


@pytest.mark.parametrize(('line', 'jacobian', 'offset', 'warnings'), [
    # The number that the plugin would use anyway changes nothing; a given one is what counts.
    ('ros2 me/Gear actuator1: <param name="ratio">10</param>', 0.1, 0.0, 1),
    ('ros2 me/Gear joint1: <param name="gear_ratio">5</param> '
     'actuator1: <param name="ratio">50</param>', 0.2, 0.0, 1),
    # What the type asks for.
    ('ros2 me/CamelCase joint1: <mechanicalReduction>4</mechanicalReduction> '
     'transmission: <param name="ofset">0.5</param>', 0.25, 0.5, 0),
    ('ros2 me/Turned joint1: <reversed>true</reversed>', -1.0, 0.0, 0),
    # Where the type reads no ratio at all, there is none that could be missing.
    (f'ros2 me/Bare joint1: {RATIO}<offset>2</offset> '
     'actuator1: <param name="gear_ratio">50</param>', 0.5, 0.0, 3),
    # ROS 1 requires a ratio of every actuator; 1 is no finding if the type does not read it.
    ('ros1 me/Bare actuator1: <mechanicalReduction>1</mechanicalReduction>', 0.5, 0.0, 0),
    ('ros1 me/Bare actuator1: <mechanicalReduction>2</mechanicalReduction>', 0.5, 0.0, 1),
    # Limits of a motor.
    ('ros2 actuator1: <limit velocity="1"/><param name="upper">1</param>', 1.0, 0.0, 0),
])  # fmt: skip
def test_what_a_type_reads_is_never_complained_about(
    with_plugins, line, jacobian, offset, warnings
):
    """Neither a spelling of the other dialect nor a misspelt name."""
    t = with_plugins(line)
    assert [each.severity for each in t.findings] == ['warning'] * warnings
    assert t.jacobian([0.0]).tolist() == [[jacobian]]
    assert t.actuator_to_joint('position', [0.0]).tolist() == [offset]


def test_limits_that_a_type_reads_are_not_refused():
    """A crank has ends of its own."""
    assert built('ros2 CrankSlider joint1: ' + params(lower=-1, upper=1)).findings == ()


# -- where a number may stand --------------------------------------------------------------------

PLACES = {'transmission': 'transmission', 'joint': 'joint1', 'actuator': 'actuator1'}

#: How a number is written.
SPELLINGS = {
    'attribute': '@{name}="{value}"',
    'element': '<{name}>{value}</{name}>',
    'param': '<param name="{name}">{value}</param>',
}

#: Names that a hurried user writes for a reduction.
NAMES = st.from_regex(
    r'(mechanical|gear|joint|Gear|)[_-]?([Rr]eduction|ratio|RATIO)(_?[0-9xyz])?', fullmatch=True
).filter(lambda name: name[0] not in '-0123456789')


@st.composite
def misspelt(draw, name, most):
    """Return a name with letters inserted, deleted, replaced, or swapped with the next."""
    for _ in range(draw(st.integers(0, most))):
        edit = draw(st.sampled_from(['insert', 'delete', 'replace', 'swap']))
        place, letter = draw(st.integers(0, len(name) - 2)), draw(st.sampled_from('abxyz'))
        if edit == 'swap':
            name = name[:place] + name[place : place + 2][::-1] + name[place + 2 :]
        else:
            letter = '' if edit == 'delete' else letter
            name = name[:place] + letter + name[place + (edit != 'insert') :]
    return name


@given(
    st.sampled_from(['ros2', 'ros1']),
    st.sampled_from(sorted(PLACES.values())),
    st.sampled_from(sorted(SPELLINGS)),
    NAMES | misspelt('mechanical_reduction', 2) | misspelt('mechanicalReduction', 0),
    st.sampled_from(['50', '-1', '0.02', '1', '1.0', '1e0']),
)
@example('ros2', 'joint1', 'element', 'mechanical_reducton', '50')
def test_no_ratio_of_a_file_is_run_as_another(dialect, place, spelling, name, number):
    """However and wherever one ratio is written, the robot runs with it or not at all."""
    assert find_known_name(name) == 'mechanical_reduction'
    part = SPELLINGS[spelling].format(name=name, value=number)
    t = load(robot(f'{dialect} {place}: {part}', read=''))
    ratios = {1.0 / t.jacobian([0.0])[0, 0]} if t.joint_names else set()
    if dialect == 'ros2' and not ratios:
        finding = refusal(t)
        assert (finding.expected, float(finding.found.strip("'"))) == (IN_JOINT, float(number))
    assert ratios <= {float(number)}
    assert ratios or any(each.severity == 'error' for each in t.findings)
    if dialect == 'ros2' and float(number) == 1.0:
        assert ratios


def table_of_places():
    """Return the spellings of the document's table by name, place and dialect."""
    table = {}
    section = DOCUMENTS['transmissions.md'].section('Where a number may stand')
    for row in re.findall(r'^\|( [^|]*`[^|]+`.*)\|$', section, re.MULTILINE):
        name, places, *dialects = (cell.strip() for cell in row.split('|'))
        for place, (dialect, spellings) in itertools.product(
            places.split(', '), zip(('ros2', 'ros1'), dialects, strict=True)
        ):
            words = set(filter(None, spellings.split(', ')))
            table[re.search('`(.*)`', name).group(1), place, dialect] = words
    return table


def is_read(name, place, dialect, spelling):
    """Whether a number that is spelt so is the one that counts."""
    value = {'role': 'some', 'read_only': 'true'}.get(name, '4')
    part = SPELLINGS[spelling].format(name=name, value=value)
    description = load_description(robot(f'{dialect} any/Type {PLACES[place]}: {part}'))
    if not description.transmissions:
        return False
    (spec,) = description.transmissions
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


# -- names ---------------------------------------------------------------------------------------

#: Meanings, and names that have them; what has none is another number.
MEANINGS = {
    'mechanical_reduction':
        'mechanical_reduction mechanicalReduction MECHANICAL-REDUCTION mechanical_reducton '
        'mechnical_reductoin mecanical_reductio reduction gear_ratio gearRatio RATIO '
        'jointReduction ratio_2 gear_ratio_n belt_ratio beltratio reducton gear_ratoi',
    'offset': 'offset Offset off_set OFFSET ofset offest offse ofsett joffset offset1',
    'limit':
        'limit limits Limit LIMITS limt limir min max minimum lower lowur upper uper velocity '
        'velocty effort efort torque max_velocity maxVelocity maxvelocity max-velosity '
        'velocity_max MAX_EFFORT min_position position_lower velocity_limit effortLimit '
        'joint_limits soft_lower_limit current_limit upper_joint_velocity max_motor_torque '
        'velocity_limt',
    'position_unit': 'position_unit positionUnit postion_unit position_units',
    'ignore_torque_sensor': 'ignore_torque_sensor ignoreTorqueSensor ignore_torqe_sensor',
    'reversed': 'reverse Reversed',
    '':
        'offset_x offsetX joint_offset rod-offset off set reset onse acceleration '
        'saturationLower calibration duration rate radius mechanical lead matrix joint1 param '
        'max_gain max_acceleration position power lever follower delimiter upper_leg_length '
        'torque_constant velocity_gain velocity_p direction friction rotation torque_sensor',
}  # fmt: skip


@pytest.mark.parametrize('meaning', MEANINGS)
def test_a_misspelt_name_has_the_meaning_of_the_closest_known_one(meaning):
    """Case, separators and a wrong letter do not matter; other numbers have no meaning."""
    for name in MEANINGS[meaning].split():
        assert find_known_name(name) == meaning, name
    assert find_known_name('') == ''


#: How many letters of a name may be wrong.
TOLERATED = {
    'mechanical_reduction': 2, 'mechanicalReduction': 2, 'reduction': 1, 'offset': 1, 'limit': 1,
    'velocity': 1, 'max_velocity': 0, **dict.fromkeys((*UNITS, *BY_ROLE), 1),
}  # fmt: skip


@pytest.mark.parametrize('name', TOLERATED)
@given(data=st.data())
def test_wrong_letters_do_not_hide_a_number(data, name):
    """As many as are tolerated of the name keep its meaning."""
    meaning, wrong = find_known_name(name), data.draw(misspelt(name, TOLERATED[name]))
    assert find_known_name(wrong) == find_known_name(wrong.upper()) == meaning != ''
    assert meaning == name or name in MEANINGS[meaning].split()
