# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge compile --ros2-control``: transmissions for ros2_control's loader."""

from __future__ import annotations

import math
import os
from pathlib import Path
import re
from xml.etree import ElementTree

from component_manager import (
    compile_maps,
    compile_sources,
    execute,
    find_missing,
    find_tinyxml2,
    install,
    require_compiler,
    SANITIZERS,
)
import pytest
from zoo.documented import DOCUMENTED
from zoo.elements import params, ratio, ros1, transmission, urdf

pytest.importorskip('casadi', reason='CasADi is not installed (extra mechanisms)')

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / 'compiled_plugin'
MAPPED = ROOT / 'transmission_bridge' / 'tools' / 'compiler' / 'mapped'
ANKLE, LIFT = (f'transmission_bridge/{each}Transmission' for each in ('ParallelAnkle', 'Screw'))
SLIDES = 'prismatic lower="-1" upper="1" velocity="5" effort="50"'
LEFT_ANKLE, NECK = DOCUMENTED['left_ankle'], DOCUMENTED['neck']
RIGHT_ANKLE = LEFT_ANKLE.replace('"left_ankle"', '"right &quot;\\ankle"').replace(
    'left_', 'right_'
)
SCREW_ENDS = {'lift': '<offset>0.2</offset>'}, {'lift_motor': ratio(-3)}
SCREW = transmission('lift', 'Screw', *SCREW_ENDS, params(lead=0.005))
NECK_JOINTS = dict.fromkeys(('neck_pitch', 'neck_roll'), 'continuous')
ANKLE_JOINTS = [f'{side}_ankle_{axis}' for side in ('left', 'right') for axis in ('pitch', 'roll')]
#: Two types for the plugin, one of them twice, and one that ros2_control has.
ROBOT = urdf(
    {**dict.fromkeys(ANKLE_JOINTS, 'continuous'), **NECK_JOINTS, 'lift': SLIDES},
    LEFT_ANKLE + RIGHT_ANKLE + NECK + SCREW,
)


@pytest.fixture
def compile_robot(run, save, tmp_path):
    """Return a function that compiles a description with a plugin, to a folder."""

    def call(text, *arguments, options=('--ros2-control',), folder='leg_map'):
        paths = (save(text), '--output', tmp_path / folder)
        run('compile', *paths, '--name', 'leg_map', *options, *arguments).expect()
        return tmp_path / folder

    return call


def list_files(folder):
    """Return the paths of all files in a folder."""
    return {str(each.relative_to(folder)) for each in folder.rglob('*') if each.is_file()}


def read_rows(folder):
    """Return what the loader compares, without line breaks."""
    text = (folder / 'src' / 'leg_map_robot.hpp').read_text(encoding='utf-8')
    rows = re.search(r'loadables = \{\n(.*?)\n\};', text, re.DOTALL)[1]
    return [re.sub(r'\s+', ' ', each).strip() for each in re.split(r',\n  (?=\{)', rows)]


def read_classes(folder):
    """Return the names of the classes that pluginlib finds."""
    root = ElementTree.parse(folder / 'leg_map_plugins.xml').getroot()
    assert (root.tag, root.get('path')) == ('library', 'leg_map_transmission')
    for each in root.findall('class'):
        assert each.get('type') == 'leg_map_mapped::Loader'
        assert each.get('base_class_type') == 'transmission_interface::TransmissionLoader'
    return [each.get('name') for each in root.findall('class')]


