# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge export``."""

from __future__ import annotations

import math
from pathlib import Path
import re
import tempfile

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob('urdf/*.urdf'))
SETTINGS = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])

#: Every spelling at once; @n@ is where number n stands.
ROS2 = """<robot name="r">
  <!-- <transmission name="simple"><joint name="q0"><offset>9</offset></joint></transmission> -->
  <ros2_control name="s" type="system">
    <hardware><plugin>é/ß</plugin></hardware>
    <joint name="q0"/><joint name="q1"/><joint name="q2"/><joint name="q3"/>
    <transmission name="simple">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="a0" role="actuator1"/>
      <joint name="q0" role = 'joint1' mechanical_reduction=' @0@' offset="@1@"	/>
    </transmission>
    <transmission name="wrist">
      <plugin>transmission_interface/DifferentialTransmission</plugin>
      <actuator name="a1" role="actuator1"
        ><mechanical_reduction><!-- was 30 -->@2@ </mechanical_reduction></actuator>
      <actuator name="a2" role="actuator2">
        <mechanical_reduction><![CDATA[ @3@ ]]></mechanical_reduction></actuator>
      <joint name="q1" role="joint1">
        <offset> @4@</offset><mechanical_reduction>
          @5@
        </mechanical_reduction>
      </joint>
      <joint name="q2" role="joint2"><offset>@6@</offset><offset>@6@</offset>
        <mechanical_reduction>@7@<?why not?></mechanical_reduction></joint>
    </transmission>
    <transmission name="screw">
      <plugin>transmission_bridge/ScrewTransmission</plugin>
      <actuator name="a3" role="actuator1">
        <mechanical_reduction>@8@</mechanical_reduction></actuator>
      <joint name="q3" role="joint1"><offset>@9@</offset></joint>
      <param name="lead">@10@</param>
    </transmission>
  </ros2_control>
</robot>
"""
ROS2_NAMES = """simple.joints.q0.mechanical_reduction simple.joints.q0.offset
wrist.actuators.a1.mechanical_reduction wrist.actuators.a2.mechanical_reduction
wrist.joints.q1.offset wrist.joints.q1.mechanical_reduction
wrist.joints.q2.offset wrist.joints.q2.mechanical_reduction
screw.actuators.a3.mechanical_reduction screw.joints.q3.offset screw.lead"""
ROS1 = """<robot name="r" xmlns="http://www.ros.org" xmlns:x="urn:x">
  <transmission name="simple">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name="q0"><offset>@1@</offset>
      <hardwareInterface>PositionJointInterface</hardwareInterface></joint>
    <actuator name="a0"><x:mechanicalReduction>@0@</x:mechanicalReduction></actuator>
  </transmission>
  <transmission name="pr2" type="SimpleTransmission">
    <actuator name="a4"/><joint name="q4"><offset>@2@</offset></joint>
    <mechanicalReduction>@3@</mechanicalReduction>
  </transmission>
  <transmission name="bar">
    <type>transmission_interface/FourBarLinkageTransmission</type>
    <joint name="q1"><role>joint1</role><mechanicalReduction>@4@</mechanicalReduction>
      <offset>@5@</offset><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
    <joint name="q2"><role>joint2</role><mechanicalReduction>@6@</mechanicalReduction>
      <offset>@7@</offset><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
    <actuator name="a1"><role>actuator1</role>
      <mechanicalReduction>@8@</mechanicalReduction></actuator>
    <actuator name="a2"><role>actuator2</role>
      <mechanicalReduction>@9@</mechanicalReduction></actuator>
  </transmission>
  <transmission name="coupled">
    <type>transmission_bridge/CoupledTransmission</type>
    <joint name="q5"><role>joint1</role>
      <hardwareInterface>EffortJointInterface</hardwareInterface><offset>@11@</offset></joint>
    <joint name="q6"><role>joint2</role>
      <hardwareInterface>EffortJointInterface</hardwareInterface><offset>@12@</offset></joint>
    <actuator name="a5"><role>actuator1</role>
      <mechanicalReduction>2</mechanicalReduction></actuator>
    <actuator name="a6"><role>actuator2</role>
      <mechanicalReduction>3</mechanicalReduction></actuator>
    <matrix>@10@ 0; <!-- row --> 0.125, 3</matrix>
  </transmission>
</robot>
"""
ROS1_NAMES = """simple.actuators.a0.mechanical_reduction simple.joints.q0.offset
pr2.joints.q4.offset pr2.actuators.a4.mechanical_reduction
bar.joints.q1.mechanical_reduction bar.joints.q1.offset
bar.joints.q2.mechanical_reduction bar.joints.q2.offset
bar.actuators.a1.mechanical_reduction bar.actuators.a2.mechanical_reduction
coupled.matrix.joint1.actuator1 coupled.joints.q5.offset coupled.joints.q6.offset"""
TEMPLATES = {'ros2': (ROS2, ROS2_NAMES), 'ros1': (ROS1, ROS1_NAMES)}

