# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The parameter file to copy is one that the bridge takes, and tells its defaults."""

from __future__ import annotations

from dataclasses import fields
import re

import pytest

from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.description import load_description
from transmission_bridge.resources import resource
from transmission_bridge.transmissions import RobotTransmissions

yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')

TEXT = resource('config', 'bridge.yaml').read_text(encoding='utf-8')


ARM = RobotTransmissions(load_description(resource('urdf', 'arm.urdf')))


def parameters(text):
    """Return what stands under the wildcard for every node."""
    document = yaml.safe_load(text)
    assert list(document) == ['/**']
    assert list(document['/**']) == ['ros__parameters']
    return document['/**']['ros__parameters']


def example(key):
    """Return the value of a commented example: the line of its key, and those below it."""
    (text,) = re.findall(rf'^    # ({key}:.*\n(?:    #  .*\n)*)', TEXT, re.MULTILINE)
    return yaml.safe_load(text.replace('\n    # ', '\n'))[key]


def test_values_are_the_defaults():
    """Each parameter is an option of the bridge with its default; autostart is on."""
    defaults = {
        option.name: list(option.default) if isinstance(option.default, tuple) else option.default
        for option in fields(BridgeOptions)
    }
    found = parameters(TEXT)
    assert found.pop('autostart') is True
    assert found == {name: defaults[name] for name in found}
    assert 'on_stop' in found


def test_example_of_names_is_accepted():
    """The commented pairs are of the form that the bridge takes, and name motors of the arm."""
    pairs = example('actuator_names')
    BridgeOptions(actuator_names=tuple(pairs))
    assert {pair.partition('=')[2] for pair in pairs} <= set(ARM.actuator_names)


def test_example_of_numbers_tunes_the_arm():
    """The commented numbers exist in the example robot and differ from its own."""
    tuned = ARM.with_parameters(example('transmissions'))
    pan, wrist = 'shoulder_pan_transmission', 'wrist_transmission'
    assert tuned.transmissions[pan].joint_offset == (0.262,)
    assert tuned.transmissions[wrist].actuator_reduction == (48.5, -50.0)
    assert tuned.transmissions[wrist].joint_offset == (0.1, -0.195)


def test_integers_are_written_as_numbers():
    """No number of the file, examples included, is an integer instead of a double."""

    def leaves(node):
        for value in node.values() if isinstance(node, dict) else node:
            yield from leaves(value) if isinstance(value, dict | list) else [value]

    everything = [*leaves(parameters(TEXT)), *leaves(example('transmissions'))]
    assert any(isinstance(value, float) for value in everything)
    assert not any(type(value) is int for value in everything)