def test_the_plugin_is_written_only_on_request(compile_robot):
    """Without --ros2-control nothing in the folder needs ROS or C++."""
    plain, plugin = compile_robot(ROBOT, options=(), folder='plain'), compile_robot(ROBOT)
    assert list_files(plugin) - list_files(plain) == {
        'leg_map_plugins.xml',
        'leg_map_hardware.xml',
        'src/leg_map_robot.hpp',
        *(f'src/mapped/{each.name}' for each in MAPPED.iterdir()),
    }
    for name in ('CMakeLists.txt', 'package.xml', 'README.md'):
        assert 'transmission_interface' not in (plain / name).read_text()
        assert 'transmission_interface' in (plugin / name).read_text()
    for each in MAPPED.iterdir():
        assert (plugin / 'src' / 'mapped' / each.name).read_bytes() == each.read_bytes()
    for file in list_files(plugin):
        text = (plugin / file).read_text()
        assert re.search(r'@[A-Z0-9_]+@|\bNAME_|\bROBOT\b', text) is None
        assert file in ('README.md', 'fingerprint.json') or 'SPDX-License-Identifier' in text


def test_each_type_that_ros2_control_lacks_has_a_class(compile_robot):
    """Its name is the type in the description."""
    assert read_classes(compile_robot(ROBOT)) == [ANKLE, LIFT]


def test_standard_input_gives_the_same_files(compile_robot, run, tmp_path):
    """A description is read once: a pipe has no second one."""
    folder, piped = compile_robot(ROBOT), tmp_path / 'piped'
    options = ('--output', piped, '--name', 'leg_map', '--ros2-control')
    run('compile', '-', *options, stdin=ROBOT.encode()).expect()
    assert list_files(piped) == list_files(folder)
    for name in list_files(folder):
        assert (piped / name).read_bytes() == (folder / name).read_bytes(), name


def test_tuned_numbers_are_mapped_but_not_compared(compile_robot, save):
    """ros2_control reads the description, which does not have the numbers of a parameter file."""
    numbers = '/**: {ros__parameters: {transmissions.lift.joints.lift.offset: 0.75}}'
    tuned = compile_robot(ROBOT, '--params-file', save(numbers, 'numbers.yaml'))
    assert read_rows(tuned) == read_rows(compile_robot(ROBOT, folder='plain'))
    assert '0.75' in (tuned / 'src' / 'leg_map.c').read_text()


def test_only_selected_transmissions_are_loaded(compile_robot):
    """The plugin has the types of the selected transmissions, with the indices of their map."""
    folder = compile_robot(ROBOT, '--transmission', 'lift')
    assert read_classes(folder) == [LIFT]
    (lift,) = read_rows(folder)
    assert lift.startswith('{0, false, {"lift"}, {"lift_motor"}, ')
    assert '{"lift", {0}, {0}, {0}}' in (folder / 'src' / 'leg_map_robot.hpp').read_text()


def test_passive_joints_can_be_connected_and_are_not_compared(compile_robot, linkages):
    """ros2_control's element of a linkage lists the commanded joints only."""
    (row,) = read_rows(compile_robot(linkages['four_bar_knee']))
    assert row.startswith('{0, true, {"knee"}, {"knee_motor"}, {0')
    assert 'knee_crank' not in row
    assert 'param' not in row
    assert 'loop' not in row


def test_an_implied_actuator_has_the_name_of_ros2_control(compile_robot):
    """ros2_control calls it actuator1 in each block of type actuator."""
    screw = transmission('lift', 'Screw', ['lift'], [], params(lead=0.005))
    text = urdf({'lift': SLIDES, 'other': SLIDES}, screw).replace('"system"', '"actuator"')
    text = text.replace('<joint name="other"/>', '')
    block = text[text.index('<ros2_control') : text.index('</robot>')]
    other = block.replace('"lift"', '"other"').replace('"hardware"', '"more_hardware"')
    for index, row in enumerate(read_rows(compile_robot(text.replace(block, block + other)))):
        assert row.startswith(
            f'{{{index}, false, {{"{("lift", "other")[index]}"}}, {{"actuator1"}}, '
        )
        assert '{"actuator \'actuator1\', mechanical_reduction", "1"}' in row


