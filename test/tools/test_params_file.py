# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``--params-file`` of the commands that look at a description: they see what the bridge sees."""

from __future__ import annotations

import argparse
import math

import pytest

from transmission_bridge.tools.commands import COMMANDS
from transmission_bridge.tools.tune.command import _open_robot

pytest.importorskip('yaml')

ROBOT = """<robot name="arm">
  <link name="base"/><link name="l1"/><link name="l2"/>
  <joint name="pan" type="revolute"><parent link="base"/><child link="l1"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="2" effort="30"/></joint>
  <joint name="wheel" type="continuous"><parent link="l1"/><child link="l2"/></joint>
  <ros2_control name="arm" type="system">
    <hardware><plugin>any/Driver</plugin></hardware>
    <joint name="pan"><command_interface name="position"/></joint>
    <joint name="wheel"><command_interface name="position"/></joint>
    <transmission name="gear">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="pan" role="joint1"><mechanical_reduction>10</mechanical_reduction></joint>
      <actuator name="motor" role="actuator1"/>
    </transmission>
  </ros2_control>
</robot>
"""

PARAMETERS = """\
/left/transmission_bridge:
  ros__parameters:
    actuator_units: ['wheel=position_unit:deg']
    transmissions.gear.joints.pan.mechanical_reduction: 20.0
    transmissions.gear.joints.pan.offset: 0.25
"""


@pytest.fixture
def files(tmp_path):
    """Return a description and a parameter file, as arguments."""
    (tmp_path / 'arm.urdf').write_text(ROBOT)
    (tmp_path / 'bridge.yaml').write_text(PARAMETERS)
    return tmp_path / 'arm.urdf', '--params-file', tmp_path / 'bridge.yaml'


def test_map_has_its_numbers_and_units(run, files):
    """A driver's degrees are degrees, and the unit is beside each number."""
    ways = ('--to', 'actuator', '--interface', 'position', 'pan=1.0', f'wheel={math.pi!r}')
    result = run('map', *files, *ways)
    assert result.out == 'motor  15.0   rad\nwheel  180.0  deg\n'
    assert run('map', files[0], *ways, '--json').json == {'motor': 10.0, 'wheel': math.pi}


def test_check_has_its_numbers_and_units(run, files):
    """Numbers, the limits that follow from them, and the units of drivers are those in use."""
    report = run('check', *files, '--json', '--limits').json
    (gear,) = report['transmissions']
    assert (gear['joints'][0]['mechanical_reduction'], gear['joints'][0]['offset']) == (20.0, 0.25)
    limits = gear['actuator_limits'][0]
    assert (limits['lower'], limits['upper'], limits['velocity']) == (-25.0, 15.0, 40.0)
    assert report['units']['wheel']['position']['unit'] == 'deg'


def test_jacobian_and_plot_have_its_numbers(run, files, tmp_path):
    """The motor turns the link by a twentieth, and its box says so."""
    options = ('--base', 'base', '--end', 'l1', '--space', 'actuator', '--json')
    assert run('jacobian', *files, *options).json['jacobian'][5] == [pytest.approx(0.05)]
    pytest.importorskip('matplotlib')
    assert run('plot', *files, '--output', tmp_path / 'arm.svg').code == 0
    assert 'reduction 20, offset 0.25 rad' in (tmp_path / 'arm.svg').read_text()


def test_tune_begins_with_its_numbers(files):
    """They are in use, and differ from those of the description."""
    parser = argparse.ArgumentParser()
    COMMANDS['tune'].add_arguments(parser)
    model = _open_robot(parser.parse_args([*map(str, files)])).model
    assert model.find_changes() == {
        'transmissions.gear.joints.pan.mechanical_reduction': (10.0, 20.0),
        'transmissions.gear.joints.pan.offset': (0.0, 0.25),
    }


@pytest.mark.parametrize(
    ('entry', 'words'),
    [
        ('wrap_period: [moter=1.0]', "unknown actuator 'moter' (closest: 'motor')"),
        ('actuator_units: ["wheel=position_unit:turns"]', "actuator_units of 'wheel'"),
        ('transmissions.gear.joints.pan.mechanical_reduction: 0.0', 'other than zero'),
    ],
)
def test_what_the_bridge_would_refuse_is_refused_with_file_and_line(run, files, entry, words):
    """By ``check`` as well: one sentence, exit code 2."""
    files[2].write_text(f'/**:\n  ros__parameters:\n    {entry}\n')
    result = run('check', *files)
    assert (result.code, result.out) == (2, '')
    assert result.err.startswith(f"transmission_bridge: '{files[2]}', line 3: ")
    assert words in result.err


def test_a_number_that_the_robot_does_not_have_is_told(run, files):
    """As a warning of ``check``, else on standard error."""
    files[2].write_text(PARAMETERS + '    transmissions.gear.joints.pam.offset: 1.0\n')
    checked, moved = run('check', *files), run('jacobian', *files, '--base', 'base', '--end', 'l1')
    for result, text in ((checked, checked.out), (moved, moved.err)):
        assert result.code == 0
        assert 'not used, this robot has no such number' in text


def test_aliases_cannot_make_a_parameter_file_endless(run, files):
    """Not within the parameters of a node, and not outside of them."""
    levels = '\n'.join(
        f'a{n}: &a{n} {{{", ".join(f"k{k}: *a{n - 1}" for k in range(10))}}}' for n in range(1, 12)
    )
    for end in ('', '/**: {ros__parameters: *a11}\n'):
        files[2].write_text(f'a0: &a0 {{k: 1.0}}\n{levels}\n{end}')
        result = run('check', *files)
        assert (result.code, result.out) == (2, '')
        assert 'holds more than 100000 values' in result.err
