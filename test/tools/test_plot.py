# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge plot``."""

from __future__ import annotations

from pathlib import Path
import re

import numpy as np
import pytest
from zoo.elements import chain

import transmission_bridge as tb
from transmission_bridge.resources import resource
from transmission_bridge.tools.plot.command import (
    COLUMN,
    distribute_columns,
    draw_curves,
    LONGEST_LINE,
    make_blocks,
    make_curves,
)

pytest.importorskip('matplotlib')
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

ARM = resource('urdf', 'arm.urdf')

BLOCK = """<plugin>transmission_bridge/CrankSliderTransmission</plugin>
  <param name="crank_radius">0.06</param><param name="pivot_distance">0.3</param>
  <param name="crank_angle">1.2</param>
  <actuator name="cylinder" role="actuator1"/><joint name="knee" role="joint1"/>"""
CRANK = chain({'crank': BLOCK}, knee='revolute -0.5 0.4 1 1', toe='revolute -2 2 1 1')
CRANK = CRANK.replace('<robot name="r"', '<robot name="leg $x$"')


@pytest.fixture
def leg(tmp_path):
    """Return a file with a crank, and a joint without a transmission."""
    path = tmp_path / 'leg.urdf'
    path.write_text(CRANK)
    return path


def comments(svg: str) -> set[str]:
    """Return the texts of a picture; matplotlib notes each beside its outlines."""
    return {text.strip() for text in re.findall(r'<!--(.*?)-->', svg, re.DOTALL)}


def test_every_name_and_ratio_is_in_the_picture(run, leg, tmp_path):
    """Robot, actuators, transmissions, joints, numbers, limits and what is passed through."""
    output = tmp_path / 'arm.svg'
    result = run('plot', ARM, '--output', output)
    assert (result.code, result.err) == (0, '')
    texts = comments(output.read_text(encoding='utf-8'))
    robot = tb.RobotTransmissions(tb.load_description(ARM))
    assert {'arm', *robot.actuator_names, *robot.joint_names, *robot.transmissions} <= texts
    assert {
        'reduction 64',
        'reduction 1.75, offset -0.35 rad',
        'FourBarLinkageTransmission',
    } <= texts
    first, second = (tmp_path / f'{number}.svg' for number in range(2))
    for file in (first, second):
        assert run('plot', leg, '--output', file).code == 0
    texts = comments(first.read_text(encoding='utf-8'))
    assert {'leg $x$', 'lower limit', 'upper limit'} <= texts
    assert {'crank_radius 0.06 m, offset 0 m', 'pivot_distance 0.3 m'} <= texts
    assert {'knee [rad]', 'cylinder [rad or m]', 'ratio, per knee'} <= texts
    assert any('passed through' in text and 'toe' in text for text in texts)
    # The same robot gives the same bytes: neither time nor chance is in the file.
    assert first.read_bytes() == second.read_bytes()
    assert b'<dc:date>' not in first.read_bytes()


def test_a_file_that_is_there_is_replaced_only_by_force(run, leg, tmp_path, monkeypatch):
    """The default name is the robot's, and what has it stays without ``--force``."""
    monkeypatch.chdir(tmp_path)
    assert run('plot', leg).out == 'written to leg_x.svg\n'
    Path('leg_x.svg').write_text('mine')
    refused = run('plot', leg)
    assert (refused.code, Path('leg_x.svg').read_text()) == (2, 'mine')
    assert run('plot', leg, '--force').code == 0
    assert Path('leg_x.svg').read_text() != 'mine'
    assert run('plot', leg, '--output', 'leg.PNG').code == 0
    assert Path('leg.PNG').read_bytes().startswith(b'\x89PNG\r\n')


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
    blocks = {
        f'crank_{n}': BLOCK.replace('="knee"', f'="knee_{n}"').replace('inder"', f'inder_{n}"')
        for n in range(50)
    }
    text = chain(blocks, **{f'knee_{n}': 'revolute -0.5 0.4 1 1' for n in range(50)})
    robot = tb.RobotTransmissions(tb.load_description(text))
    assert len(robot.transmissions) == 50
    columns = distribute_columns(make_blocks(robot, tuple(robot.transmissions)))
    heights = [sum(each.height for each in column) for column in columns]
    assert [each.name for column in columns for each in column] == list(robot.transmissions)
    assert max(heights) <= 1.3 * min(heights)
    assert 0.4 <= COLUMN * len(columns) / max(heights) <= 2.5


