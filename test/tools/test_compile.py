# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The maps in C are those of Python."""

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
from zoo.elements import chain

from transmission_bridge.description import load_description
from transmission_bridge.errors import ParameterError
from transmission_bridge.transmissions import LinearTransmission, Ratio
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, DIRECTIONS
from transmission_bridge.transmissions.registry import PluginInfo, Registry
from transmission_bridge.transmissions.robot_transmissions import RobotTransmissions

pytest.importorskip('casadi', reason='CasADi is not installed (extra mechanisms)')
import casadi as ca

from transmission_bridge.tools.compiler.c_writer import count_state_bytes, write_folder
from transmission_bridge.tools.compiler.compiled_robot import (
    CompiledRobot,
    iterate_steps,
    StateModel,
)
from transmission_bridge.tools.compiler.live_numbers import (
    is_reversible,
    LiveNumbers,
)
from transmission_bridge.tools.compiler.operations import count_operations
from transmission_bridge.transmissions.equation_transmission import EquationTransmission, Parameter
from transmission_bridge.transmissions.robot_program import iterate_parts

DOCUMENT = Path(__file__).parents[2] / 'docs' / 'transmissions.md'
COMPILERS = [each for each in ('gcc', 'clang') if shutil.which(each)]
needs_compiler = pytest.mark.skipif(not COMPILERS, reason='there is no C compiler')
STRICT = '-std=c99 -Wall -Wextra -Wpedantic -Werror -Wno-unused-parameter -ffp-contract=off'


def robot_of(snippets):
    """Return a robot with the transmissions of some snippets."""
    joints = [name for each in snippets for name in re.findall(r'<joint name="([^"]+)"', each)]
    links = ''.join(f'<link name="{name}_link"/>' for name in ('base', *joints))
    tree = ''.join(
        f'<joint name="{name}" type="continuous"><parent link="base_link"/>'
        f'<child link="{name}_link"/></joint>'
        for name in joints
    )
    declared = ''.join(
        f'<joint name="{name}"><command_interface name="position"/></joint>' for name in joints
    )
    return (
        f'<robot name="robot">{links}{tree}<ros2_control name="block" type="system"><hardware>'
        f'<plugin>p</plugin></hardware>{declared}{"".join(snippets)}</ros2_control></robot>'
    )


def snippets():
    """Return the transmissions of the document by name, without linkages."""
    found = re.findall(r'```xml[^\n]*\n(<transmission.*?)```', DOCUMENT.read_text(), re.DOTALL)
    return {re.search('name="([^"]+)"', each)[1]: each for each in found}


ANKLE_AND_BOOM = robot_of([snippets()[name] for name in ('left_ankle', 'boom', 'neck', 'finger')])


@pytest.fixture(scope='module')
def robots(linkages):
    """Return descriptions by name: each type, all in one, and closed linkages."""
    each = snippets()
    found = {name: robot_of([text]) for name, text in each.items()}
    return {**found, 'all': robot_of(list(each.values())), **linkages}


@pytest.fixture(scope='module')
def build(tmp_path_factory):
    """Return a function that compiles a description, and builds the shared library."""
    from transmission_bridge.tools.main import main

    def build_robot(text, name='a_map', *options):
        folder = tmp_path_factory.mktemp(name)
        (folder / 'robot.urdf').write_text(text, encoding='utf-8')
        made = folder / 'out'
        arguments = [str(folder / 'robot.urdf'), '--output', str(made), '--name', name, *options]
        assert main(['compile', *arguments]) == 0
        compile_c(made, f'src/{name}.c src/{name}_map.c -shared -fPIC -o libmap.so')
        return made

    return build_robot


