# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``--params-file`` of the commands that look at a description: they see what the bridge sees."""

from __future__ import annotations

import argparse
import math

import pytest
from zoo.elements import ratio, transmission, urdf

from transmission_bridge.tools.commands import COMMANDS
from transmission_bridge.tools.tune.command import _open_robot

pytest.importorskip('yaml')

GEAR = transmission('gear', 'Simple', {'pan': ratio(10)}, ['motor'])
ROBOT = urdf({'pan': 'revolute lower="-1" upper="1" velocity="2"', 'wheel': 'continuous'}, GEAR)
PAN = 'transmissions.gear.joints.pan'
PARAMETERS = f"""\
/left/transmission_bridge:
  ros__parameters:
    actuator_units: ['wheel=position_unit:deg']
    {PAN}.mechanical_reduction: 20.0
    {PAN}.offset: 0.25
"""


@pytest.fixture
def files(save):
    """Return a description and a parameter file, as arguments."""
    return save(ROBOT), '--params-file', save(PARAMETERS, 'bridge.yaml')


def test_every_command_has_its_numbers_and_units(run, files, tmp_path):
    """A driver's degrees are degrees; limits and pictures follow from its numbers."""
    ways = ('--to', 'actuator', '--interface', 'position', 'pan=1.0', f'wheel={math.pi!r}')
    assert run('map', *files, *ways).out == 'motor  15.0   rad\nwheel  180.0  deg\n'
    assert run('map', files[0], *ways, '--json').json == {'motor': 10.0, 'wheel': math.pi}

    report = run('check', *files, '--json').json
    (gear,) = report['transmissions']
    assert (gear['joints'][0]['mechanical_reduction'], gear['joints'][0]['offset']) == (20.0, 0.25)
    limits = gear['actuator_limits'][0]
    assert (limits['lower'], limits['upper'], limits['velocity']) == (-25.0, 15.0, 40.0)
    assert report['units']['wheel']['position']['unit'] == 'deg'

    parser = argparse.ArgumentParser()
    COMMANDS['tune'].add_arguments(parser)
    assert _open_robot(parser.parse_args([*map(str, files)])).model.list_changes() == {
        f'{PAN}.mechanical_reduction': (10.0, 20.0),
        f'{PAN}.offset': (0.0, 0.25),
    }

    pytest.importorskip('matplotlib')
    assert run('plot', *files, '--output', tmp_path / 'arm.svg').code == 0
    assert 'reduction 20, offset 0.25' in (tmp_path / 'arm.svg').read_text()


@pytest.mark.parametrize(('entry', 'words'), [
    ('wrap_period: [moter=1.0]', "unknown actuator 'moter' (closest: 'motor')"),
    ('actuator_units: ["wheel=position_unit:turns"]', "actuator_units of 'wheel'"),
    (f'{PAN}.mechanical_reduction: 0.0', 'other than zero'),
    (f'{PAN}.offset: 012', 'a number without a leading zero'),
])  # fmt: skip
def test_what_the_bridge_would_refuse_is_refused_with_file_and_line(refuse, files, entry, words):
    """By ``check`` as well: one sentence, exit code 2."""
    files[2].write_text(f'/**:\n  ros__parameters:\n    {entry}\n')
    refuse(f"transmission_bridge: '{files[2]}', line 3: ", 'check', *files)
    refuse(words, 'check', *files)


def test_a_number_that_the_robot_does_not_have_is_told(run, files):
    """As a warning of ``check``, else on standard error."""
    files[2].write_text(PARAMETERS + '    transmissions.gear.joints.pam.offset: 1.0\n')
    way, words = ('--to', 'joint', '--interface'), 'not used, this robot has no such number'
    run('check', *files).expect(out=words)
    run('map', *files, *way, 'position', 'motor=1').expect(err=words)
