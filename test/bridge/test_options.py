# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The table of options: defaults, choices, words."""

from __future__ import annotations

from dataclasses import fields, FrozenInstanceError
import math

from hypothesis import example, given
from hypothesis import strategies as st
import pytest

from transmission_bridge.bridge.options import (
    BridgeOptions,
    describe_option,
    find_option_range,
    list_choices,
    Range,
    split_pairs,
)
from transmission_bridge.errors import ParameterError

OPTIONS = {option.name: option for option in fields(BridgeOptions)}


def test_defaults_are_those_of_the_design():
    """Without any option the bridge does what the design page says."""
    options = BridgeOptions()
    assert options.actuator_state_topics == ('actuator_states',)
    assert options.pass_through is True
    assert options.unknown_joints == 'omit'
    assert options.mixed_commands == 'split'
    assert options.partial_commands == 'hold'
    assert options.on_stop == 'zero_rates'
    assert options.zero_effort is False
    assert options.unknown_turn == 'resolve'
    with pytest.raises(FrozenInstanceError):
        options.on_stop = 'nothing'


@pytest.mark.parametrize('option', OPTIONS.values(), ids=OPTIONS)
def test_every_option_is_described(option):
    """Each option has a sentence, and its default is among its choices."""
    assert describe_option(option).endswith('.')
    assert not list_choices(option) or option.default in list_choices(option)


@pytest.mark.parametrize('name', [name for name in OPTIONS if list_choices(OPTIONS[name])])
def test_choices(name):
    """Every choice is taken, anything else is refused with the choices named."""
    for choice in list_choices(OPTIONS[name]):
        assert getattr(BridgeOptions(**{name: choice}), name) == choice
    for wrong in ('', 'Omit', 'anything'):
        with pytest.raises(ParameterError) as caught:
            BridgeOptions(**{name: wrong})
        assert caught.value.parameter == name
        assert all(choice in str(caught.value) for choice in list_choices(OPTIONS[name]))


NUMBERS = [name for name in OPTIONS if isinstance(OPTIONS[name].default, float)]


def test_every_number_has_a_range():
    """No number is without a range, which is finite and holds its default."""
    for name in NUMBERS:
        span = find_option_range(OPTIONS[name])
        assert OPTIONS[name].default in span
        assert math.isfinite(span.minimum)
        assert math.isfinite(span.maximum)


@given(st.sampled_from(NUMBERS), st.one_of(st.floats(), st.floats(0.0, 1e-3), st.floats(0.0, 1e5)))
@example('command_timeout', 1e300)
@example('command_timeout', 1e-9)
@example('publish_rate', 1e-300)
@example('publish_rate', 1e9)
@example('publish_rate', 0.0)
@example('state_timeout', math.nan)
def test_ranges(name, value):
    """A number in the range, or a zero that means never, is taken; others with it in words."""
    span = find_option_range(OPTIONS[name])
    if span.minimum <= value <= span.maximum or value in span.others:
        assert getattr(BridgeOptions(**{name: value}), name) == value
        return
    with pytest.raises(ParameterError) as caught:
        BridgeOptions(**{name: value})
    assert caught.value.parameter == name
    assert str(span) in str(caught.value)


def test_ranges_in_words():
    """A range is written as it is read, without unneeded exponents."""
    assert str(Range(0.001, 86_400.0, (0.0,))) == '0, or 0.001 to 86400'
    assert str(Range(-1e6, 1e6)) == '-1000000 to 1000000'


@pytest.mark.parametrize('topics', [(), ('',), ('a', '')])
def test_topics(topics):
    """There must be a state topic, and each must have a name."""
    with pytest.raises(ParameterError, match='actuator_state_topics'):
        BridgeOptions(actuator_state_topics=topics)


def test_pairs():
    """Entries are split at the first equals sign."""
    assert split_pairs('x', ()) == {}
    assert split_pairs('x', ('a=b', 'c=d=e')) == {'a': 'b', 'c': 'd=e'}


def test_names_of_one_driver():
    """An entry may begin with one of the topics of states; a name may hold further colons."""
    BridgeOptions(
        actuator_state_topics=('left/states', 'right/states'),
        actuator_names=('left/states:M1=a', 'right/states:M1=b', 'right/states:can0:1=c'),
    )


@pytest.mark.parametrize('entry', ['right/states:M1=a', 'can0:1=a', ':M1=a', 'left/states:=a'])
def test_names_of_a_driver_that_is_not_there(entry):
    """A topic that is not a state topic is rejected with a list; so is an empty name."""
    with pytest.raises(ParameterError, match='left/states') as caught:
        BridgeOptions(actuator_state_topics=('left/states',), actuator_names=(entry,))
    assert caught.value.parameter == 'actuator_names'


@pytest.mark.parametrize('entries', [('a',), ('=b',), ('a=',), ('a=b', 'a=c'), ('',)])
def test_wrong_pairs(entries):
    """An entry without two sides, or a left side given twice, is refused by name."""
    with pytest.raises(ParameterError, match='actuator_names'):
        BridgeOptions(actuator_names=entries)