NUMBERS = st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-3)
SPELLINGS = [repr, '{:+.17e}'.format, lambda x: f'{x:.25f}']


def filled(template, texts):
    """Return a template with texts in its places."""
    return re.sub('@([0-9]+)@', lambda match: texts[int(match[1])], template)


def nested(values):
    """Return a parameter file with these values, as people nest them."""
    tree = {}
    for name, value in values.items():
        *path, last = name.split('.')
        level = tree
        for part in path:
            level = level.setdefault(part, {})
        level[last] = value
    return yaml.safe_dump({'/**': {'ros__parameters': {'transmissions': tree}}})


def dotted(values):
    """Return a parameter file with these values, names with dots, beside other parameters."""
    lines = ['/robot/transmission_bridge:', '  ros__parameters:', '    use_sim_time: false']
    lines += ['    robot_description: "<robot/>"', '    actuator_names: []']
    return '\n'.join([*lines, *(f'    transmissions.{n}: {v}' for n, v in values.items())])


@pytest.mark.parametrize('dialect', sorted(TEMPLATES))
@SETTINGS
@given(data=st.data())
def test_only_the_numbers_change(export, dialect, data):
    """Byte for byte: in any encoding, with any line ends, each number where it stands."""
    template, names = TEMPLATES[dialect]
    encoding = data.draw(st.sampled_from(['utf-8', 'utf-8-sig', 'utf-16', 'cp1252']))
    line_end = data.draw(st.sampled_from(['\n', '\r\n', '\r']))
    texts, changed, values = [], [], {}
    for name in names.split():
        text = data.draw(st.sampled_from(SPELLINGS))(data.draw(NUMBERS))
        texts.append(text)
        new = data.draw(st.one_of(st.none(), st.just(float(text)), NUMBERS))
        changed.append(text if new is None or new == float(text) else repr(new))
        if new is not None:
            values[name] = new
    head = '<?xml version="1.0" encoding="cp1252"?>\n' if encoding == 'cp1252' else ''
    before, after = (
        (head + filled(template, each)).replace('\n', line_end).encode(encoding)
        for each in (texts, changed)
    )
    write = data.draw(st.sampled_from([nested, dotted]))
    result, exported = exported_by(export, before, write(values))
    assert exported == after
    n_changed = sum(old != new for old, new in zip(texts, changed, strict=True))
    counts = f'numbers changed: {n_changed}, there already: {len(values) - n_changed}\n'
    assert counts in result.out


