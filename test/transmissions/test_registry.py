# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Plugins: found by entry point, imported when asked for, one failure kept to its own type."""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint
import pickle
import subprocess
import sys
import textwrap

import pytest

from transmission_bridge import RobotTransmissions
from transmission_bridge.errors import PluginError
from transmission_bridge.transmissions import (
    Registry,
    SimpleTransmission,
)
from transmission_bridge.transmissions.registry import ENTRY_POINT_GROUP

NO_KIND = r'is not a matrix, an equation or a table; .*docs/writing_a_transmission\.md'
BUILT_IN = 'transmission_interface/SimpleTransmission'
SIMPLE = 'transmission_bridge.transmissions.simple:SimpleTransmission'
PLUGIN = '''
from transmission_bridge import EquationTransmission, LinearTransmission
from transmission_bridge.transmissions import Transmission
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission


class Gear(LinearTransmission):
    """
    A gear of ratio two.

    More text.
    """

    api_version = 2

    @classmethod
    def from_spec(cls, reader):
        reader.require_members(joints=1, actuators=1)
        return cls([[0.5]])


class BareGear(Gear):
    pass


class OldGear(Gear):
    api_version = 1


class GearWithoutVersion(LinearTransmission):
    @classmethod
    def from_spec(cls, reader):
        return cls([[1.0]])


class AbstractGear(LinearTransmission):
    api_version = 2


class UnheardGear(Gear):
    def joint_to_actuator(self, interface, values, **options):
        return 2.0 * super().joint_to_actuator(interface, values, **options)


class OwnMap(Transmission):
    api_version = 2

    def map(self, direction, interface, values, **options):
        return values


class OwnParts(MechanismTransmission):
    api_version = 2

    def _build_parts(self, direction):
        return ()


class Evaluated(EquationTransmission):
    api_version = 2

    def evaluate(self, x):
        return 2.0 * x, 2.0


def function():
    return Gear


number = 3
'''