def read_component(folder):
    """Return the compiled text and the words of facts by path, and the values of numbers."""
    text = (folder / 'src' / 'leg_map_robot.hpp').read_text(encoding='utf-8')
    tables = [
        re.search(rf'> {name} = \{{\n(.*?)\n\}};', text, re.DOTALL)[1]
        for name in ('facts', 'numbers')
    ]
    rows = re.findall(r'\{\d+, "(.*?)", "(.*?)", "(.*?)"\}', tables[0])
    values = [float(each) for each in re.findall(r', ([-\w.]+)\},?$', tables[1], re.MULTILINE)]
    return {path: (compiled, words) for path, compiled, words in rows}, values


def test_the_component_knows_what_decides_the_maps(compile_robot, save):
    """Numbers are read from the description, but not those of files."""
    number = 'transmissions.wrist.joints.wrist_pitch.offset'
    flag = 'transmissions.wrist.ignore_torque_sensor'  # of an interface that it does not map
    file = save(f'/**: {{ros__parameters: {{{number}: 0.75, {flag}: true}}}}', 'numbers.yaml')
    robot = ROOT / 'examples' / 'mapped_system' / 'urdf' / 'mapped.urdf'
    folder = compile_robot(robot.read_text(encoding='utf-8'), '--params-file', file)
    facts, values = read_component(folder)
    assert facts['transmission[wrist]/actuator[wrist_left_motor]/param[id]'][1] == '*'
    for place, text, value in (
        ('actuator[wrist_right_motor]/mechanical_reduction', '-48', -48.0),
        ('joint[wrist_roll]/offset', '', 0.0),  # may be missing
    ):
        compiled, words = facts[f'transmission[wrist]/{place}']
        assert (compiled, values[int(words.removeprefix('@'))]) == (text, value)
    assert facts['transmission[wrist]/joint[wrist_pitch]/offset'][1] == '*'  # of the file
    component = (folder / 'src' / 'leg_map_robot.hpp').read_text(encoding='utf-8')
    assert '"wrist.joints.wrist_pitch.offset: 0.75"' in component
    assert [path for path in facts if path.startswith('joint[wrist_roll]')] == [
        'joint[wrist_roll]/type'
    ]


def test_a_robot_of_known_types_needs_no_loader(compile_robot):
    """ros2_control has the type of the neck itself: the component maps it."""
    folder = compile_robot(urdf(NECK_JOINTS, NECK))
    assert 'leg_map_hardware.xml' in list_files(folder)
    assert 'leg_map_plugins.xml' not in list_files(folder)
    assert '<depend>transmission_interface' not in (folder / 'package.xml').read_text()


#: ros2_control does not read the elements of ROS 1.
ELEMENT = ros1('lift', LIFT).replace('</transmission>', '<lead>0.005</lead></transmission>')
OUTSIDE = urdf({'lift': SLIDES}).replace('</robot>', f'{ELEMENT}</robot>')
OF_ACTUATORS = urdf(NECK_JOINTS, NECK, plugin='leg_map/MappedSystem')
OF_ACTUATORS = OF_ACTUATORS.replace('"system"', '"actuator"')


@pytest.mark.parametrize(('text', 'words'), [
    (OUTSIDE, 'inside of <ros2_control>, found lift_transmission outside of it'),
    (OF_ACTUATORS, "is of type 'actuator': make it a 'system'"),
], ids=['ROS 1', 'actuator'])  # fmt: skip
def test_what_ros2_control_does_not_give_is_an_error(refuse, save, tmp_path, text, words):
    """Nothing is written."""
    refuse(words, 'compile', save(text), '--output', tmp_path / 'out', '--ros2-control')
    assert not (tmp_path / 'out').exists()


