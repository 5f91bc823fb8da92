# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The table of options: defaults, choices, words; names of parameters and of types."""

from dataclasses import fields, FrozenInstanceError
import math

from hypothesis import example, given, strategies as st
import pytest
from zoo.elements import load

from transmission_bridge.bridge.options.files import (
    read_yaml_parameters,
    warn_of_unused_parameter_files,
)
from transmission_bridge.bridge.options.options import (
    BridgeOptions,
    list_parameter_names,
    split_option_pairs,
)
from transmission_bridge.errors import ParameterError

OPTIONS = {option.name: option for option in fields(BridgeOptions)}
NUMBERS = [name for name in OPTIONS if isinstance(OPTIONS[name].default, float)]


@pytest.mark.parametrize('option', OPTIONS.values(), ids=OPTIONS)
def test_every_option_is_described_and_checked(option):
    """It has a sentence, a finite range if it is a number, or choices; the default fits."""
    assert option.metadata['description'].endswith('.')
    if option.name in NUMBERS:
        span = option.metadata['span']
        assert option.default in span
        assert math.isfinite(span.minimum)
        assert math.isfinite(span.maximum)
    choices = option.metadata['choices']
    assert not choices or option.default in choices
    for choice in choices:
        assert getattr(BridgeOptions(**{option.name: choice}), option.name) == choice
    with pytest.raises(FrozenInstanceError):
        setattr(BridgeOptions(), option.name, option.default)
    for wrong in ('', 'Omit', 'anything') if choices else ():
        with pytest.raises(ParameterError) as caught:
            BridgeOptions(**{option.name: wrong})
        assert caught.value.parameter == option.name
        assert all(choice in str(caught.value) for choice in choices)


@given(st.sampled_from(NUMBERS), st.one_of(st.floats(), st.floats(0.0, 1e-3), st.floats(0.0, 1e5)))
@example('command_timeout', 1e300)
@example('command_timeout', 1e-9)
@example('publish_rate', 1e-300)
@example('publish_rate', -0.01)
@example('state_timeout', math.nan)
def test_ranges(name, value):
    """A number in the range, or a zero that means never, is taken; others with it in words."""
    span = OPTIONS[name].metadata['span']
    if span.minimum <= value <= span.maximum or value in span.others:
        assert getattr(BridgeOptions(**{name: value}), name) == value
        return
    with pytest.raises(ParameterError) as caught:
        BridgeOptions(**{name: value})
    assert caught.value.parameter == name
    assert str(span) in str(caught.value)


def test_pairs():
    """Entries are split at the first equals sign; a name may begin with a topic of states."""
    assert split_option_pairs('x', ()) == {}
    assert split_option_pairs('x', ('a=b', 'c=d=e')) == {'a': 'b', 'c': 'd=e'}
    names = ('left/states:M1=a', 'right/states:M1=b', 'right/states:can0:1=c')
    BridgeOptions(actuator_state_topics=('left/states', 'right/states'), actuator_names=names)


@pytest.mark.parametrize(
    ('name', 'entries', 'words'),
    [
        *[('actuator_state_topics', topics, 'state_topics') for topics in ((), ('',), ('a', ''))],
        # An entry without two sides, or a left side given twice.
        *[('actuator_names', (entry,), 'actuator_names') for entry in ('a', '=b', 'a=', '')],
        ('actuator_names', ('a=b', 'a=c'), 'actuator_names'),
        # A topic that is not a state topic is rejected with a list; so is an empty name.
        *[('actuator_names', (entry,), 'left/states')
          for entry in ('right/states:M1=a', 'can0:1=a', ':M1=a', 'left/states:=a')],
    ],
)  # fmt: skip
def test_wrong_entries_are_refused_by_name(name, entries, words):
    """There must be a state topic, and each must have a name."""
    with pytest.raises(ParameterError, match=words) as caught:
        BridgeOptions(**{'actuator_state_topics': ('left/states',), name: entries})
    assert caught.value.parameter == name


# -- names of parameters -------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(*[st.sampled_from(['a', 'a.joints.b', 'b', 'b c', 'joints.b', 'é'])] * 2),
        max_size=4,
        unique_by=(lambda member: member[0], lambda member: member[1]),
    )
)
def test_each_number_has_a_name_of_its_own_or_a_finding(members):
    """No number or flag is lost without a word, and none has the name of another one."""
    texts = (
        f'<transmission name="{name}"><type>transmission_interface/SimpleTransmission</type>'
        f'<actuator name="m{number}"><mechanicalReduction>1</mechanicalReduction></actuator>'
        f'<joint name="{joint}"/></transmission>'
        for number, (name, joint) in enumerate(members)
    )
    robot = load('\n'.join(('<robot name="r">', *texts, '</robot>')))
    found = list_parameter_names(robot)
    lost = {finding.message.split("'")[1] for finding in found.findings}
    assert lost.isdisjoint(found.tunables)
    for finding in found.findings:
        assert (finding.severity, members[finding.line - 2][0]) == ('warning', finding.subject)
        assert ('dots' in finding.message) == (' ' not in finding.message.split("'")[1])
    flags = [each for each in robot.parameters.values() if each.is_flag]
    assert {each.transmission for each in flags} == {name for name, _ in members}
    for each in [*flags, *(each for own in robot.tunables.values() for each in own)]:
        name = '.'.join(('transmissions', each.transmission, *each.path))
        assert name in lost or found.tunables[name] is each


def repeat_aliases(first, level, each):
    """Return twelve levels of a text; each has nine aliases of the level before."""
    lines = [f'a0: &a0 {first}']
    for n in range(1, 13):
        aliases = ', '.join(each.format(k, n - 1) for k in range(9))
        lines.append(f'a{n}: &a{n} {level.format(aliases)}')
    return '\n'.join(lines).encode()


LAUGHS = repeat_aliases('[lol, lol]', '[{}]', '*a{1}')
MERGES = repeat_aliases('{lol: 1}', '{{<<: [{}]}}', '*a{1}')
NESTED = repeat_aliases('{lol: 1}', '{{{}}}', 'k{0}: *a{1}')


@pytest.mark.parametrize('text', [
    LAUGHS + b'\n/b: {ros__parameters: {a: *a12}}',
    LAUGHS + b'\n/b: {ros__parameters: {? *a12 : 1.0}}',
    MERGES + b'\n/b: {ros__parameters: *a12}',
    NESTED + b'\n/b: {ros__parameters: *a12}',
    NESTED, b'a: &a {b: *a}',
])  # fmt: skip
def test_aliases_cost_nothing(tmp_path, text):
    """Aliases that would expand to terabytes are rejected at once, in one short sentence."""
    path = tmp_path / 'bridge.yaml'
    path.write_bytes(text)
    with pytest.raises(ValueError, match='line') as caught:
        read_yaml_parameters(text)
    assert len(str(caught.value)) < 300
    assert list(warn_of_unused_parameter_files(['--params-file', str(path)], '/**')) == []
