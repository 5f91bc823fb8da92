# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge plot``."""

from __future__ import annotations

from pathlib import Path
import re

import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.resources import resource
from transmission_bridge.tools.plot.command import (
    draw_curves,
    LONGEST_LINE,
    make_blocks,
    make_curves,
)

pytest.importorskip('matplotlib')

ARM = resource('urdf', 'arm.urdf')

CRANK = """<robot name="leg $x$"><link name="base"/><link name="l"/><link name="m"/>
  <joint name="knee" type="revolute"><parent link="base"/><child link="l"/>
    <limit lower="-0.5" upper="0.4" velocity="1" effort="1"/></joint>
  <joint name="toe" type="revolute"><parent link="l"/><child link="m"/>
    <limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
<ros2_control name="block" type="system"><hardware><plugin>any/Driver</plugin></hardware>
  <joint name="knee"><command_interface name="position"/></joint>
  <transmission name="crank"><plugin>transmission_bridge/CrankSliderTransmission</plugin>
    <param name="crank_radius">0.06</param><param name="pivot_distance">0.3</param>
    <param name="crank_angle">1.2</param>
    <actuator name="cylinder" role="actuator1"/><joint name="knee" role="joint1"/>
  </transmission>
</ros2_control></robot>"""


@pytest.fixture
def leg(tmp_path):
    """Return a file with a crank, and a joint without a transmission."""
    path = tmp_path / 'leg.urdf'
    path.write_text(CRANK)
    return path


def comments(svg: str) -> set[str]:
    """Return the texts of a picture; matplotlib notes each beside its outlines."""
    return {text.strip() for text in re.findall(r'<!--(.*?)-->', svg, re.DOTALL)}


def test_every_name_and_ratio_is_in_the_picture(run, tmp_path):
    """Robot, actuators, transmissions, joints, reductions and offsets of the arm are there."""
    output = tmp_path / 'arm.svg'
    result = run('plot', ARM, '--output', output)
    assert (result.code, result.err) == (0, '')
    texts = comments(output.read_text(encoding='utf-8'))
    robot = tb.RobotTransmissions(tb.load_description(ARM.read_text(encoding='utf-8')))
    assert {'arm', *robot.actuator_names, *robot.joint_names, *robot.transmissions} <= texts
    assert {
        'reduction 64',
        'reduction 1.75, offset -0.35 rad',
        'FourBarLinkageTransmission',
    } <= texts


def test_the_same_robot_gives_the_same_bytes(run, leg, tmp_path):
    """Neither time nor chance is in the file."""
    files = [tmp_path / f'{number}.svg' for number in range(2)]
    for file in files:
        assert run('plot', leg, '--output', file).code == 0
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert b'<dc:date>' not in first


def test_png_is_written_as_png(run, leg, tmp_path):
    """The suffix decides."""
    output = tmp_path / 'leg.PNG'
    assert run('plot', leg, '--output', output).code == 0
    assert output.read_bytes().startswith(b'\x89PNG\r\n')


def test_limits_and_what_passes_through_are_in_the_picture(run, leg, tmp_path):
    """The crank's own numbers, its limits, and the joint without a transmission are shown."""
    output = tmp_path / 'leg.svg'
    run('plot', leg, '--output', output)
    texts = comments(output.read_text(encoding='utf-8'))
    assert {'leg $x$', 'lower limit', 'upper limit'} <= texts
    assert {'crank_radius 0.06 m, offset 0 m', 'pivot_distance 0.3 m'} <= texts
    assert {'knee [rad]', 'cylinder [rad or m]', 'ratio, per knee'} <= texts
    assert any('passed through' in text and 'toe' in text for text in texts)


def test_a_file_that_is_there_is_replaced_only_by_force(run, leg, tmp_path, monkeypatch):
    """The default name is the robot's, and what has it stays without ``--force``."""
    monkeypatch.chdir(tmp_path)
    assert run('plot', leg).out == 'written to leg_x.svg\n'
    Path('leg_x.svg').write_text('mine')
    refused = run('plot', leg)
    assert (refused.code, Path('leg_x.svg').read_text()) == (2, 'mine')
    assert run('plot', leg, '--force').code == 0
    assert Path('leg_x.svg').read_text() != 'mine'


def test_the_curves_are_those_of_the_transmission():
    """Positions, ratios and limits are the transmission's own, over all of its domain."""
    robot = tb.RobotTransmissions(tb.load_description(CRANK))
    binding = robot.bindings[0]
    (curves,) = make_curves(robot, binding)
    transmission = binding.transmission
    assert (curves.moved, curves.names, curves.limits) == ('knee', ('cylinder',), (-0.5, 0.4))
    domain = transmission.domain
    assert (curves.x[0], curves.x[-1]) == (domain.lower[0], domain.upper[0])
    inner = slice(10, -10)
    q = curves.x[inner, np.newaxis]
    a = transmission.joint_to_actuator('position', q)
    np.testing.assert_array_equal(curves.positions[inner], a)
    slope = 1.0 / transmission.jacobian(a)[:, 0]
    np.testing.assert_allclose(curves.ratios[inner], slope, rtol=1e-9)


