# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Plugins: found by entry point, imported when asked for, failing for their own joints only."""

import importlib
from importlib.metadata import EntryPoint
import pickle
import subprocess
import sys

import numpy as np
import pytest
from zoo import elements
from zoo.mechanisms import Straight

from transmission_bridge import MapReport
from transmission_bridge.errors import PluginError, TransmissionError
from transmission_bridge.transmissions import LinearTransmission, Registry, SimpleTransmission
from transmission_bridge.transmissions.registry import ENTRY_POINT_GROUP

BUILT_IN = 'transmission_interface/SimpleTransmission'
SIMPLE = 'me/SimpleTransmission=transmission_bridge.transmissions:SimpleTransmission'
GEAR = '''
from transmission_bridge import EquationTransmission, LinearTransmission
from transmission_bridge.transmissions import Transmission
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission

class Gear(LinearTransmission):
    """
    A gear of ratio two.

    More text.
    """

    api_version = 1

    @classmethod
    def from_spec(cls, reader):
        return cls([[0.5]])
'''


@pytest.fixture
def write_module(tmp_path, monkeypatch):
    """Return a function that writes the module of a plugin, ``tb_test``, which nobody imported."""
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / 'tb_test.py'
    path.write_text(GEAR, encoding='utf-8')
    yield lambda text: path.write_text(text, encoding='utf-8')
    sys.modules.pop('tb_test', None)


def registry_with(*entries):
    """Return a registry of entry points ``type=module:attribute``."""
    pairs = (entry.split('=') for entry in entries)
    return Registry([EntryPoint(name, value, ENTRY_POINT_GROUP) for name, value in pairs])


def test_a_type_is_loaded_and_described(write_module):
    """A plugin loads by its name, and its description is the first line of its documentation."""
    write_module(GEAR + '\nclass Bare(Gear):\n    pass\n')
    # An entry point that an overlaid workspace lists twice is one.
    gear = 'me/Gear=tb_test:Gear'
    registry = registry_with(gear, gear, SIMPLE, 'me/Bare=tb_test:Bare')
    assert registry.type_names == ('me/Bare', 'me/Gear', 'me/SimpleTransmission')
    assert registry.load('me/Gear').__name__ == 'Gear'
    assert registry.load('me/Gear') is registry.load('me/Gear')
    bare, found, _ = registry.describe()
    assert (found.description, found.target) == ('A gear of ratio two.', 'tb_test:Gear')
    # Not the description of its base class.
    assert (bare.description, bare.error, found.error) == ('', '', '')
    names = Registry().type_names
    assert list(names) == sorted(names)
    assert Registry().load(BUILT_IN) is SimpleTransmission


@pytest.mark.parametrize('name', ['you/Gear', 'os.path', 'tb_test:Gear', 'tb_test', 'os:name'])
def test_an_unknown_type_is_refused_with_the_known(write_module, name):
    """What is not installed is refused with what is; what looks like a module is not imported."""
    with pytest.raises(PluginError, match=f"'{name}' is not installed.*me/Simple") as caught:
        registry_with(SIMPLE).load(name)
    assert caught.value.type_name == name
    assert 'tb_test' not in sys.modules
    with pytest.raises(PluginError, match='none'):
        Registry([]).load(name)


@pytest.mark.parametrize(('text', 'target', 'reason', 'line'), [
    ('"""Text."""\n\nimport not_there\n', 'tb_test:Gear', 'ModuleNotFoundError', 'import not_there'),  # noqa: E501
    ('raise ZeroDivisionError("x")', 'tb_test:Gear', 'ZeroDivisionError: x', 'raise Zero'),
    ('raise SystemExit("leaving")', 'tb_test:Gear', 'SystemExit: leaving', 'raise SystemExit'),
    (GEAR, 'tb_test:NoSuchGear', 'AttributeError', 'NoSuchGear'),
])  # fmt: skip
def test_a_failing_import_costs_its_own_type(write_module, text, target, reason, line):
    """An import that fails is kept with its traceback and raised for that type, every time."""
    write_module(text)
    registry = registry_with(f'me/Bad={target}', SIMPLE)
    for _ in range(2):
        with pytest.raises(PluginError) as caught:
            registry.load('me/Bad')
        error = pickle.loads(pickle.dumps(caught.value))
        assert error.type_name == 'me/Bad'
        assert reason in str(error)
        assert 'Traceback' in error.details
        assert line in error.details
    assert registry.load('me/SimpleTransmission') is SimpleTransmission
    bad, simple = registry.describe()
    assert reason in bad.error
    assert line in bad.details
    assert not simple.error


