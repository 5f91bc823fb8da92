# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge export``."""

from __future__ import annotations

from pathlib import Path
import re
import tempfile

from hypothesis import given, HealthCheck, settings, strategies as st
from lxml import etree
import pytest
from zoo.documented import DOCUMENTED
from zoo.elements import of_snippet, ratio, transmission, urdf

yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')

ROOT = Path(__file__).parents[2]
#: Descriptions with numbers in every spelling, ``@NAME@`` in place of the number NAME.
TEMPLATES = sorted(ROOT.glob('test/data/export/*.urdf'))
SETTINGS = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])

NUMBERS = st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-3)
SPELLINGS = [repr, '{:+.17e}'.format, '{:.25f}'.format]


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


def exported_by(export, description, parameters):
    """Return the result and the bytes of an export into a file."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / 'new.urdf'
        result = export(description, parameters, '--output', target).expect()
        return result, target.read_bytes()


def canonical(data):
    """Return a description with the quotes and the blanks of the XML writer, as characters."""
    return etree.tostring(etree.fromstring(data), method='c14n')


@pytest.mark.parametrize('file', TEMPLATES, ids=lambda file: file.stem)
@SETTINGS
@given(data=st.data())
def test_only_the_numbers_change(export, file, data):
    """In any encoding, with any line ends, each number where it stands, beside its comments."""
    template = file.read_text(encoding='utf-8')
    encoding = data.draw(st.sampled_from(['utf-8', 'utf-8-sig', 'utf-16', 'cp1252']))
    line_end = data.draw(st.sampled_from(['\n', '\r\n', '\r']))
    before, after, values = {}, {}, {}
    for name in dict.fromkeys(re.findall('@(.+?)@', template)):
        before[name] = data.draw(st.sampled_from(SPELLINGS))(data.draw(NUMBERS))
        old = float(before[name])
        new = data.draw(st.one_of(st.none(), st.just(old), NUMBERS))
        after[name] = before[name] if new in (None, old) else repr(new)
        values |= {} if new is None else {name: new}
    head = '<?xml version="1.0" encoding="cp1252"?>\n' if encoding == 'cp1252' else ''
    given_bytes, expected = (
        re.sub('@(.+?)@', lambda place: texts[place[1]], head + template)
        .replace('\n', line_end)
        .encode(encoding)
        for texts in (before, after)
    )
    write = data.draw(st.sampled_from([nested, dotted]))
    result, exported = exported_by(export, given_bytes, write(values))
    assert canonical(exported) == canonical(expected)
    ends = [set(re.findall('\r\n|\r|\n', each.decode(encoding))) for each in (exported, expected)]
    assert (exported[:2], ends[0]) == (expected[:2], ends[1])
    n_changed = sum(before[name] != after[name] for name in before)
    counts = f'numbers changed: {n_changed}, there already: {len(values) - n_changed}\n'
    assert counts in result.out


# -- numbers that are inserted, and limits -------------------------------------------------------


def around(joint='<JOINT role="joint1"/>', actuator='<ACTUATOR role="actuator1"/>', end='\n'):
    """Return a description, of which an element is a joint's or an actuator's."""
    text = urdf(['q'], transmission('t', 'Simple', [], [], joint + actuator))
    text = text.replace('\r', '').replace('\n', end)
    for kind, name in (('joint', 'q'), ('actuator', 'a')):
        text = text.replace(f'</{kind.upper()}', f'</{kind}')
        text = text.replace(f'<{kind.upper()}', f'<{kind} name="{name}"')
    return text.encode()


VELOCITY, HALF = '<param name="velocity">5</param>', '<offset>0.5</offset>'

# fmt: off
#: A joint before and after it gets an offset of 0.5, with the line ends and the indentation.
OFFSETS = {
    'beside an element': (f'<JOINT role="joint1">{ratio(2)}</JOINT>',
                          f'<JOINT role="joint1">{ratio(2)}{HALF}</JOINT>'),
    'beside an attribute': ('<JOINT role="joint1" mechanical_reduction="2"/>',
                            '<JOINT role="joint1" mechanical_reduction="2" offset="0.5"/>'),
    'in an empty element': ('<JOINT role="joint1" />', f'<JOINT role="joint1">{HALF}</JOINT>'),
    'with tabs': ('\n\t  <JOINT role="joint1"/>',
                  f'\n\t  <JOINT role="joint1">\n\t  \t  {HALF}\n\t  </JOINT>'),
    'with ends of Windows': ('\r\n    <JOINT role="joint1"></JOINT>',
                             f'\r\n    <JOINT role="joint1">\r\n        {HALF}\r\n    </JOINT>'),
    'after a comment': ('\n    <JOINT>\n      <role>joint1</role> <!-- 1 -->\n    </JOINT>',
                        '\n    <JOINT>\n      <role>joint1</role> <!-- 1 -->\n'
                        f'      {HALF}\n    </JOINT>'),
    'before a comment': ('\n    <JOINT role="joint1">\n      <!-- none -->\n    </JOINT>',
                         '\n    <JOINT role="joint1">\n      <!-- none -->\n'
                         f'      {HALF}\n    </JOINT>'),
}

#: What is in an actuator, its new limits, and what is then in it.
LIMITS = {
    'attribute': ('<limit velocity = \'5.0\'  lower="-1"/> <!-- kept -->',
                  {'velocity': 6.5, 'lower': -1.0},
                  '<limit velocity="6.5" lower="-1"/> <!-- kept -->'),
    'parameter': (VELOCITY.replace('5', ' 5 '), {'velocity': 6.5}, VELOCITY.replace('5', ' 6.5 ')),
    'both': (f'{VELOCITY}<limit velocity="5"/>', {'velocity': 6.5},
             VELOCITY.replace('5', '6.5') + '<limit velocity="6.5"/>'),
    'open, beside another': ('<limit velocity="5"/>', {'upper': 2.0},
                             '<limit velocity="5" upper="2.0"/>'),
    'opened': ('<limit velocity="5"/>', {'velocity': float('inf')}, '<limit velocity="inf"/>'),
    'open in words': ('<limit effort="5" lower="-inf"/>', {'lower': -2.0},
                      '<limit effort="5" lower="-2.0"/>'),
    'open, beside a parameter': (VELOCITY, {'effort': 2.0, 'upper': float('inf')},
                                 f'{VELOCITY}\n        <limit effort="2.0"/>'),
}
# fmt: on


@pytest.mark.parametrize('case', OFFSETS)
def test_a_number_that_had_its_default_is_written_like_its_neighbours(export, numbers_of, case):
    """As attribute or element, with the line ends and the indentation around it."""
    end = '\r\n' if 'Windows' in case else '\n'
    before, after = (around(text, end=end) for text in OFFSETS[case])
    exported = exported_by(export, before, nested({'t.joints.q.offset': 0.5}))[1]
    assert exported == after
    assert numbers_of(exported)['t.joints.q.offset'] == 0.5


@pytest.mark.parametrize('case', LIMITS)
def test_a_limit_is_written_where_it_stands_or_joins_the_others(export, numbers_of, case):
    """Limits of an actuator are attributes, parameters or both."""
    text, limits, expected = LIMITS[case]
    before, after = (
        around(actuator=f'<ACTUATOR role="actuator1">\n        {inside}\n      </ACTUATOR>')
        for inside in (text, expected)
    )
    values = {f't.actuators.a.limit.{kind}': value for kind, value in limits.items()}
    exported = exported_by(export, before, nested(values))[1]
    assert exported == after
    assert values.items() <= numbers_of(exported).items()


def test_parameters_of_a_plugin_are_written_and_added(export, numbers_of):
    """One number of a vector changes alone; a parameter with a default is added whole."""
    text = of_snippet(DOCUMENTED['left_ankle'])
    before = numbers_of(text)
    vector = min(name for name in before if name.endswith('.motor_position.y'))
    default = min(name for name in before if name.endswith('crank_angle') and not before[name])
    values = {vector: before[vector] + 0.001, default: 0.01}
    result = export(text.encode(), nested(values)).expect()
    assert numbers_of(result.out) == {**before, **values}
    assert len(result.out.splitlines()) - len(text.splitlines()) in (0, 1)


# -- mistakes ------------------------------------------------------------------------------------

OFFSET = 'good.joints.q0.offset'

# fmt: off
MISTAKES = [
    ('', 'is not a ROS parameter file'),
    ('a: {b: 1}', 'it has no ros__parameters'),
    ('{', 'is not YAML'),
    ('&a [*a]', 'is not a ROS parameter file'),
    ('&a {ros__parameters: {x: *a}}', 'has an alias'),
    ('[' * 3000, 'is not YAML'),
    ('{? [a]: 1}', 'line 1 has a sequence as a name'),
    (dotted({OFFSET: 'fast'}), 'expected a decimal number such as'),
    (dotted({OFFSET: '"0.1"'}), "expected a number, found '0.1'"),
    (dotted({OFFSET: '1e999'}), 'double precision'),
    (dotted({'good.joints.q0.mechanical_reduction': '0.0'}), 'other than zero'),
    (dotted({'good.joints.q9.offset': '1.0'}), 'the description has no such number'),
    (dotted({'good.ignore_absolute_encoder': '1.0'}), 'expected true or false'),
    (dotted({'good.ignore_absolute_encoder': 'true'}), 'is not written by this command'),
    (dotted({'lost.joints.q1.offset': '1.0'}), "the transmission 'lost' is rejected"),
    (dotted({OFFSET: '1.0'}) + '\n    transmissions: {good: {joints: {q0: {offset: 2.0}}}}',
     'is given twice, as 1.0 and 2.0'),
]
# fmt: on


@pytest.mark.parametrize(('parameters', 'words'), MISTAKES, ids=[words for _, words in MISTAKES])
def test_a_parameter_file_that_does_not_fit_is_one_sentence(export, tmp_path, parameters, words):
    """Exit code 2, what is wrong and where, and nothing is written."""
    good = transmission('good', 'Simple', ['q0'], ['a0'])
    lost = transmission('lost', 'Simple', ['q1'], ['a1'])
    text, robot = urdf(['q0'], good + lost), tmp_path / 'robot.urdf'
    result = export(text.encode(), parameters, '--output', robot, '--force').expect(2, err=words)
    assert (result.out, result.err.count('\n')) == ('', 1)
    assert robot.read_text() == text


def test_a_description_is_replaced_by_force_only(refuse, run, save, numbers_of):
    """What is changed is listed; a number that is there already is not."""
    target = save((ROOT / 'urdf' / 'one_joint.urdf').read_text(encoding='utf-8'))
    name = next(name for name in numbers_of(target.read_bytes()) if name.endswith('offset'))
    tuned = save(nested({name: 0.125}), 'tuned.yaml')
    words = ('export', target, '--params-file', tuned, '--output', target)
    refuse('--force replaces it', *words)
    counts = f'written to {target}: numbers changed: {{}}, there already: {{}}\n'
    listed = f'transmissions.{name}: 0.0 -> 0.125\n'
    assert run(*words, '--force').out == listed + counts.format(1, 0)
    assert run(*words, '--force').out == counts.format(0, 1)
    assert numbers_of(target.read_bytes())[name] == 0.125
