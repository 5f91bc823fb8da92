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
from zoo.elements import chain

pytest.importorskip('casadi', reason='CasADi is not installed (extra mechanisms)')
from transmission_bridge.transmissions import registry
from transmission_bridge.transmissions.screw import ScrewTransmission

DOCUMENTS = Path(__file__).parents[2] / 'docs'


def documented(name):
    """Return the content of a transmission of the document."""
    text = (DOCUMENTS / 'transmissions.md').read_text(encoding='utf-8')
    return re.search(f'<transmission name="{name}">(.*?)</transmission>', text, re.DOTALL)[1]


#: A linkage with a mimic joint in its loop, an alias, a matrix, and numbers that are fixed.
LEG = (
    re.search(
        r'<robot name="leg">.*?</robot>',
        (DOCUMENTS / 'transmissions.md').read_text(encoding='utf-8'),
        re.DOTALL,
    )[0]
    .replace(
        '<joint name="horn_mount" type="fixed">',
        '<joint name="horn_mount" type="continuous"><axis xyz="0 1 0"/>'
        '<mimic joint="knee_crank" multiplier="0.1" offset="0.02"/>',
    )
    .replace(
        '<child link="horn"/>',
        '<child link="hub"/></joint><link name="hub"/><joint name="tip" type="fixed">'
        '<parent link="hub"/><child link="horn"/>',
    )
)
ROBOT = chain(
    {
        'lift': documented('lift').replace('name="lift_joint"', 'name="lift"'),
        'neck': documented('neck').replace(
            'transmission_interface/DifferentialTransmission', 'their/Gear'
        ),
        'wrist': documented('wrist'),
        'left_ankle': documented('left_ankle'),
    },
    lift='prismatic 0 1 5 50',
    **dict.fromkeys(
        ('neck_pitch', 'neck_roll', 'wrist_pitch', 'wrist_roll', 'left_ankle_pitch'),
        'revolute -0.3 0.3 5 50',
    ),
    left_ankle_roll='revolute -0.3 0.3 5 50',
)
ALIAS = 'their/Gear=transmission_interface/DifferentialTransmission'
NUMBERS = '/**: {ros__parameters: {transmissions.wrist.joints.wrist_roll.offset: 0.25}}'


@pytest.fixture(scope='module')
def folder(run, tmp_path_factory):
    """Return a folder with maps of both robots."""
    made = tmp_path_factory.mktemp('maps')
    (made / 'numbers.yaml').write_text(NUMBERS)
    for name, text in (('leg', LEG), ('robot', ROBOT)):
        (made / f'{name}.urdf').write_text(text, encoding='utf-8')
        options = ('--alias', ALIAS) * (name == 'robot')
        result = run('compile', made / f'{name}.urdf', '--output', made / f'{name}_map', *options)
        assert result.code == 0, result.err
    return made


def check_folder(run, folder, name='robot', change=('', ''), options=('--alias', ALIAS)):
    """Return the reported differences with a changed robot."""
    text = (folder / f'{name}.urdf').read_text(encoding='utf-8')
    assert change[0] in text
    (folder / 'changed.urdf').write_text(text.replace(*change, 1), encoding='utf-8')
    words = ('compile', '--check', folder / f'{name}_map', folder / 'changed.urdf')
    result = run(*words, *(options if name == 'robot' else ()))
    *lines, last = result.out.splitlines()
    assert (result.code, 'does not fit' in last) == ((1, True) if lines else (0, False))
    return lines


OF = 'transmissions.'


@pytest.mark.parametrize(
    ('name', 'change', 'expected'),
    [
        ('robot', ('>3.0<', '>-3.0<'),
         'transmissions.lift.actuators.lift_motor.mechanical_reduction: compiled 3.0, robot -3.0'),
        ('robot', ('1.5 3.2', '-1.5 3.2'),
         'transmissions.wrist.matrix.joint1.actuator1: compiled 1.5, robot -1.5'),
        ('robot', ('1.5 3.2; 3.1 1.4', '1.50 3.2; 3.1 1.40'), None),
        ('robot', ('<param name="crank_radius">0.05', '<param name="crank_angle">0.2</param>'
                   '<param name="crank_radius">0.05'),
         'transmissions.left_ankle.actuators.left_ankle_upper.crank_angle: '
         'compiled 0.0, robot 0.2'),
        ('robot', ('name="neck_left_motor" role="actuator1">', 'name="neck_left_motor" '
                   'role="actuator1"><param name="position_unit">turn</param>'),
         'transmissions.neck.actuators.neck_left_motor.units: compiled none, robot '
         '["turn (6.283185307179586)", "turn/s (6.283185307179586)", "SI (1.0)"]'),
        ('robot', ('name="neck_left_motor" role="actuator1">', 'name="neck_left_motor" '
                   'role="actuator1"><limit velocity="5"/><param name="effort">3</param>'), None),
        ('robot', ('lift" type="prismatic"', 'lift" type="revolute"'),
         'joints.lift.type: compiled prismatic, robot revolute'),
        ('leg', ('offset="0.02"', 'offset="0.03"'),
         'joints.horn_mount.mimic.offset: compiled 0.02, robot 0.03'),
        ('leg', ('<origin xyz="0.05 0 0"/>', '<origin xyz="0.06 0 0"/>'),
         'joints.lever_mount.origin.xyz: compiled [0.05, 0.0, 0.0], robot [0.06, 0.0, 0.0]'),
        ('leg', ('frame2="lever"', 'frame2="lever" length="0.31"'),
         'transmissions.knee_linkage.loop.length: compiled none, robot 0.31'),
        ('leg', ('upper="0.7" velocity="10"', 'upper="0.7" velocity="20"'), None),
    ],
)  # fmt: skip
def test_each_change_of_a_description_is_named(run, folder, name, change, expected):
    """With both values, and the exit code is 1; what is no part of the map is no difference."""
    lines = check_folder(run, folder, name, change)
    assert lines == [] if expected is None else expected in lines