def test_a_type_without_casadi_says_how_to_install_it(write_module):
    """Where nothing but CasADi is missing, no traceback: the command that installs it."""
    write_module('raise ModuleNotFoundError("No module", name="casadi")')
    registry = registry_with('me/Bent=tb_test:Bent', SIMPLE)
    with pytest.raises(PluginError, match=r"needs CasADi.*pip install .*'casadi>=3.6'") as caught:
        registry.load('me/Bent')
    assert not caught.value.details
    assert [each.error for each in registry.describe()] == [str(caught.value), '']


#: A module's end that defines the type T, and why T is refused.
NO_KIND = r'is not a matrix, an equation or a table; .*docs/writing_a_transmission\.md'
# fmt: off
NO_TYPES = [
    ('class T(Gear): api_version = 0', 'api_version 0, this transmission_bridge has 1; install'),
    ('class T(LinearTransmission): from_spec = Gear.from_spec', 'api_version None'),
    ('class T(LinearTransmission): api_version = 1', 'does not define from_spec'),
    ('class T(Gear): joint_to_actuator = Gear.map', f'defines joint_to_actuator and therefore {NO_KIND}'),  # noqa: E501
    ('class T(MechanismTransmission): _build_parts = map', f'defines _build_parts and therefore {NO_KIND}'),  # noqa: E501
    ('class T(EquationTransmission): evaluate = map', f'defines evaluate and therefore {NO_KIND}'),
    ('class T(Transmission): map = Gear.map', f'T {NO_KIND}'),
    ('def T(): return Gear', NO_KIND),
    ('T = 3', NO_KIND),
    ('T = dict', NO_KIND),
    ('import sys as T', NO_KIND),
]
# fmt: on


@pytest.mark.parametrize(('text', 'reason'), NO_TYPES)
def test_what_is_no_transmission_is_refused(write_module, text, reason):
    """Another version, maps of a type's own, and what is no transmission are refused."""
    write_module(f'{GEAR}\n{text}\n')
    with pytest.raises(PluginError, match=f"'me/Bad'.*{reason}"):
        registry_with('me/Bad=tb_test:T').load('me/Bad')


# -- several packages with one type --------------------------------------------------------------


@pytest.mark.parametrize('type_name', ['me/Gear', BUILT_IN])
def test_two_packages_with_one_type_are_both_named_and_disabled(write_module, tmp_path, type_name):
    """Nothing says which is right, in whatever order; a built-in type is no exception."""
    for name, version, target in (('gears', '1.0', 'Gear'), ('wheels', '2.0', 'Wheel')):
        folder = tmp_path / f'{name}-{version}.dist-info'
        folder.mkdir()
        (folder / 'METADATA').write_text(f'Name: {name}\nVersion: {version}\n')
        entry = f'[{ENTRY_POINT_GROUP}]\n{type_name} = tb_test:{target}\n'
        (folder / 'entry_points.txt').write_text(entry)
    importlib.invalidate_caches()
    registry = Registry()
    text = elements.of_snippet(elements.transmission('t', type_name, 'j', 'm'))
    robot = elements.load(text, registry=registry)
    assert robot.joint_names == ()
    (finding,) = robot.findings
    for said in ('tb_test:Gear (gears 1.0)', 'tb_test:Wheel (wheels 2.0)'):
        assert said in finding.message
    described = [each for each in registry.describe() if each.type_name == type_name]
    assert {'gears', 'wheels'} <= {each.package for each in described}
    assert all('is provided more than once' in each.error for each in described)
    assert 'tb_test' not in sys.modules


#: Prints the modules of plugins that a simple robot has imported in addition to its own.
SCRIPT = """
import importlib.metadata, sys
import transmission_bridge as tb
robot = tb.RobotTransmissions(tb.load_description(sys.argv[1]))
assert robot.actuator_to_joint('position', [3.0]) == [1.5]
group = importlib.metadata.entry_points(group='transmission_bridge.transmissions')
(own,) = {type(each).__module__ for each in robot.transmissions.values()}
others = {entry.module for entry in group} - {own}
assert others, 'nothing to tell'
print(sorted(others & set(sys.modules)))
"""


