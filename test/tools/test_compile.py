# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge compile``: the maps in C are those of Python."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
import re
import shutil
import subprocess
from types import SimpleNamespace
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pytest
from zoo.documented import DOCUMENTED
from zoo.elements import of_snippet, params, transmission, urdf

from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, DIRECTIONS
from transmission_bridge.transmissions import LinearTransmission, Ratio
from transmission_bridge.transmissions.registry import Registry
from transmission_bridge.transmissions.robot_transmissions import RobotTransmissions

pytest.importorskip('casadi', reason='CasADi is not installed (extra mechanisms)')
import casadi as ca

from transmission_bridge.tools.compiler.c_writer import count_c_state_bytes, write_folder
from transmission_bridge.tools.compiler.compiled_robot import (
    can_number_reverse,
    CompiledLiveNumbers,
    CompiledRobot,
    CompiledStateModel,
    count_operations,
    iterate_check_steps,
)
from transmission_bridge.transmissions.equation_transmission import (
    EquationTransmission,
    Parameter,
)
from transmission_bridge.transmissions.robot.program import iterate_mechanisms

COMPILERS = [each for each in ('gcc', 'clang') if shutil.which(each)]
needs_compiler = pytest.mark.skipif(not COMPILERS, reason='there is no C compiler')
STRICT = '-std=c99 -Wall -Wextra -Wpedantic -Werror -Wno-unused-parameter -ffp-contract=off'

HINGE, NECK = DOCUMENTED['hinge_transmission'], DOCUMENTED['neck']
BOTH_KINDS = of_snippet(
    DOCUMENTED['left_ankle'] + DOCUMENTED['boom'] + NECK + DOCUMENTED['finger']
)


@pytest.fixture(scope='module')
def robots(linkages):
    """Return descriptions by name: each type, all in one, and closed linkages."""
    found = {name: of_snippet(text) for name, text in DOCUMENTED.items()}
    # The coefficients of velocities and efforts are equal at a reduction of one only.
    found |= {f'unit{x}': of_snippet(HINGE.replace('-50.0', x)) for x in UNITS}
    return {**found, 'all': of_snippet(''.join(DOCUMENTED.values())), **linkages}


@pytest.fixture(scope='module')
def build(run, tmp_path_factory):
    """Return a function that compiles a description, and builds the shared library, once each."""
    made = {}

    def build_robot(text, name='a_map'):
        if (text, name) not in made:
            folder = tmp_path_factory.mktemp(name)
            (folder / 'robot.urdf').write_text(text, encoding='utf-8')
            paths = (folder / 'robot.urdf', '--output', folder / 'out')
            assert run('compile', *paths, '--name', name).code == 0
            compile_c(folder / 'out', f'src/{name}.c src/{name}_map.c -shared -fPIC -o libmap.so')
            made[text, name] = folder / 'out'
        return made[text, name]

    return build_robot


