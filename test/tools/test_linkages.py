# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The commands with linkages: joints that nobody commands, offsets of actuators, rods."""

from __future__ import annotations

import re

import numpy as np
import pytest
from zoo.elements import load

from transmission_bridge.tools.plot import make_plot_curves


@pytest.mark.parametrize('name', ['four_bar_knee', 'five_bar', 'push_rod_ankle'])
def test_a_linkage_has_curves_of_its_passive_joints(run, save, linkages, tmp_path, name):
    """Over each actuator, from a position that it can have."""
    pytest.importorskip('matplotlib')
    path, output = save(linkages[name]), tmp_path / 'drive.svg'
    robot = load(linkages[name])
    commanded = tuple(each.name for each in robot.bindings[0].spec.joints)
    run('plot', path, '--output', output).expect()
    found = make_plot_curves(robot, robot.bindings[0])
    assert [curves.moved for curves in found] == [*robot.actuator_names]
    for curves in found:
        assert set(curves.names) <= set(robot.joint_names)
        assert curves.names[: len(commanded)] == commanded
        assert np.isfinite(curves.positions).all(axis=1).mean() > 0.5
    texts = re.findall(r'<!--(.*?)-->', output.read_text(encoding='utf-8'))
    assert {*commanded, *robot.actuator_names} <= {text.strip() for text in texts}


HORN = '<loop type="rod" frame1="horn" frame2="lever"'
ROD = {'knee_linkage.loops.1.length': 0.3}

# fmt: off
#: Linkage, replacement in its description, new numbers, and the lines that change.
EXPORTED = {
    'numbers of actuators': (
        'five_bar', '', '',
        {'leg_linkage.actuators.hip_motor.mechanical_reduction': -9.5,
         'leg_linkage.actuators.knee_motor.offset': 0.125},
        ['<mechanical_reduction>-9.5</mechanical_reduction>', '<offset>0.125</offset>']),
    'the length of a rod becomes an attribute': (
        'four_bar_knee', '', '', ROD, [f'{HORN} length="0.3"/>']),
    'an attribute changes': (
        'four_bar_knee', f'{HORN}/>', f'{HORN} length="0.302"/>', ROD, [f'{HORN} length="0.3"/>']),
    # By default a length is that of the start, which the other rod moves: both are written.
    'two rods': (
        'push_rod_ankle', r'<loop type="point" frame1="(\w+)_tip"',
        r'<loop type="rod" frame1="\1_cross"',
        {'ankle.loops.1.length': 0.245},
        ['<loop .* length="0.245".*', r'<loop .* length="0\.1[45].*']),
}
# fmt: on


@pytest.mark.parametrize('case', EXPORTED)
def test_numbers_of_linkages_are_exported(export, numbers_of, linkages, case):
    """Where those of other transmissions are, and rods as attributes of their loops."""
    pytest.importorskip('yaml')
    which, before, after, values, patterns = EXPORTED[case]
    text = re.sub(before, after, linkages[which]) if before else linkages[which]
    lines = ''.join(f'    transmissions.{key}: {value!r}\n' for key, value in values.items())
    result = export(text.encode(), f'/**:\n  ros__parameters:\n{lines}').expect()
    found = numbers_of(result.out)
    assert found | values == found
    new = [line.strip() for line in result.out.splitlines() if line not in text.splitlines()]
    assert len(new) == len(patterns)
    assert all(re.fullmatch(*pair) for pair in zip(patterns, new, strict=True))