def test_fifty_transmissions_are_as_wide_as_high_and_do_not_overlap():
    """Blocks of a column lie below each other, and no column is much longer than the others."""
    from transmission_bridge.tools.plot.command import COLUMN, distribute_columns

    block = CRANK[CRANK.index('<transmission') : CRANK.index('</ros2_control>')]
    joint = CRANK[CRANK.index('<joint name="knee" type') : CRANK.index('<joint name="toe"')]
    interface = '<joint name="knee"><command_interface name="position"/></joint>'

    def numbered(text: str, number: int) -> str:
        for name in ('knee', 'crank"', 'cylinder'):
            text = text.replace(
                f'name="{name}', f'name="{name[:4]}_{number}' + '"' * ('"' in name)
            )
        return text.replace('link="l"', f'link="l{number}"')

    body = ''.join(f'<link name="l{n}"/>' + numbered(joint, n) for n in range(50))
    control = ''.join(numbered(interface + block, n) for n in range(50))
    text = (
        f'<robot name="many"><link name="base"/>{body}<ros2_control name="b" type="system">'
        f'<hardware><plugin>p</plugin></hardware>{control}</ros2_control></robot>'
    )
    text = re.sub(r'name="(knee|cyli)_(\d+)[a-z]*"', r'name="\1_\2"', text)
    robot = tb.RobotTransmissions(tb.load_description(text))
    assert len(robot.transmissions) == 50
    columns = distribute_columns(make_blocks(robot, tuple(robot.transmissions)))
    heights = [sum(each.height for each in column) for column in columns]
    assert [each.name for column in columns for each in column] == list(robot.transmissions)
    assert max(heights) <= 1.3 * min(heights)
    assert 0.4 <= COLUMN * len(columns) / max(heights) <= 2.5


@pytest.mark.parametrize(
    ('arguments', 'sentence'),
    [
        (['--output', 'drive.pdf'], 'must end with .svg or .png'),
        (['--output', 'no/such/folder/x.svg'], "there is no folder 'no/such/folder'"),
        (['--transmission', 'none'], "unknown transmission 'none', known: crank"),
        (['--transmission', 'cranc'], "unknown transmission 'cranc' (closest: 'crank'), known"),
        (['--output', 'a\0b.svg'], 'cannot write'),
    ],
)
def test_a_mistake_is_one_sentence(run, leg, tmp_path, monkeypatch, arguments, sentence):
    """What is wrong is said once, with exit code 2, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    result = run('plot', leg, *arguments)
    assert (result.code, result.out) == (2, '')
    assert sentence in result.err
    assert result.err.count('\n') == 1
    assert [path.name for path in tmp_path.iterdir()] == ['leg.urdf']


def test_a_missing_library_is_one_sentence(run, leg, tmp_path, hide):
    """Without matplotlib the extra that installs it is named."""
    hide('matplotlib')
    result = run('plot', leg, '--output', tmp_path / 'x.svg')
    assert (result.code, result.out) == (2, '')
    assert "pip install '.[plot]'" in result.err


def test_a_rejected_transmission_is_drawn_as_rejected(run, mixed_robot, tmp_path):
    """Its box says so and where it stands, and the exit code says so too."""
    output = tmp_path / 'mixed.svg'
    result = run('plot', mixed_robot, '--output', output)
    assert result.code == 1
    assert '2 transmissions cannot be used and are drawn as rejected' in result.err
    robot = tb.RobotTransmissions(tb.load_description(mixed_robot.read_text(encoding='utf-8')))
    texts = comments(output.read_text(encoding='utf-8'))
    assert {f'REJECTED, line {spec.line}' for spec in robot.refused} <= texts
    assert {spec.name for spec in robot.refused} <= texts
    assert 'good_motor' in comments(output.read_text(encoding='utf-8'))


@pytest.mark.parametrize(
    ('holder', 'file'), [('joints', 'arm.urdf'), ('actuators', 'arm_ros1.urdf')]
)
def test_a_number_stands_at_the_member_that_holds_it(holder, file):
    """A simple transmission has its reduction at the joint in ros2_control, else at the motor."""
    robot = tb.RobotTransmissions(
        tb.load_description(resource('urdf', file).read_text(encoding='utf-8'))
    )
    blocks = [
        each for each in make_blocks(robot, list(robot.transmissions)) if not each.joints[1:]
    ]
    assert blocks
    for block in blocks:
        (joint,), (actuator,) = block.joints, block.actuators
        holds = {
            'joints': 'reduction' in ' '.join(joint.lines),
            'actuators': 'reduction' in ' '.join(actuator.lines),
        }
        assert [side for side, does in holds.items() if does] == [holder]


ANKLE = """<robot name="r"><link name="base"/><link name="l"/><link name="m"/>
  <joint name="pitch" type="revolute"><parent link="base"/><child link="l"/>
    <limit lower="-0.9" upper="0.6" velocity="1" effort="1"/></joint>
  <joint name="roll" type="revolute"><parent link="l"/><child link="m"/>
    <limit lower="-0.4" upper="0.4" velocity="1" effort="1"/></joint>