def compile_c(folder, words, compiler='', flags='-O1'):
    """Compile something in a folder; warnings are errors."""
    command = [compiler or COMPILERS[0], *STRICT.split(), *flags.split(), '-Iinclude', '-Itest']
    done = subprocess.run(
        [*command, *words.split(), '-lm'], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def compiled_robot(text):
    """Return a robot and its functions."""
    robot = RobotTransmissions(load_description(text))
    return robot, CompiledRobot.build('a_map', robot)


class Maps:
    """The functions of a folder, with a state."""

    def __init__(self, folder, compiled):
        self._library, self._programs = ctypes.CDLL(str(folder / 'libmap.so')), compiled.programs
        self.reason_text = self._library.a_map_reason_text
        self.reason_text.restype = ctypes.c_char_p
        self.memory = np.zeros(count_state_bytes(compiled) // 8)
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
        status = run(*map(self._point, (self.memory, *given, out)))
        return out, status


#: The live numbers in C of each robot, without the name of the transmission.
LIVE = {
    'hinge_transmission': 'joints.hinge.mechanical_reduction joints.hinge.offset',
    'neck': 'actuators.neck_left_motor.mechanical_reduction '
    'actuators.neck_right_motor.mechanical_reduction joints.neck_pitch.mechanical_reduction '
    'joints.neck_roll.mechanical_reduction joints.neck_pitch.offset joints.neck_roll.offset',
    'elbow_transmission': 'actuators.upper_arm_motor.mechanical_reduction '
    'actuators.forearm_motor.mechanical_reduction joints.upper_arm.mechanical_reduction '
    'joints.forearm.mechanical_reduction joints.upper_arm.offset joints.forearm.offset',
    'finger': 'actuators.finger_motor.mechanical_reduction joints.finger_proximal.offset '
    'joints.finger_middle.offset joints.finger_distal.offset',
    'wrist': 'actuators.wrist_motor_1.mechanical_reduction '
    'actuators.wrist_motor_2.mechanical_reduction joints.wrist_pitch.offset '
    'joints.wrist_roll.offset',
    'lift': 'lead actuators.lift_motor.mechanical_reduction joints.lift_joint.offset',
    # Its range has limits in the joint's coordinates.
    'knee': 'stroke_at_zero actuators.knee_slider.mechanical_reduction max_gain',
    'boom': 'stroke_at_zero actuators.boom_cylinder.mechanical_reduction '
    'joints.boom_joint.mechanical_reduction joints.boom_joint.offset max_gain',
    'left_ankle': 'actuators.left_ankle_upper.mechanical_reduction '
    'actuators.left_ankle_lower.mechanical_reduction max_gain',
    'gripper': 'actuators.gripper_motor.mechanical_reduction '
    'joints.gripper_joint.mechanical_reduction joints.gripper_joint.offset max_gain',
    'cam': 'actuators.cam_motor.mechanical_reduction '
    'joints.cam_joint.mechanical_reduction joints.cam_joint.offset max_gain',
    'four_bar_knee': 'actuators.knee_motor.mechanical_reduction actuators.knee_motor.offset '
    'max_gain',
    'five_bar': 'actuators.hip_motor.mechanical_reduction '
    'actuators.knee_motor.mechanical_reduction actuators.hip_motor.offset '
    'actuators.knee_motor.offset max_gain',
    'push_rod_ankle': 'actuators.upper_motor.mechanical_reduction '
    'actuators.lower_motor.mechanical_reduction actuators.upper_motor.offset '
    'actuators.lower_motor.offset max_gain',
}
NAMES = [*LIVE, 'all']


@pytest.mark.parametrize(
    ('name', 'steps', 'state_bytes'),
    [('left_ankle', 250_000, 22_000), ('boom', 1_000, 2_000), ('five_bar', 550_000, 20_000)],
)
def test_a_sample_has_a_largest_cost(name, steps, state_bytes, robots):
    """The operations of a search and the bytes of a state are bounded, for a real-time loop."""
    _, compiled = compiled_robot(robots[name])
    for program in compiled.programs.values():
        assert count_operations(program.near) + count_operations(program.full) < steps
    assert count_state_bytes(compiled) < state_bytes


@needs_compiler
@pytest.mark.parametrize('name', NAMES)
def test_c_is_python_to_the_last_bit(name, robots, build, campaign):
    """Outputs and status, with unknown and far values and live numbers that change."""
    folder = build(robots[name])
    _, compiled = compiled_robot(robots[name])
    maps = Maps(folder, compiled)
    answered = 0
    for step in iterate_steps(compiled, 300 * campaign, seed=5):
        if step.which >= 0:
            assert maps.set_number(step.which, step.value) == 0
            continue
        out, status = maps.map_rows(step.direction, step.rows, step.rows[-1])
        assert np.array_equal(out, step.mapped, equal_nan=True)
        assert status == step.status
        answered += np.isfinite(out).sum()
    assert answered > 300


@needs_compiler
@pytest.mark.parametrize('compiler', COMPILERS)
def test_the_folder_passes_its_own_test(compiler, build, linkages, campaign):
    """Without a warning, and with sanitizers, also two robots in one program."""
    one, two = build(ANKLE_AND_BOOM), build(linkages['five_bar'], 'b_map')
    flags = '-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all'
    flags += f' -DBYTES={count_state_bytes(compiled_robot(ANKLE_AND_BOOM)[1])}'
    compile_c(one, 'src/a_map.c src/a_map_map.c test/a_map_test.c -o t', compiler, flags)
    subprocess.run([one / 't', '0'], check=True, timeout=60)
    (one / 'both.c').write_text(HOSTILE)
    others = ' '.join(str(two / 'src' / each) for each in ('b_map.c', 'b_map_map.c'))
    words = f'-DCOUNT={200 * campaign} src/a_map.c src/a_map_map.c {others} both.c'
    compile_c(one, f'{words} -I{two}/include -o both', compiler, flags)
    subprocess.run([one / 'both'], check=True, timeout=600)


HOSTILE = r"""
#include "a_map.h"
#include "b_map.h"
#include <string.h>
static a_map_state a;
static b_map_state b;
static uint64_t seed = 7;
static double any(void)
{
  double number;
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  memcpy(&number, &seed, sizeof number);
  return (seed >> 33) % 3 ? number : (double)(int64_t)seed * 1e-18;
}
int main(void)
{
  double x[3][a_map_ACTUATORS], y[3][a_map_JOINTS], u[3][b_map_ACTUATORS], v[3][b_map_JOINTS];
  int k, i;
  char is_stated_size[sizeof(a_map_state) == BYTES ? 1 : -1];
  (void)is_stated_size;
  a_map_init(&a);
  b_map_init(&b);
  for (k = 0; k < COUNT; k++) {
    for (i = 0; i < 3 * a_map_ACTUATORS; i++) x[i / a_map_ACTUATORS][i % a_map_ACTUATORS] = any();
    a_map_to_joint(&a, (const double(*)[a_map_ACTUATORS])x, y);
    for (i = 0; i < 3 * a_map_JOINTS; i++) y[i / a_map_JOINTS][i % a_map_JOINTS] = any();
    a_map_to_actuator(&a, (const double(*)[a_map_JOINTS])y, y[2], x);
    for (i = 0; i < 3 * b_map_JOINTS; i++) v[i / b_map_JOINTS][i % b_map_JOINTS] = any();
    b_map_to_actuator(&b, (const double(*)[b_map_JOINTS])v, v[1], u);
    b_map_to_joint(&b, (const double(*)[b_map_ACTUATORS])u, v);
    a_map_set(&a, (a_map_number)(k % (a_map_NUMBERS + 2)), any());
  }
  return 0;
}
"""


def find_bounds(robot, numbers):
    """Return which numbers are bounds or in a table: they may depend on anything."""
    bounds = np.ones(len(numbers.values), dtype=bool)
    place = 0
    for direction in DIRECTIONS:
        affine = robot.stack_fields(direction)
        parts = [part for _, part in iterate_parts(robot.mechanisms(direction), direction)]
        for count, own in (
            (len(affine.numbers), ()),
            *((len(part.numbers), part.unknown_bounds) for part in parts),
        ):
            bounds[place : place + count] = [k in own for k in range(count)]
            place += count
    return bounds


@pytest.mark.parametrize('name', LIVE)
def test_what_a_type_declares_is_live(name, robots):
    """Every other number needs a new compilation."""
    robot, compiled = compiled_robot(robots[name])
    live = [each.name.partition('.')[2] for each in compiled.live.tunables]
    assert live == LIVE[name].split()
    others = {each for each, number in robot.parameters.items() if not number.is_flag}
    assert others - {each.name for each in compiled.live.tunables} == {*compiled.live.fixed}


@pytest.mark.parametrize('name', NAMES)
def test_rules_give_the_numbers_of_a_tuned_robot(name, robots):
    """Each live number in C changes the functions as tuning in Python does, and nothing else."""
    robot, compiled = compiled_robot(robots[name])
    live, random = compiled.live, np.random.default_rng(2)
    exact = ~find_bounds(robot, live)
    for tunable in live.tunables:
        share = random.uniform(0.001, 0.004) * random.choice([-1.0, 1.0])
        value = tunable.value * (1.0 + share) + (not tunable.value) * 0.01
        values = [value if each is tunable else each.value for each in live.tunables]
        tuned = LiveNumbers.collect(robot.with_parameters({tunable.name: value}))
        found = live.evaluate_rules(values)
        np.testing.assert_allclose(found[exact], tuned.values[exact], rtol=1e-14)
        assert not np.array_equal(found, live.values, equal_nan=True)
        itself = [k for k, rule in live.rules.items() if rule.itself == tunable.name]
        assert (found[itself] == value).all()
    values = [each.value * random.uniform(0.7, 1.4) for each in live.tunables]
    names = [each.name for each in live.tunables]
    tuned = robot.with_parameters(dict(zip(names, values, strict=True)))
    expected = LiveNumbers.collect(tuned).values[exact]
    np.testing.assert_allclose(live.evaluate_rules(values)[exact], expected, rtol=1e-14)


class Tendon(LinearTransmission):
    """A tendon on a pulley, whose radius may be any number but zero."""

    api_version = 2

    @classmethod
    def from_spec(cls, reader):
        """Build from the radius, and from a number that the matrix depends on."""
        radius = reader.number('radius', description='Radius [m].')
        stretch = reader.number('stretch', description='Stretch.', default=0.1)
        ratio, offset = [Ratio((radius,))], reader.joint_offsets()
        return cls([[1.0 + stretch]], offset, inverse=[[1 / (1.0 + stretch)]], joint_ratio=ratio)


class Yoke(EquationTransmission):
    """A Scotch yoke."""

    api_version = 2
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


def test_a_dead_centre_moves_with_its_dimensions():
    """The former end is regular with a longer radius; it is solved and not the end."""
    text = robot_of(
        [
            '<transmission name="yoke"><plugin>FullYoke</plugin><actuator name="yoke_motor" '
            'role="actuator1"/><joint name="yoke_joint" role="joint1"/>'
            '<param name="radius">0.5</param></transmission>'
        ]
    )
    entry = SimpleNamespace(name='FullYoke', value='here:Y', dist=None, load=lambda: FullYoke)
    robot = RobotTransmissions(load_description(text), registry=Registry([entry]))
    compiled = CompiledRobot.build('a_map', robot)
    values = [0.6 if each.name == 'yoke.radius' else each.value for each in compiled.live.tunables]
    tuned = robot.with_parameters({'yoke': {'radius': 0.6}})
    for end in (-0.5, 0.5):
        expected = tuned.joint_to_actuator('position', [end])
        assert expected == pytest.approx(math.acos(end / 0.6), abs=1e-12)
        rows = np.full((3, 1), np.nan)
        rows[0] = end
        state = StateModel(compiled, values)
        found, _ = state.map_rows('joint_to_actuator', rows)
        assert np.abs(found[0] - expected).max() <= 1e-12
    # With another reduction the end is the same.
    name = 'yoke.actuators.yoke_motor.mechanical_reduction'
    values = [2.0 if each.name == name else each.value for each in compiled.live.tunables]
    rows[0] = 0.5
    found, _ = StateModel(compiled, values).map_rows('joint_to_actuator', rows)
    assert found[0] == pytest.approx(0.0, abs=1e-12)
    rows[0] = -0.5
    found, _ = StateModel(compiled, values).map_rows('joint_to_actuator', rows)
    assert found[0] == pytest.approx(2.0 * math.pi)


class ComputedYoke(Yoke):
    """A Scotch yoke with a number that depends on its radius."""

    def __init__(self, numbers, **others):
        super().__init__({**numbers, 'shift': 2.0 * numbers['radius']}, **others)


@needs_compiler
def test_a_plugin_declares_its_live_numbers(tmp_path):
    """Ratios, offsets, and the numbers of an equation if it has computed none of them."""
    gears = (
        '{0}.actuators.{0}_motor.mechanical_reduction '
        '{0}.joints.{0}_joint.mechanical_reduction {0}.joints.{0}_joint.offset {0}.max_gain'
    )
    each = (
        '<transmission name="{0}"><plugin>{1}</plugin><actuator name="{0}_motor" '
        'role="actuator1"/><joint name="{0}_joint" role="joint1"/>'
        '<param name="radius">0.5</param></transmission>'
    )
    types = {'tendon': Tendon, 'yoke': Yoke, 'computed': ComputedYoke}
    text = robot_of([each.format(name, cls.__name__) for name, cls in types.items()])
    entries = [
        SimpleNamespace(
            name=cls.__name__, value=f'here:{name}', dist=None, load=lambda cls=cls: cls
        )
        for name, cls in types.items()
    ]
    robot = RobotTransmissions(load_description(text), registry=Registry(entries))
    compiled = CompiledRobot.build('a_map', robot)
    names = [each.name for each in compiled.live.tunables]
    assert names == [
        'tendon.radius',
        'tendon.joints.tendon_joint.offset',
        'yoke.radius',
        'yoke.shift',
        *gears.format('yoke').split(),
        *gears.format('computed').split(),
    ]
    units = {side: ['rad'] * 3 for side in ('actuator', 'joint')}
    write_folder(compiled, tmp_path, 'robot', units, {'FINGERPRINT': ''})
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


@pytest.mark.parametrize('reduction', ['1.0', '-1.0'])
def test_efforts_have_their_own_coefficients(reduction):
    """Those of velocities are equal at a reduction of one, and differ after a change of it."""
    text = robot_of([snippets()['hinge_transmission'].replace('-50.0', reduction)])
    robot, compiled = compiled_robot(text)
    name = 'hinge_transmission.joints.hinge.mechanical_reduction'
    values = [4.0 if each.name == name else each.value for each in compiled.live.tunables]
    tuned = LiveNumbers.collect(robot.with_parameters({name: 4.0}))
    assert np.array_equal(compiled.live.evaluate_rules(values), tuned.values)


def test_a_number_with_the_name_of_another_one_is_not_live():
    """Such a name cannot be set in Python."""
    neck = snippets()['neck']
    one = snippets()['hinge_transmission'].replace('"hinge"', '"x.joints.y"')
    other = one.replace('hinge_transmission', 'w.joints.x').replace('x.joints.y', 'y')
    other = other.replace('hinge_motor', 'other_motor')
    text = robot_of([one.replace('hinge_transmission', 'w'), other, neck])
    robot, compiled = compiled_robot(text)
    assert len(robot.named_tunables['w.joints.x.joints.y.offset']) == 2
    assert [each.transmission for each in compiled.live.tunables] == ['neck'] * 6
    assert not any('w' in each for each in compiled.live.fixed)


@needs_compiler
def test_a_number_is_rejected_with_its_reason(build, linkages):
    """The codes of NAME_set; the state does not change."""
    _, compiled = compiled_robot(ANKLE_AND_BOOM)
    maps = Maps(build(ANKLE_AND_BOOM), compiled)
    names = [each.name for each in compiled.live.tunables]
    before = maps.memory.copy()
    for name, value, code in (
        ('', 1.0, 1),
        ('neck.joints.neck_roll.offset', math.nan, 2),
        ('neck.joints.neck_roll.mechanical_reduction', 0.0, 3),
        ('neck.actuators.neck_left_motor.mechanical_reduction', 1e7, 4),
        ('boom.max_gain', 0.5, 4),
    ):
        which = names.index(name) if name else len(names)
        assert maps.set_number(which, value) == code, name
        assert maps.reason_text(code) not in (b'', b'accepted')
    assert np.array_equal(maps.memory, before, equal_nan=True)
    reverse = names.index('neck.actuators.neck_left_motor.mechanical_reduction')
    assert maps.set_number(reverse, -50.0) == 0
    maps = Maps(build(linkages['five_bar']), compiled_robot(linkages['five_bar'])[1])
    assert maps.set_number(0, -1.0) == 5
    assert maps.reason_text(5) not in (b'', b'accepted')


@needs_compiler
@pytest.mark.parametrize('name', [name for name in NAMES if LIVE.get(name) != ''])
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
        other_side = (value < 0.0) != (number.value < 0.0) and not is_reversible(robot, number)
        is_set = maps.set_number(which, value) == 0
        assert is_set == (is_accepted and not other_side), (number.name, value)
        accepted |= {number.name: value} if is_set else {}
        counts[is_accepted] += 1
    assert min(counts) > 5


@needs_compiler
def test_half_a_coupled_transmission_has_no_outputs(build):
    """In a row, one missing partner takes all outputs of its transmission, and no other."""
    text = robot_of([snippets()['neck'], snippets()['hinge_transmission']])
    maps = Maps(build(text), compiled_robot(text)[1])
    rows = np.ones((3, 3))
    rows[1, 0] = math.nan
    for direction in DIRECTIONS:
        out, _ = maps.map_rows(direction, rows, rows[0])
        assert np.isnan(out).tolist() == [[False] * 3, [True, True, False], [False] * 3]
        assert maps.status.tolist() == [16, 0]


@needs_compiler
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_rate_at_an_unknown_position_has_a_bit(build, direction):
    """A mechanism has no result then; a constant ratio needs no position."""
    text = robot_of([snippets()['neck'], snippets()['boom']])
    maps = Maps(build(text), compiled_robot(text)[1])
    rows, unknown = np.full((3, 3), 0.01), np.full(3, math.nan)
    for row in (1, 2):
        given = rows.copy()
        given[0] = math.nan  # no position is known or commanded
        given[3 - row] = math.nan
        out, _ = maps.map_rows(direction, given, unknown)
        assert np.isnan(out[row]).tolist() == [False, False, True]
        assert maps.status.tolist() == [0, 32]
    out, status = maps.map_rows(direction, rows[:, :], rows[0])
    assert (np.isnan(out).any(), status) == (False, 0)
    if direction != ACTUATOR_TO_JOINT:  # the velocity is mapped at the commanded position
        out, _ = maps.map_rows(direction, rows, unknown)
        assert np.isnan(out[:, 2]).tolist() == [False, False, True]
        assert maps.status.tolist() == [0, 32]


STRANGE = (
    robot_of([snippets()['neck'], snippets()['hinge_transmission']])
    .replace('hinge_motor', 'ünd */ "m|1" ??/')
    .replace('neck_left_motor', 'a-b')
    .replace('neck_right_motor', 'a_b')
    .replace('"ünd */ "m|1" ??/"', '\'ünd */ "m|1" ??/\'')
)


@needs_compiler
def test_names_that_are_no_identifiers_are_text_in_c(build):
    """Quotes, ends of comments, trigraphs and bytes; names that become equal stay different."""
    library = ctypes.CDLL(str(build(STRANGE) / 'libmap.so'))
    names = (ctypes.c_char_p * 3).in_dll(library, 'a_map_actuator_names')
    assert [each.decode() for each in names] == ['a-b', 'a_b', 'ünd */ "m|1" ??/']


#: Words of C and C++, names of what is generated, and characters of C, XML, CMake and templates.
HOSTILE_NAMES = (
    'int', 'union', 'class', 'main', 'NAN', 'NULL', 'names', 'names_', 'NAMES', 'JOINTS', 'NAME',
    'ROBOT', 'to', 'j_near', 'state', 'x@FOO@', '@NAMES@', '${X}', '$ENV{HOME}', '$<1:x>', 'R&D',
    'a<b>', ']]>', '-->', '&amp;', "it's", 'say "x"', '/*', '*/', '//', '*', '|', 'a\\', '??/',
    '#if 0', '%s', '1st', 'a b', 'a-b', 'a_b', 'a.b', 'ünd', '\u202e', '(', ';', '`x`',
)  # fmt: skip


@needs_compiler
def test_every_name_builds(build):
    """Of joints, actuators and transmissions, in C and in C++."""
    escaped = [escape(each, {'"': '&quot;'}) for each in HOSTILE_NAMES]
    simple = '<plugin>transmission_interface/SimpleTransmission</plugin>'
    members = '<joint name="{0}" role="joint1"/><actuator name="{0}" role="actuator1"/>'
    text = chain(
        {each: simple + members.format(each) for each in escaped},
        **dict.fromkeys(escaped, 'revolute -1 1 1 1'),
    )
    made = build(text)
    (made / 'x.cpp').write_text('#include "a_map.h"')
    done = subprocess.run(
        ['g++', '-std=c++17', '-Wall', '-Wextra', '-Werror', '-Iinclude', '-c', 'x.cpp'], cwd=made
    )
    assert done.returncode == 0
    library = ctypes.CDLL(str(made / 'libmap.so'))
    found = (ctypes.c_char_p * len(HOSTILE_NAMES)).in_dll(library, 'a_map_joint_names')
    assert tuple(each.decode() for each in found) == HOSTILE_NAMES


@needs_compiler
@pytest.mark.parametrize(
    'name',
    ['int', 'NAME', '@NAMES@', 'x@FOO@', '${X}', 'R&D', 'a<b>', ']]>', '/*', '*/', '7 axes', 'ä'],
)
def test_every_name_of_a_robot_builds_or_is_an_error(name, tmp_path, capsys):
    """The package is well-formed and has the name as text; another name can be given."""
    from transmission_bridge.tools.main import main

    text = robot_of([snippets()['hinge_transmission']])
    text = text.replace('name="robot"', f'name={quoteattr(name)}')
    (tmp_path / 'robot.urdf').write_text(text, encoding='utf-8')
    arguments = ['compile', str(tmp_path / 'robot.urdf'), '--output', str(tmp_path / 'out')]
    code = main(arguments)
    if code:
        assert (code, 'name of two words' in capsys.readouterr().err) == (2, True)
        assert main([*arguments, '--name', 'a_map']) == 0
    (source,) = (tmp_path / 'out' / 'src').glob('*_map_map.c') or ()
    compile_c(tmp_path / 'out', f'-c src/{source.stem.removesuffix("_map")}.c -o x.o')
    package = ElementTree.parse(tmp_path / 'out' / 'package.xml')
    assert re.search(r'\w*', name)[0] in package.find('description').text


@pytest.mark.parametrize(
    ('text', 'options', 'code', 'found'),
    [
        (ANKLE_AND_BOOM, ['--name', 'Arm_map'], 2, "found 'Arm_map'"),
        (ANKLE_AND_BOOM, ['--name', 'string'], 2, "found 'string'"),
        (ANKLE_AND_BOOM, ['--name', 'edit_cache'], 2, "found 'edit_cache'"),
        (ANKLE_AND_BOOM, ['--transmission', 'leg'], 2, "no transmission 'leg'"),
        (ANKLE_AND_BOOM, ['--tuned-file', '/nowhere/tuned.yaml'], 2, '/nowhere/tuned.yaml'),
        (ANKLE_AND_BOOM.replace('Ankle', 'Knuckle'), [], 1, 'errors (1): nothing is done'),
        ('<robot name="r"/>', [], 1, 'has no transmission'),
        ('no robot', [], 1, ''),
    ],
)
def test_what_cannot_be_compiled_is_an_error(tmp_path, capsys, text, options, code, found):
    """With exit code and sentence, and nothing is written."""
    from transmission_bridge.tools.main import main

    (tmp_path / 'r.urdf').write_text(text)
    arguments = ['compile', str(tmp_path / 'r.urdf'), '--output', str(tmp_path / 'out'), *options]
    assert main(arguments) == code
    assert found in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_only_errors_of_what_is_compiled_prevent_it(tmp_path, capsys, monkeypatch):
    """An error of a package, of another transmission or of another joint is reported only."""
    from transmission_bridge.tools.main import main

    error = 'other.package is not used'
    found = (PluginInfo('T', 'm:C', 'other', '1', error=error),)
    monkeypatch.setattr(Registry, 'disabled', lambda *_: found)
    broken = ANKLE_AND_BOOM.replace('Ankle', 'Knuckle')
    bad_axis = ANKLE_AND_BOOM.replace(
        '<child link="boom_joint_link"/>', '<child link="boom_joint_link"/><axis xyz="0 0 0"/>'
    )
    bad_limit = bad_axis.replace('<axis xyz="0 0 0"/>', '<limit lower="x" upper="1"/>')
    for number, (text, options, code) in enumerate(
        (
            (ANKLE_AND_BOOM, [], 0),
            (broken, [], 1),
            (broken, ['--transmission', 'boom'], 0),
            (bad_axis, [], 1),
            (bad_axis, ['--transmission', 'neck'], 0),
            (bad_axis, ['--transmission', 'boom'], 1),
            (broken, ['--transmission', 'left_ankle'], 1),
            (bad_limit, ['--transmission', 'boom'], 1),
            (bad_limit, ['--transmission', 'neck'], 0),
        )
    ):
        (tmp_path / 'r.urdf').write_text(text)
        made = str(tmp_path / f'out{number}')
        assert main(['compile', str(tmp_path / 'r.urdf'), '--output', made, *options]) == code
        assert error in capsys.readouterr().err
