# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge compile --check``: whether a folder of C is that of a robot."""

from __future__ import annotations

import json
from pathlib import Path
import re
import shutil
import subprocess
import sys

import pytest
from zoo.documented import DOCUMENTED
from zoo.elements import of_snippet
from zoo.linkages import joint

pytest.importorskip('casadi', reason='CasADi is not installed (extra mechanisms)')
from transmission_bridge.transmissions import registry
from transmission_bridge.transmissions.linear import ScrewTransmission

#: A matrix, and numbers that are fixed.
ROBOT = of_snippet(''.join(DOCUMENTED[name] for name in ('lift', 'neck', 'wrist', 'left_ankle')))
NUMBERS = '/**: {ros__parameters: {transmissions.wrist.joints.wrist_roll.offset: 0.25}}'


@pytest.fixture(scope='module')
def folder(run, linkages, tmp_path_factory):
    """Return a folder with maps of a robot and of a linkage with a mimic joint in its loop."""
    made = tmp_path_factory.mktemp('maps')
    (made / 'numbers.yaml').write_text(NUMBERS)
    mimic = '<mimic joint="knee_crank" multiplier="0.1" offset="0.02"/>'
    hub = joint('horn_mount', 'arm', 'hub', kind='continuous', more=mimic)
    leg = linkages['four_bar_knee']
    for before, after in (
        ('"horn_mount"', '"tip"'),
        ('"arm"/><child link="horn"', '"hub"/><child link="horn"'),
        ('<ros2_control', f'{hub}<ros2_control'),
    ):
        assert before in leg
        leg = leg.replace(before, after)
    for name, text in (('leg', leg), ('robot', ROBOT)):
        (made / f'{name}.urdf').write_text(text, encoding='utf-8')
        paths = (made / f'{name}.urdf', '--output', made / f'{name}_map')
        run('compile', *paths, '--name', f'{name}_map').expect()
    return made


@pytest.fixture
def differences(run, folder):
    """Return a function that gives the reported differences with a changed robot."""

    def check(name, before='', after='', options=()):
        text = (folder / f'{name}.urdf').read_text(encoding='utf-8')
        assert before in text
        (folder / 'changed.urdf').write_text(text.replace(before, after, 1), encoding='utf-8')
        paths = (folder / f'{name}_map', folder / 'changed.urdf')
        result = run('compile', '--check', *paths, *options)
        *lines, last = result.out.splitlines()
        assert (result.code, 'does not fit' in last) == ((1, True) if lines else (0, False))
        return lines

    return check


LEFT = 'name="neck_left_motor" role="actuator1">'
IN_TURNS = '["turn (6.283185307179586)", "turn/s (6.283185307179586)", "SI (1.0)"]'

# fmt: off
#: Robot, text, its replacement, and what is reported, empty for what is no part of the map.
CHANGES = {
    'a sign': ('robot', '>3.0<', '>-3.0<',
     'transmissions.lift.actuators.lift_motor.mechanical_reduction: compiled 3.0, robot -3.0'),
    'an entry of a matrix': ('robot', '1.5 3.2', '-1.5 3.2',
     'transmissions.wrist.matrix.joint1.actuator1: compiled 1.5, robot -1.5'),
    'another spelling of a matrix': ('robot', '1.5 3.2; 3.1 1.4', '1.50 3.2; 3.1 1.40', ''),
    'a unit': ('robot', LEFT, f'{LEFT}<param name="position_unit">turn</param>',
     f'transmissions.neck.actuators.neck_left_motor.units: compiled none, robot {IN_TURNS}'),
    'limits of an actuator': ('robot', LEFT,
     f'{LEFT}<limit velocity="5"/><param name="effort">3</param>', ''),
    'the type of a joint': ('robot', 'lift_joint" type="continuous', 'lift_joint" type="prismatic',
     'joints.lift_joint.type: compiled continuous, robot prismatic'),
    'an attribute of the loop': ('leg', 'frame2="lever"', 'frame2="lever" length="0.31"',
     'transmissions.knee_linkage.loop.length: compiled none, robot 0.31'),
}
# fmt: on


@pytest.mark.parametrize('change', CHANGES)
def test_each_change_of_a_description_is_named(differences, change):
    """With both values, and the exit code is 1."""
    *edit, expected = CHANGES[change]
    lines = differences(*edit)
    assert expected in lines if expected else lines == []


