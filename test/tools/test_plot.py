# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge plot``."""

from __future__ import annotations

from pathlib import Path
import re

import numpy as np
import pytest
from zoo.documented import DOCUMENTED
from zoo.elements import leg, params, transmission, urdf

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


def load(text):
    """Return a robot."""
    return tb.RobotTransmissions(tb.load_description(text))


def crank(lower=-0.5, upper=0.4):
    """Return a robot with a crank, and a joint without a transmission."""
    limits = f'revolute lower="{lower}" upper="{upper}" velocity="1" effort="1"'
    text = urdf({'knee': limits, 'toe': 'continuous'}, leg())
    return text.replace('<robot name="small"', '<robot name="leg $x$"')


@pytest.fixture
def crank_file(tmp_path):
    """Return a file with the crank."""
    path = tmp_path / 'leg.urdf'
    path.write_text(crank())
    return path


def comments(path):
    """Return the texts of a picture; matplotlib notes each beside its outlines."""
    svg = path.read_text(encoding='utf-8')
    return {text.strip() for text in re.findall(r'<!--(.*?)-->', svg, re.DOTALL)}


def test_every_name_and_ratio_is_in_the_picture(run, crank_file, tmp_path):
    """Robot, actuators, transmissions, joints, numbers, limits and what is passed through."""
    arm, output = resource('urdf', 'arm.urdf'), tmp_path / 'arm.svg'
    result = run('plot', arm, '--output', output)
    assert (result.code, result.err) == (0, '')
    robot, texts = load(arm), comments(output)
    assert {'arm', *robot.actuator_names, *robot.joint_names, *robot.transmissions} <= texts
    numbers = {'reduction 64', 'reduction 1.75, offset -0.35 rad'}
    assert {*numbers, 'FourBarLinkageTransmission'} <= texts
    first, second = (tmp_path / f'{number}.svg' for number in range(2))
    for file in (first, second):
        assert run('plot', crank_file, '--output', file).code == 0
    texts = comments(first)
    assert {'leg $x$', 'lower limit', 'upper limit'} <= texts
    assert {'crank_radius 0.1 m, offset 0 m', 'pivot_distance 0.4 m'} <= texts
    assert {'knee [rad]', 'cylinder [rad or m]', 'ratio, per knee'} <= texts
    assert any('passed through' in text and 'toe' in text for text in texts)
    # The same robot gives the same bytes: neither time nor chance is in the file.
    assert first.read_bytes() == second.read_bytes()
    assert b'<dc:date>' not in first.read_bytes()


def test_a_file_that_is_there_is_replaced_only_by_force(run, crank_file, tmp_path, monkeypatch):
    """The default name is the robot's, and what has it stays without ``--force``."""
    monkeypatch.chdir(tmp_path)
    assert run('plot', crank_file).out == 'written to leg_x.svg\n'
    Path('leg_x.svg').write_text('mine')
    refused = run('plot', crank_file)
    assert (refused.code, Path('leg_x.svg').read_text()) == (2, 'mine')
    assert run('plot', crank_file, '--force').code == 0
    assert Path('leg_x.svg').read_text() != 'mine'
    assert run('plot', crank_file, '--output', 'leg.PNG').code == 0
    assert Path('leg.PNG').read_bytes().startswith(b'\x89PNG\r\n')


def test_the_curves_are_those_of_the_transmission():
    """Positions, ratios and limits are the transmission's own, over all of its domain."""
    robot = load(crank())
    (curves,) = make_curves(robot, robot.bindings[0])
    transmission, inner = robot.bindings[0].transmission, slice(10, -10)
    assert (curves.moved, curves.names, curves.limits) == ('knee', ('cylinder',), (-0.5, 0.4))
    domain = transmission.domain
    assert (curves.x[0], curves.x[-1]) == (domain.lower[0], domain.upper[0])
    a = transmission.joint_to_actuator('position', curves.x[inner, np.newaxis])
    np.testing.assert_array_equal(curves.positions[inner], a)
    slope = 1.0 / transmission.jacobian(a)[:, 0]
    np.testing.assert_allclose(curves.ratios[inner], slope, rtol=1e-9)