def compile_c(folder, words, compiler='', flags='-O1'):
    """Compile something in a folder; warnings are errors."""
    command = [compiler or COMPILERS[0], *STRICT.split(), *flags.split(), '-Iinclude', '-Itest']
    done = subprocess.run(
        [*command, *words.split(), '-lm'], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def compiled_robot(text, plugins=()):
    """Return a robot, whose types may be classes of this file, and its functions."""
    entries = [
        SimpleNamespace(name=f'here/{x.__name__}', value='x:X', dist=None, load=lambda x=x: x)
        for x in plugins
    ]
    registry = Registry(entries) if plugins else None
    robot = RobotTransmissions(load_description(text), registry=registry)
    return robot, CompiledRobot.build('a_map', robot)


class Maps:
    """The functions of a folder, with a state."""

    def __init__(self, folder, compiled):
        self._library, self._programs = ctypes.CDLL(str(folder / 'libmap.so')), compiled.programs
        self.reason_text = self._library.a_map_reason_text
        self.reason_text.restype = ctypes.c_char_p
        self.memory = np.zeros(count_c_state_bytes(compiled) // 8)
        self.status = self.memory.view(np.uint32)[: len(compiled.robot.bindings)]
        self._library.a_map_init(self._point(self.memory))

    @staticmethod
    def _point(array):
        return array.ctypes.data_as(ctypes.c_void_p)

    def set_number(self, which, value):
        """Return the reason of the rejection, or 0."""
        return self._library.a_map_set(self._point(self.memory), which, ctypes.c_double(value))

    def map_rows(self, direction, rows, measured):
        """Return outputs and status of one sample."""
        out = np.empty((3, self._programs[direction].near.numel_out(0) // 3))
        is_state = direction == ACTUATOR_TO_JOINT
        run = self._library.a_map_to_joint if is_state else self._library.a_map_to_actuator
        given = [np.ascontiguousarray(each) for each in (rows, *(() if is_state else (measured,)))]
        return out, run(*map(self._point, (self.memory, *given, out)))


#: The live numbers in C of each robot: ``joints.offset`` is that of each joint, and so on.
BOTH_RATIOS = 'actuators.mechanical_reduction joints.mechanical_reduction joints.offset'
OF_LINKAGE = 'actuators.mechanical_reduction actuators.offset max_gain'
LIVE = {
    'hinge_transmission': 'joints.mechanical_reduction joints.offset',
    'neck': BOTH_RATIOS,
    'elbow_transmission': BOTH_RATIOS,
    'finger': 'actuators.mechanical_reduction joints.offset',
    'wrist': 'actuators.mechanical_reduction joints.offset',
    'lift': 'lead actuators.mechanical_reduction joints.offset',
    # Its range has limits in the joint's coordinates.
    'knee': 'stroke_at_zero actuators.mechanical_reduction max_gain',
    'boom': f'stroke_at_zero {BOTH_RATIOS} max_gain',
    'left_ankle': 'actuators.mechanical_reduction max_gain',
    **dict.fromkeys(('gripper', 'thumb'), 'actuators.mechanical_reduction joints.offset max_gain'),
    **dict.fromkeys(('four_bar_knee', 'five_bar', 'push_rod_ankle'), OF_LINKAGE),
}
NAMES = [*LIVE, 'all']
UNITS = ('1.0', '-1.0')


# -- the functions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'steps', 'state_bytes'),
    [('left_ankle', 250_000, 22_000), ('boom', 1_000, 2_000), ('five_bar', 550_000, 20_000)],
)
def test_a_sample_has_a_largest_cost(name, steps, state_bytes, robots):
    """The operations of a search and the bytes of a state are bounded, for a real-time loop."""
    _, compiled = compiled_robot(robots[name])
    for program in compiled.programs.values():
        assert count_operations(program.near) + count_operations(program.full) < steps
    assert count_c_state_bytes(compiled) < state_bytes


@needs_compiler
@pytest.mark.parametrize('name', NAMES)
def test_c_is_python_to_the_last_bit(name, robots, build, campaign):
    """Outputs and status are equal, with unknown and far values and live numbers that change."""
    _, compiled = compiled_robot(robots[name])
    maps = Maps(build(robots[name]), compiled)
    answered = 0
    for step in iterate_check_steps(compiled, 300 * campaign, seed=5):
        if step.which >= 0:
            assert maps.set_number(step.which, step.rows.item()) == 0
            continue
        out, status = maps.map_rows(step.direction, step.rows, step.rows[-1])
        assert np.array_equal(out, step.mapped, equal_nan=True)
        assert status == step.status
        answered += np.isfinite(out).sum()
    assert answered > 300


@needs_compiler
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_what_has_no_outputs_has_a_bit(build, direction):
    """Bit 16: a partner is unknown; bit 32: a mechanism's position is. No other one is touched."""
    text = of_snippet(NECK + DOCUMENTED['boom'])
    maps = Maps(build(text), compiled_robot(text)[1])
    rows, unknown = np.full((3, 3), 0.01), np.full(3, math.nan)

    def find_unknown(measured, *changes):
        given = rows.copy()
        for place in changes:
            given[place] = math.nan
        out, status = maps.map_rows(direction, given, measured)
        return np.isnan(out).tolist(), maps.status.tolist(), status

    none, neck, boom = [False] * 3, [True, True, False], [False, False, True]
    assert find_unknown(rows[0]) == ([none] * 3, [0, 0], 0)
    assert find_unknown(rows[0], (1, 0))[:2] == ([none, neck, none], [16, 0])
    for row in (1, 2):  # a constant ratio needs no position
        found, bits, _ = find_unknown(unknown, 0, 3 - row)
        assert (found[row], bits) == (boom, [0, 32])
    if direction != ACTUATOR_TO_JOINT:  # the velocity is mapped at the commanded position
        assert find_unknown(unknown)[:2] == ([none, none, boom], [0, 32])


@needs_compiler
@pytest.mark.parametrize('compiler', COMPILERS)
def test_the_folder_passes_its_own_test(compiler, build, linkages, campaign):
    """Without a warning, and with sanitizers, also two robots in one program."""
    one, two = build(BOTH_KINDS), build(linkages['five_bar'], 'b_map')
    flags = '-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all'
    flags += f' -DBYTES={count_c_state_bytes(compiled_robot(BOTH_KINDS)[1])}'
    compile_c(one, 'src/a_map.c src/a_map_map.c -c', compiler, flags)
    compile_c(one, 'a_map.o a_map_map.o test/a_map_test.c -o t', compiler, flags)
    subprocess.run([one / 't', '0'], check=True, timeout=60)
    both = Path(__file__).parent / 'compiled_maps' / 'both.c'
    others = ' '.join(str(two / 'src' / each) for each in ('b_map.c', 'b_map_map.c'))
    words = f'-DCOUNT={200 * campaign} a_map.o a_map_map.o {others} {both}'
    compile_c(one, f'{words} -I{two}/include -o both', compiler, flags)
    subprocess.run([one / 'both'], check=True, timeout=600)


@needs_compiler
@pytest.mark.parametrize('name', ['four_bar_knee', 'five_bar', 'push_rod_ankle'])
def test_an_optimizing_compiler_is_silent(name, build, linkages):
    """GCC 12 saw null pointers copied to work arrays in the function of a linkage."""
    folder = build(linkages[name], f'{name}_map')
    compile_c(folder, f'src/{name}_map_map.c -c -o /dev/null', flags='-O3')


# -- live numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize('name', LIVE)
def test_what_a_type_declares_is_live(name, robots):
    """Every other number needs a new compilation."""
    robot, compiled = compiled_robot(robots[name])
    (binding,) = robot.bindings
    expected = []
    for words in LIVE[name].split():
        side, _, number = words.rpartition('.')
        members = (
            [f'{side}.{each.name}.' for each in getattr(binding.spec, side)] if side else ['']
        )
        expected += [f'{binding.spec.name}.{member}{number}' for member in members]
    assert [each.name for each in compiled.live.tunables] == expected
    others = {each for each, number in robot.parameters.items() if not number.is_flag}
    assert others - {*expected} == {*compiled.live.fixed}


@pytest.mark.parametrize('name', [*NAMES, *(f'unit{x}' for x in UNITS)])
def test_rules_give_the_numbers_of_a_tuned_robot(name, robots):
    """Each live number in C changes the functions as tuning in Python does, and nothing else."""
    robot, compiled = compiled_robot(robots[name])
    live, random = compiled.live, np.random.default_rng(2)
    exact = []  # bounds and tables may depend on anything
    for direction in DIRECTIONS:
        exact += [True] * len(robot.stack_fields(direction).numbers)
        for _, part in iterate_mechanisms(robot.mechanisms(direction), direction):
            exact += [k not in part.unknown_bounds for k in range(len(part.numbers))]
    exact = np.flatnonzero(exact)
    for tunable in live.tunables:
        share = random.uniform(0.001, 0.004) * random.choice([-1.0, 1.0])
        value = tunable.value * (1.0 + share) + (not tunable.value) * 0.01
        values = [value if each is tunable else each.value for each in live.tunables]
        tuned = CompiledLiveNumbers.collect(robot.with_parameters({tunable.name: value}))
        found = live.evaluate_rules(values)
        np.testing.assert_allclose(found[exact], tuned.values[exact], rtol=1e-14)
        assert not np.array_equal(found, live.values, equal_nan=True)
        itself = [k for k, rule in live.rules.items() if rule.itself == tunable.name]
        assert (found[itself] == value).all()
    values = {each.name: each.value * random.uniform(0.7, 1.4) for each in live.tunables}
    expected = CompiledLiveNumbers.collect(robot.with_parameters(values)).values[exact]
    found = live.evaluate_rules(list(values.values()))
    np.testing.assert_allclose(found[exact], expected, rtol=1e-14)


def test_a_number_with_the_name_of_another_one_is_not_live():
    """Such a name cannot be set in Python."""
    twins = transmission('w', 'Simple', ['x.joints.y'], ['m'])
    twins += transmission('w.joints.x', 'Simple', ['y'], ['other'])
    robot, compiled = compiled_robot(of_snippet(twins + NECK))
    assert len(robot.named_tunables['w.joints.x.joints.y.offset']) == 2
    assert [each.transmission for each in compiled.live.tunables] == ['neck'] * 6
    assert not any('w' in each for each in compiled.live.fixed)


@needs_compiler
@pytest.mark.parametrize('name', NAMES)
def test_c_accepts_the_numbers_that_python_accepts(name, robots, build, campaign):
    """One after the other; only C keeps the sign of a reduction of a mechanism."""
    robot, compiled = compiled_robot(robots[name])
    maps, random = Maps(build(robots[name]), compiled), np.random.default_rng(4)
    accepted, counts = {}, [0, 0]
    for _ in range(100 * campaign):
        which = int(random.integers(len(compiled.live.tunables)))
        number = compiled.live.tunables[which]
        size = random.choice((-1.0, 1.0)) * 10.0 ** random.uniform(-9.0, 9.0)
        near = number.value * (1.0 + random.uniform(-0.1, 0.1))
        ends = [each for each in (number.minimum, number.maximum) if each is not None]
        value = random.choice([size, size, near, 0.0, -0.0, -1.0, math.nan, math.inf, *ends])
        try:
            robot.with_parameters(accepted | {number.name: value})
            is_accepted = True
        except ParameterError:
            is_accepted = False
        other_side = (value < 0.0) != (number.value < 0.0) and not can_number_reverse(
            robot, number
        )
        is_set = maps.set_number(which, value) == 0
        assert is_set == (is_accepted and not other_side), (number.name, value)
        accepted |= {number.name: value} if is_set else {}
        counts[is_accepted] += 1
    assert min(counts) > 5


@needs_compiler
def test_a_number_is_rejected_with_its_reason(build, linkages):
    """The code says why, and the state does not change."""
    _, compiled = compiled_robot(BOTH_KINDS)
    maps = Maps(build(BOTH_KINDS), compiled)
    names = [each.name for each in compiled.live.tunables]
    before = maps.memory.copy()
    for name, value, code in (
        ('', 1.0, 1),
        ('neck.joints.neck_roll.offset', math.nan, 2),
        ('neck.joints.neck_roll.mechanical_reduction', 0.0, 3),
        ('neck.actuators.neck_left_motor.mechanical_reduction', 1e7, 4),
        ('boom.max_gain', 0.5, 4),
    ):
        assert maps.set_number(names.index(name) if name else len(names), value) == code, name
        assert maps.reason_text(code) not in (b'', b'accepted')
    assert np.array_equal(maps.memory, before, equal_nan=True)
    reduction = 'neck.actuators.neck_left_motor.mechanical_reduction'
    assert maps.set_number(names.index(reduction), -50.0) == 0
    maps = Maps(build(linkages['five_bar']), compiled_robot(linkages['five_bar'])[1])
    assert maps.set_number(0, -1.0) == 5
    assert maps.reason_text(5) not in (b'', b'accepted')


# -- types of other packages ---------------------------------------------------------------------


class Tendon(LinearTransmission):
    """A tendon on a pulley, whose radius may be any number but zero."""

    api_version = 1

    @classmethod
    def from_spec(cls, reader):
        """Build from the radius, and from a number that the matrix depends on."""
        radius = reader.number('radius', description='Radius [m].')
        stretch = reader.number('stretch', description='Stretch.', default=0.1)
        ratio, offset = [Ratio((radius,))], reader.joint_offsets()
        return cls([[1.0 + stretch]], offset, inverse=[[1 / (1.0 + stretch)]], joint_ratio=ratio)


class Yoke(EquationTransmission):
    """A Scotch yoke."""

    api_version = 1
    parameters = (
        Parameter('radius', 'Radius', 'm', minimum=1e-6),
        Parameter('shift', 'Shift', 'm', default=0.0),
    )

    def range(self):
        """Return half a turn."""
        return self.bare_range('actuator', [0.1], [3.0])

    @staticmethod
    def joint_position(a, p):
        """Return the position of the slider."""
        return p.radius * ca.cos(a) + p.shift


class FullYoke(Yoke):
    """A Scotch yoke from one dead centre to the other."""

    def range(self):
        """Return half a turn."""
        return self.bare_range('actuator', [0.0], [math.pi])


class ComputedYoke(Yoke):
    """A Scotch yoke with a number that depends on its radius."""

    def __init__(self, numbers, **others):
        super().__init__({**numbers, 'shift': 2.0 * numbers['radius']}, **others)


def one_joint(name, plugin):
    """Return a transmission of a type of this file."""
    members = [f'{name}_joint'], [f'{name}_motor']
    return transmission(name, f'here/{plugin.__name__}', *members, params(radius=0.5))


def test_a_dead_centre_moves_with_its_dimensions():
    """The former end is regular with a longer radius; it is solved and not the end."""
    robot, compiled = compiled_robot(of_snippet(one_joint('yoke', FullYoke)), [FullYoke])

    def map_joint(position, **changes):
        numbers = {f'yoke.{name.replace("__", ".")}': value for name, value in changes.items()}
        values = [numbers.get(each.name, each.value) for each in compiled.live.tunables]
        rows = np.full((3, 1), np.nan)
        rows[0] = position
        return CompiledStateModel(compiled, values).map_rows('joint_to_actuator', rows)[0][0]

    tuned = robot.with_parameters({'yoke': {'radius': 0.6}})
    for end in (-0.5, 0.5):
        expected = tuned.joint_to_actuator('position', [end])
        assert expected == pytest.approx(math.acos(end / 0.6), abs=1e-12)
        assert map_joint(end, radius=0.6) == pytest.approx(expected, abs=1e-12)
    # With another reduction the end is the same.
    doubled = {'actuators__yoke_motor__mechanical_reduction': 2.0}
    assert map_joint(0.5, **doubled) == pytest.approx(0.0, abs=1e-12)
    assert map_joint(-0.5, **doubled) == pytest.approx(2.0 * math.pi)


@needs_compiler
def test_a_plugin_declares_its_live_numbers(tmp_path):
    """Ratios, offsets, and the numbers of an equation if it has computed none of them."""
    types = {'tendon': Tendon, 'yoke': Yoke, 'computed': ComputedYoke}
    text = of_snippet(''.join(one_joint(*each) for each in types.items()))
    robot, compiled = compiled_robot(text, types.values())
    gears = (
        '{0}.actuators.{0}_motor.mechanical_reduction '
        '{0}.joints.{0}_joint.mechanical_reduction {0}.joints.{0}_joint.offset {0}.max_gain'
    )
    names = [each.name for each in compiled.live.tunables]
    assert names == [
        *('tendon.radius', 'tendon.joints.tendon_joint.offset', 'yoke.radius', 'yoke.shift'),
        *gears.format('yoke').split(),
        *gears.format('computed').split(),
    ]
    write_folder(compiled, tmp_path, load_description(text), {'FINGERPRINT': ''})
    compile_c(tmp_path, 'src/a_map.c src/a_map_map.c -shared -fPIC -o libmap.so')
    maps = Maps(tmp_path, compiled)
    for name, value, code in (
        ('tendon.radius', 0.0, 3),
        ('tendon.radius', -0.2, 0),
        ('yoke.radius', 0.0, 4),
        ('yoke.radius', 0.7, 0),
        ('yoke.shift', 0.3, 0),
        ('tendon.joints.tendon_joint.offset', 0.4, 0),
    ):
        assert maps.set_number(names.index(name), value) == code, name
    values = {'tendon': {'radius': -0.2, 'joints': {'tendon_joint': {'offset': 0.4}}}}
    tuned = robot.with_parameters({**values, 'yoke': {'radius': 0.7, 'shift': 0.3}})
    places = np.array([1.0, 1.2, 1.4])
    rows, _ = maps.map_rows(ACTUATOR_TO_JOINT, np.stack([places] * 3), None)
    assert np.allclose(rows[0], tuned.actuator_to_joint('position', places), rtol=1e-14)


# -- names and errors ----------------------------------------------------------------------------

#: Words of C and C++, names of what is generated, and characters of C, XML, CMake and templates.
HOSTILE_NAMES = (
    'int', 'union', 'class', 'main', 'NAN', 'NULL', 'names', 'names_', 'NAMES', 'JOINTS', 'NAME',
    'ROBOT', 'to', 'j_near', 'state', 'x@FOO@', '@NAMES@', '${X}', '$ENV{HOME}', '$<1:x>', 'R&D',
    'a<b>', ']]>', '-->', '&amp;', "it's", 'say "x"', '/*', '*/', '//', '*', '|', 'a\\', '??/',
    '#if 0', '%s', '1st', 'a b', 'a-b', 'a_b', 'a.b', 'ünd', '\u202e', '(', ';', '`x`',
    'ünd */ "m|1" ??/',
)  # fmt: skip


@needs_compiler
def test_every_name_builds(build):
    """Names of joints, actuators and transmissions are text in C and C++, and stay different."""
    escaped = [escape(each, {'"': '&quot;'}) for each in HOSTILE_NAMES]
    made = build(urdf(escaped, ''.join(transmission(x, 'Simple', [x], [x]) for x in escaped)))
    (made / 'x.cpp').write_text('#include "a_map.h"')
    flags = ['-std=c++17', '-Wall', '-Wextra', '-Werror', '-Iinclude']
    assert subprocess.run(['g++', *flags, '-c', 'x.cpp'], cwd=made).returncode == 0
    library = ctypes.CDLL(str(made / 'libmap.so'))
    for side in ('joint', 'actuator'):
        found = (ctypes.c_char_p * len(HOSTILE_NAMES)).in_dll(library, f'a_map_{side}_names')
        assert {each.decode() for each in found} == {*HOSTILE_NAMES}


@needs_compiler
@pytest.mark.parametrize(
    'name',
    ['int', 'NAME', '@NAMES@', 'x@FOO@', '${X}', 'R&D', 'a<b>', ']]>', '/*', '*/', '7 axes', 'ä'],
)
def test_every_name_of_a_robot_builds_or_is_an_error(name, save, tmp_path, run):
    """The package is well-formed and has the name as text; another name can be given."""
    text = of_snippet(HINGE).replace('<robot name="small"', f'<robot name={quoteattr(name)}')
    words = ('compile', save(text), '--output', tmp_path / 'out')
    result = run(*words)
    if result.code:
        assert (result.code, 'a package name such as' in result.err) == (2, True)
        assert run(*words, '--name', 'a_map').code == 0
    (source,) = (tmp_path / 'out' / 'src').glob('*_map_map.c') or ()
    compile_c(tmp_path / 'out', f'-c src/{source.stem.removesuffix("_map")}.c -o x.o')
    package = ElementTree.parse(tmp_path / 'out' / 'package.xml')
    assert re.search(r'\w*', name)[0] in package.find('description').text


@pytest.mark.parametrize(
    ('given', 'name'), [('ankle', 'ankle_map'), ('test', 'test_map'), ('left_leg', 'left_leg')]
)
def test_one_word_as_a_name_becomes_that_of_a_map(given, name, save, tmp_path, run):
    """One word could be a header, a library or a target of CMake."""
    paths = (save(of_snippet(HINGE)), '--output', tmp_path / 'out')
    assert run('compile', *paths, '--name', given).code == 0
    assert (tmp_path / 'out' / 'include' / f'{name}.h').is_file()
    assert f'<name>{name}</name>' in (tmp_path / 'out' / 'package.xml').read_text()


OF_BOOM = '"l_boom_joint"/></joint>'
WRONG = {
    'no robot': 'no robot',
    'no transmission': '<robot name="r"/>',
    'no mistake': BOTH_KINDS,
    'unknown type': BOTH_KINDS.replace('Ankle', 'Knuckle'),
    'bad axis': BOTH_KINDS.replace(OF_BOOM, '"l_boom_joint"/><axis xyz="0 0 0"/></joint>'),
    'bad limit': BOTH_KINDS.replace(OF_BOOM, '"l_boom_joint"/><limit lower="x"/></joint>'),
}

# fmt: off
#: Description, options, exit code and words of the errors.
ERRORS = [
    ('no mistake', '--name Arm_map', 2, "found 'Arm_map'"),
    ('no mistake', '--name edit_cache', 2, "found 'edit_cache'"),
    ('no mistake', '--transmission leg', 2, "no transmission 'leg'"),
    ('no mistake', '--tuned-file /nowhere/tuned.yaml', 2, '/nowhere/tuned.yaml'),
    ('no transmission', '', 1, 'has no transmission'),
    ('no robot', '', 1, ''),
    ('unknown type', '', 1, 'errors (1): nothing was compiled'),
    # Errors of other transmissions and of their joints are reported only.
    ('unknown type', '--transmission boom', 0, 'error: '),
    ('bad axis', '--transmission neck', 0, 'error: '),
    ('bad axis', '--transmission boom', 1, 'error: '),
    ('bad limit', '--transmission boom', 1, 'error: '),
]
# fmt: on


@pytest.mark.parametrize(('which', 'options', 'code', 'words'), ERRORS)
def test_only_errors_of_what_is_compiled_prevent_it(
    run, save, tmp_path, which, options, code, words
):
    """The exit code and a sentence say so, and nothing is written."""
    result = run('compile', save(WRONG[which]), '--output', tmp_path / 'out', *options.split())
    assert (result.code, words in result.err) == (code, True), result
    assert (tmp_path / 'out').exists() == (code == 0)
