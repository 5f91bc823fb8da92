# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where CasADi is not installed, only the mechanisms that are equations are missing."""

import json
import os

from documents import python, ROOT
import pytest
from zoo.elements import leg, ratio, transmission, urdf

HIP = transmission('hip_gear', 'Simple', {'hip': ratio(50)}, ('hip_motor',))
TIP = transmission('tip_screw', 'Simple', {'tip': ratio(2)}, ('tip_motor',))
ROBOT = urdf(('hip', 'knee', 'tip'), HIP + leg() + TIP)

KINDS = 'CrankSlider', 'ParallelAnkle', 'Linkage', 'Tabulated'
EQUATIONS = {f'transmission_bridge/{kind}Transmission' for kind in KINDS}

INSTALL = "python3 -m pip install --user --break-system-packages 'casadi>=3.6'"


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a command where CasADi cannot be imported."""
    (tmp_path / 'sitecustomize.py').write_text('import sys\nsys.modules["casadi"] = None\n')
    (tmp_path / 'leg.urdf').write_text(ROBOT)
    path = f'{tmp_path}{os.pathsep}{ROOT}'

    def run_command(code, *words):
        command = ('-m', 'transmission_bridge', *words, '--json')
        result = python(*command, cwd=tmp_path, PYTHONPATH=path)
        assert result.returncode == code, result.stderr
        assert 'Traceback' not in result.stdout
        return json.loads(result.stdout)

    return run_command


def test_plugins_says_what_to_install(run, built_in_types):
    """The types that are equations are listed with the command, and no other type suffers."""
    found = {each['type_name']: each['error'] for each in run(1, 'plugins')['plugins']}
    assert {name for name in built_in_types if found[name]} == EQUATIONS
    assert all('needs CasADi' in found[name] and INSTALL in found[name] for name in EQUATIONS)


def test_a_robot_loses_that_transmission_only(run):
    """One error names it and what to install; its joint is not passed through, others map."""
    said = run(1, 'check', 'leg.urdf')
    (error,) = [each for each in said['findings'] if each['severity'] == 'error']
    assert "transmission 'leg' cannot be used" in error['message']
    assert INSTALL in error['message']
    loaded = {each['name'] for each in said['transmissions'] if each['loaded']}
    assert (loaded, said['pass_through']) == ({'hip_gear', 'tip_screw'}, [])
    words = ('--to', 'joint', '--interface', 'position', 'hip_motor=10', 'tip_motor=1')
    assert run(0, 'map', 'leg.urdf', *words) == {'hip': 0.2, 'tip': 0.5}