#: Leaves a mark each time that it is executed.
COUNTS = """
with open(__file__ + '.log', 'a') as log:
    log.write('x')
raise OSError
"""


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Return a function that makes a registry of entry points ``name=module:attribute``."""
    monkeypatch.syspath_prepend(tmp_path)
    modules = {
        'tb_test_good': PLUGIN,
        'tb_test_broken': '"""Text."""\n\nimport no_such_module_anywhere\n',
        'tb_test_exits': 'raise ZeroDivisionError("at import")\n',
        'tb_test_syntax': 'def f(:\n',
        'tb_test_leaves': 'raise SystemExit("leaving")\n',
        'tb_test_counts': COUNTS,
        'tb_test_equation': 'raise ModuleNotFoundError("No module", name="casadi")\n',
    }
    for name, text in modules.items():
        (tmp_path / f'{name}.py').write_text(text, encoding='utf-8')

    def make(*entries: str) -> Registry:
        pairs = (entry.split('=') for entry in entries)
        return Registry([EntryPoint(name, value, ENTRY_POINT_GROUP) for name, value in pairs])

    yield make
    for name in modules:
        sys.modules.pop(name, None)


def test_a_type_is_loaded_and_described(plugins):
    """A plugin loads by its name, and its description is the first line of its documentation."""
    # An entry point that an overlaid workspace lists twice is one.
    gear = 'me/Gear=tb_test_good:Gear'
    registry = plugins(gear, gear, f'me/Simple={SIMPLE}', 'me/Bare=tb_test_good:BareGear')
    assert registry.type_names == ('me/Bare', 'me/Gear', 'me/Simple')
    assert registry.load('me/Gear').__name__ == 'Gear'
    assert registry.load('me/Gear') is registry.load('me/Gear')
    info = {each.type_name: each for each in registry.describe()}
    assert info['me/Gear'].description == 'A gear of ratio two.'
    assert info['me/Gear'].target == 'tb_test_good:Gear'
    assert not info['me/Gear'].error
    # Not that of its base class.
    assert (info['me/Bare'].description, info['me/Bare'].error) == ('', '')
    names = Registry().type_names
    assert list(names) == sorted(names)
    assert Registry().load(BUILT_IN) is SimpleTransmission


def test_an_unknown_type_is_refused_with_the_known(plugins):
    """A type that is not installed is refused, and the message lists what is installed."""
    registry = plugins('me/Gear=tb_test_good:Gear')
    with pytest.raises(PluginError, match="'you/Gear' is not installed") as caught:
        registry.load('you/Gear')
    assert caught.value.type_name == 'you/Gear'
    assert 'me/Gear' in str(caught.value)
    with pytest.raises(PluginError, match='none'):
        Registry([]).load('you/Gear')


@pytest.mark.parametrize(
    'name', ['os.path', 'tb_test_good:Gear', 'tb_test_good', 'transmission_bridge.errors:__name__']
)
def test_a_type_string_is_never_imported(plugins, name):
    """A type string that looks like a module is no more than an unknown name."""
    registry = plugins('me/Simple=' + SIMPLE)
    with pytest.raises(PluginError, match='not installed'):
        registry.load(name)
    assert 'tb_test_good' not in sys.modules


@pytest.mark.parametrize(
    ('target', 'reason', 'line'),
    [
        ('tb_test_broken:Gear', 'ModuleNotFoundError', 'import no_such_module_anywhere'),
        ('tb_test_exits:Gear', 'ZeroDivisionError: at import', 'raise ZeroDivisionError'),
        ('tb_test_syntax:Gear', 'SyntaxError', 'def f(:'),
        ('tb_test_leaves:Gear', 'SystemExit: leaving', 'raise SystemExit'),
        ('tb_test_good:NoSuchGear', 'AttributeError', 'NoSuchGear'),
        ('tb_test_missing:Gear', 'ModuleNotFoundError', 'tb_test_missing'),
    ],
)
def test_a_failing_import_costs_its_own_type(plugins, target, reason, line):
    """An import that fails is kept with its traceback and raised for that type, every time."""
    registry = plugins(f'me/Bad={target}', f'me/Simple={SIMPLE}')
    for _ in range(2):
        with pytest.raises(PluginError) as caught:
            registry.load('me/Bad')
        error = pickle.loads(pickle.dumps(caught.value))
        assert error.type_name == 'me/Bad'
        assert reason in str(error)
        assert 'Traceback' in error.details
        assert line in error.details
    assert registry.load('me/Simple') is SimpleTransmission
    described = {each.type_name: each for each in registry.describe()}
    assert reason in described['me/Bad'].error
    assert line in described['me/Bad'].details
    assert not described['me/Simple'].error


def test_a_type_without_casadi_says_how_to_install_it(plugins):
    """Where nothing but CasADi is missing, no traceback: the command that installs it."""
    registry = plugins('me/Bent=tb_test_equation:Bent', f'me/Simple={SIMPLE}')
    with pytest.raises(PluginError, match=r"needs CasADi.*pip install .*'casadi>=3.6'") as caught:
        registry.load('me/Bent')
    assert not caught.value.details
    info = {each.type_name: each for each in registry.describe()}
    assert (info['me/Bent'].error, info['me/Simple'].error) == (str(caught.value), '')


def test_a_failing_import_is_tried_once(plugins, tmp_path):
    """However often a broken type is asked for, its module is executed once."""
    registry = plugins('me/Bad=tb_test_counts:Gear')
    for _ in range(3):
        with pytest.raises(PluginError):
            registry.load('me/Bad')
    registry.describe()
    assert (tmp_path / 'tb_test_counts.py.log').read_text(encoding='utf-8') == 'x'


@pytest.fixture
def install(plugins, tmp_path):
    """Return a function that installs a package ``name`` that provides ``type = target``."""

    def write(name: str, version: str, type_name: str, target: str) -> None:
        folder = tmp_path / f'{name}-{version}.dist-info'
        folder.mkdir()
        (folder / 'METADATA').write_text(
            f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n', encoding='utf-8'
        )
        (folder / 'entry_points.txt').write_text(
            f'[{ENTRY_POINT_GROUP}]\n{type_name} = {target}\n', encoding='utf-8'
        )
        importlib.invalidate_caches()

    return write


def test_a_second_provider_of_a_built_in_type_disables_itself(install, make_spec, make_robot):
    """
    The built-in type stays what it is, wherever the other package is found on the path.

    A robot that uses the type has an error finding that names the package, once; ``plugins`` lists
    it with the same error; it is never imported.
    """
    install('aaa_gears', '0.3', BUILT_IN, 'tb_test_good:Gear')
    registry = Registry()
    assert registry.load(BUILT_IN) is SimpleTransmission
    built_in, second = (each for each in registry.describe() if each.type_name == BUILT_IN)
    # Some installers write the name of a distribution with hyphens.
    assert (built_in.package.replace('-', '_'), built_in.error) == ('transmission_bridge', '')
    assert (second.package, second.version) == ('aaa_gears', '0.3')
    assert second.target == 'tb_test_good:Gear'
    assert 'tb_test_good:Gear of aaa_gears 0.3 is not used' in second.error
    assert registry.disabled(BUILT_IN) == (second,)
    specs = (
        make_spec('t', 'simple', ('j',), ('m',), joint_reduction=(4.0,)),
        make_spec('u', 'simple', ('k',), ('n',), joint_reduction=(5.0,)),
    )
    robot = RobotTransmissions(make_robot(*specs), registry=registry)
    assert robot.actuator_to_joint('position', [8.0, 10.0]).tolist() == [2.0, 2.0]
    (finding,) = robot.findings
    assert (finding.severity, finding.message) == ('error', second.error)
    coupled = make_spec('t', 'differential', ('j', 'k'), ('m', 'n'))
    assert RobotTransmissions(make_robot(coupled), registry=registry).findings == ()
    assert 'tb_test_good' not in sys.modules


def test_two_packages_with_one_type_are_both_named_and_disabled(install, make_spec, make_robot):
    """Where neither is the built-in one, nothing says which is right, in whatever order."""
    install('gears', '1.0', 'me/Gear', 'tb_test_good:Gear')
    install('wheels', '2.0', 'me/Gear', 'tb_test_good:BareGear')
    registry = Registry()
    spec = make_spec('t', 'me/Gear', ('j',), ('m',))
    robot = RobotTransmissions(make_robot(spec), registry=registry)
    assert robot.joint_names == ()
    (finding,) = robot.findings
    for said in ('tb_test_good:Gear (gears 1.0)', 'tb_test_good:BareGear (wheels 2.0)'):
        assert said in finding.message
    described = [each for each in registry.describe() if each.type_name == 'me/Gear']
    assert sorted(each.package for each in described) == ['gears', 'wheels']
    assert all('is provided more than once' in each.error for each in described)
    assert registry.disabled('me/Gear') == ()


@pytest.mark.parametrize(
    ('target', 'reason'),
    [
        ('tb_test_good:OldGear', 'api_version 1.*writing_a_transmission.md'),
        ('tb_test_good:GearWithoutVersion', 'api_version None'),
        ('tb_test_good:AbstractGear', 'does not define from_spec'),
        ('tb_test_good:UnheardGear', f'defines joint_to_actuator and therefore {NO_KIND}'),
        ('tb_test_good:OwnParts', f'defines _build_parts and therefore {NO_KIND}'),
        ('tb_test_good:Evaluated', f'defines evaluate and therefore {NO_KIND}'),
        ('tb_test_good:OwnMap', f'OwnMap {NO_KIND}'),
        ('tb_test_good:function', NO_KIND),
        ('tb_test_good:number', NO_KIND),
        ('builtins:dict', NO_KIND),
        ('tb_test_good', NO_KIND),
    ],
)
def test_what_is_no_transmission_is_refused(plugins, target, reason):
    """Another version, maps of a type's own, and what is no transmission are refused."""
    registry = plugins(f'me/Bad={target}')
    with pytest.raises(PluginError, match=reason) as caught:
        registry.load('me/Bad')
    assert 'me/Bad' in str(caught.value)


