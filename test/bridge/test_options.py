# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The table of options: defaults, choices, words."""

from __future__ import annotations

from dataclasses import fields, FrozenInstanceError

import pytest

from transmission_bridge.bridge.options import BridgeOptions, choices_of, description_of, pairs
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
    with pytest.raises(FrozenInstanceError):
        options.on_stop = 'nothing'


@pytest.mark.parametrize('option', OPTIONS.values(), ids=OPTIONS)
def test_every_option_is_described(option):
    """Each option has a sentence, and its default is among its choices."""
    assert description_of(option).endswith('.')
    assert not choices_of(option) or option.default in choices_of(option)


@pytest.mark.parametrize('name', [name for name in OPTIONS if choices_of(OPTIONS[name])])
def test_choices(name):
    """Every choice is taken, anything else is refused with the choices named."""
    for choice in choices_of(OPTIONS[name]):
        assert getattr(BridgeOptions(**{name: choice}), name) == choice
    for wrong in ('', 'Omit', 'anything'):
        with pytest.raises(ParameterError) as caught:
            BridgeOptions(**{name: wrong})
        assert caught.value.parameter == name
        assert all(choice in str(caught.value) for choice in choices_of(OPTIONS[name]))


@pytest.mark.parametrize('topics', [(), ('',), ('a', '')])
def test_topics(topics):
    """There must be a state topic, and each must have a name."""
    with pytest.raises(ParameterError, match='actuator_state_topics'):
        BridgeOptions(actuator_state_topics=topics)


def test_pairs():
    """Entries are split at the first equals sign."""
    assert pairs('x', ()) == {}
    assert pairs('x', ('a=b', 'c=d=e')) == {'a': 'b', 'c': 'd=e'}


@pytest.mark.parametrize('entries', [('a',), ('=b',), ('a=',), ('a=b', 'a=c'), ('',)])
def test_wrong_pairs(entries):
    """An entry without two sides, or a left side given twice, is refused by name."""
    with pytest.raises(ParameterError, match='actuator_names'):
        BridgeOptions(actuator_names=entries)