def test_fifty_transmissions_are_as_wide_as_high_and_do_not_overlap():
    """Blocks of a column lie below each other, and no column is much longer than the others."""
    numbers = params(crank_radius=0.06, pivot_distance=0.3, crank_angle=1.2)
    cranks = (
        transmission(f'crank_{n}', 'CrankSlider', [f'knee_{n}'], [f'cylinder_{n}'], numbers)
        for n in range(50)
    )
    robot = load(urdf([f'knee_{n}' for n in range(50)], ''.join(cranks)))
    assert len(robot.transmissions) == 50
    columns = distribute_columns(make_blocks(robot, tuple(robot.transmissions)))
    heights = [sum(each.height for each in column) for column in columns]
    assert [each.name for column in columns for each in column] == list(robot.transmissions)
    assert max(heights) <= 1.3 * min(heights)
    assert 0.4 <= COLUMN * len(columns) / max(heights) <= 2.5


def test_a_rejected_transmission_is_drawn_as_rejected(run, mixed_robot, tmp_path):
    """Its box says so and where it stands, and the exit code says so too."""
    result = run('plot', mixed_robot, '--output', tmp_path / 'mixed.svg')
    assert result.code == 1
    assert '2 transmissions cannot be used and are drawn as rejected' in result.err
    strange = {'REJECTED, line 9', 'strange_transmission'}
    broken = {'REJECTED, line 12', 'broken_transmission'}
    assert {*strange, *broken, 'good_motor'} <= comments(tmp_path / 'mixed.svg')


@pytest.mark.parametrize(
    ('holder', 'file'), [('joints', 'arm.urdf'), ('actuators', 'arm_ros1.urdf')]
)
def test_a_number_stands_at_the_member_that_holds_it(holder, file):
    """A simple transmission has its reduction at the joint in ros2_control, else at the motor."""
    robot = load(resource('urdf', file))
    blocks = [x for x in make_blocks(robot, list(robot.transmissions)) if not x.joints[1:]]
    assert blocks
    for block in blocks:
        sides = {'joints': block.joints, 'actuators': block.actuators}
        holds = [side for side, (one,) in sides.items() if 'reduction' in ' '.join(one.lines)]
        assert holds == [holder]


def test_numbers_and_units_of_the_documented_ankle_fit_in_its_boxes():
    """Those of a motor are in lines, the last one of which has the units of its driver."""
    text = DOCUMENTED['left_ankle'].replace('<mech', params(position_unit='turn') + '<mech')
    robot = load(urdf(['left_ankle_pitch', 'left_ankle_roll'], text))
    (ankle,) = make_blocks(robot, ['left_ankle'])
    lines = [line for member in (*ankle.actuators, *ankle.joints) for line in member.lines]
    assert all(len(each) <= LONGEST_LINE for each in (*lines, *ankle.lines))
    assert lines[0].startswith('reduction 15, ')
    assert ankle.actuators[0].lines[-2:] == ('foot_attachment.z 0 m', 'driver in turn, turn/s')
    assert [each.other_unit for each in ankle.curves] == ['turn', 'turn']
    radians = robot.transmissions['left_ankle'].joint_to_actuator('position', [-0.9, 0.0])
    np.testing.assert_allclose(ankle.curves[0].positions[0], radians / (2.0 * np.pi))


def draw(text):
    """Return the panels of positions and of ratios of the first curves of a robot."""
    robot, figure = load(text), Figure(figsize=(8.5, 2.5))
    panels = figure.add_axes((0.1, 0.2, 0.3, 0.6)), figure.add_axes((0.55, 0.2, 0.3, 0.6))
    draw_curves(*panels, 'name', make_curves(robot, robot.bindings[0])[0])
    figure.draw_without_rendering()
    return panels


@pytest.mark.parametrize('limits', [(-0.5, 0.4), (-1.1, 1.8)])
def test_names_of_limits_cover_no_curve(limits):
    """They are above the panels, each beside its line."""
    for panel in draw(crank(*limits)):
        names = [note for note in panel.texts if note.get_text().endswith(' limit')]
        boxes = [note.get_window_extent() for note in names]
        assert [note.get_text() for note in names] == ['lower limit', 'upper limit']
        assert all(box.y0 >= panel.bbox.y1 for box in boxes)
        assert not boxes[0].overlaps(boxes[1])
        assert not any(box.overlaps(panel.title.get_window_extent()) for box in boxes)


def test_the_legend_covers_no_curve(linkages):
    """It is beside the panels, and names the limits of the other side, in the curves' colours."""
    position, ratio = draw(linkages['push_rod_ankle'])
    legend = ratio.get_legend()
    assert position.get_legend() is None
    assert legend.get_window_extent().x0 >= ratio.bbox.x1
    assert legend.get_texts()[-1].get_text() == 'limits of positions'
    levels = [line for line in position.lines if line.get_linestyle() == ':']
    assert len(levels) == 4
    colours = {to_hex(line.get_color()) for line in levels}
    assert colours == {to_hex(line.get_color()) for line in position.lines[:2]}