def test_a_failing_plugin_costs_its_own_joints(plugins, make_spec, make_robot):
    """A robot with a broken plugin has all other joints, and a finding with the traceback."""
    registry = plugins('me/Bad=tb_test_broken:Gear', f'me/Simple={SIMPLE}')
    specs = (
        make_spec('bad', 'me/Bad', ('j1',), ('m1',), line=7, path='/robot/transmission[1]'),
        make_spec('good', 'me/Simple', ('j2',), ('m2',), joint_reduction=(4.0,)),
    )
    robot = RobotTransmissions(make_robot(*specs), registry=registry)
    assert (robot.joint_names, robot.actuator_names) == (('j2',), ('m2',))
    assert robot.actuator_to_joint('position', [8.0]) == [2.0]
    (finding,) = robot.findings
    assert (finding.severity, finding.subject) == ('error', 'bad')
    assert 'no_such_module_anywhere' in finding.message
    assert 'Traceback' in finding.message
    assert (finding.line, finding.path) == (7, '/robot/transmission[1]')


def test_plugins_are_imported_when_their_type_is_used():
    """Importing the package and building a simple robot imports no plugin of another type."""
    script = textwrap.dedent(
        """
        import importlib.metadata
        import sys

        before = set(sys.modules)
        import transmission_bridge as tb

        simple = 'transmission_interface/SimpleTransmission'
        robot = tb.RobotTransmissions(tb.load_description(
            '<robot name="r"><ros2_control name="x" type="system"><hardware><plugin>a/B</plugin>'
            '</hardware><joint name="j"/><transmission name="t"><plugin>' + simple + '</plugin>'
            '<joint name="j"><mechanical_reduction>2</mechanical_reduction></joint>'
            '<actuator name="m"/></transmission></ros2_control></robot>'))
        assert robot.actuator_to_joint('position', [3.0]) == [1.5]
        group = importlib.metadata.entry_points(group='transmission_bridge.transmissions')
        asked = {simple}
        # The classes that the package itself exports are there with it.
        exported = {cls.__module__ for cls in vars(tb.transmissions).values()
                    if isinstance(cls, type)}
        others = {e.module for e in group if e.name not in asked} - exported
        assert others, 'nothing to tell'
        print(sorted(others & set(sys.modules)))
        """
    )
    result = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == '[]'