def test_a_rejected_transmission_is_drawn_as_rejected(run, mixed_robot, tmp_path):
    """Its box says so and where it stands, and the exit code says so too."""
    output = tmp_path / 'mixed.svg'
    result = run('plot', mixed_robot, '--output', output)
    assert result.code == 1
    assert '2 transmissions cannot be used and are drawn as rejected' in result.err
    texts = comments(output.read_text(encoding='utf-8'))
    for line, name in ((12, 'strange_transmission'), (17, 'broken_transmission')):
        assert {f'REJECTED, line {line}', name} <= texts
    assert 'good_motor' in texts


@pytest.mark.parametrize(
    ('holder', 'file'), [('joints', 'arm.urdf'), ('actuators', 'arm_ros1.urdf')]
)
def test_a_number_stands_at_the_member_that_holds_it(holder, file):
    """A simple transmission has its reduction at the joint in ros2_control, else at the motor."""
    robot = tb.RobotTransmissions(tb.load_description(resource('urdf', file)))
    blocks = [
        each for each in make_blocks(robot, list(robot.transmissions)) if not each.joints[1:]
    ]
    assert blocks
    for block in blocks:
        sides = {'joints': block.joints, 'actuators': block.actuators}
        holds = [side for side, (one,) in sides.items() if 'reduction' in ' '.join(one.lines)]
        assert holds == [holder]


def test_numbers_and_units_of_the_documented_ankle_fit_in_its_boxes():
    """Those of a motor are in lines, the last one of which has the units of its driver."""
    text = (Path(__file__).parents[2] / 'docs' / 'transmissions.md').read_text(encoding='utf-8')
    block = re.search(r'<transmission name="left_ankle">(.*?)</transmission>', text, re.DOTALL)[1]
    block = block.replace('<mech', '<param name="position_unit">turn</param><mech')
    text = chain(
        {'left_ankle': block},
        left_ankle_pitch='revolute -0.9 0.6 1 1',
        left_ankle_roll='revolute -0.4 0.4 1 1',
    )
    robot = tb.RobotTransmissions(tb.load_description(text))
    (ankle,) = make_blocks(robot, ['left_ankle'])
    lines = [line for member in (*ankle.actuators, *ankle.joints) for line in member.lines]
    assert all(len(each) <= LONGEST_LINE for each in (*lines, *ankle.lines))
    assert lines[0].startswith('reduction 15, ')
    assert ankle.actuators[0].lines[-2:] == ('foot_attachment.z 0 m', 'driver in turn, turn/s')
    assert [each.other_unit for each in ankle.curves] == ['turn', 'turn']
    radians = robot.transmissions['left_ankle'].joint_to_actuator('position', [-0.9, 0.0])
    np.testing.assert_allclose(ankle.curves[0].positions[0], radians / (2.0 * np.pi))


@pytest.mark.parametrize('limits', [(-0.5, 0.4), (-1.1, 1.8), None])
def test_legend_and_limits_cover_no_curve(linkages, limits):
    """The legend is beside the panels, names of limits above them, each beside its line."""
    text = linkages['push_rod_ankle']
    if limits:
        text = CRANK.replace('"-0.5"', f'"{limits[0]}"').replace('"0.4"', f'"{limits[1]}"')
    robot = tb.RobotTransmissions(tb.load_description(text))
    figure = Figure(figsize=(8.5, 2.5))
    panels = figure.add_axes((0.1, 0.2, 0.3, 0.6)), figure.add_axes((0.55, 0.2, 0.3, 0.6))
    draw_curves(*panels, 'name', make_curves(robot, robot.bindings[0])[0])
    figure.draw_without_rendering()
    if not limits:
        position, ratio = panels
        legend = ratio.get_legend()
        assert position.get_legend() is None
        assert legend.get_window_extent().x0 >= ratio.bbox.x1
        assert legend.get_texts()[-1].get_text() == 'limits of positions'
        levels = [line for line in position.lines if line.get_linestyle() == ':']
        colours = {to_hex(line.get_color()) for line in levels}
        assert len(levels) == 4
        assert colours == {to_hex(line.get_color()) for line in position.lines[:2]}
        return
    for each in panels:
        names = [note for note in each.texts if note.get_text().endswith(' limit')]
        boxes = [note.get_window_extent() for note in names]
        assert [note.get_text() for note in names] == ['lower limit', 'upper limit']
        assert all(box.y0 >= each.bbox.y1 for box in boxes)
        assert not boxes[0].overlaps(boxes[1])
        assert not any(box.overlaps(each.title.get_window_extent()) for box in boxes)
