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
from zoo.elements import leg, load, params, urdf

from transmission_bridge.resources import resource
from transmission_bridge.tools.plot import make_plot_blocks, make_plot_curves

pytest.importorskip('matplotlib')

LIMITS = 'revolute lower="-0.5" upper="0.4" velocity="1" effort="1"'
#: A robot with a crank, and a joint without a transmission.
CRANK = urdf({'knee': LIMITS, 'toe': 'continuous'}, leg()).replace('"small"', '"leg $x$"')


@pytest.fixture
def crank_file(save, tmp_path, monkeypatch):
    """Return a file with the crank, in the working folder."""
    monkeypatch.chdir(tmp_path)
    return save(CRANK, 'leg.urdf')


def comments(path):
    """Return the texts of a picture; matplotlib notes each beside its outlines."""
    svg = path.read_text(encoding='utf-8')
    return {text.strip() for text in re.findall(r'<!--(.*?)-->', svg, re.DOTALL)}


def test_every_name_and_ratio_is_in_the_picture(run, crank_file, tmp_path):
    """The picture has robot, actuators, transmissions, joints, numbers, limits, and the rest."""
    arm, output = resource('urdf', 'arm.urdf'), tmp_path / 'arm.svg'
    result = run('plot', arm, '--output', output)
    assert (result.code, result.err) == (0, '')
    robot, texts = load(arm), comments(output)
    assert {'arm', *robot.actuator_names, *robot.joint_names, *robot.transmissions} <= texts
    assert {'reduction 64', 'reduction 1.75, offset -0.35'} <= texts
    first, second = (tmp_path / f'{number}.svg' for number in range(2))
    for file in (first, second):
        assert run('plot', crank_file, '--output', file).code == 0
    texts = comments(first)
    assert {'leg $x$', 'limit', 'knee [rad or m]', 'ratio, per knee'} <= texts
    assert any('passed through' in text and 'toe' in text for text in texts)
    # The same robot gives the same bytes: neither time nor chance is in the file.
    assert first.read_bytes() == second.read_bytes()
    assert b'<dc:date>' not in first.read_bytes()


def test_a_file_that_exists_is_replaced_only_by_force(run, crank_file):
    """The default name is the robot's, and a file with this name stays without ``--force``."""
    assert run('plot', crank_file).out == 'written to leg_x.svg\n'
    Path('leg_x.svg').write_text('mine')
    assert (run('plot', crank_file).code, Path('leg_x.svg').read_text()) == (2, 'mine')
    assert run('plot', crank_file, '--force').code == 0
    assert Path('leg_x.svg').read_text() != 'mine'
    assert run('plot', crank_file, '--output', 'leg.PNG').code == 0
    assert Path('leg.PNG').read_bytes().startswith(b'\x89PNG\r\n')


def test_the_curves_are_those_of_the_transmission():
    """Positions, ratios and limits are the transmission's own, over all of its domain."""
    robot = load(CRANK)
    (curves,) = make_plot_curves(robot, robot.bindings[0])
    transmission, inner = robot.bindings[0].transmission, slice(10, -10)
    assert (curves.moved, curves.names, curves.limits) == ('knee', ('cylinder',), (-0.5, 0.4))
    domain = transmission.domain
    assert (curves.x[0], curves.x[-1]) == (domain.lower[0], domain.upper[0])
    a = transmission.joint_to_actuator('position', curves.x[inner, np.newaxis])
    np.testing.assert_array_equal(curves.positions[inner], a)
    slope = 1.0 / transmission.jacobian(a)[:, 0]
    np.testing.assert_allclose(curves.ratios[inner], slope, rtol=1e-9)


def test_a_rejected_transmission_is_drawn_as_rejected(run, mixed_robot, tmp_path):
    """Its box has the word and the line, and the exit code is 1."""
    result = run('plot', mixed_robot, '--output', tmp_path / 'mixed.svg')
    result.expect(1, err='drawn as rejected: 2 transmissions, see')
    strange = {'REJECTED, line 9', 'strange_transmission'}
    broken = {'REJECTED, line 12', 'broken_transmission'}
    assert {*strange, *broken, 'good_motor'} <= comments(tmp_path / 'mixed.svg')


def test_the_unit_of_a_driver_is_in_the_box_of_the_actuator():
    """Its numbers come first."""
    text = DOCUMENTED['left_ankle'].replace('<mech', params(position_unit='turn') + '<mech')
    robot = load(urdf(['left_ankle_pitch', 'left_ankle_roll'], text))
    (ankle,) = make_plot_blocks(robot, ['left_ankle'])
    assert ' '.join(ankle.actuators[0].lines).endswith('reduction 15, driver in turn, turn/s')