def test_plugins_are_imported_when_their_type_is_used():
    """Importing the package and building a simple robot imports no plugin of another type."""
    simple = elements.transmission('t', 'Simple', {'j': elements.ratio(2)}, ('m',))
    command = [sys.executable, '-c', SCRIPT, elements.urdf(('j',), simple)]
    assert subprocess.check_output(command, text=True).strip() == '[]'


# -- in a robot ----------------------------------------------------------------------------------


def plugin(name, build):
    """Return a type of matrices."""
    return type(name, (LinearTransmission,), {'api_version': 1, 'from_spec': classmethod(build)})


@pytest.fixture
def with_plugin(registry_of):
    """Return a function that makes a robot with a plugin between two simple transmissions."""

    def make(cls, registry=None):
        simple, ratio = 'me/SimpleTransmission', elements.ratio
        text = elements.transmission('first', simple, {'a': ratio(4)}, ['ma'])
        text += elements.transmission('plugin', f'me/{cls.__name__}', 'p', ['mp'])
        text += elements.transmission('last', simple, {'z': ratio(8)}, ['mz'])
        registry = registry or registry_of(SimpleTransmission, cls)
        return elements.load(elements.urdf('apz', text), registry=registry)

    return make


@pytest.mark.parametrize(
    ('failure', 'said'),
    [
        (None, 'no_such_module'),
        (RuntimeError('inside the plugin'), 'RuntimeError: inside the plugin'),
        (SystemExit('inside the plugin'), 'SystemExit: inside the plugin'),
        (np.array([True, False]), 'AttributeError'),
    ],
    ids=['no module', 'raises', 'exits', 'answers an array'],
)  # fmt: skip
def test_a_plugin_that_fails_costs_its_own_joints(with_plugin, registry_of, failure, said):
    """A plugin that fails, at its import or in its constructor, is an error finding."""

    def build(*_):
        if isinstance(failure, BaseException):
            raise failure
        return failure

    broken = plugin('Broken', build)
    registry = registry_of(SimpleTransmission, broken)
    if failure is None:
        registry = registry_with('me/Broken=no_such_module:Broken', SIMPLE)
    t = with_plugin(broken, registry)
    assert (t.joint_names, t.actuator_names) == (('a', 'z'), ('ma', 'mz'))
    (finding,) = t.findings
    assert (finding.severity, finding.subject) == ('error', 'plugin')
    assert (finding.line, finding.path) == (14, '/robot/ros2_control/transmission[2]')
    assert said in finding.message
    assert 'Traceback' in finding.message
    assert t.actuator_to_joint('position', [4.0, 8.0]).tolist() == [1.0, 1.0]


def test_a_plugin_of_another_size_is_refused(registry_of):
    """A plugin that builds for other numbers of members than described is an error finding."""
    registry = registry_of(plugin('Gear', lambda cls, reader: cls([[0.5]])))
    text = elements.of_snippet(elements.transmission('t', 'me/Gear', 'jk', 'm'))
    t = elements.load(text, registry=registry)
    assert t.joint_names == ()
    (finding,) = t.findings
    assert (finding.severity, finding.subject) == ('error', 't')
    counts = '1 joint and 1 actuator', '2 joints and 1 actuator'
    assert (finding.expected, finding.found) == counts


def test_positions_are_asked_for_and_counted_by_the_name_of_the_transmission(with_plugin):
    """Without ``at`` the caller is told who needs it; a report has who lost samples, and why."""
    t, report = with_plugin(Straight), MapReport()
    with pytest.raises(TransmissionError, match=r"transmission 'plugin'.*without at="):
        t.actuator_to_joint('velocity', [1.0] * 3)
    with pytest.raises(TransmissionError, match='without rate='):
        t.actuator_to_joint('acceleration', [1.0] * 3, at=[1.0] * 3)
    given = [[4.0, 0.5, 8.0], [4.0, 99.0, 8.0], [4.0, np.nan, 8.0]]
    q = t.actuator_to_joint('position', given, report=report)
    assert np.isnan(q).tolist() == [[False] * 3, [False, True, False], [False, True, False]]
    assert report.counts == {('plugin', 'domain'): 1}
