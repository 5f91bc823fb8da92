# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""docs/writing_a_transmission.md: its plugins work, and SpecReader does what its table says."""

from __future__ import annotations

import re

from documents import DOCUMENTS, python
import pytest
from zoo.elements import params, transmission, urdf

from transmission_bridge import load_description, SpecReader, transmissions
from transmission_bridge.errors import ParameterError, TransmissionError

DOCUMENT = DOCUMENTS['writing_a_transmission.md']
PLUGINS = '\n'.join(DOCUMENT.snippets('python'))


@pytest.fixture(scope='module')
def plugin(tmp_path_factory):
    """Return the file with the Python of the document, as an author has it."""
    path = tmp_path_factory.mktemp('plugin') / 'test_plugin.py'
    path.write_text(PLUGINS, encoding='utf-8')
    return path


def spec_of(plugin, n_actuators=1, numbers='', joint='<offset>0.5</offset>', actuator=''):
    """Return the description of one transmission, which moves joint q by motors m1, ..."""
    motors = {f'm{k}': actuator for k in range(1, n_actuators + 1)}
    block = transmission('t', f'me/{plugin}', {'q': joint}, motors, numbers)
    return load_description(urdf(['q'], block)).transmissions[0]


FOUR_BAR = {'base': 0.1, 'crank': 0.04, 'rod': 0.1, 'rocker': 0.06, 'lower': 0.4, 'upper': 2.6}

#: Actuators of each type of the document, what a description says of it, what is live of it.
DESCRIBED = {
    'Tendon': (2, {'radius': 0.02}, {'radius'}),
    'ScotchYoke': (1, {'radius': 0.1}, {'radius'}),
    'FourBar': (1, {**FOUR_BAR, 'assembly': 'crossed'}, {*FOUR_BAR}),
    'FittedCam': (1, {'lift': '0 0.01 0.004'}, {'lift.c0', 'lift.c1', 'lift.c2'}),
}


def test_the_types_of_the_document_are_built_from_a_description(load, plugin):
    """Each reads all that it is told, what it reads is live, and its offset is the joint's."""
    module = load('documented_plugin', plugin)
    types = {
        name
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, transmissions.Transmission)
        if each.__module__ == module.__name__
    }
    assert types == set(DESCRIBED)
    of_members = {'joints.q.offset', 'joints.q.mechanical_reduction'}
    for name, (n_actuators, numbers, live) in DESCRIBED.items():
        reader = SpecReader(spec_of(name, n_actuators, params(**numbers)))
        built = getattr(module, name).from_spec(reader)
        assert built.joint_offset == (0.5,)
        assert reader.unused() == ()
        tunables = {'.'.join(each.path) for each in reader.tunables}
        assert live <= tunables, name
        assert tunables - live <= {*of_members, 'actuators.m1.mechanical_reduction'}
        assert 'assembly' not in numbers or built.p.assembly == 'crossed'


def test_the_conformance_class_of_the_document_conforms(tmp_path):
    """The test that a plugin author copies is collected by pytest and passes."""
    texts = [text for text in DOCUMENT.snippets('python') if 'ScotchYoke(' in text]
    (tmp_path / 'test_yoke.py').write_text('\n'.join(texts), encoding='utf-8')
    # The plugins of launch_testing would collect it too.
    options = [f'-pno:{name}' for name in ('cacheprovider', 'launch_testing', 'launch_ros')]
    result = python('-m', 'pytest', '-q', *options, '--rootdir', '.', 'test_yoke.py', cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert re.search(r'\b9 passed', result.stdout), result.stdout


# -- the table of SpecReader ---------------------------------------------------------------------

SPEC = spec_of(
    'Any',
    numbers=params(length=0.1, vector='1 2', word='left') + '<twice>1</twice><twice>2</twice>',
    joint='<mechanical_reduction>2</mechanical_reduction>',
    actuator=params(inside=3),
)
NAN, INF = float('nan'), float('inf')
SAID = {'description': 'A sentence.'}
RATIO, OFFSET = 'mechanical_reduction', 'offset'

# fmt: off
#: Calls that fail by what the description says, and calls by what is set, or by their bounds.
WRONG_TEXT = [
    ('require_members', 'joints=2, actuators=1'),
    *(('number', f'"{name}", **SAID') for name in ('missing', 'word', 'twice')),
    *(('numbers', f'"{name}", "xy", **SAID') for name in ('missing', 'word')),
    *(('numbers', each) for each in ('"twice", "x", **SAID', '"vector", "xyz", **SAID')),
    *(('text', each) for each in ('"missing"', '"twice"')),
    ('parse_numbers', '"word", "1 left"'),
]
WRONG_NUMBER = [
    ('joint_reductions', '', {('joints', 'q', RATIO): 0.0}),
    ('actuator_reductions', '', {('actuators', 'm1', RATIO): 0.0}),
    ('joint_offsets', '', {('joints', 'q', OFFSET): NAN}),
    ('actuator_offsets', '"A sentence."', {('actuators', 'm1', OFFSET): NAN}),
    ('number', '"length", minimum=0.2, **SAID', {}),
    ('number', '"length", maximum=0.0, **SAID', {}),
    ('number', '"length", nonzero=True, **SAID', {('length',): 0.0}),
    ('numbers', '"vector", "xy", **SAID', {('vector', 'x'): INF}),
    ('declare', '("matrix", "q"), 1.0, "A sentence."', {('matrix', 'q'): NAN}),
]
# fmt: on
FAILURES = [
    *((TransmissionError, *each, {}) for each in WRONG_TEXT),
    *((ParameterError, *each) for each in WRONG_NUMBER),
]


@pytest.mark.parametrize(('kind', 'name', 'call', 'numbers'), FAILURES)
def test_what_the_reader_refuses(kind, name, call, numbers):
    """A number that is set, or out of the range that is asked for, is a ParameterError."""
    with pytest.raises(kind) as caught:
        eval(f'SpecReader(SPEC, numbers).{name}({call})')
    assert type(caught.value) is kind