def test_no_other_entry_is_reported(differences):
    """The hash of the functions follows from the entry."""
    lines = differences('leg', 'offset="0.02"', 'offset="0.03"')
    entries = ['transmissions.knee_linkage.loops.1.length', 'joints.horn_mount.mimic.offset']
    assert [line.partition(':')[0] for line in lines] == entries


def test_numbers_and_types_of_the_options_are_compared(differences, folder):
    """The parameter file and the types of the compilation are those of the check."""
    lines = differences('robot', options=('--params-file', folder / 'numbers.yaml'))
    assert lines == ['transmissions.wrist.joints.wrist_roll.offset: compiled 0.0, robot 0.25']
    lines = differences('robot', '/DifferentialTransmission', '/FourBarLinkageTransmission')
    assert lines[0].partition(':')[0] == 'transmissions.neck.type'
    lines = differences('robot', options=('--transmission', 'lift'))
    assert 'joints: compiled ["lift_joint", ' in lines[1]


def test_a_new_version_of_a_plugin_is_a_difference(differences, monkeypatch):
    """Its name and version are those of the distribution of the entry point."""
    monkeypatch.setattr(registry, '_distribution_of', lambda _: ('their_gears', '2.1'))
    (line, *_) = differences('leg')
    assert line.startswith('transmissions.knee_linkage.provider: compiled transmission_bridge ')
    assert ', robot their_gears 2.1 (' in line


def test_other_code_of_the_same_version_is_a_difference(differences, monkeypatch):
    """A workspace does not change versions: the functions and their numbers are compared."""
    built = ScrewTransmission.__init__
    monkeypatch.setattr(
        ScrewTransmission, '__init__', lambda self, lead, *others: built(self, -lead, *others)
    )
    (line,) = differences('robot')
    assert line.startswith('functions: compiled ')


def test_a_folder_of_two_compilations_is_an_error(refuse, folder, tmp_path):
    """The header has the hash of the fingerprint."""
    mixed = tmp_path / 'mixed'
    shutil.copytree(folder / 'leg_map', mixed)
    file = mixed / 'fingerprint.json'
    words = ('compile', '--check', mixed, folder / 'leg.urdf')
    file.write_text(json.dumps(json.loads(file.read_text()) | {'casadi': '0'}))
    refuse('leg_map.h has the hash of another one', *words)
    for content in ('', '[]', '{}'):
        file.write_text(content)
        refuse('expected a folder of', *words)
    file.unlink()
    refuse('expected a folder of', *words)
    refuse('expected one of --output FOLDER and --check', 'compile', folder / 'leg.urdf')


@pytest.mark.skipif(not shutil.which('cmake'), reason='there is no cmake')
def test_the_documented_build_fails_if_the_robot_changed(folder, tmp_path):
    """The target of docs/compile.md."""
    text = (Path(__file__).parents[2] / 'docs' / 'compile.md').read_text(encoding='utf-8')
    lines = re.search(r'```cmake\n(.*?)```', text, re.DOTALL)[1].replace('arm_map', 'leg_map')
    project = 'cmake_minimum_required(VERSION 3.16)\nproject(robot LANGUAGES NONE)\n'
    (tmp_path / 'CMakeLists.txt').write_text(project + lines)
    (tmp_path / 'urdf').mkdir()
    shutil.copytree(folder / 'leg_map', tmp_path / 'leg_map')
    program = tmp_path / 'transmission_bridge'
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m transmission_bridge "$@"\n')
    program.chmod(0o755)
    leg, build = (folder / 'leg.urdf').read_text(encoding='utf-8'), tmp_path / 'build'
    for offset, fails in (('0.02', False), ('0.03', True)):
        changed = leg.replace('offset="0.02', f'offset="{offset}')
        (tmp_path / 'urdf' / 'robot.urdf').write_text(changed, encoding='utf-8')
        configure = ['cmake', '-S', tmp_path, '-B', build, f'-DCMAKE_PROGRAM_PATH={tmp_path}']
        subprocess.run(configure, check=True, capture_output=True)
        done = subprocess.run(['cmake', '--build', build], capture_output=True, text=True)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        assert ('mimic.offset: compiled 0.02, robot 0.03' in done.stdout) == fails