def exported_by(export, description, parameters):
    """Return the result and the bytes of an export into a file."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / 'new.urdf'
        result = export(description, parameters, '--output', target)
        assert (result.code, result.err) == (0, '')
        return result, target.read_bytes()


@pytest.mark.parametrize('file', EXAMPLES, ids=lambda file: file.name)
@settings(SETTINGS, max_examples=8)
@given(st.data())
def test_the_example_robots_come_out_with_the_numbers_asked_for(export, numbers_of, file, data):
    """Each number of each example can be written, and nothing but numbers and new lines differ."""
    before = file.read_bytes()
    wanted = numbers_of(before)
    names = data.draw(st.lists(st.sampled_from(sorted(wanted)), unique=True))
    values = {name: data.draw(NUMBERS) for name in names}
    _, after = exported_by(export, before, dotted(values))
    assert numbers_of(after) == wanted | values
    assert apart_from_numbers(after) == apart_from_numbers(before)


def apart_from_numbers(data):
    """Return a description without the elements of numbers, which may have been inserted."""
    data = re.sub(rb'\s*<(offset|mechanical_?[rR]eduction)>[-+.0-9e]+</\1>', b'', data)
    data = re.sub(rb'(<param name="\w+">)[-+.0-9e ]+(?=</)', rb'\1#', data)
    return re.sub(rb'>\s*</joint>', b'/>', data)


TEMPLATE = """<robot name="r">
<ros2_control name="s" type="system"><joint name="q"/>%s<transmission name="t">
<plugin>transmission_interface/SimpleTransmission</plugin>%s%s</transmission>
</ros2_control></robot>"""
PLAIN = '<joint name="q" role="joint1"/>', '<actuator name="a" role="actuator1"/>'
VELOCITY = '<param name="velocity">5</param>'
OFFSET = {'joints.q.offset': 0.5}

#: A joint or, by its name, an actuator, and what becomes of it with these numbers.
WRITTEN = [
    # A number that had its default, with the line ends and the indentation around it.
    ('<J role="joint1"><mechanical_reduction>2</mechanical_reduction></J>', OFFSET,
     '<J role="joint1"><mechanical_reduction>2</mechanical_reduction><offset>0.5</offset></J>'),
    ('<J role="joint1" mechanical_reduction="2"/>', OFFSET,
     '<J role="joint1" mechanical_reduction="2" offset="0.5"/>'),
    ('<J role="joint1" />', OFFSET, '<J role="joint1"><offset>0.5</offset></J>'),
    ('\n\t  <J role="joint1"/>', OFFSET,
     '\n\t  <J role="joint1">\n\t  \t  <offset>0.5</offset>\n\t  </J>'),
    ('\r\n    <J role="joint1"></J>', OFFSET,
     '\r\n    <J role="joint1">\r\n        <offset>0.5</offset>\r\n    </J>'),
    ('\n    <J>\n      <role>joint1</role> <!-- first -->\n    </J>', OFFSET,
     '\n    <J>\n      <role>joint1</role> <!-- first -->\n      <offset>0.5</offset>\n    </J>'),
    ('\n    <J role="joint1">\n      <!-- none -->\n    </J>', OFFSET,
     '\n    <J role="joint1">\n        <offset>0.5</offset>\n      <!-- none -->\n    </J>'),
    # Limits of actuators as attribute, as parameter or as both; an open one joins the others.
    *((f'<A role="actuator1">\n        {before}\n      </A>',
       {f'actuators.a.limit.{kind}': value for kind, value in values.items()},
       f'<A role="actuator1">\n        {after}\n      </A>') for before, values, after in (
        ('<limit velocity = \'5.0\'  lower="-1"/> <!-- kept -->', {'velocity': 6.5, 'lower': -1.0},
         '<limit velocity = \'6.5\'  lower="-1"/> <!-- kept -->'),
        (VELOCITY.replace('5', ' 5 '), {'velocity': 6.5}, VELOCITY.replace('5', ' 6.5 ')),
        (VELOCITY + '<limit velocity="5"/>', {'velocity': 6.5},
         VELOCITY.replace('5', '6.5') + '<limit velocity="6.5"/>'),
        ('<limit velocity="5"/>', {'upper': 2.0}, '<limit velocity="5" upper="2.0"/>'),
        ('<limit velocity="5"/>', {'velocity': math.inf}, '<limit velocity="inf"/>'),
        ('<limit effort="5" lower="-inf"/>', {'lower': -2.0},
         '<limit effort="5" lower="-2.0"/>'),
        (VELOCITY, {'effort': 2.0, 'upper': math.inf},
         VELOCITY + '\n        <limit effort="2.0"/>'),
    )),
]  # fmt: skip


@pytest.mark.parametrize(('before', 'values', 'after'), WRITTEN)
def test_a_number_is_written_where_it_stands_or_like_its_neighbours(
    export, numbers_of, before, values, after
):
    """As attribute or element, with the line ends and the indentation around it."""

    def made(text):
        for short, name in (('J', 'joint name="q"'), ('A', 'actuator name="a"')):
            text = text.replace(f'<{short}', f'<{name}').replace(
                f'</{short}', f'</{name.split()[0]}'
            )
        parts = (PLAIN[0], text) if 'actuator' in text else (text, PLAIN[1])
        return (TEMPLATE % ('\r\n' if '\r' in before else '\n', *parts)).encode()

    names = {f't.{name}': value for name, value in values.items()}
    exported = exported_by(export, made(before), nested(names))[1]
    assert exported == made(after)
    assert names.items() <= numbers_of(exported).items()


def test_parameters_of_a_plugin_are_written_and_added(export, numbers_of):
    """One number of a vector changes alone; a parameter with a default is added whole."""
    docs = (ROOT / 'docs' / 'transmissions.md').read_text(encoding='utf-8')
    (snippet,) = (
        text
        for text in re.findall('```xml\n(.*?)```', docs, re.DOTALL)
        if 'ParallelAnkleTransmission' in text
    )
    joints = dict.fromkeys(re.findall('<joint name="(\\w+)"', snippet))
    text = (
        '<robot name="r"><ros2_control name="s" type="system">'
        + ''.join(f'<joint name="{name}"/>' for name in joints)
        + f'{snippet}</ros2_control></robot>'
    )
    before = numbers_of(text)
    vector = min(name for name in before if name.endswith('.motor_position.y'))
    default = min(name for name in before if name.endswith('crank_angle') and not before[name])
    values = {vector: before[vector] + 0.001, default: 0.01}
    result = export(text.encode(), nested(values))
    assert (result.code, result.err) == (0, '')
    assert numbers_of(result.out) == {**before, **values}
    assert len(result.out.splitlines()) - len(text.splitlines()) in (0, 1)


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ('', 'is not a ROS parameter file'),
        ('[1, 2]', 'is not a ROS parameter file'),
        ('a: {b: 1}', 'it has no ros__parameters'),
        ('{', 'is not YAML'),
        ('"\\ud800', 'is not YAML'),
        ('&a [*a]', 'is not a ROS parameter file'),
        ('&a {ros__parameters: {x: *a}}', 'has an alias'),
        ('[' * 3000, 'is not YAML'),
        ('{? [a]: 1}', 'line 1 has a sequence as a name'),
        (dotted({'simple.joints.q0.offset': 'fast'}), 'expected a decimal number such as'),
        (dotted({'simple.joints.q0.offset': '"0.1"'}), "expected a number, found '0.1'"),
        (dotted({'simple.joints.q0.offset': '[0.1]'}), 'expected a number, found a sequence'),
        (dotted({'simple.joints.q0.offset': '.nan'}), 'expected a decimal number'),
        (dotted({'simple.joints.q0.offset': '1e999'}), 'double precision'),
        (dotted({'simple.joints.q0.offset': 'true'}), 'expected a number'),
        (dotted({'simple.joints.q0.mechanical_reduction': '0.0'}), 'other than zero'),
        (dotted({'simple.joints.q9.offset': '1.0'}), 'the description has no such number'),
        (dotted({'simple.ignore_absolute_encoder': '1.0'}), 'expected true or false'),
        (dotted({'simple.ignore_absolute_encoder': 'true'}), 'is not written by this command'),
        (dotted({'lost.joints.q1.offset': '1.0'}), "the transmission 'lost' is rejected"),
        (
            dotted({'simple.joints.q0.offset': '1.0'})
            + '\n    transmissions: {simple: {joints: {q0: {offset: 2.0}}}}',
            'is given twice, as 1.0 and 2.0',
        ),
    ],
)
def test_a_parameter_file_that_does_not_fit_is_one_sentence(export, tmp_path, parameters, words):
    """Exit code 2, what is wrong and where, and nothing is written."""
    text = """<robot name="r"><ros2_control name="s" type="system"><joint name="q0"/>
      <transmission name="simple"><plugin>transmission_interface/SimpleTransmission</plugin>
        <actuator name="a0" role="actuator1"/><joint name="q0" role="joint1"/></transmission>
      <transmission name="lost"><plugin>transmission_interface/SimpleTransmission</plugin>
        <actuator name="a1" role="actuator1"/><joint name="q1" role="joint1"/></transmission>
      </ros2_control></robot>"""
    robot = tmp_path / 'robot.urdf'
    result = export(text.encode(), parameters, '--output', robot, '--force')
    assert (result.code, result.out) == (2, '')
    assert words in result.err
    assert result.err.count('\n') == 1
    assert robot.read_text() == text


def test_a_description_is_replaced_by_force_only(refuse, run, tmp_path, numbers_of):
    """What is changed is listed; a number that is there already is not."""
    target = tmp_path / 'robot.urdf'
    target.write_bytes((ROOT / 'urdf' / 'one_joint.urdf').read_bytes())
    name = next(name for name in numbers_of(target.read_bytes()) if name.endswith('offset'))
    (tmp_path / 'tuned.yaml').write_text(nested({name: 0.125}))
    words = ('export', target, '--params-file', tmp_path / 'tuned.yaml', '--output', target)
    refuse('--force replaces it', *words)
    counts = f'written to {target}: numbers changed: {{}}, there already: {{}}\n'
    listed = f'transmissions.{name}: 0.0 -> 0.125\n'
    assert run(*words, '--force').out == listed + counts.format(1, 0)
    assert run(*words, '--force').out == counts.format(0, 1)
    assert numbers_of(target.read_bytes())[name] == 0.125