<ros2_control name="block" type="system"><hardware><plugin>any/Driver</plugin></hardware>
  <joint name="pitch"><command_interface name="position"/></joint>
  <joint name="roll"><command_interface name="position"/></joint>
  %s
</ros2_control></robot>"""


def test_numbers_and_units_of_the_documented_ankle_fit_in_its_boxes():
    """Those of a motor are in lines, the last one of which has the units of its driver."""
    text = (Path(__file__).parents[2] / 'docs' / 'transmissions.md').read_text(encoding='utf-8')
    block = re.search(r'<transmission name="left_ankle">.*?</transmission>', text, re.DOTALL)[0]
    text = ANKLE % block.replace('left_ankle_pitch', 'pitch').replace('left_ankle_roll', 'roll')
    text = text.replace('<mech', '<param name="position_unit">turn</param><mech')
    robot = tb.RobotTransmissions(tb.load_description(text))
    (ankle,) = make_blocks(robot, ['left_ankle'])
    lines = [line for member in (*ankle.actuators, *ankle.joints) for line in member.lines]
    assert all(len(each) <= LONGEST_LINE for each in (*lines, *ankle.lines))
    assert lines[0].startswith('reduction 15, ')
    assert ankle.actuators[0].lines[-2:] == ('foot_attachment.z 0 m', 'driver in turn, turn/s')
    assert [each.other_unit for each in ankle.curves] == ['turn', 'turn']
    radians = robot.transmissions['left_ankle'].joint_to_actuator('position', [-0.9, 0.0])
    np.testing.assert_allclose(ankle.curves[0].positions[0], radians / (2.0 * np.pi))


def test_legend_and_limits_cover_no_curve():
    """The legend is beside the panels, and names the level lines, in the colours of the joints."""
    from matplotlib.colors import to_hex
    from matplotlib.figure import Figure

    text = (Path(__file__).parents[2] / 'docs' / 'linkages.md').read_text(encoding='utf-8')
    text = re.search(r'```xml file=push_rod_ankle.urdf\n(.*?)```', text, re.DOTALL)[1]
    robot = tb.RobotTransmissions(tb.load_description(text))
    curves = make_curves(robot, robot.bindings[0])[0]
    figure = Figure(figsize=(8.7, 2.5))
    position, ratio = figure.add_axes((0.1, 0.2, 0.3, 0.6)), figure.add_axes((0.5, 0.2, 0.3, 0.6))
    draw_curves(position, ratio, 'ankle', curves)
    figure.draw_without_rendering()
    legend = ratio.get_legend()
    assert position.get_legend() is None
    assert legend.get_window_extent().x0 >= ratio.bbox.x1
    assert legend.get_texts()[-1].get_text() == 'limits of positions'
    levels = [line for line in position.lines if line.get_linestyle() == ':']
    colours = {to_hex(line.get_color()) for line in levels}
    assert len(levels) == 4
    assert colours == {to_hex(line.get_color()) for line in position.lines[:2]}


@pytest.mark.parametrize('limits', [(-0.5, 0.4), (-1.1, 1.8)])
def test_names_of_limits_cover_no_curve(limits):
    """They stand above the panels, each beside its line."""
    from matplotlib.figure import Figure

    text = CRANK.replace('"-0.5"', f'"{limits[0]}"').replace('"0.4"', f'"{limits[1]}"')
    robot = tb.RobotTransmissions(tb.load_description(text))
    (curves,) = make_curves(robot, robot.bindings[0])
    figure = Figure(figsize=(8.2, 2.5))
    axes = figure.add_axes((0.1, 0.2, 0.35, 0.6)), figure.add_axes((0.6, 0.2, 0.35, 0.6))
    draw_curves(*axes, 'crank', curves)
    figure.draw_without_rendering()
    for each in axes:
        names = [note for note in each.texts if note.get_text().endswith(' limit')]
        boxes = [note.get_window_extent() for note in names]
        assert [note.get_text() for note in names] == ['lower limit', 'upper limit']
        assert all(box.y0 >= each.bbox.y1 for box in boxes)
        assert not boxes[0].overlaps(boxes[1])
        assert not any(box.overlaps(each.title.get_window_extent()) for box in boxes)