@pytest.fixture(scope='module', params=['declarations', 'ROS'])
def reports(request, run, tmp_path_factory):
    """
    Return what the program in compiled_plugin reports, with the plugin of ROBOT.

    It is built with ros2_control, and with declarations of what it uses.
    """
    missing = find_missing('ament_cmake', 'pluginlib', 'transmission_interface')
    if request.param == 'ROS' and missing:
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp('plugin')
    robot = folder / 'robot.urdf'
    robot.write_text(ROBOT, encoding='utf-8')
    paths = (robot, '--output', folder / 'leg_map')
    assert run('compile', *paths, '--name', 'leg_map', '--ros2-control').code == 0
    if request.param == 'declarations':
        return list_reports(execute(build_program(folder / 'leg_map', folder), robot))
    for source in (folder / 'leg_map', PROGRAM):
        install(source, folder, may_warn=True)
    prefixes = f'{folder / "install"}:{os.environ["AMENT_PREFIX_PATH"]}'
    program = folder / 'build' / PROGRAM.name / 'compiled_plugin'
    return list_reports(execute(program, robot, AMENT_PREFIX_PATH=prefixes))


def build_program(folder, made):
    """Return the program with the plugin, built without ROS."""
    require_compiler()
    flags = ('-DMAPPED_ROBOT="leg_map_robot.hpp"', f'-I{folder}/src', f'-I{folder}/include')
    sources = (folder / 'src' / 'mapped' / 'plugin.cpp', PROGRAM / 'compiled_plugin.cpp')
    objects = compile_sources(sources, made / 'objects', 'new', *flags)
    objects += compile_maps(folder, 'leg_map', made)
    libraries = (*find_tinyxml2()[1], '-ltinyxml2')
    execute('g++', *SANITIZERS, *objects, *libraries, '-o', made / 'program')
    return made / 'program'


def list_reports(output):
    """Return the reports by name."""
    return dict(line.split(' | ', 1) for line in output.splitlines() if ' | ' in line)


def test_the_loaded_plugin_maps_as_the_functions_in_c(reports):
    """Both directions are equal to the last bit, with unknown values where they have none."""
    assert (reports['loaded'], reports['different']) == ('3', '0')
    assert int(reports['known']) > 50_000
    torque, force, velocity = map(float, reports['aliases'].split())
    assert torque == pytest.approx(2.0 * 0.005 / (2.0 * math.pi) / -3.0, rel=1e-5)
    assert (force, velocity) == (pytest.approx(2.0), 7.0)


#: Changes of compiled_plugin.cpp, and what the exception names.
# fmt: off
DIFFERENCES = {
    'name': 'expected one of left_ankle, right "\\ankle, lift, found third',
    'plugin': f"plugin: expected '{ANKLE}', found 'other/Type'",
    'joints': "joint 'right_ankle_roll', mechanical_reduction: expected '1', found none",
    'joint': "joint 'right_ankle_roll', mechanical_reduction: expected '1', found none",
    'actuators': "actuators: expected '2', found '3'",
    'actuator': "actuator 'lift_motor', mechanical_reduction: expected none, found '15'",
    'role': "joint 'right_ankle_pitch', role: expected 'joint1', found 'joint2'",
    'reduction': "actuator 'right_ankle_lower', mechanical_reduction: expected '15', found '-15'",
    'offset': "joint 'lift', offset: expected '0.2', found '0.25'",
    'value': "parameter 'lead': expected '0.005', found '0.006'",
    'without a parameter': "parameter 'lead': expected '0.005', found none",
    'with a parameter': "parameter 'pitch': expected none, found '2'",
    'velocity joints': 'expected position of all joints and all actuators, found joints [',
    'effort actuators': 'expected position of all joints and all actuators, found joints [',
    'half': 'expected position of all joints or none, and of all actuators or none, found [',
    'null': 'expected one interface of all joints and all actuators, found joints []',
}
# fmt: on


@pytest.mark.parametrize('change', DIFFERENCES)
def test_the_loader_throws_on_each_difference(reports, change):
    """The exception names the place, the expectation and what was found."""
    assert reports[change].startswith('transmission ')
    assert DIFFERENCES[change] in reports[change]


@pytest.mark.parametrize(
    'change', ['nothing', 'order', 'parameter of the component', 'all handles', 'affine']
)
def test_the_loader_accepts_what_is_no_difference(reports, change):
    """The order of elements and the component's own parameters do not change the map."""
    assert reports[change] == 'nothing'