def test_no_other_entry_is_reported(run, folder):
    """The hash of the functions follows from the entry."""
    lines = check_folder(run, folder, 'leg', ('offset="0.02"', 'offset="0.03"'))
    assert [line.partition(':')[0] for line in lines] == [
        'transmissions.knee_linkage.loops.1.length', 'joints.horn_mount.mimic.offset',
    ]  # fmt: skip


def test_numbers_and_types_of_the_options_are_compared(run, folder):
    """The parameter file and the aliases of the compilation are those of the check."""
    options = ('--alias', ALIAS)
    assert check_folder(
        run, folder, options=(*options, '--params-file', folder / 'numbers.yaml')
    ) == ['transmissions.wrist.joints.wrist_roll.offset: compiled 0.0, robot 0.25']
    other = ('--alias', ALIAS.replace('Differential', 'FourBarLinkage'))
    lines = check_folder(run, folder, options=other)
    assert [line.partition(':')[0] for line in lines] == [f'{OF}neck.type', f'{OF}neck.provider']
    lines = check_folder(run, folder, options=(*options, '--transmission', 'lift'))
    assert 'joints: compiled ["lift", ' in lines[1]


def test_a_new_version_of_a_plugin_is_a_difference(run, folder, monkeypatch):
    """Its name and version are those of the distribution of the entry point."""
    monkeypatch.setattr(registry, '_distribution_of', lambda _: ('their_gears', '2.1'))
    (line, *_) = check_folder(run, folder, 'leg')
    assert line.startswith(f'{OF}knee_linkage.provider: compiled transmission_bridge ')
    assert ', robot their_gears 2.1 (' in line


def test_other_code_of_the_same_version_is_a_difference(run, folder, monkeypatch):
    """A workspace does not change versions: the functions and their numbers are compared."""
    built = ScrewTransmission.__init__
    monkeypatch.setattr(
        ScrewTransmission, '__init__', lambda self, lead, *others: built(self, -lead, *others)
    )
    (line,) = check_folder(run, folder)
    assert line.startswith('functions: compiled ')


def test_a_folder_of_two_compilations_is_an_error(refuse, folder, tmp_path):
    """The header has the hash of the fingerprint."""
    mixed = tmp_path / 'mixed'
    shutil.copytree(folder / 'leg_map', mixed)
    known = json.loads((mixed / 'fingerprint.json').read_text())
    (mixed / 'fingerprint.json').write_text(json.dumps(known | {'casadi': '0'}))
    words = ('compile', '--check', mixed, folder / 'leg.urdf')
    refuse('leg_map.h has the hash of another one', *words)
    for content in ('', '[]', '{}', None):
        (mixed / 'fingerprint.json').unlink()
        if content is not None:
            (mixed / 'fingerprint.json').write_text(content)
            refuse('expected a folder of', *words)
    refuse('expected a folder of', *words)
    refuse('expected one of --output FOLDER and --check', 'compile', folder / 'leg.urdf')


@pytest.mark.skipif(not shutil.which('cmake'), reason='there is no cmake')
def test_the_documented_build_fails_if_the_robot_changed(folder, tmp_path):
    """The target of docs/compile.md."""
    text = (DOCUMENTS / 'compile.md').read_text(encoding='utf-8')
    lines = re.search(r'```cmake\n(.*?)```', text, re.DOTALL)[1].replace('arm_map', 'leg_map')
    project = 'cmake_minimum_required(VERSION 3.16)\nproject(robot LANGUAGES NONE)\n'
    (tmp_path / 'CMakeLists.txt').write_text(project + lines)
    (tmp_path / 'urdf').mkdir()
    shutil.copytree(folder / 'leg_map', tmp_path / 'leg_map')
    program = tmp_path / 'transmission_bridge'
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m transmission_bridge "$@"\n')
    program.chmod(0o755)
    for change, code in (('0.02', 0), ('0.03', 1)):
        (tmp_path / 'urdf' / 'robot.urdf').write_text(
            LEG.replace('offset="0.02', f'offset="{change}')
        )
        configure = [
            'cmake',
            '-S',
            tmp_path,
            '-B',
            tmp_path / 'build',
            f'-DCMAKE_PROGRAM_PATH={tmp_path}',
        ]
        subprocess.run(configure, check=True, capture_output=True)
        done = subprocess.run(
            ['cmake', '--build', tmp_path / 'build'], capture_output=True, text=True
        )
        assert (done.returncode != 0) == code, done.stdout + done.stderr
        assert ('mimic.offset: compiled 0.02, robot 0.03' in done.stdout) == code
