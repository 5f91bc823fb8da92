# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where CasADi is not installed, only the mechanisms that are equations are missing."""

from __future__ import annotations

import json
import os
from pathlib import Path
import subprocess
import sys

import pytest

ROBOT = """<robot name="leg"><link name="base"/><link name="a"/><link name="b"/><link name="c"/>
  <joint name="hip" type="continuous"><parent link="base"/><child link="a"/></joint>
  <joint name="knee" type="continuous"><parent link="a"/><child link="b"/></joint>
  <joint name="tip" type="continuous"><parent link="b"/><child link="c"/></joint>
  <ros2_control name="leg" type="system"><hardware><plugin>p</plugin></hardware>
    <joint name="hip"/><joint name="knee"/><joint name="tip"/>
    <transmission name="hip_gear"><plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="hip" role="joint1"><mechanical_reduction>50</mechanical_reduction></joint>
      <actuator name="hip_motor" role="actuator1"/>
    </transmission>
    <transmission name="knee_crank"><plugin>transmission_bridge/CrankSliderTransmission</plugin>
      <param name="crank_radius">0.04</param><param name="rod_length">0.12</param>
      <param name="crank_angle">1.6</param>
      <joint name="knee" role="joint1"/><actuator name="knee_slider" role="actuator1"/>
    </transmission>
    <transmission name="tip_screw"><plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="tip" role="joint1"><mechanical_reduction>2</mechanical_reduction></joint>
      <actuator name="tip_motor" role="actuator1"/>
    </transmission></ros2_control></robot>
"""

EQUATIONS = {
    'transmission_bridge/CrankSliderTransmission',
    'transmission_bridge/ParallelAnkleTransmission',
    'transmission_bridge/LinkageTransmission',
    'transmission_bridge/TabulatedTransmission',
}

INSTALL = "python3 -m pip install --user --break-system-packages 'casadi>=3.6'"


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """Return the file of a robot with two gears and a crank."""
    path = tmp_path / 'leg.urdf'
    path.write_text(ROBOT, encoding='utf-8')
    return path


@pytest.fixture
def run(tmp_path: Path):
    """Return a function that runs the command line where CasADi cannot be imported."""
    (tmp_path / 'sitecustomize.py').write_text(
        'import sys\nsys.modules["casadi"] = None\n', encoding='utf-8'
    )
    paths = [str(tmp_path), str(Path(__file__).parents[2])]

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, '-m', 'transmission_bridge', *map(str, words)],
            capture_output=True, text=True, check=False, timeout=120,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths)},
        )  # fmt: skip

    return run


def test_plugins_says_what_to_install(run) -> None:
    """The types that are equations are listed with the command, and no other type suffers."""
    result = run('plugins', '--json')
    assert result.returncode == 1, result.stderr
    own = [
        plugin
        for plugin in json.loads(result.stdout)['plugins']
        if plugin['target'].startswith('transmission_bridge.')
    ]
    unusable = {plugin['type_name']: plugin['error'] for plugin in own if plugin['error']}
    assert set(unusable) == EQUATIONS
    assert len(own) == 9
    for error in unusable.values():
        assert 'needs CasADi' in error
        assert INSTALL in error
    assert 'Traceback' not in result.stdout


def test_a_robot_loses_that_transmission_only(run, robot) -> None:
    """One error names the transmission and what to install; its joint is not passed through."""
    result = run('check', robot, '--json')
    assert result.returncode == 1, result.stderr
    said = json.loads(result.stdout)
    (error,) = [each for each in said['findings'] if each['severity'] == 'error']
    assert "transmission 'knee_crank' cannot be used" in error['message']
    assert INSTALL in error['message']
    loaded = {each['name'] for each in said['transmissions'] if each['loaded']}
    assert loaded == {'hip_gear', 'tip_screw'}
    assert said['pass_through'] == []


def test_every_other_joint_is_bridged(run, robot) -> None:
    """Gears map as ever."""
    values = ['hip_motor=10', 'tip_motor=1']
    result = run('map', robot, '--to', 'joint', '--interface', 'position', '--json', *values)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {'hip': 0.2, 'tip': 0.5}
